package fasthttp

import (
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"
)

// TimeoutHandler returns a handler that gives h the timeout for its answer.
// Where h takes longer the client gets a 408 with msg at that moment.
//
// h is not stopped by that. It may use its context until it returns: the server
// leaves it that context and never uses it for another request. What the late
// h sets of the response is dropped; when it returns, values set with
// SetUserValue and the response's body stream are closed and the files of its
// multipart form removed.
//
// Of one Server no more than Server.Concurrency handlers run this way at a
// time, those that are late included: where there are more the client gets a
// 429 with msg.
func TimeoutHandler(h RequestHandler, timeout time.Duration, msg string) RequestHandler {
	return TimeoutWithCodeHandler(h, timeout, msg, StatusRequestTimeout)
}

// TimeoutWithCodeHandler is TimeoutHandler with another status code than 408.
func TimeoutWithCodeHandler(h RequestHandler, timeout time.Duration, msg string, statusCode int) RequestHandler {
	return func(ctx *RequestCtx) {
		if !ctx.s.admitTimed() {
			ctx.Error(msg, StatusTooManyRequests)
			return
		}
		run := timedRuns.Get().(*timedRun)
		run.ctx, run.handler = ctx, h
		ctx.beginTimed()
		go run.start()
		timer := AcquireTimer(timeout)
		defer ReleaseTimer(timer)
		select {
		case <-run.done:
		case <-timer.C:
			if ctx.runLate(run, msg, statusCode) {
				return
			}
			// it has ended in the same moment
			<-run.done
		}
		fault := run.fault
		*run = timedRun{start: run.start, done: run.done}
		timedRuns.Put(run)
		if fault != nil {
			panic(fault)
		}
	}
}

// timedRun is a handler that runs in a goroutine of its own.
type timedRun struct {
	ctx     *RequestCtx
	handler RequestHandler
	late    bool // it has timed out; guarded by ctx.late
	ended   bool // it has returned; guarded by ctx.late
	fault   any  // what it panicked with

	start func()        // serve, as a value that is made once
	done  chan struct{} // gets a value when it has ended
}

var timedRuns = sync.Pool{New: func() any {
	r := &timedRun{done: make(chan struct{}, 1)}
	r.start = r.serve
	return r
}}

// errHandlerLeft is how a handler ends that did not return, but ended its
// goroutine.
var errHandlerLeft = errors.New("fasthttp: the handler has ended its goroutine")

// serve calls the handler.
func (r *timedRun) serve() {
	r.fault = errHandlerLeft
	defer func() {
		if p := recover(); p != nil {
			r.fault = passPanic(p)
		}
		r.ctx.endTimed(r)
		r.done <- struct{}{}
	}()
	r.handler(r.ctx)
	r.fault = nil
}

// handlerPanic is what the panic of a handler becomes on its way to the
// goroutine that waits for it: it tells where it began.
type handlerPanic struct {
	value any
	stack []byte
}

// passPanic returns the value to panic with in another goroutine. An abort is
// passed on as it is: nobody wants to know where it began, and handlers around
// this one may compare it.
func passPanic(value any) any {
	if err, ok := value.(error); ok && isAbort(err) {
		return value
	}
	return &handlerPanic{value, debug.Stack()}
}

// Error returns the value of the panic and the stack that led to it.
func (p *handlerPanic) Error() string {
	return fmt.Sprintf("%v\n%s", p.value, p.stack)
}

// Unwrap returns the value where it is an error.
func (p *handlerPanic) Unwrap() error {
	err, _ := p.value.(error)
	return err
}

// admitTimed counts a handler that is to run in a goroutine of its own, unless
// there are too many.
func (s *Server) admitTimed() bool {
	if s == nil {
		// a context that was made without a server
		return true
	}
	if s.timed.Add(1) > int64(s.concurrency()) {
		s.timed.Add(-1)
		return false
	}
	return true
}

// beginTimed says that a handler is about to run with ctx in a goroutine of its
// own. There may be several, one within the other.
func (ctx *RequestCtx) beginTimed() {
	ctx.late.Lock()
	ctx.timed++
	ctx.late.Unlock()
}

// runLate makes the response that of a timeout, and is false where the handler
// has returned in the meantime.
func (ctx *RequestCtx) runLate(r *timedRun, msg string, statusCode int) bool {
	resp := timeoutErrorResponse(msg, statusCode)
	ctx.late.Lock()
	defer ctx.late.Unlock()
	if r.ended {
		return false
	}
	r.late = true
	// where somebody else has made it time out, that stands
	if ctx.timeoutResponse.Load() == nil {
		ctx.timeoutResponse.Store(resp)
	}
	return true
}

// endTimed says that a handler has returned. The last one that is late puts the
// lights out, unless ctx was left to others with a TimeoutError method.
func (ctx *RequestCtx) endTimed(r *timedRun) {
	if ctx.s != nil {
		ctx.s.timed.Add(-1)
	}
	ctx.late.Lock()
	r.ended = true
	ctx.timed--
	timedOut, last := ctx.timeoutResponse.Load() != nil, ctx.timed == 0 && !ctx.kept
	late := r.late
	ctx.late.Unlock()
	if late && r.fault != nil {
		ctx.logLatePanic(r.fault)
	}
	if late && timedOut && last {
		ctx.discard()
	}
}

// logLatePanic logs a panic that nobody waits for any more. Of the request it
// says no more than what a context keeps in any state.
func (ctx *RequestCtx) logLatePanic(fault any) {
	if err, ok := fault.(error); ok && isAbort(err) {
		return
	}
	ctx.serverLogger().Printf("fasthttp: panic serving %s after its timeout: %v", ctx.RemoteAddr(), fault)
}
