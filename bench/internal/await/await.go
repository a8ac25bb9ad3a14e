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
