//go:build fasthttp_poison

package bufpool

// poisonByte is what released memory is filled with: it occurs in no text, and
// stands out in a dump.
const poisonByte = 0xDB

// Poison overwrites all the room of b, which nobody may use any more, so that
// whoever does sees it at once.
func Poison(b []byte) {
	b = b[:cap(b)]
	for i := range b {
		b[i] = poisonByte
	}
}
