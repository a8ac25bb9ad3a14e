package integrationtests

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/net/http2"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// TestHTTP2ClientSendsRefusedRequestsAgain has a server that says of a stream that it has not
// worked on it: the request is sent again whatever its method.
func TestHTTP2ClientSendsRefusedRequestsAgain(t *testing.T) {
	t.Parallel()
	for name, refuse := range map[string]func(p *h2Peer, c *h2Side, r *h2Request) *h2Side{
		"REFUSED_STREAM": func(p *h2Peer, c *h2Side, r *h2Request) *h2Side {
			c.reset(r.id, http2.ErrCodeRefusedStream).flush()
			return c
		},
		"GOAWAY": func(p *h2Peer, c *h2Side, r *h2Request) *h2Side {
			c.goAway(r.id-2, http2.ErrCodeNo).flush()
			return p.greet()
		},
		"GOAWAY and the end": func(p *h2Peer, c *h2Side, r *h2Request) *h2Side {
			c.goAway(r.id-2, http2.ErrCodeNo).flush()
			_ = c.Close()
			return p.greet()
		},
		"GOAWAY with an error": func(p *h2Peer, c *h2Side, r *h2Request) *h2Side {
			c.goAway(r.id-2, http2.ErrCodeInternal).flush()
			return p.greet()
		},
		"GOAWAY in two steps": func(p *h2Peer, c *h2Side, r *h2Request) *h2Side {
			c.goAway(1<<31-1, http2.ErrCodeNo).goAway(r.id-2, http2.ErrCodeNo).flush()
			return p.greet()
		},
	} {
		for _, method := range []string{"GET", "POST", "DELETE", "PATCH"} {
			t.Run(name+"/"+method, func(t *testing.T) {
				t.Parallel()
				p := newH2Peer(t)
				hc := p.client()
				c := p.greeted(hc)
				body := ""
				if method != "GET" {
					body = "pay"
				}
				call := startCall(t, hc.Do, method, p.url("/"), withBody(body))
				c = refuse(p, c, c.whole())
				if r := c.serve(); r.field(":method") != method || string(r.content) != body {
					t.Errorf("what is sent again is %s %q", r.field(":method"), r.content)
				}
				call.is(200, "/")
				c.expectNone()
			})
		}
	}
}

// TestHTTP2ClientDoesNotTryForever has a server that refuses everything.
func TestHTTP2ClientDoesNotTryForever(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"GET", "POST"} {
		p := newH2Peer(t)
		hc := p.client()
		c := p.greeted(hc)
		call := startCall(t, hc.Do, method, p.url("/"))
		refused := 0
		for r := c.requestUnless(call); r != nil; r = c.requestUnless(call) {
			c.reset(r.id, http2.ErrCodeRefusedStream).flush()
			if refused++; refused > 100 {
				t.Fatalf("%s was sent %d times", method, refused)
			}
		}
		call.failsWith("REFUSED_STREAM")
		t.Logf("%s was sent %d times", method, refused)
		next := p.get(hc, "/next")
		c.serve()
		next.is(200, "/next")
	}
}

// TestHTTP2ClientCannotSendStreamsAgain refuses a request whose content was read from a
// stream.
func TestHTTP2ClientCannotSendStreamsAgain(t *testing.T) {
	t.Parallel()
	p := newH2Peer(t)
	hc := p.client()
	c := p.greeted(hc)
	call := startCall(t, hc.Do, "PUT", p.url("/"), func(req *fasthttp.Request, _ *fasthttp.Response) {
		req.SetBodyStream(strings.NewReader(numbered(1000)), -1)
	})
	c.reset(c.whole().id, http2.ErrCodeRefusedStream).flush()
	call.failsWith("REFUSED_STREAM")
	c.expectNone()
}

// h2Loss is a way in which a request may come to nothing, of which the server may have taken
// notice.
type h2Loss struct {
	act   func(c *h2Side, r *h2Request)
	cut   bool // the connection ends
	begun bool // a response has begun
	// reason says that the error names the code, although the connection ends
	reason bool
}

var h2Losses = map[string]h2Loss{
	"INTERNAL_ERROR": {act: func(c *h2Side, r *h2Request) { c.reset(r.id, http2.ErrCodeInternal).flush() }},
	"CANCEL":         {act: func(c *h2Side, r *h2Request) { c.reset(r.id, http2.ErrCodeCancel).flush() }},
	"NO_ERROR":       {act: func(c *h2Side, r *h2Request) { c.reset(r.id, http2.ErrCodeNo).flush() }},
	// it has worked on the request all the same
	"REFUSED_STREAM": {act: func(c *h2Side, r *h2Request) {
		c.head(r, endHeaders, "200").reset(r.id, http2.ErrCodeRefusedStream).flush()
	}, begun: true},
	"close":             {act: func(c *h2Side, _ *h2Request) { _ = c.Close() }, cut: true},
	"reset":             {act: func(c *h2Side, _ *h2Request) { servertest.Reset(c.Conn.Conn) }, cut: true},
	"GOAWAY and close":  {act: func(c *h2Side, r *h2Request) { c.goAway(r.id, http2.ErrCodeNo).flush(); _ = c.Close() }, cut: true},
	"GOAWAY of unknown": {act: func(c *h2Side, _ *h2Request) { c.goAway(1<<31-1, http2.ErrCodeNo).flush(); _ = c.Close() }, cut: true},
	"ENHANCE_YOUR_CALM": {act: func(c *h2Side, r *h2Request) { c.goAway(r.id, http2.ErrCodeEnhanceYourCalm).flush(); _ = c.Close() }, cut: true, reason: true},
	"PROTOCOL_ERROR": {act: func(c *h2Side, r *h2Request) {
		c.head(r, endHeaders, "200").goAway(r.id, http2.ErrCodeProtocol).flush()
		_ = c.Close()
	}, cut: true, begun: true, reason: true},
	"a half frame":   {act: func(c *h2Side, r *h2Request) { c.raw("\x00\x01").flush(); _ = c.Close() }, cut: true},
	"after a hint":   {act: func(c *h2Side, r *h2Request) { c.head(r, endHeaders, "103").flush(); _ = c.Close() }, cut: true, begun: true},
	"after the head": {act: func(c *h2Side, r *h2Request) { c.head(r, endHeaders, "200").flush(); _ = c.Close() }, cut: true, begun: true},
	"in the content": {act: func(c *h2Side, r *h2Request) {
		c.head(r, endHeaders, "200").data(r.id, 0, "some").flush()
		servertest.Reset(c.Conn.Conn)
	}, cut: true, begun: true},
}

// TestHTTP2ClientSendsPostOnceWhateverHappens loses requests that are not idempotent: each
// fails, and is not sent again.
func TestHTTP2ClientSendsPostOnceWhateverHappens(t *testing.T) {
	t.Parallel()
	for name, loss := range h2Losses {
		for _, size := range []int{0, 10, 100_000} {
			t.Run(fmt.Sprint(name, "/", size), func(t *testing.T) {
				t.Parallel()
				p := newH2Peer(t)
				hc := p.client()
				c := p.greeted(hc)
				call := p.post(hc, "/", numbered(size))
				r := c.request()
				if size < 100_000 {
					c.endOf(r)
				}
				loss.act(c, r)
				err := call.wait()
				if err == nil {
					t.Fatal("the call succeeds")
				}
				if (!loss.cut || loss.reason) && !strings.Contains(err.Error(), name) {
					t.Errorf("got %v, want one that names the code", err)
				}
				if loss.cut && !loss.begun && !errors.Is(err, fasthttp.ErrConnectionClosed) && !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.EPIPE) {
					t.Errorf("got %v, want ErrConnectionClosed", err)
				}
				// the next call is the next request, wherever it is sent
				next := p.get(hc, "/next")
				if loss.cut {
					c = p.greet()
				}
				if got := c.serve().field(":path"); got != "/next" {
					t.Errorf("%s is sent again", got)
				}
				next.is(200, "/next")
			})
		}
	}
}

// TestHTTP2ClientReplays loses requests that are idempotent: they are sent again if their
// connection has ended before the response has begun.
func TestHTTP2ClientReplays(t *testing.T) {
	t.Parallel()
	for name, loss := range h2Losses {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newH2Peer(t)
			hc := p.client()
			c := p.greeted(hc)
			call := startCall(t, hc.Do, "PUT", p.url("/put"), withBody("pay"))
			loss.act(c, c.whole())
			if loss.cut && !loss.begun {
				if r := p.greet().serve(); string(r.content) != "pay" {
					t.Errorf("what is sent again has %q", r.content)
				}
				call.is(200, "/put")
				return
			}
			if err := call.wait(); err == nil {
				t.Error("the call succeeds")
			}
		})
	}
}

// TestHTTP2ClientStreamsAreCut ends the connection while a response is read as a stream.
func TestHTTP2ClientStreamsAreCut(t *testing.T) {
	t.Parallel()
	p := newH2Peer(t)
	hc := p.client()
	c := p.greeted(hc)
	for _, length := range []string{"content-length: 10", "x: y"} {
		call := p.stream(hc, "/")
		r := c.whole()
		c.head(r, endHeaders, "200", length).data(r.id, 0, "some").flush()
		call.is(200, "")
		_ = c.Close()
		b, err := io.ReadAll(call.resp.BodyStream())
		if string(b) != "some" || !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("read %q, %v, want io.ErrUnexpectedEOF", b, err)
		}
		_ = call.resp.CloseBodyStream()
		next := p.get(hc, "/next")
		c = p.greet()
		c.serve()
		next.is(200, "/next")
	}
}

// TestHTTP2ClientAsksTheApplicationAboutRetries has RetryIfErr decide.
func TestHTTP2ClientAsksTheApplicationAboutRetries(t *testing.T) {
	t.Parallel()
	p := newH2Peer(t)
	hc := p.client()
	var told []string
	hc.RetryIfErr = func(req *fasthttp.Request, attempts int, err error) (bool, bool) {
		told = append(told, fmt.Sprint(string(req.Header.Method()), " ", attempts, " ", err))
		return false, attempts < 3
	}
	c := p.greeted(hc)
	call := p.post(hc, "/", "pay")
	for range 2 {
		c.reset(c.whole().id, http2.ErrCodeInternal).flush()
	}
	c.serve()
	call.is(200, "/")
	if len(told) != 2 || !strings.HasPrefix(told[0], "POST 1 ") || !strings.Contains(told[1], "INTERNAL_ERROR") {
		t.Errorf("the function was told of %q", told)
	}
}

// TestHTTP2ClientMisdirected has servers that say that they are not the right one (RFC 9110
// section 15.5.20): the request is sent once more, on a new connection.
func TestHTTP2ClientMisdirected(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"GET", "POST"} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			p := newH2Peer(t)
			hc := p.client()
			c := p.greeted(hc)
			call := startCall(t, hc.Do, method, p.url("/a"), withBody("pay"))
			c.respond(c.whole(), "421", "not here")
			other := p.greet()
			if r := other.serve(); string(r.content) != "pay" || r.field(":method") != method {
				t.Errorf("what is sent again is %s %q", r.field(":method"), r.content)
			}
			call.is(200, "/a")

			call = startCall(t, hc.Do, method, p.url("/b"), withBody("pay"))
			other.respond(other.whole(), "421", "not here")
			tries := 1
			for last := p.acceptUnless(call); last != nil; last = p.acceptUnless(call) {
				last.greet()
				last.respond(last.whole(), "421", "nor here")
				if tries++; tries > 3 {
					t.Fatalf("the request was sent %d times", tries)
				}
			}
			if err := call.wait(); err != nil || call.resp.StatusCode() != 421 || tries != 2 {
				t.Errorf("after %d tries: %d, %v", tries, call.resp.StatusCode(), err)
			}
		})
	}
}

// TestHTTP2ClientRefusedAtTheDoor has servers that end connections before they have said
// anything, or speak another protocol.
func TestHTTP2ClientRefusedAtTheDoor(t *testing.T) {
	t.Parallel()
	for name, act := range map[string]func(c *h2Side){
		"close": func(c *h2Side) { _ = c.Close() },
		"HTTP/1.1": func(c *h2Side) {
			c.raw("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").flush()
			_ = c.Close()
		},
		"nonsense":           func(c *h2Side) { c.raw(strings.Repeat("nonsense", 10)).flush() },
		"no SETTINGS":        func(c *h2Side) { c.frame(http2.FramePing, 0, 0, "01234567").flush() },
		"an acknowledgement": func(c *h2Side) { c.frame(http2.FrameSettings, http2.FlagSettingsAck, 0, "").flush() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newH2Peer(t)
			hc := p.client()
			call := p.post(hc, "/", "pay")
			for c := p.acceptUnless(call); c != nil; c = p.acceptUnless(call) {
				act(c)
			}
			if err := call.wait(); err == nil {
				t.Error("the call succeeds")
			} else {
				t.Logf("after %d connections: %v", p.accepted.Load(), err)
			}
			if n := p.accepted.Load(); n > 5 {
				t.Errorf("%d connections for a call", n)
			}
		})
	}
}
