// Package bufpool keeps byte buffers for reuse, in classes by size, so that a caller
// that needs a small buffer does not hold a large one.
package bufpool

import (
	"math/bits"
	"sync"
	"sync/atomic"
)

const (
	// MinSize is the capacity of the smallest class. Each class is twice as
	// large as the one before.
	MinSize = 1 << minBits
	// MaxSize is the capacity of the largest class. Larger buffers are left to the
	// garbage collector.
	MaxSize = 1 << maxBits

	minBits = 10
	maxBits = 20
)

// pools[i] holds buffers with a capacity of at least MinSize << i, and less
// than twice that, except for the last.
var pools [maxBits - minBits + 1]sync.Pool

// Buffer is a byte slice from a pool. The caller may set B to any slice, such as
// the result of append. B belongs to the caller until the call of Put.
type Buffer struct {
	B []byte
}

// Get returns a Buffer whose B has length 0 and a capacity of at least n bytes. The
// bytes beyond its length are undefined. If n is over MaxSize, Get allocates B, with
// a capacity of exactly n.
func Get(n int) *Buffer {
	if n <= MaxSize {
		class := classFor(n)
		if b, ok := pools[class].Get().(*Buffer); ok {
			return b
		}
		n = MinSize << class
	}
	if n >= largeSize {
		large.Add(int64(n))
	}
	return &Buffer{B: make([]byte, 0, n)}
}

// largeSize is the size from which on Large counts a buffer.
const largeSize = 64 << 10

var large atomic.Int64

// Large returns the total size of the large buffers that were allocated since the
// process started. The difference of two calls bounds how much of them has become
// garbage meanwhile, if the buffers in the pools count as garbage, too.
func Large() int64 { return large.Load() }

// Put returns b to its pool. The caller must not use b or its B afterwards. Put
// ignores a nil b, and buffers smaller than the smallest class or larger than the
// largest.
func Put(b *Buffer) {
	if b == nil {
		return
	}
	Poison(b.B)
	if cap(b.B) < MinSize || cap(b.B) > MaxSize {
		return
	}
	b.B = b.B[:0]
	pools[classOf(cap(b.B))].Put(b)
}

// Write appends p to B. If the capacity is too small, append allocates. The error
// is always nil.
func (b *Buffer) Write(p []byte) (int, error) {
	b.B = append(b.B, p...)
	return len(p), nil
}

// Grow makes room for n more bytes after the length of B. If the capacity is too
// small, Grow moves B to a buffer of a larger class and returns the old one to the
// pool: slices of the old B must not be used any more.
func (b *Buffer) Grow(n int) {
	if cap(b.B)-len(b.B) >= n {
		return
	}
	larger := Get(max(len(b.B)+n, 2*cap(b.B)))
	larger.B = append(larger.B, b.B...)
	b.B, larger.B = larger.B, b.B
	Put(larger)
}

// classFor returns the smallest class whose buffers hold n bytes.
func classFor(n int) int {
	if n <= MinSize {
		return 0
	}
	return bits.Len(uint(n-1)) - minBits
}

// classOf returns the class of a buffer with this capacity: the largest class for
// which it has enough.
func classOf(capacity int) int {
	return bits.Len(uint(capacity)) - 1 - minBits
}
