package fasthttp

import "github.com/valyala/fasthttp/internal/bufpool"

// recvBuffer holds what was received on a client's connection and not consumed.
// It has memory only while that is needed.
type recvBuffer struct {
	in   *bufpool.Buffer // what lies before read is consumed
	read int
	size int // of in, to begin with
}

// peek returns the bytes that are there.
func (r *recvBuffer) peek() []byte {
	if r.in == nil {
		return nil
	}
	return r.in.B[r.read:]
}

// discard takes n of them away.
func (r *recvBuffer) discard(n int) {
	if n > 0 {
		r.read += n
	}
}

// space returns where the next bytes go: at least minSpace bytes.
func (r *recvBuffer) space() []byte {
	if r.in == nil {
		r.in, r.read = bufpool.Get(r.size), 0
	}
	b := r.in
	if r.read == len(b.B) {
		b.B, r.read = b.B[:0], 0
	}
	if cap(b.B)-len(b.B) < minSpace {
		if r.read > 0 {
			b.B = b.B[:copy(b.B, b.B[r.read:])]
			r.read = 0
		}
		if cap(b.B)-len(b.B) < minSpace {
			b.Grow(max(cap(b.B), minSpace))
		}
	}
	return b.B[len(b.B):cap(b.B)]
}

// received says that n bytes were put into the space.
func (r *recvBuffer) received(n int) { r.in.B = r.in.B[:len(r.in.B)+n] }

// adopt makes buf, whose content is not needed any more, the memory for what comes
// next if there is none and it is large enough.
func (r *recvBuffer) adopt(buf *bufpool.Buffer) {
	if r.in != nil || cap(buf.B) < r.size {
		bufpool.Put(buf)
		return
	}
	buf.B = buf.B[:0]
	r.in, r.read = buf, 0
}

// hold makes buf, whose first n bytes were received, the buffer. There was none.
func (r *recvBuffer) hold(buf *bufpool.Buffer, n int) {
	buf.B = buf.B[:n]
	r.in, r.read = buf, 0
}

// release gives the memory back, with what is in it.
func (r *recvBuffer) release() {
	if r.in != nil {
		bufpool.Put(r.in)
		r.in, r.read = nil, 0
	}
}
