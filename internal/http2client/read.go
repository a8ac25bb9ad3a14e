package http2client

import (
	"io"
	"net"
	"time"

	"github.com/valyala/fasthttp/internal/bufpool"
	"github.com/valyala/fasthttp/internal/clientconn"
	"github.com/valyala/fasthttp/internal/clock"
	"github.com/valyala/fasthttp/internal/netio"
)

// Each connection has a goroutine that reads it, its thread. A single call, though, reads
// the connection itself while it waits: switching between goroutines would cost as much as
// everything else. For a moment after such a call no goroutine reads. If no call follows
// soon, or a call begins beside another, the thread reads.

// reader is the kind of goroutine that reads a connection.
type reader uint8

const (
	isThread reader = iota
	isCall          // a call leads: it reads while it waits
	isNobody        // no stream is open; the thread reads again if that lasts
)

// restTime is how long no goroutine reads.
const restTime = 5 * time.Millisecond

// handOvers has, for each reader, the readers that may follow.
var handOvers = [...]uint8{
	isThread: 1 << isNobody,
	isCall:   1<<isThread | 1<<isNobody,
	isNobody: 1<<isThread | 1<<isCall,
}

// hand changes the reader. The lock is held.
func (c *Conn) hand(to reader) {
	if handOvers[c.reader]>>to&1 == 0 {
		panic("http2client: a reader that cannot follow")
	}
	c.reader = to
	switch to {
	case isThread:
		c.turn.Signal()
	case isNobody:
		bufpool.Put(c.in)
		c.in, c.from = nil, 0
		c.seen = c.leads
		if c.resume == nil {
			c.resume = time.AfterFunc(restTime, c.rested)
		} else if !c.resting {
			c.resume.Reset(restTime)
		}
		c.resting = true
	}
}

// rested is called by the timer: if no call has led since it was set, the thread reads.
func (c *Conn) rested() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.resting = false
	switch {
	case c.life == finished || c.reader == isThread:
	case c.reader == isNobody && c.seen == c.leads:
		c.hand(isThread)
	case c.seen == c.leads:
		// a call that takes long: the timer is started again after it
	default:
		c.seen = c.leads
		c.resting = true
		c.resume.Reset(restTime)
	}
}

// mayRest reports whether no goroutine need read: nothing is expected. The lock is held.
func (c *Conn) mayRest() bool {
	return c.life == open && c.conn.Streams() == 0 && (c.in == nil || c.from == len(c.in.B)) && c.settled
}

// read is the thread: it receives until the connection ends.
func (c *Conn) read() {
	for {
		if err := c.fill(); err != nil {
			if !netio.IsTimeout(err) {
				return
			}
			// it was for a call
			_ = c.line.Guard.LimitRead(time.Time{})
		}
		c.mu.Lock()
		if c.reader == isThread && c.mayRest() {
			c.hand(isNobody)
		}
		for c.reader != isThread && c.life != finished {
			c.turn.Wait()
		}
		over := c.life == finished
		c.mu.Unlock()
		if over {
			// a leading call may have left without noticing the end
			c.lose(net.ErrClosed)
			return
		}
	}
}

// Lead reads until signal has a value, or until the time until, unless until is zero: it
// then returns false. The caller leads.
func (c *Conn) Lead(signal <-chan struct{}, until time.Time) (told bool) {
	for {
		c.mu.Lock()
		// in this order: Interrupt uses the reverse
		_ = c.line.Guard.LimitRead(clock.Earliest(until, c.readBy))
		c.mu.Unlock()
		select {
		case <-signal:
			return true
		default:
		}
		switch err := c.fill(); {
		case err == nil:
		case !netio.IsTimeout(err):
			// the call has ended
			<-signal
			return true
		case !until.IsZero() && !time.Now().Before(until):
			return false
		}
	}
}

// Interrupt makes Lead, which reads, check its signal. The lock is held.
func (c *Conn) Interrupt() {
	if c.reader == isCall && !c.feeding {
		_ = c.line.Guard.LimitRead(clientconn.Past)
	}
}

// StopLeading is called when the caller no longer waits. It has released its stream, unless
// another goroutine reads the stream. The lock is held.
func (c *Conn) StopLeading() {
	_ = c.line.Guard.LimitRead(c.readBy)
	if c.mayRest() {
		c.hand(isNobody)
	} else {
		c.hand(isThread)
	}
}

// mostLooks limits the reads of Look: a peer that keeps sending does not prevent a call
// from beginning.
const mostLooks = 16

// Look receives bytes that arrived while no goroutine read. It is called before a stream
// begins: the peer may have ended the connection, which then takes no streams. It does not
// wait, and does nothing if there are streams, whose calls see the end. The lock is held,
// but not while Look reads.
func (c *Conn) Look() {
	switch {
	case c.conn.Streams() > 0 || c.life != open:
		return
	case c.reader == isThread:
		// it may not have read the end yet
		if c.line.HasEnded() {
			c.mu.Unlock()
			c.end(io.EOF)
			c.mu.Lock()
		}
		return
	case c.reader != isNobody || !c.line.MayHaveCome():
		return
	}
	c.hand(isCall)
	c.leads++
	c.mu.Unlock()
	for range mostLooks {
		if c.fillBy(c.line.ReadReady) != nil {
			break
		}
	}
	c.mu.Lock()
	c.StopLeading()
}

// fill reads once, and processes the bytes as far as possible. After an error other than a
// timeout the connection has ended.
func (c *Conn) fill() error { return c.fillBy(c.line.Read) }

func (c *Conn) fillBy(read func(p []byte) (int, error)) error {
	c.space()
	n, err := read(c.in.B[len(c.in.B):cap(c.in.B)])
	c.in.B = c.in.B[:len(c.in.B)+n]
	switch {
	case n > 0:
		used, fault := c.receive(c.in.B[c.from:])
		if c.from += used; fault != nil {
			c.fail(fault)
			return fault
		}
	case err != nil && netio.IsTimeout(err) && !c.isBroken():
		return err
	case err != nil:
		c.lose(err)
		return err
	}
	return nil
}

// isBroken reports whether nothing more can be written.
func (c *Conn) isBroken() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.writer == broken
}

// The sizes of the buffer for reading: while little arrives, and otherwise.
const (
	littleInput = 4 << 10
	muchInput   = 64 << 10
)

// space makes room after the received bytes.
func (c *Conn) space() {
	in := c.in
	switch {
	case in == nil:
		c.in, c.from = bufpool.Get(littleInput), 0
		return
	case c.from == len(in.B) && cap(in.B) > littleInput && len(in.B) < littleInput:
		bufpool.Put(in)
		c.in, c.from = bufpool.Get(littleInput), 0
		return
	case c.from == len(in.B) && len(in.B) < cap(in.B):
		in.B, c.from = in.B[:0], 0
		return
	}
	// the buffer was full, or a frame is incomplete: more is expected
	if cap(in.B) < muchInput {
		more := bufpool.Get(muchInput)
		more.B = append(more.B, in.B[c.from:]...)
		bufpool.Put(in)
		c.in, c.from = more, 0
		return
	}
	in.B, c.from = in.B[:copy(in.B, in.B[c.from:])], 0
	if len(in.B) == cap(in.B) {
		in.Grow(cap(in.B))
	}
}
