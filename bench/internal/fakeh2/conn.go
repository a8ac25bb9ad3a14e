package fakeh2

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
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
	// status200 is the first byte of the fields of a response whose status is 200, in
	// the static table of RFC 7541.
	status200 = 0x88
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

	carry    []byte // of an incomplete frame
	answered int
	bodies   int
	received int // content of responses since the last window update
}

func newConn(l *Listener, next int) *Conn {
	c := &Conn{ln: l, gone: make(chan struct{}), next: next, id: 1, credit: firstWindow}
	c.changed.L = &c.mu
	c.out = append(make([]byte, 0, 2*enough), hello()...)
	c.carry = make([]byte, 0, largestFrame+frameHead)
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
	text := p
	if len(c.carry) > 0 {
		c.carry = append(c.carry, p...)
		text = c.carry
	}
	read, err := c.frames(text)
	if err != nil {
		c.ln.fail(err)
		return 0, err
	}
	c.carry = append(c.carry[:0], text[read:]...)
	if c.waiting {
		c.changed.Signal()
	}
	return len(p), nil
}

// frames processes all complete frames, and returns their size.
func (c *Conn) frames(text []byte) (read int, err error) {
	for len(text)-read >= frameHead {
		head := text[read:]
		size := int(head[0])<<16 | int(head[1])<<8 | int(head[2])
		if size > largestFrame {
			return read, fmt.Errorf("fakeh2: a frame of %d bytes", size)
		}
		if len(head) < frameHead+size {
			break
		}
		if err := c.frame(head[3], head[4], binary.BigEndian.Uint32(head[5:]), head[frameHead:frameHead+size]); err != nil {
			return read, err
		}
		read += frameHead + size
	}
	return read, nil
}

func (c *Conn) frame(kind, flags byte, id uint32, payload []byte) error {
	switch kind {
	case frameData:
		return c.data(flags, id, payload)
	case frameHeaders:
		return c.headers(flags, id, payload)
	case frameSettings:
		return c.settings(flags, payload)
	case framePing:
		if flags&flagAck == 0 {
			c.out = appendFrame(c.out, framePing, flagAck, payload)
		}
	case frameWindow:
		if id == 0 && len(payload) == 4 {
			c.credit += int(binary.BigEndian.Uint32(payload))
		}
	case frameGoAway:
		if !c.ln.closing.Load() {
			return fmt.Errorf("fakeh2: GOAWAY: %q", payload)
		}
	case frameReset:
		return fmt.Errorf("fakeh2: stream %d is reset: %x", id, payload)
	case framePush, frameContinuation:
		return fmt.Errorf("fakeh2: a frame of type %d", kind)
	}
	return nil
}

func (c *Conn) data(flags byte, id uint32, payload []byte) error {
	if !c.isOpen(id) || flags&flagPadded != 0 {
		return fmt.Errorf("fakeh2: content of stream %d with flags %x", id, flags)
	}
	if len(payload) > 0 {
		if string(payload) != c.ln.cfg.Body {
			return fmt.Errorf("fakeh2: a response with the content %q", payload)
		}
		c.bodies++
		if c.received += len(payload); c.received >= refresh {
			c.out = appendFrame(c.out, frameWindow, 0, binary.BigEndian.AppendUint32(nil, uint32(c.received)))
			c.received = 0
		}
	}
	if flags&flagEndStream == 0 {
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

// SkipUpdates returns block without its leading changes of the table size (RFC 7541 section
// 6.3): a server that was idle for a while may have released its table.
func SkipUpdates(block []byte) []byte {
	for len(block) > 0 && block[0]>>5 == 1 {
		more := block[0]&31 == 31
		for block = block[1:]; more && len(block) > 0; block = block[1:] {
			more = block[0]>>7 == 1
		}
	}
	return block
}

func (c *Conn) headers(flags byte, id uint32, block []byte) error {
	if !c.isOpen(id) || flags != flagEndHeaders {
		return fmt.Errorf("fakeh2: fields of stream %d with flags %x", id, flags)
	}
	if c.answered == 0 {
		return c.ln.cfg.checkFirst(block)
	}
	if block = SkipUpdates(block); len(block) == 0 || block[0] != status200 {
		return fmt.Errorf("fakeh2: the fields of a response begin with %x", block[:min(len(block), 1)])
	}
	return nil
}

func (c *Conn) isOpen(id uint32) bool { return id%2 == 1 && id < c.id && c.busy[id/2%slots] }

// settings returns an error for settings that the client does not support.
func (c *Conn) settings(flags byte, payload []byte) error {
	if flags&flagAck != 0 {
		return nil
	}
	for ; len(payload) >= 6; payload = payload[6:] {
		id, value := binary.BigEndian.Uint16(payload), int(binary.BigEndian.Uint32(payload[2:]))
		least := 0
		switch id {
		case settingTable:
			least = usualTable
		case settingStreams:
			least = c.ln.cfg.Streams
		case settingWindow:
			for i := range c.ln.messages {
				least = max(least, c.ln.messages[i].body)
			}
		}
		if value < least {
			return fmt.Errorf("fakeh2: setting %d is %d, and has to be %d", id, value, least)
		}
	}
	c.out = appendFrame(c.out, frameSettings, flagAck, nil)
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
