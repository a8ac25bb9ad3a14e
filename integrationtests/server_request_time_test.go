package integrationtests

import (
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// TestRequestTimeBehindASlowHandler sends a request while the handler of another one runs, on
// the same connection and on another one: its time is the time of its own arrival.
func TestRequestTimeBehindASlowHandler(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		for _, same := range []bool{true, false} {
			g := servertest.NewGate()
			times := make(chan time.Time, 1)
			s := start(&fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
				if string(ctx.Path()) == "/slow" {
					g.Pass("slow")
				}
				times <- ctx.Time()
			}})
			expect := func(what string, sent time.Time) {
				if at := servertest.Receive(t, "the time", times); at.Before(sent) || at.After(time.Now()) {
					t.Errorf("same connection %v: the %s request is of %v, but was sent after %v", same, what, at, sent)
				}
			}
			first := s.Dial()
			other := first
			if !same {
				other = s.Dial()
			}
			sent := time.Now()
			first.Get("/slow")
			servertest.Receive(t, "the slow request", g.Entered)
			sentOther := time.Now()
			other.Get("/")
			if !same {
				expect("other", sentOther)
			}
			close(g.Open)
			expect("slow", sent)
			first.Expect(200, "")
			if same {
				expect("other", sentOther)
			}
			other.Expect(200, "")
		}
	})
}

// TestRequestTimeBehindATurnWithoutInput sends contents of sizes at which the turn of a
// connection ends with the last byte: then the loop has nothing to read, calls the handler,
// and reads the next request in the same turn.
func TestRequestTimeBehindATurnWithoutInput(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		for _, streams := range []bool{true, false} {
			entered, open, times := make(chan bool), make(chan bool), make(chan time.Time, 1)
			heads := make(chan bool, 1)
			s := start(&fasthttp.Server{ReadBufferSize: 1024, ReadTimeout: servertest.Patience,
				HeaderReceived: func(*fasthttp.RequestHeader) (c fasthttp.RequestConfig) {
					heads <- true
					return c
				},
				Handler: func(ctx *fasthttp.RequestCtx) {
					if string(ctx.Path()) != "/slow" {
						times <- ctx.Time()
						return
					}
					entered <- true
					<-open
					if streams {
						ctx.SetBodyStream(strings.NewReader("abc"), -1)
					}
				}})
			for size := 15 << 10; size <= 17<<10; size += 200 {
				c := s.Dial()
				post := servertest.Post("/slow", strings.Repeat("x", size))
				c.Send(post[:100])
				servertest.Receive(t, "the head", heads)
				c.Send(post[100:])
				servertest.Receive(t, "the slow request", entered)
				sent := time.Now()
				c.Get("/next")
				if end, ok := c.Conn.(interface{ CloseWrite() error }); ok && !streams {
					servertest.Must(t, end.CloseWrite())
				}
				open <- true
				servertest.Receive(t, "the next head", heads)
				if at := servertest.Receive(t, "the time", times); at.Before(sent) {
					t.Errorf("streams %v, content of %d: the next request is of %v before it was sent", streams, size, sent.Sub(at))
				}
				_ = c.Close()
			}
		}
	})
}

// TestRequestTimeBehindAProxysHeader checks that a request is not older than its connection,
// which begins with a header of a proxy.
func TestRequestTimeBehindAProxysHeader(t *testing.T) {
	for _, engine := range []fasthttp.Engine{fasthttp.EnginePortable, fasthttp.EngineEvent} {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		servertest.Must(t, err)
		after := make(chan time.Duration, 1)
		s := &fasthttp.Server{
			Engine:        engine,
			ProxyProtocol: &fasthttp.ProxyProtocol{From: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}},
			Handler:       func(ctx *fasthttp.RequestCtx) { after <- ctx.Time().Sub(ctx.ConnTime()) },
		}
		served := make(chan error, 1)
		go func() { served <- s.Serve(ln) }()
		for range 3 {
			c := servertest.DialOnceServed(t, ln.Addr().String())
			c.Send("PROXY TCP4 192.0.2.1 198.51.100.2 1234 443\r\n" + servertest.Get("/"))
			if got := servertest.Receive(t, "the times", after); got < 0 {
				t.Errorf("engine %v: the request came %v before its connection", engine, -got)
			}
			_ = c.Close()
		}
		servertest.ShutDown(t, s)
		servertest.Must(t, servertest.Receive(t, "the end of Serve", served))
	}
}

func TestLazyRequestTime(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		for _, lazy := range []bool{false, true} {
			s := &fasthttp.Server{LazyRequestTime: lazy, Handler: func(ctx *fasthttp.RequestCtx) {
				before := time.Now()
				time.Sleep(time.Minute) // bubble: the argument of inBubble
				at := ctx.Time()
				if at.After(before) != lazy {
					t.Errorf("lazy %v: Time is %v after the handler began", lazy, at.Sub(before))
				}
				if again := ctx.Time(); again != at {
					t.Errorf("lazy %v: Time is %v, then %v", lazy, at, again)
				}
				if !ctx.ConnTime().Before(before.Add(1)) {
					t.Errorf("the connection is from the future: %v", ctx.ConnTime())
				}
			}}
			if err := s.ServeConn(&servertest.FakeConn{Pieces: [][]byte{[]byte(servertest.Get("/")), []byte(servertest.Get("/"))}}); err != nil {
				t.Fatal(err)
			}
		}
	})
}
