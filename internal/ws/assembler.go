package ws

import "github.com/valyala/fasthttp/internal/bufpool"

// Assembler collects the parts of a message up to a limit. Its buffer grows by what has
// arrived, never by what the head of a frame announces, and there is none after Release.
// The zero value is ready for use once Limit is set.
type Assembler struct {
	// Limit is how many bytes a message may have, after it was decompressed. Negative
	// means that there is no limit.
	Limit int64

	buf   *bufpool.Buffer
	ended bool // buf has a whole message
}

// leastSpace is the size of the room that Space makes for the beginning of a message.
const leastSpace = 4 << 10

// Add adds the part of a message that an event has. At the end of the message it returns
// all of it, which is valid until the next call of a method, and as long as the payload of
// the event: a message in one part is not copied. The error is ErrMessageSize.
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

// Space returns room for up to n bytes at the end of the message, in which the caller may
// receive its next part, to pass it to Feed and then to Add, which does not copy it. n is
// Conn.Left, so that nothing else arrives in it. The result is empty if n is 0.
func (a *Assembler) Space(n int64) []byte {
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

// Bytes returns what has been added to the message until now. It is valid until the next
// call of another method.
func (a *Assembler) Bytes() []byte {
	if a.buf == nil {
		return nil
	}
	return a.buf.B
}

// Held returns how many bytes of memory the message takes.
func (a *Assembler) Held() int {
	if a.buf == nil {
		return 0
	}
	return cap(a.buf.B)
}

// Release gives the buffer back after a message, or in the midst of one. What Add has
// returned must not be used any more.
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

// isSpace reports whether p is the beginning of what Space has returned.
func (a *Assembler) isSpace(p []byte) bool {
	room := a.buf.B[len(a.buf.B):cap(a.buf.B)]
	return len(p) <= len(room) && &p[0] == &room[0]
}
