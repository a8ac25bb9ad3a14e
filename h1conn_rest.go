package fasthttp

import (
	"github.com/valyala/fasthttp/internal/bufpool"
)

// This file says what a connection holds while it waits for a request, where that takes a
// goroutine: its h1Conn with the context if there are few connections, or else nothing but
// a buffer for what comes.

// hasMany reports whether there are more connections than can keep their contexts.
func (s *Server) hasMany() bool { return s.conns.Open() > maxKeepers }

// mayRest reports whether the connection, which waits for its next request, can do without
// h meanwhile. If bare is not set, it rather keeps h if there are few connections.
func (h *h1Conn) mayRest(bare bool) bool {
	return !h.keeper && h.c.Requests > 0 && !h.c.IsPinned() &&
		h.x.ctx != nil && h.x.ctx.timeoutResponse.Load() == nil && h.reusable() &&
		(bare || !h.becomeKeeper())
}

// letSpace gives the buffer for input, of the usual size, to the connection that is about to
// wait without h.
func (h *h1Conn) letSpace() *bufpool.Buffer {
	h.giveSpace()
	space := h.in
	if space == nil {
		return bufpool.Get(h.s.set.readSize)
	}
	h.in, h.read = nil, 0
	space.B = space.B[:0]
	bufpool.Poison(space.B)
	return space
}

// putAway takes h, which is reusable, from its connection, and keeps it for another one of
// the same server.
func (h *h1Conn) putAway() {
	s := h.s
	if h.x.ctx != nil && !s.cleanCtx(h.x.ctx) {
		h.x.ctx = nil
	}
	if h.out != nil {
		bufpool.Poison(h.out.B)
	}
	h.c, h.link = nil, nil
	s.rested.Put(h)
}

// restedConn returns an h1Conn that belongs to no connection, if possible one of putAway.
func (s *Server) restedConn() *h1Conn {
	if h, ok := s.rested.Get().(*h1Conn); ok {
		return h
	}
	return h1Conns.Get().(*h1Conn)
}

// keeps reports whether the connection keeps the context and the buffer for output while
// it waits. A few connections of a server do, where each has a goroutine anyway and there
// are not many of them: that saves them the pools.
func (h *h1Conn) keeps(ctx *RequestCtx, bare bool) bool {
	if bare || ctx.used || ctx.timeoutResponse.Load() != nil || h.out != nil && cap(h.out.B) > 2*h.s.set.writeSize {
		return false
	}
	if !h.keeper && !h.becomeKeeper() {
		return false
	}
	if h.out != nil {
		bufpool.Poison(h.out.B)
	}
	ctx.Request.Header.shrink()
	ctx.Response.Header.shrink()
	ctx.c = nil
	return true
}

// maxKeepers is how many connections of a server keep their contexts while they wait.
const maxKeepers = 128

// becomeKeeper makes the connection one of those that keep their contexts, if there are
// not enough of them.
func (h *h1Conn) becomeKeeper() bool {
	keepers := &h.s.keepers
	if keepers.Load() >= maxKeepers || !h.link.KeepsSpace() || h.s.hasMany() {
		return false
	}
	if h.keeper = keepers.Add(1) <= maxKeepers; !h.keeper {
		keepers.Add(-1)
	}
	h.c.Stays = h.keeper
	return h.keeper
}

// endKeeping makes room for another connection that keeps its context.
func (h *h1Conn) endKeeping() {
	if h.keeper {
		h.keeper = false
		h.s.keepers.Add(-1)
	}
}

// restBare releases the context and the buffer for output.
func (h *h1Conn) restBare() {
	if ctx := h.x.ctx; ctx != nil {
		if h.out != nil && ctx.spare == nil && cap(h.out.B) <= 2*h.s.set.writeSize {
			// one visit of a pool instead of two
			bufpool.Poison(h.out.B)
			ctx.spare, h.out = h.out, nil
		}
		h.s.releaseCtx(ctx)
		h.x.ctx = nil
	}
	if h.out != nil {
		bufpool.Put(h.out)
		h.out = nil
	}
}
