package fakeh2

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"

	"github.com/valyala/fasthttp/bench/internal/h2frame"
)

var (
	serverAddr net.Addr = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080}
	clientAddr net.Addr = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 40000}
)

const (
	// slots is by how many streams the oldest open stream may lag the newest one.
	slots = 4096
	// enough is how many bytes of requests are prepared at once. It is more than a server
	// reads at once.
	enough = 32 << 10
	// refresh is the amount of content after which the server receives a window update of the
	// same amount.
	refresh = 1 << 29
)

// Conn is the server's view of one client. It may be used by one reader and one writer
// concurrently.
type Conn struct {
	ln   *Listener
	gone chan struct{} // closed when the server has closed the connection

	deadlines
	waiting bool // a reader is blocked
	ended   bool // by the client
	closed  bool // by the server

	out    []byte // bytes for the reader, from sent on
	sent   int
	left   int         // requests not begun
	next   int         // message
	id     uint32      // of the next stream
	open   int         // open streams
	busy   [slots]bool // by stream: whether it is open
	credit int         // window for content to the server

	in       h2frame.Reader
	answered int
	bodies   int
	received int // content of responses since the last window update
}

func newConn(l *Listener, next int) *Conn {
	c := &Conn{ln: l, gone: make(chan struct{}), next: next, id: 1, credit: h2frame.FirstWindow}
	c.changed.L = &c.mu
	c.out = append(make([]byte, 0, 2*enough), hello()...)
	return c
}

// take lets the client send n more requests.
func (c *Conn) take(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left += n
	c.changed.Signal()
}

// end makes the reader reach the end of the connection.
func (c *Conn) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	c.changed.Broadcast()
}

// Read returns as many requests as there are free streams, and blocks if there are none.
func (c *Conn) Read(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		if c.sent == len(c.out) {
			c.out, c.sent = c.out[:0], 0
		}
		if c.sent < len(c.out) || c.ask() {
			n := copy(p, c.out[c.sent:])
			c.sent += n
			return n, nil
		}
		switch {
		case c.closed:
			return 0, net.ErrClosed
		case c.ended:
			return 0, io.EOF
		case c.expired:
			return 0, os.ErrDeadlineExceeded
		}
		c.waiting = true
		c.changed.Wait()
		c.waiting = false
	}
}

// ask begins requests, and reports whether there are any. The caller holds the lock.
func (c *Conn) ask() bool {
	for c.left > 0 && c.open < c.ln.cfg.Streams && len(c.out) < enough && !c.ended {
		m := &c.ln.first
		if c.id > 1 {
			m = &c.ln.messages[c.next]
		}
		slot := &c.busy[c.id/2%slots]
		if c.credit < m.body || *slot {
			break
		}
		c.credit -= m.body
		*slot = true
		c.out = m.appendTo(c.out, c.id)
		c.id += 2
		c.open++
		c.left--
		if c.next++; c.next == len(c.ln.messages) {
			c.next = 0
		}
	}
	return len(c.out) > 0
}

// Write receives frames.
func (c *Conn) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return 0, net.ErrClosed
	}
	if err := c.in.Feed(p, c.frame); err != nil {
		c.ln.fail(err)
		return 0, err
	}
	if c.waiting {
		c.changed.Signal()
	}
	return len(p), nil
}

func (c *Conn) frame(f h2frame.Frame) error {
	switch f.Kind {
	case h2frame.Data:
		return c.data(f)
	case h2frame.Headers:
		return c.headers(f)
	case h2frame.Settings:
		return c.settings(f)
	case h2frame.Ping:
		c.out = h2frame.AppendAnswer(c.out, f)
	case h2frame.Window:
		if f.Stream == 0 && len(f.Payload) == 4 {
			c.credit += int(binary.BigEndian.Uint32(f.Payload))
		}
	case h2frame.GoAway:
		if !c.ln.closing.Load() {
			return fmt.Errorf("fakeh2: GOAWAY: %q", f.Payload)
		}
	case h2frame.Reset:
		return fmt.Errorf("fakeh2: stream %d is reset: %x", f.Stream, f.Payload)
	case h2frame.Push, h2frame.Continuation:
		return fmt.Errorf("fakeh2: a frame of type %d", f.Kind)
	}
	return nil
}

func (c *Conn) data(f h2frame.Frame) error {
	id, payload := f.Stream, f.Payload
	if !c.isOpen(id) || f.Is(h2frame.Padded) {
		return fmt.Errorf("fakeh2: content of stream %d with flags %x", id, f.Flags)
	}
	if len(payload) > 0 {
		if string(payload) != c.ln.cfg.Body {
			return fmt.Errorf("fakeh2: a response with the content %q", payload)
		}
		c.bodies++
		if c.received += len(payload); c.received >= refresh {
			c.out = h2frame.AppendWindow(c.out, c.received)
			c.received = 0
		}
	}
	if !f.Is(h2frame.EndStream) {
		return nil
	}
	c.busy[id/2%slots] = false
	c.open--
	c.answered++
	if c.open == 0 && c.left == 0 {
		c.ln.done()
	}
	return nil
}

func (c *Conn) headers(f h2frame.Frame) error {
	if !c.isOpen(f.Stream) || f.Flags != h2frame.EndHeaders {
		return fmt.Errorf("fakeh2: fields of stream %d with flags %x", f.Stream, f.Flags)
	}
	if c.answered == 0 {
		return c.ln.cfg.checkFirst(f.Payload)
	}
	if !h2frame.IsOK(f.Payload) {
		return fmt.Errorf("fakeh2: the fields of a response begin with %x", f.Payload[:min(len(f.Payload), 1)])
	}
	return nil
}

func (c *Conn) isOpen(id uint32) bool { return id%2 == 1 && id < c.id && c.busy[id/2%slots] }

// settings returns an error for settings that the client does not support.
func (c *Conn) settings(f h2frame.Frame) error {
	for payload := f.Payload; len(payload) >= 6; payload = payload[6:] {
		id, value := binary.BigEndian.Uint16(payload), int(binary.BigEndian.Uint32(payload[2:]))
		least := 0
		switch id {
		case h2frame.SettingTable:
			least = usualTable
		case h2frame.SettingStreams:
			least = c.ln.cfg.Streams
		case h2frame.SettingWindow:
			for i := range c.ln.messages {
				least = max(least, c.ln.messages[i].body)
			}
		}
		if value < least {
			return fmt.Errorf("fakeh2: setting %d is %d, and has to be %d", id, value, least)
		}
	}
	c.out = h2frame.AppendAnswer(c.out, f)
	return nil
}

// Close closes the server's side.
func (c *Conn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return net.ErrClosed
	}
	c.closed = true
	c.changed.Broadcast()
	close(c.gone)
	c.ln.fail(fmt.Errorf("fakeh2: the server closed a connection after %d responses, with %d streams open", c.answered, c.open))
	return nil
}

func (c *Conn) LocalAddr() net.Addr  { return serverAddr }
func (c *Conn) RemoteAddr() net.Addr { return clientAddr }
