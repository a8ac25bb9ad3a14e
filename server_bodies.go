package fasthttp

import (
	"math"
	"net"
	"runtime/debug"

	"github.com/valyala/fasthttp/internal/http1"
	"github.com/valyala/fasthttp/internal/ioread"
)

// ErrRequestBodyMemory says that a request was refused since the bodies that a
// Server holds have reached MaxRequestBodyMemory.
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
func (x *h1Exchange) bodyRoom(size int) int {
	if x.h.link.KeepsSpace() && (x.h.in != nil && cap(x.h.in.B) >= bodySpace || x.recv.decoder.Left() > bodySpace) {
		size += bodySpace
	}
	return size
}

// growBody gives the body of the current request a buffer of the size. The buffer is
// counted before it is allocated, and not allocated if there is no room.
func (x *h1Exchange) growBody(size int) error {
	if err := x.holdBody(x.bodyRoom(size), 0, false); err != nil {
		return err
	}
	x.s.bodies.Tidy()
	x.ctx.Request.body.grow(size)
	return nil
}

// awaitBody reads more of a request from its connection, in a goroutine that waits
// for it. Meanwhile a stalled body may be ended to make room for other requests.
func (x *h1Exchange) awaitBody(conn net.Conn) (int, error) {
	h := x.held
	if h == nil {
		return ioread.Some(conn, x.h.spaceToWaitWith())
	}
	h.Block()
	n, err := ioread.Some(conn, x.h.spaceToWaitWith())
	if !h.Resume() {
		return 0, ErrRequestBodyMemory
	}
	return n, err
}

// InterruptBody implements bodymem.Owner.
func (x *h1Exchange) InterruptBody() {
	x.h.link.Interrupt()
	// it may take its time until the goroutine gets a processor
	x.ctx.Request.body.drop()
}

// ClaimStalledBody implements bodymem.Owner.
func (x *h1Exchange) ClaimStalledBody() (end func()) {
	if stop := x.h.link.ClaimStalled(x.h); stop != nil {
		end = func() { stop(ErrRequestBodyMemory) }
	}
	return end
}
