package fasthttp

import (
	"errors"
	"io"
	"iter"
	"sync"
	"time"
)

// TimeoutHandler returns a handler that runs h with a time limit. If h takes longer
// than timeout, the client gets a 408 with msg at that moment.
//
// h runs in a goroutine of its own, and with a context of its own, which begins as
// the one that the handler was called with. If h returns in time, everything that it
// has set is copied back to the caller's context, and so are trailers that its body
// stream sets in the context of h when it is read. If it is late, nothing is: the
// response has the status and msg, and also the fields that were set before the
// handler was called, except those that describe the content. The caller of the
// handler sees that response, and may change it.
//
// h is not stopped. It may use its context until it returns, but its changes have no
// effect. When it returns, values set with SetUserValue and its response's body
// stream are closed, and the files of its multipart form are removed. If it watches
// the client (see WatchDisconnect) its context ends when the client gets the other
// answer. A body that is still arriving as a stream is left to h as well, and the
// connection ends.
//
// No more than Server.Concurrency handlers of a Server run this way at a time,
// including late ones: if there are more, the client gets a 429 with msg.
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
		run := ctx.lend(h)
		run.limit(timeout, msg, statusCode)
		go run.start()
		timer := AcquireTimer(timeout)
		defer ReleaseTimer(timer)
		if run.isLate(timer.C) {
			ctx.giveUp(run)
			return
		}
		if run.ctx.timeoutResponse.Load() != nil {
			ctx.giveUp(run)
			run.logFault()
			return
		}
		fault := run.fault
		ctx.takeBack(run)
		if fault != nil {
			panic(fault)
		}
	}
}

// timedRun is a handler that runs in a goroutine of its own, with a context of its
// own.
type timedRun struct {
	ctx     *RequestCtx
	handler RequestHandler

	due        time.Time // it is late if it has not returned by then
	msg        string    // of the answer if it is late
	statusCode int

	late   bool      // it has timed out; guarded by ctx.late
	ended  bool      // it has returned; guarded by ctx.late
	fault  any       // the value of its panic
	before *timedRun // in RequestCtx.run or RequestCtx.left; guarded by late of that context

	start func()        // serve, as a value that is made once
	done  chan struct{} // gets a value when it has ended
}

// timedRun returns a run for a handler of s, which may be nil. Its context always belongs to
// s, for late calls of Done ask it for that at any time.
func (s *Server) timedRun() *timedRun {
	if r, ok := s.pooledRuns().Get().(*timedRun); ok {
		return r
	}
	r := &timedRun{ctx: newRequestCtx(s), done: make(chan struct{}, 1)}
	r.start = r.serve
	return r
}

// bareRuns has the runs for contexts without a server.
var bareRuns sync.Pool

func (s *Server) pooledRuns() *sync.Pool {
	if s == nil {
		return &bareRuns
	}
	return &s.runs
}

// errHandlerLeft is the fault of a handler that has ended its goroutine instead of
// returning.
var errHandlerLeft = errors.New("fasthttp: the handler has ended its goroutine")

// serve calls the handler.
func (r *timedRun) serve() {
	r.fault = errHandlerLeft
	defer func() {
		if p := recover(); p != nil {
			r.fault = passPanic(p)
		}
		r.end()
		r.done <- struct{}{}
	}()
	r.handler(r.ctx)
	r.fault = nil
}

// admitTimed counts a handler that is to run in a goroutine of its own, unless
// there are too many.
func (s *Server) admitTimed() bool {
	if s == nil {
		// the context was made without a server
		return true
	}
	if s.timed.Add(1) > int64(s.set.concurrency) {
		s.timed.Add(-1)
		return false
	}
	return true
}

// limit gives the handler a time limit that begins now, and says what the client gets if it
// takes longer.
func (r *timedRun) limit(timeout time.Duration, msg string, statusCode int) {
	r.due, r.msg, r.statusCode = time.Now().Add(timeout), msg, statusCode
}

// isLate waits until the handler has returned, or has timed out, and reports whether it has
// timed out.
func (r *timedRun) isLate(timeout <-chan time.Time) bool {
	select {
	case <-timeout:
		if r.timeOut() {
			return true
		}
		// it has returned at the same moment
		<-r.done
	case <-r.done:
	}
	return r.late
}

// timeOut marks the handler as late, and reports true, unless it has returned in the
// meantime.
func (r *timedRun) timeOut() bool {
	r.ctx.late.Lock()
	defer r.ctx.late.Unlock()
	if r.ended {
		return false
	}
	r.expire()
	return true
}

// expire marks the handler as late. ctx.late is held.
func (r *timedRun) expire() {
	r.late = true
	r.ctx.loseConn()
	// if a TimeoutError method has set a response, that one stands
	if r.ctx.timeoutResponse.Load() == nil {
		r.ctx.timeoutResponse.Store(timeoutErrorResponse(r.msg, r.statusCode))
	}
}

// leave makes resp the response of a handler that still runs: a TimeoutError method
// was called on the context that its context was lent from.
func (r *timedRun) leave(resp *Response) (unsent []io.Reader) {
	r.ctx.late.Lock()
	defer r.ctx.late.Unlock()
	if !r.ended {
		unsent = r.ctx.leaveWith(resp)
	}
	return unsent
}

// end says that the handler has returned. A late one discards its context, unless a
// TimeoutError method has left that to other goroutines of the application.
func (r *timedRun) end() {
	ctx := r.ctx
	if ctx.s != nil {
		ctx.s.timed.Add(-1)
	}
	ctx.late.Lock()
	r.ended = true
	if !r.late && time.Now().After(r.due) {
		// the goroutine that waits for it is later than it was
		r.expire()
	}
	late, kept := r.late, ctx.kept
	ctx.late.Unlock()
	if !late {
		return
	}
	r.logFault()
	if !kept {
		ctx.discard()
	}
}

// logFault logs a panic of a handler whose caller has gone on. It logs only the
// address, which a context has in any state.
func (r *timedRun) logFault() {
	if err, ok := r.fault.(error); r.fault == nil || ok && isAbort(err) {
		return
	}
	r.ctx.serverLogger().Printf("fasthttp: panic serving %s after its timeout: %v", r.ctx.RemoteAddr(), r.fault)
}

// loseConn takes the connection from a context, whose late is held, and from the
// contexts that were lent from it. They keep the exchange until it answers, for it has the
// watch that tells them of that.
func (ctx *RequestCtx) loseConn() {
	ctx.lost = true
	for run := range ctx.runs() {
		run.ctx.late.Lock()
		run.ctx.loseConn()
		run.ctx.late.Unlock()
	}
}

// runs are those that the context was lent to in the current request, late or not. late is
// held.
func (ctx *RequestCtx) runs() iter.Seq[*timedRun] {
	return func(yield func(*timedRun) bool) {
		for _, last := range [...]*timedRun{ctx.run, ctx.left} {
			for run := last; run != nil; run = run.before {
				if !yield(run) {
					return
				}
			}
		}
	}
}
