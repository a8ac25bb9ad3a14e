package fasthttp

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/valyala/fasthttp/internal/servertest"
)

const (
	readTime  = 3 * time.Second
	idleTime  = 20 * time.Second
	writeTime = 5 * time.Second
)

func TestReadTimeoutCoversTheWaitForTheFirstByte(t *testing.T) {
	inBubble(t, &Server{ReadTimeout: readTime, IdleTimeout: idleTime}, func(t *testing.T, dial func() *servertest.Conn) {
		timesOutAfter(dial(), readTime)
	})
}

func TestIdleTimeoutAloneCoversTheWaitForTheFirstByte(t *testing.T) {
	inBubble(t, &Server{IdleTimeout: idleTime}, func(t *testing.T, dial func() *servertest.Conn) {
		endsAfter(dial(), idleTime)
		// it does not cover the rest of a request
		c := dial()
		time.Sleep(idleTime - 1)
		c.Send("GET / HTTP/1.1\r\n")
		time.Sleep(10 * idleTime)
		c.Send("Host: a\r\n\r\n")
		c.Expect(200, servertest.Echoed("GET", "/", ""))
		endsAfter(c, idleTime)
	})
}

// TestSilentConnectionsEndOnEveryEngine is the same in real time: a client that sends nothing,
// at first or between requests, loses its connection.
func TestSilentConnectionsEndOnEveryEngine(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		t.Parallel()
		for _, s := range []*Server{
			{ReadTimeout: 20 * time.Millisecond}, {IdleTimeout: 20 * time.Millisecond},
			{ReadTimeout: 20 * time.Millisecond, IdleTimeout: 20 * time.Millisecond},
		} {
			s.Handler = echo
			ts := start(s)
			if ts.Engine.TLS && s.ReadTimeout > 0 {
				// on a busy machine the handshake may take longer than the timeout
				continue
			}
			if s.ReadTimeout > 0 {
				ts.Dial().Expect(StatusRequestTimeout, "Request timeout")
			} else {
				ts.Dial().ExpectCut()
			}
			// and so may a request
			servertest.Eventually(t, "a request in time", func() bool {
				c := ts.Dial()
				_, _ = io.WriteString(c.Conn, servertest.Get("/"))
				_, err := servertest.ReadResponse(c.R, "GET")
				c.ExpectCut()
				return err == nil
			})
		}
	})
}

func TestReadTimeoutIsForTheWholeRequest(t *testing.T) {
	inBubble(t, &Server{ReadTimeout: readTime, IdleTimeout: idleTime}, func(t *testing.T, dial func() *servertest.Conn) {
		c := dial()
		c.Send("GET / HT")
		timesOutAfter(c, readTime)

		for _, drips := range []struct{ first, more string }{
			{"", "G"},
			{"GET / HTTP/1.1\r\n", "X"},
			{servertest.Get("/")[:len(servertest.Get("/"))-2], "X: y\r\n"},
			{servertest.Head("POST / HTTP/1.1", "Host: a", "Content-Length: 1000"), "x"},
			{servertest.Head("POST / HTTP/1.1", "Host: a", "Transfer-Encoding: chunked"), "1\r\nx\r\n"},
			{servertest.Chunked("/", "0\r\n"), "X: y\r\n"},
		} {
			c := dial()
			c.Send(drips.first)
			dripped := make(chan struct{})
			go func() {
				defer close(dripped)
				for {
					if _, err := io.WriteString(c.Conn, drips.more); err != nil {
						return
					}
					time.Sleep(readTime / 10)
				}
			}()
			timesOutAfter(c, readTime)
			<-dripped
		}
	})
}

func TestReadTimeoutBeginsAnewWithEachRequest(t *testing.T) {
	inBubble(t, &Server{ReadTimeout: readTime, IdleTimeout: idleTime}, func(t *testing.T, dial func() *servertest.Conn) {
		c := dial()
		c.Get("/")
		c.Expect(200, servertest.Echoed("GET", "/", ""))
		for range 3 {
			time.Sleep(idleTime - 1)
			c.Send("GET /2 HTTP/1.1\r\n")
			time.Sleep(readTime - 1)
			c.Send("Host: a\r\n\r\n")
			c.Expect(200, servertest.Echoed("GET", "/2", ""))
		}
		time.Sleep(idleTime - 1)
		c.Send("GET /3 HTTP/1.1\r\n")
		timesOutAfter(c, readTime)
	})
}

// TestReadTimeoutBeginsAnewInsideAPipeline has a client whose requests overlap, so
// that the connection is never idle. Each request takes less than the timeout.
func TestReadTimeoutBeginsAnewInsideAPipeline(t *testing.T) {
	inBubble(t, &Server{ReadTimeout: readTime}, func(t *testing.T, dial func() *servertest.Conn) {
		c := dial()
		request := servertest.Get("/")
		half := len(request) / 2
		c.Send(request[:half])
		for range 10 {
			time.Sleep(readTime - time.Millisecond)
			c.Send(request[half:] + request[:half])
			c.Expect(200, servertest.Echoed("GET", "/", ""))
		}
		timesOutAfter(c, readTime)
	})
}

func TestIdleTimeout(t *testing.T) {
	for _, test := range []struct{ read, idle, want time.Duration }{
		{readTime, idleTime, idleTime},
		{0, idleTime, idleTime},
		{readTime, 0, readTime},
	} {
		t.Run(fmt.Sprintf("%v and %v", test.read, test.idle), func(t *testing.T) {
			log := &servertest.Log{}
			inBubble(t, &Server{ReadTimeout: test.read, IdleTimeout: test.idle, Logger: log}, func(t *testing.T, dial func() *servertest.Conn) {
				c := dial()
				for range 3 {
					c.Get("/")
					c.Expect(200, servertest.Echoed("GET", "/", ""))
					time.Sleep(test.want - 1)
				}
				c.Get("/")
				c.Expect(200, servertest.Echoed("GET", "/", ""))
				endsAfter(c, test.want)
			})
			log.CheckEmpty(t)
		})
	}
}

func TestNoTimeoutByDefault(t *testing.T) {
	inBubble(t, &Server{}, func(t *testing.T, dial func() *servertest.Conn) {
		c := dial()
		for range 3 {
			time.Sleep(24 * time.Hour)
			c.Send("GET / HTTP/1.1\r\n")
			time.Sleep(24 * time.Hour)
			c.Send("Host: a\r\n\r\n")
			c.Expect(200, servertest.Echoed("GET", "/", ""))
		}
	})
}

func TestReadTimeoutDoesNotCountTheHandler(t *testing.T) {
	slow := &Server{ReadTimeout: readTime, Handler: func(ctx *RequestCtx) {
		time.Sleep(10 * readTime) // bubble: inBubble
		echo(ctx)
	}}
	inBubble(t, slow, func(t *testing.T, dial func() *servertest.Conn) {
		c := dial()
		for range 3 {
			c.Send(servertest.Post("/", "abc"))
			c.Expect(200, servertest.Echoed("POST", "/", "abc"))
		}
	})
}

func TestReadTimeoutEndsABodyThatIsAStream(t *testing.T) {
	var failed error
	s := &Server{ReadTimeout: readTime, StreamRequestBody: true, Handler: func(ctx *RequestCtx) {
		_, failed = io.ReadAll(ctx.RequestBodyStream())
		ctx.SetBodyString("cut")
	}}
	inBubble(t, s, func(t *testing.T, dial func() *servertest.Conn) {
		c := dial()
		start := time.Now()
		c.Send(servertest.Head("POST / HTTP/1.1", "Host: a", "Content-Length: 10") + "abc")
		if resp := c.Expect(200, "cut"); !resp.Close {
			t.Error("the connection is kept after half a request")
		}
		if got := time.Since(start); got != readTime || !errors.Is(failed, os.ErrDeadlineExceeded) {
			t.Errorf("the stream ended with %v after %v", failed, got)
		}
	})
}

func TestHeaderReceivedSetsTimeouts(t *testing.T) {
	s := &Server{
		ReadTimeout: readTime,
		Handler:     func(ctx *RequestCtx) { ctx.SetBodyString(strings.Repeat("x", len(ctx.PostBody()))) },
		HeaderReceived: func(h *RequestHeader) RequestConfig {
			if string(h.RequestURI()) == "/slow" {
				return RequestConfig{ReadTimeout: time.Minute, WriteTimeout: time.Minute, MaxRequestBodySize: 5 << 20}
			}
			return RequestConfig{}
		},
	}
	inBubble(t, s, func(t *testing.T, dial func() *servertest.Conn) {
		c := dial()
		c.Send(servertest.Head("POST /slow HTTP/1.1", "Host: a", "Content-Length: 3") + "a")
		time.Sleep(time.Minute - 1)
		c.Send("bc")
		c.Expect(200, "xxx")

		// the timeout of one request does not apply to the next
		time.Sleep(readTime - 1)
		c.Send(servertest.Head("POST /fast HTTP/1.1", "Host: a", "Content-Length: 3") + "a")
		timesOutAfter(c, readTime)

		c = dial()
		c.Send(servertest.Head("POST /slow HTTP/1.1", "Host: a", "Content-Length: 3") + "a")
		timesOutAfter(c, time.Minute)

		c = dial()
		c.Send(servertest.Head("POST /fast HTTP/1.1", "Host: a", "Content-Length: 5000000"))
		if resp := c.Next("GET"); resp.StatusCode != 413 {
			t.Errorf("status %d, want the limit of the server", resp.StatusCode)
		}
	})
}

// TestReadTimeoutOfOneRequestIsNotForTheNext sends a complete request at once. Its
// timeout must not apply to the next one.
func TestReadTimeoutOfOneRequestIsNotForTheNext(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		for _, streamed := range []bool{false, true} {
			unlimited := make(chan struct{}, 1)
			ts := start(&Server{
				StreamRequestBody: streamed,
				HeaderReceived: func(h *RequestHeader) (c RequestConfig) {
					if string(h.RequestURI()) == "/limited" {
						c.ReadTimeout = time.Millisecond
					} else {
						unlimited <- struct{}{}
					}
					return c
				},
				Handler: func(ctx *RequestCtx) { ctx.SetBodyString(strings.Repeat("x", len(ctx.PostBody()))) },
			})
			c := ts.Dial()
			c.Send(servertest.Get("/limited"))
			c.Expect(200, "")
			c.Send(servertest.Head("POST / HTTP/1.1", "Host: a", "Content-Length: 3") + "a")
			servertest.Receive(t, "the next request", unlimited)
			// until the timeouts of other connections have passed
			for range 3 {
				late := ts.Dial()
				late.Send(servertest.Part("/limited", 3, 1))
				expires(late)
			}
			c.Send("bc")
			c.Expect(200, "xxx")
		}
	})
}

func TestWriteTimeoutOfOneRequestIsNotForTheNext(t *testing.T) {
	s := &Server{HeaderReceived: func(h *RequestHeader) (c RequestConfig) {
		if string(h.RequestURI()) == "/limited" {
			c.WriteTimeout = writeTime
		}
		return c
	}, Handler: func(ctx *RequestCtx) {
		if string(ctx.Path()) == "/stream" {
			ctx.SetBodyStream(strings.NewReader("streamed"), -1)
		} else {
			ctx.SetBodyString("buffered")
		}
	}}
	inBubble(t, s, func(t *testing.T, dial func() *servertest.Conn) {
		c := dial()
		for range 2 {
			c.Get("/limited")
			c.Expect(200, "buffered")
			time.Sleep(2 * writeTime)
			c.Get("/stream")
			c.Expect(200, "streamed")
			c.Get("/limited")
			c.Expect(200, "buffered")
			time.Sleep(2 * writeTime)
			c.Get("/")
			c.Expect(200, "buffered")
		}
	})
}

func TestWriteTimeoutCutsClientsThatDoNotRead(t *testing.T) {
	big := strings.Repeat("x", 10<<20)
	for name, h := range map[string]RequestHandler{
		"buffered": func(ctx *RequestCtx) { ctx.SetBodyString(big) },
		"sized":    func(ctx *RequestCtx) { ctx.SetBodyStream(strings.NewReader(big), len(big)) },
		"chunked":  func(ctx *RequestCtx) { ctx.SetBodyStream(strings.NewReader(big), -1) },
		"writer": func(ctx *RequestCtx) {
			ctx.SetBodyStreamWriter(func(w *bufio.Writer) { _, _ = w.WriteString(big) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			var ended chan time.Time
			log := &servertest.Log{}
			s := &Server{WriteTimeout: writeTime, Logger: log, LogAllErrors: true, Handler: func(ctx *RequestCtx) {
				time.Sleep(10 * writeTime) // bubble: inBubble. The time of the handler does not count.
				h(ctx)
			}, ConnState: func(_ net.Conn, state ConnState) {
				if state == StateClosed {
					ended <- time.Now()
				}
			}}
			inBubble(t, s, func(t *testing.T, dial func() *servertest.Conn) {
				ended = make(chan time.Time, 1) // made inside of the bubble
				c := dial()
				start := time.Now()
				c.Get("/")
				if got := (<-ended).Sub(start); got != 11*writeTime {
					t.Errorf("the connection was closed after %v, want %v", got, 11*writeTime)
				}
				_, err := servertest.ReadResponse(c.R, "GET")
				if !errors.Is(err, io.ErrUnexpectedEOF) {
					t.Errorf("the response ends with %v", err)
				}
			})
			log.WaitFor(t, "cannot write the response", "timeout")
		})
	}
}

// After a normal close, the system would keep the written bytes as long as the peer does not
// read.
func TestWriteTimeoutResetsTheConnection(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		t.Parallel()
		big := strings.Repeat("x", 16<<20)
		closed := make(chan struct{}, 1)
		ts := start(&Server{
			WriteTimeout: 50 * time.Millisecond,
			ConnState: func(_ net.Conn, state ConnState) {
				if state == StateClosed {
					closed <- struct{}{}
				}
			},
			Handler: func(ctx *RequestCtx) {
				switch string(ctx.Path()) {
				case "/buffered":
					ctx.SetBodyString(big)
				case "/sized":
					ctx.SetBodyStream(strings.NewReader(big), len(big))
				case "/chunked":
					ctx.SetBodyStream(strings.NewReader(big), -1)
				}
			},
		})
		if !ts.Engine.Sockets {
			t.Skip("only a socket can be reset")
		}
		for _, path := range []string{"/buffered", "/sized", "/chunked"} {
			t.Run(path[1:], func(t *testing.T) {
				c := ts.Dial()
				c.Get(path)
				servertest.Receive(t, "end of the connection", closed)
				if _, err := io.Copy(io.Discard, c.R); !errors.Is(err, syscall.ECONNRESET) {
					t.Errorf("the connection ends with %v, want a reset", err)
				}
			})
		}
	})
}

func TestWriteTimeoutCountsFromEachResponse(t *testing.T) {
	inBubble(t, &Server{WriteTimeout: writeTime}, func(t *testing.T, dial func() *servertest.Conn) {
		c := dial()
		for range 5 {
			c.Get("/")
			c.Expect(200, servertest.Echoed("GET", "/", ""))
			time.Sleep(writeTime - 1)
		}
	})
}

func TestDeadlinesOfTheApplication(t *testing.T) {
	var failed error
	s := &Server{StreamRequestBody: true, Handler: func(ctx *RequestCtx) {
		if err := ctx.SetReadDeadline(time.Now().Add(time.Second)); err != nil {
			t.Errorf("SetReadDeadline: %v", err)
		}
		_, failed = io.ReadAll(ctx.RequestBodyStream())
		if err := ctx.SetReadDeadline(time.Time{}); err != nil {
			t.Errorf("SetReadDeadline: %v", err)
		}
		_, err := io.ReadAll(ctx.RequestBodyStream())
		fmt.Fprintf(ctx, "%v", err)
	}}
	inBubble(t, s, func(t *testing.T, dial func() *servertest.Conn) {
		c := dial()
		c.Send(servertest.Head("POST / HTTP/1.1", "Host: a", "Content-Length: 10") + "abc")
		start := time.Now()
		resp := c.Next("POST")
		if got := time.Since(start); got != time.Second || !errors.Is(failed, os.ErrDeadlineExceeded) {
			t.Errorf("the stream ended with %v after %v", failed, got)
		}
		if resp.Content == "<nil>" {
			t.Error("a stream that has failed has not failed the next time")
		}
	})
}

func TestIdleWorkersEnd(t *testing.T) {
	s := &Server{MaxIdleWorkerDuration: time.Minute}
	inBubble(t, s, func(t *testing.T, dial func() *servertest.Conn) {
		workers := func() int {
			synctest.Wait()
			n := 0
			for g := range strings.SplitSeq(string(servertest.Stacks()), "\n\n") {
				// outside of the bubble, workers of earlier tests may be about to
				// end
				header, _, _ := strings.Cut(g, "\n")
				if strings.Contains(header, "bubble") && strings.Contains(g, "internal/workers.(*Pool[...]).work(") {
					n++
				}
			}
			return n
		}
		var conns []*servertest.Conn
		for range 10 {
			c := dial()
			c.Get("/")
			c.Expect(200, servertest.Echoed("GET", "/", ""))
			conns = append(conns, c)
		}
		for _, c := range conns {
			_ = c.Close()
		}
		if n := workers(); n != 10 {
			t.Errorf("%d workers after 10 connections", n)
		}
		// one worker is busy with one connection after the other
		for range 8 {
			time.Sleep(30 * time.Second)
			c := dial()
			c.Get("/")
			c.Expect(200, servertest.Echoed("GET", "/", ""))
			_ = c.Close()
		}
		if n := workers(); n != 1 {
			t.Errorf("%d workers, want the one that is used", n)
		}
		time.Sleep(3 * time.Minute)
		if n := workers(); n != 0 {
			t.Errorf("%d workers wait for nothing", n)
		}
	})
}
