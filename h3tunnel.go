package fasthttp

import (
	"time"

	"github.com/valyala/fasthttp/internal/http1"
	"github.com/valyala/fasthttp/internal/http3"
)

// h3Tunnel is the tunnel of an HTTP/3 stream (RFC 9114 section 4.4, RFC 9220). Its directions end as with
// TCP: the end of the stream is its FIN, and a reset its RST.
type h3Tunnel struct {
	http3.Tunnel
	tunnelConn
}

// openTunnel sends the response, and gives the stream to the function of Hijack, or to the
// EventHandler of SwitchProtocols. over reports that the stream has ended before.
func (x *h3Exchange) openTunnel() (over bool) {
	ctx := x.ctx
	_ = ctx.Response.body.CloseStream()
	x.finishResponse()
	e := http1.Encoding{}
	x.recordHead(e)
	x.send100()
	if x.in != nil {
		x.in.leave()
	}
	// neither timeouts nor limits of requests apply to a tunnel
	_ = x.stream.SetReadDeadline(time.Time{})
	_ = x.stream.SetWriteDeadline(time.Time{})
	err := x.writeHead(e)
	if err == nil {
		err = x.stream.Flush()
	}
	if err != nil {
		ctx.hijack, ctx.switched = nil, nil
		x.end(err)
		return true
	}
	if ctx.Response.ConnectionClose() || x.s.servesLast(ctx.requestNum) {
		x.stream.GoAway()
	}
	x.report(&h3Traits, SentResponse{StatusCode: ctx.Response.StatusCode(), Bytes: x.sent})
	x.opened = true
	x.stream.BeginTunnel()
	t := &h3Tunnel{tunnelConn: tunnelConn{x.c}}
	stream := x.stream
	t.Init(stream, func() {
		x.unwatchPeer()
		stream.EndTunnel()
	})
	x.giveTunnel(t, variantHTTP3)
	return false
}

// leave ends the reading of the content, which belongs to a tunnel from here on.
func (c *h3Incoming) leave() {
	c.closed.Store(true)
	c.revoke()
	// a goroutine of the handler may still read
	c.mu.Lock()
	defer c.mu.Unlock()
}
