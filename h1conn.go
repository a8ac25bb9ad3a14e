package fasthttp

import (
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
	head   http1.Head // of the request that is being received, or was received last
	timing timing     // says to what readUntil belongs
	// readUntil and writeUntil are the deadlines that the server has set; wholeUntil
	// is the deadline of the current request, readUntil may be an earlier one.
	readUntil, writeUntil, wholeUntil time.Time

	keeper bool         // it keeps its context while it waits
	filled bool         // the last read has filled its space, so more is likely to be there
	turn   int          // requests served since the last flush
	fault  error        // the error that ended the connection early
	now    clock.Moment // when the last bytes were received, if the engine has said or it was asked for

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
