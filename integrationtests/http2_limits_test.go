package integrationtests

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"golang.org/x/net/http2"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// TestHTTP2BodyThatIsLimited has a handler that limits the body itself.
func TestHTTP2BodyThatIsLimited(t *testing.T) {
	overHTTP2(t, func(t *testing.T, start http2Starter) {
		s := start(&fasthttp.Server{StreamRequestBody: true, Handler: func(ctx *fasthttp.RequestCtx) {
			if err := ctx.LimitRequestBody(1000); err != nil {
				ctx.Error(err.Error(), 413)
				return
			}
			n, err := io.Copy(io.Discard, ctx.RequestBodyStream())
			fmt.Fprint(ctx, n, " ", errors.Is(err, fasthttp.ErrBodyTooLarge))
		}})
		s.ask(t, "POST", "/", numbered(1000), 200, "1000 false")
		s.ask(t, "POST", "/", numbered(1001), 413, "fasthttp: body size exceeds the given limit")
		resp := s.do(t, s.request(t, "POST", "/", unsizedReader{strings.NewReader(numbered(100_000))}))
		// the server may know that there is more
		if resp.Content != "1000 true" && resp.StatusCode != 413 {
			t.Errorf("got %q", resp.Content)
		}
	})
}

// TestHTTP2BodyMemory has two bodies that together exceed the memory.
func TestHTTP2BodyMemory(t *testing.T) {
	overHTTP2(t, func(t *testing.T, start http2Starter) {
		g := servertest.NewGate()
		s := start(&fasthttp.Server{MaxRequestBodyMemory: 600_000, MaxRequestBodySize: 400_000, Handler: func(ctx *fasthttp.RequestCtx) {
			if string(ctx.Path()) == "/wait" {
				g.Pass("wait")
			}
			fmt.Fprint(ctx, len(ctx.PostBody()))
		}})
		first := make(chan string, 1)
		go func() {
			resp, err := s.client.Do(s.request(t, "POST", "/wait", strings.NewReader(numbered(400_000))))
			if err != nil {
				first <- err.Error()
				return
			}
			defer resp.Body.Close()
			got, _ := io.ReadAll(resp.Body)
			first <- fmt.Sprint(resp.StatusCode, " ", string(got))
		}()
		servertest.Receive(t, "the first request", g.Entered)
		resp := s.do(t, s.request(t, "POST", "/", strings.NewReader(numbered(400_000))))
		if resp.StatusCode != 503 || resp.Header.Get("Retry-After") == "" {
			t.Errorf("got %d, %v", resp.StatusCode, resp.Header)
		}
		close(g.Open)
		if got := servertest.Receive(t, "the first response", first); got != "200 400000" {
			t.Errorf("the first request gets %s", got)
		}
		servertest.Eventually(t, "room again", func() bool {
			resp := s.do(t, s.request(t, "POST", "/", strings.NewReader(numbered(400_000))))
			return resp.StatusCode == 200
		})
	})
}

// TestHTTP2StreamsAboveTheLimit has a client that opens more streams than allowed, before it
// knows the limit and after.
func TestHTTP2StreamsAboveTheLimit(t *testing.T) {
	overHTTP2(t, func(t *testing.T, start http2Starter) {
		g := servertest.NewGate()
		server := &fasthttp.Server{Handler: passing(g)}
		server.HTTP2.MaxConcurrentStreams = 3
		s := start(server)
		c := s.dialFrames(t)
		for i := range 5 {
			c.Begin(uint32(2*i+1), true, "GET", fmt.Sprint("/", i))
		}
		for range 3 {
			servertest.Receive(t, "a request", g.Entered)
		}
		c.ExpectReset(7, http2.ErrCodeRefusedStream)
		c.ExpectReset(9, http2.ErrCodeRefusedStream)
		close(g.Open)
		for i := range 3 {
			c.ExpectResponse(uint32(2*i+1), "200", "through")
		}
		// a net/http client waits, or tries again
		failed := make(chan string, 20)
		for range 20 {
			go func() {
				resp, err := s.client.Do(s.request(t, "GET", "/", nil))
				if err != nil {
					failed <- err.Error()
					return
				}
				_ = resp.Body.Close()
				failed <- ""
			}()
		}
		for range 20 {
			if text := servertest.Receive(t, "a response", failed); text != "" {
				t.Error(text)
			}
		}
	})
}
