package fasthttp

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp/internal/bytesconv"
)

// pipelineCall is a request on its way through a PipelineClient. Two hold it:
// the caller, and the pipeline that it waits in. The last one to drop it gives
// it back to the pool.
type pipelineCall struct {
	links pipelineLinks // guarded by the mutex of the pipeline
	lane  *pipeline

	// of the request, set before it is enqueued
	out        []byte // its bytes on the wire
	isHead     bool
	isConnect  bool
	idempotent bool
	closes     bool // it asks for the connection to be closed

	// end is where its bytes end among those of the connection; of the writer
	// alone
	end uint64

	mu sync.Mutex // guards what follows
	// resp is the caller's response, which the reader fills while it holds mu;
	// nil where nobody wants it
	resp  *Response
	phase pipelineCallPhase

	err  error // the result, to be read after done
	done chan struct{}

	holders atomic.Int32
}

// pipelineCallPhase is what the caller of a pipelineCall has of it.
type pipelineCallPhase uint8

const (
	callAwaited  pipelineCallPhase = iota // the caller waits
	callLeft                              // the caller does not wait any more
	callFinished                          // there is a result, and done has something to receive
)

var pipelineCalls = sync.Pool{New: func() any { return &pipelineCall{done: make(chan struct{}, 1)} }}

func acquirePipelineCall() *pipelineCall {
	call := pipelineCalls.Get().(*pipelineCall)
	call.holders.Store(2)
	return call
}

// maxKeptRequest is the size up to which the memory of a request is kept for the
// next one.
const maxKeptRequest = 64 << 10

// drop says that n of those who hold the call do so no more.
func (call *pipelineCall) drop(n int32) {
	if call.holders.Add(-n) > 0 {
		return
	}
	if cap(call.out) > maxKeptRequest {
		call.out = nil
	}
	call.lane, call.resp, call.err = nil, nil, nil
	call.phase = callAwaited
	pipelineCalls.Put(call)
}

// encode keeps the bytes of the request, so that req is not needed any more.
func (call *pipelineCall) encode(c *PipelineClient, req *Request) error {
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
	call.isHead, call.isConnect, call.idempotent = false, false, true
	if !h.hasDefaultMethod() {
		call.isHead, call.isConnect, call.idempotent = h.IsHead(), h.IsConnect(), isIdempotent(req)
	}
	call.closes = h.ConnectionClose()
	call.out = req.appendHead(call.out[:0])
	switch {
	case req.body.stream == nil && h.contentLength >= 0:
		call.out = append(call.out, req.content()...)
		return nil
	case req.body.stream == nil:
		return writeContent((*pipelineEncoder)(call), req.content(), &h.header)
	}
	return writeStream((*pipelineEncoder)(call), &req.body, &h.header)
}

// pipelineEncoder appends to the bytes of a request.
type pipelineEncoder pipelineCall

func (e *pipelineEncoder) Write(p []byte) (int, error) {
	e.out = append(e.out, p...)
	return len(p), nil
}

func (e *pipelineEncoder) Flush() error { return nil }

// wait waits for the result. When it returns, nobody touches the caller's
// response any more.
func (call *pipelineCall) wait(ctx context.Context, deadline time.Time) error {
	if ctx == nil && deadline.IsZero() {
		<-call.done
		return call.err
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
	case <-call.done:
		return call.err
	case <-expired:
		return call.leave(ErrTimeout)
	case <-canceled:
		return call.leave(pipelineContextError(ctx))
	}
}

// leave gives the call up because of err, unless it has a result by now.
func (call *pipelineCall) leave(err error) error {
	call.mu.Lock()
	if call.phase == callFinished {
		call.mu.Unlock()
		<-call.done
		return call.err
	}
	call.phase, call.resp = callLeft, nil
	call.mu.Unlock()
	call.lane.forsake(call)
	return err
}

// finish gives the call its result and drops it. It reports whether anybody has
// waited for it.
func (call *pipelineCall) finish(err error) bool {
	call.mu.Lock()
	waited := call.phase == callAwaited
	if waited {
		call.phase, call.err, call.resp = callFinished, err, nil
		call.done <- struct{}{}
	}
	call.mu.Unlock()
	call.drop(1)
	return waited
}

// isLeft reports whether nobody waits for the call.
func (call *pipelineCall) isLeft() bool {
	call.mu.Lock()
	defer call.mu.Unlock()
	return call.phase == callLeft
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

// pipelineLinks chain a call to its neighbours in a list.
type pipelineLinks struct {
	list       *pipelineList
	prev, next *pipelineCall
}

// pipelineList is calls in their order. One that is given up leaves from the
// middle.
type pipelineList struct {
	first, last *pipelineCall
	n           int
}

// insert puts the call behind after; nil stands for the beginning.
func (l *pipelineList) insert(call, after *pipelineCall) {
	next := l.first
	if after != nil {
		next = after.links.next
		after.links.next = call
	} else {
		l.first = call
	}
	if next != nil {
		next.links.prev = call
	} else {
		l.last = call
	}
	call.links = pipelineLinks{l, after, next}
	l.n++
}

func (l *pipelineList) push(call *pipelineCall) { l.insert(call, l.last) }

// shift takes the first call away, for who puts it into another list.
func (l *pipelineList) shift() *pipelineCall {
	call := l.first
	if l.first = call.links.next; l.first != nil {
		l.first.links.prev = nil
	} else {
		l.last = nil
	}
	l.n--
	return call
}

func (l *pipelineList) remove(call *pipelineCall) {
	prev, next := call.links.prev, call.links.next
	if prev != nil {
		prev.links.next = next
	} else {
		l.first = next
	}
	if next != nil {
		next.links.prev = prev
	} else {
		l.last = prev
	}
	call.links = pipelineLinks{}
	l.n--
}
