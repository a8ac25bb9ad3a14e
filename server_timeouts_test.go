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

	"github.com/valyala/fasthttp/fasthttputil"
)

// inBubble runs a test with a server on an in-memory listener, where time only
// moves while everybody waits: instants are exact, and nothing takes time.
func inBubble(t *testing.T, s *Server, test func(t *testing.T, dial func() *testConn)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		// the clock of the Date field is that of the process
		s.NoDefaultDate = true
		if s.Logger == nil {
			s.Logger = &testLog{}
		}
		if s.Handler == nil {
			s.Handler = echo
		}
		ln := fasthttputil.NewInmemoryListener()
		served := make(chan error)
		go func() { served <- s.Serve(ln) }()
		var conns []net.Conn
		defer func() {
			for _, c := range conns {
				_ = c.Close()
			}
			if err := s.Shutdown(); err != nil {
				t.Errorf("Shutdown: %v", err)
			}
			if err := <-served; err != nil {
				t.Errorf("Serve: %v", err)
			}
		}()
		test(t, func() *testConn {
			nc, err := ln.Dial()
			if err != nil {
				t.Fatal(err)
			}
			conns = append(conns, nc)
			return &testConn{Conn: nc, t: t, r: bufio.NewReader(nc)}
		})
	})
}

// endsAfter checks that the server closes the connection without a word, after
// that time.
func (c *testConn) endsAfter(after time.Duration) {
	c.t.Helper()
	start := time.Now()
	b, err := io.ReadAll(c.r)
	if got := time.Since(start); len(b) > 0 || err != nil || got != after {
		c.t.Fatalf("got %q, %v after %v, want the end after %v", b, err, got, after)
	}
}

// timesOutAfter checks that the server answers with 408 and closes the connection
// after that time.
func (c *testConn) timesOutAfter(after time.Duration) {
	c.t.Helper()
	start := time.Now()
	resp := c.next("GET")
	if got := time.Since(start); resp.StatusCode != StatusRequestTimeout || !resp.Close || got != after {
		c.t.Fatalf("got %d after %v, want 408 after %v", resp.StatusCode, got, after)
	}
	c.endsAfter(0)
}

const (
	readTime  = 3 * time.Second
	idleTime  = 20 * time.Second
	writeTime = 5 * time.Second
)

func TestReadTimeoutCoversTheWaitForTheFirstByte(t *testing.T) {
	inBubble(t, &Server{ReadTimeout: readTime, IdleTimeout: idleTime}, func(t *testing.T, dial func() *testConn) {
		dial().timesOutAfter(readTime)
	})
}

func TestIdleTimeoutAloneCoversTheWaitForTheFirstByte(t *testing.T) {
	inBubble(t, &Server{IdleTimeout: idleTime}, func(t *testing.T, dial func() *testConn) {
		dial().endsAfter(idleTime)
		// but no request that has begun
		c := dial()
		time.Sleep(idleTime - 1)
		c.send("GET / HTTP/1.1\r\n")
		time.Sleep(10 * idleTime)
		c.send("Host: a\r\n\r\n")
		c.expect(200, echoed("GET", "/", ""))
		c.endsAfter(idleTime)
	})
}

// TestSilentConnectionsEndOnEveryEngine is the same in real time: clients that say
// nothing, at first or between requests, are not waited for for ever.
func TestSilentConnectionsEndOnEveryEngine(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
		for _, s := range []*Server{
			{ReadTimeout: 20 * time.Millisecond}, {IdleTimeout: 20 * time.Millisecond},
			{ReadTimeout: 20 * time.Millisecond, IdleTimeout: 20 * time.Millisecond},
		} {
			s.Handler = echo
			ts := start(s)
			if ts.engine.tls && s.ReadTimeout > 0 {
				// the handshake may take longer on a machine that is busy
				continue
			}
			if s.ReadTimeout > 0 {
				ts.dial().expect(StatusRequestTimeout, "Request timeout")
			} else {
				ts.dial().expectCut()
			}
			for answered := false; !answered; {
				c := ts.dial()
				// so may a request
				_, _ = io.WriteString(c.Conn, get("/"))
				_, err := readResponse(c.r, "GET")
				answered = err == nil
				c.expectCut()
			}
		}
	})
}

func TestReadTimeoutIsForTheWholeRequest(t *testing.T) {
	inBubble(t, &Server{ReadTimeout: readTime, IdleTimeout: idleTime}, func(t *testing.T, dial func() *testConn) {
		c := dial()
		c.send("GET / HT")
		c.timesOutAfter(readTime)

		for _, drips := range []struct{ first, more string }{
			{"", "G"},
			{"GET / HTTP/1.1\r\n", "X"},
			{get("/")[:len(get("/"))-2], "X: y\r\n"},
			{head("POST / HTTP/1.1", "Host: a", "Content-Length: 1000"), "x"},
			{head("POST / HTTP/1.1", "Host: a", "Transfer-Encoding: chunked"), "1\r\nx\r\n"},
			{chunked("/", "0\r\n"), "X: y\r\n"},
		} {
			c := dial()
			c.send(drips.first)
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
			c.timesOutAfter(readTime)
			<-dripped
		}
	})
}

func TestReadTimeoutBeginsAnewWithEachRequest(t *testing.T) {
	inBubble(t, &Server{ReadTimeout: readTime, IdleTimeout: idleTime}, func(t *testing.T, dial func() *testConn) {
		c := dial()
		c.get("/")
		c.expect(200, echoed("GET", "/", ""))
		for range 3 {
			time.Sleep(idleTime - 1)
			c.send("GET /2 HTTP/1.1\r\n")
			time.Sleep(readTime - 1)
			c.send("Host: a\r\n\r\n")
			c.expect(200, echoed("GET", "/2", ""))
		}
		time.Sleep(idleTime - 1)
		c.send("GET /3 HTTP/1.1\r\n")
		c.timesOutAfter(readTime)
	})
}

// TestReadTimeoutBeginsAnewInsideAPipeline has a client whose requests overlap
// all the time, so that the connection is never idle. Each of them takes less
// than the timeout.
func TestReadTimeoutBeginsAnewInsideAPipeline(t *testing.T) {
	inBubble(t, &Server{ReadTimeout: readTime}, func(t *testing.T, dial func() *testConn) {
		c := dial()
		request := get("/")
		half := len(request) / 2
		c.send(request[:half])
		for range 10 {
			time.Sleep(readTime - time.Millisecond)
			c.send(request[half:] + request[:half])
			c.expect(200, echoed("GET", "/", ""))
		}
		c.timesOutAfter(readTime)
	})
}

func TestIdleTimeout(t *testing.T) {
	for _, test := range []struct{ read, idle, want time.Duration }{
		{readTime, idleTime, idleTime},
		{0, idleTime, idleTime},
		{readTime, 0, readTime},
	} {
		t.Run(fmt.Sprintf("%v and %v", test.read, test.idle), func(t *testing.T) {
			log := &testLog{}
			inBubble(t, &Server{ReadTimeout: test.read, IdleTimeout: test.idle, Logger: log}, func(t *testing.T, dial func() *testConn) {
				c := dial()
				for range 3 {
					c.get("/")
					c.expect(200, echoed("GET", "/", ""))
					time.Sleep(test.want - 1)
				}
				c.get("/")
				c.expect(200, echoed("GET", "/", ""))
				c.endsAfter(test.want)
			})
			log.checkEmpty(t)
		})
	}
}

func TestNoTimeoutByDefault(t *testing.T) {
	inBubble(t, &Server{}, func(t *testing.T, dial func() *testConn) {
		c := dial()
		for range 3 {
			time.Sleep(24 * time.Hour)
			c.send("GET / HTTP/1.1\r\n")
			time.Sleep(24 * time.Hour)
			c.send("Host: a\r\n\r\n")
			c.expect(200, echoed("GET", "/", ""))
		}
	})
}

func TestReadTimeoutDoesNotCountTheHandler(t *testing.T) {
	slow := &Server{ReadTimeout: readTime, Handler: func(ctx *RequestCtx) {
		time.Sleep(10 * readTime)
		echo(ctx)
	}}
	inBubble(t, slow, func(t *testing.T, dial func() *testConn) {
		c := dial()
		for range 3 {
			c.send(post("/", "abc"))
			c.expect(200, echoed("POST", "/", "abc"))
		}
	})
}

func TestReadTimeoutEndsABodyThatIsAStream(t *testing.T) {
	var failed error
	s := &Server{ReadTimeout: readTime, StreamRequestBody: true, Handler: func(ctx *RequestCtx) {
		_, failed = io.ReadAll(ctx.RequestBodyStream())
		ctx.SetBodyString("cut")
	}}
	inBubble(t, s, func(t *testing.T, dial func() *testConn) {
		c := dial()
		start := time.Now()
		c.send(head("POST / HTTP/1.1", "Host: a", "Content-Length: 10") + "abc")
		if resp := c.expect(200, "cut"); !resp.Close {
			t.Error("the connection is kept behind half a request")
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
	inBubble(t, s, func(t *testing.T, dial func() *testConn) {
		c := dial()
		c.send(head("POST /slow HTTP/1.1", "Host: a", "Content-Length: 3") + "a")
		time.Sleep(time.Minute - 1)
		c.send("bc")
		c.expect(200, "xxx")

		// what was for one request is not for the next one
		time.Sleep(readTime - 1)
		c.send(head("POST /fast HTTP/1.1", "Host: a", "Content-Length: 3") + "a")
		c.timesOutAfter(readTime)

		c = dial()
		c.send(head("POST /slow HTTP/1.1", "Host: a", "Content-Length: 3") + "a")
		c.timesOutAfter(time.Minute)

		c = dial()
		c.send(head("POST /fast HTTP/1.1", "Host: a", "Content-Length: 5000000"))
		if resp := c.next("GET"); resp.StatusCode != 413 {
			t.Errorf("status %d, want the limit of the server", resp.StatusCode)
		}
	})
}

// TestReadTimeoutOfOneRequestIsNotForTheNext has a request come whole, so that its
// timeout is not needed: it must not be kept for another one.
func TestReadTimeoutOfOneRequestIsNotForTheNext(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
		for _, streamed := range []bool{false, true} {
			ts := start(&Server{
				StreamRequestBody: streamed,
				HeaderReceived: func(h *RequestHeader) (c RequestConfig) {
					if string(h.RequestURI()) == "/limited" {
						c.ReadTimeout = time.Millisecond
					}
					return c
				},
				Handler: func(ctx *RequestCtx) { ctx.SetBodyString(strings.Repeat("x", len(ctx.PostBody()))) },
			})
			c := ts.dial()
			c.send(get("/limited"))
			c.expect(200, "")
			c.send(head("POST / HTTP/1.1", "Host: a", "Content-Length: 3") + "a")
			// nothing comes for many times as long
			_ = c.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
			if b, err := c.r.Peek(1); !isTimeout(err) {
				t.Errorf("got %q, %v before the body was there", b, err)
			}
			_ = c.SetReadDeadline(time.Now().Add(patience))
			c.send("bc")
			c.expect(200, "xxx")
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
	inBubble(t, s, func(t *testing.T, dial func() *testConn) {
		c := dial()
		for range 2 {
			c.get("/limited")
			c.expect(200, "buffered")
			time.Sleep(2 * writeTime)
			c.get("/stream")
			c.expect(200, "streamed")
			c.get("/limited")
			c.expect(200, "buffered")
			time.Sleep(2 * writeTime)
			c.get("/")
			c.expect(200, "buffered")
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
			log := &testLog{}
			s := &Server{WriteTimeout: writeTime, Logger: log, LogAllErrors: true, Handler: func(ctx *RequestCtx) {
				time.Sleep(10 * writeTime) // which does not count
				h(ctx)
			}, ConnState: func(_ net.Conn, state ConnState) {
				if state == StateClosed {
					ended <- time.Now()
				}
			}}
			inBubble(t, s, func(t *testing.T, dial func() *testConn) {
				ended = make(chan time.Time, 1) // of the bubble
				c := dial()
				start := time.Now()
				c.get("/")
				if got := (<-ended).Sub(start); got != 11*writeTime {
					t.Errorf("the connection was closed after %v, want %v", got, 11*writeTime)
				}
				_, err := readResponse(c.r, "GET")
				if !errors.Is(err, io.ErrUnexpectedEOF) {
					t.Errorf("the response ends with %v", err)
				}
			})
			log.waitFor(t, "cannot write the response", "timeout")
		})
	}
}

// Ended in order, a connection whose peer does not read would keep what was
// written in the memory of the system, for as long as the peer likes.
func TestWriteTimeoutResetsTheConnection(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
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
		if !ts.engine.sockets {
			t.Skip("only a socket can be reset")
		}
		for _, path := range []string{"/buffered", "/sized", "/chunked"} {
			t.Run(path[1:], func(t *testing.T) {
				c := ts.dial()
				c.get(path)
				receive(t, "end of the connection", closed)
				if _, err := io.Copy(io.Discard, c.r); !errors.Is(err, syscall.ECONNRESET) {
					t.Errorf("the connection ends with %v, want a reset", err)
				}
			})
		}
	})
}

func TestWriteTimeoutCountsFromEachResponse(t *testing.T) {
	inBubble(t, &Server{WriteTimeout: writeTime}, func(t *testing.T, dial func() *testConn) {
		c := dial()
		for range 5 {
			c.get("/")
			c.expect(200, echoed("GET", "/", ""))
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
	inBubble(t, s, func(t *testing.T, dial func() *testConn) {
		c := dial()
		c.send(head("POST / HTTP/1.1", "Host: a", "Content-Length: 10") + "abc")
		start := time.Now()
		resp := c.next("POST")
		if got := time.Since(start); got != time.Second || !errors.Is(failed, os.ErrDeadlineExceeded) {
			t.Errorf("the stream ended with %v after %v", failed, got)
		}
		if resp.body == "<nil>" {
			t.Error("a stream that has failed has not failed the next time")
		}
	})
}

func TestIdleWorkersEnd(t *testing.T) {
	s := &Server{MaxIdleWorkerDuration: time.Minute}
	inBubble(t, s, func(t *testing.T, dial func() *testConn) {
		workers := func() int {
			synctest.Wait()
			n := 0
			for g := range strings.SplitSeq(string(stacks()), "\n\n") {
				// workers of earlier tests may be about to end, outside of the bubble
				header, _, _ := strings.Cut(g, "\n")
				if strings.Contains(header, "bubble") && strings.Contains(g, "internal/workers.(*Pool[...]).work(") {
					n++
				}
			}
			return n
		}
		var conns []*testConn
		for range 10 {
			c := dial()
			c.get("/")
			c.expect(200, echoed("GET", "/", ""))
			conns = append(conns, c)
		}
		for _, c := range conns {
			_ = c.Close()
		}
		if n := workers(); n != 10 {
			t.Errorf("%d workers after 10 connections", n)
		}
		// one of them is kept busy with one connection after the other
		for range 8 {
			time.Sleep(30 * time.Second)
			c := dial()
			c.get("/")
			c.expect(200, echoed("GET", "/", ""))
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
