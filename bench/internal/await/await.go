// Package await has the waits of this module's tests. The tests run with v1.77.0 too, which lacks
// the packages that this module's tests share with others.
package await

import (
	"testing"
	"time"
)

// patience is how long a test waits for an expected event. Only a failing test waits that long.
const patience = time.Minute

// Receive returns the next value of c.
func Receive[T any](t testing.TB, what string, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(patience):
		t.Fatalf("never came: %s", what)
	}
	return v
}

// Longer makes attempts with a load of a length, which doubles after each of them, until there is no
// error: a machine that stands still may use the length up, so that the result does not say enough.
// It gives up after more than a minute.
func Longer(t testing.TB, length time.Duration, attempt func(length time.Duration) error) {
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
