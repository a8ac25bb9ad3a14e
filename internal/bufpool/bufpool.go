// Package bufpool keeps byte buffers for their next user, in classes by size,
// so that whoever needs little does not get, and hold on to, much.
//
// It imports nothing of this module.
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
	// MaxSize is the capacity of the largest class. Buffers that have grown
	// beyond it are left to the garbage collector.
	MaxSize = 1 << maxBits

	minBits = 10
	maxBits = 20
)

// pools[i] holds buffers with a capacity of at least MinSize << i, and less
// than twice that, except for the last.
var pools [maxBits - minBits + 1]sync.Pool

// Buffer is a byte slice on loan from a pool. Its user may set B to anything,
// such as what append made of it. B is not shared with anybody else until the
// Buffer is given to Put.
type Buffer struct {
	B []byte
}

// Get returns a Buffer whose B has the length 0 and room for n bytes or more.
// What B holds beyond its length is not defined. For n over MaxSize the room
// is made anew, and is exactly n.
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

// largeSize is the size from which buffers count for Large.
const largeSize = 64 << 10

var large atomic.Int64

// Large returns how many bytes of large buffers were ever made anew. The difference
// of two calls bounds the garbage that such buffers have become meanwhile, where
// what the pools hold in reserve counts as garbage.
func Large() int64 { return large.Load() }

// Put gives b back. Neither b nor its B may be used after that. A nil b is
// ignored, as is one that is smaller than the smallest class or larger than
// the largest.
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

// Write appends p to B, where the garbage collector finds room if there is too
// little. It takes everything.
func (b *Buffer) Write(p []byte) (int, error) {
	b.B = append(b.B, p...)
	return len(p), nil
}

// Grow makes room for n more bytes behind the length of B. Where there is too
// little, B moves to a larger class and its old room goes back to the pool:
// slices of the old B must not be used any more.
func (b *Buffer) Grow(n int) {
	if cap(b.B)-len(b.B) >= n {
		return
	}
	larger := Get(max(len(b.B)+n, 2*cap(b.B)))
	larger.B = append(larger.B, b.B...)
	b.B, larger.B = larger.B, b.B
	Put(larger)
}

// classFor returns the smallest class whose buffers have room for n bytes.
func classFor(n int) int {
	if n <= MinSize {
		return 0
	}
	return bits.Len(uint(n-1)) - minBits
}

// classOf returns the class that a buffer of this capacity belongs to: the
// largest one that it can serve.
func classOf(capacity int) int {
	return bits.Len(uint(capacity)) - 1 - minBits
}
