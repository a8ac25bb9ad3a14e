package fasthttp

import (
	"context"
	"sync"
	"time"
)

// watch is a request that may end early: done is closed when the server or,
// where that is watched, the client goes away while the handler runs.
type watch struct {
	done chan struct{}

	mu     sync.Mutex
	linked bool // the client is watched
	ended  bool // done is closed
	half   bool // that is because the client has ended its sending side
	over   bool // the request was handled: done will not be closed any more
	after  map[*func()]struct{}
}

// end closes done, unless the request was handled.
func (w *watch) end() { w.endAs(false) }

// endAs is end, where half says that the client may still read the response.
func (w *watch) endAs(half bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended || w.over {
		return
	}
	w.ended, w.half = true, half
	close(w.done)
	for f := range w.after {
		go (*f)()
	}
	w.after = nil
}

// PeerGone implements engine.Watcher.
func (w *watch) PeerGone(half bool) { w.endAs(half) }

// finish makes sure that done is not closed from now on. It is false where it
// is closed already: somebody may be about to ask the context for Err then.
func (w *watch) finish() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = !w.ended
	if w.over {
		w.after = nil
	}
	return w.over
}

// link reports whether the caller is the one to have the client watched.
func (w *watch) link() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	first := !w.linked
	w.linked = true
	return first
}

// watchSet is the watches of a server, which a shutdown ends.
type watchSet struct {
	mu  sync.Mutex
	all map[*watch]struct{}
}

func (s *watchSet) add(w *watch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = make(map[*watch]struct{})
	}
	s.all[w] = struct{}{}
}

func (s *watchSet) remove(w *watch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, w)
}

func (s *watchSet) endAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for w := range s.all {
		w.end()
	}
}

// WatchDisconnect makes Done and Err tell when the client ends the connection
// while the handler runs; without it they tell of a shutdown of the server
// only. A context that is derived from ctx must be cancelled before the handler
// returns.
//
// A client that only ends its sending side counts as gone, as it does for
// net/http; EndedSending tells which it is. For a handler that has timed out Done is
// closed when its client gets another answer.
//
// On the event engine watching costs next to nothing. On the portable one it costs a
// goroutine, which reads from the connection: a client that has sent its next request
// already is not watched any more, and neither is one whose body is still arriving as a
// stream.
//
// It does nothing for a context that is not in the hands of a server's handler.
// Server.CancelOnDisconnect does the same for all requests.
func (ctx *RequestCtx) WatchDisconnect() {
	ctx.late.Lock()
	defer ctx.late.Unlock()
	if w := ctx.watched(); w != nil && w.link() && ctx.ownsConn() {
		ctx.responder.watchPeer(w)
	}
}

// ownsConn reports whether the connection is at work for this request. One that
// has timed out must leave it to the next. late is held.
func (ctx *RequestCtx) ownsConn() bool {
	return ctx.responder != nil && ctx.timeoutResponse.Load() == nil
}

// watched returns the watch of the request, or nil where there cannot be one.
// late is held.
func (ctx *RequestCtx) watched() *watch {
	if w := ctx.watch.Load(); w != nil {
		return w
	}
	if !ctx.ownsConn() {
		return nil
	}
	w := &watch{done: make(chan struct{})}
	if !ctx.watch.CompareAndSwap(nil, w) {
		return ctx.watch.Load()
	}
	ctx.s.watches.add(w)
	if ctx.s.conns.Stopping() {
		w.end()
	}
	return w
}

// AfterFunc arranges for f to be called in a goroutine of its own when the
// channel of Done is closed. The function that it returns takes that back, and
// reports whether it was in time. f is not called any more once the handler has
// returned.
//
// Package context uses it for contexts that are derived from ctx, which
// therefore cost no goroutine, and do not ask ctx anything once it belongs to
// another request.
func (ctx *RequestCtx) AfterFunc(f func()) (stop func() bool) {
	done := ctx.Done() // has the client watched where that is wanted
	ctx.late.Lock()
	w := ctx.watched()
	ctx.late.Unlock()
	if w == nil {
		return context.AfterFunc(onlyDone{done}, f)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		go f()
		return func() bool { return false }
	}
	if w.after == nil {
		w.after = make(map[*func()]struct{})
	}
	w.after[&f] = struct{}{}
	return func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		_, inTime := w.after[&f]
		delete(w.after, &f)
		return inTime
	}
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

// resetCtx makes the context ready for the next request. One whose channel was
// closed is left to those who wait for that, and may ask it why.
func (x *exchange) resetCtx() {
	if w := x.ctx.watch.Load(); w != nil && !w.finish() {
		x.ctx.discard()
		x.ctx = nil
		return
	}
	x.ctx.reset()
}

// Done returns a channel that is closed when the server shuts down and, where
// the client is watched, when that goes away; see WatchDisconnect. It is nil for
// a context without a server.
func (ctx *RequestCtx) Done() <-chan struct{} {
	if ctx.c == nil {
		return nil
	}
	if ctx.s != nil && ctx.s.CancelOnDisconnect {
		ctx.WatchDisconnect()
	}
	if w := ctx.watch.Load(); w != nil {
		return w.done
	}
	return ctx.c.Done
}

// Err returns the error context.Canceled once the channel of Done is closed, and nil
// before.
func (ctx *RequestCtx) Err() error {
	done := ctx.Done()
	if done == nil && ctx.s != nil {
		// somebody still asks after the request has ended
		done = ctx.s.conns.Done()
	}
	select {
	case <-done:
		return context.Canceled
	default:
		return nil
	}
}
