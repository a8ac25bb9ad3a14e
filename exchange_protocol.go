package fasthttp

import (
	"io"
	"net"
	"time"

	"github.com/valyala/fasthttp/internal/bufpool"
	"github.com/valyala/fasthttp/internal/engine"
	"github.com/valyala/fasthttp/internal/http1"
)

var _ engine.Protocol = (*exchange)(nil)

// Space implements engine.Protocol: at least a minimum of free bytes behind those that
// are there.
func (x *exchange) Space() []byte {
	large := x.conn.Reading() == http1.ReadBody && x.recv.decoder.Left() > bodySpace
	if large && x.in != nil && x.read == len(x.in.B) && cap(x.in.B) < bodySpace {
		bufpool.Put(x.in)
		x.in, x.read = nil, 0
	}
	if x.in == nil {
		size := x.s.readSize()
		if large {
			size = max(size, bodySpace)
		}
		x.in = bufpool.Get(size)
	}
	b := x.in
	if x.read > 0 && cap(b.B)-len(b.B) < cap(b.B)/2 {
		b.B = b.B[:copy(b.B, b.B[x.read:])]
		x.read = 0
	}
	if cap(b.B)-len(b.B) < minSpace {
		b.Grow(max(cap(b.B), minSpace))
	}
	return b.B[len(b.B):cap(b.B)]
}

// Received implements engine.Protocol.
func (x *exchange) Received(n int) {
	if x.held != nil && !x.held.resumed() {
		x.InputEnded(ErrRequestBodyMemory)
		return
	}
	x.in.B = x.in.B[:len(x.in.B)+n]
	x.now = time.Time{}
}

// InputEnded implements engine.Protocol. A request that has begun is refused.
func (x *exchange) InputEnded(err error) {
	if x.held != nil && !x.held.resumed() {
		err = ErrRequestBodyMemory
	}
	if x.conn.Reading() == http1.ReadEnded {
		return
	}
	silent := x.conn.Idle() && x.c.NeverBegan() && isTimeout(err)
	if silent {
		x.begin()
	}
	if x.conn.Idle() {
		x.conn.EndReading()
		if err != io.EOF {
			x.s.logReadError(x.c, err)
		}
		x.inputFault(err)
		return
	}
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	var next engine.Action
	defer x.contain(&next)
	_, _ = x.refuse(err)
	// a peer that has sent nothing has nothing on its way
	if silent && x.conn.Lingers() {
		x.conn.SetLife(http1.LifeEnding)
	}
	x.inputFault(err)
}

// inputFault makes err what has ended the connection, unless the peer is told.
func (x *exchange) inputFault(err error) {
	if !isCommon(err) && x.conn.Reading() == http1.ReadEnded && x.flushThen(engine.Close) == engine.Close {
		x.fault = err
	}
}

// Step implements engine.Protocol: a panic in one of the application's hooks
// ends the connection, not the process.
func (x *exchange) Step() (next engine.Action) {
	defer x.contain(&next)
	return x.advance()
}

// Output implements engine.Protocol.
func (x *exchange) Output() (head, tail []byte, file *engine.FilePart) {
	if x.file.File != nil {
		file = &x.file
	}
	return x.out.B, x.tail, file
}

// Written implements engine.Protocol.
func (x *exchange) Written(n int64, err error) {
	x.taken(n)
	switch {
	case err == io.ErrUnexpectedEOF && x.file.File != nil:
		x.fileEnded()
		x.flushed()
	case err != nil:
		x.cutOff(err)
	case len(x.out.B) == 0 && len(x.tail) == 0 && x.file.Length == 0:
		x.flushed()
	}
}

// taken says that n bytes of the output were written.
func (x *exchange) taken(n int64) {
	if n < int64(len(x.out.B)) {
		x.out.B = x.out.B[:copy(x.out.B, x.out.B[n:])]
		return
	}
	n -= int64(len(x.out.B))
	x.out.B = x.out.B[:0]
	if len(x.tail) > 0 {
		x.tail = x.tail[n:]
		return
	}
	x.file.Offset += n
	x.file.Length -= n
}

// Idle implements engine.Protocol: it reports whether no request has begun.
func (x *exchange) Idle() bool {
	return x.conn.Idle() && len(x.pending()) == 0
}

// Wait implements engine.Protocol.
func (x *exchange) Wait(w engine.Wait) (until time.Time) {
	switch w {
	case engine.WaitNone:
		x.woken()
	case engine.WaitRequest, engine.WaitBare:
		x.rest(w == engine.WaitBare)
	case engine.WaitRoom:
		x.limitResponse()
		return x.writeUntil
	case engine.WaitInput:
		if x.timing.over() {
			return engine.Passed
		}
		if !x.link.KeepsSpace() {
			x.giveSpace()
		} else if x.held != nil {
			x.held.block()
		}
		x.limitRequest()
	}
	return x.readUntil
}

// rest gives back what is of no use until the next request begins, and begins the time
// for that. Empty lines do not begin a new one.
func (x *exchange) rest(bare bool) {
	if x.ctx != nil {
		x.s.releaseCtx(x.ctx)
		x.ctx = nil
	}
	if x.conn.Reading() == http1.ReadWoken {
		x.conn.SetReading(http1.ReadIdle)
	}
	bufpool.Put(x.out)
	x.out = nil
	x.giveSpace()
	if bare {
		bufpool.Put(x.in)
		x.in, x.read = nil, 0
	}
	switch {
	case x.c.Requests > 0:
		x.timing = timesWait
		x.limitIdle(x.s.idleTimeout())
	case x.timing == timesWait && x.readUntil.IsZero():
		x.limitFirst()
	}
}

// giveSpace gives the room for a large body back while nothing comes.
func (x *exchange) giveSpace() {
	if x.in != nil && cap(x.in.B) >= bodySpace && len(x.in.B) == 0 {
		bufpool.Put(x.in)
		x.in = nil
	}
}

// Turn implements engine.Protocol. The others may take as long as a response for which
// there is no room; a body for which there is a minimum rate goes on to count.
func (x *exchange) Turn() (w engine.Wait, until time.Time) {
	switch {
	case !x.conn.Begun() || x.timing == timesWait:
		x.limitResponse()
		return engine.WaitRoom, x.writeUntil
	case x.conn.Reading() == http1.ReadBody && x.pace.begun:
		// what has come since the last wait counts
		x.limitRequest()
		return engine.WaitInput, x.readUntil
	}
	return engine.WaitNone, time.Time{}
}

// Expired implements engine.Protocol. What comes earns a body more time that has some
// left.
func (x *exchange) Expired() {
	x.timing = x.timing.expired(!x.pace.begun || x.pace.left <= 0 || passed(x.wholeUntil))
}

// HandOver implements engine.Protocol.
func (x *exchange) HandOver() (take func(nc net.Conn, err error)) {
	s := x.s
	var ahead []byte
	if rest := x.pending(); len(rest) > 0 {
		ahead = append(ahead, rest...)
	}
	ctx := x.letGo()
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
func (x *exchange) Abandoned() { x.dropBodyCount() }
