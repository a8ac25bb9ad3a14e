package fasthttpadaptor

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// closingStream is a body stream that has nothing more once it is closed.
type closingStream struct {
	io.Reader
	before func() // called by each Read
	closes atomic.Int32
}

func (s *closingStream) Read(p []byte) (int, error) {
	if s.before != nil {
		s.before()
	}
	if s.closes.Load() > 0 {
		return 0, io.ErrClosedPipe
	}
	return s.Reader.Read(p)
}

func (s *closingStream) Close() error {
	s.closes.Add(1)
	return nil
}

// A context that a TimeoutError method has left to other goroutines has two streams: its own
// is closed, and the stream of the response is sent, whatever happens meanwhile.
func TestStreamsOfALeftContextBehindNetHTTP(t *testing.T) {
	t.Parallel()
	own := &closingStream{Reader: strings.NewReader("own")}
	sent := &closingStream{Reader: strings.NewReader("sent")}
	s := httptest.NewServer(NewHTTPHandler(func(ctx *fasthttp.RequestCtx) {
		ctx.SetBodyStream(own, -1)
		sent.before = func() {
			sent.before = nil
			called := make(chan struct{})
			go func() {
				defer close(called)
				ctx.TimeoutErrorWithCode("again", fasthttp.StatusServiceUnavailable)
			}()
			servertest.Receive(t, "the call of the timeout", called)
		}
		resp := new(fasthttp.Response)
		resp.SetStatusCode(fasthttp.StatusGatewayTimeout)
		resp.SetBodyStream(sent, -1)
		ctx.TimeoutErrorWithResponse(resp)
	}))
	resp, err := http.Get(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	s.Close() // which waits for the handler
	if resp.StatusCode != fasthttp.StatusGatewayTimeout || string(content) != "sent" || err != nil {
		t.Errorf("got %d %q, %v", resp.StatusCode, content, err)
	}
	if own.closes.Load() != 1 || sent.closes.Load() != 1 {
		t.Errorf("the streams were closed %d and %d times", own.closes.Load(), sent.closes.Load())
	}
}
