package integrationtests

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

const (
	h2Rate  = 1000 // bytes in a second
	h2Grace = 10 * time.Second
)

// pacedServer counts the content of requests. The handler of a path /stream reads it as it
// arrives, the one of /late after a day, and the one of /seldom a byte in an hour. A read error
// is sent to failed. A tunnel is an echo.
func pacedServer(failed chan<- error) *fasthttp.Server {
	return &fasthttp.Server{
		MinRequestBodyRate: h2Rate, MinRequestBodyRateGrace: h2Grace, MaxRequestBodySize: 1 << 30, IdleTimeout: 1000 * time.Hour,
		HeaderReceived: func(h *fasthttp.RequestHeader) (c fasthttp.RequestConfig) {
			if string(h.RequestURI()) != "/" {
				c.BodyMode = fasthttp.BodyModeStream
			}
			return c
		},
		Handler: func(ctx *fasthttp.RequestCtx) {
			if ctx.IsConnect() {
				ctx.Response.ImmediateHeaderFlush = true
				ctx.SetBodyStream(ctx.RequestBodyStream(), -1)
				return
			}
			n := int64(0)
			if stream := ctx.RequestBodyStream(); stream == nil {
				n = int64(len(ctx.PostBody()))
			} else {
				var err error
				switch string(ctx.Path()) {
				case "/late":
					time.Sleep(24 * time.Hour) // bubble: inBubble
				case "/seldom":
					stream = servertest.ReadFunc(func(p []byte) (int, error) {
						time.Sleep(time.Hour) // bubble: inBubble
						return ctx.RequestBodyStream().Read(p[:1])
					})
				}
				if n, err = io.Copy(io.Discard, stream); err != nil {
					failed <- err
				}
			}
			fmt.Fprint(ctx, n)
		},
	}
}

// sleepInBubble lets time pass, and waits for what happens then.
func sleepInBubble(d time.Duration) {
	time.Sleep(d) // bubble: inBubble
	synctest.Wait()
}

// TestHTTP2MinRequestBodyRate has clients that send content slowly, or not at all. The server
// refuses their requests alone, at most a second after the time is up.
func TestHTTP2MinRequestBodyRate(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		failed := make(chan error, 100)
		c := greetHTTP2(serveHTTP2(t, servertest.MemoryEngine, pacedServer(failed))).Listen()
		next := uint32(1)
		begin := func(path, content string) (id uint32) {
			id, next = next, next+2
			c.Post(id, path).Data(id, 0, content).Flush()
			synctest.Wait()
			return id
		}
		refused := func(what, path string, id uint32) {
			t.Helper()
			want := "408"
			if path != "/" {
				want = "200"
				if err := servertest.Receive(t, "the error of the stream", failed); !errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("%s: the stream ends with %v", what, err)
				}
			}
			if s := c.Snapshot(id); s.Status() != want {
				t.Errorf("%s: the status is %q, want %q", what, s.Status(), want)
			}
		}
		for _, path := range []string{"/", "/stream"} {
			for _, sent := range []int{1, 9000, 60_000} {
				id := begin(path, strings.Repeat("x", min(sent, 15_000)))
				for n := 15_000; n < sent; n += 15_000 {
					c.Data(id, 0, strings.Repeat("x", 15_000)).Flush()
				}
				synctest.Wait()
				sleepInBubble(h2Grace - 1)
				if s := c.Snapshot(id); s.IsDone() || s.Status() != "" || len(failed) > 0 {
					t.Fatalf("%s, %d bytes: the request is refused early, with %q", path, sent, s.Status())
				}
				sleepInBubble(time.Second + 1)
				refused(fmt.Sprint("a client that stops after ", sent), path, id)
			}

			id, seconds := begin(path, ""), 0
			for ; seconds < 100 && c.Snapshot(id).Status() == "" && len(failed) == 0; seconds++ {
				sleepInBubble(time.Second)
				c.Data(id, 0, strings.Repeat("x", h2Rate*3/4)).Flush()
				synctest.Wait()
			}
			// it loses a quarter of each second, and the server waits a whole one
			if least := 4 * int(h2Grace/time.Second-1); seconds < least || seconds > least+2 {
				t.Errorf("%s: a client with three quarters of the rate is refused after %d seconds", path, seconds)
			}
			refused("a client with three quarters of the rate", path, id)

			id = begin(path, "")
			for range 100 {
				sleepInBubble(time.Second)
				c.Data(id, 0, strings.Repeat("x", h2Rate)).Flush()
			}
			c.Data(id, endStream, "").Flush()
			synctest.Wait()
			if s := c.Snapshot(id); s.Status() != "200" || string(s.Content) != fmt.Sprint(100*h2Rate) {
				t.Errorf("%s: a client that keeps the rate gets %q %q", path, s.Status(), s.Content)
			}
		}
		if len(failed) > 0 || c.IsOver() {
			t.Errorf("other bodies have failed: %d; or the connection has ended", len(failed))
		}
	})
}

// TestHTTP2MinRequestBodyRateIsForTheClientAlone has content for which the client need not send
// anything, or must not.
func TestHTTP2MinRequestBodyRateIsForTheClientAlone(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		failed := make(chan error, 100)
		c := greetHTTP2(serveHTTP2(t, servertest.MemoryEngine, pacedServer(failed))).Listen()
		// the handler takes its time for each byte
		c.Post(1, "/seldom").Data(1, 0, "abcd").Flush()
		sleepInBubble(3*time.Hour + time.Minute)
		c.Data(1, endStream, "efgh").Flush()
		sleepInBubble(24 * time.Hour)
		if s := c.Snapshot(1); s.Status() != "200" || string(s.Content) != "8" {
			t.Errorf("a body that is read slowly: %q %q", s.Status(), s.Content)
		}

		// a tunnel is no body
		c.Headers(3, endHeaders, ":method: CONNECT", ":authority: b:443").Flush()
		sleepInBubble(24 * time.Hour)
		c.Data(3, endStream, "late").Flush()
		synctest.Wait()
		if s := c.Snapshot(3); s.Status() != "200" || !s.Ended || string(s.Content) != "late" {
			t.Errorf("a silent tunnel: %v", s)
		}

		// handlers that do not read have used up the window of the connection
		c = greetHTTP2(serveHTTP2(t, servertest.MemoryEngine, pacedServer(failed))).Listen()
		synctest.Wait()
		left, late := 65535+c.Granted[0], uint32(1)
		for ; left > 0; late += 2 {
			size := min(left, c.InitialWindow())
			c.Post(late, "/late").Flush()
			c.Upload(late, size)
			c.Data(late, endStream, "").Flush()
			left -= size
		}
		held := late
		c.Post(held, "/").Flush()
		sleepInBubble(23 * time.Hour)
		if s := c.Snapshot(held); s.IsDone() || s.Status() != "" {
			t.Errorf("a request whose content has no window gets %q", s.Status())
		}
		sleepInBubble(2 * time.Hour)
		for id := uint32(1); id < late; id += 2 {
			if s := c.Snapshot(id); s.Status() != "200" {
				t.Errorf("stream %d, which is read late: %q", id, s.Status())
			}
		}
	})
}

// TestHTTP2MinRequestBodyRateWhileOutputWaits has a client that takes nothing of a large response
// for a while, but sends other content at the rate: the server does not read it until it has written
// the response.
func TestHTTP2MinRequestBodyRateWhileOutputWaits(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		failed := make(chan error, 100)
		s := pacedServer(failed)
		s.HTTP2.WriteByteTimeout = time.Hour
		read := s.Handler
		s.Handler = func(ctx *fasthttp.RequestCtx) {
			if ctx.IsGet() {
				ctx.Response.SetBodyRaw(make([]byte, 8<<20))
				return
			}
			read(ctx)
		}
		c := greetHTTP2(serveHTTP2(t, servertest.MemoryEngine, s), uint32(http2.SettingInitialWindowSize), largeStep)
		c.Window(0, largeStep-65535).Get(1, "/").Post(3, "/").Post(5, "/stream").Post(7, "/").Post(9, "/stream").Flush()
		const seconds = 3 * int(h2Grace/time.Second)
		for range seconds {
			sleepInBubble(time.Second)
			for id := uint32(3); id <= 5; id += 2 {
				c.Data(id, 0, strings.Repeat("x", h2Rate)).Flush()
			}
		}
		c.Listen()
		synctest.Wait()
		if s := c.Snapshot(1); s.Length != 8<<20 {
			t.Errorf("the response has %d bytes", s.Length)
		}
		for id := uint32(3); id <= 5; id += 2 {
			c.Data(id, endStream, "").Flush()
			if s := c.Await(id); s.Status() != "200" || string(s.Content) != fmt.Sprint(seconds*h2Rate) {
				t.Errorf("stream %d gets %q %q", id, s.Status(), s.Content)
			}
		}
		if len(failed) > 0 {
			t.Errorf("a stream ends with %v", <-failed)
		}
		// the others have sent nothing
		sleepInBubble(h2Grace + time.Second)
		if s := c.Snapshot(7); s.Status() != "408" {
			t.Errorf("a body that does not come: %q", s.Status())
		}
		if err := servertest.Receive(t, "the error of the stream", failed); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("a stream that does not come ends with %v", err)
		}
	})
}
