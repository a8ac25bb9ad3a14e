package fasthttp

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http/httptrace"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp/internal/servertest"
)

// If a context ends between two stages of a call, the call ends.
func TestClientCancelBetweenStages(t *testing.T) {
	for name, tt := range map[string]struct {
		answer string
		expect bool
		hook   func(trace *httptrace.ClientTrace, cancel func())
	}{
		"between write and read": {"", false, func(trace *httptrace.ClientTrace, cancel func()) {
			trace.WroteRequest = func(httptrace.WroteRequestInfo) { cancel() }
		}},
		"as a 100 arrives": {"HTTP/1.1 100 Continue\r\n\r\n", true, func(trace *httptrace.ClientTrace, cancel func()) {
			trace.Got100Continue = cancel
		}},
		"after half of a 100": {"HTTP/1.1 100 Con", true, func(trace *httptrace.ClientTrace, cancel func()) {
			trace.GotFirstResponseByte = cancel
		}},
		"before the content": {"", true, func(trace *httptrace.ClientTrace, cancel func()) {
			trace.Wait100Continue = cancel
		}},
	} {
		t.Run(name, func(t *testing.T) {
			p := servertest.NewPeer(t, func(c *servertest.PeerConn) {
				c.Head()
				c.Send(tt.answer)
				c.UntilClosed()
			})
			hc := hostFor(p)
			hc.MaxConns = 1
			hc.ReadTimeout, hc.WriteTimeout = time.Hour, time.Hour
			hc.ExpectContinueTimeout = time.Hour
			for range 20 {
				ctx, cancel := context.WithCancel(context.Background())
				hc.Trace = &httptrace.ClientTrace{}
				tt.hook(hc.Trace, cancel)
				req := requestTo(t, MethodPost, p.URL("/"))
				req.SetBodyString("body")
				if tt.expect {
					req.Header.Set(HeaderExpect, "100-continue")
				}
				var err error
				servertest.Soon(t, "the call", func() { err = hc.DoContext(ctx, req, responseFor(t)) })
				if !errors.Is(err, context.Canceled) {
					t.Errorf("got %v, want context.Canceled", err)
				}
			}
		})
	}
}

// If contexts end at random moments, no call continues and no connection stays counted.
func TestClientCancelAtRandomMoments(t *testing.T) {
	t.Parallel()
	p := servertest.NewPeer(t, func(c *servertest.PeerConn) {
		for n := 0; c.Head(); n++ {
			if n%3 == 0 {
				c.Send("HTTP/1.1 100 Con")
				c.Send("tinue\r\n\r\n")
			}
			c.Content("body")
			c.Send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n")
			c.Send("\r\nok")
		}
	})
	p.T = quietly{t}
	hc := hostFor(p)
	hc.ReadTimeout, hc.WriteTimeout = time.Hour, time.Hour
	hc.ExpectContinueTimeout = time.Millisecond
	hc.MaxConns = 4
	var calls servertest.Crowd
	var canceled atomic.Int32
	const callers = 8
	for range callers {
		calls.Go(func() {
			req, resp := AcquireRequest(), AcquireResponse()
			defer ReleaseRequest(req)
			defer ReleaseResponse(resp)
			for i := range servertest.Times(16_000) / callers {
				req.Header.SetMethod(MethodPost)
				req.SetRequestURI(p.URL("/"))
				req.SetBodyString("body")
				req.Header.Del(HeaderExpect)
				if i%2 == 0 {
					req.Header.Set(HeaderExpect, "100-continue")
				}
				ctx, cancel := context.WithCancel(context.Background())
				timer := time.AfterFunc(rand.N(300*time.Microsecond), cancel)
				if err := hc.DoContext(ctx, req, resp); errors.Is(err, context.Canceled) {
					canceled.Add(1)
				} else if err == nil && string(resp.Body()) != "ok" {
					t.Errorf("got %q", resp.Body())
				}
				timer.Stop()
				cancel()
				calls.Step()
			}
		})
	}
	calls.Wait(t, "the calls")
	if canceled.Load() == 0 {
		t.Error("no call was canceled")
	}
	if n := hc.ConnsCount() - hc.IdleConnsCount(); n != 0 {
		t.Errorf("%d places are taken", n)
	}
}

// quietly ignores the failures that a peer reports if its connections end early.
type quietly struct{ testing.TB }

func (quietly) Errorf(string, ...any) {}

// Every client takes a nil context for no context, and a zero deadline for no
// deadline.
func TestClientsTakeNoContextAndNoDeadline(t *testing.T) {
	p := servertest.Answering(t, servertest.OK)
	pc := &PipelineClient{Addr: p.Addr(), MaxIdleConnDuration: 10 * time.Millisecond}
	lb := &LBClient{Clients: []BalancingClient{hostFor(p)}}
	c := &Client{}
	defer c.CloseIdleConnections()
	req := requestTo(t, MethodGet, p.URL("/"))
	var none context.Context
	for name, client := range map[string]interface {
		DoContext(ctx context.Context, req *Request, resp *Response) error
		DoDeadline(req *Request, resp *Response, deadline time.Time) error
	}{"Client": c, "HostClient": hostFor(p), "PipelineClient": pc, "LBClient": lb} {
		if err := client.DoContext(none, req, nil); err != nil {
			t.Errorf("%s, no context: %v", name, err)
		}
		if err := client.DoDeadline(req, nil, time.Time{}); err != nil {
			t.Errorf("%s, no deadline: %v", name, err)
		}
		if err := client.DoDeadline(req, nil, time.Now().Add(-time.Second)); err != error(ErrTimeout) {
			t.Errorf("%s, a deadline that is over: %v", name, err)
		}
	}
}

// If the application panics during a call, the panic reaches the caller, and the
// connection no longer counts against MaxConns.
func TestClientGivesPlaceBackAfterPanic(t *testing.T) {
	cert, _ := servertest.CertificateFor(t, nil, net.IPv4(127, 0, 0, 1))
	secure, _ := servertest.SecureServer(t, cert)
	p := servertest.Answering(t, "HTTP/1.1 103 Early Hints\r\n\r\n"+servertest.OK)
	boom := func() { panic("boom") }
	for name, prepare := range map[string]func(hc *HostClient){
		"Dial": func(hc *HostClient) { hc.Dial = func(string) (net.Conn, error) { boom(); return nil, nil } },
		"DialTimeout": func(hc *HostClient) {
			hc.DialTimeout = func(string, time.Duration) (net.Conn, error) { boom(); return nil, nil }
		},
		"TLS": func(hc *HostClient) {
			hc.Addr, hc.IsTLS, hc.TLSConfig = secure, true, &tls.Config{InsecureSkipVerify: true}
			hc.TLSConfig.VerifyConnection = func(tls.ConnectionState) error { boom(); return nil }
		},
		"GetConn": func(hc *HostClient) { hc.Trace = &httptrace.ClientTrace{GetConn: func(string) { boom() }} },
		"GotConn": func(hc *HostClient) {
			hc.Trace = &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { boom() }}
		},
		"WroteHeaders":         func(hc *HostClient) { hc.Trace = &httptrace.ClientTrace{WroteHeaders: boom} },
		"GotFirstResponseByte": func(hc *HostClient) { hc.Trace = &httptrace.ClientTrace{GotFirstResponseByte: boom} },
		"PutIdleConn":          func(hc *HostClient) { hc.Trace = &httptrace.ClientTrace{PutIdleConn: func(error) { boom() }} },
	} {
		for _, within := range []time.Duration{0, time.Minute} {
			t.Run(name+"/"+within.String(), func(t *testing.T) {
				hc := hostFor(p)
				prepare(hc)
				uri := p.URL("/")
				if hc.IsTLS {
					uri = "https://" + secure + "/"
				}
				req := requestTo(t, MethodGet, uri)
				if within > 0 {
					req.SetTimeout(within)
				}
				func() {
					defer func() {
						if recover() == nil {
							t.Error("the panic did not reach the caller")
						}
					}()
					_ = hc.Do(req, responseFor(t))
				}()
				if n := hc.ConnsCount(); n != 0 {
					t.Errorf("%d places are taken", n)
				}
			})
		}
	}
}

// After Close has returned, a stream does not touch the response, even if another
// goroutine was reading the stream.
func TestClientStreamClosedWhileReadLeavesTheResponse(t *testing.T) {
	p := servertest.NewPeer(t, func(c *servertest.PeerConn) {
		for req := c.Request(); req != nil; req = c.Request() {
			if req.URL.Path == "/slow" {
				c.Send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-End\r\n\r\n2\r\nab\r\n")
				if c.Number%2 == 0 {
					c.Send("0\r\nX-End: yes\r\n\r\n")
				}
				continue
			}
			c.Send(servertest.OK)
		}
	})
	hc := hostFor(p)
	resp := responseFor(t)
	slow, fast := requestTo(t, MethodGet, p.URL("/slow")), requestTo(t, MethodGet, p.URL("/fast"))
	for range 200 {
		resp.StreamBody = true
		servertest.Must(t, hc.Do(slow, resp))
		body := resp.BodyStream()
		var reading sync.WaitGroup
		reading.Go(func() { _, _ = io.Copy(io.Discard, body) })
		runtime.Gosched()
		_ = resp.CloseBodyStream()
		servertest.Must(t, hc.Do(fast, resp))
		if got, err := io.ReadAll(resp.BodyStream()); err != nil || string(got) != "ok" {
			t.Fatalf("got %q, %v", got, err)
		}
		resp.Reset()
		servertest.Soon(t, "the read", reading.Wait)
	}
}

// closer is a body stream that counts its calls of Close.
type closer struct {
	io.Reader
	closed atomic.Int32
}

func (c *closer) Close() error {
	c.closed.Add(1)
	return nil
}

// The client closes a body stream once, however the call ends.
func TestClientClosesBodyStreamsOnEveryWay(t *testing.T) {
	refuse := func(string) (net.Conn, error) { return nil, errors.New("refused") }
	p := servertest.NewPeer(t, func(c *servertest.PeerConn) {
		c.Head()
		c.Send("HTTP/1.1 417 Expectation Failed\r\nContent-Length: 0\r\n\r\n")
		c.UntilClosed()
	})
	good := servertest.Answering(t, servertest.OK)
	pipelined := func(c *PipelineClient) *PipelineClient {
		c.MaxIdleConnDuration = 10 * time.Millisecond
		return c
	}
	for name, do := range map[string]func(req *Request) error{
		"sent": func(req *Request) error { req.SetRequestURI(good.URL("/")); return hostFor(good).Do(req, nil) },
		"refused dial": func(req *Request) error {
			return (&HostClient{Addr: p.Addr(), Dial: refuse}).Do(req, nil)
		},
		"417": func(req *Request) error {
			req.Header.Set(HeaderExpect, "100-continue")
			return hostFor(p).Do(req, nil)
		},
		"deadline over":     func(req *Request) error { return hostFor(p).DoDeadline(req, nil, time.Now().Add(-time.Hour)) },
		"no time":           func(req *Request) error { return hostFor(p).DoTimeout(req, nil, 0) },
		"no host":           func(req *Request) error { req.SetRequestURI("/"); return (&Client{}).Do(req, nil) },
		"wrong scheme":      func(req *Request) error { req.SetRequestURI("https://x.test/"); return hostFor(p).Do(req, nil) },
		"no client":         func(req *Request) error { return (&LBClient{}).Do(req, nil) },
		"pipeline":          func(req *Request) error { return pipelined(&PipelineClient{Addr: good.Addr()}).Do(req, nil) },
		"pipeline, refused": func(req *Request) error { return pipelined(&PipelineClient{Addr: "x.test", Dial: refuse}).Do(req, nil) },
		"pipeline, no time": func(req *Request) error { return (&PipelineClient{}).DoTimeout(req, nil, 0) },
		"pipeline, TLS": func(req *Request) error {
			req.SetRequestURI("https://x.test/")
			return (&PipelineClient{}).Do(req, nil)
		},
		"pipeline, deadline": func(req *Request) error { return (&PipelineClient{}).DoDeadline(req, nil, time.Unix(1, 0)) },
	} {
		for _, size := range []int{4, -1} {
			req := requestTo(t, MethodPost, p.URL("/"))
			body := &closer{Reader: strings.NewReader("body")}
			req.SetBodyStream(body, size)
			_ = do(req)
			if n := body.closed.Load(); n != 1 {
				t.Errorf("%s: the stream was closed %d times", name, n)
			}
		}
	}
}

// A PipelineClient without TLS refuses a request for https.
func TestPipelineRefusesTLSWithoutTLS(t *testing.T) {
	p := servertest.Answering(t, servertest.OK)
	c := &PipelineClient{Addr: p.Addr()}
	for _, prepare := range []func(req *Request){
		func(*Request) {},
		func(req *Request) { req.URI() },
		func(req *Request) { req.Header.SetHost("x.test") },
	} {
		req := requestTo(t, MethodGet, "HTTPS://x.test/")
		prepare(req)
		if err := c.Do(req, nil); err != ErrHostClientRedirectToDifferentScheme {
			t.Errorf("got %v", err)
		}
	}
	p.Counts(0, 0)
}
