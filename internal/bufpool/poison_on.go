//go:build fasthttp_poison

package bufpool

// Poisons reports whether the program was built with the tag fasthttp_poison.
const Poisons = true

// poisonByte is the byte that fills released memory. It occurs in no text, and is
// easy to see in a dump.
const poisonByte = 0xDB

// poison, of that byte, is copied over released memory: under the race detector a loop takes as
// long for each byte as a copy takes for a whole piece. It is a constant because the race detector
// does not record reads of those.
const poison = poison512 + poison512 + poison512 + poison512 + poison512 + poison512 + poison512 + poison512

const (
	poison8   = "\xdb\xdb\xdb\xdb\xdb\xdb\xdb\xdb"
	poison64  = poison8 + poison8 + poison8 + poison8 + poison8 + poison8 + poison8 + poison8
	poison512 = poison64 + poison64 + poison64 + poison64 + poison64 + poison64 + poison64 + poison64
)

// Poison overwrites b up to its capacity. b was released: a program that still uses
// it shows the wrong bytes at once.
func Poison(b []byte) {
	for b = b[:cap(b)]; len(b) > 0; {
		b = b[copy(b, poison):]
	}
}
