package integrationtests

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// hang is a handler that waits for the end of its context.
type hang struct {
	entered chan *fasthttp.RequestCtx
	left    chan error
	watch   bool
}

func newHang(watch bool) *hang {
	return &hang{entered: make(chan *fasthttp.RequestCtx, 1), left: make(chan error, 1), watch: watch}
}

func (h *hang) handle(ctx *fasthttp.RequestCtx) {
	if string(ctx.Path()) != "/hang" {
		ctx.SetBodyString("at once")
		return
	}
	if h.watch {
		ctx.WatchDisconnect()
	}
	done := ctx.Done()
	h.entered <- ctx
	<-done
	h.left <- ctx.Err()
}

func TestHandlerLearnsThatItsClientHasGone(t *testing.T) {
	t.Parallel()
	goodbyes := map[string]func(c *servertest.Conn){
		"close": func(c *servertest.Conn) { _ = c.Close() },
		"end of sending": func(c *servertest.Conn) {
			if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
				_ = half.CloseWrite()
			} else {
				_ = c.Close()
			}
		},
	}
	for how, leave := range goodbyes {
		for _, forAll := range []bool{false, true} {
			forEachEngine(t, func(t *testing.T, start starter) {
				h := newHang(!forAll)
				ts := start(&fasthttp.Server{Handler: h.handle, CancelOnDisconnect: forAll})
				c := ts.Dial()
				c.Get("/")
				c.Expect(200, "at once")
				c.Get("/hang")
				servertest.Receive(t, "the request", h.entered)
				leave(c)
				if err := servertest.Receive(t, "the end of the context after "+how, h.left); err != context.Canceled {
					t.Errorf("Err is %v", err)
				}
			})
		}
	}
}

// Functions given to a context run on goroutines of their own, where a panic would end the program.
func TestFunctionsThatPanicAfterTheClientHasLeft(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		entered := make(chan struct{}, 1)
		ts := start(&fasthttp.Server{CancelOnDisconnect: true, Handler: func(ctx *fasthttp.RequestCtx) {
			ctx.AfterDisconnect(func() { panic("on purpose") })
			ctx.AfterFunc(func() { panic("on purpose") })
			entered <- struct{}{}
			<-ctx.Done()
		}})
		c := ts.Dial()
		c.Get("/")
		servertest.Receive(t, "the request", entered)
		_ = c.Close()
		ts.Log.WaitFor(t, "panic in a function given to AfterDisconnect: on purpose")
		ts.Log.WaitFor(t, "panic in a function given to AfterFunc: on purpose")
	})
}

func TestHandlerLearnsOfAResetAndOfAClientThatLeftBefore(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
		h := newHang(true)
		ready := make(chan struct{})
		ts := start(&fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
			servertest.Receive(t, "the end of the client", ready)
			h.handle(ctx)
		}})
		c := ts.Dial()
		c.Get("/hang")
		_ = c.Close()
		close(ready)
		servertest.Receive(t, "the request", h.entered)
		servertest.Receive(t, "the end of the context", h.left)
	})
}

func TestWatchedContextEndsWithShutdown(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		h := newHang(true)
		ts := start(&fasthttp.Server{Handler: h.handle})
		c := ts.Dial()
		c.Get("/hang")
		servertest.Receive(t, "the request", h.entered)
		stopped := make(chan error, 1)
		go func() { stopped <- ts.S.Shutdown() }()
		servertest.Receive(t, "the end of the context", h.left)
		c.Expect(200, "")
		servertest.Receive(t, "the end of Shutdown", stopped)
	})
}

// A context derived from a RequestCtx may live a little longer. Then the RequestCtx must look
// ended to it, and not serve another request.
func TestContextsDerivedFromAWatchedOneEndWell(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
		derived := make(chan context.Context, 1)
		ts := start(&fasthttp.Server{CancelOnDisconnect: true, Handler: func(ctx *fasthttp.RequestCtx) {
			inner, cancel := context.WithCancel(ctx)
			defer cancel()
			if ctx.Err() != nil || inner.Err() != nil {
				t.Error("ended at once")
			}
			derived <- inner
			if string(ctx.Path()) == "/hang" {
				<-ctx.Done()
			}
		}})
		before := runtime.NumGoroutine()
		for range 20 {
			c := ts.Dial()
			for range 3 {
				c.Get("/")
				c.Expect(200, "")
				servertest.Receive(t, "the end of the derived context", servertest.Receive(t, "the derived context", derived).Done())
			}
			c.Get("/hang")
			inner := servertest.Receive(t, "the derived context", derived)
			_ = c.Close()
			servertest.Receive(t, "the end of the derived context", inner.Done())
			if inner.Err() != context.Canceled {
				t.Errorf("Err is %v", inner.Err())
			}
		}
		servertest.Eventually(t, "no more goroutines than before", func() bool { return runtime.NumGoroutine() <= before+8 })
	})
}

// If a request arrives while the connection is watched, none of its bytes is lost.
func TestWatchingLosesNoBytes(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		g := servertest.NewGate()
		ts := start(&fasthttp.Server{CancelOnDisconnect: true, IdleTimeout: time.Minute, Handler: func(ctx *fasthttp.RequestCtx) {
			if ctx.Err() != nil {
				t.Error("ended at once")
			}
			passing(g)(ctx)
		}})
		c := ts.Dial()
		c.Get("/1")
		servertest.Receive(t, "the request", g.Entered)
		c.Get("/2")
		c.Get("/3")
		close(g.Open)
		for range 3 {
			resp := c.Next(http.MethodGet)
			_, _ = io.Copy(io.Discard, resp.Body)
			if resp.StatusCode != 200 {
				t.Errorf("got %d", resp.StatusCode)
			}
		}
	})
}

func TestWithoutWatchingNobodyLearnsOfTheClient(t *testing.T) {
	ctx := new(fasthttp.RequestCtx)
	ctx.WatchDisconnect()
	if ctx.Done() != nil || ctx.Err() != nil {
		t.Error("a context without a server ends")
	}
	ctx.Init(nil, nil, nil)
	ctx.WatchDisconnect()
	if ctx.Done() == nil || ctx.Err() != nil {
		t.Error("a context without a handler has ended")
	}
}

// The producer of a body stream runs on after its handler has returned. If it then begins to
// watch the client, under TimeoutHandler or not, the watch must not read any part of the next
// request.
func TestWatchOfAProducerTakesNothing(t *testing.T) {
	t.Parallel()
	produce := func(ctx *fasthttp.RequestCtx) {
		ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
			ctx.WatchDisconnect()
			_, _ = w.WriteString("produced")
		})
	}
	for name, h := range map[string]fasthttp.RequestHandler{
		"alone":             produce,
		"under a timeout":   fasthttp.TimeoutHandler(produce, time.Hour, "late"),
		"under two of them": fasthttp.TimeoutHandler(fasthttp.TimeoutHandler(produce, time.Hour, "late"), time.Hour, "late"),
	} {
		t.Run(name, func(t *testing.T) {
			forEachEngine(t, func(t *testing.T, start starter) {
				c := start(&fasthttp.Server{Handler: h}).Dial()
				for range 3 {
					c.Get("/")
					c.Expect(200, "produced")
				}
			})
		})
	}
}

// tellEnd is a handler that waits until its client has disconnected, and reports the result.
func tellEnd(entered, left chan<- string, before func(ctx *fasthttp.RequestCtx)) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		before(ctx)
		ctx.WatchDisconnect()
		done := ctx.Done()
		entered <- "entered"
		<-done
		how := "gone"
		if ctx.EndedSending() {
			how = "ended sending"
		}
		left <- how
	}
}

// A TLS client may send close_notify, and leave the connection open.
func TestEndOfTLSIsSeenWhileTheHandlerRuns(t *testing.T) {
	t.Parallel()
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		for name, before := range map[string]func(ctx *fasthttp.RequestCtx){
			"plainly":     func(*fasthttp.RequestCtx) {},
			"early hints": func(ctx *fasthttp.RequestCtx) { ctx.Response.Header.Add("Link", "</a>"); _ = ctx.EarlyHints() },
		} {
			t.Run(tls.VersionName(version)+"/"+name, func(t *testing.T) {
				servertest.ForEachTLSEngine(t, func(t *testing.T, e servertest.Engine) {
					testEndOfTLSIsSeen(t, e, version, before)
				})
			})
		}
	}
}

func testEndOfTLSIsSeen(t *testing.T, e servertest.Engine, version uint16, before func(ctx *fasthttp.RequestCtx)) {
	entered, left := make(chan string, 1), make(chan string, 1)
	ts := startServer(t, e, &fasthttp.Server{Handler: tellEnd(entered, left, before)})
	config := servertest.TrustCertificate()
	config.MinVersion, config.MaxVersion = version, version
	for _, tc := range []struct {
		name, want string
		atOnce     bool // the client sends close_notify before the handler watches it
		leave      func(c *tls.Conn)
	}{
		{"close_notify", "ended sending", false, func(c *tls.Conn) { _ = c.CloseWrite() }},
		{"close_notify behind the request", "ended sending", true, func(c *tls.Conn) { _ = c.CloseWrite() }},
		{"close_notify, then FIN", "ended sending", false, func(c *tls.Conn) {
			_ = c.CloseWrite()
			_ = c.NetConn().(*net.TCPConn).CloseWrite()
		}},
		{"FIN without close_notify", "ended sending", false, func(c *tls.Conn) { _ = c.NetConn().(*net.TCPConn).CloseWrite() }},
		{"reset", "gone", false, func(c *tls.Conn) { servertest.Reset(c.NetConn()) }},
	} {
		nc, err := tls.Dial("tcp4", ts.Listener.Addr().String(), config)
		if err != nil {
			t.Fatal(err)
		}
		c := ts.Wrap(nc)
		c.Get("/")
		if !tc.atOnce {
			servertest.Receive(t, "the request", entered)
		}
		tc.leave(nc)
		if tc.atOnce {
			servertest.Receive(t, "the request", entered)
		}
		how := servertest.Receive(t, "the end of the context after "+tc.name, left)
		if how != tc.want && e.Kind == servertest.Event {
			t.Errorf("%s: the client has %s, want %s", tc.name, how, tc.want)
		}
		_ = nc.Close()
	}
}

// The producer of an event stream notices it, too.
func TestProducerSeesTheEndOfTLS(t *testing.T) {
	servertest.ForEachTLSEngine(t, func(t *testing.T, e servertest.Engine) {
		left := make(chan error, 1)
		ts := startServer(t, e, &fasthttp.Server{CancelOnDisconnect: true, Handler: func(ctx *fasthttp.RequestCtx) {
			done := ctx.Done()
			ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
				_, _ = w.WriteString("event")
				_ = w.Flush()
				<-done
				left <- ctx.Err()
			})
		}})
		nc, err := tls.Dial("tcp4", ts.Listener.Addr().String(), servertest.TrustCertificate())
		if err != nil {
			t.Fatal(err)
		}
		c := ts.Wrap(nc)
		c.Get("/")
		for line := ""; line != "event\r\n"; {
			if line, err = c.R.ReadString('\n'); err != nil {
				t.Fatal(err)
			}
		}
		_ = nc.CloseWrite()
		servertest.Receive(t, "the end of the context", left)
	})
}

// Until it is decrypted, a TLS 1.3 record with two bytes looks like a close_notify.
func TestWatchingTLSLosesNoBytes(t *testing.T) {
	t.Parallel()
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		servertest.ForEachTLSEngine(t, func(t *testing.T, e servertest.Engine) {
			for _, size := range []int{1, 2, 3} {
				testWatchingTLSLosesNoBytes(t, e, version, size)
			}
		})
	}
}

func testWatchingTLSLosesNoBytes(t *testing.T, e servertest.Engine, version uint16, size int) {
	g := servertest.NewGate()
	ts := startServer(t, e, &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
		g.Pass("before the watch")
		ctx.WatchDisconnect()
		g.Pass("after it")
		if ctx.Err() != nil {
			t.Error("the request has ended")
		}
		if string(ctx.Path()) == "/3" {
			ctx.Hijack(func(c net.Conn) { _, _ = io.Copy(c, c) })
		}
	}})
	config := servertest.TrustCertificate()
	config.MinVersion, config.MaxVersion = version, version
	nc, err := tls.Dial("tcp4", ts.Listener.Addr().String(), config)
	if err != nil {
		t.Fatal(err)
	}
	c := ts.Wrap(nc)
	c.Get("/1")
	for _, next := range []string{servertest.Get("/2"), servertest.Get("/3"), "echo"} {
		servertest.Receive(t, "the request", g.Entered)
		c.Send(next[:size])
		g.Open <- struct{}{}
		servertest.Receive(t, "the watch", g.Entered)
		for next = next[size:]; len(next) > 0; {
			n := min(size, len(next))
			c.Send(next[:n])
			next = next[n:]
		}
		g.Open <- struct{}{}
		c.Expect(200, "")
	}
	echoed := make([]byte, 4)
	if _, err := io.ReadFull(c.R, echoed); err != nil || string(echoed) != "echo" {
		t.Errorf("%d bytes a record: the hijacked connection has %q, %v", size, echoed, err)
	}
	_ = nc.Close()
}

// For a HijackHandler, too, a shutdown closes the channel of Done: whether the request was watched
// does not matter.
func TestWatchedContextOfAHijackedConnectionEndsWithShutdown(t *testing.T) {
	for _, watches := range []bool{false, true} {
		t.Run(fmt.Sprint("watched ", watches), func(t *testing.T) { testHijackedContextEnds(t, watches) })
	}
}

func testHijackedContextEnds(t *testing.T, watches bool) {
	told := make(chan error, 8)
	newServer := func() *fasthttp.Server {
		return &fasthttp.Server{HTTP2: fasthttp.HTTP2Config{ExtendedConnect: true}, Handler: func(ctx *fasthttp.RequestCtx) {
			if watches {
				ctx.WatchDisconnect()
			}
			derived, cancel := context.WithCancel(ctx)
			ctx.Hijack(func(c net.Conn) {
				defer cancel()
				_, _ = io.WriteString(c, "begun\n")
				servertest.Receive(t, "the end of the context", ctx.Done())
				servertest.Receive(t, "the end of the derived one", derived.Done())
				told <- ctx.Err()
			})
		}}
	}
	check := func(t *testing.T, s *testServer) {
		t.Helper()
		done := shutDown(s, t.Context())
		if err := servertest.Receive(t, "the HijackHandler", told); err != context.Canceled {
			t.Errorf("Err is %v", err)
		}
		servertest.Must(t, servertest.Receive(t, "the end of Shutdown", done))
	}
	forEachEngine(t, func(t *testing.T, start starter) {
		s := start(newServer())
		c := s.Dial()
		c.Get("/")
		c.Expect(200, "")
		c.ExpectLine("begun\n")
		check(t, s)
	})
	overHTTP2(t, func(t *testing.T, start http2Starter) {
		s := start(newServer())
		nc := s.openTunnel(t, s.tunnelClient(t), "any")
		_, err := io.ReadFull(nc, make([]byte, len("begun\n")))
		servertest.Must(t, err)
		check(t, s.testServer)
	})
}
