package fasthttputil

import "sync"

// A queue grows by chunks. Short messages, which are the rule, take a small chunk;
// what does not fit there goes into large ones, so that bulk data costs few pool
// operations and is never copied a second time to grow a buffer.
const (
	smallChunkSize = 4 << 10
	largeChunkSize = 64 << 10
)

// chunk is one link of a queue. The bytes buf[start:end] wait to be read.
type chunk struct {
	next       *chunk
	start, end int
	buf        []byte
}

var (
	smallChunks = sync.Pool{New: func() any { return &chunk{buf: make([]byte, smallChunkSize)} }}
	largeChunks = sync.Pool{New: func() any { return &chunk{buf: make([]byte, largeChunkSize)} }}
)

// newChunk returns an empty chunk that suits a message of n bytes.
func newChunk(n int) *chunk {
	if n <= smallChunkSize {
		return smallChunks.Get().(*chunk)
	}
	return largeChunks.Get().(*chunk)
}

// release puts c back into its pool. Nothing may refer to c any more.
func (c *chunk) release() {
	c.next, c.start, c.end = nil, 0, 0
	if len(c.buf) == smallChunkSize {
		smallChunks.Put(c)
		return
	}
	largeChunks.Put(c)
}

// queue is a first-in-first-out buffer of bytes. Its zero value is empty.
// An empty queue holds no chunk, so an idle connection pins no buffer. It does no
// locking of its own.
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

// read moves as many bytes as there are, or as p has room for, into p and returns
// their number. Chunks that are read to the end are released.
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
