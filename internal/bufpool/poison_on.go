//go:build fasthttp_poison

package bufpool

// poisonByte is the byte that fills released memory. It occurs in no text, and is
// easy to see in a dump.
const poisonByte = 0xDB

// Poison overwrites b up to its capacity. b was released: a program that still uses
// it shows the wrong bytes at once.
func Poison(b []byte) {
	b = b[:cap(b)]
	for i := range b {
		b[i] = poisonByte
	}
}
