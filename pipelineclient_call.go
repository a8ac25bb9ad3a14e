package fasthttp

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/valyala/fasthttp/internal/bytesconv"
	"github.com/valyala/fasthttp/internal/http1"
	"github.com/valyala/fasthttp/internal/pipeline"
)

// pipelineCall is a request on its way through a PipelineClient.
type pipelineCall = pipeline.Call[Response]

// encode keeps the bytes of the request in a call, so that req is not needed any more.
func (c *PipelineClient) encode(call *pipelineCall, req *Request) error {
	h := &req.Header
	if c.DisablePathNormalizing {
		req.URI().DisablePathNormalizing = true
	}
	if c.DisableHeaderNamesNormalizing {
		h.DisableNormalizing()
	}
	if len(h.UserAgent()) == 0 && !c.NoDefaultUserAgentHeader && !h.is(noSpecial) {
		name := c.Name
		if name == "" {
			name = "fasthttp"
		}
		h.SetUserAgentBytes(bytesconv.Bytes(name))
	}
	if err := req.settleForServer(); err != nil {
		return req.refused(err)
	}
	if !c.IsTLS && req.uriParsed && req.uri.https {
		return req.refused(ErrHostClientRedirectToDifferentScheme)
	}
	call.Exchange, call.Idempotent = http1.Exchange{}, true
	if !h.hasDefaultMethod() {
		call.Exchange, call.Idempotent = http1.Exchange{Head: h.IsHead(), Connect: h.IsConnect()}, isIdempotent(req)
	}
	call.Closes = h.ConnectionClose()
	call.Out = req.appendHead(call.Out[:0])
	switch {
	case req.body.stream == nil && h.contentLength >= 0:
		call.Out = append(call.Out, req.content()...)
		return nil
	case req.body.stream == nil:
		return writeContent((*pipelineEncoder)(call), req.content(), &h.header)
	}
	return writeStream((*pipelineEncoder)(call), &req.body, &h.header)
}

// pipelineEncoder appends to the bytes of a request.
type pipelineEncoder pipelineCall

func (e *pipelineEncoder) Write(p []byte) (int, error) {
	e.Out = append(e.Out, p...)
	return len(p), nil
}

func (e *pipelineEncoder) Flush() error { return nil }

// awaitPipelined waits for the result. When it returns, nobody touches the caller's response
// any more.
func awaitPipelined(ctx context.Context, call *pipelineCall, deadline time.Time) error {
	if ctx == nil && deadline.IsZero() {
		<-call.Done()
		return call.Result()
	}
	var expired <-chan time.Time
	if !deadline.IsZero() {
		timer := AcquireTimer(time.Until(deadline))
		defer ReleaseTimer(timer)
		expired = timer.C
	}
	var canceled <-chan struct{}
	if ctx != nil {
		canceled = ctx.Done()
	}
	select {
	case <-call.Done():
		return call.Result()
	case <-expired:
		return call.Leave(ErrTimeout)
	case <-canceled:
		return call.Leave(pipelineContextError(ctx))
	}
}

func pipelineContextError(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return ErrTimeout
	}
	return contextError(ctx)
}

// streamBuffered makes the body that was read a stream.
func (resp *Response) streamBuffered() {
	body := resp.body.bytes()
	resp.body.setStream(bytes.NewReader(body), len(body))
}
