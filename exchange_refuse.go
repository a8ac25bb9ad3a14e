package fasthttp

import (
	"github.com/valyala/fasthttp/internal/bodyio"
	"github.com/valyala/fasthttp/internal/engine"
	"github.com/valyala/fasthttp/internal/http1"
)

// refuse answers a request that could not be read, and ends the connection.
func (x *exchange) refuse(err error) (engine.Action, bool) {
	x.fault = err
	x.arrived()
	x.refused(err)
	ctx := x.ctx
	if h := &ctx.Request.Header; !h.is(wasRead) {
		h.reset(configured)
	}
	ctx.Response.Reset()
	x.s.configureResponse(&ctx.Response)
	isHead := ctx.Request.Header.IsHead()
	x.s.errorResponse(ctx, err)
	if ctx.timeoutResponse.Load() != nil {
		x.leaveCtx()
	}
	return x.answerAndEnd(isHead)
}

// reject answers a request whose body is refused.
func (x *exchange) reject(code int) (engine.Action, bool) {
	isHead := x.ctx.Request.Header.IsHead()
	x.refused(ErrRequestRefused)
	if x.ctx.timeoutResponse.Load() != nil {
		x.leaveCtx()
	} else {
		x.ctx.Response.SetStatusCode(code)
	}
	return x.answerAndEnd(isHead)
}

func (x *exchange) answerAndEnd(isHead bool) (engine.Action, bool) {
	x.ctx.Response.SetConnectionClose()
	if x.conn.Reading() != http1.ReadDone {
		x.conn.SetReading(http1.ReadDone)
	}
	x.conn.Linger()
	return x.respond(isHead)
}

// refuseUnread answers a request that Server.HeaderReceived has refused. The body is
// drained within the same limits as one that a handler leaves unread.
func (x *exchange) refuseUnread(framing http1.Framing) (engine.Action, bool) {
	req := &x.ctx.Request
	x.refused(ErrRequestRefused)
	x.count()
	isHead := req.Header.IsHead()
	x.s.makeRefusal(x.ctx, x.config.RefuseStatus)
	if x.ctx.timeoutResponse.Load() != nil {
		x.leaveCtx()
		return x.answerAndEnd(isHead)
	}
	if framing.Kind == http1.NoBody {
		x.conn.SetReading(http1.ReadDone)
		req.finalizeEmpty()
		return x.respond(isHead)
	}
	x.conn.SetReading(http1.ReadStream)
	if x.head.Has(http1.Expect100 | http1.ExpectOther) {
		x.conn.SetWaiting(http1.WaitOver)
	}
	x.limitRequest()
	source := x.newSource()
	source.start(x, framing, &req.Header.header, nil)
	req.source = source
	if x.drain(false) == bodyio.DrainedLater && framing.Kind == http1.Chunks {
		// how much is still to come is not known
		x.conn.Linger()
	}
	return x.respond(isHead)
}

// makeRefusal makes the response to a request that was refused with the status.
func (s *Server) makeRefusal(ctx *RequestCtx, status int) {
	if status < StatusOK || status > 599 {
		status = StatusBadRequest
	}
	ctx.Error(StatusMessage(status), status)
	if s.ErrorHandler != nil {
		s.ErrorHandler(ctx, ErrRequestRefused)
		ctx.SetStatusCode(status)
	}
}
