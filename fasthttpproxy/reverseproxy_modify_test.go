package fasthttpproxy_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttpproxy"
	"github.com/valyala/fasthttp/internal/roottest"
	"github.com/valyala/fasthttp/internal/servertest"
)

// ModifyResponse may replace the body by a stream that reads it, or by something else.
func TestModifiedBodies(t *testing.T) {
	const size = 300_000
	upperCase := func(ctx *fasthttp.RequestCtx) {
		body := ctx.Response.BodyStream()
		ctx.Response.SetBodyStream(servertest.ReadFunc(func(p []byte) (int, error) {
			n, err := body.Read(p)
			copy(p, bytes.ToUpper(p[:n]))
			return n, err
		}), -1)
	}
	roottest.Everywhere(t, func(t *testing.T, start func(s *fasthttp.Server) *roottest.Server) {
		for _, http2 := range []bool{false, true} {
			t.Run(fmt.Sprintf("upstreamHTTP2=%v", http2), func(t *testing.T) {
				back := start(&fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
					_ = ctx.Response.Header.AnnounceTrailer("X-Sum")
					ctx.SetBodyStream(&trailed{Reader: strings.NewReader(strings.Repeat("x", size)), h: &ctx.Response.Header}, -1)
				}})
				client := clientOf(back, http2)
				// without it a connection would be missed
				client.MaxConns = 1
				front := start(served(t, &fasthttpproxy.ReverseProxy{
					Target: back.URL(""), Client: client,
					ModifyResponse: func(ctx *fasthttp.RequestCtx) error {
						switch string(ctx.Path()) {
						case "/wrapped":
							upperCase(ctx)
						case "/twice":
							upperCase(ctx)
							upperCase(ctx)
						case "/text":
							ctx.SetBodyString("text")
						case "/read":
							all, err := io.ReadAll(ctx.Response.BodyStream())
							ctx.Response.SetBodyRaw(bytes.ToUpper(all))
							return err
						case "/other":
							ctx.Response.SetBodyStream(strings.NewReader("other"), -1)
						}
						return nil
					},
				}))
				for path, want := range map[string]string{
					"/wrapped": strings.Repeat("X", size), "/twice": strings.Repeat("X", size), "/read": strings.Repeat("X", size),
					"/text": "text", "/other": "other", "/": strings.Repeat("x", size),
				} {
					resp, got := front.MustAsk(t, "GET", path, "", "TE", "trailers")
					if got != want {
						t.Errorf("%s: got %d bytes", path, len(got))
					}
					if whole := path == "/wrapped" || path == "/twice" || path == "/"; whole && resp.Trailer.Get("X-Sum") != "sum" {
						t.Errorf("%s: got the trailers %v", path, resp.Trailer)
					}
				}
			})
		}
	})
}

// A wrapped response that breaks off never looks like a whole one.
func TestModifiedBodyThatBreaksOff(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start proxyStarter) {
		peer := servertest.NewPeer(t, func(c *servertest.PeerConn) {
			if c.Request() != nil {
				c.Send(servertest.Head("HTTP/1.1 200 OK", "Transfer-Encoding: chunked") + "4\r\nhalf\r\n")
			}
		})
		c := start(served(t, &fasthttpproxy.ReverseProxy{Target: peer.URL(""), ModifyResponse: func(ctx *fasthttp.RequestCtx) error {
			body := ctx.Response.BodyStream()
			ctx.Response.SetBodyStream(servertest.ReadFunc(body.Read), -1)
			return nil
		}})).Dial()
		c.Send(servertest.Get("/"))
		resp, err := http.ReadResponse(c.R, nil)
		servertest.Must(t, err)
		if got, err := io.ReadAll(resp.Body); err == nil {
			t.Errorf("got %q as the whole body", got)
		}
	})
}

// clientFunc is a ReverseProxyClient.
type clientFunc func(ctx context.Context, resp *fasthttp.Response) error

func (f clientFunc) DoContext(ctx context.Context, _ *fasthttp.Request, resp *fasthttp.Response) error {
	return f(ctx, resp)
}

// A ModifyResponse that reads a part of the body does not change the status of the failure.
func TestStatusOfModifiedBodiesThatAreLate(t *testing.T) {
	client := clientFunc(func(_ context.Context, resp *fasthttp.Response) error {
		resp.SetBodyStream(io.MultiReader(strings.NewReader("half"), servertest.ReadFunc(func([]byte) (int, error) {
			return 0, os.ErrDeadlineExceeded
		})), -1)
		return nil
	})
	errs := make(chan error, 1)
	p := &fasthttpproxy.ReverseProxy{
		Target: "http://back.test", Client: client, ErrorHandler: func(_ *fasthttp.RequestCtx, err error) { errs <- err },
		ModifyResponse: func(ctx *fasthttp.RequestCtx) error {
			ctx.SetBody(ctx.Response.Body())
			return nil
		},
	}
	c := servertest.Start(t, servertest.SocketEngines[1], served(t, p), roottest.Prepare).Dial()
	c.Send(servertest.Get("/"))
	c.Expect(504, "Gateway Timeout")
	if err := servertest.Receive(t, "the error", errs); !errors.Is(err, fasthttpproxy.ErrGatewayTimeout) {
		t.Errorf("got %v", err)
	}
}

// A client may leave while ModifyResponse reads the body.
func TestClientsThatLeaveAModifiedResponse(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start proxyStarter) {
		peer := servertest.NewPeer(t, func(c *servertest.PeerConn) {
			if c.Request() != nil {
				c.Send(servertest.Head("HTTP/1.1 200 OK", "Transfer-Encoding: chunked") + "4\r\nhalf\r\n")
				c.UntilClosed()
			}
		})
		begun, errs := make(chan struct{}), make(chan error, 1)
		p := &fasthttpproxy.ReverseProxy{
			Target: peer.URL(""),
			ErrorHandler: func(ctx *fasthttp.RequestCtx, err error) {
				errs <- fmt.Errorf("%d: %w", ctx.Response.StatusCode(), err)
			},
			ModifyResponse: func(ctx *fasthttp.RequestCtx) error {
				close(begun)
				ctx.SetBody(ctx.Response.Body())
				return nil
			},
		}
		c := start(served(t, p)).Dial()
		c.Send(servertest.Get("/"))
		servertest.Receive(t, "the response", begun)
		_ = c.Close()
		err := servertest.Receive(t, "the error", errs)
		if !errors.Is(err, fasthttpproxy.ErrClientLeft) || !strings.HasPrefix(err.Error(), "499: ") {
			t.Errorf("got %v", err)
		}
	})
}

// The context of a call ends with the exchange, for contexts that are derived from it, too.
func TestContextsEndWithTheExchange(t *testing.T) {
	ended := make(chan struct{})
	p := &fasthttpproxy.ReverseProxy{Target: "http://back.test", Client: clientFunc(func(ctx context.Context, resp *fasthttp.Response) error {
		stopped := context.AfterFunc(ctx, func() { t.Error("a function that was stopped is called") })
		if !stopped() {
			t.Error("a function of a call in progress cannot be stopped")
		}
		context.AfterFunc(ctx, func() { close(ended) })
		resp.SetBodyString("ok")
		return nil
	})}
	c := servertest.Start(t, servertest.SocketEngines[1], served(t, p), roottest.Prepare).Dial()
	c.Send(servertest.Get("/"))
	c.Expect(200, "ok")
	servertest.Receive(t, "the end of the context", ended)
}
