package ws

import "encoding/binary"

// Role is a side of a connection.
type Role uint8

const (
	Server Role = iota // its peer masks frames
	Client             // masks its frames
)

// Conn is a connection after its opening handshake. The caller passes received bytes to
// Feed and answers its events: it sends Pong for Ping, and Close for Close. Init makes a
// Conn ready for use.
//
// Goroutines must not use a Conn concurrently. It has 56 bytes and allocates nothing.
type Conn struct {
	l *Limits

	// the message being received
	size      int64  // in bytes, as announced by the heads of its frames
	left      int64  // bytes that have not arrived
	key       uint32 // the mask for the first missing byte
	fragments uint32
	empty     uint32 // fragments without payload
	check     TextCheck
	opcode    Opcode // Continuation if there is no message
	last      bool   // its last frame has begun
	packed    bool   // it is compressed

	sending  Opcode // of the message being sent, or Continuation
	role     Role
	phase    Phase
	compress bool
	fault    uint8 // why it has failed: an index of faults
}

// Extensions are the extensions that client and server have agreed on.
type Extensions struct {
	// Compression gives a meaning to RSV1 in the first frame of a message, as
	// permessage-deflate does (RFC 7692 section 6).
	Compression bool
}

// Event is a part of a message, or a whole control frame, which Feed reports to its
// caller.
type Event struct {
	// Opcode is Text or Binary for each part of a message, or the opcode of the control
	// frame. Continuation, the zero value, means that there is no event.
	Opcode Opcode
	// First and End mark the first and the last part of a message. The last one may be
	// empty, the others are not.
	First, End bool
	// Compressed means that the message has RSV1. It is set in all parts of the message.
	// Feed does not check that compressed text is UTF-8.
	Compressed bool
	// Code is the code of a Close frame: NoStatusReceived if the frame has none.
	Code Code
	// Payload is a part of the bytes passed to Feed, unmasked. For Close it is the reason.
	Payload []byte
}

// Init begins a connection. The caller has filled l, and does not change it while
// connections use it.
func (c *Conn) Init(r Role, l *Limits, e Extensions) {
	*c = Conn{l: l, role: r, compress: e.Compression}
}

// Feed consumes received bytes from the beginning of b, up to the first event, and stores
// the event in ev. It returns the number of bytes consumed, and unmasks the payload among
// them in place. If there is no event, Feed needs more bytes than the rest of b; MaxNeeded
// bytes are always enough.
//
// An error is an *Error, which each further call returns again. The caller sends a Close
// frame with its code, and closes the connection. After a Close frame from the peer, Feed
// consumes all of b and returns no event.
func (c *Conn) Feed(b []byte, ev *Event) (n int, err error) {
	*ev = Event{}
	if c.phase >= CloseReceived {
		if c.fault != 0 {
			return 0, faults[c.fault]
		}
		return len(b), nil
	}
	for c.left == 0 {
		size, e := c.receive(b[n:], ev)
		if e != nil {
			return n, c.failed(e, ev)
		}
		n += size
		if ev.Opcode != Continuation || size == 0 {
			return n, nil
		}
	}
	if n == len(b) {
		return n, nil
	}
	p := b[n:]
	p = p[:min(c.left, int64(len(p)))]
	if e := c.part(p, ev); e != nil {
		return n, c.failed(e, ev)
	}
	return n + len(p), nil
}

// failed ends the connection for a fault that Feed has found.
func (c *Conn) failed(e *Error, ev *Event) error {
	*ev = Event{}
	return c.Fail(e)
}

// Left returns how many bytes of the current data frame have not arrived yet: all of them
// are payload of the same message.
func (c *Conn) Left() int64 { return c.left }

// Fail ends the connection for a fault of the peer that Feed cannot detect, such as
// malformed compressed data. It returns e.
func (c *Conn) Fail(e *Error) error {
	if c.may(fails) {
		c.move(fails)
		c.fault, c.left = e.index, 0
	}
	return e
}

// receive consumes the head of a data frame, or a whole control frame, from b. If b is too
// short, receive consumes nothing, but it checks each of the first two bytes as soon as it
// has arrived.
func (c *Conn) receive(b []byte, ev *Event) (n int, err *Error) {
	if len(b) == 0 {
		return 0, nil
	}
	opcode := Opcode(b[0] & bitsOpcode)
	if err = c.expects(b[0], opcode); err != nil || len(b) == 1 {
		return 0, err
	}
	switch masked := b[1]&bitMask != 0; {
	case c.role == Server && !masked:
		return 0, ErrUnmasked
	case c.role == Client && masked:
		return 0, ErrMasked
	case opcode.IsControl():
		return c.receiveControl(b, opcode, ev)
	}
	return c.receiveData(b, opcode, ev)
}

// expects returns an error if the first byte of a frame shows that it is not allowed now.
func (c *Conn) expects(first byte, opcode Opcode) *Error {
	switch rsv := first & bitsRSV; {
	case rsv != 0 && (rsv != bitRSV1 || !c.compress || opcode == Continuation || opcode.IsControl()):
		return ErrReserved
	case !opcode.isKnown():
		return ErrOpcode
	case opcode.IsControl():
		if first&bitFin == 0 {
			return ErrFragmented
		}
	case opcode == Continuation && c.opcode == Continuation:
		return ErrContinuation
	case opcode != Continuation && c.opcode != Continuation:
		return ErrUnfinished
	}
	return nil
}

func (c *Conn) receiveControl(b []byte, opcode Opcode, ev *Event) (n int, err *Error) {
	length, n := int(b[1]&bitsLength), 2
	if length > MaxControl {
		return 0, ErrControlSize
	}
	if c.role == Server {
		n += maskSize
	}
	end := n + length
	if len(b) < end {
		return 0, nil
	}
	p := b[n:end:end]
	if c.role == Server {
		Mask(p, binary.LittleEndian.Uint32(b[2:]))
	}
	if opcode == Close {
		if ev.Code, p, err = parseClose(p); err != nil {
			return 0, err
		}
		c.move(receivesClose)
	}
	ev.Opcode, ev.Payload = opcode, p
	return end, nil
}

// receiveData consumes the head of a data frame. If the head ends a message without
// further payload, receiveData sets the event.
func (c *Conn) receiveData(b []byte, opcode Opcode, ev *Event) (n int, err *Error) {
	length, n, err := parseLength(b)
	if err != nil || n == 0 {
		return 0, err
	}
	packed := c.packed
	if opcode != Continuation {
		packed = b[0]&bitRSV1 != 0
	}
	if err = c.admits(length, packed); err != nil {
		return 0, err
	}
	if c.role == Server {
		if len(b) < n+maskSize {
			return 0, nil
		}
		c.key = binary.LittleEndian.Uint32(b[n:])
		n += maskSize
	}
	if opcode != Continuation {
		c.opcode, c.packed = opcode, packed
	}
	c.last = b[0]&bitFin != 0
	c.size += int64(length)
	c.left = int64(length)
	c.fragments++
	if length == 0 {
		c.empty++
		if c.last {
			err = c.part(nil, ev)
		}
	}
	return n, err
}

// admits returns an error if one more frame with this length exceeds a limit.
func (c *Conn) admits(length uint64, packed bool) *Error {
	switch limit := c.limit(packed); {
	case length > uint64(limit-c.size):
		return ErrMessageSize
	case int64(c.fragments) >= c.l.Fragments:
		return ErrManyFragments
	case length == 0 && int64(c.empty) >= c.l.Empty:
		return ErrEmptyFragments
	}
	return nil
}

// limit returns the maximum size of a message.
func (c *Conn) limit(packed bool) int64 {
	if packed {
		return c.l.compressed
	}
	return c.l.Message
}

// part makes an event of p, which is payload of the current frame.
func (c *Conn) part(p []byte, ev *Event) *Error {
	first := c.size == c.left
	c.left -= int64(len(p))
	end := c.last && c.left == 0
	if c.role == Server {
		c.key = Mask(p, c.key)
	}
	if c.opcode == Text && !c.packed && (!c.check.Add(p) || end && !c.check.Complete()) {
		return ErrText
	}
	// a copy of a whole Event would have to wait for the stores of its fields
	ev.Opcode, ev.First, ev.End, ev.Compressed = c.opcode, first, end, c.packed
	ev.Payload = p[:len(p):len(p)]
	if end {
		c.opcode, c.size, c.fragments, c.empty = Continuation, 0, 0, 0
	}
	return nil
}

// SetLimits replaces the limits of Init, also for a message being received: Feed fails if what the
// heads of its frames have announced exceeds them.
func (c *Conn) SetLimits(l *Limits) {
	c.l = l
	if c.size > c.limit(c.packed) && c.may(fails) {
		c.move(fails)
		// another goroutine may be asking for Left
		c.fault = ErrMessageSize.index
	}
}
