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

// h1Conn is a server's HTTP/1 connection: its input and output, its phases, and its deadlines.
// It is the engine.Protocol that an engine drives, and serves one request after the other with
// its exchange.
//
// The engine calls ReadBuffer and Received when bytes have arrived, and then Step. Step calls
// advance, which advances as far as these bytes allow, without waiting for the peer, and
// returns the next action for the engine.
//
// A connection has an h1Conn from a pool while it has a request. An idle connection usually
// has none, see keeper.
type h1Conn struct {
	s    *Server
	c    *engine.Conn
	link engine.Link

	in   *bufpool.Buffer // received; the bytes before read are consumed
	read int
	out  *bufpool.Buffer // to be written
	tail []byte          // to be written after out: a body too large to be copied into out
	file engine.FilePart // to be sent after out, by an engine that sends files

	phases    http1.ServerConn
	timing    timing // the part of the exchange for which readUntil is the deadline
	cachesCtx bool   // the connection keeps its context while it waits, see keeps
	filled    bool   // the last read has filled its space, so more bytes are likely to be there
	minor     uint8  // the minor version of the request: 1 in HTTP/1.1

	head http1.Head // of the request being received, or received last
	// readUntil and writeUntil are the deadlines that the server has set. requestUntil is the
	// deadline of the whole current request; readUntil may be an earlier one.
	readUntil, writeUntil, requestUntil time.Time

	servedSinceFlush int          // requests served since the last flush
	fault            error        // the error that ended the connection early
	now              clock.Moment // when the last bytes were received; zero until it is known
	// waited is how long these bytes had waited for that, if it matters and is known
	waited time.Duration

	x h1Exchange // of the current request
}

const (
	// pipelineBatch is how many pipelined requests are served before their responses are written
	// and other connections get their turn.
	pipelineBatch = 64
	// flushSize is how many bytes of responses are gathered at most before they are written.
	flushSize = 64 << 10
	// bodyReadSize is the buffer size for reading a body, if more than that is left of it.
	bodyReadSize = 64 << 10
	// burstReadSize is the buffer size on an event loop for requests that arrive faster than
	// they are read.
	burstReadSize = 16 << 10
)

// newH1Conn returns an h1Conn that belongs to no connection.
func newH1Conn() *h1Conn {
	h := new(h1Conn)
	h.x.h, h.x.t = h, &h.x
	return h
}

// clear resets h to its initial state.
func (h *h1Conn) clear() {
	spare := h.x.freeContent
	*h = h1Conn{}
	h.x.h, h.x.t, h.x.freeContent = h, &h.x, spare
}

// attach makes h serve a connection.
func (h *h1Conn) attach(s *Server, c *engine.Conn, l engine.Link) {
	h.s, h.c, h.link = s, c, l
	h.x.s, h.x.c = s, c
	c.NoWriteTimeout = s.WriteTimeout <= 0 && s.HeaderReceived == nil
	h.x.recv.Accept = s.AcceptTrailer
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
	h.phases, h.timing = http1.ServerConn{}, timesWait
	h.servedSinceFlush, h.filled = 0, false
	h.fault = nil
	h.readUntil, h.writeUntil = time.Time{}, time.Time{}
	h.now, h.waited = clock.Moment{}, 0
	h.x.pace = pace{}
}

// reusable reports whether h can serve another connection of the same server without being
// cleared: its buffers have not grown much, and no handler still uses it.
func (h *h1Conn) reusable() bool {
	return !h.phases.ReadingDetached() && (h.x.ctx == nil || !h.x.ctx.used) &&
		h.in != nil && cap(h.in.B) <= max(2*h.s.set.readSize, burstReadSize) && (h.out == nil || cap(h.out.B) <= 2*h.s.set.writeSize)
}

// pending returns the bytes that were received and not yet consumed.
func (h *h1Conn) pending() []byte {
	if h.in == nil {
		return nil
	}
	return h.in.B[h.read:]
}

// drained reports whether all received bytes were consumed.
func (h *h1Conn) drained() bool { return h.in == nil || h.read == len(h.in.B) }

// consume consumes n pending bytes.
func (h *h1Conn) consume(n int) {
	h.read += n
	if h.read == len(h.in.B) {
		h.in.B = h.in.B[:0]
		h.read = 0
	}
}

// recoverPanic is deferred with the result of recover. It answers after a panic of the handler, and
// ends the connection after any other panic.
func (h *h1Conn) recoverPanic(p any, next *engine.Action) {
	// no panic has a nil value: the runtime replaces it
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
	h.phases.EndReading()
	h.tail, h.file = nil, engine.FilePart{}
	if h.out != nil {
		h.out.B = h.out.B[:0]
	}
	*next = engine.Close
}

// afterPanic answers a request whose handler has panicked, and continues.
func (h *h1Conn) afterPanic() (next engine.Action) {
	defer func() { h.recoverPanic(recover(), &next) }()
	next, wait := h.x.finishHandler(false)
	if wait {
		return next
	}
	return h.advance()
}

// advance advances as far as the received bytes allow, and returns the next action.
func (h *h1Conn) advance() engine.Action {
	for {
		var next engine.Action
		var wait bool
		switch reading := h.phases.Reading(); {
		case reading == http1.ReadEnded:
			return h.flushThen(h.finalAction())
		case h.phases.Writing() == http1.WriteQueued:
			return engine.Flush
		case reading == http1.ReadBody:
			next, wait = h.x.advanceBody()
		default:
			next, wait = h.x.advanceHead()
		}
		switch {
		case wait:
			return next
		case h.phases.Idle() && h.drained():
			if next = h.flushThen(engine.Read); next == engine.Flush {
				next = engine.FlushIdle
			}
			return next
		}
	}
}

// finalAction returns the last action of the connection, after everything was written.
func (h *h1Conn) finalAction() engine.Action {
	switch h.phases.Life() {
	case http1.LifeHijacked:
		if h.x.ctx.switched != nil {
			return engine.Upgrade
		}
		return engine.Hijack
	case http1.LifeLingering:
		return engine.Linger
	}
	return engine.Close
}

// flushThen returns Flush if there is output, and next otherwise.
func (h *h1Conn) flushThen(next engine.Action) engine.Action {
	if h.out != nil && len(h.out.B) > 0 || len(h.tail) > 0 || h.file.File != nil {
		return engine.Flush
	}
	return next
}

// flushed is called when out was written, and tail or file after it.
func (h *h1Conn) flushed() {
	h.servedSinceFlush = 0
	h.out.B = h.out.B[:0]
	if h.phases.Writing() == http1.WriteQueued {
		h.phases.SetWriting(http1.WriteIdle)
		h.tail, h.file = nil, engine.FilePart{}
		h.x.endRequest()
	}
}

// output returns the buffer for output.
func (h *h1Conn) output() *bufpool.Buffer {
	if h.out == nil {
		if ctx := h.x.ctx; ctx != nil && ctx.freeOutput != nil {
			h.out, ctx.freeOutput = ctx.freeOutput, nil
			h.out.B = h.out.B[:0]
		} else {
			h.out = bufpool.Get(h.s.set.writeSize)
		}
	}
	return h.out
}

// maxEmptyLines is how many bytes of empty lines may precede a request line.
const maxEmptyLines = 2 * len("\r\n")

// skipEmptyLines consumes the empty lines before a request, and returns the rest. It counts
// their bytes, since they may arrive one by one.
func (h *h1Conn) skipEmptyLines(b []byte) []byte {
	n := min(http1.SkipEmptyLines(b), maxEmptyLines-int(h.c.Empty))
	if n == 0 {
		return b
	}
	h.c.Empty += uint8(n)
	h.consume(n)
	return h.pending()
}

// flushTo writes out to conn, which may wait.
func (h *h1Conn) flushTo(conn net.Conn) (n int, err error) {
	if h.out == nil || len(h.out.B) == 0 {
		return 0, nil
	}
	n, err = conn.Write(h.out.B)
	h.out.B = h.out.B[:0]
	h.servedSinceFlush = 0
	return n, err
}

// release releases everything that an idle connection does not need.
func (h *h1Conn) release() {
	h.endCachingCtx()
	h.x.endBodyMemory()
	if ctx := h.x.ctx; ctx != nil {
		if w := ctx.watch.Load(); w != nil {
			// the response, a stream, was cut off
			h.x.endWatch(w, ctx.lendsBody())
			h.x.resetCtx()
		}
	}
	if h.x.ctx != nil {
		h.s.releaseCtx(h.x.ctx)
		h.x.ctx = nil
	}
	if h.phases.ReadingDetached() {
		return
	}
	bufpool.Put(h.in)
	bufpool.Put(h.out)
	h.in, h.out, h.tail, h.read = nil, nil, nil, 0
	h.file = engine.FilePart{}
}

var _ engine.Protocol = (*h1Conn)(nil)

// ReadBuffer implements engine.Protocol. It has at least minSpace bytes.
func (h *h1Conn) ReadBuffer() []byte {
	size := h.s.set.readSize
	switch {
	case h.phases.Reading() == http1.ReadBody && h.x.recv.Decoder.Remaining() > bodyReadSize:
		size = max(size, bodyReadSize)
	case h.filled && !h.c.HasReadGoroutine:
		size = max(size, burstReadSize)
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

// idleReadBuffer is ReadBuffer for a goroutine that holds the buffer while it waits. The buffer
// has the usual size, however fast the last bytes arrived.
func (h *h1Conn) idleReadBuffer() []byte {
	h.filled = false
	if h.in != nil && cap(h.in.B) < bodyReadSize {
		h.shrinkReadBuffer()
	}
	return h.ReadBuffer()
}

// moveInput moves the pending bytes to another buffer of this size, which must have room for
// them.
func (h *h1Conn) moveInput(size int) {
	to := bufpool.Get(size)
	to.B = append(to.B, h.pending()...)
	bufpool.Put(h.in)
	h.in, h.read = to, 0
}

// Received implements engine.Protocol.
func (h *h1Conn) Received(n int, a engine.Arrival) {
	if h.x.bodyMemory != nil && !h.x.bodyMemory.Resumed() {
		h.InputEnded(ErrRequestBodyMemory)
		return
	}
	h.in.B = h.in.B[:len(h.in.B)+n]
	h.filled = len(h.in.B) == cap(h.in.B)
	if h.phases.Reading() == http1.ReadIdle {
		if h.c.HasEscaped() {
			h.forgetDeadlines()
		}
		h.phases.SetReading(http1.ReadWoken)
	}
	h.now, h.waited = clock.MomentOf(a.At), a.Waited
}

// InputEnded implements engine.Protocol. A request that has begun is refused.
func (h *h1Conn) InputEnded(err error) {
	if h.x.bodyMemory != nil && !h.x.bodyMemory.Resumed() {
		err = ErrRequestBodyMemory
	}
	if h.phases.Reading() == http1.ReadEnded {
		return
	}
	silent := h.phases.Idle() && h.c.GetsTimeoutResponse() && isTimeout(err)
	if silent {
		h.x.begin()
	}
	if h.phases.Idle() {
		h.phases.EndReading()
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
	defer func() { h.recoverPanic(recover(), &next) }()
	_, _ = h.x.refuse(err)
	// a peer that has sent nothing is not sending
	if silent && h.phases.Lingers() {
		h.phases.SetLife(http1.LifeEnding)
	}
	h.inputFault(err)
}

// inputFault records err as the fault that has ended the connection, unless the peer gets a
// response.
func (h *h1Conn) inputFault(err error) {
	if h.phases.Reading() == http1.ReadEnded && h.flushThen(engine.Close) == engine.Close && !isCommonRead(err) {
		h.fault = err
	}
}

// Step implements engine.Protocol. A panic in the application's handler or hooks does not end
// the process, see recoverPanic.
func (h *h1Conn) Step() (next engine.Action) {
	panicked := true
	defer func() {
		if panicked {
			h.recoverPanic(recover(), &next)
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
	if sent := int64(len(h.out.B)); n < sent {
		h.out.B = h.out.B[:copy(h.out.B, h.out.B[n:])]
	} else {
		h.out.B = h.out.B[:0]
		if n -= sent; len(h.tail) > 0 {
			h.tail = h.tail[n:]
		} else {
			h.file.Offset += n
			h.file.Length -= n
		}
	}
	switch {
	case err == nil:
		if len(h.out.B) == 0 && len(h.tail) == 0 && h.file.Length == 0 {
			h.flushed()
		}
	case err == io.ErrUnexpectedEOF && h.file.File != nil:
		h.x.fileEnded()
		h.flushed()
	default:
		h.x.abort(err)
	}
}

// Idle implements engine.Protocol. It reports whether no request has begun.
func (h *h1Conn) Idle() bool {
	return h.phases.Idle() && h.drained()
}

// Wait implements engine.Protocol.
func (h *h1Conn) Wait(w engine.Wait) (until time.Time) {
	switch w {
	case engine.WaitRequest, engine.WaitUnbuffered:
		h.prepareIdle(w == engine.WaitUnbuffered)
	case engine.WaitWritable:
		h.x.limitResponse()
		return h.writeUntil
	case engine.WaitInput:
		if h.timing.over() {
			return engine.PastDeadline
		}
		if !h.c.HasReadGoroutine {
			h.shrinkReadBuffer()
		} else if h.x.bodyMemory != nil {
			h.x.bodyMemory.Block()
		}
		h.x.limitRequest()
	}
	return h.readUntil
}

// prepareIdle releases memory not needed until the next request begins, and sets the deadline
// for that. Empty lines do not extend the deadline.
func (h *h1Conn) prepareIdle(bare bool) {
	if h.phases.Reading() == http1.ReadWoken {
		h.phases.SetReading(http1.ReadIdle)
	}
	if ctx := h.x.ctx; ctx == nil || !h.mayCacheCtx(ctx, bare) {
		h.releaseIdleCtx()
	}
	h.filled = false
	h.shrinkReadBuffer()
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

// shrinkReadBuffer releases a buffer larger than usual while no bytes arrive. If it has the
// first bytes of a request, they move to a smaller buffer: a peer that has sent much must not
// hold more memory than others.
func (h *h1Conn) shrinkReadBuffer() {
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

// Yield implements engine.Protocol. The turns of the other connections may take as long as
// the wait for room for a response. The time of a body with a minimum rate keeps running.
func (h *h1Conn) Yield() (w engine.Wait, until time.Time) {
	switch {
	case !h.phases.Begun() || h.timing == timesWait:
		h.x.limitResponse()
		return engine.WaitWritable, h.writeUntil
	case h.phases.Reading() == http1.ReadBody && h.x.pace.begun:
		// bytes that have arrived since the last wait count
		h.x.limitRequest()
		return engine.WaitInput, h.readUntil
	}
	return engine.WaitNone, time.Time{}
}

// DeadlineExceeded implements engine.Protocol. Bytes that arrive add to the time of a body with a
// minimum rate, if it has some left.
func (h *h1Conn) DeadlineExceeded() {
	h.timing = h.timing.expired(!h.x.pace.begun || h.x.pace.left <= 0 || clock.Passed(h.requestUntil))
}

// Hijack implements engine.Protocol.
func (h *h1Conn) Hijack() (take func(nc net.Conn, err error)) {
	s := h.s
	var ahead []byte
	if rest := h.pending(); len(rest) > 0 {
		ahead = append(ahead, rest...)
	}
	ctx := h.x.detachCtx()
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
	h.endCachingCtx()
	h.x.abandon()
}

// If a goroutine waits for the next request of a connection, the connection keeps its h1Conn
// with the context meanwhile, if the server has few connections. Otherwise it keeps only a
// buffer for input.

// hasMany reports whether the server has more connections than may keep their contexts.
func (s *Server) hasMany() bool { return s.conns.Open() > maxCachedCtxs }

// mayPark reports whether the connection can wait for its next request without h. Unless bare
// is set, the connection keeps h if the server has few connections.
func (h *h1Conn) mayPark(bare bool) bool {
	return !h.cachesCtx && h.c.Requests > 0 && !h.c.HasEscaped() &&
		h.x.ctx != nil && !h.x.ctx.timedOut() && h.reusable() &&
		(bare || !h.beginCachingCtx())
}

// detachReadBuffer returns a buffer of the usual size for a connection that will wait without h. It is
// the buffer for input, if there is one.
func (h *h1Conn) detachReadBuffer() *bufpool.Buffer {
	h.shrinkReadBuffer()
	space := h.in
	if space == nil {
		return bufpool.Get(h.s.set.readSize)
	}
	h.in, h.read = nil, 0
	space.B = space.B[:0]
	bufpool.Poison(space.B)
	return space
}

// park takes h, which is reusable, from its connection, and keeps it for another connection
// of the same server.
func (h *h1Conn) park() {
	s := h.s
	if h.x.ctx != nil && !s.cleanCtx(h.x.ctx) {
		h.x.ctx = nil
	}
	if h.out != nil {
		bufpool.Poison(h.out.B)
	}
	h.c, h.link = nil, nil
	s.parkedConns.Put(h)
}

// parkedConn returns an h1Conn that belongs to no connection, preferably one from putAway.
func (s *Server) parkedConn() *h1Conn {
	if h, ok := s.parkedConns.Get().(*h1Conn); ok {
		return h
	}
	return h1Conns.Get().(*h1Conn)
}

// mayCacheCtx reports whether the connection keeps the context and the buffer for output while it
// waits, which saves the use of the pools. Some connections do, if each has a goroutine anyway
// and the server has few connections.
func (h *h1Conn) mayCacheCtx(ctx *RequestCtx, bare bool) bool {
	if bare || ctx.used || ctx.timedOut() || h.out != nil && cap(h.out.B) > 2*h.s.set.writeSize {
		return false
	}
	if !h.cachesCtx && !h.beginCachingCtx() {
		return false
	}
	if h.out != nil {
		bufpool.Poison(h.out.B)
	}
	ctx.Request.Header.head.Shrink()
	ctx.Response.Header.head.Shrink()
	ctx.c = nil
	return true
}

// maxCachedCtxs is how many connections of a server keep their contexts while they wait.
const maxCachedCtxs = 128

// beginCachingCtx makes the connection keep its context while it waits, unless too many others
// do. It reports whether it has done so.
func (h *h1Conn) beginCachingCtx() bool {
	keepers := &h.s.cachedCtxs
	if keepers.Load() >= maxCachedCtxs || !h.c.HasReadGoroutine || h.s.hasMany() {
		return false
	}
	if h.cachesCtx = keepers.Add(1) <= maxCachedCtxs; !h.cachesCtx {
		keepers.Add(-1)
	}
	h.c.KeepsProtocol = h.cachesCtx
	return h.cachesCtx
}

// endCachingCtx ends what beginCachingCtx has begun, so that another connection may keep its
// context.
func (h *h1Conn) endCachingCtx() {
	if h.cachesCtx {
		h.cachesCtx = false
		h.s.cachedCtxs.Add(-1)
	}
}

// releaseIdleCtx releases the context and the buffer for output.
func (h *h1Conn) releaseIdleCtx() {
	if ctx := h.x.ctx; ctx != nil {
		if h.out != nil && ctx.freeOutput == nil && cap(h.out.B) <= 2*h.s.set.writeSize {
			// this takes one use of a pool instead of two
			bufpool.Poison(h.out.B)
			ctx.freeOutput, h.out = h.out, nil
		}
		h.s.releaseCtx(ctx)
		h.x.ctx = nil
	}
	if h.out != nil {
		bufpool.Put(h.out)
		h.out = nil
	}
}
