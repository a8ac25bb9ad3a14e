package ws

import "github.com/valyala/fasthttp/internal/bufpool"

// Assembler collects the parts of a message up to a limit. Its buffer grows with the bytes
// that have arrived, never with the length that the head of a frame announces. After
// Release it has no buffer. The zero value is ready for use once Limit is set.
type Assembler struct {
	// Limit is the maximum size of a message in bytes, after decompression. Negative means
	// no limit.
	Limit int64

	buf   *bufpool.Buffer
	ended bool // buf has a whole message
}

// leastSpace is the size of the room that ReadBuffer makes for the beginning of a message.
const leastSpace = 4 << 10

// Add adds the part of a message in ev. At the end of the message it returns the whole
// message, which is valid until the next method call, and only as long as the payload of
// the event: Add does not copy a message in one part. The error is ErrMessageSize.
func (a *Assembler) Add(ev *Event) (message []byte, err error) {
	a.begin()
	if a.buf == nil && ev.End {
		if a.exceeds(len(ev.Payload)) {
			return nil, ErrMessageSize
		}
		return ev.Payload, nil
	}
	if err := a.Append(ev.Payload); err != nil || !ev.End {
		return nil, err
	}
	a.ended = true
	return a.buf.B, nil
}

// Append adds p to the message. The error is ErrMessageSize.
func (a *Assembler) Append(p []byte) error {
	a.begin()
	if a.exceeds(len(p)) {
		return ErrMessageSize
	}
	switch {
	case len(p) == 0:
	case a.buf == nil:
		a.buf = bufpool.Get(len(p))
		a.buf.B = append(a.buf.B, p...)
	case a.isSpace(p):
		a.buf.B = a.buf.B[:len(a.buf.B)+len(p)]
	default:
		a.buf.Grow(len(p))
		a.buf.B = append(a.buf.B, p...)
	}
	return nil
}

// ReadBuffer returns room for up to n bytes at the end of the message. The caller may receive
// the next part there, and pass it to Feed and then to Add, which does not copy it. n is
// Conn.Left, so that nothing else arrives in the room. The result is empty if n is 0.
func (a *Assembler) ReadBuffer(n int64) []byte {
	if n <= 0 {
		return nil
	}
	a.begin()
	if a.buf == nil {
		a.buf = bufpool.Get(leastSpace)
	}
	b := a.buf
	if cap(b.B) == len(b.B) {
		b.Grow(1)
	}
	return b.B[len(b.B):cap(b.B)][:min(n, int64(cap(b.B)-len(b.B)))]
}

// Bytes returns the message as collected so far. It is valid until the next call of
// another method.
func (a *Assembler) Bytes() []byte {
	if a.buf == nil {
		return nil
	}
	return a.buf.B
}

// Held returns the size of the memory that the message occupies, in bytes.
func (a *Assembler) Held() int {
	if a.buf == nil {
		return 0
	}
	return cap(a.buf.B)
}

// Release frees the buffer, after a message or in the middle of one. The caller must no
// longer use a message that Add has returned.
func (a *Assembler) Release() {
	bufpool.Put(a.buf)
	a.buf, a.ended = nil, false
}

// begin drops the message that Add has returned.
func (a *Assembler) begin() {
	if a.ended {
		a.Release()
	}
}

// exceeds reports whether n more bytes exceed the limit.
func (a *Assembler) exceeds(n int) bool {
	return a.Limit >= 0 && int64(n) > a.Limit-int64(len(a.Bytes()))
}

// isSpace reports whether p is the beginning of the room that ReadBuffer returned.
func (a *Assembler) isSpace(p []byte) bool {
	room := a.buf.B[len(a.buf.B):cap(a.buf.B)]
	return len(p) <= len(room) && &p[0] == &room[0]
}
