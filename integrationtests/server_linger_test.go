package integrationtests

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/engine"
	"github.com/valyala/fasthttp/internal/servertest"
)

// TestAnswerOfAHandlerThatTimedOutArrives has clients that do not read before they
// have sent all their bytes, most of them after the response was sent.
func TestAnswerOfAHandlerThatTimedOutArrives(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		for name, read := range map[string]bool{"reading": true, "not reading": false} {
			t.Run(name, func(t *testing.T) {
				for tries := 20; ; tries-- {
					began := time.Now()
					err := answerOfALateReader(t, start, read)
					if err != nil && time.Since(began) > engine.LingerTime/2 && tries > 0 {
						// the server waits only so long for the rest of the body
						continue
					}
					servertest.Must(t, err)
					return
				}
			})
		}
	})
}

// answerOfALateReader returns an error if a client does not get the response of a handler that has
// timed out, and the end of the connection. The handler reads the body meanwhile, or later.
func answerOfALateReader(t *testing.T, start starter, read bool) error {
	ended := make(chan struct{})
	answered := make(chan struct{})
	sent := make(chan struct{}, 1)
	ts := start(&fasthttp.Server{StreamRequestBody: true, ResponseSent: func(*fasthttp.RequestCtx, fasthttp.SentResponse) { sent <- struct{}{} }, Handler: func(ctx *fasthttp.RequestCtx) {
		go func() {
			defer close(ended)
			if !read {
				<-answered
			}
			if _, err := io.Copy(io.Discard, ctx.RequestBodyStream()); err == nil {
				t.Error("a body that was cut off ends in order")
			}
		}()
		ctx.TimeoutError("too slow")
	}})
	if !ts.Engine.Sockets {
		t.Skip("only sockets lose sent bytes")
	}
	c := ts.Dial()
	const piece, pieces = 10_000, 20
	c.Send(servertest.Head("POST / HTTP/1.1", "Host: a", "Content-Length: 1000000"))
	servertest.Receive(t, "the answer", sent)
	defer servertest.Receive(t, "the end of the handler", ended)
	defer close(answered)
	for range pieces {
		if _, err := io.WriteString(c.Conn, strings.Repeat("x", piece)); err != nil {
			return err
		}
	}
	resp, err := servertest.ReadResponse(c.R, "POST")
	if err != nil {
		return err
	}
	if resp.StatusCode != 408 || resp.Content != "too slow" || !resp.Close {
		t.Errorf("got %d %q, closes: %v", resp.StatusCode, resp.Content, resp.Close)
	}
	if b, err := io.ReadAll(c.R); len(b) > 0 || err != nil {
		return fmt.Errorf("got %q, %v, want the end of the connection", b, err)
	}
	return nil
}

// Connections that linger cost no goroutine on the event engine, and end after a
// while whatever the peer does.
func TestManyConnectionsLinger(t *testing.T) {
	t.Parallel()
	const crowd = 100
	forEachEngine(t, func(t *testing.T, start starter) {
		t.Parallel()
		count := servertest.CountGoroutines(t)
		var refused atomic.Int32
		ts := start(&fasthttp.Server{ErrorHandler: func(ctx *fasthttp.RequestCtx, _ error) { refused.Add(1) }, Handler: echo})
		before := count()
		refuse := func() {
			refused.Store(0)
			for range crowd {
				c := ts.Dial()
				c.Send("no request\r\n\r\n")
			}
			servertest.Eventually(t, "all refusals", func() bool { return refused.Load() == crowd })
		}
		refuse()
		if ts.Engine.Name == "event/tcp" && runtime.GOOS == "linux" {
			// on a slow machine many connections may have ended when the last one is refused
			servertest.Eventually(t, "many connections without goroutines", func() bool {
				// all connections that are open after the count were open during it
				n, open := count()-before, int(ts.S.GetOpenConnectionsCount())
				if open < crowd/5 {
					refuse()
					return false
				}
				return n <= open/2
			})
		}
		servertest.Eventually(t, "the end of all connections", func() bool { return ts.S.GetOpenConnectionsCount() == 0 })
	})
}

// TestRefusedUploadsHearWhy has clients that send all of a body above the limit before they
// read the response, and one that reads meanwhile, as net/http does.
func TestRefusedUploadsHearWhy(t *testing.T) {
	t.Parallel()
	const size = 20 << 20
	forEachEngine(t, func(t *testing.T, start starter) {
		t.Parallel()
		ts := start(&fasthttp.Server{MaxRequestBodySize: 1 << 20, Handler: echo})
		if !ts.Engine.Sockets {
			t.Skip("connections in memory have no other end to close")
		}
		// the server waits for more of a body for a limited time
		for range uploads() {
			servertest.Steady(t, reach, func(t testing.TB) {
				nc, err := ts.Dialer()
				servertest.Must(t, err)
				c := servertest.NewConn(t, nc)
				defer c.Close()
				c.Send(servertest.Head("POST / HTTP/1.1", "Host: a", "Content-Length: "+strconv.Itoa(size)))
				sendZeros(c, size)
				if resp := c.Next("POST"); resp.StatusCode != 413 || !resp.Close {
					t.Fatalf("got %d, closes: %v", resp.StatusCode, resp.Close)
				}
				c.ExpectEnd()
			})
		}
		tr := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return ts.Dialer() }}
		defer tr.CloseIdleConnections()
		for range uploads() {
			servertest.Steady(t, reach, func(t testing.TB) {
				resp, err := (&http.Client{Transport: tr}).Post("http://a/", "", io.LimitReader(zeros{}, size))
				servertest.Must(t, err)
				_ = resp.Body.Close()
				if resp.StatusCode != 413 {
					t.Fatalf("got %d", resp.StatusCode)
				}
			})
		}
	})
}

// TestLastResponsesAreNotLostToWhatFollows has clients that continue to send while the last
// response of the connection arrives.
func TestLastResponsesAreNotLostToWhatFollows(t *testing.T) {
	t.Parallel()
	const size = 2 << 20
	body := numbered(size)
	for name, s := range map[string]*fasthttp.Server{
		"the handler closes": {},
		"one request":        {MaxRequestsPerConn: 1},
		"no keep-alive":      {DisableKeepalive: true},
	} {
		t.Run(name, func(t *testing.T) {
			forEachEngineInTime(t, func(t testing.TB, start starter) {
				written := make(chan struct{}, 1)
				ts := start(&fasthttp.Server{
					MaxRequestsPerConn: s.MaxRequestsPerConn, DisableKeepalive: s.DisableKeepalive,
					ResponseSent: func(*fasthttp.RequestCtx, fasthttp.SentResponse) { written <- struct{}{} },
					Handler: func(ctx *fasthttp.RequestCtx) {
						ctx.SetConnectionClose()
						ctx.SetBodyString(body)
					},
				})
				if !ts.Engine.Sockets {
					t.Skip("only sockets lose sent bytes")
				}
				tries := 20
				for left := uploads(); left > 0; {
					began := time.Now()
					c := ts.Dial()
					c.Get("/")
					err := takeWhileSending(c, body)
					slow := time.Since(began) > engine.LingerTime/2
					servertest.Receive(t, "the end of the response", written)
					_ = c.Close()
					if tries--; err != nil && slow && tries > 0 {
						// the server need not wait for a client that sends so little in that time
						continue
					}
					servertest.Must(t, err)
					left--
				}
			})
		})
	}
}

// takeWhileSending reads a response as slowly as it sends bytes after the request.
func takeWhileSending(c *servertest.Conn, body string) error {
	c.ExpectLine("HTTP/1.1 200 OK\r\n")
	for line := ""; line != "\r\n"; {
		var err error
		if line, err = c.R.ReadString('\n'); err != nil {
			return err
		}
	}
	const step = 64 << 10
	for got := 0; got < len(body); got += step {
		if _, err := c.Write(make([]byte, 1000)); err != nil {
			return err
		}
		piece := make([]byte, min(step, len(body)-got))
		if _, err := io.ReadFull(c.R, piece); err != nil {
			return fmt.Errorf("behind %d bytes: %w", got, err)
		}
		if string(piece) != body[got:got+len(piece)] {
			c.T.Fatalf("other bytes behind %d", got)
		}
	}
	return nil
}

// uploads is how many bodies a test sends in each way.
func uploads() int {
	if testing.Short() || servertest.RaceDetector {
		return 2
	}
	return 5
}

// zeros is a reader without an end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// sendZeros sends size bytes of zero.
func sendZeros(c *servertest.Conn, size int64) {
	c.T.Helper()
	if _, err := io.CopyN(struct{ io.Writer }{c.Conn}, zeros{}, size); err != nil {
		c.T.Fatalf("cannot send: %v", err)
	}
}
