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

// TestHTTP2ClientSendsRefusedRequestsAgain has a server that declares a stream unprocessed:
// the request is sent again whatever its method.
func TestHTTP2ClientSendsRefusedRequestsAgain(t *testing.T) {
	t.Parallel()
	for name, refuse := range map[string]func(p *h2Peer, c *h2Side, r *h2Request) *h2Side{
		"REFUSED_STREAM": func(p *h2Peer, c *h2Side, r *h2Request) *h2Side {
			c.Reset(r.ID, http2.ErrCodeRefusedStream).Flush()
			return c
		},
		"GOAWAY": func(p *h2Peer, c *h2Side, r *h2Request) *h2Side {
			c.GoAway(r.ID-2, http2.ErrCodeNo).Flush()
			return p.Greet()
		},
		"GOAWAY and the end": func(p *h2Peer, c *h2Side, r *h2Request) *h2Side {
			c.GoAway(r.ID-2, http2.ErrCodeNo).Flush()
			_ = c.Close()
			return p.Greet()
		},
		"GOAWAY with an error": func(p *h2Peer, c *h2Side, r *h2Request) *h2Side {
			c.GoAway(r.ID-2, http2.ErrCodeInternal).Flush()
			return p.Greet()
		},
		"GOAWAY in two steps": func(p *h2Peer, c *h2Side, r *h2Request) *h2Side {
			c.GoAway(1<<31-1, http2.ErrCodeNo).GoAway(r.ID-2, http2.ErrCodeNo).Flush()
			return p.Greet()
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
				call := startCall(t, hc.Do, method, p.URL("/"), withBody(body))
				c = refuse(p, c, c.Whole())
				if r := c.Serve(); r.Field(":method") != method || string(r.Content) != body {
					t.Errorf("what is sent again is %s %q", r.Field(":method"), r.Content)
				}
				call.is(200, "/")
				expectNoRequest(c)
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
		call := startCall(t, hc.Do, method, p.URL("/"))
		refused := 0
		for r := c.RequestUnless(call); r != nil; r = c.RequestUnless(call) {
			c.Reset(r.ID, http2.ErrCodeRefusedStream).Flush()
			if refused++; refused > 100 {
				t.Fatalf("%s was sent %d times", method, refused)
			}
		}
		call.failsWith("REFUSED_STREAM")
		t.Logf("%s was sent %d times", method, refused)
		next := p.get(hc, "/next")
		c.Serve()
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
	call := startCall(t, hc.Do, "PUT", p.URL("/"), func(req *fasthttp.Request, _ *fasthttp.Response) {
		req.SetBodyStream(strings.NewReader(numbered(1000)), -1)
	})
	c.Reset(c.Whole().ID, http2.ErrCodeRefusedStream).Flush()
	call.failsWith("REFUSED_STREAM")
	expectNoRequest(c)
}

// h2Loss is a way in which a request may fail after the server may have processed it.
type h2Loss struct {
	act   func(c *h2Side, r *h2Request)
	cut   bool // the connection ends
	begun bool // a response has begun
	// reason is set if the error has the code, although the connection ends
	reason bool
}

var h2Losses = map[string]h2Loss{
	"INTERNAL_ERROR": {act: func(c *h2Side, r *h2Request) { c.Reset(r.ID, http2.ErrCodeInternal).Flush() }},
	"CANCEL":         {act: func(c *h2Side, r *h2Request) { c.Reset(r.ID, http2.ErrCodeCancel).Flush() }},
	"NO_ERROR":       {act: func(c *h2Side, r *h2Request) { c.Reset(r.ID, http2.ErrCodeNo).Flush() }},
	// it has processed the request nevertheless
	"REFUSED_STREAM": {act: func(c *h2Side, r *h2Request) {
		c.Head(r, endHeaders, "200").Reset(r.ID, http2.ErrCodeRefusedStream).Flush()
	}, begun: true},
	"close":             {act: func(c *h2Side, _ *h2Request) { _ = c.Close() }, cut: true},
	"reset":             {act: func(c *h2Side, _ *h2Request) { servertest.Reset(c.Conn.Conn) }, cut: true},
	"GOAWAY and close":  {act: func(c *h2Side, r *h2Request) { c.GoAway(r.ID, http2.ErrCodeNo).Flush(); _ = c.Close() }, cut: true},
	"GOAWAY of unknown": {act: func(c *h2Side, _ *h2Request) { c.GoAway(1<<31-1, http2.ErrCodeNo).Flush(); _ = c.Close() }, cut: true},
	"ENHANCE_YOUR_CALM": {act: func(c *h2Side, r *h2Request) { c.GoAway(r.ID, http2.ErrCodeEnhanceYourCalm).Flush(); _ = c.Close() }, cut: true, reason: true},
	"PROTOCOL_ERROR": {act: func(c *h2Side, r *h2Request) {
		c.Head(r, endHeaders, "200").GoAway(r.ID, http2.ErrCodeProtocol).Flush()
		_ = c.Close()
	}, cut: true, begun: true, reason: true},
	"a half frame":   {act: func(c *h2Side, r *h2Request) { c.Raw("\x00\x01").Flush(); _ = c.Close() }, cut: true},
	"after a hint":   {act: func(c *h2Side, r *h2Request) { c.Head(r, endHeaders, "103").Flush(); _ = c.Close() }, cut: true, begun: true},
	"after the head": {act: func(c *h2Side, r *h2Request) { c.Head(r, endHeaders, "200").Flush(); _ = c.Close() }, cut: true, begun: true},
	"in the content": {act: func(c *h2Side, r *h2Request) {
		c.Head(r, endHeaders, "200").Data(r.ID, 0, "some").Flush()
		servertest.Reset(c.Conn.Conn)
	}, cut: true, begun: true},
}

// TestHTTP2ClientSendsPostOnceWhateverHappens loses requests that are not idempotent: each
// fails, and is not repeated.
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
				r := c.Request()
				if size < 100_000 {
					c.EndOf(r)
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
					c = p.Greet()
				}
				if got := c.Serve().Field(":path"); got != "/next" {
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
			call := startCall(t, hc.Do, "PUT", p.URL("/put"), withBody("pay"))
			loss.act(c, c.Whole())
			if loss.cut && !loss.begun {
				if r := p.Greet().Serve(); string(r.Content) != "pay" {
					t.Errorf("what is sent again has %q", r.Content)
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
		r := c.Whole()
		c.Head(r, endHeaders, "200", length).Data(r.ID, 0, "some").Flush()
		call.is(200, "")
		_ = c.Close()
		b, err := io.ReadAll(call.resp.BodyStream())
		if string(b) != "some" || !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("read %q, %v, want io.ErrUnexpectedEOF", b, err)
		}
		_ = call.resp.CloseBodyStream()
		next := p.get(hc, "/next")
		c = p.Greet()
		c.Serve()
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
		c.Reset(c.Whole().ID, http2.ErrCodeInternal).Flush()
	}
	c.Serve()
	call.is(200, "/")
	if len(told) != 2 || !strings.HasPrefix(told[0], "POST 1 ") || !strings.Contains(told[1], "INTERNAL_ERROR") {
		t.Errorf("the function was told of %q", told)
	}
}

// TestHTTP2ClientMisdirected has servers that answer 421 (RFC 9110 section 15.5.20): the
// request is sent once more, on a new connection.
func TestHTTP2ClientMisdirected(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"GET", "POST"} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			p := newH2Peer(t)
			hc := p.client()
			c := p.greeted(hc)
			call := startCall(t, hc.Do, method, p.URL("/a"), withBody("pay"))
			c.Respond(c.Whole(), "421", "not here")
			other := p.Greet()
			if r := other.Serve(); string(r.Content) != "pay" || r.Field(":method") != method {
				t.Errorf("what is sent again is %s %q", r.Field(":method"), r.Content)
			}
			call.is(200, "/a")

			call = startCall(t, hc.Do, method, p.URL("/b"), withBody("pay"))
			other.Respond(other.Whole(), "421", "not here")
			tries := 1
			for last := p.acceptUnless(call); last != nil; last = p.acceptUnless(call) {
				last.Greet()
				last.Respond(last.Whole(), "421", "nor here")
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

// TestHTTP2ClientRefusedAtTheDoor has servers that end connections before they have sent
// anything, or speak another protocol.
func TestHTTP2ClientRefusedAtTheDoor(t *testing.T) {
	t.Parallel()
	for name, act := range map[string]func(c *h2Side){
		"close": func(c *h2Side) { _ = c.Close() },
		"HTTP/1.1": func(c *h2Side) {
			c.Raw("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").Flush()
			_ = c.Close()
		},
		"nonsense":           func(c *h2Side) { c.Raw(strings.Repeat("nonsense", 10)).Flush() },
		"no SETTINGS":        func(c *h2Side) { c.Frame(http2.FramePing, 0, 0, "01234567").Flush() },
		"an acknowledgement": func(c *h2Side) { c.Frame(http2.FrameSettings, http2.FlagSettingsAck, 0, "").Flush() },
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
				t.Logf("after %d connections: %v", p.Conns.Load(), err)
			}
			if n := p.Conns.Load(); n > 5 {
				t.Errorf("%d connections for a call", n)
			}
		})
	}
}
