package fasthttp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http/httptrace"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp/internal/servertest"
)

// TestClientTimeoutLimitsTheWholeCall has peers that are late in each part of a call.
func TestClientTimeoutLimitsTheWholeCall(t *testing.T) {
	const late = time.Hour
	for name, tc := range map[string]struct {
		serve func(c *servertest.PeerConn)
		set   func(hc *HostClient, req *Request)
		do    func(hc *HostClient, req *Request, resp *Response) error
	}{
		"head": {serve: func(c *servertest.PeerConn) { c.Request(); c.UntilClosed() }},
		"body": {serve: func(c *servertest.PeerConn) {
			c.Request()
			c.Send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345")
			c.UntilClosed()
		}},
		"streamed body": {serve: func(c *servertest.PeerConn) {
			c.Request()
			c.Send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345")
			c.UntilClosed()
		}, set: func(hc *HostClient, _ *Request) { hc.StreamResponseBody = true },
			do: func(hc *HostClient, req *Request, resp *Response) error {
				if err := hc.Do(req, resp); err != nil {
					return fmt.Errorf("the head: %w", err)
				}
				_, err := io.ReadAll(resp.BodyStream())
				return err
			}},
		"dial": {serve: func(*servertest.PeerConn) {}, set: func(hc *HostClient, _ *Request) {
			hc.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			}
		}},
		"content": {serve: func(c *servertest.PeerConn) {
			c.Head()
			time.Sleep(late) // bubble: within callInBubble
		}, set: func(_ *HostClient, req *Request) {
			req.Header.SetMethod(MethodPost)
			req.SetBody(make([]byte, 32<<20))
		}},
		"retries": {serve: func(c *servertest.PeerConn) {
			c.Request()
			time.Sleep(11 * time.Second) // bubble: within callInBubble
		},
			set: func(hc *HostClient, _ *Request) { hc.MaxIdemponentCallAttempts = 100 }},
		"redirects": {serve: func(c *servertest.PeerConn) {
			for c.Request() != nil {
				time.Sleep(11 * time.Second) // bubble: within callInBubble
				c.Send("HTTP/1.1 302 Found\r\nLocation: /next\r\nContent-Length: 0\r\n\r\n")
			}
		}, do: func(hc *HostClient, req *Request, resp *Response) error { return hc.DoRedirects(req, resp, 100) }},
		"Get": {serve: func(c *servertest.PeerConn) { c.Request(); c.UntilClosed() },
			do: func(hc *HostClient, _ *Request, _ *Response) error {
				_, _, err := hc.Get(nil, "http://peer.test/")
				return err
			}},
		"a longer request timeout": {serve: func(c *servertest.PeerConn) { c.Request(); c.UntilClosed() },
			set: func(_ *HostClient, req *Request) { req.SetTimeout(late) }},
		"a longer DoTimeout": {serve: func(c *servertest.PeerConn) { c.Request(); c.UntilClosed() },
			do: func(hc *HostClient, req *Request, resp *Response) error { return hc.DoTimeout(req, resp, late) }},
		"a longer ReadTimeout": {serve: func(c *servertest.PeerConn) { c.Request(); c.UntilClosed() },
			set: func(hc *HostClient, _ *Request) { hc.ReadTimeout = late }},
		"an unlimited context": {serve: func(c *servertest.PeerConn) { c.Request(); c.UntilClosed() },
			do: func(hc *HostClient, req *Request, resp *Response) error {
				return hc.DoContext(context.Background(), req, resp)
			}},
	} {
		for _, timeless := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/timeless=%v", name, timeless), func(t *testing.T) {
				callInBubble(t, tc.serve, func(t *testing.T, hc *HostClient) {
					hc.Timeout = time.Minute
					req, resp := requestTo(t, MethodGet, "http://peer.test/"), responseFor(t)
					if timeless {
						timelessly(hc)
					}
					if tc.set != nil {
						tc.set(hc, req)
					}
					if tc.do == nil {
						tc.do = (*HostClient).Do
					}
					takesTime(t, "the call", time.Minute, func() {
						if err := tc.do(hc, req, resp); !errors.Is(err, error(ErrTimeout)) {
							t.Errorf("got %v, want ErrTimeout", err)
						}
					})
					_ = resp.CloseBodyStream()
				})
			})
		}
	}
}

// timelessly makes a client dial connections without deadlines.
func timelessly(hc *HostClient) {
	dial := hc.DialContext
	hc.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		return servertest.TimelessConn{Conn: conn}, err
	}
}

// Calls over a connection without deadlines have time limits, and share it.
func TestHTTP2CallsOverATimelessConnection(t *testing.T) {
	var held chan struct{}
	s := &Server{Handler: func(ctx *RequestCtx) {
		if string(ctx.Path()) == "/late" {
			<-held // bubble: within inBubble
		}
		ctx.SetBodyString("ok")
	}}
	s.Protocols.SetUnencryptedHTTP2(true)
	inBubble(t, s, func(t *testing.T, dial func() *servertest.Conn) {
		held = make(chan struct{})
		defer close(held)
		var dials atomic.Int32
		hc := &HostClient{Addr: "peer.test", Protocols: s.Protocols, Timeout: time.Minute}
		hc.DialContext = func(context.Context, string, string) (net.Conn, error) {
			dials.Add(1)
			return dial().Conn, nil
		}
		timelessly(hc)
		defer hc.CloseIdleConnections()
		call := func(path string) error {
			return hc.Do(requestTo(t, MethodGet, "http://peer.test"+path), responseFor(t))
		}
		var calls sync.WaitGroup
		for range 3 {
			calls.Go(func() {
				takesTime(t, "a late call", time.Minute, func() {
					if err := call("/late"); !errors.Is(err, error(ErrTimeout)) {
						t.Errorf("late: got %v, want ErrTimeout", err)
					}
				})
			})
			time.Sleep(time.Second) // bubble: within inBubble
			if err := call("/"); err != nil {
				t.Errorf("beside late calls: %v", err)
			}
		}
		calls.Wait()
		if err := call("/"); err != nil || dials.Load() != 1 {
			t.Errorf("after late calls: %v, %d connections", err, dials.Load())
		}
	})
}

// TestSoonerLimitThanClientTimeoutApplies has other limits, which are shorter.
func TestSoonerLimitThanClientTimeoutApplies(t *testing.T) {
	for name, do := range map[string]func(hc *HostClient, req *Request, resp *Response) error{
		"SetTimeout": func(hc *HostClient, req *Request, resp *Response) error {
			req.SetTimeout(time.Second)
			return hc.Do(req, resp)
		},
		"DoTimeout": func(hc *HostClient, req *Request, resp *Response) error { return hc.DoTimeout(req, resp, time.Second) },
		"DoDeadline": func(hc *HostClient, req *Request, resp *Response) error {
			return hc.DoDeadline(req, resp, time.Now().Add(time.Second))
		},
		"ReadTimeout": func(hc *HostClient, req *Request, resp *Response) error {
			hc.ReadTimeout = time.Second
			return hc.Do(req, resp)
		},
	} {
		t.Run(name, func(t *testing.T) {
			callInBubble(t, func(c *servertest.PeerConn) { c.Request(); c.UntilClosed() }, func(t *testing.T, hc *HostClient) {
				hc.Timeout = time.Minute
				takesTime(t, "the call", time.Second, func() {
					if err := do(hc, requestTo(t, MethodPost, "http://peer.test/"), responseFor(t)); !errors.Is(err, error(ErrTimeout)) {
						t.Errorf("got %v, want ErrTimeout", err)
					}
				})
			})
		})
	}
}

// TestClientTimeoutOfAClient checks that a Client has the limit for all hosts and redirects.
func TestClientTimeoutOfAClient(t *testing.T) {
	callInBubble(t, func(c *servertest.PeerConn) {
		for c.Request() != nil {
			time.Sleep(11 * time.Second)
			c.Send(fmt.Sprintf("HTTP/1.1 302 Found\r\nLocation: http://host%d.test/\r\nContent-Length: 0\r\n\r\n", c.Number))
		}
	}, func(t *testing.T, hc *HostClient) {
		client := &Client{Timeout: time.Minute, DialContext: hc.DialContext}
		defer client.CloseIdleConnections()
		takesTime(t, "the call", time.Minute, func() {
			if _, _, err := client.Get(nil, "http://peer.test/"); !errors.Is(err, error(ErrTimeout)) {
				t.Errorf("got %v, want ErrTimeout", err)
			}
		})
	})
}

// busyPeer answers the first requests of all its connections with 503 and the field.
func busyPeer(times int, status, field string, requests *[]string) func(c *servertest.PeerConn) {
	return func(c *servertest.PeerConn) {
		for r := c.Request(); r != nil; r = c.Request() {
			*requests = append(*requests, r.Method+" "+c.Body)
			if len(*requests) <= times {
				c.Send("HTTP/1.1 " + status + "\r\n" + field + "Content-Length: 4\r\n\r\nbusy")
			} else {
				c.Send(servertest.OK)
			}
		}
	}
}

func TestClientFollowsRetryAfter(t *testing.T) {
	const unavailable, tooMany, asks = "503 Service Unavailable", "429 Too Many Requests", "Retry-After: 30\r\n"
	plain := func(method string) func(t *testing.T, req *Request) {
		return func(_ *testing.T, req *Request) { req.Header.SetMethod(method) }
	}
	for name, tc := range map[string]struct {
		status, field string
		times         int
		set           func(hc *HostClient)
		request       func(t *testing.T, req *Request)
		want          string // the requests
		code          int
		took          time.Duration
	}{
		"503":              {unavailable, asks, 1, nil, plain("GET"), "GET ,GET ", 200, 30 * time.Second},
		"429":              {tooMany, asks, 2, nil, plain("GET"), "GET ,GET ,GET ", 200, time.Minute},
		"at once":          {unavailable, "Retry-After: 0\r\n", 1, nil, plain("GET"), "GET ,GET ", 200, 0},
		"another status":   {"500 Internal Server Error", asks, 1, nil, plain("GET"), "GET ", 500, 0},
		"no field":         {unavailable, "", 1, nil, plain("GET"), "GET ", 503, 0},
		"no value":         {unavailable, "Retry-After: soon\r\n", 1, nil, plain("GET"), "GET ", 503, 0},
		"two values":       {unavailable, asks + "Retry-After: 1\r\n", 1, nil, plain("GET"), "GET ", 503, 0},
		"too long":         {unavailable, "Retry-After: 61\r\n", 1, nil, plain("GET"), "GET ", 503, 0},
		"a past date":      {unavailable, "Retry-After: Fri, 31 Dec 1999 23:59:59 GMT\r\n", 1, nil, plain("GET"), "GET ,GET ", 200, 0},
		"off":              {unavailable, asks, 1, func(hc *HostClient) { hc.MaxRetryAfter = 0 }, plain("GET"), "GET ", 503, 0},
		"PUT":              {unavailable, asks, 1, nil, func(_ *testing.T, req *Request) { req.Header.SetMethod("PUT"); req.SetBodyString("x") }, "PUT x,PUT x", 200, 30 * time.Second},
		"POST":             {unavailable, asks, 1, nil, plain("POST"), "POST ", 503, 0},
		"attempts":         {unavailable, asks, 9, func(hc *HostClient) { hc.MaxIdemponentCallAttempts = 3 }, plain("GET"), "GET ,GET ,GET ", 503, time.Minute},
		"not enough time":  {unavailable, asks, 9, func(hc *HostClient) { hc.Timeout = 59 * time.Second }, plain("GET"), "GET ,GET ", 503, 30 * time.Second},
		"streamed":         {unavailable, asks, 1, func(hc *HostClient) { hc.StreamResponseBody, hc.MaxConns = true, 1 }, plain("GET"), "GET ,GET ", 200, 30 * time.Second},
		"a stream":         {unavailable, asks, 1, nil, streamed(false), "PUT stream", 503, 0},
		"a stream to read": {unavailable, asks, 1, nil, streamed(true), "PUT stream,PUT stream", 200, 30 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			var requests []string
			callInBubble(t, busyPeer(tc.times, tc.status, tc.field, &requests), func(t *testing.T, hc *HostClient) {
				hc.MaxRetryAfter = time.Minute
				if tc.set != nil {
					tc.set(hc)
				}
				req, resp := requestTo(t, MethodGet, "http://peer.test/"), responseFor(t)
				tc.request(t, req)
				takesTime(t, "the call", tc.took, func() { servertest.Must(t, hc.Do(req, resp)) })
				body := "busy"
				if tc.code == 200 {
					body = "ok"
				}
				if got := string(resp.Body()); resp.StatusCode() != tc.code || got != body {
					t.Errorf("got %d %q, want %d %q", resp.StatusCode(), got, tc.code, body)
				}
				_ = resp.CloseBodyStream()
			})
			if got := strings.Join(requests, ","); got != tc.want {
				t.Errorf("the requests are %q, want %q", got, tc.want)
			}
		})
	}
}

// streamed returns a function that gives a request a body stream, with GetBody or without.
func streamed(again bool) func(t *testing.T, req *Request) {
	return func(_ *testing.T, req *Request) {
		req.Header.SetMethod(MethodPut)
		req.SetBodyStream(strings.NewReader("stream"), -1)
		if again {
			req.GetBody = func() (io.Reader, error) { return strings.NewReader("stream"), nil }
		}
	}
}

// The response may be of no interest, and a redirect may lead to a busy server.
func TestRetryAfterWithoutResponseAndAfterRedirects(t *testing.T) {
	var requests []string
	callInBubble(t, busyPeer(1, "503 Service Unavailable", "Retry-After: 1\r\n", &requests), func(t *testing.T, hc *HostClient) {
		hc.MaxRetryAfter = time.Minute
		takesTime(t, "the call", time.Second, func() { servertest.Must(t, hc.Do(requestTo(t, MethodGet, "http://peer.test/"), nil)) })
		if len(requests) != 2 {
			t.Errorf("the requests are %q", requests)
		}
		requests = nil
		client := &Client{MaxRetryAfter: time.Minute, DialContext: hc.DialContext}
		defer client.CloseIdleConnections()
		takesTime(t, "the call", time.Second, func() {
			status, body, err := client.Get(nil, "http://peer.test/")
			if status != 200 || string(body) != "ok" || err != nil {
				t.Errorf("got %d %q, %v", status, body, err)
			}
		})
	})
}

func TestContextEndsTheWaitForRetryAfter(t *testing.T) {
	var requests []string
	callInBubble(t, busyPeer(9, "429 Too Many Requests", "Retry-After: 60\r\n", &requests), func(t *testing.T, hc *HostClient) {
		hc.MaxRetryAfter = time.Minute
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		takesTime(t, "the call", time.Second, func() {
			err := hc.DoContext(ctx, requestTo(t, MethodGet, "http://peer.test/"), responseFor(t))
			if !errors.Is(err, context.Canceled) {
				t.Errorf("got %v, want context.Canceled", err)
			}
		})
		if len(requests) != 1 {
			t.Errorf("the requests are %q", requests)
		}
	})
}

func FuzzRetryAfter(f *testing.F) {
	for _, seed := range []string{"", "0", "120", "999999999", "1000000000", "-1", "+1", " 1", "1s", "Fri, 31 Dec 1999 23:59:59 GMT", "Sun, 06 Nov 2094 08:49:37 GMT"} {
		f.Add(seed)
	}
	now := time.Unix(1_000_000_000, 0)
	f.Fuzz(func(t *testing.T, value string) {
		wait, ok := retryAfter([]byte(value), now)
		if wait < 0 || !ok && wait != 0 {
			t.Errorf("%q: %v, %v", value, wait, ok)
		}
		if !ok {
			return
		}
		if strings.Trim(value, "0123456789") == "" {
			if got := fmt.Sprintf("%0*d", len(value), wait/time.Second); got != value {
				t.Errorf("%q is read as %s", value, got)
			}
		} else if date, err := ParseHTTPDate([]byte(value)); err != nil || wait != max(date.Sub(now), 0) {
			t.Errorf("%q: %v, and the date is %v, %v", value, wait, date, err)
		}
	})
}

// spanTripper is a RoundTripper that gives each attempt a context of its own.
type spanTripper struct {
	next   RoundTripper
	seen   []any
	derive func(ctx context.Context) (context.Context, context.CancelFunc)
}

type spanKey struct{}

func (s *spanTripper) RoundTrip(*HostClient, *Request, *Response) (bool, error) {
	return false, errors.New("RoundTrip was called, and not RoundTripContext")
}

func (s *spanTripper) RoundTripContext(ctx context.Context, hc *HostClient, req *Request, resp *Response) (bool, error) {
	s.seen = append(s.seen, ctx.Value(spanKey{}))
	if s.derive != nil {
		var cancel context.CancelFunc
		ctx, cancel = s.derive(ctx)
		defer cancel()
	}
	return s.next.(RoundTripperContext).RoundTripContext(ctx, hc, req, resp)
}

func TestRoundTripperGetsTheContextOfTheCall(t *testing.T) {
	p := servertest.Answering(t, servertest.OK)
	var dialed []any
	tripper := &spanTripper{next: &spanTripper{next: DefaultTransport}}
	hc := hostFor(p)
	hc.Transport = tripper
	hc.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		dialed = append(dialed, ctx.Value(spanKey{}))
		return new(net.Dialer).DialContext(ctx, network, addr)
	}
	tripper.derive = func(ctx context.Context) (context.Context, context.CancelFunc) {
		return context.WithCancel(context.WithValue(ctx, spanKey{}, fmt.Sprint("child of ", ctx.Value(spanKey{}))))
	}
	var reused []bool
	trace := &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) { reused = append(reused, info.Reused) }}
	ctx := httptrace.WithClientTrace(context.WithValue(t.Context(), spanKey{}, "span"), trace)
	resp := responseFor(t)
	servertest.Must(t, hc.DoContext(ctx, requestTo(t, MethodGet, p.URL("/")), resp))
	servertest.Must(t, hc.Do(requestTo(t, MethodGet, p.URL("/")), resp))
	inner := tripper.next.(*spanTripper).seen
	if got := fmt.Sprint(tripper.seen, inner, dialed, reused); got != "[span <nil>] [child of span child of <nil>] [child of span] [false]" {
		t.Errorf("the contexts are %s", got)
	}
}

// An attempt may have less time than the call, and more than one attempt.
func TestRoundTripperLimitsAttempts(t *testing.T) {
	callInBubble(t, func(c *servertest.PeerConn) {
		if c.Request() != nil && c.Number == 3 {
			c.Send(servertest.OK)
		}
		c.UntilClosed()
	}, func(t *testing.T, hc *HostClient) {
		tripper := &spanTripper{next: DefaultTransport, derive: func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, time.Second)
		}}
		hc.Transport = retryingTripper{tripper}
		hc.RetryIfErr = func(_ *Request, _ int, err error) (reset, retry bool) {
			return false, errors.Is(err, context.DeadlineExceeded)
		}
		resp := responseFor(t)
		takesTime(t, "the call", 2*time.Second, func() {
			servertest.Must(t, hc.DoTimeout(requestTo(t, MethodGet, "http://peer.test/"), resp, time.Minute))
		})
		if string(resp.Body()) != "ok" || len(tripper.seen) != 3 {
			t.Errorf("got %q after %d attempts", resp.Body(), len(tripper.seen))
		}
	})
}

// retryingTripper allows another attempt after each error.
type retryingTripper struct{ *spanTripper }

func (r retryingTripper) RoundTripContext(ctx context.Context, hc *HostClient, req *Request, resp *Response) (bool, error) {
	_, err := r.spanTripper.RoundTripContext(ctx, hc, req, resp)
	return true, err
}
