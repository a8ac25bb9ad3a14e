package integrationtests

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// cutBodies are ways to read a body that has no bytes: each reports whether it has read
// nothing.
var cutBodies = map[string]struct {
	contentType string
	read        func(ctx *fasthttp.RequestCtx) (empty bool)
}{
	"PostBody": {"text/plain", func(ctx *fasthttp.RequestCtx) bool { return ctx.PostBody() == nil }},
	"PostArgs": {"application/x-www-form-urlencoded", func(ctx *fasthttp.RequestCtx) bool { return ctx.PostArgs().Len() == 0 }},
	"FormValue": {"application/x-www-form-urlencoded", func(ctx *fasthttp.RequestCtx) bool {
		return ctx.FormValue("a") == nil
	}},
	"FormValue of a multipart form": {"multipart/form-data; boundary=b", func(ctx *fasthttp.RequestCtx) bool {
		return ctx.FormValue("a") == nil
	}},
}

// A client disconnects in the middle of a body that the handler reads as it arrives: the
// methods that read the body return no error, but the handler can get it.
func TestErrorOfABodyThatWasCutOff(t *testing.T) {
	t.Parallel()
	for name, tc := range cutBodies {
		t.Run(name, func(t *testing.T) {
			type outcome struct {
				empty         bool
				before, after error
			}
			server := func() (s *fasthttp.Server, begun chan struct{}, outcomes chan outcome) {
				begun, outcomes = make(chan struct{}), make(chan outcome, 1)
				return &fasthttp.Server{StreamRequestBody: true, Handler: func(ctx *fasthttp.RequestCtx) {
					before := ctx.PostBodyError()
					close(begun)
					outcomes <- outcome{tc.read(ctx), before, ctx.PostBodyError()}
				}}, begun, outcomes
			}
			check := func(t *testing.T, outcomes chan outcome) {
				t.Helper()
				want := io.ErrUnexpectedEOF
				if o := servertest.Receive(t, "the end of the body", outcomes); !o.empty || o.before != nil || !errors.Is(o.after, want) {
					t.Errorf("nothing was returned: %v; the error was %v, then %v, want %v", o.empty, o.before, o.after, want)
				}
			}
			content := "a=b&c"
			if strings.HasPrefix(tc.contentType, "multipart") {
				content = "--b\r\nContent-Disposition: form-data; name=a\r\n\r\nvalue"
			}
			forEachEngine(t, func(t *testing.T, start starter) {
				s, begun, outcomes := server()
				c := start(s).Dial()
				c.Send("POST / HTTP/1.1\r\nHost: h\r\nContent-Type: " + tc.contentType + "\r\nContent-Length: 1000\r\n\r\n" + content)
				servertest.Receive(t, "the request", begun)
				_ = c.Close()
				check(t, outcomes)
			})
			overHTTP2(t, func(t *testing.T, start http2Starter) {
				s, begun, outcomes := server()
				c := start(s).dialFrames(t)
				c.Begin(1, false, "POST", "/", "content-type", tc.contentType)
				c.Data(1, 0, content).Flush()
				servertest.Receive(t, "the request", begun)
				_ = c.Close()
				check(t, outcomes)
			})
		})
	}
}
