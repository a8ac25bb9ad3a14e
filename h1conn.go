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

// h1Conn is a connection of a server that speaks HTTP/1: its input and output, its
// phases, and its deadlines. It serves one request after the other, each by its
// exchange, and is the engine.Protocol that an engine drives (h1conn_protocol.go).
//
// advance goes as far as the received bytes reach, and never waits for the peer.
//
// A connection has an h1Conn from a pool while a request is on its way; an idle
// connection has none.
type h1Conn struct {
	s    *Server
	c    *engine.Conn
	link engine.Link

	in   *bufpool.Buffer // received; the bytes before read are consumed
	read int
	out  *bufpool.Buffer // to be written
	tail []byte          // to be written behind out: a body that is not worth copying
	file engine.FilePart // to be sent behind out, by an engine that does so

	conn   http1.Conn
	timing timing // says to what readUntil belongs
	keeper bool   // it keeps its context while it waits
	filled bool   // the last read has filled its space, so more is likely to be there
	minor  uint8  // of HTTP/1.x, by which the request came

	head http1.Head // of the request that is being received, or was received last
	// readUntil and writeUntil are the deadlines that the server has set; wholeUntil
	// is the deadline of the current request, readUntil may be an earlier one.
	readUntil, writeUntil, wholeUntil time.Time

	turn  int          // requests served since the last flush
	fault error        // the error that ended the connection early
	now   clock.Moment // when the last bytes were received, if the engine has said or it was asked for

	x h1Exchange // that of the current request
}

const (
	// turnLimit is how many pipelined requests are served before their
	// responses are written and other connections get their turn.
	turnLimit = 64
	// flushSize is how many bytes of responses may wait for that.
	flushSize = 64 << 10
	// bodySpace is how much is read at a time of a body that is larger
	bodySpace = 64 << 10
	// burstSpace is how much an event loop reads at a time of requests that come faster than
	// they are read
	burstSpace = 16 << 10
)

// newH1Conn returns an h1Conn that belongs to no connection.
func newH1Conn() *h1Conn {
	h := new(h1Conn)
	h.x.h, h.x.t = h, &h.x
	return h
}

// clear resets h to its initial state.
func (h *h1Conn) clear() {
	spare := h.x.spare
	*h = h1Conn{}
	h.x.h, h.x.t, h.x.spare = h, &h.x, spare
}

// attach makes h serve a connection.
func (h *h1Conn) attach(s *Server, c *engine.Conn, l engine.Link) {
	h.s, h.c, h.link = s, c, l
	h.x.s, h.x.c = s, c
	c.RoomForEver = s.WriteTimeout <= 0 && s.HeaderReceived == nil
	h.x.recv.accept = s.AcceptTrailer
	h.head.KeepNames, h.head.Limits = s.DisableHeaderNamesNormalizing, s.set.limits
	if h.x.ctx != nil {
		h.x.ctx.serveOn(c)
	}
	if h.in != nil {
		h.in.B, h.read = h.in.B[:0], 0
	}
	if h.out != nil {
		h.out.B = h.out.B[:0]
	}
	h.tail, h.file = nil, engine.FilePart{}
	h.conn, h.timing = http1.Conn{}, timesWait
	h.turn, h.filled = 0, false
	h.fault = nil
	h.readUntil, h.writeUntil = time.Time{}, time.Time{}
	h.now = clock.Moment{}
	h.x.pace = pace{}
}

// reusable reports whether h can serve another connection of the same server as it
// is: its buffers have not grown much, and no handler still uses it.
func (h *h1Conn) reusable() bool {
	return !h.conn.Left() && (h.x.ctx == nil || !h.x.ctx.used) &&
		h.in != nil && cap(h.in.B) <= max(2*h.s.set.readSize, burstSpace) && (h.out == nil || cap(h.out.B) <= 2*h.s.set.writeSize)
}

// pending returns the bytes that were received and not yet consumed.
func (h *h1Conn) pending() []byte {
	if h.in == nil {
		return nil
	}
	return h.in.B[h.read:]
}

// drained reports whether all bytes that were received are consumed.
func (h *h1Conn) drained() bool { return h.in == nil || h.read == len(h.in.B) }

// consume consumes n of these bytes.
func (h *h1Conn) consume(n int) {
	h.read += n
	if h.read == len(h.in.B) {
		h.in.B = h.in.B[:0]
		h.read = 0
	}
}

// contain is deferred with the result of recover: it turns a panic of the handler into a
// response, and any other one into the end of the connection.
func (h *h1Conn) contain(p any, next *engine.Action) {
	// a nil panic value cannot be: the runtime replaces it
	if p == nil {
		return
	}
	if h.s.logPanic(h.c, p) {
		h.c.Abort()
	}
	if h.x.handling {
		h.x.handling = false
		*next = h.afterPanic()
		return
	}
	h.c.Abort()
	h.x.abandon()
	h.conn.EndReading()
	h.tail, h.file = nil, engine.FilePart{}
	if h.out != nil {
		h.out.B = h.out.B[:0]
	}
	*next = engine.Close
}

// afterPanic goes on with a request whose handler has panicked.
func (h *h1Conn) afterPanic() (next engine.Action) {
	defer func() { h.contain(recover(), &next) }()
	next, wait := h.x.answer(false)
	if wait && !h.conn.Left() {
		return next
	}
	return h.advance()
}

// advance goes as far as the received bytes reach.
func (h *h1Conn) advance() engine.Action {
	for {
		var next engine.Action
		var wait bool
		switch reading := h.conn.Reading(); {
		case h.conn.Left():
			return engine.Leave
		case reading == http1.ReadEnded:
			return h.flushThen(h.last())
		case h.conn.Writing() == http1.WriteQueued:
			return engine.Flush
		case reading == http1.ReadBody:
			next, wait = h.x.advanceBody()
		default:
			next, wait = h.x.advanceHead()
		}
		switch {
		case wait && !h.conn.Left():
			return next
		case h.conn.Idle() && h.drained():
			if next = h.flushThen(engine.Read); next == engine.Flush {
				next = engine.FlushRest
			}
			return next
		}
	}
}

// last returns the action for when all was written.
func (h *h1Conn) last() engine.Action {
	switch h.conn.Life() {
	case http1.LifeHandedOver:
		return engine.HandOver
	case http1.LifeLingering:
		return engine.Linger
	}
	return engine.Close
}

// flushThen asks for a flush if there is something to be flushed.
func (h *h1Conn) flushThen(next engine.Action) engine.Action {
	if h.out != nil && len(h.out.B) > 0 || len(h.tail) > 0 || h.file.File != nil {
		return engine.Flush
	}
	return next
}

// flushed says that out was written, and tail or file after it.
func (h *h1Conn) flushed() {
	h.turn = 0
	h.out.B = h.out.B[:0]
	if h.conn.Writing() == http1.WriteQueued {
		h.conn.SetWriting(http1.WriteIdle)
		h.tail, h.file = nil, engine.FilePart{}
		h.x.endRequest()
	}
}

// output returns the buffer for output.
func (h *h1Conn) output() *bufpool.Buffer {
	if h.out == nil {
		if ctx := h.x.ctx; ctx != nil && ctx.spare != nil {
			h.out, ctx.spare = ctx.spare, nil
			h.out.B = h.out.B[:0]
		} else {
			h.out = bufpool.Get(h.s.set.writeSize)
		}
	}
	return h.out
}

// maxEmptyLines is how many empty lines may come before a request line, in bytes.
const maxEmptyLines = 2 * len("\r\n")

// skipEmptyLines removes the empty lines before a request, and returns the rest. They
// are counted, since they may come one by one.
func (h *h1Conn) skipEmptyLines(b []byte) []byte {
	n := min(http1.SkipEmptyLines(b), maxEmptyLines-int(h.c.Empty))
	if n == 0 {
		return b
	}
	h.c.Empty += uint8(n)
	h.consume(n)
	return h.pending()
}

// flushTo writes out to conn.
func (h *h1Conn) flushTo(conn net.Conn) (n int, err error) {
	if h.out == nil || len(h.out.B) == 0 {
		return 0, nil
	}
	n, err = conn.Write(h.out.B)
	h.out.B = h.out.B[:0]
	h.turn = 0
	return n, err
}

// release releases everything that an idle connection does not need.
func (h *h1Conn) release() {
	h.endKeeping()
	h.x.dropBodyCount()
	if ctx := h.x.ctx; ctx != nil {
		if w := ctx.watch.Load(); w != nil {
			// its response, a stream, was cut off
			h.x.endWatch(w, ctx.left != nil)
			h.x.resetCtx()
		}
	}
	if h.x.ctx != nil {
		h.s.releaseCtx(h.x.ctx)
		h.x.ctx = nil
	}
	if h.conn.Left() {
		return
	}
	bufpool.Put(h.in)
	bufpool.Put(h.out)
	h.in, h.out, h.tail, h.read = nil, nil, nil, 0
	h.file = engine.FilePart{}
}

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

// A connection whose wait for a request takes a goroutine holds its h1Conn with the context
// meanwhile if there are few connections, or else nothing but a buffer for input.

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
