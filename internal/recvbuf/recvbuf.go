// Package recvbuf holds bytes that were received on a connection and not consumed.
// It knows nothing of connections: the reader of a connection stores bytes in
// Space, and reports their number with Received. source.go has Source, from which
// messages are read, which may be a Buffer or something else.
package recvbuf

import "github.com/valyala/fasthttp/internal/bufpool"

// MinSpace is the least number of bytes that ReadBuffer has room for.
const MinSpace = 512

// Buffer holds bytes in the order in which they were received. It has memory only
// while it needs it: from the first call of ReadBuffer, Adopt or Hold until Release.
//
// The zero value is an empty buffer without a Size. Only one goroutine may use a
// Buffer at a time, and it must not be copied while it has memory.
type Buffer struct {
	in *bufpool.Buffer // the bytes before read are consumed
	// Size is the initial size of the memory, in bytes.
	Size uint32
	read uint32
}

// Peek returns the available bytes. They stay valid until ReadBuffer, Release, or
// another method that takes memory.
func (b *Buffer) Peek() []byte {
	if b.in == nil {
		return nil
	}
	return b.in.B[b.read:]
}

// Discard removes the first n bytes.
func (b *Buffer) Discard(n int) { b.read += uint32(n) }

// ReadBuffer returns the memory for the next bytes: at least MinSpace bytes.
func (b *Buffer) ReadBuffer() []byte {
	if b.in == nil {
		b.in, b.read = bufpool.Get(int(b.Size)), 0
	}
	in := b.in
	if int(b.read) == len(in.B) {
		in.B, b.read = in.B[:0], 0
	}
	if cap(in.B)-len(in.B) < MinSpace {
		if b.read > 0 {
			in.B = in.B[:copy(in.B, in.B[b.read:])]
			b.read = 0
		}
		if cap(in.B)-len(in.B) < MinSpace {
			in.Grow(max(cap(in.B), MinSpace))
		}
	}
	return in.B[len(in.B):cap(in.B)]
}

// ReadBufferUpTo is ReadBuffer for a connection that may receive much at once: the memory has
// Size bytes while little arrives, and large bytes otherwise, or more if nothing can be consumed
// before.
func (b *Buffer) ReadBufferUpTo(large int) []byte {
	in, small := b.in, int(b.Size)
	switch consumed := in == nil || int(b.read) == len(in.B); {
	case in == nil, consumed && cap(in.B) > small && len(in.B) < small:
		bufpool.Put(in)
		b.in, b.read = bufpool.Get(small), 0
	case consumed && len(in.B) < cap(in.B):
		in.B, b.read = in.B[:0], 0
	case cap(in.B) < large:
		// the memory was full, or a part is incomplete: more is expected
		b.in = bufpool.Get(large)
		b.in.B = append(b.in.B, in.B[b.read:]...)
		b.read = 0
		bufpool.Put(in)
	default:
		in.B, b.read = in.B[:copy(in.B, in.B[b.read:])], 0
		if len(in.B) == cap(in.B) {
			in.Grow(cap(in.B))
		}
	}
	return b.in.B[len(b.in.B):cap(b.in.B)]
}

// Received records that n bytes were stored in the result of ReadBuffer or ReadBufferUpTo.
func (b *Buffer) Received(n int) { b.in.B = b.in.B[:len(b.in.B)+n] }

// Empty reports whether there is no memory.
func (b *Buffer) Empty() bool { return b.in == nil }

// Adopt makes in, whose content is not needed any more, the memory for the next
// bytes, if b has no memory and in is large enough. Otherwise in is returned to the
// pool.
func (b *Buffer) Adopt(in *bufpool.Buffer) {
	if b.in != nil || cap(in.B) < int(b.Size) {
		bufpool.Put(in)
		return
	}
	in.B = in.B[:0]
	b.in, b.read = in, 0
}

// Hold makes in, whose first n bytes were received, the memory. b must have no
// memory.
func (b *Buffer) Hold(in *bufpool.Buffer, n int) {
	in.B = in.B[:n]
	b.in, b.read = in, 0
}

// Release releases the memory and its content.
func (b *Buffer) Release() {
	if b.in != nil {
		bufpool.Put(b.in)
		b.in, b.read = nil, 0
	}
}
