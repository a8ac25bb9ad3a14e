//go:build linux

package netloop

import (
	"testing"
	"time"
)

func TestPace(t *testing.T) {
	const us, ms = time.Microsecond, time.Millisecond
	repeat := func(n int, took time.Duration) []time.Duration {
		all := make([]time.Duration, n)
		for i := range all {
			all[i] = took
		}
		return all
	}
	for _, test := range []struct {
		name string
		took []time.Duration
		slow time.Duration // for how long afterwards
	}{
		{"nothing", nil, 0},
		{"handlers that return at once", repeat(10_000, 5*us), 0},
		{"one that is long", []time.Duration{5 * us, 300 * us}, 300 * ms},
		{"one that is a little long", []time.Duration{101 * us}, 101 * ms},
		{"one that is very long", []time.Duration{time.Hour}, maxSlow},
		{"each a little", repeat(100, 60*us), minSlow},
		{"a long one counts for longer than the short ones behind it", append([]time.Duration{ms}, repeat(5, 150*us)...), time.Second - 5*150*us},
	} {
		var p pace
		var now time.Duration
		for _, took := range test.took {
			now += took
			p.note(took, now)
		}
		if p.slow(now) != (test.slow > 0) || test.slow > 0 && (!p.slow(now+test.slow-1) || p.slow(now+test.slow)) {
			t.Errorf("%s: slow until %v, want %v", test.name, p.slowUntil-now, test.slow)
		}
	}
}

// Whatever a handler takes that nobody expected, those that it holds up are few.
func TestPaceForgetsInProportion(t *testing.T) {
	for took := longHandler + 1; took <= maxSlow/slowFactor; took *= 2 {
		var p pace
		p.note(took, took)
		if held := float64(took) / float64(p.slowUntil); held > 1.1/slowFactor {
			t.Errorf("a handler that takes %v every %v goes unnoticed", took, p.slowUntil)
		}
	}
}
