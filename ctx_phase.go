package fasthttp

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp/internal/bufpool"
	"github.com/valyala/fasthttp/internal/clock"
	"github.com/valyala/fasthttp/internal/engine"
	"github.com/valyala/fasthttp/internal/header"
	"github.com/valyala/fasthttp/internal/watch"
)

// ctxPhase is the phase of a context between the server and the application: to whom it belongs,
// and whether the client gets its Response. The zero phase is the usual one, so a request without
// a timeout changes nothing.
//
// The phase is changed with timeoutMu held. timeoutResponse belongs to it: it is set in the phases
// after ctxRevoked, and only there. Two things are independent of it. exchange is set while the
// handler runs, in any phase, and usually without the lock, see setExchange. run and lateRun list
// the runs that have contexts lent from this one, each with a phase of its own.
type ctxPhase uint32

const (
	// ctxOwn: Response is the response, and the server reuses the context.
	ctxOwn ctxPhase = iota
	// ctxRevoked: the context was lent within a late run. It may not use the connection,
	// and its response is not sent; but its handler gives it back, and it is reused.
	ctxRevoked
	// ctxLate: it was lent to a late run, and belongs to it until its handler returns.
	// timeoutResponse is ready, and was not taken.
	ctxLate
	// ctxLateTaken: like ctxLate, but timeoutResponse was taken to be sent.
	ctxLateTaken
	// ctxDetached: a TimeoutError method has left it to the goroutines of the handler, for good.
	// timeoutResponse is ready, and was not taken; another call may replace it.
	ctxDetached
	// ctxDetachedTaken: like ctxDetached, but the response was taken: none set later is sent.
	ctxDetachedTaken

	ctxPhases
	ctxNoPhase = ctxPhases // in ctxMoves, for an event that the phase excludes
)

// ctxEvent is an event that changes the phase of a context.
type ctxEvent uint8

const (
	// ctxDetach: a TimeoutError method was called, on it or on the context that has lent it.
	ctxDetach ctxEvent = iota
	// ctxExpire: the time limit of its run has passed, once at most.
	ctxExpire
	// ctxRevoke: a run around its own is late.
	ctxRevoke
	// ctxTake: timeoutResponse is taken, to be sent.
	ctxTake
	// ctxReset: the server makes the context ready for another request.
	ctxReset
	// ctxInit: the application prepares it with Init or Init2.
	ctxInit

	ctxEvents
)

// ctxMoves has the phase that follows each event. A server that resets a context in the phases
// ctxDetached and ctxDetachedTaken had taken it back before the TimeoutError method was called,
// which was too late; the context is then not reused another time.
var ctxMoves = [ctxPhases][ctxEvents]ctxPhase{
	ctxOwn: {
		ctxDetach: ctxDetached, ctxExpire: ctxLate, ctxRevoke: ctxRevoked,
		ctxTake: ctxNoPhase, ctxReset: ctxOwn, ctxInit: ctxOwn,
	},
	ctxRevoked: {
		ctxDetach: ctxDetached, ctxExpire: ctxLate, ctxRevoke: ctxRevoked,
		ctxTake: ctxNoPhase, ctxReset: ctxOwn, ctxInit: ctxOwn,
	},
	ctxLate: {
		ctxDetach: ctxDetached, ctxExpire: ctxNoPhase, ctxRevoke: ctxLate,
		ctxTake: ctxLateTaken, ctxReset: ctxNoPhase, ctxInit: ctxOwn,
	},
	ctxLateTaken: {
		ctxDetach: ctxDetachedTaken, ctxExpire: ctxNoPhase, ctxRevoke: ctxLateTaken,
		ctxTake: ctxLateTaken, ctxReset: ctxNoPhase, ctxInit: ctxOwn,
	},
	ctxDetached: {
		ctxDetach: ctxDetached, ctxExpire: ctxDetached, ctxRevoke: ctxDetached,
		ctxTake: ctxDetachedTaken, ctxReset: ctxDetached, ctxInit: ctxOwn,
	},
	ctxDetachedTaken: {
		ctxDetach: ctxDetachedTaken, ctxExpire: ctxDetachedTaken, ctxRevoke: ctxDetachedTaken,
		ctxTake: ctxDetachedTaken, ctxReset: ctxDetachedTaken, ctxInit: ctxOwn,
	},
}

func (ctx *RequestCtx) loadPhase() ctxPhase { return ctxPhase(ctx.phase.Load()) }

// move applies the event. timeoutMu is held.
func (ctx *RequestCtx) move(e ctxEvent) {
	next := ctxMoves[ctx.loadPhase()][e]
	if next == ctxNoPhase {
		panic("fasthttp: a context gets an event that its phase excludes")
	}
	ctx.phase.Store(uint32(next))
}

// resetPhase applies ctxReset.
func (ctx *RequestCtx) resetPhase() {
	ctx.timeoutMu.Lock()
	defer ctx.timeoutMu.Unlock()
	ctx.move(ctxReset)
}

// timedOut reports whether the client gets timeoutResponse instead of Response, so that the
// server does not reuse the context. Any goroutine may call it. Unless it holds timeoutMu the
// answer may be about to change to true.
func (ctx *RequestCtx) timedOut() bool { return ctx.loadPhase() > ctxRevoked }

// isLate reports whether the client gets a response other than the context's. timeoutMu is held.
func (ctx *RequestCtx) isLate() bool { return ctx.loadPhase() != ctxOwn }

// isRevoked reports whether the context was lent to a late run, or within one, and no TimeoutError
// method was called.
func (p ctxPhase) isRevoked() bool { return p == ctxRevoked || p == ctxLate || p == ctxLateTaken }

// isDetached reports whether a TimeoutError method has left the context to the application.
func (p ctxPhase) isDetached() bool { return p == ctxDetached || p == ctxDetachedTaken }

// isTaken reports whether the response to the client was taken from timeoutResponse.
func (p ctxPhase) isTaken() bool { return p == ctxLateTaken || p == ctxDetachedTaken }

// ownsConn reports whether the connection serves this request. A request that has timed out
// must leave it to the next one. timeoutMu is held.
func (ctx *RequestCtx) ownsConn() bool { return ctx.exchange != nil && !ctx.isLate() }

// lendsBody reports whether a late run within a TimeoutHandler still has the body, while the
// handlers around it have Response. Only the goroutine that serves the request calls it.
func (ctx *RequestCtx) lendsBody() bool { return ctx.lateRun != nil }

// acquireCtx returns a context for a request of c.
func (s *Server) acquireCtx(c *engine.Conn) *RequestCtx {
	ctx := s.ctxs.Get().(*RequestCtx)
	if ctx.s != s {
		ctx.s, ctx.initLogger = s, nil
		ctx.Request.Header.head.State = s.set.request
		s.configureResponse(&ctx.Response)
	}
	ctx.serveOn(c)
	ctx.used = true
	return ctx
}

// releaseCtx takes back a context.
func (s *Server) releaseCtx(ctx *RequestCtx) {
	if s.cleanCtx(ctx) {
		s.ctxs.Put(ctx)
	}
}

// cleanCtx prepares a context for another request. It returns false if the context must
// not be reused.
func (s *Server) cleanCtx(ctx *RequestCtx) bool {
	if ctx.timedOut() {
		// the handler may still use it
		ctx.endShutdownFuncs()
		return false
	}
	if ctx.used {
		ctx.reset()
	}
	ctx.Request.Header.head.Shrink()
	ctx.Response.Header.head.Shrink()
	ctx.c = nil
	if ctx.exchange != nil {
		ctx.setExchange(nil)
	}
	return true
}

// reset makes the context ready for the next request of its connection.
func (ctx *RequestCtx) reset() {
	if ctx.onShutdown != nil {
		ctx.endShutdownFuncs()
	}
	ctx.Request.closeValues()
	if bufpool.Poisons {
		ctx.Request.poison()
		ctx.Response.poison()
	}
	ctx.used = false
	ctx.Request.KeepBodyBuffer = false
	ctx.Response.KeepBodyBuffer = false
	if ctx.Request.source != nil {
		// the handler may have put another stream in its place
		ctx.Request.closeSource()
		ctx.Request.source = nil
	}
	ctx.Request.Header.head.Reset(header.NoDefaultDate)
	ctx.Request.resetExceptHeader()
	ctx.Response.Header.head.Reset(header.NoDefaultDate)
	ctx.Response.Header.head.Status = 0
	ctx.Response.resetExceptHeader()
	ctx.receivedAt, ctx.initTime = clock.Moment{}, time.Time{}
	// pointers are only written if they must be: each write may need a write barrier
	if ctx.remoteAddr != nil {
		ctx.remoteAddr = nil
	}
	if ctx.hijack != nil {
		ctx.hijack, ctx.switched = nil, nil
	}
	if ctx.watch.Load() != nil {
		ctx.watch.Store(nil)
	}
	if ctx.content != nil {
		ctx.content = nil
	}
	if ctx.run != nil {
		ctx.releaseRuns()
	}
	if ctx.lateRun != nil {
		ctx.lateRun = nil
	}
	if ctx.loadPhase() != ctxOwn {
		ctx.resetPhase()
	}
	ctx.fullDuplex = false
	ctx.hijackNoResponse, ctx.hijackDropped, ctx.hijackImmediately, ctx.hijackReleases = false, false, false, false
	if ctx.s != nil {
		ctx.Request.Header.head.State = ctx.s.set.request
		ctx.s.configureResponse(&ctx.Response)
	}
}

// hasClosers reports whether reset may call methods of the application, which close its values and
// streams.
func (ctx *RequestCtx) hasClosers() bool {
	req := &ctx.Request
	return len(req.values) > 0 || req.source != nil || req.body.Stream != nil || ctx.Response.body.Stream != nil
}

// configureResponse puts the settings of the server into a response that was reset.
func (s *Server) configureResponse(resp *Response) {
	h := &resp.Header
	h.head.State = s.set.response
	h.head.ServerName = s.name
}

// runPhase is the phase of a timedRun. timeoutMu of its context guards it.
type runPhase uint8

const (
	runRuns     runPhase = iota // the handler runs, and its caller waits for it
	runReturned                 // it has returned in time, and its caller continues with its changes
	runLate                     // it has timed out, and its caller has continued without it
	runLeft                     // it has timed out, and has returned
	runPhases
)

// runChanges has, for each phase of a run, the set of phases that may follow it, as bits.
var runChanges = [runPhases]uint8{
	runRuns:     1<<runReturned | 1<<runLate,
	runReturned: 0,
	runLate:     1 << runLeft,
	runLeft:     0,
}

// change changes the phase of the run. timeoutMu of its context is held.
func (r *timedRun) change(to runPhase) {
	if runChanges[r.phase]&(1<<to) == 0 {
		panic("fasthttp: a run changes to a phase that cannot follow")
	}
	r.phase = to
}

// isOver reports whether the handler has returned.
func (p runPhase) isOver() bool { return p == runReturned || p == runLeft }

// isLate reports whether the handler has timed out.
func (p runPhase) isLate() bool { return p == runLate || p == runLeft }

// WatchDisconnect makes Done and Err also report that the client has ended the connection while
// the handler runs, or while its body stream is sent. Without it they report only a shutdown
// of the server. The handler must cancel contexts derived from ctx before it returns.
//
// A client that only ends its sending side counts as gone, as with net/http; EndedSending
// distinguishes the two. If the handler has timed out, Done is closed when the client gets
// another response.
//
// On the event engine watching costs next to nothing. On the portable engine it costs a
// goroutine, which reads from the connection. There, the disconnect of a client is not
// detected after it has sent its next request, nor while its body is still arriving as a
// stream. A TLS client may send close_notify and keep the underlying connection open. The
// event engine does not detect that in the same two cases, nor if the client pads its TLS
// records. It always detects that the connection, or the client's side of it, was closed.
//
// An HTTP/2 client cancels a single request by resetting its stream. That is always detected,
// at no cost.
//
// WatchDisconnect does nothing unless ctx belongs to a running handler of a server.
// Server.CancelOnDisconnect has the same effect for all requests.
func (ctx *RequestCtx) WatchDisconnect() { ctx.watchClient() }

// watchClient is WatchDisconnect, and returns the watch of the request, or nil if there cannot be one.
func (ctx *RequestCtx) watchClient() *watch.Watch {
	ctx.timeoutMu.Lock()
	defer ctx.timeoutMu.Unlock()
	w := ctx.watched(true)
	if w != nil && ctx.ownsConn() {
		ctx.exchange.t.watchPeer(w)
	}
	return w
}

// watched returns the watch of the request, or nil if there cannot be one. If arm is set it
// arms the watch. timeoutMu is held.
func (ctx *RequestCtx) watched(arm bool) *watch.Watch {
	w, answered := ctx.watch.Load(), false
	switch {
	case w != nil:
	case ctx.exchange != nil:
		// the client has no response yet
		w = ctx.exchange.requestWatch()
		ctx.watch.Store(w)
	case ctx.isLate() && ctx.s != nil:
		w, answered = ctx.ownWatch(), true
	default:
		return nil
	}
	if arm {
		w.Arm()
	}
	if answered {
		ctx.s.watches.Abandon(w)
	}
	return w
}

// ownWatch returns the context's own watch. The first call creates it.
func (ctx *RequestCtx) ownWatch() *watch.Watch {
	if w := ctx.watch.Load(); w != nil {
		return w
	}
	w := watch.New()
	if !ctx.watch.CompareAndSwap(nil, w) {
		return ctx.watch.Load()
	}
	ctx.s.watches.Add(w)
	if ctx.s.conns.Stopping() {
		w.Cancel()
	}
	return w
}

// setExchange sets the exchange of the context's request, which may be nil. It needs the lock
// only if the server watches all clients: otherwise late calls of Done do not read the
// exchange.
func (ctx *RequestCtx) setExchange(x *exchange) {
	if ctx.s != nil && ctx.s.CancelOnDisconnect {
		ctx.lockExchange(x)
		return
	}
	ctx.exchange = x
}

// lockExchange is setExchange with the lock.
func (ctx *RequestCtx) lockExchange(x *exchange) {
	ctx.timeoutMu.Lock()
	ctx.exchange = x
	ctx.timeoutMu.Unlock()
}

// serveOn makes the context serve requests of c.
func (ctx *RequestCtx) serveOn(c *engine.Conn) {
	ctx.c = c
	if ctx.service.Load() != c.Service {
		ctx.service.Store(c.Service)
	}
}

// endExchange removes the exchange from a context whose handler has returned. After it, the
// handler's other goroutines, such as the producer of a stream, cannot start to watch the
// client, since nothing would end that watch.
func (ctx *RequestCtx) endExchange() {
	ctx.timeoutMu.Lock()
	ctx.exchange = nil
	ctx.timeoutMu.Unlock()
}

// endExchanges removes the exchange, which is about to send a response, from ctx and from all
// contexts lent from it, whose handlers may still run. If one of these handlers starts to watch
// the client later, its watch is canceled at once, since the client has another response.
func (ctx *RequestCtx) endExchanges() {
	ctx.timeoutMu.Lock()
	defer ctx.timeoutMu.Unlock()
	ctx.exchange = nil
	for run := range ctx.runs() {
		run.ctx.endExchanges()
	}
}

// setStreaming sets the exchange that sends the body stream of ctx, or nil.
func (ctx *RequestCtx) setStreaming(x deadliner) {
	ctx.timeoutMu.Lock()
	ctx.streaming = x
	ctx.timeoutMu.Unlock()
}

// AfterFunc calls f in its own goroutine when the Done channel is closed. The returned function
// stop cancels that, and reports whether it has prevented the call. f is not called after the
// handler has returned; if the response is a stream, after that was sent; or after its
// HijackHandler has returned. The server logs a panic of f.
//
// Package context uses AfterFunc for contexts derived from ctx. So they need no goroutine, and
// do not use ctx after it belongs to another request.
func (ctx *RequestCtx) AfterFunc(f func()) (stop func() bool) {
	if ctx.s != nil && ctx.s.bare && ctx.watch.Load() == nil {
		// the Done channel of a context without a server is never closed: a goroutine
		// would wait for it forever
		var stopped atomic.Bool
		return func() bool { return !stopped.Swap(true) }
	}
	done := ctx.Done() // also starts to watch the client if CancelOnDisconnect is set
	ctx.timeoutMu.Lock()
	w := ctx.watched(false)
	ctx.timeoutMu.Unlock()
	if ctx.s != nil {
		f = ctx.caught(f, "a function given to AfterFunc")
	}
	if w == nil {
		return context.AfterFunc(onlyDone{done}, f)
	}
	return w.AfterFunc(f)
}

// onlyDone is a context canceled by the closing of a channel.
type onlyDone struct{ done <-chan struct{} }

func (o onlyDone) Deadline() (deadline time.Time, ok bool) { return time.Time{}, false }

func (o onlyDone) Done() <-chan struct{} { return o.done }

func (o onlyDone) Value(any) any { return nil }

func (o onlyDone) Err() error {
	select {
	case <-o.done:
		return context.Canceled
	default:
		return nil
	}
}

// resetCtx prepares the context for the next request, or drops it if it cannot be reused.
func (x *h1Exchange) resetCtx() {
	if !x.mayReuseCtx() {
		x.discardCtx()
		return
	}
	source := x.ctx.Request.source
	x.ctx.reset()
	if source != nil {
		x.reclaim(source)
	}
}

// Done returns a channel closed when the server shuts down and, if the client is
// watched, when the client disconnects; see WatchDisconnect. It is nil for a context without a
// server.
//
// Unlike net/http, a graceful shutdown cancels the contexts of running requests, so that
// endless streams stop. Shutdown still waits for the handlers. Calls that a handler makes with
// ctx, or with a context derived from it, fail then; a call that must be completed needs
// another context. With AfterDisconnect a handler can make one that only a disconnect of the
// client cancels: the function within of the program examples/app does that.
//
// Goroutines that the handler has started, such as database/sql's, may call Done and
// Err at any time. After the request was handled, Done and Err report on the server and on the
// request to which the context then belongs. A goroutine that needs to know the end of this
// request needs a context that the handler derives, and cancels before it returns.
func (ctx *RequestCtx) Done() <-chan struct{} {
	service := ctx.service.Load()
	if service == nil {
		return nil
	}
	if ctx.s.CancelOnDisconnect {
		ctx.WatchDisconnect()
	}
	if w := ctx.watch.Load(); w != nil {
		return w.Done()
	}
	return service.Done()
}

// Err returns the error context.Canceled after the Done channel is closed, and nil before.
func (ctx *RequestCtx) Err() error {
	select {
	case <-ctx.Done():
		return context.Canceled
	default:
		return nil
	}
}

// OnShutdown makes a shutdown of the server call f, in a goroutine, as soon as it begins.
// Shutdown waits until f has returned, ShutdownWithContext until its context ends. f is for
// requests that last long, such as streams of events, and hijacked connections, for which
// Shutdown does not wait otherwise: f asks the peer, or the handler, to end, and may wait
// for that. See Done for a channel that a shutdown closes.
//
// The context passed to f is canceled when the context of the shutdown ends, when f returns,
// and when the request ends: when its response was sent, or when its HijackHandler returns.
// f is not called after the end of the request, and not more than once. If the server shuts
// down already, OnShutdown calls f at once, in a goroutine.
//
// stop makes f not be called. It reports whether it has done so: it returns false if f was
// called, or the request has ended. It does not wait for f, and may be called at any time
// by any goroutine.
//
// If ctx does not belong to a server, or the client has got another response since the
// handler has timed out, f is never called. f must not use ctx unless the request is known
// to last as long.
func (ctx *RequestCtx) OnShutdown(f func(context.Context)) (stop func() bool) {
	ctx.timeoutMu.Lock()
	defer ctx.timeoutMu.Unlock()
	s, service := ctx.s, ctx.service.Load()
	if s == nil || s.bare || ctx.c == nil || service == nil || ctx.isLate() {
		return func() bool { return false }
	}
	ctx.onShutdown = s.onStop.Add(func(shutdown context.Context) {
		defer s.catchPanic("a function given to OnShutdown")
		f(shutdown)
	}, ctx.c.ID, ctx.onShutdown, service.Done())
	return ctx.onShutdown.Remove
}

// endShutdownFuncs ends the functions given to OnShutdown, since the request ends.
func (ctx *RequestCtx) endShutdownFuncs() { ctx.takeShutdownFuncs().End() }

// takeShutdownFuncs removes the functions given to OnShutdown from the context, and from the
// contexts lent from it.
func (ctx *RequestCtx) takeShutdownFuncs() *watch.Func {
	ctx.timeoutMu.Lock()
	defer ctx.timeoutMu.Unlock()
	r := ctx.onShutdown
	ctx.onShutdown = nil
	for run := range ctx.runs() {
		r = run.ctx.takeShutdownFuncs().After(r)
	}
	return r
}

// adoptShutdownFuncs adds functions that takeShutdownFuncs has removed from another context of the
// request, of which r is the last one, or nil.
func (ctx *RequestCtx) adoptShutdownFuncs(r *watch.Func) {
	if r == nil {
		return
	}
	ctx.timeoutMu.Lock()
	defer ctx.timeoutMu.Unlock()
	ctx.onShutdown = r.After(ctx.onShutdown)
}
