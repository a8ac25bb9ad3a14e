package servertest

import (
	"os"
	"testing"
	"time"

	"github.com/valyala/fasthttp/internal/patience"
)

// Sizes at which the server's behaviour changes. A test of the root package checks that
// they match the code.
const (
	DrainLimit        = 256 << 10 // largest unread rest of a body that the server drains
	FlushSize         = 64 << 10  // size of responses collected before a write
	CopyLimit         = 16 << 10  // largest body copied after its head
	DefaultBodyMemory = 1 << 30   // limit for the bodies of all requests
	UncountedBody     = 16 << 10  // largest body that does not count towards that limit
)

// SoakVariable is the environment variable for the duration of long-running tests, such as
// "10m".
const SoakVariable = "FASTHTTP_SOAK"

// A dial or a handshake that must succeed has as long as anything else.
func init() { patience.Extend(Patience) }

// Times returns the number of random repetitions: n if the environment requests a soak, and
// fewer otherwise.
func Times(n int) int {
	switch {
	case os.Getenv(SoakVariable) != "":
		return n
	case testing.Short():
		return n / 40
	}
	return n / 10
}

// Heavy returns the amount of work for a test that does not depend on the amount: n, or a
// quarter of n with the race detector, which makes work take ten times as long.
func Heavy(n int) int {
	if RaceDetector {
		return n / 4
	}
	return n
}

// SoakTime is how long a soak of random choices lasts on an engine without SoakVariable. With
// the race detector it is longer, since everything is slower.
func SoakTime() time.Duration {
	if RaceDetector {
		return time.Second
	}
	return time.Second / 2
}
