package fasthttp

import (
	"net"
	"time"

	"github.com/valyala/fasthttp/internal/http1"
	"github.com/valyala/fasthttp/internal/http2"
	"github.com/valyala/fasthttp/internal/http2body"
)

// h2Tunnel is the tunnel of an HTTP/2 stream (RFC 9113 section 8.5, RFC 8441).
type h2Tunnel struct {
	http2body.Tunnel
	tunnelConn
	x *h2Exchange
}

var _ net.Conn = (*h2Tunnel)(nil)

// openTunnel sends the response, and gives the stream to the function of Hijack, or to the
// EventHandler of SwitchProtocols. It returns false if the stream has ended.
func (x *h2Exchange) openTunnel() bool {
	h, ctx := x.h, x.ctx
	_ = ctx.Response.body.CloseStream()
	x.finishResponse()
	e := http1.Encoding{}
	x.recordHead(e)
	// the connection may end before the application asks for its addresses
	x.c.RecordEscape()
	t := &h2Tunnel{x: x, tunnelConn: tunnelConn{x.c}}
	h.mu.Lock()
	wake := x.queue100()
	// neither timeouts nor limits of requests apply to a tunnel
	x.readUntil, x.writeUntil = time.Time{}, time.Time{}
	if x.content == nil {
		content := x.newContent(true)
		x.content, x.in = &content.streamContent, &content.h2Incoming
	}
	// one tunnel must not block others (RFC 9218 section 11)
	h.conn.SetPriority(x.stream, []byte("i"))
	opens := x.sendHead(e, http2.SendHead)
	if opens {
		t.Init(h, x.stream, &x.in.Incoming, t.unused)
		x.tunnel = t
	}
	if ctx.Response.ConnectionClose() || x.s.servesLast(ctx.requestNum) {
		h.startGoAway()
	}
	wake = h.Wakes() || wake
	h.mu.Unlock()
	if wake {
		h.link.Wake()
	}
	if !opens {
		ctx.hijack, ctx.switched = nil, nil
		return false
	}
	x.report(&h2Traits, SentResponse{StatusCode: ctx.Response.StatusCode(), Bytes: x.sent})
	x.giveTunnel(t, variantHTTP2)
	return true
}

// unused ends the exchange of a tunnel that the application has closed. The rest of what it has
// written is still sent.
func (t *h2Tunnel) unused() {
	x, h := t.x, t.x.h
	h.mu.Lock()
	over := x.abortErr != nil || x.stream.Unsent() == 0
	x.phase = h2Over
	if !over {
		x.phase = h2Sends
	}
	wake := !over && h.Wakes()
	h.mu.Unlock()
	switch {
	case over:
		// the caller may hold locks of the application
		x.s.h2.workers.Do(h2Task{h2Release, nil, x})
	case wake:
		h.Wake()
	}
}
