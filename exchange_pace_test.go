package fasthttp

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestReadHeaderTimeoutIsForTheHead(t *testing.T) {
	for _, s := range []*Server{
		{ReadHeaderTimeout: readTime},
		{ReadHeaderTimeout: readTime, StreamRequestBody: true},
		{ReadHeaderTimeout: readTime, ReadTimeout: 1000 * time.Hour},
		{ReadHeaderTimeout: 1000 * time.Hour, ReadTimeout: readTime, HeaderReceived: func(*RequestHeader) RequestConfig {
			return RequestConfig{ReadTimeout: 1000 * time.Hour}
		}},
	} {
		s.IdleTimeout, s.Handler = 100*time.Hour, echo
		inBubble(t, s, func(t *testing.T, dial func() *testConn) {
			dial().timesOutAfter(readTime)
			c := dial()
			time.Sleep(readTime - 1)
			c.send("GET / HT")
			c.timesOutAfter(1)

			c = dial()
			for range 2 {
				c.send(head("POST / HTTP/1.1", "Host: a", "Content-Length: 6")[:20])
				time.Sleep(readTime - 1)
				c.send(head("POST / HTTP/1.1", "Host: a", "Content-Length: 6")[20:] + "abc")
				time.Sleep(24 * time.Hour)
				c.send("def")
				c.expect(200, echoed("POST", "/", "abcdef"))
				time.Sleep(24 * time.Hour)
				c.get("/")
				c.expect(200, echoed("GET", "/", ""))
			}
			c.send("GET / HT")
			time.Sleep(readTime - 1)
			c.send("TP")
			c.timesOutAfter(1)
		})
	}
}

func TestReadTimeoutGoesOnBehindTheHead(t *testing.T) {
	for _, s := range []*Server{
		{ReadHeaderTimeout: readTime, ReadTimeout: 3 * readTime},
		{ReadHeaderTimeout: readTime, ReadTimeout: 3 * readTime, MinRequestBodyRate: 1, MinRequestBodyRateGrace: time.Hour},
	} {
		inBubble(t, s, func(t *testing.T, dial func() *testConn) {
			c := dial()
			for range 2 {
				c.send("POST / HTTP/1.1\r\n")
				time.Sleep(readTime - 1)
				c.send("Host: a\r\nContent-Length: 2\r\n\r\n")
				time.Sleep(2 * readTime)
				c.send("ab")
				c.expect(200, echoed("POST", "/", "ab"))
			}
			c.send("POST / HTTP/1.1\r\n")
			time.Sleep(readTime - 1)
			c.send("Host: a\r\nContent-Length: 2\r\n\r\n")
			c.timesOutAfter(2*readTime + 1)
		})
	}
}

func TestReadHeaderTimeoutOnEveryEngine(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
		ts := start(&Server{ReadHeaderTimeout: 100 * time.Millisecond, Handler: echo})
		c := ts.dial()
		for range 2 {
			c.send(head("POST / HTTP/1.1", "Host: a", "Content-Length: 6") + "abc")
			_ = c.SetReadDeadline(time.Now().Add(300 * time.Millisecond))
			if b, err := c.r.Peek(1); !isTimeout(err) {
				t.Fatalf("got %q, %v before the body was there", b, err)
			}
			_ = c.SetReadDeadline(time.Now().Add(patience))
			c.send("def")
			c.expect(200, echoed("POST", "/", "abcdef"))
		}
		c.send("GET / HT")
		if resp := c.next("GET"); resp.StatusCode != StatusRequestTimeout {
			t.Errorf("status %d", resp.StatusCode)
		}
		c.expectEnd()
		if !ts.engine.tls {
			// what is wrong with a handshake is not answered
			ts.dial().expect(StatusRequestTimeout, "Request timeout")
		}
	})
}

const (
	bodyRate  = 1000
	bodyGrace = 2 * time.Second
)

// drip sends so many bytes a second for a while, and ignores the end.
func (c *testConn) drip(bytes int, format string, seconds int) {
	for range seconds {
		time.Sleep(time.Second)
		_, _ = fmt.Fprintf(c.Conn, format, strings.Repeat("x", bytes))
	}
}

func TestMinRequestBodyRate(t *testing.T) {
	for _, s := range []*Server{{}, {StreamRequestBody: true}} {
		s.MinRequestBodyRate, s.MinRequestBodyRateGrace = bodyRate, bodyGrace
		var failed error
		s.Handler = func(ctx *RequestCtx) {
			var n int64
			if stream := ctx.RequestBodyStream(); s.StreamRequestBody && stream != nil {
				var err error
				if n, err = io.Copy(io.Discard, stream); err != nil {
					failed = err
					ctx.Error("slow", StatusRequestTimeout)
					return
				}
				// the time of the handler does not count
				time.Sleep(time.Hour)
			}
			fmt.Fprint(ctx, int(n)+len(ctx.PostBody()))
		}
		inBubble(t, s, func(t *testing.T, dial func() *testConn) {
			// whoever sends nothing, however much there was before
			for _, sent := range []int{0, 1, 90_000} {
				c := dial()
				c.send(part("/", 100_000, sent))
				c.timesOutAfter(bodyGrace)
			}
			// whoever sends less than that
			const slow = bodyRate * 5 / 8
			for _, drip := range []struct{ first, format string }{
				{part("/", 100_000, 0), "%s"},
				{chunked("/", ""), fmt.Sprintf("%x\r\n%%s\r\n", slow)},
			} {
				after := 3*time.Second + bodyGrace - 3*time.Second*3/8
				if s.StreamRequestBody {
					// what frames the chunks counts as well
					after += 3 * time.Duration(len(drip.format)-len("%s")) * time.Second / bodyRate
				}
				c := dial()
				c.send(drip.first)
				var dripped sync.WaitGroup
				dripped.Go(func() { c.drip(slow, drip.format, 10) })
				c.timesOutAfter(after)
				dripped.Wait()
			}

			c := dial()
			for range 2 {
				// nobody ends who sends as much
				c.send(part("/", 60*bodyRate, 0))
				c.drip(bodyRate, "%s", 60)
				c.expect(200, fmt.Sprint(60*bodyRate))
				// a request that has no body, and one that waits, have their time
				time.Sleep(24 * time.Hour)
				c.send("GET / HTTP/1.1\r\n")
				time.Sleep(24 * time.Hour)
				c.send("Host: a\r\n\r\n")
				c.expect(200, "0")
			}
		})
		if s.StreamRequestBody && !os.IsTimeout(failed) {
			t.Errorf("the stream ended with %v", failed)
		}
	}
}

// Time that a handler takes before it goes on reading is not that of the client.
func TestMinRequestBodyRateOfSlowReaders(t *testing.T) {
	s := &Server{StreamRequestBody: true, MinRequestBodyRate: bodyRate, Handler: func(ctx *RequestCtx) {
		var buf [10]byte
		for range 10 {
			time.Sleep(time.Hour)
			if _, err := io.ReadFull(ctx.RequestBodyStream(), buf[:]); err != nil {
				ctx.Error(err.Error(), 500)
				return
			}
		}
		ctx.SetBodyString("done")
	}}
	inBubble(t, s, func(t *testing.T, dial func() *testConn) {
		c := dial()
		c.send(part("/", 100, 5))
		for range 100 - 5 {
			time.Sleep(time.Minute)
			c.send("x")
		}
		c.expect(200, "done")
		time.Sleep(24 * time.Hour)
		c.send(part("/", 100, 95))
		start := time.Now()
		if resp := c.next("POST"); resp.StatusCode != 500 || time.Since(start) != 10*time.Hour+defaultBodyRateGrace {
			t.Errorf("status %d after %v", resp.StatusCode, time.Since(start))
		}
	})
}

// What is left of a request whose ErrorHandler has panicked says nothing of the time
// that another connection has.
func TestMinRequestBodyRateBeginsAnew(t *testing.T) {
	const grace = 500 * time.Millisecond
	forEachEngine(t, func(t *testing.T, start starter) {
		ts := start(&Server{
			MinRequestBodyRate: 1000, MinRequestBodyRateGrace: grace, Handler: echo,
			ErrorHandler: func(*RequestCtx, error) { panic("this one ends") },
		})
		for range 5 {
			c := ts.dial()
			c.send(head("POST / HTTP/1.1", "Host: a", "Transfer-Encoding: chunked", "Expect: 100-continue"))
			if resp := c.next("POST"); resp.StatusCode != StatusContinue {
				t.Fatalf("status %d", resp.StatusCode)
			}
			_ = c.SetReadDeadline(time.Now().Add(10 * time.Millisecond))
			if b, err := c.r.Peek(1); !isTimeout(err) {
				t.Fatalf("got %q, %v", b, err)
			}
			_ = c.SetReadDeadline(time.Now().Add(patience))
			c.send("xyz\r\n")
			c.expectCut()
		}
		<-time.After(grace + grace/10)
		for range 5 {
			c := ts.dial()
			c.send(part("/", 2, 1))
			_ = c.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
			if b, err := c.r.Peek(1); !isTimeout(err) {
				t.Errorf("got %q, %v before the body was there", b, err)
			}
			_ = c.SetReadDeadline(time.Now().Add(patience))
			c.send("x")
			c.expect(200, echoed("POST", "/", "xx"))
		}
	})
}

func TestMinRequestBodyRateOnEveryEngine(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
		for _, streamed := range []bool{false, true} {
			var read atomic.Int64
			ts := start(&Server{
				StreamRequestBody: streamed, MinRequestBodyRate: 10_000, MinRequestBodyRateGrace: 100 * time.Millisecond,
				Handler: func(ctx *RequestCtx) {
					if stream := ctx.RequestBodyStream(); stream != nil {
						if _, err := io.Copy(io.Discard, stream); err != nil {
							ctx.Error("slow", StatusRequestTimeout)
						}
					}
					read.Add(int64(len(ctx.PostBody())))
				},
			})
			for _, sent := range []int{0, 99_000} {
				c := ts.dial()
				c.send(part("/", 100_000, sent))
				if resp := c.next("POST"); resp.StatusCode != StatusRequestTimeout {
					t.Errorf("status %d", resp.StatusCode)
				}
				c.expectCut()
			}
			// one byte now and then is not enough
			c := ts.dial()
			c.send(part("/", 100_000, 0))
			begun := time.Now()
			for _, err := io.WriteString(c.Conn, "x"); err == nil && time.Since(begun) < patience; _, err = io.WriteString(c.Conn, "x") {
				time.Sleep(5 * time.Millisecond)
			}
			if time.Since(begun) >= patience {
				t.Error("a client that is too slow goes on for ever")
			}
			// the connection of a fast one may wait
			c = ts.dial()
			for range 2 {
				c.send(part("/", 1_000_000, 1_000_000))
				if resp := c.next("POST"); resp.StatusCode != 200 {
					t.Errorf("status %d", resp.StatusCode)
				}
				_ = c.SetReadDeadline(time.Now().Add(300 * time.Millisecond))
				if b, err := c.r.Peek(1); !isTimeout(err) {
					t.Errorf("got %q, %v of a connection that waits", b, err)
				}
				_ = c.SetReadDeadline(time.Now().Add(patience))
			}
		}
	})
}
