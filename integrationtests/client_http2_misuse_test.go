package integrationtests

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// TestHTTP2ClientAnsweredForms has a server answer a form before it has received all of it.
// The form is read from memory of the request, so the call cannot return before the sending
// has ended; it must not wait for a window that never opens.
func TestHTTP2ClientAnsweredForms(t *testing.T) {
	t.Parallel()
	p := newH2Peer(t)
	hc := p.client()
	c := p.greeted(hc)
	call := startCall(t, hc.Do, "POST", p.URL("/"), asStream, func(req *fasthttp.Request, _ *fasthttp.Response) {
		text := "--b\r\nContent-Disposition: form-data; name=\"n\"\r\n\r\n" + numbered(200_000) + "\r\n--b--\r\n"
		req.Header.SetContentType("multipart/form-data; boundary=b")
		req.SetBodyStream(strings.NewReader(text), -1)
		if _, err := req.MultipartForm(); err != nil {
			t.Error(err)
		}
	})
	r := c.Request()
	c.Head(r, endHeaders, "200").Flush()
	resp := call.is(200, "")
	c.Data(r.ID, endStream, "well").Flush()
	if b, err := io.ReadAll(resp.BodyStream()); string(b) != "well" || err != nil {
		t.Errorf("read %q, %v", b, err)
	}
	c.ExpectReset(r, http2.ErrCodeCancel)
	if text := string(r.Content); strings.Trim(text, "\x00") != text || strings.Contains(text, "\xdb") {
		t.Error("the server got other bytes than those of the form")
	}
}

// TestHTTP2ClientContentIsItsCallersAfterTheCall has a server answer a request with content and
// trailers early. Once the call has returned, the caller uses the memory for something else.
func TestHTTP2ClientContentIsItsCallersAfterTheCall(t *testing.T) {
	t.Parallel()
	p := newH2Peer(t)
	hc := p.client()
	c := p.greeted(hc)
	content := strings.Repeat("a", 200_000)
	var request *fasthttp.Request
	call := startCall(t, hc.Do, "POST", p.URL("/"), asStream, withBody(content), func(req *fasthttp.Request, _ *fasthttp.Response) {
		request = req
		servertest.Must(t, req.Header.SetTrailer("X-Sum"))
		req.Header.Set("X-Sum", "7")
	})
	r := c.Request()
	c.Head(r, endHeaders, "200").Flush()
	resp := call.is(200, "")
	body := request.Body()
	for i := range body {
		body[i] = 'b'
	}
	c.Window(0, 200_000).Window(r.ID, 200_000).Flush()
	c.EndOf(r)
	if string(r.Content) != content {
		t.Errorf("the server got %d bytes, of which %d are others", len(r.Content), strings.Count(string(r.Content), "b"))
	}
	if got := fieldOf(r.Trailers(), "x-sum"); got != "7" {
		t.Errorf("the trailer is %q", got)
	}
	c.Data(r.ID, endStream, "").Flush()
	_, _ = io.ReadAll(resp.BodyStream())
}

// TestHTTP2ClientTakesSmallPieces has a server send each of many events as soon as it happens,
// as servers of event streams do.
func TestHTTP2ClientTakesSmallPieces(t *testing.T) {
	t.Parallel()
	p := newH2Peer(t)
	hc := p.client()
	c := p.greeted(hc)
	call := p.get(hc, "/")
	r := c.Request()
	c.Head(r, endHeaders, "200")
	text := numbered(50_000)
	for i := 0; i < len(text); i += 10 {
		c.Data(r.ID, 0, text[i:i+10])
	}
	c.Data(r.ID, endStream, "").Flush()
	call.is(200, text)
}

// TestHTTP2ClientEndsManyCalls has calls run out of time while their responses are on their
// way. Frames that the server sent before it knew are no error, and other calls continue.
func TestHTTP2ClientEndsManyCalls(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		calls int
		send  func(c *h2Side, r *h2Request)
	}{
		"short responses": {700, func(c *h2Side, r *h2Request) { c.Respond(r, "200", "late") }},
		"large responses": {30, func(c *h2Side, r *h2Request) {
			c.Head(r, endHeaders, "200")
			for range 100 {
				c.Data(r.ID, 0, strings.Repeat("x", 8<<10))
			}
			c.Flush()
		}},
	} {
		withH2Peer(t, name, func(t testing.TB, p *h2Peer) {
			hc := p.client()
			c := p.greeted(hc, maxStreams, 1000)
			stays := p.post(hc, "/stays", "pay")
			first := c.Whole()
			var calls []*h2Call
			for range tt.calls {
				calls = append(calls, startCall(t, func(req *fasthttp.Request, resp *fasthttp.Response) error {
					return hc.DoTimeout(req, resp, h2Limit)
				}, "GET", p.URL("/")))
			}
			var late []*h2Request
			late = append(late, c.Requests(tt.calls)...)
			for _, call := range calls {
				call.fails(fasthttp.ErrTimeout)
			}
			for _, r := range late {
				tt.send(c, r)
			}
			c.Sync()
			c.Respond(first, "200", "well")
			stays.is(200, "well")
			p.HasAccepted(1)
		})
	}
}

// TestHTTP2ClientReadsWhileItsRequestsWait has a server that reads no further requests before its
// responses are read.
func TestHTTP2ClientReadsWhileItsRequestsWait(t *testing.T) {
	t.Parallel()
	p := newH2Peer(t)
	hc := p.client()
	c := p.greeted(hc, maxStreams, 1000)
	head := strings.Repeat("x", 60_000)
	var calls []*h2Call
	first := p.post(hc, "/", "pay")
	r := c.Whole()
	for range 200 { // 12 MB, more than sockets hold
		calls = append(calls, startCall(t, hc.Do, "GET", p.URL("/"), func(req *fasthttp.Request, _ *fasthttp.Response) {
			req.Header.Set("X-Large", head)
		}))
	}
	servertest.Eventually(t, "201 calls", func() bool { return hc.PendingRequests() == 201 })
	c.Respond(r, "200", "well")
	// before any further request is read
	first.done <- servertest.Receive(t, "the response to the first call", first.done)
	for range calls {
		c.Respond(c.Whole(), "200", "well")
	}
	first.is(200, "well")
	for _, call := range calls {
		call.is(200, "well")
	}
}

// TestHTTP2ClientManyMisdirected has a server that answers everything with 421. Each request is
// sent twice at most.
func TestHTTP2ClientManyMisdirected(t *testing.T) {
	t.Parallel()
	var requests atomic.Int32
	s := &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
		requests.Add(1)
		ctx.SetStatusCode(fasthttp.StatusMisdirectedRequest)
	}}
	s.Protocols.SetUnencryptedHTTP2(true)
	ln, _ := servertest.ListenTCP(t)
	addr := ln.Addr().String()
	go func() { _ = s.Serve(ln) }()
	defer servertest.ShutDown(t, s)
	hc := &fasthttp.HostClient{Addr: addr}
	hc.Protocols.SetUnencryptedHTTP2(true)
	defer hc.CloseIdleConnections()
	const calls = 50
	var all []*h2Call
	for range calls {
		all = append(all, startCall(t, hc.Do, "GET", "http://"+addr+"/"))
	}
	for _, call := range all {
		call.is(fasthttp.StatusMisdirectedRequest, "")
	}
	if n := requests.Load(); n > 2*calls {
		t.Errorf("%d calls have made %d requests", calls, n)
	}
}

// TestHTTP2ClientDialsBesideALateOne has a dial function that takes longer than the timeout of
// the call that needs the connection. Other calls do not wait for it.
func TestHTTP2ClientDialsBesideALateOne(t *testing.T) {
	t.Parallel()
	p := newH2Peer(t)
	hc := p.client()
	release := make(chan struct{})
	var dials atomic.Int32
	hc.Dial = func(addr string) (net.Conn, error) {
		if dials.Add(1) == 1 {
			<-release
			return nil, errors.New("late")
		}
		return net.Dial("tcp", addr)
	}
	failWhileDialing(t, hc, func(limit time.Duration) error {
		return hc.DoTimeout(requestTo(t, "GET", p.URL("/")), responseFor(t), limit)
	})
	servertest.Eventually(t, "the dial", func() bool { return dials.Load() == 1 })
	call := startCall(t, func(req *fasthttp.Request, resp *fasthttp.Response) error {
		return hc.DoTimeout(req, resp, servertest.Patience/2)
	}, "GET", p.URL("/"))
	if c := p.acceptUnless(call); c != nil {
		c.Greet().Serve()
	}
	call.is(200, "/")
	close(release)
	servertest.Eventually(t, "one connection", func() bool { return hc.ConnsCount() == 1 })
}

// TestHTTP2ClientTunnelsIgnoreTheLength has a proxy that sends a Content-Length for a tunnel,
// which must be ignored (RFC 9110 section 9.3.6).
func TestHTTP2ClientTunnelsIgnoreTheLength(t *testing.T) {
	t.Parallel()
	p := newH2Peer(t)
	hc := p.client()
	c := p.greeted(hc)
	call := startCall(t, hc.Do, "CONNECT", p.URL("/"), asStream)
	r := c.Request()
	c.Head(r, endHeaders, "200", "content-length: 0")
	c.Data(r.ID, 0, "tunnel").Flush()
	resp := call.is(200, "")
	b := make([]byte, 6)
	if _, err := io.ReadFull(resp.BodyStream(), b); err != nil || string(b) != "tunnel" {
		t.Errorf("read %q, %v", b, err)
	}
	_ = resp.CloseBodyStream()
	c.ExpectReset(r, http2.ErrCodeCancel)
}

// TestHTTP2ClientWithoutRoom has a server that permits no streams, which the client learns before
// or after it has sent its request. The client does not try forever.
func TestHTTP2ClientWithoutRoom(t *testing.T) {
	t.Parallel()
	for _, before := range []bool{true, false} {
		t.Run(fmt.Sprint("known before ", before), func(t *testing.T) {
			t.Parallel()
			p := newH2Peer(t)
			hc := p.client()
			known := make(chan struct{}, 1000)
			if before {
				hc.Trace = &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { <-known }}
			}
			over, done := make(chan struct{}), make(chan struct{})
			go func() {
				defer close(done)
				for {
					select {
					case nc := <-p.Accepted:
						go refuseAll(p.Side(nc), known)
					case <-over:
						return
					}
				}
			}()
			for range 3 {
				call := startCall(t, hc.Do, "GET", p.URL("/"))
				if err := call.wait(); err == nil {
					t.Error("the call succeeds")
				}
			}
			if n := p.Conns.Load(); n > 15 {
				t.Errorf("three calls have opened %d connections", n)
			}
			p.Stop()
			close(over)
			servertest.Receive(t, "the end of accepting", done)
		})
	}
}

// refuseAll permits no streams, and signals when the client knows that.
func refuseAll(c *h2Side, known chan<- struct{}) {
	c.Settings(maxStreams, 0).Frame(http2.FrameSettings, http2.FlagSettingsAck, 0, "")
	_ = c.TryFlush()
	_, _ = io.ReadFull(c.R, make([]byte, len(http2.ClientPreface)))
	for acks := 0; c.Take() == nil; acks = c.Acks {
		if c.Acks > acks {
			known <- struct{}{}
		}
		for _, id := range c.Order[c.Taken:] {
			c.Taken++
			c.Reset(id, http2.ErrCodeRefusedStream)
			_ = c.TryFlush()
		}
	}
}

// TestHTTP2ClientStopsSendingWhenItsStreamEnds has the context of a call end while its response is
// an unread stream, and its request is still being sent.
func TestHTTP2ClientStopsSendingWhenItsStreamEnds(t *testing.T) {
	t.Parallel()
	p := newH2Peer(t)
	hc := p.client()
	c := p.greeted(hc)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	body := &endlessBody{closed: make(chan struct{})}
	call := startCall(t, func(req *fasthttp.Request, resp *fasthttp.Response) error {
		return hc.DoContext(ctx, req, resp)
	}, "POST", p.URL("/"), asStream, func(req *fasthttp.Request, _ *fasthttp.Response) { req.SetBodyStream(body, -1) })
	r := c.Request()
	c.Head(r, endHeaders, "200").Flush()
	resp := call.is(200, "")
	cancel()
	c.ExpectReset(r, http2.ErrCodeCancel)
	servertest.Receive(t, "the end of the request", body.closed)
	_ = resp.CloseBodyStream()
}

// endlessBody is a request body without an end.
type endlessBody struct{ closed chan struct{} }

func (b *endlessBody) Read(p []byte) (int, error) { return len(p), nil }

func (b *endlessBody) Close() error {
	close(b.closed)
	return nil
}
