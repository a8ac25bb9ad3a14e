package failover

import (
	"testing"
	"time"

	"github.com/valyala/fasthttp/internal/servertest"
)

func TestFailuresAreForgotten(t *testing.T) {
	servertest.Bubble(t, func(t *testing.T) {
		var f Recent
		for range 1000 {
			f.Add(time.Now())
		}
		if n := f.Count(); n != 1000 {
			t.Errorf("%d of 1000 failures count", n)
		}
		time.Sleep(time.Hour)
		f.Add(time.Now())
		time.Sleep(time.Second)
		f.Add(time.Now())
		if n := f.Count(); n != 2 {
			t.Errorf("%d failures of the last seconds count, want 2", n)
		}
		f.Add(time.Now().Add(-time.Hour)) // the clock was set back
		if n := f.Count(); n != 3 {
			t.Errorf("%d failures count, want 3", n)
		}
		time.Sleep(2 * time.Second)
		if n := f.Count(); n != 2 {
			t.Errorf("%d failures count, want 2", n)
		}
		time.Sleep(time.Second)
		if n := f.Count(); n != 0 {
			t.Errorf("%d failures count, want none", n)
		}
	})
}

func TestBackoffGrowsToItsLimit(t *testing.T) {
	for attempts := 1; attempts < 200; attempts++ {
		limit := min(time.Millisecond<<min(attempts-1, 10), 100*time.Millisecond)
		for range 20 {
			if d := Backoff(time.Millisecond, 100*time.Millisecond, attempts); d <= 0 || d > limit+1 {
				t.Fatalf("after %d attempts: %v, over %v", attempts, d, limit)
			}
		}
	}
	if d := Backoff(0, time.Hour, 5); d != 0 {
		t.Errorf("without a base: %v", d)
	}
}
