//go:build !purego

package ascii

//go:noescape
func nextControl(b []byte, from int) int

// NextControl returns the position of the first byte of b, at or after from, that is a
// control character (under 0x20, or 0x7f), or len(b) if there is none. A tab counts.
// from is at most len(b).
func NextControl(b []byte, from int) int {
	if len(b) < 16 {
		return from + indexControl(b[from:])
	}
	return nextControl(b, from)
}
