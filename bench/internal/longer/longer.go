// Package longer repeats tests of loads. A load has a length, and a machine that stands still may
// use it up, so that the result does not say enough.
package longer

import (
	"testing"
	"time"
)

// Until makes attempts with a length, which doubles after each of them, until there is no error. It
// gives up after more than a minute.
func Until(t testing.TB, length time.Duration, attempt func(length time.Duration) error) {
	t.Helper()
	for ; ; length *= 2 {
		err := attempt(length)
		if err == nil {
			return
		}
		if length > time.Minute {
			t.Fatalf("with a length of %v: %v", length, err)
		}
	}
}
