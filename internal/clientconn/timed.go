package clientconn

import (
	"crypto/tls"
	"errors"
	"net"
	"os"
	"sync"
	"time"

	"github.com/valyala/fasthttp/internal/netio"
)

// timedConn gives deadlines to a connection of the application that has none, such as a channel of
// SSH: without them a call would wait forever for a silent server. A goroutine reads
// while Read waits, so Read can give up and loses nothing. A Write that has begun ends at its
// deadline with the connection.
type timedConn struct {
	net.Conn

	mu       sync.Mutex
	changed  sync.Cond // of mu: what a Read waits for
	read     timedSide
	write    timedSide
	closed   bool
	cut      bool   // the connection was closed at the deadline of a Write
	space    []byte // for receive
	received []byte // the part of space that was not returned yet
	reading  bool   // receive runs
	readErr  error  // of receive
}

// timedSide is one direction of a timedConn. The mutex is held.
type timedSide struct {
	by      time.Time   // the deadline, or zero
	waiting int         // the calls that the timer is for
	timer   *time.Timer // nil if it does not run
}

// withDeadlines returns a connection whose deadlines have an effect: conn itself, unless its
// methods for deadlines return errors.
func withDeadlines(conn net.Conn) net.Conn {
	switch conn.(type) {
	case *net.TCPConn, *net.UnixConn, *tls.Conn:
		return conn
	}
	if hasDeadlines(conn) == nil {
		return conn
	}
	c := &timedConn{Conn: conn}
	c.changed.L = &c.mu
	return c
}

// hasDeadlines returns the error of a connection without deadlines.
func hasDeadlines(conn net.Conn) (err error) {
	defer catchPanic(&err)
	if err := conn.SetReadDeadline(time.Time{}); err != nil {
		return err
	}
	return conn.SetWriteDeadline(time.Time{})
}

// passed reports whether the deadline has passed.
func (s *timedSide) passed() bool { return !s.by.IsZero() && !time.Now().Before(s.by) }

// begin begins a call that ends at the deadline, when expire is called.
func (s *timedSide) begin(expire func()) {
	s.waiting++
	s.arm(expire)
}

// end ends a call.
func (s *timedSide) end() {
	if s.waiting--; s.waiting == 0 && s.timer != nil {
		s.timer.Stop()
		s.timer = nil
	}
}

// arm starts the timer anew, for calls that are running. expire checks that the deadline has passed, and calls
// arm again if it has not: the clock of a deadline without a monotonic reading may have been set back meanwhile.
func (s *timedSide) arm(expire func()) {
	if s.timer != nil {
		s.timer.Stop()
		s.timer = nil
	}
	if s.waiting > 0 && !s.by.IsZero() {
		s.timer = time.AfterFunc(time.Until(s.by), expire)
	}
}

// Read implements net.Conn.
func (c *timedConn) Read(p []byte) (int, error) {
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
			if netio.IsTimeout(err) {
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

// timedSpace is how many bytes a timedConn receives at once.
const timedSpace = 4 << 10

// receive reads some bytes, or an error.
func (c *timedConn) receive() {
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

// isQuiet reports whether nothing was received after what Read has returned, as far as is known.
func (c *timedConn) isQuiet() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.received) == 0 && c.readErr == nil && !c.closed
}

// wake makes Read look at its deadline.
func (c *timedConn) wake() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.read.passed() {
		c.read.arm(c.wake)
		return
	}
	c.changed.Broadcast()
}

// Write implements net.Conn.
func (c *timedConn) Write(p []byte) (int, error) {
	if err := c.beginWrite(); err != nil {
		return 0, err
	}
	defer c.endWrite()
	n, err := c.Conn.Write(p)
	if err != nil && c.wasCut() {
		err = os.ErrDeadlineExceeded
	}
	return n, err
}

func (c *timedConn) beginWrite() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.write.passed() {
		return os.ErrDeadlineExceeded
	}
	c.write.begin(c.expire)
	return nil
}

func (c *timedConn) endWrite() {
	c.mu.Lock()
	c.write.end()
	c.mu.Unlock()
}

func (c *timedConn) wasCut() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cut
}

// expire ends the calls of Write at their deadline.
func (c *timedConn) expire() {
	c.mu.Lock()
	late := c.write.waiting > 0 && c.write.passed()
	c.cut = c.cut || late
	if !late {
		c.write.arm(c.expire)
	}
	c.mu.Unlock()
	if late {
		_ = c.Close()
	}
}

// Close implements net.Conn.
func (c *timedConn) Close() (err error) {
	c.mu.Lock()
	c.closed = true
	c.changed.Broadcast()
	c.mu.Unlock()
	// expire runs on a goroutine of its own
	defer catchPanic(&err)
	return c.Conn.Close()
}

// CloseWrite ends the direction to the server if the connection can do so.
func (c *timedConn) CloseWrite() error {
	half, ok := c.Conn.(interface{ CloseWrite() error })
	if !ok {
		return errors.ErrUnsupported
	}
	return half.CloseWrite()
}

// SetDeadline implements net.Conn.
func (c *timedConn) SetDeadline(by time.Time) error {
	_, _ = c.SetReadDeadline(by), c.SetWriteDeadline(by)
	return nil
}

// SetReadDeadline implements net.Conn.
func (c *timedConn) SetReadDeadline(by time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read.by = by
	c.read.arm(c.wake)
	return nil
}

// SetWriteDeadline implements net.Conn.
func (c *timedConn) SetWriteDeadline(by time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.write.by = by
	c.write.arm(c.expire)
	return nil
}
