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

// http2Refusal is a request that does not reach the handler.
type http2Refusal struct {
	name     string
	settings func(s *fasthttp.Server)
	method   string // POST
	fields   []string
	body     string // not sent if it is empty; the stream ends with it
	open     bool   // the stream does not end
	status   string
	content  string
	err      func(error) bool // of the error for ErrorHandler
}

func TestHTTP2RefusesRequests(t *testing.T) {
	is := func(target error) func(error) bool { return func(err error) bool { return errors.Is(err, target) } }
	isSmallBuffer := func(err error) bool { _, ok := errors.AsType[*fasthttp.ErrSmallBuffer](err); return ok }
	small := func(s *fasthttp.Server) { s.MaxRequestBodySize = 10 }
	refuse := func(status int) func(*fasthttp.Server) {
		return func(s *fasthttp.Server) {
			s.HeaderReceived = func(h *fasthttp.RequestHeader) (c fasthttp.RequestConfig) {
				if h.IsPost() {
					c.RefuseStatus = status
				}
				return c
			}
		}
	}
	refusals := []http2Refusal{
		{name: "GetOnly", settings: func(s *fasthttp.Server) { s.GetOnly = true }, body: "abc", status: "400", err: is(fasthttp.ErrGetOnly)},
		{name: "a large body", settings: small, body: "0123456789a", status: "413", err: is(fasthttp.ErrBodyTooLarge)},
		{name: "a large body that is announced", settings: small, fields: []string{"content-length", "11"}, open: true, status: "413", err: is(fasthttp.ErrBodyTooLarge)},
		{name: "a large body that does not end", settings: small, body: "0123456789a", open: true, status: "413", err: is(fasthttp.ErrBodyTooLarge)},
		{name: "a body too large for its path", settings: func(s *fasthttp.Server) {
			s.HeaderReceived = func(h *fasthttp.RequestHeader) (c fasthttp.RequestConfig) {
				if h.IsPost() {
					c.MaxRequestBodySize = 2
				}
				return c
			}
		}, body: "abc", status: "413", err: is(fasthttp.ErrBodyTooLarge)},
		{name: "a large head", method: "GET", fields: []string{"x-large", strings.Repeat("x", 70_000)}, status: "431", err: isSmallBuffer},
		{name: "many fields", method: "GET", fields: strings.Split(strings.Repeat("x-a 1 ", 600)+"x-a 1", " "), status: "431", err: isSmallBuffer},
		{name: "HeaderReceived", settings: refuse(403), body: "abc", status: "403", content: "Forbidden", err: is(fasthttp.ErrRequestRefused)},
		{name: "HeaderReceived without the body", settings: refuse(401), open: true, status: "401", content: "Unauthorized", err: is(fasthttp.ErrRequestRefused)},
		{name: "HeaderReceived with a wrong status", settings: refuse(100), open: true, status: "400", err: is(fasthttp.ErrRequestRefused)},
		{name: "no memory for the body", settings: func(s *fasthttp.Server) { s.MaxRequestBodyMemory = 20_000 }, body: numbered(40_000), open: true, status: "413",
			err: is(fasthttp.ErrBodyTooLarge)},
		{name: "Expect", settings: func(s *fasthttp.Server) {
			s.ExpectHandler = func(*fasthttp.RequestCtx) int { return 403 }
		}, fields: []string{"expect", "100-continue", "content-length", "3"}, open: true, status: "403"},
	}
	overHTTP2(t, func(t *testing.T, start http2Starter) {
		for _, tc := range refusals {
			t.Run(tc.name, func(t *testing.T) {
				server := &fasthttp.Server{Handler: echo}
				if tc.settings != nil {
					tc.settings(server)
				}
				testHTTP2Refusal(t, start(server), &tc, nil)
				failures := make(chan error, 1)
				server = &fasthttp.Server{Handler: echo, ErrorHandler: func(ctx *fasthttp.RequestCtx, err error) {
					failures <- err
					ctx.Response.Header.Set("X-Error", "mine")
				}}
				if tc.settings != nil {
					tc.settings(server)
				}
				if tc.err != nil {
					testHTTP2Refusal(t, start(server), &tc, failures)
				}
			})
		}
	})
}

// testHTTP2Refusal sends a request that the server must refuse. The connection is used before
// and afterwards.
func testHTTP2Refusal(t *testing.T, s *http2Server, tc *http2Refusal, failures <-chan error) {
	t.Helper()
	c := s.dialFrames(t)
	c.Begin(1, true, "GET", "/before")
	c.ExpectResponse(1, "200", `GET /before ""`)
	method := tc.method
	if method == "" {
		method = "POST"
	}
	c.Begin(3, !tc.open && tc.body == "", method, "/x", tc.fields...)
	for rest := []byte(tc.body); len(rest) > 0; {
		part := rest[:min(len(rest), 16<<10)]
		rest = rest[len(part):]
		c.Must(c.WriteData(3, !tc.open && len(rest) == 0, part))
	}
	f := c.Stream(3)
	c.Until("the response", func() bool { return f.Ended || f.Reset != nil && len(f.Heads) == 0 })
	status := tc.status
	if failures != nil {
		if err := servertest.Receive(t, "the error", failures); !tc.err(err) {
			t.Errorf("the error is %v", err)
		}
		if f.Head(0)["x-error"] != "mine" {
			t.Errorf("the response of ErrorHandler is %v", f.Heads)
		}
		if status != "400" && status != "401" && status != "403" {
			// only the status of a refusal by HeaderReceived stays
			status = "200"
		} else if strings.HasPrefix(tc.name, "GetOnly") {
			status = "200"
		}
	}
	if got := f.Head(0)[":status"]; got != status || tc.content != "" && string(f.Content) != tc.content {
		t.Errorf("got %v %q, want %s %q", f.Heads, f.Content, status, tc.content)
	}
	c.Begin(5, true, "GET", "/after")
	c.ExpectResponse(5, "200", `GET /after ""`)
}

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
