package fasthttp

import (
	"math"
	"net"
	"runtime"
	"runtime/debug"

	"github.com/valyala/fasthttp/internal/bodymem"
	"github.com/valyala/fasthttp/internal/http1"
	"github.com/valyala/fasthttp/internal/ioread"
)

// ErrRequestBodyMemory reports that a request was refused because the bodies held by a
// Server have reached MaxRequestBodyMemory.
var ErrRequestBodyMemory error = http1.ErrBodyMemory

// Small bodies, as most are, are not counted.

const (
	// defaultBodyMemory is how much all bodies may take, unless the memory limit of
	// the runtime is set.
	defaultBodyMemory = 1 << 30
	// uncountedBody is the size up to which a buffer is not counted.
	uncountedBody = 16 << 10
	// aheadRoom is the size over which a buffer is counted before it is allocated.
	aheadRoom = 64 << 10
	// bodyRetryAfter is in how many seconds a refused client may try again.
	bodyRetryAfter = "1"
)

// bodyMemoryLimit returns how many bytes the buffers of all bodies may have. By
// default there is room for the largest body, whose buffer may be twice its size.
func (s *Server) bodyMemoryLimit() int64 {
	switch {
	case s.MaxRequestBodyMemory > 0:
		return int64(s.MaxRequestBodyMemory)
	case s.MaxRequestBodyMemory < 0:
		return math.MaxInt64
	}
	limit := int64(defaultBodyMemory)
	if all := debug.SetMemoryLimit(-1); all < math.MaxInt64 {
		limit = all / 2
	}
	largest := int64(s.settings().maxBodySize)
	return max(limit, min(largest, math.MaxInt64/2)*2)
}

// bodyRoom returns how much memory the body of the current request takes if its
// buffer has this size. For a large body that includes the space for reading, if the
// engine holds it while it waits.
func (x *exchange) bodyRoom(size int) int {
	if x.link.KeepsSpace() && (x.in != nil && cap(x.in.B) >= bodySpace || x.recv.decoder.Left() > bodySpace) {
		size += bodySpace
	}
	return size
}

// holdBody counts the memory of the body of the current request, which has just
// received got bytes. A complete body cannot stall.
func (x *exchange) holdBody(room, got int, done bool) error {
	m := &x.s.bodies
	if !m.Fits(room) {
		return ErrBodyTooLarge
	}
	if x.held == nil {
		x.held = m.New(x, x.c.ID)
	}
	if !m.Hold(x.held, room, got, done) {
		return ErrRequestBodyMemory
	}
	return nil
}

// growBody gives the body of the current request a buffer of the size. The buffer is
// counted before it is allocated, and not allocated if there is no room.
func (x *exchange) growBody(size int) error {
	if err := x.holdBody(x.bodyRoom(size), 0, false); err != nil {
		return err
	}
	x.s.bodies.Tidy()
	x.ctx.Request.body.grow(size)
	return nil
}

// arrived records that the body has arrived, or is no longer awaited.
func (x *exchange) arrived() {
	if x.held != nil {
		x.s.bodies.Arrived(x.held)
	}
}

// dropBodyCount records that the body is no longer used.
func (x *exchange) dropBodyCount() {
	if h := x.held; h != nil {
		x.held = nil
		x.s.bodies.Drop(h)
	}
}

// leaveBodyCount counts the body until the context that keeps it is garbage.
func (x *exchange) leaveBodyCount(ctx *RequestCtx) {
	if h := x.held; h != nil {
		x.held = nil
		x.s.leaveBodyCount(ctx, h)
	}
}

func (s *Server) leaveBodyCount(ctx *RequestCtx, held *bodymem.Body) {
	runtime.AddCleanup(ctx, bodymem.Left.Drop, s.bodies.Leave(held))
}

// awaitBody reads more of a request from its connection, in a goroutine that waits
// for it. Meanwhile a stalled body may be ended to make room for other requests.
func (x *exchange) awaitBody(conn net.Conn) (int, error) {
	h := x.held
	if h == nil {
		return ioread.Some(conn, x.spaceToWaitWith())
	}
	h.Block()
	n, err := ioread.Some(conn, x.spaceToWaitWith())
	if !h.Resume() {
		return 0, ErrRequestBodyMemory
	}
	return n, err
}

// InterruptBody implements bodymem.Owner.
func (x *exchange) InterruptBody() {
	x.link.Interrupt()
	// the goroutine may not get a processor for a while
	x.ctx.Request.body.drop()
}

// ClaimStalledBody implements bodymem.Owner.
func (x *exchange) ClaimStalledBody() (end func()) {
	if stop := x.link.ClaimStalled(x.h1Conn); stop != nil {
		end = func() { stop(ErrRequestBodyMemory) }
	}
	return end
}
