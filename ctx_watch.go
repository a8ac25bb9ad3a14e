package fasthttp

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp/internal/engine"
	"github.com/valyala/fasthttp/internal/watch"
)

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
func (ctx *RequestCtx) WatchDisconnect() {
	ctx.timeoutMu.Lock()
	defer ctx.timeoutMu.Unlock()
	if w := ctx.watched(true); w != nil && ctx.ownsConn() {
		ctx.exchange.t.watchPeer(w)
	}
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
// handler has returned, or, if the response is a stream, after that was sent.
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
// Goroutines that the handler has started, such as those of database/sql, may call Done and
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
	r := s.onStop.add(func(shutdown context.Context) {
		defer s.catchPanic("a function given to OnShutdown")
		f(shutdown)
	}, ctx.c.ID, service)
	r.next, ctx.onShutdown = ctx.onShutdown, r
	return r.remove
}

// endShutdownFuncs ends the functions given to OnShutdown, since the request ends.
func (ctx *RequestCtx) endShutdownFuncs() { ctx.takeShutdownFuncs().end() }

// takeShutdownFuncs removes the functions given to OnShutdown from the context.
func (ctx *RequestCtx) takeShutdownFuncs() *shutdownFunc {
	ctx.timeoutMu.Lock()
	defer ctx.timeoutMu.Unlock()
	r := ctx.onShutdown
	ctx.onShutdown = nil
	return r
}

// adoptShutdownFuncs adds functions that takeShutdownFuncs has removed from another context of the
// request, of which r is the last one, or nil.
func (ctx *RequestCtx) adoptShutdownFuncs(r *shutdownFunc) {
	if r == nil {
		return
	}
	first := r
	for first.next != nil {
		first = first.next
	}
	ctx.timeoutMu.Lock()
	defer ctx.timeoutMu.Unlock()
	first.next, ctx.onShutdown = ctx.onShutdown, r
}
