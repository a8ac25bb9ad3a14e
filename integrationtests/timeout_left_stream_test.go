package integrationtests

import (
	"bufio"
	"io"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// onceClosed is a body stream that counts how often it is closed.
type onceClosed struct {
	io.Reader
	closes atomic.Int32
}

func newOnceClosed(content string) *onceClosed {
	return &onceClosed{Reader: strings.NewReader(content)}
}

func (s *onceClosed) Close() error {
	s.closes.Add(1)
	return nil
}

// await waits for the first Close.
func (s *onceClosed) await(t *testing.T, what string) {
	t.Helper()
	servertest.Eventually(t, "the end of "+what, func() bool { return s.closes.Load() > 0 })
}

// leftStreams has the streams of a test.
type leftStreams struct {
	own, sent, unsent *onceClosed
	answered          chan struct{} // closed when the client has its response
	after             chan struct{} // closed when a goroutine has finished its work after that
}

// streamResponse returns a response whose body is a stream.
func streamResponse(stream io.Reader) *fasthttp.Response {
	resp := new(fasthttp.Response)
	resp.SetStatusCode(fasthttp.StatusGatewayTimeout)
	resp.SetBodyStream(stream, -1)
	return resp
}

// leavingHandlers leave their context to other goroutines, and have streams. content is the
// content of the 504.
var leavingHandlers = map[string]struct {
	content string
	handle  func(ctx *fasthttp.RequestCtx, s *leftStreams)
}{
	"own stream": {"late", func(ctx *fasthttp.RequestCtx, s *leftStreams) {
		ctx.SetBodyStream(s.own, -1)
		ctx.TimeoutErrorWithCode("late", fasthttp.StatusGatewayTimeout)
	}},
	"own producer": {"late", func(ctx *fasthttp.RequestCtx, s *leftStreams) {
		ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
			defer s.own.Close()
			for {
				if _, err := w.WriteString("x"); err != nil {
					return
				}
			}
		})
		ctx.TimeoutErrorWithCode("late", fasthttp.StatusGatewayTimeout)
	}},
	"own stream that replaces another": {"late", func(ctx *fasthttp.RequestCtx, s *leftStreams) {
		ctx.SetBodyStream(s.unsent, -1)
		ctx.SetBodyStream(s.own, -1)
		ctx.TimeoutErrorWithCode("late", fasthttp.StatusGatewayTimeout)
	}},
	"own stream after the answer": {"late", func(ctx *fasthttp.RequestCtx, s *leftStreams) {
		ctx.TimeoutErrorWithCode("late", fasthttp.StatusGatewayTimeout)
		go func() {
			<-s.answered
			ctx.SetBodyStream(s.own, -1)
			ctx.SetBodyStream(s.unsent, -1)
			close(s.after)
		}()
	}},
	"stream of the response": {"sent", func(ctx *fasthttp.RequestCtx, s *leftStreams) {
		ctx.SetBodyStream(s.own, -1)
		ctx.TimeoutErrorWithResponse(streamResponse(s.sent))
	}},
	"response of the context": {"sent", func(ctx *fasthttp.RequestCtx, s *leftStreams) {
		ctx.Response.SetStatusCode(fasthttp.StatusGatewayTimeout)
		ctx.SetBodyStream(s.sent, -1)
		ctx.TimeoutErrorWithResponse(&ctx.Response)
	}},
	"response that replaces another": {"sent", func(ctx *fasthttp.RequestCtx, s *leftStreams) {
		ctx.TimeoutErrorWithResponse(streamResponse(s.unsent))
		ctx.TimeoutErrorWithResponse(streamResponse(s.sent))
	}},
	"response that replaces another, within": {"sent", func(ctx *fasthttp.RequestCtx, s *leftStreams) {
		inTime(func(inner *fasthttp.RequestCtx) {
			inner.SetBodyStream(s.own, -1)
			inner.TimeoutErrorWithResponse(streamResponse(s.unsent))
			ctx.TimeoutErrorWithResponse(streamResponse(s.sent))
		})(ctx)
	}},
	"response after the answer": {"late", func(ctx *fasthttp.RequestCtx, s *leftStreams) {
		ctx.TimeoutErrorWithCode("late", fasthttp.StatusGatewayTimeout)
		go func() {
			<-s.answered
			ctx.TimeoutErrorWithResponse(streamResponse(s.unsent))
			close(s.after)
		}()
	}},
}

// The streams of a context that a TimeoutError method has left to other goroutines: the one
// that is sent arrives, and each is closed once, whichever goroutine has it.
func TestStreamsOfALeftContextAreClosed(t *testing.T) {
	t.Parallel()
	for name, tc := range leavingHandlers {
		for around, wrap := range map[string]func(fasthttp.RequestHandler) fasthttp.RequestHandler{
			"bare":           func(h fasthttp.RequestHandler) fasthttp.RequestHandler { return h },
			"TimeoutHandler": inTime,
		} {
			t.Run(name+"/"+around, func(t *testing.T) {
				forEachAsker(t, func(t *testing.T, start func(s *fasthttp.Server) (dial func() client)) {
					s := &leftStreams{
						own: newOnceClosed("own"), sent: newOnceClosed("sent"), unsent: newOnceClosed("unsent"),
						answered: make(chan struct{}), after: make(chan struct{}),
					}
					dial := start(&fasthttp.Server{Handler: wrap(func(ctx *fasthttp.RequestCtx) { tc.handle(ctx, s) })})
					c := dial()
					c.get("/")
					c.expect(fasthttp.StatusGatewayTimeout, tc.content)
					close(s.answered)
					if strings.HasSuffix(name, "after the answer") {
						servertest.Receive(t, "what comes after the answer", s.after)
					}
					used := map[string][]*onceClosed{
						"own stream": {s.own}, "own producer": {s.own}, "own stream that replaces another": {s.own, s.unsent},
						"own stream after the answer": {s.own, s.unsent}, "stream of the response": {s.own, s.sent},
						"response of the context": {s.sent}, "response that replaces another": {s.sent, s.unsent},
						"response that replaces another, within": {s.own, s.sent, s.unsent}, "response after the answer": {s.unsent},
					}[name]
					for _, stream := range used {
						stream.await(t, "a stream")
					}
					c.leave()
					for _, stream := range used {
						if n := stream.closes.Load(); n != 1 {
							t.Errorf("a stream was closed %d times", n)
						}
					}
				})
			})
		}
	}
}

// A stream in the response to HEAD is closed without being sent.
func TestStreamOfATimeoutResponseToHEAD(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		stream := newOnceClosed("content")
		c := start(&fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
			if ctx.IsHead() {
				ctx.TimeoutErrorWithResponse(streamResponse(stream))
			}
		}}).Dial()
		c.Send("HEAD / HTTP/1.1\r\nHost: h\r\n\r\n")
		if resp := c.Next("HEAD"); resp.StatusCode != fasthttp.StatusGatewayTimeout {
			t.Errorf("status %d", resp.StatusCode)
		}
		c.Get("/")
		c.Expect(200, "")
		if n := stream.closes.Load(); n != 1 {
			t.Errorf("the stream was closed %d times", n)
		}
	})
}

// The stream of a timeout response may be the body of a response that a client receives. Its
// trailers stay with the stream, and are not added to the original response, which may have
// another user by then.
func TestTrailersOfATimeoutResponseFollowItsStream(t *testing.T) {
	overHTTP2(t, func(t *testing.T, start http2Starter) {
		origin := start(&fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
			_ = ctx.Response.Header.AddTrailerField("X-Sum", "7")
			ctx.SetBodyStream(strings.NewReader("content"), -1)
		}})
		for _, protocol := range []string{"HTTP/1.1", "HTTP/2.0"} {
			client := &fasthttp.Client{StreamResponseBody: true, TLSConfig: servertest.TrustCertificate()}
			client.Protocols.SetHTTP1(protocol == "HTTP/1.1")
			client.Protocols.SetHTTP2(protocol == "HTTP/2.0")
			client.Protocols.SetUnencryptedHTTP2(protocol == "HTTP/2.0")
			t.Cleanup(client.CloseIdleConnections)
			from := new(fasthttp.Response) // is not released, so that the test can check it
			front := start(&fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
				var req fasthttp.Request
				req.SetRequestURI(origin.url("/"))
				if err := client.Do(&req, from); err != nil {
					t.Error(protocol, err)
				}
				if got := string(from.Header.Protocol()); got != protocol {
					t.Errorf("the client speaks %s, want %s", got, protocol)
				}
				ctx.TimeoutErrorWithResponse(from)
			}})
			resp, err := front.client.Get(front.url("/"))
			servertest.Must(t, err)
			content, err := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if string(content) != "content" || err != nil || resp.Trailer.Get("X-Sum") != "7" {
				t.Errorf("%s: %q, %v, trailers %v", protocol, content, err, resp.Trailer)
			}
			if got := from.Header.PeekTrailer("X-Sum"); len(got) > 0 {
				t.Errorf("%s: the response whose stream was taken has got the trailer %q", protocol, got)
			}
		}
	})
}
