package fasthttp

import "io"

// TimeoutError makes the response a 408 with msg and lets the handler return
// while other goroutines still use the context: the server leaves it to them
// and never uses it again.
func (ctx *RequestCtx) TimeoutError(msg string) {
	ctx.TimeoutErrorWithCode(msg, StatusRequestTimeout)
}

// TimeoutErrorWithCode is TimeoutError with another status code.
func (ctx *RequestCtx) TimeoutErrorWithCode(msg string, statusCode int) {
	ctx.timeOut(timeoutErrorResponse(msg, statusCode))
}

func timeoutErrorResponse(msg string, statusCode int) *Response {
	resp := new(Response)
	resp.SetStatusCode(statusCode)
	resp.SetBodyString(msg)
	return resp
}

// TimeoutErrorWithResponse is TimeoutError with a copy of resp as the response. If resp has a
// body stream, that is not copied but taken from resp; it is closed when it was sent, or will
// not be sent because the client has another response already.
func (ctx *RequestCtx) TimeoutErrorWithResponse(resp *Response) {
	own := new(Response)
	resp.CopyTo(own)
	if stream, size := resp.body.takeStream(); stream != nil {
		own.body.stream, own.body.size = stream, size
		own.pointStream()
	}
	own.ImmediateHeaderFlush = resp.ImmediateHeaderFlush
	ctx.timeOut(own)
}

// timeOut makes resp the response. It waits for a method that uses the connection.
func (ctx *RequestCtx) timeOut(resp *Response) {
	ctx.late.Lock()
	unsent := ctx.leaveWith(resp)
	ctx.late.Unlock()
	for _, stream := range unsent {
		closeUnsent(stream)
	}
}

// leaveWith is timeOut with late held. It returns the streams that nobody sends, for the
// caller to close them without the lock.
func (ctx *RequestCtx) leaveWith(resp *Response) (unsent []io.Reader) {
	if run := ctx.run; run != nil {
		unsent = run.leave(resp.withoutStream())
	}
	if before := ctx.timeoutResponse.Load(); before != nil && !ctx.answered {
		if stream, _ := before.body.takeStream(); stream != nil {
			unsent = append(unsent, stream)
		}
	}
	if ctx.answered {
		if stream, _ := resp.body.takeStream(); stream != nil {
			unsent = append(unsent, stream)
		}
		if ctx.stream != nil {
			unsent = append(unsent, ctx.stream)
			ctx.stream = nil
		}
	}
	ctx.timeoutResponse.Store(resp)
	ctx.kept = true
	return unsent
}

// timedOutResponse is what the client gets in the place of a response of the handler.
type timedOutResponse struct {
	*Response // without its stream
	stream    io.Reader
	size      int
}

// takeTimeoutResponse returns the response that the client gets in the place of the
// context's own. If the context is left to goroutines of the handler, nobody else closes the
// stream of its own response: it does so now, and noteStream from now on.
func (ctx *RequestCtx) takeTimeoutResponse() (resp timedOutResponse) {
	ctx.late.Lock()
	resp.Response = ctx.timeoutResponse.Load()
	resp.stream, resp.size = resp.body.takeStream()
	ctx.answered = true
	var unsent io.Reader
	if ctx.kept {
		unsent, ctx.stream = ctx.stream, nil
	}
	ctx.late.Unlock()
	closeUnsent(unsent)
	return resp
}

// giveStreamTo makes the stream, if there is one, that of dst.
func (resp timedOutResponse) giveStreamTo(dst *Response) {
	if resp.stream != nil {
		dst.SetBodyStream(resp.stream, resp.size)
		dst.ImmediateHeaderFlush = resp.ImmediateHeaderFlush
		dst.pointStream()
	}
}

// pointStream makes the stream of the body, if it is that of a response that a client receives,
// add its trailer section to resp. The response it was taken from may be another's by then.
func (resp *Response) pointStream() {
	if stream, ok := resp.body.stream.(interface{ trailersTo(h *header) }); ok {
		stream.trailersTo(&resp.Header.header)
	}
}

// withoutStream returns a copy of resp without its stream, for a context that has a lock of its
// own.
func (resp *Response) withoutStream() *Response {
	own := new(Response)
	resp.CopyTo(own)
	return own
}

// noteStream implements streamOwner: the stream is sent unless the client has another response.
func (ctx *RequestCtx) noteStream(r io.Reader) (sent bool) {
	ctx.late.Lock()
	defer ctx.late.Unlock()
	if ctx.answered && ctx.kept {
		return false
	}
	ctx.stream = r
	return true
}

// claimStream implements streamOwner.
func (ctx *RequestCtx) claimStream() bool {
	ctx.late.Lock()
	defer ctx.late.Unlock()
	claimed := ctx.stream != nil
	ctx.stream = nil
	return claimed
}

// LastTimeoutErrorResponse returns the response that the last TimeoutError method has
// set, or nil. After a TimeoutHandler whose handler was late it is Response itself.
func (ctx *RequestCtx) LastTimeoutErrorResponse() *Response {
	if resp := ctx.timeoutResponse.Load(); resp != nil || ctx.left == nil {
		return resp
	}
	return &ctx.Response
}
