package fasthttp

import (
	"github.com/valyala/fasthttp/internal/bodyio"
	"github.com/valyala/fasthttp/internal/engine"
	"github.com/valyala/fasthttp/internal/http1"
)

// refuse answers a request that the handler does not get, and ends the connection.
func (x *h1Exchange) refuse(why error) (engine.Action, bool) {
	x.refusal = why
	if why != ErrRequestRefused {
		x.h.fault = why
	}
	x.bodyArrived()
	x.stampRefused()
	return x.answerAndEnd(x.answerRefusal())
}

func (x *h1Exchange) answerAndEnd(isHead bool) (engine.Action, bool) {
	x.ctx.Response.SetConnectionClose()
	if x.h.conn.Reading() != http1.ReadDone {
		x.h.conn.SetReading(http1.ReadDone)
	}
	x.h.conn.Linger()
	return x.respond(isHead)
}

// refuseUnread answers a request that Server.HeaderReceived has refused. The body is
// drained within the same limits as one that a handler leaves unread.
func (x *h1Exchange) refuseUnread(framing http1.Framing) (engine.Action, bool) {
	req := &x.ctx.Request
	x.stampRefused()
	x.countRequest()
	ctx := x.ctx
	isHead := x.answerRefusal()
	if x.ctx != ctx {
		// it is left to goroutines of the application
		return x.answerAndEnd(isHead)
	}
	if framing.Kind == http1.NoBody {
		x.h.conn.SetReading(http1.ReadDone)
		req.finalizeEmpty()
		return x.respond(isHead)
	}
	x.h.conn.SetReading(http1.ReadStream)
	if x.h.head.Has(http1.Expect100 | http1.ExpectOther) {
		x.h.conn.SetWaiting(http1.WaitOver)
	}
	x.limitRequest()
	source := x.newSource()
	source.start(x, framing, &req.Header.header, nil)
	req.source = source
	if x.drain(false) == bodyio.DrainedLater && framing.Kind == http1.Chunks {
		// how much is still to come is not known
		x.h.conn.Linger()
	}
	return x.respond(isHead)
}
