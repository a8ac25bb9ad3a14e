package fasthttputil

import "sync"

// A queue grows by chunks. Short messages, which are the rule, use a small chunk.
// Longer ones use large chunks, so that bulk data needs few pool operations and is
// never copied again to grow a buffer.
const (
	smallChunkSize = 4 << 10
	largeChunkSize = 64 << 10
)

// chunk is one element of a queue. The bytes buf[start:end] are unread.
type chunk struct {
	next       *chunk
	start, end int
	buf        []byte
}

var (
	smallChunks = sync.Pool{New: func() any { return &chunk{buf: make([]byte, smallChunkSize)} }}
	largeChunks = sync.Pool{New: func() any { return &chunk{buf: make([]byte, largeChunkSize)} }}
)

// newChunk returns an empty chunk of the right size for a message of n bytes.
func newChunk(n int) *chunk {
	if n <= smallChunkSize {
		return smallChunks.Get().(*chunk)
	}
	return largeChunks.Get().(*chunk)
}

// release returns c to its pool. It must not be used afterwards.
func (c *chunk) release() {
	c.next, c.start, c.end = nil, 0, 0
	if len(c.buf) == smallChunkSize {
		smallChunks.Put(c)
		return
	}
	largeChunks.Put(c)
}

// queue is a first-in-first-out buffer of bytes. The zero value is empty. An empty
// queue holds no chunk, so an idle connection holds no buffer. A queue has no lock.
type queue struct {
	head, tail *chunk
}

// write appends a copy of p.
func (q *queue) write(p []byte) {
	for len(p) > 0 {
		if q.tail == nil || q.tail.end == len(q.tail.buf) {
			q.grow(len(p))
		}
		n := copy(q.tail.buf[q.tail.end:], p)
		q.tail.end += n
		p = p[n:]
	}
}

// grow appends an empty chunk for n more bytes.
func (q *queue) grow(n int) {
	c := newChunk(n)
	if q.tail == nil {
		q.head = c
	} else {
		q.tail.next = c
	}
	q.tail = c
}

// read moves bytes to p, as many as there are or as p has room for, and returns their
// number. It releases chunks that are read to the end.
func (q *queue) read(p []byte) int {
	total := 0
	for q.head != nil && total < len(p) {
		c := q.head
		n := copy(p[total:], c.buf[c.start:c.end])
		c.start += n
		total += n
		if c.start == c.end {
			q.head = c.next
			if q.head == nil {
				q.tail = nil
			}
			c.release()
		}
	}
	return total
}
