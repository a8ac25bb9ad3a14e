package fakenet

import (
	"errors"
	"io"
	"net"
	"os"
	"sync/atomic"
	"time"
)

// carryBytes limits the incomplete response after a Write, and so the length of a response.
const carryBytes = 512

var (
	serverAddr net.Addr = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080}
	clientAddr net.Addr = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 40000}
)

var errUnasked = errors.New("fakenet: more responses than requests")

// Conn is the server's view of one client. The Listener reuses it for the client's next
// connection.
//
// It may be used by one reader and one writer concurrently.
type Conn struct {
	ln *Listener

	// For the reader: how many bytes it was given and has not read, the position of the next
	// byte in the cycle, the request after these bytes, and how many requests of the turn it
	// was not given.
	unread, at, next, left int
	ending                 bool // the turn is the last on this connection
	final                  bool // the reader was given all of the last turn

	// given counts the requests that the reader was given on this connection. The
	// writer reads it before it adds to answered; the reader adds to it only while
	// both are equal.
	given int

	// For the writer. counted is the part of answered that the listener has counted.
	answered atomic.Int64
	counted  int
	check    checker

	// waiting is set if the reader is blocked, or about to check whether it must block.
	waiting atomic.Bool

	// Guarded by the listener's lock. asked and last are also read by the
	// writer: they change only while it has nothing to write.
	open    bool
	rest    int  // requests after the asked ones
	asked   int  // requests given out on this connection
	granted int  // requests of a turn that the reader has not begun
	last    bool // no requests follow the asked ones
	busy    bool // some asked requests are unanswered
	hasTurn bool
	inLine  bool
	expired bool // the read deadline has passed
	behind  *Conn

	// wake wakes a blocked reader when the state it waits for may have changed.
	wake chan struct{}
}

// connect begins a connection. The caller holds the lock.
func (c *Conn) connect() {
	c.open = true
	c.rest = c.ln.cfg.PerConn
	c.asked, c.given, c.counted = 0, 0, 0
	c.answered.Store(0)
	c.unread, c.left, c.ending, c.final = 0, 0, false, false
	c.at = c.ln.cycle.start(c.next)
	c.last, c.busy, c.expired = false, false, false
	c.check.reset()
}

// take begins a turn of n requests. The caller holds the lock.
func (c *Conn) take(n int) {
	c.inLine = false
	c.hasTurn = true
	c.busy = true
	c.granted = n
	c.asked += n
	c.rest -= n
	c.last = c.rest == 0
	c.rouse()
}

// rouse wakes the reader if it is blocked. The caller holds the lock.
func (c *Conn) rouse() {
	if !c.waiting.Load() {
		return
	}
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// Read yields as much of the current batch of requests as p can hold. After
// the batch it blocks until the client's next turn, or returns io.EOF if the
// client has sent its last request.
func (c *Conn) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if c.unread == 0 {
		if c.final {
			return 0, io.EOF
		}
		if c.more() {
			c.give()
		} else if err := c.await(); err != nil {
			return 0, err
		}
	}
	texts := &c.ln.cycle
	n := copy(p[:min(len(p), c.unread)], texts.text[c.at:])
	c.unread -= n
	if c.at += n; c.at >= texts.size() {
		c.at %= texts.size()
	}
	return n, nil
}

// more reports whether the client has a turn and all its responses.
func (c *Conn) more() bool { return c.left > 0 && c.answered.Load() == int64(c.given) }

// give gives the reader the next requests of the client: all of its turn, or one request.
func (c *Conn) give() {
	n := c.left
	if c.ln.cfg.OnePerRead {
		n = 1
	}
	c.unread, c.next = c.ln.cycle.run(c.next, n)
	c.given += n
	c.left -= n
	c.final = c.ending && c.left == 0
}

// await blocks until there is something to read.
func (c *Conn) await() error {
	l := c.ln
	l.mu.Lock()
	defer l.mu.Unlock()
	defer c.waiting.Store(false)
	for {
		switch {
		case !c.open:
			return net.ErrClosed
		case c.expired:
			return os.ErrDeadlineExceeded
		case c.granted > 0:
			c.left, c.granted = c.granted, 0
			c.ending = c.last
			c.give()
			return nil
		case c.more():
			c.give()
			return nil
		case l.closed:
			return io.EOF
		}
		if !c.inLine && !c.busy {
			l.queue(c)
			continue
		}
		// The writer counts a response without the lock, and then checks whether the reader
		// waits. So the reader first sets waiting, and then checks once more.
		if !c.waiting.Swap(true) && c.left > 0 {
			continue
		}
		l.mu.Unlock()
		<-c.wake
		l.mu.Lock()
		c.waiting.Store(false)
	}
}

// Write checks the responses in p.
func (c *Conn) Write(p []byte) (int, error) {
	n, err := c.check.feed(p, &c.ln.want)
	answered := int(c.answered.Load()) + n
	if err == nil && answered > c.given {
		err = errUnasked
	}
	if err != nil {
		c.ln.Fail(err)
		return 0, err
	}
	if n > 0 {
		c.answered.Store(int64(answered))
		if answered == c.asked {
			c.batchAnswered()
		} else if c.waiting.Load() {
			c.rouseReader()
		}
	}
	return len(p), nil
}

// rouseReader wakes a reader that waits for the response to the last request.
func (c *Conn) rouseReader() {
	c.ln.mu.Lock()
	defer c.ln.mu.Unlock()
	c.rouse()
}

// batchAnswered ends the client's turn. Close ends the last batch of a connection, which
// avoids taking the lock once more.
func (c *Conn) batchAnswered() {
	if c.last {
		return
	}
	l := c.ln
	l.mu.Lock()
	defer l.mu.Unlock()
	c.busy = false
	l.count(c)
	// A server may read ahead while its handler runs (net/http does, to detect a disconnect).
	// Then its reader found the batch unanswered and could not queue the client.
	if c.waiting.Load() && !c.inLine {
		l.queue(c)
	}
}

// Close ends the connection; the client connects again as soon as it is accepted.
func (c *Conn) Close() error { return c.ln.hangUp(c) }

// LocalAddr returns the listener's address.
func (c *Conn) LocalAddr() net.Addr { return serverAddr }

// RemoteAddr returns the same made-up TCP address for every client.
func (c *Conn) RemoteAddr() net.Addr { return clientAddr }

// SetDeadline is SetReadDeadline: a Write never blocks.
func (c *Conn) SetDeadline(t time.Time) error { return c.SetReadDeadline(t) }

// SetReadDeadline ends a blocked Read if t has passed, which is how net/http interrupts its
// read-ahead. A deadline in the future has no effect, since the clients are never late.
func (c *Conn) SetReadDeadline(t time.Time) error {
	l := c.ln
	l.mu.Lock()
	defer l.mu.Unlock()
	c.expired = !t.IsZero() && !t.After(time.Now())
	if c.expired {
		c.rouse()
	}
	return nil
}

// SetWriteDeadline does nothing: a Write never blocks.
func (c *Conn) SetWriteDeadline(time.Time) error { return nil }
