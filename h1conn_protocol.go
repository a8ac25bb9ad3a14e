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
	size := h.s.set.readSize
	switch {
	case h.conn.Reading() == http1.ReadBody && h.x.recv.decoder.Left() > bodySpace:
		size = max(size, bodySpace)
	case h.filled && !h.link.KeepsSpace():
		size = max(size, burstSpace)
	default:
		h.filled = false
	}
	if h.in == nil {
		h.in = bufpool.Get(size)
	} else if cap(h.in.B) < size && (h.filled || h.drained()) {
		h.moveInput(size)
	}
	h.filled = false
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

// spaceToWaitWith is Space for a goroutine that holds it while it waits: no more than usual,
// however fast the last bytes came.
func (h *h1Conn) spaceToWaitWith() []byte {
	h.filled = false
	if h.in != nil && cap(h.in.B) < bodySpace {
		h.giveSpace()
	}
	return h.Space()
}

// moveInput moves the bytes that are not consumed to another buffer of this size, for
// which they must not be too many.
func (h *h1Conn) moveInput(size int) {
	to := bufpool.Get(size)
	to.B = append(to.B, h.pending()...)
	bufpool.Put(h.in)
	h.in, h.read = to, 0
}

// Received implements engine.Protocol.
func (h *h1Conn) Received(n int, at time.Duration) {
	if h.x.held != nil && !h.x.held.Resumed() {
		h.InputEnded(ErrRequestBodyMemory)
		return
	}
	h.in.B = h.in.B[:len(h.in.B)+n]
	h.filled = len(h.in.B) == cap(h.in.B)
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
	if h.conn.Reading() == http1.ReadEnded && h.flushThen(engine.Close) == engine.Close && !isCommonRead(err) {
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
	h.filled = false
	h.giveSpace()
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

// giveSpace releases a buffer that is larger than usual while no bytes come. The first bytes
// of a request move to a smaller one: a peer that has sent much does not hold more memory
// with them than any other.
func (h *h1Conn) giveSpace() {
	usual := h.s.set.readSize
	if h.in == nil || cap(h.in.B) < 2*usual {
		return
	}
	if h.drained() {
		bufpool.Put(h.in)
		h.in, h.read = nil, 0
	} else if size := max(usual, len(h.pending())+minSpace); cap(h.in.B) >= 2*size {
		h.moveInput(size)
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
	h.x.abandon()
}
