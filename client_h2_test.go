package fasthttp

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/valyala/fasthttp/internal/servertest"
)

// h2Echo is a server of net/http that speaks HTTP/2, with or without TLS.
func h2Echo(t *testing.T, secure bool) (*httptest.Server, *Client) {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Proto", r.Proto)
		w.Header().Set("Method", r.Method)
		w.Header().Set("Target", r.RequestURI)
		w.Header().Set("Got-Host", r.Host)
		w.Header().Set("Got-Cookie", r.Header.Get("Cookie"))
		w.Header().Set("Got-Agent", r.UserAgent())
		w.Header().Set("Got-Length", fmt.Sprint(r.ContentLength))
		if r.Header.Get("Hints") != "" {
			w.WriteHeader(http.StatusEarlyHints)
		}
		if n := r.Header.Get("Status"); n != "" {
			var code int
			_, _ = fmt.Sscan(n, &code)
			w.WriteHeader(code)
		}
		if r.Header.Get("Trailers") != "" {
			w.Header().Set("Trailer", "Sum")
			defer func() { w.Header().Set("Sum", r.Trailer.Get("Sum")+"!") }()
		}
		_, _ = io.Copy(w, r.Body)
	}))
	var p http.Protocols
	p.SetHTTP1(true)
	p.SetHTTP2(true)
	p.SetUnencryptedHTTP2(true)
	s.Config.Protocols = &p
	c := &Client{MaxIdleConnDuration: servertest.Never}
	if secure {
		s.EnableHTTP2 = true
		s.StartTLS()
		c.TLSConfig = &tls.Config{InsecureSkipVerify: true}
		c.Protocols.SetHTTP1(true)
		c.Protocols.SetHTTP2(true)
	} else {
		s.Start()
		c.Protocols.SetUnencryptedHTTP2(true)
	}
	t.Cleanup(func() {
		c.CloseIdleConnections()
		s.Close()
	})
	return s, c
}

func forTLSAndPlain(t *testing.T, test func(t *testing.T, url string, c *Client)) {
	for _, secure := range []bool{true, false} {
		t.Run(map[bool]string{true: "tls", false: "plain"}[secure], func(t *testing.T) {
			s, c := h2Echo(t, secure)
			test(t, s.URL, c)
		})
	}
}

func TestHTTP2ClientSendsAndReceives(t *testing.T) {
	forTLSAndPlain(t, func(t *testing.T, url string, c *Client) {
		large := strings.Repeat("0123456789abcdef", 200<<10/16)
		for name, tc := range map[string]struct {
			set    func(req *Request)
			fields map[string]string
			status int
			body   string
		}{
			"GET": {
				set:    func(req *Request) { req.Header.SetCookie("a", "b"); req.Header.SetUserAgent("me") },
				fields: map[string]string{"Method": "GET", "Target": "/path?q=1", "Got-Cookie": "a=b", "Got-Agent": "me"},
			},
			"HEAD":       {set: func(req *Request) { req.Header.SetMethod("HEAD") }, fields: map[string]string{"Method": "HEAD"}},
			"POST":       {set: func(req *Request) { req.Header.SetMethod("POST"); req.SetBodyString("body") }, body: "body", fields: map[string]string{"Got-Length": "4"}},
			"empty POST": {set: func(req *Request) { req.Header.SetMethod("POST") }, fields: map[string]string{"Got-Length": "0"}},
			"large PUT":  {set: func(req *Request) { req.Header.SetMethod("PUT"); req.SetBodyString(large) }, body: large},
			"stream":     {set: func(req *Request) { req.Header.SetMethod("PUT"); req.SetBodyStream(strings.NewReader(large), -1) }, body: large, fields: map[string]string{"Got-Length": "-1"}},
			"sized": {set: func(req *Request) {
				req.Header.SetMethod("PUT")
				req.SetBodyStream(strings.NewReader(large), len(large))
			}, body: large, fields: map[string]string{"Got-Length": fmt.Sprint(len(large))}},
			"status":    {set: func(req *Request) { req.Header.Set("Status", "204") }, status: 204},
			"not found": {set: func(req *Request) { req.Header.Set("Status", "404"); req.SetBodyString("x") }, status: 404, body: "x"},
			"expectation": {set: func(req *Request) {
				req.Header.SetMethod("POST")
				req.Header.Set("Expect", "100-continue")
				req.SetBodyString("body")
			}, body: "body"},
			"connection fields": {set: func(req *Request) {
				req.Header.Set("Connection", "upgrade")
				req.Header.Set("Upgrade", "x")
				req.Header.Set("Keep-Alive", "1")
			}},
		} {
			t.Run(name, func(t *testing.T) {
				req, resp := AcquireRequest(), AcquireResponse()
				defer ReleaseRequest(req)
				defer ReleaseResponse(resp)
				req.SetRequestURI(url + "/path?q=1")
				tc.set(req)
				if err := c.Do(req, resp); err != nil {
					t.Fatal(err)
				}
				status := max(tc.status, 200)
				if resp.StatusCode() != status || string(resp.Body()) != tc.body || string(resp.Header.Peek("Proto")) != "HTTP/2.0" {
					t.Errorf("%d %q, %d bytes", resp.StatusCode(), resp.Header.Peek("Proto"), len(resp.Body()))
				}
				if p := resp.Header.Protocol(); string(p) != "HTTP/2.0" || resp.ConnectionClose() {
					t.Errorf("the response says it came by %q, close: %v", p, resp.ConnectionClose())
				}
				for field, want := range tc.fields {
					if got := string(resp.Header.Peek(field)); got != want {
						t.Errorf("%s: %q, want %q", field, got, want)
					}
				}
			})
		}
		if n := c.ConnsCount(); n != 1 {
			t.Errorf("%d connections", n)
		}
	})
}

func TestHTTP2ClientTrailers(t *testing.T) {
	forTLSAndPlain(t, func(t *testing.T, url string, c *Client) {
		for _, stream := range []bool{false, true} {
			for _, streams := range []bool{false, true} {
				var req Request
				var resp Response
				req.SetRequestURI(url)
				req.Header.SetMethod("POST")
				req.Header.Set("Trailers", "1")
				servertest.Must(t, req.Header.SetTrailer("Sum"))
				req.Header.Set("Sum", "7")
				if stream {
					req.SetBodyStream(strings.NewReader("body"), -1)
				} else {
					req.SetBodyString("body")
				}
				resp.StreamBody = streams
				servertest.Must(t, c.Do(&req, &resp))
				var body []byte
				if streams {
					body, _ = io.ReadAll(resp.BodyStream())
				} else {
					body = resp.Body()
				}
				if string(body) != "body" || string(resp.Header.PeekTrailer("Sum")) != "7!" {
					t.Errorf("%v %v: %q, %q", stream, streams, body, resp.Header.PeekTrailer("Sum"))
				}
			}
		}
	})
}

func TestHTTP2ClientStreams(t *testing.T) {
	t.Parallel()
	forTLSAndPlain(t, func(t *testing.T, url string, c *Client) {
		c.StreamResponseBody = true
		large := bytes.Repeat([]byte("0123456789abcdef"), 3<<20/16)
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				var req Request
				var resp Response
				req.SetRequestURI(url)
				req.Header.SetMethod("PUT")
				req.SetBodyStream(bytes.NewReader(large), -1)
				if err := c.Do(&req, &resp); err != nil {
					t.Error(err)
					return
				}
				if body, err := io.ReadAll(resp.BodyStream()); err != nil || !bytes.Equal(body, large) {
					t.Errorf("%d bytes, %v", len(body), err)
				}
			})
		}
		servertest.Soon(t, "the calls", wg.Wait)
		// a stream closed early does not end the connection
		for range 3 {
			var req Request
			var resp Response
			req.SetRequestURI(url)
			req.Header.SetMethod("PUT")
			req.SetBody(large)
			servertest.Must(t, c.Do(&req, &resp))
			servertest.Must(t, resp.CloseBodyStream())
		}
		if n := c.ConnsCount(); n != 1 {
			t.Errorf("%d connections", n)
		}
	})
}

func TestHTTP2ClientTimes(t *testing.T) {
	entered, release := make(chan struct{}, 2), make(chan struct{})
	s := &Server{Handler: func(ctx *RequestCtx) {
		if string(ctx.Path()) == "/wait" {
			entered <- struct{}{}
			<-release
		}
		ctx.WriteString("ok")
	}}
	s.Protocols.SetUnencryptedHTTP2(true)
	l, _ := servertest.ListenTCP(t)
	go func() { _ = s.Serve(l) }()
	defer func() { _ = s.Shutdown() }()
	defer close(release)
	c := &HostClient{Addr: l.Addr().String(), MaxIdleConnDuration: servertest.Never}
	c.Protocols.SetUnencryptedHTTP2(true)
	if _, err := c.AcquireConn(0, false); err == nil {
		t.Error("a connection that others use was handed out")
	}
	var req Request
	var resp Response
	req.SetRequestURI("http://h/wait")
	if err := c.DoTimeout(&req, &resp, servertest.Short); err != ErrTimeout {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), servertest.Patience)
	defer cancel()
	go func() {
		<-entered
		cancel()
	}()
	if err := c.DoContext(ctx, &req, &resp); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	req.SetRequestURI("http://h/")
	if err := c.Do(&req, &resp); err != nil || string(resp.Body()) != "ok" || c.ConnsCount() != 1 {
		t.Errorf("%v, %q, %d connections", err, resp.Body(), c.ConnsCount())
	}
}

func TestHTTP2ClientSharesConnections(t *testing.T) {
	t.Parallel()
	var most, now atomic.Int32
	full := make(chan struct{})
	s := &Server{Concurrency: 1000, Handler: func(ctx *RequestCtx) {
		n := now.Add(1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		<-full
		now.Add(-1)
		ctx.Write(ctx.Request.Body())
	}}
	s.Protocols.SetUnencryptedHTTP2(true)
	s.HTTP2.MaxConcurrentStreams = 50
	l, _ := servertest.ListenTCP(t)
	go func() { _ = s.Serve(l) }()
	defer func() { _ = s.Shutdown() }()
	c := &HostClient{Addr: l.Addr().String(), MaxConns: 4}
	c.Protocols.SetUnencryptedHTTP2(true)
	defer c.CloseIdleConnections()
	var calls servertest.Crowd
	for i := range 500 {
		calls.Go(func() {
			var req Request
			var resp Response
			req.SetRequestURI("http://h/")
			req.Header.SetMethod("POST")
			req.SetBodyString(fmt.Sprint(i))
			if err := c.Do(&req, &resp); err != nil || string(resp.Body()) != fmt.Sprint(i) {
				t.Errorf("%d: %q, %v", i, resp.Body(), err)
			}
		})
	}
	servertest.Eventually(t, "all connections full", func() bool { return now.Load() == 200 })
	close(full)
	calls.Wait(t, "500 calls")
	if n := c.ConnsCount(); n > 4 || most.Load() > 200 {
		t.Errorf("%d connections, %d requests at a time", n, most.Load())
	}
}

// The hook for informational responses may make other requests, although they share the connection
// that its call would read.
func TestHTTP2ClientMakesRequestsInHooks(t *testing.T) {
	forTLSAndPlain(t, func(t *testing.T, url string, c *Client) {
		ask := func(hook func(h *ResponseHeader) error) error {
			var req Request
			var resp Response
			req.SetRequestURI(url + "/")
			if req.OnInform = hook; hook != nil {
				req.Header.Set("Hints", "1")
			}
			err := c.DoTimeout(&req, &resp, servertest.Patience)
			if err == nil && resp.StatusCode() != StatusOK {
				err = fmt.Errorf("status %d", resp.StatusCode())
			}
			return err
		}
		// a call may read the connection if it was used just before
		for range 20 {
			hooks := 0
			servertest.Must(t, ask(nil))
			servertest.Must(t, ask(func(*ResponseHeader) error {
				hooks++
				return ask(nil)
			}))
			if hooks != 1 {
				t.Fatalf("the hook was called %d times", hooks)
			}
		}
	})
}
