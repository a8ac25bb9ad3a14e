package clock

import (
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/valyala/fasthttp/internal/servertest"
)

func isRunning(c *Clock) bool { return c.word.Load()&running != 0 }

// inBubble runs f with its own clock in a synctest bubble, in which waiting takes
// no time. It waits until the clock has stopped: the bubble must not end before.
func inBubble(t *testing.T, f func(t *testing.T, c *Clock)) {
	t.Helper()
	servertest.Bubble(t, func(t *testing.T) {
		c := new(Clock)
		f(t, c)
		time.Sleep(time.Second + 3*Resolution)
		synctest.Wait()
		if isRunning(c) {
			t.Error("the clock runs on without use")
		}
	})
}

func TestNowFollowsTheSystemClock(t *testing.T) {
	inBubble(t, func(t *testing.T, c *Clock) {
		if got := c.Now(); !got.Equal(time.Now()) {
			t.Fatalf("the first reading is %v, want %v", got, time.Now())
		}
		for range 1000 {
			time.Sleep(3 * time.Millisecond)
			synctest.Wait()
			got, now := c.Now(), time.Now()
			if lag := now.Sub(got); lag < 0 || lag >= Resolution {
				t.Fatalf("the clock is %v behind at %v", lag, now)
			}
			if wall := now.Round(0).Sub(got.Round(0)); wall != now.Sub(got) {
				t.Fatalf("wall time is %v behind, monotonic time %v", wall, now.Sub(got))
			}
		}
	})
}

func TestNowCarriesAMonotonicReadingInLocalTime(t *testing.T) {
	got := Now()
	if got == got.Round(0) {
		t.Errorf("%v has no monotonic reading", got)
	}
	if got.Location() != time.Local {
		t.Errorf("%v is not in local time", got)
	}
}

func TestDateIsTheTextOfTheSecond(t *testing.T) {
	inBubble(t, func(t *testing.T, c *Clock) {
		for range 500 {
			got, want := c.Date(), time.Now().UTC().Format(http.TimeFormat)
			if got != want {
				t.Fatalf("Date() = %q, want %q", got, want)
			}
			time.Sleep(Resolution)
			synctest.Wait()
		}
	})
}

func TestTickingEndsAfterASecondWithoutUse(t *testing.T) {
	inBubble(t, func(t *testing.T, c *Clock) {
		if isRunning(c) {
			t.Fatal("a clock that was never used is running")
		}
		c.Now()
		time.Sleep(time.Second / 2)
		c.Date()
		time.Sleep(time.Second - Resolution)
		synctest.Wait()
		if !isRunning(c) {
			t.Error("the clock stopped less than a second after it was used")
		}
	})
}

func TestAStoppedClockStartsAgainWithTheRightTime(t *testing.T) {
	inBubble(t, func(t *testing.T, c *Clock) {
		before := c.Now()
		time.Sleep(time.Hour)
		synctest.Wait()
		if isRunning(c) {
			t.Fatal("the clock runs on without use")
		}
		if got, want := c.Date(), time.Now().UTC().Format(http.TimeFormat); got != want {
			t.Errorf("Date() = %q, want %q", got, want)
		}
		if got := c.Now().Sub(before); got != time.Hour {
			t.Errorf("%v passed, want an hour", got)
		}
		time.Sleep(20 * time.Millisecond)
		synctest.Wait()
		if got := c.Now().Sub(before); got <= time.Hour {
			t.Error("the clock does not go on")
		}
	})
}

func TestWallTimeFollowsAClockThatWasSet(t *testing.T) {
	c := new(Clock)
	c.origin = time.Now()
	c.read(c.origin)
	// A test cannot set the system's clock. So the times here have no monotonic
	// reading.
	set := c.origin.Round(0).Add(-time.Hour)
	c.read(set)
	s := c.second.Load()
	if want := set.UTC().Format(http.TimeFormat); s.date != want {
		t.Errorf("the date is %q, want %q", s.date, want)
	}
	if got := s.base.Add(set.Sub(c.origin)); !got.Equal(set) {
		t.Errorf("the time is %v, want %v", got, set)
	}
}

func TestClockIsSafeForConcurrentUse(t *testing.T) {
	inBubble(t, func(t *testing.T, c *Clock) {
		var wg sync.WaitGroup
		for i := range 16 {
			wg.Go(func() {
				last := c.Now()
				for j := range 200 {
					// Pauses of up to a few seconds let the clock stop, and
					// start again while other goroutines read it.
					time.Sleep(time.Duration((i*31+j*17)%50*(j%7)) * 10 * time.Millisecond)
					now := c.Now()
					if now.Before(last) {
						t.Errorf("%v came after %v", now, last)
					}
					last = now
					if len(c.Date()) != len(http.TimeFormat) {
						t.Errorf("Date() = %q", c.Date())
					}
				}
			})
		}
		wg.Wait()
	})
}

func TestRunningClockAllocatesNothing(t *testing.T) {
	Now()
	n := testing.AllocsPerRun(1000, func() {
		if Now().IsZero() || Date() == "" {
			t.Fatal("no time")
		}
	})
	if n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

func BenchmarkNow(b *testing.B) {
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			Now()
		}
	})
}

func BenchmarkDate(b *testing.B) {
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			Date()
		}
	})
}

func TestElapsedIsNowInAnotherForm(t *testing.T) {
	inBubble(t, func(t *testing.T, c *Clock) {
		for range 300 {
			elapsed, now := c.Elapsed(), c.Now()
			if at := c.At(elapsed); elapsed <= 0 || !at.Equal(now) || now.Sub(at) != 0 {
				t.Fatalf("%v elapsed, which is %v, at %v", elapsed, at, now)
			}
			time.Sleep(7 * time.Millisecond)
			synctest.Wait()
		}
		before := c.Elapsed()
		time.Sleep(time.Hour)
		synctest.Wait()
		if got := c.Elapsed() - before; got != time.Hour {
			t.Errorf("%v elapsed in an hour without use", got)
		}
	})
}

// Read returns the time of the system's clock, with a monotonic reading.
func TestMomentIsTheTimeOfTheSystem(t *testing.T) {
	for range 1000 {
		before := time.Now()
		now := Read().Time()
		if after := time.Now(); now.Before(before) || now.After(after) {
			t.Fatalf("%v is not between %v and %v", now, before, after)
		}
		if d := now.Round(0).Sub(before.Round(0)); d < -time.Second || d > time.Second {
			t.Fatalf("the wall clock differs by %v", d)
		}
	}
}

// A moment always converts to the same time, even after other seconds have begun.
func TestMomentStaysTheSame(t *testing.T) {
	if !(Moment{}).IsZero() {
		t.Error("the zero Moment is a moment")
	}
	inBubble(t, func(t *testing.T, c *Clock) {
		time.Sleep(12345 * time.Microsecond)
		m, want := c.Read(), time.Now()
		if m.IsZero() || !m.Time().Equal(want) || !m.Time().Round(0).Equal(want.Round(0)) {
			t.Fatalf("the moment is %v, want %v", m.Time(), want)
		}
		first := m.Time()
		time.Sleep(2 * time.Second)
		c.Now()
		if again := m.Time(); again != first {
			t.Errorf("the moment is %v, and was %v", again, first)
		}
	})
}

func TestSecondIsThatOfTheDate(t *testing.T) {
	inBubble(t, func(t *testing.T, c *Clock) {
		for range 5 {
			date, err := http.ParseTime(c.Date())
			if second := c.Second(); err != nil || second != date.Unix() {
				t.Fatalf("the second is %d, the date %v, %v", second, date, err)
			}
			time.Sleep(700 * time.Millisecond)
			synctest.Wait()
		}
	})
}

func TestMomentsAreThoseOfMonotonic(t *testing.T) {
	if m := MomentOf(0); !m.IsZero() {
		t.Errorf("the moment 0 is %v", m)
	}
	before := time.Now()
	m := MomentOf(Monotonic()).Time()
	after := time.Now()
	if m.Before(before) || m.After(after) {
		t.Errorf("%v is not from %v to %v by the monotonic clock", m, before, after)
	}
	// the wall clock is read once a second
	if d := m.Round(0).Sub(before.Round(0)); d.Abs() > 10*time.Second {
		t.Errorf("%v is %v from %v", m, d, before)
	}
}

// The clock of the process may start in a bubble, whose time is earlier.
func TestTimesBeforeTheOrigin(t *testing.T) {
	servertest.Bubble(t, func(t *testing.T) {
		now := time.Now()
		c := &Clock{origin: now.Add(26 * 365 * 24 * time.Hour)}
		if got := c.At(now.Sub(c.origin)); !got.Equal(now) {
			t.Errorf("At returns %v before the first use, want %v", got, now)
		}
		if got := c.At(c.Elapsed()); !got.Equal(now) || !c.Now().Equal(now) {
			t.Errorf("Now is %v, and At of Elapsed %v, want %v", c.Now(), got, now)
		}
		time.Sleep(time.Second + 3*Resolution)
	})
}
