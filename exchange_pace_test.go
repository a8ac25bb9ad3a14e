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

	"github.com/valyala/fasthttp/internal/servertest"
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
		inBubble(t, s, func(t *testing.T, dial func() *servertest.Conn) {
			timesOutAfter(dial(), readTime)
			c := dial()
			time.Sleep(readTime - 1)
			c.Send("GET / HT")
			timesOutAfter(c, 1)

			c = dial()
			for range 2 {
				c.Send(servertest.Head("POST / HTTP/1.1", "Host: a", "Content-Length: 6")[:20])
				time.Sleep(readTime - 1)
				c.Send(servertest.Head("POST / HTTP/1.1", "Host: a", "Content-Length: 6")[20:] + "abc")
				time.Sleep(24 * time.Hour)
				c.Send("def")
				c.Expect(200, servertest.Echoed("POST", "/", "abcdef"))
				time.Sleep(24 * time.Hour)
				c.Get("/")
				c.Expect(200, servertest.Echoed("GET", "/", ""))
			}
			c.Send("GET / HT")
			time.Sleep(readTime - 1)
			c.Send("TP")
			timesOutAfter(c, 1)
		})
	}
}

func TestReadTimeoutGoesOnBehindTheHead(t *testing.T) {
	for _, s := range []*Server{
		{ReadHeaderTimeout: readTime, ReadTimeout: 3 * readTime},
		{ReadHeaderTimeout: readTime, ReadTimeout: 3 * readTime, MinRequestBodyRate: 1, MinRequestBodyRateGrace: time.Hour},
	} {
		inBubble(t, s, func(t *testing.T, dial func() *servertest.Conn) {
			c := dial()
			for range 2 {
				c.Send("POST / HTTP/1.1\r\n")
				time.Sleep(readTime - 1)
				c.Send("Host: a\r\nContent-Length: 2\r\n\r\n")
				time.Sleep(2 * readTime)
				c.Send("ab")
				c.Expect(200, servertest.Echoed("POST", "/", "ab"))
			}
			c.Send("POST / HTTP/1.1\r\n")
			time.Sleep(readTime - 1)
			c.Send("Host: a\r\nContent-Length: 2\r\n\r\n")
			timesOutAfter(c, 2*readTime+1)
		})
	}
}

func TestReadHeaderTimeoutOnEveryEngine(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		t.Parallel()
		ts := start(&Server{ReadHeaderTimeout: 300 * time.Millisecond, Handler: echo})
		c := ts.Dial()
		for range 2 {
			c.Send(servertest.Head("POST / HTTP/1.1", "Host: a", "Content-Length: 6") + "abc")
			_ = c.SetReadDeadline(time.Now().Add(450 * time.Millisecond))
			if b, err := c.R.Peek(1); !isTimeout(err) {
				t.Fatalf("got %q, %v before the body was there", b, err)
			}
			_ = c.SetReadDeadline(time.Now().Add(servertest.Patience))
			c.Send("def")
			c.Expect(200, servertest.Echoed("POST", "/", "abcdef"))
		}
		c.Send("GET / HT")
		if resp := c.Next("GET"); resp.StatusCode != StatusRequestTimeout {
			t.Errorf("status %d", resp.StatusCode)
		}
		c.ExpectEnd()
		if !ts.Engine.TLS {
			// the server sends no response to a failed handshake
			ts.Dial().Expect(StatusRequestTimeout, "Request timeout")
		}
	})
}

const (
	bodyRate  = 1000
	bodyGrace = 2 * time.Second
)

// drip sends some bytes each second for a while, and ignores errors.
func drip(c *servertest.Conn, bytes int, format string, seconds int) {
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
				// the time that the handler takes does not count
				time.Sleep(time.Hour)
			}
			fmt.Fprint(ctx, int(n)+len(ctx.PostBody()))
		}
		inBubble(t, s, func(t *testing.T, dial func() *servertest.Conn) {
			// a client that stops, after any number of bytes
			for _, sent := range []int{0, 1, 90_000} {
				c := dial()
				c.Send(servertest.Part("/", 100_000, sent))
				timesOutAfter(c, bodyGrace)
			}
			// a client that sends less than the least rate
			const slow = bodyRate * 5 / 8
			for _, body := range []struct{ first, format string }{
				{servertest.Part("/", 100_000, 0), "%s"},
				{servertest.Chunked("/", ""), fmt.Sprintf("%x\r\n%%s\r\n", slow)},
			} {
				after := 3*time.Second + bodyGrace - 3*time.Second*3/8
				if s.StreamRequestBody {
					// the bytes of chunk framing count, too
					after += 3 * time.Duration(len(body.format)-len("%s")) * time.Second / bodyRate
				}
				c := dial()
				c.Send(body.first)
				var dripped sync.WaitGroup
				dripped.Go(func() { drip(c, slow, body.format, 10) })
				timesOutAfter(c, after)
				dripped.Wait()
			}

			c := dial()
			for range 2 {
				// the server does not end the request of a client that keeps the
				// rate
				c.Send(servertest.Part("/", 60*bodyRate, 0))
				drip(c, bodyRate, "%s", 60)
				c.Expect(200, fmt.Sprint(60*bodyRate))
				// a request without a body, and an idle connection, are not measured
				time.Sleep(24 * time.Hour)
				c.Send("GET / HTTP/1.1\r\n")
				time.Sleep(24 * time.Hour)
				c.Send("Host: a\r\n\r\n")
				c.Expect(200, "0")
			}
		})
		if s.StreamRequestBody && !os.IsTimeout(failed) {
			t.Errorf("the stream ended with %v", failed)
		}
	}
}

// The time that a handler takes before it reads on does not count as time of the
// client.
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
	inBubble(t, s, func(t *testing.T, dial func() *servertest.Conn) {
		c := dial()
		c.Send(servertest.Part("/", 100, 5))
		for range 100 - 5 {
			time.Sleep(time.Minute)
			c.Send("x")
		}
		c.Expect(200, "done")
		time.Sleep(24 * time.Hour)
		c.Send(servertest.Part("/", 100, 95))
		start := time.Now()
		if resp := c.Next("POST"); resp.StatusCode != 500 || time.Since(start) != 10*time.Hour+defaultBodyRateGrace {
			t.Errorf("status %d after %v", resp.StatusCode, time.Since(start))
		}
	})
}

// If an ErrorHandler panics, the measured time of its request does not count for
// another connection.
func TestMinRequestBodyRateBeginsAnew(t *testing.T) {
	t.Parallel()
	const grace = 500 * time.Millisecond
	forEachEngine(t, func(t *testing.T, start starter) {
		t.Parallel()
		ts := start(&Server{
			MinRequestBodyRate: 1000, MinRequestBodyRateGrace: grace, Handler: echo,
			ErrorHandler: func(*RequestCtx, error) { panic("this one ends") },
		})
		for range 5 {
			c := ts.Dial()
			c.Send(servertest.Head("POST / HTTP/1.1", "Host: a", "Transfer-Encoding: chunked", "Expect: 100-continue"))
			if resp := c.Next("POST"); resp.StatusCode != StatusContinue {
				t.Fatalf("status %d", resp.StatusCode)
			}
			_ = c.SetReadDeadline(time.Now().Add(10 * time.Millisecond))
			if b, err := c.R.Peek(1); !isTimeout(err) {
				t.Fatalf("got %q, %v", b, err)
			}
			_ = c.SetReadDeadline(time.Now().Add(servertest.Patience))
			c.Send("xyz\r\n")
			c.ExpectCut()
		}
		<-time.After(grace + grace/10)
		for range 5 {
			c := ts.Dial()
			c.Send(servertest.Part("/", 2, 1))
			_ = c.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
			if b, err := c.R.Peek(1); !isTimeout(err) {
				t.Errorf("got %q, %v before the body was there", b, err)
			}
			_ = c.SetReadDeadline(time.Now().Add(servertest.Patience))
			c.Send("x")
			c.Expect(200, servertest.Echoed("POST", "/", "xx"))
		}
	})
}

func TestMinRequestBodyRateOnEveryEngine(t *testing.T) {
	t.Parallel()
	const grace = 300 * time.Millisecond
	forEachEngine(t, func(t *testing.T, start starter) {
		t.Parallel()
		for _, streamed := range []bool{false, true} {
			var read atomic.Int64
			ts := start(&Server{
				StreamRequestBody: streamed, MinRequestBodyRate: 10_000, MinRequestBodyRateGrace: grace,
				Handler: func(ctx *RequestCtx) {
					if stream := ctx.RequestBodyStream(); stream != nil {
						if _, err := io.Copy(io.Discard, stream); err != nil {
							ctx.Error("slow", StatusRequestTimeout)
						}
					}
					read.Add(int64(len(ctx.PostBody())))
				},
			})
			fast := ts.Dial()
			post := func() {
				fast.Send(servertest.Part("/", 1_000_000, 1_000_000))
				if resp := fast.Next("POST"); resp.StatusCode != 200 {
					t.Errorf("status %d", resp.StatusCode)
				}
			}
			pauses := func(rest time.Duration) {
				_ = fast.SetReadDeadline(time.Now().Add(rest))
				if b, err := fast.R.Peek(1); !isTimeout(err) {
					t.Errorf("got %q, %v of a connection that waits", b, err)
				}
				_ = fast.SetReadDeadline(time.Now().Add(servertest.Patience))
			}
			post()
			var slow []*servertest.Conn
			for _, sent := range []int{0, 99_000} {
				c := ts.Dial()
				c.Send(servertest.Part("/", 100_000, sent))
				slow = append(slow, c)
			}
			// one byte now and then is too slow
			c := ts.Dial()
			c.Send(servertest.Part("/", 100_000, 0))
			slow = append(slow, c)
			begun := time.Now()
			for ended := false; !ended && time.Since(begun) < servertest.Patience; {
				_, _ = io.WriteString(c.Conn, "x")
				_ = c.SetReadDeadline(time.Now().Add(5 * time.Millisecond))
				_, err := c.R.Peek(1)
				ended = !isTimeout(err)
			}
			_ = c.SetReadDeadline(time.Now().Add(servertest.Patience))
			for _, c := range slow {
				if resp := c.Next("POST"); resp.StatusCode != StatusRequestTimeout {
					t.Errorf("status %d", resp.StatusCode)
				}
				c.ExpectCut()
			}
			// a client that was fast may pause, as it has while the others ended
			pauses(grace - time.Since(begun))
			post()
			pauses(grace)
		}
	})
}
