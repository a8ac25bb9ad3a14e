package clock

import "time"

// Earliest returns the earlier of two deadlines. A zero deadline means none.
func Earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
