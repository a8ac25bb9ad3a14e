package integrationtests

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// shutDown calls Shutdown, whose result it sends.
func shutDown(s *testServer, ctx context.Context) <-chan error {
	done := make(chan error, 1)
	go func() { done <- s.S.ShutdownWithContext(ctx) }()
	return done
}

func isOpen(t *testing.T, what string, done <-chan error) {
	t.Helper()
	select {
	case err := <-done:
		t.Fatalf("%s: Shutdown has returned %v", what, err)
	default:
	}
}

// TestOnShutdownEndsHijackedConnections has a shutdown that waits for the HijackHandler, by
// a function that was registered before the connection was handed over, or after it.
func TestOnShutdownEndsHijackedConnections(t *testing.T) {
	t.Parallel()
	for _, early := range []bool{true, false} {
		forEachEngine(t, func(t *testing.T, start starter) {
			begun, leave, left := make(chan struct{}), make(chan struct{}), make(chan struct{})
			s := start(&fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
				f := func(shutdown context.Context) {
					close(leave)
					<-left
					// the request ends after its HijackHandler
					<-shutdown.Done()
				}
				if early {
					ctx.OnShutdown(f)
				}
				ctx.Hijack(func(c net.Conn) {
					if !early {
						ctx.OnShutdown(f)
					}
					close(begun)
					<-leave
					_, _ = io.WriteString(c, "bye\n")
					close(left)
				})
				ctx.SetStatusCode(fasthttp.StatusSwitchingProtocols)
			}})
			c := s.Dial()
			c.Send(servertest.Get("/"))
			c.Next("GET")
			servertest.Receive(t, "the HijackHandler", begun)
			done := shutDown(s, t.Context())
			c.ExpectLine("bye\n")
			servertest.Must(t, servertest.Receive(t, "the end of Shutdown", done))
			servertest.Receive(t, "the end of the HijackHandler", left)
		})
	}
}

// TestOnShutdownOfStreams has handlers whose streams end at a shutdown, in both protocols.
func TestOnShutdownOfStreams(t *testing.T) {
	handler := func(begun chan<- struct{}) fasthttp.RequestHandler {
		return func(ctx *fasthttp.RequestCtx) {
			leave := make(chan struct{})
			ctx.OnShutdown(func(context.Context) { close(leave) })
			begun <- struct{}{}
			ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
				_, _ = w.WriteString("begin")
				_ = w.Flush()
				<-leave
				_, _ = w.WriteString("end")
			})
		}
	}
	overHTTP2(t, func(t *testing.T, start http2Starter) {
		s := start(&fasthttp.Server{Handler: handler(make(chan struct{}, 1))})
		resp, err := s.client.Do(s.request(t, "GET", "/", nil))
		servertest.Must(t, err)
		begin := make([]byte, len("begin"))
		_, err = io.ReadFull(resp.Body, begin)
		servertest.Must(t, err)
		done := shutDown(s.testServer, t.Context())
		rest, err := io.ReadAll(resp.Body)
		if err != nil || string(rest) != "end" {
			t.Errorf("the stream ended with %q, %v", rest, err)
		}
		servertest.Must(t, servertest.Receive(t, "the end of Shutdown", done))
	})
	forEachEngine(t, func(t *testing.T, start starter) {
		begun := make(chan struct{}, 1)
		s := start(&fasthttp.Server{Handler: handler(begun)})
		c := s.Dial()
		c.Send(servertest.Get("/"))
		ended := make(chan servertest.Response, 1)
		servertest.Receive(t, "the handler", begun)
		// the function may be called before the stream has begun
		done := shutDown(s, t.Context())
		go func() { ended <- c.Next("GET") }()
		if resp := servertest.Receive(t, "the response", ended); resp.Content != "beginend" {
			t.Errorf("got %q", resp.Content)
		}
		servertest.Must(t, servertest.Receive(t, "the end of Shutdown", done))
	})
}

// TestOnShutdownLastsAsLongAsItsRequest has functions that must not be called.
func TestOnShutdownLastsAsLongAsItsRequest(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		ended := make(chan struct{})
		var first func() bool
		s := start(&fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
			never := func(context.Context) { t.Error("a function was called that must not be") }
			if string(ctx.Path()) == "/hijack" {
				first = ctx.OnShutdown(never)
				ctx.Hijack(func(c net.Conn) {})
				ctx.SetUserValue("ended", servertest.CloserFunc(func() { close(ended) }))
				return
			}
			ctx.OnShutdown(never)
			if stop := ctx.OnShutdown(never); !stop() || stop() {
				t.Error("stop does not report whether it has stopped the function")
			}
		}})
		c := s.Dial()
		for range 2 {
			c.Get("/")
			c.Expect(200, "")
		}
		c.Send(servertest.Get("/hijack"))
		c.Next("GET")
		servertest.Receive(t, "the end of the request", ended)
		servertest.Eventually(t, "no function left", func() bool { return !first() })
		servertest.Must(t, servertest.Receive(t, "the end of Shutdown", shutDown(s, t.Context())))
	})
}

// TestOnShutdownWithALimit has a function that does not return in time.
func TestOnShutdownWithALimit(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
		called, release, returned := make(chan struct{}), make(chan struct{}), make(chan error, 1)
		s := start(&fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
			ctx.OnShutdown(func(shutdown context.Context) {
				close(called)
				<-shutdown.Done()
				returned <- shutdown.Err()
				<-release
			})
			ctx.Hijack(func(net.Conn) { <-release })
		}})
		c := s.Dial()
		c.Send(servertest.Get("/"))
		c.Next("GET")
		ctx, cancel := context.WithCancel(t.Context())
		done := shutDown(s, ctx)
		servertest.Receive(t, "the call", called)
		isOpen(t, "before the limit", done)
		cancel()
		if err := servertest.Receive(t, "the end of Shutdown", done); !errors.Is(err, context.Canceled) {
			t.Errorf("Shutdown returned %v", err)
		}
		if err := servertest.Receive(t, "the end of its context", returned); err == nil {
			t.Error("the context of the function has not ended")
		}
		close(release)
	})
}

// TestOnShutdownDuringOne registers a function after the shutdown has begun.
func TestOnShutdownDuringOne(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		entered, called := make(chan struct{}), make(chan struct{})
		s := start(&fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
			close(entered)
			<-ctx.Done()
			stop := ctx.OnShutdown(func(shutdown context.Context) { close(called) })
			servertest.Receive(t, "the call", called)
			if stop() {
				t.Error("stop has stopped a function that was called")
			}
			ctx.OnShutdown(func(context.Context) { panic("on purpose") })
		}})
		c := s.Dial()
		c.Send(servertest.Get("/"))
		servertest.Receive(t, "the request", entered)
		done := shutDown(s, t.Context())
		c.Next("GET")
		servertest.Must(t, servertest.Receive(t, "the end of Shutdown", done))
		s.Log.WaitFor(t, "panic in a function given to OnShutdown: on purpose")
	})
}

// TestOnShutdownAsAShutdownBegins has handlers that learn of a shutdown while it begins: a function
// added then has the time of the shutdown like any other.
func TestOnShutdownAsAShutdownBegins(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		const handlers = 50
		begun := make(chan struct{}, handlers)
		s := start(&fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
			begun <- struct{}{}
			<-ctx.Done()
			called := make(chan error, 1)
			ctx.OnShutdown(func(shutdown context.Context) { called <- shutdown.Err() })
			if err := <-called; err != nil {
				t.Errorf("the shutdown is over as it begins: %v", err)
			}
		}})
		for range handlers {
			s.Dial().Send(servertest.Get("/"))
		}
		for range handlers {
			servertest.Receive(t, "a handler", begun)
		}
		servertest.Must(t, servertest.Receive(t, "the end of Shutdown", shutDown(s, t.Context())))
	})
}

func TestOnShutdownWithoutAServer(t *testing.T) {
	var ctx fasthttp.RequestCtx
	ctx.Init(&fasthttp.Request{}, nil, nil)
	if stop := ctx.OnShutdown(func(context.Context) { t.Error("called") }); stop() {
		t.Error("a function was stopped that cannot be called")
	}
}
