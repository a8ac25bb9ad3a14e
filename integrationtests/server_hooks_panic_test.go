package integrationtests

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// TestHooksThatPanicEndOneConnection has each hook of the application panic. The server
// continues, and its counts are right.
func TestHooksThatPanicEndOneConnection(t *testing.T) {
	t.Parallel()
	bad := func(name string) bool { return strings.HasPrefix(name, "/bad") }
	hooks := map[string]func(s *fasthttp.Server){
		"Handler": func(s *fasthttp.Server) {
			s.Handler = func(ctx *fasthttp.RequestCtx) {
				if bad(string(ctx.Path())) {
					panic("broken hook")
				}
			}
		},
		"HeaderReceived": func(s *fasthttp.Server) {
			s.HeaderReceived = func(h *fasthttp.RequestHeader) fasthttp.RequestConfig {
				if bad(string(h.RequestURI())) {
					panic("broken hook")
				}
				return fasthttp.RequestConfig{}
			}
		},
		"ContinueHandler": func(s *fasthttp.Server) {
			s.ContinueHandler = func(h *fasthttp.RequestHeader) bool { panic("broken hook") }
		},
		"ExpectHandler": func(s *fasthttp.Server) {
			s.ExpectHandler = func(ctx *fasthttp.RequestCtx) int { panic("broken hook") }
		},
		"ErrorHandler": func(s *fasthttp.Server) {
			s.MaxRequestBodySize = 1
			s.ErrorHandler = func(*fasthttp.RequestCtx, error) { panic("broken hook") }
		},
		"ConnState": func(s *fasthttp.Server) {
			s.ConnState = func(_ net.Conn, state fasthttp.ConnState) {
				if state == fasthttp.StateActive && s.GetOpenConnectionsCount() == 1 {
					panic("broken hook")
				}
			}
		},
		"Close of a user value": func(s *fasthttp.Server) {
			s.Handler = func(ctx *fasthttp.RequestCtx) {
				if bad(string(ctx.Path())) {
					ctx.SetUserValue("x", panickingCloser{})
				}
			}
		},
		"Close of a body stream": func(s *fasthttp.Server) {
			s.Handler = func(ctx *fasthttp.RequestCtx) {
				if bad(string(ctx.Path())) {
					ctx.SetBodyStream(panickingCloser{}, 0)
				}
			}
		},
		"Close of a body stream that is dropped": func(s *fasthttp.Server) {
			s.Handler = func(ctx *fasthttp.RequestCtx) {
				if bad(string(ctx.Path())) {
					ctx.SetBodyStream(panickingCloser{}, 0)
					ctx.SetStatusCode(204)
				}
			}
		},
		"HijackHandler": func(s *fasthttp.Server) {
			s.Handler = func(ctx *fasthttp.RequestCtx) {
				if bad(string(ctx.Path())) {
					ctx.Hijack(func(net.Conn) { panic("broken hook") })
				}
			}
		},
	}
	for name, set := range hooks {
		t.Run(name, func(t *testing.T) {
			forEachEngine(t, func(t *testing.T, start starter) {
				s := &fasthttp.Server{Handler: func(*fasthttp.RequestCtx) {}}
				set(s)
				ts := start(s)
				c := ts.Dial()
				c.Send(servertest.Post("/bad", "abc", "Expect: 100-continue"))
				if name == "ConnState" {
					// the server does not call this hook in the middle of an
					// exchange
					c.Next("POST")
					c.Expect(200, "")
					ts.Log.WaitFor(t, "broken hook", "integrationtests/server_hooks_")
					return
				}
				// the server may send a response, but must close the connection
				if b, err := io.ReadAll(c.R); errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("the connection goes on after %q", b)
				}
				line := ts.Log.WaitFor(t, "broken hook")
				if !strings.Contains(line, "integrationtests/server_hooks_") {
					t.Errorf("the log has no stack: %q", line)
				}
				servertest.Eventually(t, "no connection", func() bool { return s.GetOpenConnectionsCount() == 0 && s.GetCurrentConcurrency() == 0 })
				c = ts.Dial()
				c.Get("/good")
				c.Expect(200, "")
			})
		})
	}
}

// TestErrorHandlerThatPanicsEndsItsConnection has an ErrorHandler panic when the rest of a
// request does not arrive: after the deadline, or after the client has disconnected.
func TestErrorHandlerThatPanicsEndsItsConnection(t *testing.T) {
	t.Parallel()
	server := func() *fasthttp.Server {
		return &fasthttp.Server{
			Handler:      func(*fasthttp.RequestCtx) {},
			ErrorHandler: func(_ *fasthttp.RequestCtx, err error) { panic(fmt.Sprintf("cannot bear %v", err)) },
		}
	}
	for _, part := range []string{"GET / HT", servertest.Head("POST / HTTP/1.1", "Host: a", "Content-Length: 10") + "abc"} {
		forEachEngine(t, func(t *testing.T, start starter) {
			t.Parallel()
			s := server()
			lift := limitRequests(s)
			ts := start(s)
			c := ts.Dial()
			c.Send(part)
			c.ExpectCut()
			ts.Log.WaitFor(t, "cannot bear", "timeout")
			lift()
			c = ts.Dial()
			c.Get("/good")
			c.Expect(200, "")
		})
		forEachEngine(t, func(t *testing.T, start starter) {
			t.Parallel()
			ts := start(server())
			c := ts.Dial()
			c.Send(part)
			_ = c.Close()
			ts.Log.WaitFor(t, "cannot bear", io.ErrUnexpectedEOF.Error())
			c = ts.Dial()
			c.Get("/good")
			c.Expect(200, "")
		})
	}
}

type panickingCloser struct{}

func (panickingCloser) Read([]byte) (int, error) { return 0, io.EOF }
func (panickingCloser) Close() error             { panic("broken hook") }

func TestHandlerThatEndsItsGoroutineEndsOneConnection(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		s := &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
			if string(ctx.Path()) == "/exit" {
				runtime.Goexit()
			}
		}}
		ts := start(s)
		for range 3 {
			c := ts.Dial()
			c.Get("/exit")
			c.ExpectCut()
			c = ts.Dial()
			c.Get("/")
			c.Expect(200, "")
		}
	})
}

// A server that has shut down has logged all panics: a connection is open until then.
func TestShutdownWaitsForTheLogOfAPanic(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		logging, release := make(chan string, 1), make(chan struct{})
		s := &fasthttp.Server{
			Handler: func(ctx *fasthttp.RequestCtx) { ctx.SetUserValue("x", panickingCloser{}) },
			// with it, the request ends after its response was written
			ResponseSent: func(*fasthttp.RequestCtx, fasthttp.SentResponse) {},
			Logger: servertest.LoggerFunc(func(format string, args ...any) {
				logging <- fmt.Sprintf(format, args...)
				<-release
			}),
		}
		ts := start(s)
		t.Cleanup(sync.OnceFunc(func() { close(release) }))
		ts.Dial().Get("/")
		if line := servertest.Receive(t, "the log", logging); !strings.Contains(line, "broken hook") {
			t.Errorf("logged: %q", line)
		}
		if n := s.GetOpenConnectionsCount(); n != 1 {
			t.Errorf("%d connections are open, want 1", n)
		}
	})
}
