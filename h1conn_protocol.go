package fasthttp

import (
	"io"
	"net"
	"time"

	"github.com/valyala/fasthttp/internal/bufpool"
	"github.com/valyala/fasthttp/internal/clock"
	"github.com/valyala/fasthttp/internal/engine"
	"github.com/valyala/fasthttp/internal/http1"
)

var _ engine.Protocol = (*h1Conn)(nil)

// Space implements engine.Protocol: at least a minimum of free bytes after the
// received ones.
func (h *h1Conn) Space() []byte {
	large := h.conn.Reading() == http1.ReadBody && h.x.recv.decoder.Left() > bodySpace
	if large && h.in != nil && h.read == len(h.in.B) && cap(h.in.B) < bodySpace {
		bufpool.Put(h.in)
		h.in, h.read = nil, 0
	}
	if h.in == nil {
		size := h.s.set.readSize
		if large {
			size = max(size, bodySpace)
		}
		h.in = bufpool.Get(size)
	}
	b := h.in
	if h.read > 0 && cap(b.B)-len(b.B) < cap(b.B)/2 {
		b.B = b.B[:copy(b.B, b.B[h.read:])]
		h.read = 0
	}
	if cap(b.B)-len(b.B) < minSpace {
		b.Grow(max(cap(b.B), minSpace))
	}
	return b.B[len(b.B):cap(b.B)]
}

// Received implements engine.Protocol.
func (h *h1Conn) Received(n int, at time.Duration) {
	if h.x.held != nil && !h.x.held.Resumed() {
		h.InputEnded(ErrRequestBodyMemory)
		return
	}
	h.in.B = h.in.B[:len(h.in.B)+n]
	if h.conn.Reading() == http1.ReadIdle {
		if h.c.IsPinned() {
			h.forgetDeadlines()
		}
		h.conn.SetReading(http1.ReadWoken)
	}
	h.now = clock.MomentOf(at)
}

// InputEnded implements engine.Protocol. A request that has begun is refused.
func (h *h1Conn) InputEnded(err error) {
	if h.x.held != nil && !h.x.held.Resumed() {
		err = ErrRequestBodyMemory
	}
	if h.conn.Reading() == http1.ReadEnded {
		return
	}
	silent := h.conn.Idle() && h.c.NeverBegan() && isTimeout(err)
	if silent {
		h.x.begin()
	}
	if h.conn.Idle() {
		h.conn.EndReading()
		if err != io.EOF {
			h.s.logReadError(h.c, err)
		}
		h.inputFault(err)
		return
	}
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	var next engine.Action
	defer func() { h.contain(recover(), &next) }()
	_, _ = h.x.refuse(err)
	// a peer that has sent nothing has nothing on its way
	if silent && h.conn.Lingers() {
		h.conn.SetLife(http1.LifeEnding)
	}
	h.inputFault(err)
}

// inputFault makes err the fault that has ended the connection, unless the peer gets
// a response.
func (h *h1Conn) inputFault(err error) {
	if !isCommonRead(err) && h.conn.Reading() == http1.ReadEnded && h.flushThen(engine.Close) == engine.Close {
		h.fault = err
	}
}

// Step implements engine.Protocol: a panic in one of the application's hooks
// ends the connection, not the process.
func (h *h1Conn) Step() (next engine.Action) {
	panicked := true
	defer func() {
		if panicked {
			h.contain(recover(), &next)
		}
	}()
	next = h.advance()
	panicked = false
	return next
}

// Output implements engine.Protocol.
func (h *h1Conn) Output() (head, tail []byte, file *engine.FilePart) {
	if h.file.File != nil {
		file = &h.file
	}
	return h.out.B, h.tail, file
}

// Written implements engine.Protocol.
func (h *h1Conn) Written(n int64, err error) {
	h.taken(n)
	switch {
	case err == nil:
		if len(h.out.B) == 0 && len(h.tail) == 0 && h.file.Length == 0 {
			h.flushed()
		}
	case err == io.ErrUnexpectedEOF && h.file.File != nil:
		h.x.fileEnded()
		h.flushed()
	default:
		h.x.cutOff(err)
	}
}

// taken says that n bytes of the output were written.
func (h *h1Conn) taken(n int64) {
	if n < int64(len(h.out.B)) {
		h.out.B = h.out.B[:copy(h.out.B, h.out.B[n:])]
		return
	}
	n -= int64(len(h.out.B))
	h.out.B = h.out.B[:0]
	if len(h.tail) > 0 {
		h.tail = h.tail[n:]
		return
	}
	h.file.Offset += n
	h.file.Length -= n
}

// Idle implements engine.Protocol: it reports whether no request has begun.
func (h *h1Conn) Idle() bool {
	return h.conn.Idle() && h.drained()
}

// Wait implements engine.Protocol.
func (h *h1Conn) Wait(w engine.Wait) (until time.Time) {
	switch w {
	case engine.WaitRequest, engine.WaitBare:
		h.rest(w == engine.WaitBare)
	case engine.WaitRoom:
		h.x.limitResponse()
		return h.writeUntil
	case engine.WaitInput:
		if h.timing.over() {
			return engine.Passed
		}
		if !h.link.KeepsSpace() {
			h.giveSpace()
		} else if h.x.held != nil {
			h.x.held.Block()
		}
		h.x.limitRequest()
	}
	return h.readUntil
}

// rest releases memory that is not needed until the next request begins, and begins
// the time for that. Empty lines do not begin a new one.
func (h *h1Conn) rest(bare bool) {
	if h.conn.Reading() == http1.ReadWoken {
		h.conn.SetReading(http1.ReadIdle)
	}
	if ctx := h.x.ctx; ctx == nil || !h.keeps(ctx, bare) {
		h.restBare()
	}
	if h.in != nil && cap(h.in.B) >= bodySpace {
		h.giveSpace()
	}
	if bare {
		bufpool.Put(h.in)
		h.in, h.read = nil, 0
	}
	switch {
	case h.c.Requests > 0:
		h.timing = timesWait
		h.limitIdle(h.s.set.idleTimeout)
	case h.timing == timesWait && h.readUntil.IsZero():
		h.limitFirst()
	}
}

// keeps reports whether the connection keeps the context and the buffer for output while
// it waits. A few connections of a server do, where each has a goroutine anyway: that
// saves them the pools.
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
	if keepers.Load() >= maxKeepers || !h.link.KeepsSpace() {
		return false
	}
	if h.keeper = keepers.Add(1) <= maxKeepers; !h.keeper {
		keepers.Add(-1)
	}
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

// giveSpace releases the buffer for a large body while no bytes come.
func (h *h1Conn) giveSpace() {
	if h.in != nil && cap(h.in.B) >= bodySpace && len(h.in.B) == 0 {
		bufpool.Put(h.in)
		h.in = nil
	}
}

// Turn implements engine.Protocol. The turns of other connections may take as long as
// a response for which there is no room; the time of a body with a minimum rate goes
// on.
func (h *h1Conn) Turn() (w engine.Wait, until time.Time) {
	switch {
	case !h.conn.Begun() || h.timing == timesWait:
		h.x.limitResponse()
		return engine.WaitRoom, h.writeUntil
	case h.conn.Reading() == http1.ReadBody && h.x.pace.begun:
		// bytes that have come since the last wait count
		h.x.limitRequest()
		return engine.WaitInput, h.readUntil
	}
	return engine.WaitNone, time.Time{}
}

// Expired implements engine.Protocol. Bytes that come earn a body more time, if it
// has some left.
func (h *h1Conn) Expired() {
	h.timing = h.timing.expired(!h.x.pace.begun || h.x.pace.left <= 0 || passed(h.wholeUntil))
}

// HandOver implements engine.Protocol.
func (h *h1Conn) HandOver() (take func(nc net.Conn, err error)) {
	s := h.s
	var ahead []byte
	if rest := h.pending(); len(rest) > 0 {
		ahead = append(ahead, rest...)
	}
	ctx := h.x.letGo()
	return func(nc net.Conn, err error) {
		if err != nil {
			s.logger().Printf("fasthttp: cannot hand over a connection: %v", err)
			s.endHijacked(ctx, true)
			return
		}
		ctx.c.NC = nc
		go s.runHijacked(ctx, &hijackedConn{Conn: nc, ahead: ahead})
	}
}

// Abandoned implements engine.Protocol.
func (h *h1Conn) Abandoned() {
	h.endKeeping()
	h.x.dropBodyCount()
}
