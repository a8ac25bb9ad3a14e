// Package recvbuf holds what was received on a connection and not consumed. It
// knows nothing of connections: whoever reads from one puts the bytes into Space,
// and says with Received how many there were. source.go has what messages are read
// from, which may be a Buffer or something else.
//
// It imports internal/bufpool.
package recvbuf

import "github.com/valyala/fasthttp/internal/bufpool"

// MinSpace is how many bytes Space has room for at least.
const MinSpace = 512

// Buffer is bytes in the order in which they were received. It has memory only
// while that is needed: from the first call of Space, Adopt or Hold until Release.
//
// The zero value is an empty buffer without a Size. A Buffer is used by one
// goroutine at a time, and must not be copied while it has memory.
type Buffer struct {
	in *bufpool.Buffer // what lies before read is consumed
	// Size is how large the memory is to begin with, in bytes.
	Size uint32
	read uint32
}

// Peek returns the bytes that are there. They stay valid until Space, Release, or
// another method that takes memory.
func (b *Buffer) Peek() []byte {
	if b.in == nil {
		return nil
	}
	return b.in.B[b.read:]
}

// Discard takes n of them away.
func (b *Buffer) Discard(n int) { b.read += uint32(n) }

// Space returns where the next bytes go: at least MinSpace bytes.
func (b *Buffer) Space() []byte {
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

// Received says that n bytes were put into what Space has returned.
func (b *Buffer) Received(n int) { b.in.B = b.in.B[:len(b.in.B)+n] }

// Empty reports whether there is no memory.
func (b *Buffer) Empty() bool { return b.in == nil }

// Adopt makes in, whose content is not needed any more, the memory for what comes
// next, if there is none and it is large enough. It goes to the pool otherwise.
func (b *Buffer) Adopt(in *bufpool.Buffer) {
	if b.in != nil || cap(in.B) < int(b.Size) {
		bufpool.Put(in)
		return
	}
	in.B = in.B[:0]
	b.in, b.read = in, 0
}

// Hold makes in, whose first n bytes were received, the memory. There must be none.
func (b *Buffer) Hold(in *bufpool.Buffer, n int) {
	in.B = in.B[:n]
	b.in, b.read = in, 0
}

// Release gives the memory back, with what is in it.
func (b *Buffer) Release() {
	if b.in != nil {
		bufpool.Put(b.in)
		b.in, b.read = nil, 0
	}
}
