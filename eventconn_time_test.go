package fasthttp

import (
	"math"
	"testing"
	"time"
)

// The clock of an EventConn wraps around, but the longest time is not over at once.
func TestEventConnNeverTicksAtOnce(t *testing.T) {
	for range 1000 {
		left := eventTimeAfter(math.MaxInt64).left()
		if left < maxEventTime-time.Minute || left > maxEventTime+time.Second {
			t.Fatalf("it ticks in %v", left)
		}
	}
}
