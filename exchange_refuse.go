package fasthttp

import "github.com/valyala/fasthttp/internal/http1"

// streamsBodies reports whether the handler of the current request gets the body as
// it arrives.
func (x *exchange) streamsBodies() bool {
	if mode := x.config.BodyMode; mode != BodyModeServer {
		return mode == BodyModeStream
	}
	return x.s.StreamRequestBody
}

// refuseUnread answers a request that Server.HeaderReceived has refused. What of
// the body is worth it is read away, as that which a handler leaves unread.
func (x *exchange) refuseUnread(framing http1.Framing) (step, bool) {
	req := &x.ctx.Request
	x.count()
	isHead := req.Header.IsHead()
	x.makeRefusal(x.config.RefuseStatus)
	if response := x.ctx.timeoutResponse.Load(); response != nil {
		x.leaveCtx(response)
		return x.answerAndEnd(isHead)
	}
	if framing.Kind == http1.NoBody {
		req.settleEmpty()
		return x.respond(isHead)
	}
	x.streaming = true
	x.expects = req.Header.head.Has(http1.Expect100 | http1.ExpectOther)
	x.limitRequest()
	req.stream.start(x, framing, &req.Header.header)
	if x.drain(false) == drainedLater && framing.Kind == http1.Chunks {
		// how much is still to come is not known
		x.ending, x.linger = true, true
	}
	return x.respond(isHead)
}

// makeRefusal makes the response to a request that was refused with the status.
func (x *exchange) makeRefusal(status int) {
	s, ctx := x.s, x.ctx
	if status < StatusOK || status > 599 {
		status = StatusBadRequest
	}
	ctx.Error(StatusMessage(status), status)
	if s.ErrorHandler != nil {
		s.ErrorHandler(ctx, ErrRequestRefused)
		ctx.SetStatusCode(status)
	}
}
