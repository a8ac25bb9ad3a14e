package integrationtests

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// TestHTTP2BothDirectionsAtOnce has a client that sends each piece after the answer to the one
// before.
func TestHTTP2BothDirectionsAtOnce(t *testing.T) {
	overHTTP2(t, func(t *testing.T, start http2Starter) {
		s := start(&fasthttp.Server{StreamRequestBody: true, Handler: func(ctx *fasthttp.RequestCtx) {
			if string(ctx.Path()) == "/stream" {
				ctx.SetBodyStream(ctx.RequestBodyStream(), -1)
				return
			}
			ctx.EnableFullDuplex()
			lines := bufio.NewReader(ctx.RequestBodyStream())
			ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
				for {
					line, err := lines.ReadString('\n')
					_, _ = w.WriteString(strings.ToUpper(line))
					if w.Flush() != nil || err != nil {
						return
					}
				}
			})
		}})
		for path, change := range map[string]func(string) string{
			"/stream": func(s string) string { return s },
			"/lines":  strings.ToUpper,
		} {
			r, w := io.Pipe()
			// the timeout is for each line, not for all of them
			ctx, giveUp := context.WithCancel(t.Context())
			defer giveUp()
			late := time.AfterFunc(servertest.Patience, giveUp)
			defer late.Stop()
			req := s.request(t, "POST", path, r).WithContext(ctx)
			go func() { _, _ = io.WriteString(w, "first line\n") }()
			resp := s.open(t, req)
			answers := bufio.NewReader(resp.Body)
			expect := func(line string) {
				t.Helper()
				late.Reset(servertest.Patience)
				if got, err := answers.ReadString('\n'); got != change(line) || err != nil {
					t.Fatalf("got %q, %v, want %q", got, err, change(line))
				}
			}
			expect("first line\n")
			// more small frames than the limit for empty frames
			for i := range 2000 {
				line := fmt.Sprintf("line %d\n", i)
				_, _ = io.WriteString(w, line)
				expect(line)
			}
			_ = w.Close()
			if rest, err := io.ReadAll(answers); len(rest) > 0 || err != nil {
				t.Errorf("after the end: %q, %v", rest, err)
			}
		}
	})
}

// TestHTTP2SlowReaderHoldsTheProducerUp has clients that open no window: the memory of the
// server must be bounded, and everything must arrive once they open it.
func TestHTTP2SlowReaderHoldsTheProducerUp(t *testing.T) {
	const size, bound = 8 << 20, 512 << 10
	kinds := map[string]func(ctx *fasthttp.RequestCtx, produced *atomic.Int64){
		"/writer": func(ctx *fasthttp.RequestCtx, produced *atomic.Int64) {
			ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
				for i := 0; i < size; i += 1 << 10 {
					if _, err := w.WriteString(numbered(size)[i : i+1<<10]); err != nil {
						return
					}
					produced.Add(1 << 10)
				}
			})
		},
		"/reader": func(ctx *fasthttp.RequestCtx, produced *atomic.Int64) {
			text := strings.NewReader(numbered(size))
			ctx.SetBodyStream(servertest.ReadFunc(func(p []byte) (int, error) {
				n, err := text.Read(p)
				produced.Add(int64(n))
				return n, err
			}), size)
		},
	}
	overHTTP2(t, func(t *testing.T, start http2Starter) {
		for path, answer := range kinds {
			var produced atomic.Int64
			server := &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
				if string(ctx.Path()) != path {
					echo(ctx)
					return
				}
				answer(ctx, &produced)
			}}
			// a busy machine takes long for the other requests
			server.HTTP2.WriteByteTimeout = servertest.Never
			s := start(server)
			c := s.dialFrames(t, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 20_000})
			c.Begin(1, true, "GET", path)
			f := c.Stream(1)
			c.Until("as much content as the window takes", func() bool { return len(f.Content) == 20_000 })
			for i := range 30 {
				// other requests are served meanwhile, and have room on the connection
				id := uint32(3 + 2*i)
				c.Begin(id, true, "GET", "/other")
				c.ExpectResponse(id, "200", `GET /other ""`)
			}
			if n := produced.Load(); n > bound {
				t.Errorf("%s: %d bytes were produced for a client that has taken 20,000", path, n)
			}
			c.Must(c.WriteWindowUpdate(0, size))
			c.Must(c.WriteWindowUpdate(1, size))
			c.ExpectResponse(1, "200", numbered(size))
		}
	})
}

// TestHTTP2SlowHandlerHoldsTheSenderUp has a handler that does not read its body: the server
// must not receive more than its window, and must serve other requests.
func TestHTTP2SlowHandlerHoldsTheSenderUp(t *testing.T) {
	const window, size = 256 << 10, 4 << 20
	overHTTP2(t, func(t *testing.T, start http2Starter) {
		g := servertest.NewGate()
		s := start(&fasthttp.Server{StreamRequestBody: true, Handler: func(ctx *fasthttp.RequestCtx) {
			if string(ctx.Path()) == "/slow" {
				g.Pass("slow")
			}
			if ctx.RequestBodyStream() == nil {
				ctx.SetBodyString("none")
				return
			}
			n, err := io.Copy(io.Discard, ctx.RequestBodyStream())
			fmt.Fprint(ctx, n, " ", err)
		}})
		c := s.dialFrames(t)
		c.Begin(1, false, "POST", "/slow")
		servertest.Receive(t, "the slow handler", g.Entered)
		c.Until("the settings of the server", func() bool { return c.Greeted() })
		sent, conn := 0, 65535
		piece := make([]byte, 16<<10)
		send := func() bool {
			n := min(len(piece), size-sent, int(c.InitialWindow())+c.Granted[1]-sent, conn+c.Granted[0]-sent)
			if n <= 0 {
				return false
			}
			c.Must(c.WriteData(1, sent+n == size, piece[:n]))
			sent += n
			return true
		}
		for range 100 {
			for send() {
			}
			c.Sync()
		}
		if sent < 65535 || sent > window {
			t.Errorf("the server takes %d bytes for a handler that reads nothing", sent)
		}
		c.Begin(3, true, "POST", "/quick")
		c.ExpectResponse(3, "200", "none")
		close(g.Open)
		for sent < size {
			before := sent
			c.Until("more room", func() bool { return send() || c.Stream(1).IsDone() })
			if c.Stream(1).IsDone() {
				break
			}
			if sent == before {
				t.Fatal("nothing was sent")
			}
		}
		c.ExpectResponse(1, "200", fmt.Sprint(size, " <nil>"))
	})
}

// TestHTTP2HandlersThatWaitHoldNobodyUp has ten of a hundred handlers wait, on one
// connection.
func TestHTTP2HandlersThatWaitHoldNobodyUp(t *testing.T) {
	overHTTP2(t, func(t *testing.T, start http2Starter) {
		g := servertest.NewGate()
		s := start(&fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
			if strings.HasPrefix(string(ctx.Path()), "/wait") {
				g.Pass(string(ctx.Path()))
			}
			ctx.SetBody(ctx.Path())
		}})
		c := s.dialFrames(t)
		for i := range 100 {
			path := fmt.Sprint("/", i)
			if i%10 == 0 {
				path = fmt.Sprint("/wait", i)
			}
			c.Begin(uint32(2*i+1), true, "GET", path)
		}
		for i := range 100 {
			if i%10 != 0 {
				c.ExpectResponse(uint32(2*i+1), "200", fmt.Sprint("/", i))
			}
		}
		for range 10 {
			servertest.Receive(t, "a handler that waits", g.Entered)
		}
		close(g.Open)
		for i := 0; i < 100; i += 10 {
			c.ExpectResponse(uint32(2*i+1), "200", fmt.Sprint("/wait", i))
		}
	})
}

// TestHTTP2SleepingStreamHoldsUpNoOther has one stream of a connection wait repeatedly, while
// requests are sent on its other streams in batches: all are answered while it waits.
func TestHTTP2SleepingStreamHoldsUpNoOther(t *testing.T) {
	const sleepers, batches, batch = 3, 30, 10
	overHTTP2(t, func(t *testing.T, start http2Starter) {
		entered, wake := make(chan struct{}, 1), make(chan struct{})
		s := start(&fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
			if string(ctx.Path()) == "/sleep" {
				entered <- struct{}{}
				<-wake
			}
			ctx.SetBody(ctx.Path())
		}})
		c := s.dialFrames(t)
		next := uint32(1)
		ask := func(path string) uint32 {
			id := next
			next += 2
			c.Begin(id, true, "GET", path)
			return id
		}
		for range sleepers {
			sleeper := ask("/sleep")
			for range batches {
				var others []uint32
				for range batch {
					others = append(others, ask("/"))
				}
				for _, id := range others {
					c.ExpectResponse(id, "200", "/")
				}
			}
			servertest.Receive(t, "the request of the sleeper", entered)
			if c.Stream(sleeper).IsDone() {
				t.Error("the sleeper is answered before it wakes")
			}
			servertest.Send(t, "the end of its sleep", wake, struct{}{})
			c.ExpectResponse(sleeper, "200", "/sleep")
		}
	})
}

// TestHTTP2HandlerLearnsOfAReset has clients that cancel a request, but keep the connection.
func TestHTTP2HandlerLearnsOfAReset(t *testing.T) {
	for _, forAll := range []bool{false, true} {
		t.Run(fmt.Sprintf("CancelOnDisconnect %v", forAll), func(t *testing.T) {
			overHTTP2(t, func(t *testing.T, start http2Starter) {
				h := newHang(!forAll)
				s := start(&fasthttp.Server{Handler: h.handle, CancelOnDisconnect: forAll})
				for range 3 {
					s.get(t, "/", "at once")
					ctx, cancel := context.WithCancel(t.Context())
					failed := make(chan error, 1)
					go func() {
						_, err := s.client.Do(s.request(t, "GET", "/hang", nil).WithContext(ctx))
						failed <- err
					}()
					servertest.Receive(t, "the request", h.entered)
					s.get(t, "/", "at once")
					cancel()
					if err := servertest.Receive(t, "the end of the call", failed); !errors.Is(err, context.Canceled) {
						t.Errorf("the call ends with %v", err)
					}
					if err := servertest.Receive(t, "the end of the context", h.left); err != context.Canceled {
						t.Errorf("Err is %v", err)
					}
				}
				// the end of the connection is the end of its requests
				c := s.dialFrames(t)
				c.Begin(1, true, "GET", "/hang")
				servertest.Receive(t, "the request", h.entered)
				_ = c.Conn.Close()
				servertest.Receive(t, "the end of the context", h.left)
			})
		})
	}
}

// TestHTTP2ResetEndsBodies has clients that reset a stream while the handler reads the body of
// the request, and while it writes the body of the response.
func TestHTTP2ResetEndsBodies(t *testing.T) {
	overHTTP2(t, func(t *testing.T, start http2Starter) {
		reading, ended := make(chan struct{}, 1), make(chan error, 1)
		s := start(&fasthttp.Server{StreamRequestBody: true, Handler: func(ctx *fasthttp.RequestCtx) {
			switch string(ctx.Path()) {
			case "/read":
				body := ctx.RequestBodyStream()
				_, _ = io.ReadFull(body, make([]byte, 3))
				reading <- struct{}{}
				_, err := io.Copy(io.Discard, body)
				ended <- err
			case "/write":
				ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
					for {
						if _, err := w.WriteString("some text that goes on"); err != nil {
							ended <- err
							return
						}
					}
				})
			default:
				ctx.SetBodyString("well")
			}
		}})
		c := s.dialFrames(t)
		c.Begin(1, false, "POST", "/read")
		c.Must(c.WriteData(1, false, []byte("abc")))
		servertest.Receive(t, "a part of the body", reading)
		c.Must(c.WriteRSTStream(1, http2.ErrCodeCancel))
		if err := servertest.Receive(t, "the end of the body", ended); err == nil {
			t.Error("a request that was reset ends well")
		}
		c.Begin(3, true, "GET", "/write")
		c.Until("a part of the response", func() bool { return len(c.Stream(3).Content) > 0 })
		c.Must(c.WriteRSTStream(3, http2.ErrCodeCancel))
		if err := servertest.Receive(t, "the end of the response", ended); err == nil {
			t.Error("the producer for a client that has left ends well")
		}
		c.Must(c.WriteWindowUpdate(0, 1<<20))
		c.Begin(5, true, "GET", "/")
		c.ExpectResponse(5, "200", "well")
		c.Begin(7, true, "GET", "/write")
		c.Until("a part of the response", func() bool { return len(c.Stream(7).Content) > 0 })
		_ = c.Conn.Close()
		if err := servertest.Receive(t, "the end of the response", ended); err == nil {
			t.Error("the producer for a connection that has ended ends well")
		}
		// clients may disconnect in any way
		servertest.Eventually(t, "no connection", func() bool { return s.S.GetOpenConnectionsCount() == 0 })
		s.Log.CheckEmpty(t)
	})
}

// TestHTTP2PanicEndsItsStream checks that other streams of the connection continue.
func TestHTTP2PanicEndsItsStream(t *testing.T) {
	overHTTP2(t, func(t *testing.T, start http2Starter) {
		g := servertest.NewGate()
		s := start(&fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
			switch string(ctx.Path()) {
			case "/panic":
				panic("a mistake")
			case "/abort":
				panic(http.ErrAbortHandler)
			case "/goexit":
				runtime.Goexit()
			case "/writer":
				ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
					_, _ = w.WriteString("abc")
					_ = w.Flush()
					panic("a mistake of a producer")
				})
			case "/reader":
				ctx.SetBodyStream(servertest.ReadFunc(func([]byte) (int, error) { panic("a mistake of a reader") }), -1)
			case "/short":
				ctx.SetBodyStream(strings.NewReader("abc"), 10)
			case "/fails":
				ctx.SetBodyStream(io.MultiReader(strings.NewReader("abc"), servertest.ReadFunc(func([]byte) (int, error) { return 0, errors.New("no more") })), -1)
			case "/wait":
				g.Pass("wait")
			}
			ctx.Response.Header.Set("X-Path", string(ctx.Path()))
		}})
		c := s.dialFrames(t)
		c.Begin(1, true, "GET", "/wait")
		servertest.Receive(t, "the handler that waits", g.Entered)
		for i, path := range []string{"/panic", "/abort", "/goexit", "/writer", "/reader", "/short", "/fails"} {
			id := uint32(3 + 2*i)
			c.Begin(id, true, "GET", path)
			if f := c.ExpectReset(id, http2.ErrCodeInternal); len(f.Heads) > 0 && !strings.Contains("/writer/reader/short/fails", path) {
				t.Errorf("%s: a response has begun: %v", path, f.Heads)
			}
		}
		for _, text := range []string{"a mistake", "a mistake of a producer", "a mistake of a reader"} {
			s.Log.WaitFor(t, text)
		}
		close(g.Open)
		if f := c.ExpectResponse(1, "200", ""); f.Head(0)["x-path"] != "/wait" {
			t.Errorf("got %v", f.Heads)
		}
		if _, err := s.client.Do(s.request(t, "GET", "/panic", nil)); !resetWith(err, http2.ErrCodeInternal) {
			t.Errorf("the client of net/http sees %v", err)
		}
	})
}

func TestHTTP2Timeouts(t *testing.T) {
	overHTTP2(t, func(t *testing.T, start http2Starter) {
		g := servertest.NewGate()
		late := fasthttp.TimeoutWithCodeHandler(passing(g), servertest.Short, "too late", 504)
		s := start(&fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
			if string(ctx.Path()) == "/late" {
				late(ctx)
				return
			}
			ctx.SetBodyString("in time")
		}})
		for range 3 {
			s.ask(t, "GET", "/late", "", 504, "too late")
			servertest.Receive(t, "the late handler", g.Entered)
			s.get(t, "/", "in time")
		}
		close(g.Open)
		s.get(t, "/", "in time")
	})
}

// TestHTTP2Expect has clients that wait for 100 (Continue).
func TestHTTP2Expect(t *testing.T) {
	overHTTP2(t, func(t *testing.T, start http2Starter) {
		for _, streams := range []bool{false, true} {
			s := start(&fasthttp.Server{StreamRequestBody: streams, Handler: func(ctx *fasthttp.RequestCtx) {
				if string(ctx.Path()) == "/unread" {
					ctx.Error("no, thanks", 403)
					return
				}
				echo(ctx)
			}, ContinueHandler: func(h *fasthttp.RequestHeader) bool {
				return string(h.Peek("X-Who")) == "friend"
			}})
			c := s.dialFrames(t)
			c.Begin(1, false, "POST", "/", "expect", "100-continue", "content-length", "3", "x-who", "friend")
			c.Until("100 Continue", func() bool { return c.Stream(1).Head(0)[":status"] == "100" })
			c.Must(c.WriteData(1, true, []byte("abc")))
			c.ExpectResponse(1, "200", `POST / "abc"`)
			c.Begin(3, false, "POST", "/", "expect", "100-continue", "content-length", "3", "x-who", "foe")
			c.Until("417", func() bool { return c.Stream(3).Head(0)[":status"] == "417" })
			// the connection stays open, whatever happens to the stream
			c.Begin(5, true, "GET", "/")
			c.ExpectResponse(5, "200", `GET / ""`)

			req, got := informed(s.request(t, "POST", "/", strings.NewReader("abc"), "Expect", "100-continue", "X-Who", "friend"))
			if resp := s.do(t, req); resp.StatusCode != 200 || resp.Content != `POST / "abc"` {
				t.Errorf("got %d %q, %v", resp.StatusCode, resp.Content, got())
			}
			if resp := s.open(t, s.request(t, "POST", "/", strings.NewReader("abc"), "Expect", "100-continue", "X-Who", "foe")); resp.StatusCode != 417 {
				t.Errorf("a foe gets %d", resp.StatusCode)
			}
			if streams {
				c.Begin(7, false, "POST", "/unread", "expect", "100-continue", "content-length", "3", "x-who", "friend")
				c.Until("403", func() bool { return c.Stream(7).Head(0)[":status"] == "403" })
			}
		}
	})
}

// TestHTTP2ResponseGoesBeforeTheBody has a handler that answers without reading: the server
// asks the client to stop sending (RFC 9113 section 8.1).
func TestHTTP2ResponseGoesBeforeTheBody(t *testing.T) {
	overHTTP2(t, func(t *testing.T, start http2Starter) {
		s := start(&fasthttp.Server{StreamRequestBody: true, Handler: func(ctx *fasthttp.RequestCtx) { ctx.Error("no, thanks", 403) }})
		c := s.dialFrames(t)
		c.Begin(1, false, "POST", "/")
		c.Must(c.WriteData(1, false, make([]byte, 10_000)))
		f := c.Stream(1)
		c.Until("the response", func() bool { return f.Ended })
		if f.Head(0)[":status"] != "403" || string(f.Content) != "no, thanks" {
			t.Errorf("got %v %q", f.Heads, f.Content)
		}
		c.Until("the end of the stream", func() bool { return f.Reset != nil })
		if *f.Reset != http2.ErrCodeNo {
			t.Errorf("the stream is reset with %v", *f.Reset)
		}
		c.Begin(3, true, "GET", "/")
		c.ExpectResponse(3, "403", "no, thanks")
		// a net/http client gets the response although it cannot send its body
		r, w := io.Pipe()
		defer w.Close()
		if resp := s.do(t, s.request(t, "POST", "/", r)); resp.StatusCode != 403 || resp.Content != "no, thanks" {
			t.Errorf("got %d %q", resp.StatusCode, resp.Content)
		}
	})
}

// TestHTTP2ManyRequestsAtOnce has goroutines that share a connection.
func TestHTTP2ManyRequestsAtOnce(t *testing.T) {
	overHTTP2(t, func(t *testing.T, start http2Starter) {
		conns := make(map[uint64]bool)
		var mu sync.Mutex
		var quick atomic.Int32
		served := make(chan struct{}) // many requests that are quick
		s := start(&fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
			mu.Lock()
			conns[ctx.ConnID()] = true
			mu.Unlock()
			if string(ctx.Path()) == "/slow" {
				<-served
			} else if quick.Add(1) == 100 {
				close(served)
			}
			ctx.SetBody(ctx.PostBody())
		}})
		s.get(t, "/", "")
		var all sync.WaitGroup
		for i := range 100 {
			all.Go(func() {
				for j := range 3 {
					path := "/"
					if i%10 == 0 {
						path = "/slow"
					}
					text := numbered(100_000)[(100*i+j)*8%50_000:][:100+i*300]
					resp, err := s.client.Do(s.request(t, "POST", path, strings.NewReader(text)))
					if err != nil {
						t.Error(err)
						return
					}
					got, err := io.ReadAll(resp.Body)
					_ = resp.Body.Close()
					if string(got) != text || err != nil {
						t.Errorf("request %d of %d: %d bytes, %v", j, i, len(got), err)
					}
				}
			})
		}
		all.Wait()
		if len(conns) != 1 {
			t.Errorf("there were %d connections", len(conns))
		}
	})
}

// writeParts answers with the parts received from next. "" is the end.
func writeParts(next <-chan string) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		_ = ctx.Response.Header.SetTrailer("X-End")
		if string(ctx.Path()) == "/trailers" {
			ctx.Response.Header.Set("X-End", "yes")
		}
		ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
			for text := range next {
				if text == "" {
					return
				}
				_, _ = w.WriteString(text)
				_ = w.Flush()
			}
		})
	}
}

// TestHTTP2NothingWaitsForAClock has responses in which each part is made after all earlier
// parts were written. In the bubble no time passes: it would pass if a part waited for the
// connection's next look at the clock.
func TestHTTP2NothingWaitsForAClock(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		next := make(chan string)
		c := greetHTTP2(serveHTTP2(t, servertest.MemoryEngine, &fasthttp.Server{Handler: writeParts(next)})).Listen()
		begun := time.Now()
		for i := range uint32(20) {
			c.Get(id(i), []string{"/trailers", "/"}[i%2]).Flush()
			for n := range 4 {
				servertest.Send(t, "a part", next, "some text")
				synctest.Wait()
				if got, want := string(c.Snapshot(id(i)).Content), strings.Repeat("some text", n+1); got != want {
					t.Fatalf("got %q, want %q", got, want)
				}
			}
			servertest.Send(t, "the end", next, "")
			synctest.Wait()
			if s := c.Snapshot(id(i)); !s.Ended || len(s.Trailers()) != int(1-i%2) {
				t.Errorf("at the end: ended %v, trailers %v", s.Ended, s.Trailers())
			}
		}
		if d := time.Since(begun); d > 0 {
			t.Errorf("20 responses took %v", d)
		}
	})
}

// TestHTTP2PartsComeOneByOne is the same on every engine.
func TestHTTP2PartsComeOneByOne(t *testing.T) {
	overHTTP2(t, func(t *testing.T, start http2Starter) {
		next := make(chan string)
		s := start(&fasthttp.Server{Handler: writeParts(next)})
		for i := range 20 {
			path := "/"
			if i%2 == 0 {
				path = "/trailers"
			}
			opened := make(chan *http.Response, 1)
			go func() { opened <- s.open(t, s.request(t, "GET", path, nil)) }()
			servertest.Send(t, "a part", next, "some text")
			resp := servertest.Receive(t, "the response", opened)
			for range 3 {
				if _, err := io.ReadFull(resp.Body, make([]byte, len("some text"))); err != nil {
					t.Fatal(err)
				}
				servertest.Send(t, "a part", next, "some text")
			}
			servertest.Send(t, "the end", next, "")
			if rest, err := io.ReadAll(resp.Body); string(rest) != "some text" || err != nil {
				t.Errorf("the rest is %q, %v", rest, err)
			}
		}
	})
}

// A handler that ends its goroutine may be one of several that are served, and whose responses
// are written, together. Their output does not wait for a look at the clock.
func TestHTTP2ExitWaitsForNoClock(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		c := greetHTTP2(serveHTTP2(t, servertest.MemoryEngine, &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
			if string(ctx.Path()) == "/exit" {
				runtime.Goexit()
			}
		}})).Listen()
		begun := time.Now()
		for i := range uint32(5) {
			c.Get(id(2*i), "/").Get(id(2*i+1), "/exit").Flush()
			synctest.Wait()
			if got, want := c.Snapshot(id(2*i)).Status()+" "+c.Snapshot(id(2*i+1)).ResetCode(), "200 INTERNAL_ERROR"; got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		}
		if d := time.Since(begun); d > 0 {
			t.Errorf("it took %v", d)
		}
	})
}

// A shutdown asks an idle client, with PING, whether anything is on its way. It does not wait
// for a client that does not answer, although the connection has no time limit until then.
func TestHTTP2ShutdownDoesNotWaitForASilentClient(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		s := &fasthttp.Server{Handler: func(*fasthttp.RequestCtx) {}, Logger: noLog{}}
		c := dialHTTP2(serveHTTP2(t, servertest.MemoryEngine, s))
		greetWith(c, 65535)
		// until the connection has released its memory, it checks the time
		time.Sleep(time.Minute)
		begun := time.Now()
		down := make(chan error, 1)
		go func() { down <- s.Shutdown() }()
		if err := servertest.Receive(t, "the end of the shutdown", down); err != nil || time.Since(begun) > 3*time.Second {
			t.Errorf("%v after %v", err, time.Since(begun))
		}
	})
}
