package integrationtests

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// h2Limit is the timeout of calls that must reach a stage before it is over.
const h2Limit = reach

// h2Stage is the stage at which a call ends early.
type h2Stage struct {
	settings []uint32
	post     bool // the request has content
	set      func(req *fasthttp.Request, resp *fasthttp.Response)
	// reach makes the server bring the call to the stage. It returns nil if the request does
	// not arrive.
	reach func(c *h2Side) *h2Request
}

var h2Stages = map[string]h2Stage{
	"before a stream is free": {
		settings: []uint32{maxStreams, 0},
		reach:    func(c *h2Side) *h2Request { return nil },
	},
	"in the content of the request": {
		settings: []uint32{initialWindow, 10}, post: true,
		set: func(req *fasthttp.Request, _ *fasthttp.Response) { req.SetBodyString(numbered(1000)) },
		reach: func(c *h2Side) *h2Request {
			r := c.Request()
			c.Until("a part of it", func() bool { return len(r.Content) == 10 })
			return r
		},
	},
	"in the stream of the request": {
		settings: []uint32{initialWindow, 10}, post: true,
		set: func(req *fasthttp.Request, _ *fasthttp.Response) {
			req.SetBodyStream(io.MultiReader(strings.NewReader(numbered(100_000)), never{}), -1)
		},
		reach: func(c *h2Side) *h2Request {
			r := c.Request()
			c.Until("a part of it", func() bool { return len(r.Content) == 10 })
			return r
		},
	},
	"in a closed window of the connection": {
		post: true,
		set:  func(req *fasthttp.Request, _ *fasthttp.Response) { req.SetBodyString(numbered(100_000)) },
		reach: func(c *h2Side) *h2Request {
			r := c.Request()
			c.Until("a window of it", func() bool { return len(r.Content) == 65535 })
			return r
		},
	},
	"before 100 Continue": {
		post: true,
		set: func(req *fasthttp.Request, _ *fasthttp.Response) {
			req.Header.Set(fasthttp.HeaderExpect, "100-continue")
			req.SetBodyString("pay")
		},
		reach: func(c *h2Side) *h2Request { return c.Request() },
	},
	"before the head": {reach: func(c *h2Side) *h2Request { return c.Request() }},
	"after an informational response": {reach: func(c *h2Side) *h2Request {
		r := c.Request()
		c.Head(r, endHeaders, "103", "link: </a>").Flush()
		return r
	}},
	"in the content": {reach: func(c *h2Side) *h2Request {
		r := c.Request()
		c.Head(r, endHeaders, "200").Data(r.ID, 0, "some").Flush()
		return r
	}},
	"before the trailers": {reach: func(c *h2Side) *h2Request {
		r := c.Request()
		c.Head(r, endHeaders, "200", "trailer: x-end", "content-length: 4").Data(r.ID, 0, "some").Flush()
		return r
	}},
}

// never is an unread stream: the windows do not permit it.
type never struct{}

func (never) Read([]byte) (int, error) { return 0, errors.New("the stream is read too far") }

// TestHTTP2ClientCallsEndAtEveryStage ends calls by timeouts and by contexts. The server
// sees that its stream is canceled, and the connection serves the next call.
func TestHTTP2ClientCallsEndAtEveryStage(t *testing.T) {
	t.Parallel()
	cause := errors.New("changed my mind")
	for name, stage := range h2Stages {
		for _, how := range []string{"timeout", "deadline of a context", "context"} {
			with := withH2Peer
			if how == "context" {
				with = withH2PeerInTime
			}
			with(t, name+"/"+how, func(t testing.TB, p *h2Peer) {
				hc := p.client()
				hc.MaxConns, hc.ExpectContinueTimeout = 1, servertest.Never
				c := p.greeted(hc)
				changeSettings(c, append(stage.settings, tableSize, 0)...)
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				method := "GET"
				if stage.post {
					method = "POST"
				}
				call := startCall(t, func(req *fasthttp.Request, resp *fasthttp.Response) error {
					if stage.set != nil {
						stage.set(req, resp)
					}
					switch how {
					case "timeout":
						return hc.DoTimeout(req, resp, h2Limit)
					case "context":
						return hc.DoContext(ctx, req, resp)
					}
					limited, stop := context.WithTimeout(t.Context(), h2Limit)
					defer stop()
					return hc.DoContext(limited, req, resp)
				}, method, p.URL("/"))
				r := stage.reach(c)
				if how == "context" {
					if r == nil {
						servertest.Eventually(t, "the call", func() bool { return hc.PendingRequests() == 1 })
						c.Sync()
					}
					cancel(cause)
					call.fails(cause)
				} else if err := call.wait(); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("got %v, want a timeout", err)
				}
				if r != nil {
					c.ExpectReset(r, http2.ErrCodeCancel)
				} else {
					expectNoRequest(c)
				}
				// restores the window of the connection, and other changes
				c.Window(0, 65535)
				changeSettings(c, maxStreams, 100, initialWindow, 65535)
				next := p.post(hc, "/next", numbered(60_000))
				if r := c.Serve(); string(r.Content) != numbered(60_000) {
					t.Errorf("the next request has %d bytes", len(r.Content))
				}
				next.is(200, "/next")
				p.HasAccepted(1)
			})
		}
	}
}

// TestHTTP2ClientStreamsEndInTime ends calls whose responses are read as streams.
func TestHTTP2ClientStreamsEndInTime(t *testing.T) {
	t.Parallel()
	cause := errors.New("changed my mind")
	for _, how := range []string{"timeout", "context"} {
		for _, some := range []bool{false, true} {
			withH2Peer(t, fmt.Sprint(how, " after content ", some), func(t testing.TB, p *h2Peer) {
				hc := p.client()
				c := p.greeted(hc)
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				call := startCall(t, func(req *fasthttp.Request, resp *fasthttp.Response) error {
					if how == "timeout" {
						return hc.DoTimeout(req, resp, h2Limit)
					}
					return hc.DoContext(ctx, req, resp)
				}, "GET", p.URL("/"), asStream)
				r := c.Request()
				c.Head(r, endHeaders, "200").Flush()
				resp := call.is(200, "")
				got := make(chan error, 1)
				body := resp.BodyStream()
				go func() {
					b, err := io.ReadAll(body)
					if some && string(b) != "some" || !some && len(b) > 0 {
						err = fmt.Errorf("read %q, %w", b, err)
					}
					got <- err
				}()
				if some {
					c.Data(r.ID, 0, "some").Flush()
					c.Sync()
				}
				if how == "context" {
					cancel(cause)
				}
				err := servertest.Receive(t, "the end of the stream", got)
				if how == "context" && !errors.Is(err, cause) || how == "timeout" && !errors.Is(err, fasthttp.ErrTimeout) {
					t.Errorf("got %v", err)
				}
				c.ExpectReset(r, http2.ErrCodeCancel)
				_ = resp.CloseBodyStream()
				next := p.get(hc, "/next")
				c.Serve()
				next.is(200, "/next")
				p.HasAccepted(1)
			})
		}
	}
}

// TestHTTP2ClientTimeouts has the timeouts that a client sets for all calls.
func TestHTTP2ClientTimeouts(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		set  func(hc *fasthttp.HostClient)
		body string
		act  func(c *h2Side, r *h2Request)
	}{
		"ReadTimeout":            {func(hc *fasthttp.HostClient) { hc.ReadTimeout = h2Limit }, "pay", func(*h2Side, *h2Request) {}},
		"ReadTimeout in content": {func(hc *fasthttp.HostClient) { hc.ReadTimeout = h2Limit }, "pay", func(c *h2Side, r *h2Request) { c.Head(r, endHeaders, "200").Flush() }},
		"ResponseHeaderTimeout":  {func(hc *fasthttp.HostClient) { hc.ResponseHeaderTimeout = h2Limit }, "pay", func(*h2Side, *h2Request) {}},
		"WriteTimeout":           {func(hc *fasthttp.HostClient) { hc.WriteTimeout = h2Limit }, numbered(100_000), func(*h2Side, *h2Request) {}},
	} {
		with := withH2Peer
		if name == "ReadTimeout" {
			// is there over sockets, too
			with = withH2PeerInTime
		}
		with(t, name, func(t testing.TB, p *h2Peer) {
			hc := p.client()
			tt.set(hc)
			c := p.greeted(hc)
			call := p.post(hc, "/", tt.body)
			r := c.Request()
			tt.act(c, r)
			call.fails(fasthttp.ErrTimeout)
			c.ExpectReset(r, http2.ErrCodeCancel)
			c.Window(0, 65535).Flush()
			next := p.post(hc, "/next", "pay")
			c.Serve()
			next.is(200, "/next")
			p.HasAccepted(1)
		})
	}
	withH2Peer(t, "ResponseHeaderTimeout leaves the content its time", func(t testing.TB, p *h2Peer) {
		hc := p.client()
		hc.ResponseHeaderTimeout = h2Limit
		c := p.greeted(hc)
		call := p.get(hc, "/")
		r := c.Request()
		c.Head(r, endHeaders, "200").Flush()
		p.get(hc, "/later").fails(fasthttp.ErrTimeout) // its timeout ends after the first one's
		c.Data(r.ID, endStream, "late").Flush()
		call.is(200, "late")
	})
	withH2Peer(t, "MaxConnWaitTimeout", func(t testing.TB, p *h2Peer) {
		hc := p.client()
		hc.MaxConns, hc.MaxConnWaitTimeout = 1, servertest.Short
		c := p.greeted(hc, maxStreams, 1)
		call := p.get(hc, "/")
		r := c.Request()
		p.get(hc, "/").fails(fasthttp.ErrNoFreeConns)
		c.Respond(r, "200", "well")
		call.is(200, "well")
		expectNoRequest(c)
	})
}

// TestHTTP2ClientGivesUpBeforeTheGreeting ends calls while their connection is dialed, or
// before the server has sent anything.
func TestHTTP2ClientGivesUpBeforeTheGreeting(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]*h2Peer{"plain": newH2Peer(t), "TLS": newH2TLSPeer(t, "h2")} {
		hc := p.client()
		err := hc.DoTimeout(requestTo(t, "GET", p.URL("/")), responseFor(t), servertest.Short)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: got %v", name, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(servertest.Short, cancel)
		if err := hc.DoContext(ctx, requestTo(t, "GET", p.URL("/")), responseFor(t)); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// TestHTTP2ClientLeavesMessagesAloneAfterTimeout writes to the messages of calls that have
// timed out, while the server answers. The race detector reports a violation.
func TestHTTP2ClientLeavesMessagesAloneAfterTimeout(t *testing.T) {
	t.Parallel()
	late := newLateCalls()
	ts := serveHTTP2(t, servertest.Engines[0], &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
		late.await(string(ctx.Path()))
		ctx.Response.Header.Set("X-Late", "yes")
		ctx.SetBody(ctx.PostBody())
	}})
	hc := &fasthttp.HostClient{Addr: ts.Listener.Addr().String()}
	hc.Protocols.SetUnencryptedHTTP2(true)
	defer hc.CloseIdleConnections()
	req, resp := requestTo(t, fasthttp.MethodPost, "http://a/"), responseFor(t)
	body := []byte(numbered(100_000))
	for i := range late {
		req.SetRequestURI("http://a/" + strconv.Itoa(i))
		req.SetBodyRaw(body)
		err := hc.DoTimeout(req, resp, late.limit(i))
		close(late[i])
		for i := range body {
			body[i] = 'x'
		}
		req.Header.Set("X-Mine", "yes")
		resp.Reset()
		resp.SetBodyString("mine")
		if !errors.Is(err, fasthttp.ErrTimeout) && (err != nil || late.isLate(i)) {
			t.Fatalf("got %v, want ErrTimeout", err)
		}
		if string(resp.Body()) != "mine" {
			t.Fatalf("the response became %.100q", resp.Body())
		}
	}
	resp.Reset()
	servertest.Must(t, hc.DoTimeout(req, resp, servertest.Patience))
	if string(resp.Body()) != string(body) {
		t.Errorf("got %d bytes", len(resp.Body()))
	}
}
