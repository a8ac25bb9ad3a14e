//go:build linux

package netloop

import (
	"slices"
	"testing"
	"time"
)

func TestPace(t *testing.T) {
	const us, ms = time.Microsecond, time.Millisecond
	times := func(n int, took time.Duration) []time.Duration { return slices.Repeat([]time.Duration{took}, n) }
	for _, test := range []struct {
		name string
		took []time.Duration
		slow bool
	}{
		{"nothing", nil, false},
		{"handlers that return at once", times(10_000, 5*us), false},
		{"handlers that just count as short", times(10_000, shortHandler), false},
		{"one that was interrupted", append(times(100, 5*us), 300*us), false},
		{"some that were interrupted in a while", slices.Repeat(append(times(20_000, 5*us), 200*us), 20), false},
		{"some that wait a little", append(times(100, 5*us), times(3, 300*us)...), true},
		{"one that waits", append(times(100, 5*us), ms), true},
		{"one that waits, a while ago", append([]time.Duration{ms}, times(100_000, 5*us)...), false},
		{"one that waits, not so long ago", append([]time.Duration{ms}, times(10_000, 5*us)...), true},
		{"one in a thousand waits", slices.Repeat(append(times(1000, 5*us), ms), 10), true},
		{"one that computes for very long", append([]time.Duration{time.Hour}, times(1000, 5*ms)...), true},
		{"each takes a little too long", times(200, shortHandler+20*us), true},
	} {
		var p pace
		var now time.Duration
		for _, took := range test.took {
			now += took
			p.record(took, now)
		}
		if p.slow != test.slow {
			t.Errorf("%s: slow %v, want %v", test.name, p.slow, test.slow)
		}
		if p.until-now > slowFactor*slowMax {
			t.Errorf("%s: remembers for %v", test.name, p.until-now)
		}
	}
}

// Handlers that are slow so rarely that the loop counts as fast when they begin delay
// others only for a small part of the time.
func TestPaceLetsFewBeHeldUp(t *testing.T) {
	for took := shortHandler + 10*time.Microsecond; took <= slowMax; took = took * 5 / 4 {
		for every := time.Millisecond; every < 20*time.Second; every = every * 5 / 4 {
			var p pace
			var now, held time.Duration
			end := 100 * every
			for now < end {
				p.record(time.Microsecond, now)
				if !p.slow {
					held += took - shortHandler
				}
				now += took
				p.record(took, now)
				now += every
			}
			if part := float64(held-slowMin-took) / float64(now); part > 1.05/slowFactor {
				t.Fatalf("handlers that take %v every %v hold others up for %.4f of the time", took, every, part)
			}
		}
	}
}
