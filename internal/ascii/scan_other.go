//go:build !amd64 || purego

package ascii

// NextControl returns the position of the first byte of b, at or after from, that is a
// control character (under 0x20, or 0x7f), or len(b) if there is none. A tab counts.
// b has at least 16 bytes, and from is at most len(b).
func NextControl(b []byte, from int) int { return from + indexControl(b[from:]) }
