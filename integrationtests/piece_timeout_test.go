package integrationtests

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// getInMemory sends a GET in a bubble, with one of the versions of HTTP.
func getInMemory(t *testing.T, ts *testServer, over2 bool) *http.Response {
	tr := &http.Transport{
		Protocols:          new(http.Protocols),
		DisableCompression: true,
		DialContext:        func(context.Context, string, string) (net.Conn, error) { return ts.Dial().Conn, nil },
	}
	tr.Protocols.SetHTTP1(!over2)
	tr.Protocols.SetUnencryptedHTTP2(over2)
	t.Cleanup(tr.CloseIdleConnections)
	req, err := http.NewRequestWithContext(t.Context(), "GET", "http://a/", nil)
	servertest.Must(t, err)
	resp, err := tr.RoundTrip(req)
	servertest.Must(t, err)
	t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

// inPieces runs a test in a bubble, with a server whose WriteTimeout is shorter than the
// response.
func inPieces(t *testing.T, limit time.Duration, wrap func(h fasthttp.RequestHandler) fasthttp.RequestHandler,
	produce func(w *bufio.Writer), test func(t *testing.T, resp *http.Response)) {
	for version, over2 := range map[string]bool{"HTTP1": false, "HTTP2": true} {
		t.Run(version, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				s := &fasthttp.Server{WriteTimeout: 5 * time.Second, NoDefaultDate: true, Handler: wrap(func(ctx *fasthttp.RequestCtx) {
					ctx.Response.PieceTimeout = limit
					ctx.SetBodyStreamWriter(produce)
				})}
				s.Protocols.SetHTTP1(true)
				s.Protocols.SetUnencryptedHTTP2(true)
				s.HTTP2.WriteByteTimeout = servertest.Never
				ts := startServer(t, servertest.MemoryEngine, s)
				test(t, getInMemory(t, ts, over2))
			})
		})
	}
}

func unwrapped(h fasthttp.RequestHandler) fasthttp.RequestHandler { return h }

// A response lasts for any time, if each of its pieces is received in time.
func TestPieceTimeoutReplacesTheLimitOfTheResponse(t *testing.T) {
	for name, wrap := range map[string]func(h fasthttp.RequestHandler) fasthttp.RequestHandler{
		"alone":      unwrapped,
		"compressed": fasthttp.CompressHandler,
	} {
		for _, limit := range []time.Duration{5 * time.Second, -1} {
			t.Run(name, func(t *testing.T) {
				inPieces(t, limit, wrap, func(w *bufio.Writer) {
					for range 100 {
						_, _ = w.WriteString("0123456789")
						if err := w.Flush(); err != nil {
							t.Error(err)
							return
						}
						time.Sleep(time.Minute) // bubble: within inPieces
					}
				}, func(t *testing.T, resp *http.Response) {
					if got, err := io.ReadAll(resp.Body); err != nil || string(got) != string(bytes.Repeat([]byte("0123456789"), 100)) {
						t.Errorf("got %d bytes, %v", len(got), err)
					}
				})
			})
		}
	}
}

// The time of a piece begins with the piece, and a client that reads slowly has it for each.
func TestPieceTimeoutBeginsWithEachPiece(t *testing.T) {
	const limit = 30 * time.Second
	var failed chan time.Duration
	inPieces(t, limit, func(h fasthttp.RequestHandler) fasthttp.RequestHandler {
		failed = make(chan time.Duration, 1)
		return h
	}, func(w *bufio.Writer) {
		piece := make([]byte, 100_000)
		began, err := time.Now(), error(nil)
		for err == nil {
			if _, err = w.Write(piece); err == nil {
				err = w.Flush()
			}
		}
		failed <- time.Since(began)
	}, func(t *testing.T, resp *http.Response) {
		buf := make([]byte, 100_000)
		for range 50 {
			time.Sleep(limit / 2) // bubble: within inPieces
			if _, err := io.ReadFull(resp.Body, buf); err != nil {
				t.Fatalf("a client that reads is left: %v", err)
			}
		}
		// now it stops to read. HTTP/2 checks the time once a second
		time.Sleep(5 * limit) // bubble: within inPieces
		least := 50 * limit / 2
		if got := <-failed; got < least || got > least+limit+limit/2+2*time.Second {
			t.Errorf("the producer has failed after %v", got)
		}
		if _, err := io.Copy(io.Discard, resp.Body); err == nil {
			t.Error("the response looks whole")
		}
	})
}

// On each engine a client that does not read is left, although the limit of the server is
// far away.
func TestPieceTimeoutOnEachEngine(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		for size, wrap := range map[int]func(h fasthttp.RequestHandler) fasthttp.RequestHandler{
			1000:    unwrapped,
			100_000: unwrapped,
			10_000: func(h fasthttp.RequestHandler) fasthttp.RequestHandler {
				return fasthttp.TimeoutHandler(h, servertest.Never, "late")
			},
		} {
			failed := make(chan error, 1)
			ts := start(&fasthttp.Server{WriteTimeout: servertest.Never, Handler: wrap(func(ctx *fasthttp.RequestCtx) {
				ctx.Response.PieceTimeout = servertest.Short
				ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
					piece, err := make([]byte, size), error(nil)
					for err == nil {
						if _, err = w.Write(piece); err == nil {
							err = w.Flush()
						}
					}
					failed <- err
				})
			})})
			c := ts.Dial()
			c.Get("/")
			servertest.Receive(t, "the failure", failed)
		}
	})
}

// The time of a piece does not outlast its response: the next response has the limit of the
// server again, and no limit if the server has none.
func TestPieceTimeoutIsForOneResponse(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		c := start(&fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
			if ctx.Response.PieceTimeout != 0 {
				ctx.Error(errors.New("it is set").Error(), 500)
				return
			}
			if string(ctx.Path()) == "/stream" {
				ctx.Response.PieceTimeout = servertest.Patience
				ctx.SetBodyStreamWriter(func(w *bufio.Writer) { _, _ = w.WriteString("stream") })
				return
			}
			ctx.SetBodyString("ok")
		}}).Dial()
		for range 3 {
			c.Get("/stream")
			c.Expect(200, "stream")
			c.Get("/")
			c.Expect(200, "ok")
		}
	})
}
