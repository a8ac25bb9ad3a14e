package fasthttpproxy_test

import (
	"strings"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttpproxy"
	"github.com/valyala/fasthttp/internal/roottest"
	"github.com/valyala/fasthttp/internal/servertest"
)

// An exchange whose response is not used after all gives its connection back: after a panic of
// ModifyResponse that the application recovers, and if another exchange makes the response.
func TestUnusedResponsesEndTheirExchanges(t *testing.T) {
	wrap := func(ctx *fasthttp.RequestCtx) {
		body := ctx.Response.BodyStream()
		ctx.Response.SetBodyStream(servertest.ReadFunc(body.Read), -1)
	}
	roottest.Everywhere(t, func(t *testing.T, start func(s *fasthttp.Server) *roottest.Server) {
		back := start(&fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
			ctx.SetBodyStream(strings.NewReader(strings.Repeat("x", 300_000)), -1)
		}})
		client := clientOf(back, false)
		p := &fasthttpproxy.ReverseProxy{Target: back.URL(""), Client: client, ModifyResponse: func(ctx *fasthttp.RequestCtx) error {
			switch string(ctx.Path()) {
			case "/panic":
				wrap(ctx)
				panic("in ModifyResponse")
			case "/panic-first":
				panic("in ModifyResponse")
			}
			wrap(ctx)
			return nil
		}}
		s := served(t, p)
		once := s.Handler
		s.Handler = func(ctx *fasthttp.RequestCtx) {
			defer func() {
				if recover() != nil {
					ctx.Error("recovered", 500)
				}
			}()
			once(ctx)
			if string(ctx.Path()) == "/twice" {
				once(ctx)
			}
		}
		front := start(s)
		for _, path := range []string{"/", "/twice", "/panic", "/panic-first"} {
			front.MustAsk(t, "GET", path, "")
			servertest.Eventually(t, path+": no call uses a connection", func() bool { return client.ConnsCount() == client.IdleConnsCount() })
		}
	})
}
