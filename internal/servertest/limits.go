package servertest

import (
	"os"
	"testing"
)

// Sizes at which the server goes another way. A test of the root package holds
// that they are those of the code.
const (
	DrainLimit        = 256 << 10 // of a body that a handler left unread, and that is read away
	FlushSize         = 64 << 10  // of responses before they are written
	CopyLimit         = 16 << 10  // of a body that is copied behind its head
	DefaultBodyMemory = 1 << 30   // of the bodies of all requests
	UncountedBody     = 16 << 10  // of a body that is not counted there
)

// SoakVariable says how long a test may go on that takes what time it gets, such
// as "10m".
const SoakVariable = "FASTHTTP_SOAK"

// Times returns how often something is done at random: n times where the
// environment asks for a soak, and fewer otherwise.
func Times(n int) int {
	switch {
	case os.Getenv(SoakVariable) != "":
		return n
	case testing.Short():
		return n / 40
	}
	return n / 10
}

// Heavy returns how much of a work is done whose amount is not the point of a test: n, or a
// quarter of that with the race detector, which makes work take ten times as long.
func Heavy(n int) int {
	if RaceDetector {
		return n / 4
	}
	return n
}
