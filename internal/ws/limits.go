package ws

import "math"

// Limits bounds the resources that a peer can make a connection use. A zero field means
// its default, a negative field means no bound.
type Limits struct {
	// Message is the maximum size of a message in bytes, the sum of all its fragments.
	// Feed fails at the head of the frame that would exceed it. A compressed message may
	// have an eighth more plus 1 KiB, since compression enlarges random data; the caller
	// limits its size after decompression, see Assembler. Default 4 MiB.
	Message int64
	// Fragments is the maximum number of frames in a message. By default it is one for each
	// 32 bytes of Message, at least 131,072; there is no bound if Message has none.
	Fragments int64
	// Empty is the maximum number of these frames without payload. Default 64.
	Empty int64

	compressed int64 // the bound for a compressed message
}

// The defaults of Limits.
const (
	DefaultMessage   = 4 << 20
	DefaultFragments = DefaultMessage / leastFragment
	DefaultEmpty     = 64

	leastFragment = 32 // the size of the frames of which the largest message may consist
)

// Fill replaces zero fields with their defaults. Init needs a filled Limits, so that one
// Limits serves all connections.
func (l *Limits) Fill() {
	l.Message = bound(l.Message, DefaultMessage)
	l.Fragments = bound(l.Fragments, max(DefaultFragments, l.Message/leastFragment))
	l.Empty = bound(l.Empty, DefaultEmpty)
	l.compressed = math.MaxInt64
	if extra := l.Message/8 + 1024; l.Message <= math.MaxInt64-extra {
		l.compressed = l.Message + extra
	}
}

func bound(n, def int64) int64 {
	switch {
	case n == 0:
		return def
	case n < 0:
		return math.MaxInt64
	}
	return n
}
