package fasthttp

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp/internal/engine"
	"github.com/valyala/fasthttp/internal/watch"
)

// WatchDisconnect makes Done and Err report when the client ends the connection while
// the handler runs, or while its body stream is sent; without it they report only a
// shutdown of the server. A context that is derived from ctx must be cancelled before the
// handler returns.
//
// A client that only ends its sending side counts as gone, as it does for net/http;
// EndedSending reports which it is. If the handler has timed out, Done is closed when
// the client gets another answer.
//
// On the event engine watching costs next to nothing. On the portable engine it costs a
// goroutine, which reads from the connection: a client that has sent its next request
// already is not watched any more, and neither is one whose body is still arriving as a
// stream. A TLS client may say that it sends no more and keep the connection below open.
// On the event engine such a client is not seen in these two cases, nor if it pads its
// records. One that closes the connection, or its side of it, always is.
//
// A client of HTTP/2 that gives up a request says so, and goes on with the others of its
// connection: it is always seen, at no cost.
//
// It does nothing unless ctx belongs to a running handler of a server.
// Server.CancelOnDisconnect does the same for all requests.
func (ctx *RequestCtx) WatchDisconnect() {
	ctx.late.Lock()
	defer ctx.late.Unlock()
	if w := ctx.watched(true); w != nil && ctx.ownsConn() {
		ctx.exchange.t.watchPeer(w)
	}
}

// watched returns the watch of the request, or nil if there cannot be one; arm arms it. late
// is held.
func (ctx *RequestCtx) watched(arm bool) *watch.Watch {
	w, answered := ctx.watch.Load(), false
	switch {
	case w != nil:
	case ctx.exchange != nil:
		// the client has no answer yet
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

// ownWatch returns the watch that the context has, and gives it one if it has none.
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

// isLate reports whether the client gets another response than that of the context. late
// is held.
func (ctx *RequestCtx) isLate() bool {
	return ctx.lost || ctx.timeoutResponse.Load() != nil
}

// setExchange gives the context the exchange of its request, or none. Late calls of Done
// read it only if the server watches all clients.
func (ctx *RequestCtx) setExchange(x *exchange) {
	if ctx.s == nil || !ctx.s.CancelOnDisconnect {
		ctx.exchange = x
		return
	}
	ctx.late.Lock()
	ctx.exchange = x
	ctx.late.Unlock()
}

// serveOn makes the context that of a request of c.
func (ctx *RequestCtx) serveOn(c *engine.Conn) {
	ctx.c = c
	if ctx.service.Load() != c.Service {
		ctx.service.Store(c.Service)
	}
}

// endExchange takes the exchange away from a context whose handler has returned. What the
// handler has left to other goroutines, such as the producer of a stream, cannot begin to
// watch the client: nothing would end that watch.
func (ctx *RequestCtx) endExchange() {
	ctx.late.Lock()
	ctx.exchange = nil
	ctx.late.Unlock()
}

// endExchanges takes the exchange, which is about to answer, away from ctx and from all
// contexts that were lent from it, whose handlers may still run. If one of these begins to
// watch the client from now on, it is told at once that the client has another answer.
func (ctx *RequestCtx) endExchanges() {
	ctx.late.Lock()
	defer ctx.late.Unlock()
	ctx.exchange = nil
	for run := range ctx.runs() {
		run.ctx.endExchanges()
	}
}

// setStreaming says which exchange sends the body stream of ctx, if any.
func (ctx *RequestCtx) setStreaming(x *h2Exchange) {
	ctx.late.Lock()
	ctx.streaming = x
	ctx.late.Unlock()
}

// ownsConn reports whether the connection is at work for this request. One that
// has timed out must leave it to the next. late is held.
func (ctx *RequestCtx) ownsConn() bool { return ctx.exchange != nil && !ctx.isLate() }

// AfterFunc arranges for f to be called in a goroutine of its own when the
// channel of Done is closed. The function that it returns takes that back, and
// reports whether it was in time. f is not called any more once the handler has
// returned, or, if its response is a stream, once that was sent.
//
// Package context uses it for contexts that are derived from ctx, which
// therefore cost no goroutine, and do not ask ctx anything once it belongs to
// another request.
func (ctx *RequestCtx) AfterFunc(f func()) (stop func() bool) {
	if ctx.s != nil && ctx.s.bare && ctx.watch.Load() == nil {
		// the channel of a context without a server is never closed: a goroutine would
		// wait for it without an end
		var stopped atomic.Bool
		return func() bool { return !stopped.Swap(true) }
	}
	done := ctx.Done() // also begins to watch the client if CancelOnDisconnect is set
	ctx.late.Lock()
	w := ctx.watched(false)
	ctx.late.Unlock()
	if w == nil {
		return context.AfterFunc(onlyDone{done}, f)
	}
	return w.AfterFunc(f)
}

// onlyDone is a context that ends when a channel is closed.
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

// resetCtx makes the context ready for the next request, if it can serve that.
func (x *h1Exchange) resetCtx() {
	if !x.mayReuseCtx() {
		x.dropCtx()
		return
	}
	source := x.ctx.Request.source
	x.ctx.reset()
	if source != nil {
		x.reclaim(source)
	}
}

// Done returns a channel that is closed when the server shuts down and, if the client
// is watched, when the client goes away; see WatchDisconnect. It is nil for a context
// without a server.
//
// The context of a request of net/http does not end at a graceful shutdown. Here it does,
// so that streams without an end stop. Shutdown still waits for the handler: a call that
// the handler makes with ctx, or with a context derived from it, fails then, and one that
// must be completed needs another context. AfterDisconnect makes one that ends with the
// client only: the program examples/app does that (within).
//
// Goroutines that the handler has started, such as those of database/sql, may call Done and
// Err at any time. Once the request was handled, what these say is about the server, and
// about whatever request the context then belongs to: a goroutine that has to know of the
// end of this one needs a context that the handler derives, and cancels before it returns.
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

// Err returns the error context.Canceled once the channel of Done is closed, and nil
// before.
func (ctx *RequestCtx) Err() error {
	select {
	case <-ctx.Done():
		return context.Canceled
	default:
		return nil
	}
}
