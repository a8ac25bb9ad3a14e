package clock

import "time"

// Earliest returns the earlier one of two deadlines, of which a zero one is none.
func Earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
