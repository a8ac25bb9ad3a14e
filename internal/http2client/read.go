package http2client

import (
	"io"
	"net"
	"time"

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
	readerGoroutine reader = iota
	inlineReader           // a call leads: it reads while it waits
	noReader               // no stream is open; the thread reads again if that lasts
)

// readPause is how long no goroutine reads.
const readPause = 5 * time.Millisecond

// readerChanges has, for each reader, the readers that may follow.
var readerChanges = [...]uint8{
	readerGoroutine: 1 << noReader,
	inlineReader:    1<<readerGoroutine | 1<<noReader,
	noReader:        1<<readerGoroutine | 1<<inlineReader,
}

// setReader changes the reader. The lock is held.
func (c *Conn) setReader(to reader) {
	if readerChanges[c.reader]>>to&1 == 0 {
		panic("http2client: a reader that cannot follow")
	}
	c.reader = to
	switch to {
	case readerGoroutine:
		c.readerCond.Signal()
	case noReader:
		c.transport.Recv.Release()
		c.inlineReadsSeen = c.inlineReads
		if c.resume == nil {
			c.resume = time.AfterFunc(readPause, c.resumeReading)
		} else if !c.readPaused {
			c.resume.Reset(readPause)
		}
		c.readPaused = true
	}
}

// resumeReading is called by the timer: if no call has led since it was set, the thread reads.
func (c *Conn) resumeReading() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.readPaused = false
	switch {
	case c.life == finished || c.reader == readerGoroutine:
	case c.reader == noReader && c.inlineReadsSeen == c.inlineReads:
		c.setReader(readerGoroutine)
	case c.inlineReadsSeen == c.inlineReads:
		// a call that takes long: the timer is started again after it
	default:
		c.inlineReadsSeen = c.inlineReads
		c.readPaused = true
		c.resume.Reset(readPause)
	}
}

// mayPauseReading reports whether no goroutine need read: nothing is expected. The lock is held.
func (c *Conn) mayPauseReading() bool {
	return c.life == open && c.conn.Streams() == 0 && len(c.transport.Recv.Peek()) == 0 && c.settled
}

// read is the thread: it receives until the connection ends.
func (c *Conn) read() {
	for {
		if err := c.fill(c.transport.ReadCaught); err != nil {
			if !netio.IsTimeout(err) {
				return
			}
			// it was for a call, or more has arrived: see looksAgain
			c.mu.Lock()
			c.limitRead(c.readBy)
			c.mu.Unlock()
		}
		c.mu.Lock()
		if c.reader == readerGoroutine && c.mayPauseReading() {
			c.setReader(noReader)
		}
		for c.reader != readerGoroutine && c.life != finished {
			c.readerCond.Wait()
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

// ReadLoopInline reads until signal has a value, or until the time until, unless until is zero: it
// then returns false. The caller leads.
func (c *Conn) ReadLoopInline(signal <-chan struct{}, until time.Time) (told bool) {
	for {
		c.mu.Lock()
		// in this order: Interrupt uses the reverse
		c.limitRead(clock.Earliest(until, c.readBy))
		c.leadBy, c.called = until, false
		c.mu.Unlock()
		select {
		case <-signal:
			return true
		default:
		}
		switch err := c.fill(c.transport.ReadCaught); {
		case err == nil && c.unfed && passed(until):
			return false
		case err == nil:
		case !netio.IsTimeout(err):
			// the call has ended
			<-signal
			return true
		case passed(until):
			return false
		}
	}
}

// Interrupt makes ReadLoopInline, which reads, check its signal. The lock is held.
func (c *Conn) Interrupt() {
	if c.reader != inlineReader {
		return
	}
	if c.called = true; c.feeding {
		return
	}
	if c.room != nil {
		c.room.Broadcast()
	}
	c.limitRead(clientconn.PastDeadline)
}

// limitRead sets the deadline of reading. The lock is held.
func (c *Conn) limitRead(by time.Time) {
	if by != c.readLimit {
		c.readLimit = by
		_ = c.transport.Guard.LimitRead(by)
	}
}

// StopReadInline is called when the caller no longer waits. It has released its stream, unless
// another goroutine reads the stream. The lock is held.
func (c *Conn) StopReadInline() {
	c.limitRead(c.readBy)
	if c.mayPauseReading() {
		c.setReader(noReader)
	} else {
		c.setReader(readerGoroutine)
	}
}

// maxPendingReads limits the reads of ReadPending: a peer that keeps sending does not prevent a call
// from beginning.
const maxPendingReads = 16

// ReadPending receives bytes that arrived while no goroutine read. It is called before a stream
// begins: the peer may have ended the connection, which then takes no streams. It does not
// wait, and does nothing if there are streams, whose calls see the end. The lock is held,
// but not while ReadPending reads.
func (c *Conn) ReadPending() {
	switch {
	case c.conn.Streams() > 0 || c.life != open:
		return
	case c.reader == readerGoroutine:
		// it may not have read the end yet
		if c.transport.Probe.HasEnded() {
			c.mu.Unlock()
			c.end(io.EOF)
			c.mu.Lock()
		}
		return
	case c.reader != noReader || !c.transport.MayBeReadable():
		return
	}
	c.setReader(inlineReader)
	c.inlineReads++
	c.leadBy = clientconn.PastDeadline
	c.mu.Unlock()
	for range maxPendingReads {
		if c.fill(c.transport.ReadReady) != nil {
			break
		}
	}
	c.mu.Lock()
	c.StopReadInline()
}

// fill calls read once, unless received frames wait, and processes the bytes as far as possible. After
// an error other than a timeout the connection has ended.
func (c *Conn) fill(read func(p []byte) (int, error)) error {
	in := &c.transport.Recv
	n, err, waits := 0, error(nil), c.unfed
	if c.unfed = false; !waits {
		n, err = read(in.ReadBufferUpTo(largeInput))
	}
	switch {
	case n > 0 || waits:
		in.Received(n)
		used, fault := c.feed(in.Peek())
		in.Discard(used)
		c.unfed = c.unfed && len(in.Peek()) > 0
		if fault != nil {
			c.fail(fault)
			return fault
		}
	case err != nil && netio.IsTimeout(err) && (!c.isBroken() || c.looksAgain()):
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
	return c.writer == writeFailed
}

// maxLateLooks limits how often a connection is read beyond readBy.
const maxLateLooks = 4

// looksAgain reports whether a broken connection is read for longer after a timeout: before readBy,
// since the time was that of one call, and later if bytes or its end have arrived, since a busy machine
// may have missed the time.
func (c *Conn) looksAgain() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Now().Before(c.readBy) {
		return true
	}
	if s := c.transport.Probe.Check(); s != clientconn.Readable && s != clientconn.Ended {
		return false
	}
	c.lateLooks++
	c.readBy = time.Now().Add(drainTime)
	return c.lateLooks <= maxLateLooks
}

// The sizes of the buffer for reading: while little arrives, and otherwise.
const (
	smallInput = 4 << 10
	largeInput = 64 << 10
)
