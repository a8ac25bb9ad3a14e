package netio

import (
	"cmp"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// TimedConn gives deadlines to a connection of the application that has none, such as a channel of
// SSH: without them nothing would end a Read or Write that waits for a silent peer. Goroutines
// read and write while Read and Write wait. A Read that gives up loses nothing. A Write whose piece
// is still being written at its deadline ends the connection.
type TimedConn struct {
	net.Conn

	mu      sync.Mutex
	changed sync.Cond // of mu: what Read and Write wait for
	read    timedSide
	write   timedSide
	closed  bool
	cut     bool // the connection was closed at the deadline of a Write

	space    []byte // for receive
	received []byte // the part of space that was not returned yet
	reading  bool   // receive runs
	readErr  error  // of receive

	turn     bool   // a Write has begun and not returned: others wait
	piece    []byte // for send
	writing  bool   // send runs
	sent     int    // by send
	writeErr error  // of send
}

// timedSide is one direction of a TimedConn. The mutex is held.
type timedSide struct {
	by      time.Time   // the deadline, or zero
	waiting int         // the calls that the timer is for
	timer   *time.Timer // nil if it does not run
}

// WithDeadlines returns a connection whose deadlines have an effect: conn itself, unless its
// methods for deadlines return errors. Only a *tls.Conn is always used as it is.
func WithDeadlines(conn net.Conn) net.Conn {
	switch conn.(type) {
	case *net.TCPConn, *net.UnixConn, *tls.Conn:
		return conn
	}
	if hasDeadlines(conn) == nil {
		return conn
	}
	c := &TimedConn{Conn: conn}
	c.changed.L = &c.mu
	return c
}

// hasDeadlines returns the error of a connection without deadlines.
func hasDeadlines(conn net.Conn) (err error) {
	defer CatchPanic(&err)
	if err := conn.SetReadDeadline(time.Time{}); err != nil {
		return err
	}
	return conn.SetWriteDeadline(time.Time{})
}

// passed reports whether the deadline has passed.
func (s *timedSide) passed() bool { return !s.by.IsZero() && !time.Now().Before(s.by) }

// begin begins a call that waits. wake is called at the deadline.
func (s *timedSide) begin(wake func()) {
	s.waiting++
	s.arm(wake)
}

// end ends a call.
func (s *timedSide) end() {
	if s.waiting--; s.waiting == 0 && s.timer != nil {
		s.timer.Stop()
		s.timer = nil
	}
}

// arm starts the timer anew if a call waits.
func (s *timedSide) arm(wake func()) {
	if s.timer != nil {
		s.timer.Stop()
		s.timer = nil
	}
	if s.waiting > 0 && !s.by.IsZero() {
		s.timer = time.AfterFunc(time.Until(s.by), wake)
	}
}

// Read implements net.Conn.
func (c *TimedConn) Read(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read.begin(c.wake)
	defer c.read.end()
	for {
		switch {
		case c.read.passed():
			return 0, os.ErrDeadlineExceeded
		case len(c.received) > 0 || len(p) == 0:
			n := copy(p, c.received)
			c.received = c.received[n:]
			return n, nil
		case c.closed:
			return 0, net.ErrClosed
		case c.readErr != nil:
			err := c.readErr
			if IsTimeout(err) {
				// of a time limit that the connection has itself: it may be read again
				c.readErr = nil
			}
			return 0, err
		case !c.reading:
			c.reading = true
			go c.receive()
		}
		c.changed.Wait()
	}
}

// timedSpace is how many bytes a TimedConn receives at once, and sends.
const timedSpace = 16 << 10

// receive reads some bytes, or an error.
func (c *TimedConn) receive() {
	if c.space == nil {
		c.space = make([]byte, timedSpace)
	}
	// unless the connection ends the goroutine
	received, err := []byte(nil), ErrPanic
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.reading, c.received, c.readErr = false, received, err
		c.changed.Broadcast()
	}()
	received, err = readCaught(c.Conn, c.space)
}

// readCaught returns the part of p that it has read. A number of bytes that p cannot have is a panic, too.
func readCaught(conn net.Conn, p []byte) (received []byte, err error) {
	defer CatchPanic(&err)
	n, err := Some(conn, p)
	return p[:n], err
}

// IsQuiet reports whether nothing was received after what Read has returned, as far as is known.
func (c *TimedConn) IsQuiet() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.received) == 0 && c.readErr == nil && !c.closed
}

// wake makes Read and Write look at their deadlines.
func (c *TimedConn) wake() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, side := range []*timedSide{&c.read, &c.write} {
		if !side.passed() {
			// the clock of a deadline without a monotonic reading may have been set back
			side.arm(c.wake)
		}
	}
	c.changed.Broadcast()
}

// Write implements net.Conn.
func (c *TimedConn) Write(p []byte) (n int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.write.begin(c.wake)
	defer c.write.end()
	if err := c.untilNot(&c.turn); err != nil {
		return 0, err
	}
	c.turn = true
	defer func() {
		c.turn = false
		c.changed.Broadcast()
	}()
	for begun := false; n < len(p) || !begun; begun = true {
		if err := c.mayWrite(); err != nil {
			return n, err
		}
		piece := p[n:min(n+timedSpace, len(p))]
		c.piece = append(c.piece[:0], piece...)
		c.writing = true
		go c.send()
		if err := c.untilNot(&c.writing); err != nil {
			return n, err
		}
		n += min(max(c.sent, 0), len(piece))
		switch {
		case c.writeErr != nil:
			// Close and a deadline make the connection fail in its own way
			return n, cmp.Or(c.mayWrite(), c.writeErr)
		case c.sent < len(piece):
			return n, io.ErrShortWrite
		}
	}
	return n, nil
}

// untilNot waits until flag, which is c.turn or c.writing, is false. The mutex is held.
func (c *TimedConn) untilNot(flag *bool) error {
	for *flag {
		if err := c.mayWrite(); err != nil {
			return err
		}
		c.changed.Wait()
	}
	return nil
}

// mayWrite returns why nothing more can be written, or nil. The mutex is held.
func (c *TimedConn) mayWrite() error {
	switch {
	case c.cut:
		return os.ErrDeadlineExceeded
	case c.write.passed():
		if c.writing {
			// nothing can follow a piece of which some may be sent
			c.cut = true
			go c.Close()
		}
		return os.ErrDeadlineExceeded
	case c.closed:
		return net.ErrClosed
	}
	return nil
}

// send writes a piece. The caller of Write may not wait for its end, and reuse its own memory.
func (c *TimedConn) send() {
	// unless the connection ends the goroutine
	n, err := len(c.piece), ErrPanic
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.writing, c.sent, c.writeErr = false, n, err
		c.changed.Broadcast()
	}()
	n, err = WriteCaught(c.Conn, c.piece)
}

// Close implements net.Conn.
func (c *TimedConn) Close() error {
	c.mu.Lock()
	c.closed = true
	c.changed.Broadcast()
	c.mu.Unlock()
	return CloseCaught(c.Conn)
}

// CloseWrite ends the direction to the server if the connection can do so.
func (c *TimedConn) CloseWrite() error {
	half, ok := c.Conn.(interface{ CloseWrite() error })
	if !ok {
		return errors.ErrUnsupported
	}
	return half.CloseWrite()
}

// SetDeadline implements net.Conn.
func (c *TimedConn) SetDeadline(by time.Time) error {
	_, _ = c.SetReadDeadline(by), c.SetWriteDeadline(by)
	return nil
}

// SetReadDeadline implements net.Conn.
func (c *TimedConn) SetReadDeadline(by time.Time) error { return c.setDeadline(&c.read, by) }

// SetWriteDeadline implements net.Conn.
func (c *TimedConn) SetWriteDeadline(by time.Time) error { return c.setDeadline(&c.write, by) }

func (c *TimedConn) setDeadline(side *timedSide, by time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	side.by = by
	side.arm(c.wake)
	return nil
}
