package fasthttp

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
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
		withLongerTimeouts(t, func(timeout time.Duration) (why string) {
			heads := make(chan struct{}, 2)
			ts := start(&Server{ReadHeaderTimeout: timeout, Handler: echo, HeaderReceived: func(*RequestHeader) (c RequestConfig) {
				heads <- struct{}{}
				return c
			}})
			c := ts.Dial()
			for range 2 {
				_, _ = io.WriteString(c.Conn, "POST / HT")
				letOthersRun() // so that the head has a time
				_, _ = io.WriteString(c.Conn, "TP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\nabc")
				late := ts.Dial()
				_, _ = io.WriteString(late.Conn, "GET / HT")
				expires(late)
				select {
				case <-heads:
				default:
					return fmt.Sprintf("no head arrives within %v", timeout)
				}
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
			return ""
		})
	})
}

const (
	bodyRate  = 1000
	bodyGrace = 2 * time.Second
)

// drip sends some bytes each second for a while, and ignores errors.
func drip(c *servertest.Conn, bytes int, format string, seconds int) {
	for range seconds {
		time.Sleep(time.Second) // bubble: inBubble
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
				time.Sleep(time.Hour) // bubble: inBubble
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
			// a client that sends below the minimum rate
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
			time.Sleep(time.Hour) // bubble: inBubble
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
	forEachEngine(t, func(t *testing.T, start starter) {
		t.Parallel()
		withLongerTimeouts(t, func(grace time.Duration) (why string) {
			heads := make(chan struct{}, 20)
			ts := start(&Server{
				MinRequestBodyRate: 1000, MinRequestBodyRateGrace: grace, Handler: echo,
				ErrorHandler: func(*RequestCtx, error) { panic("this one ends") },
				HeaderReceived: func(*RequestHeader) (c RequestConfig) {
					heads <- struct{}{}
					return c
				},
			})
			var ended []*servertest.Conn
			for range 10 {
				c := ts.Dial()
				c.Send(servertest.Head("POST / HTTP/1.1", "Host: a", "Transfer-Encoding: chunked", "Expect: 100-continue"))
				if resp := c.Next("POST"); resp.StatusCode != StatusContinue {
					t.Fatalf("status %d", resp.StatusCode)
				}
				servertest.Receive(t, "the head", heads)
				ended = append(ended, c)
			}
			// half of them end before the time is up, if the machine is fast enough, and
			// half of them by that
			for i, c := range ended {
				if i%2 == 0 {
					_, _ = io.WriteString(c.Conn, "xyz\r\n")
				}
				c.ExpectCut()
			}
			for range 5 {
				c := ts.Dial()
				c.Send(servertest.Part("/", 2, 1))
				servertest.Receive(t, "the head", heads)
				if !answered(c, "x") {
					return fmt.Sprintf("no body arrives within %v", grace)
				}
			}
			return ""
		})
	})
}

func TestMinRequestBodyRateOnEveryEngine(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		t.Parallel()
		for _, streamed := range []bool{false, true} {
			withLongerTimeouts(t, func(grace time.Duration) (why string) {
				ts := start(&Server{
					StreamRequestBody: streamed, MinRequestBodyRate: 10_000, MinRequestBodyRateGrace: grace,
					Handler: func(ctx *RequestCtx) {
						if stream := ctx.RequestBodyStream(); stream != nil {
							if _, err := io.Copy(io.Discard, stream); err != nil {
								ctx.Error("slow", StatusRequestTimeout)
							}
						}
					},
				})
				fast := ts.Dial()
				post := servertest.Part("/", 1_000_000, 1_000_000)
				if !answered(fast, post) {
					return fmt.Sprintf("a body that is sent at once does not arrive within %v", grace)
				}
				var slow []*servertest.Conn
				for _, sent := range []int{0, 99_000, 0} {
					c := ts.Dial()
					_, _ = io.WriteString(c.Conn, servertest.Part("/", 100_000, sent))
					slow = append(slow, c)
				}
				// one byte now and then is too slow
				drips := slow[2]
				begun := time.Now()
				for ended := false; !ended && time.Since(begun) < servertest.Patience; {
					_, _ = io.WriteString(drips.Conn, "x")
					_ = drips.SetReadDeadline(time.Now().Add(5 * time.Millisecond))
					_, err := drips.R.Peek(1)
					ended = !isTimeout(err)
				}
				_ = drips.SetReadDeadline(time.Now().Add(servertest.Patience))
				for _, c := range slow {
					if resp := c.Next("POST"); resp.StatusCode != StatusRequestTimeout {
						t.Errorf("status %d", resp.StatusCode)
					}
					c.ExpectCut()
				}
				// a client that was fast may pause, as it has while the others ended
				if !answered(fast, post) {
					return fmt.Sprintf("a body behind a pause does not arrive within %v", grace)
				}
				return ""
			})
		}
	})
}
