package ws

import "math"

// Limits bounds what a peer can make a connection do. A zero field means its default, a
// negative one that there is no bound.
type Limits struct {
	// Message is how many bytes a message may have, all of its fragments counted. Feed
	// fails at the head of the frame that would exceed it. A compressed message may have
	// an eighth more than that and 1 KiB, since compression enlarges what is random; its
	// size afterwards is for the caller to limit, see Assembler. Default 4 MiB.
	Message int64
	// Fragments is how many frames a message may have. Default 131,072: a message of 4 MiB
	// in frames of 32 bytes.
	Fragments int64
	// Empty is how many of them may have no payload. Default 64.
	Empty int64

	compressed int64 // the bound for a compressed message
}

// The defaults of Limits.
const (
	DefaultMessage   = 4 << 20
	DefaultFragments = 1 << 17
	DefaultEmpty     = 64
)

// Fill replaces the fields that are zero by their defaults. Init needs a Limits that was
// filled, so that one serves all connections.
func (l *Limits) Fill() {
	l.Message = bound(l.Message, DefaultMessage)
	l.Fragments = bound(l.Fragments, DefaultFragments)
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
