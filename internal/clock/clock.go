// Package clock provides a coarse clock, with a resolution of a hundredth of a
// second, for callers that need the time with every request. One goroutine reads
// the system's clock and publishes the time, together with the text for a Date
// field; all callers read the published values.
//
// The first use starts the goroutine. It ends by itself a second after the last
// use, so that it does not wake an idle process.
//
// The package-level functions share one Clock. A test that runs in a testing/synctest bubble
// makes its own Clock, since the bubble's time must not be seen outside.
package clock

import (
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp/internal/httpdate"
	"github.com/valyala/fasthttp/internal/lockorder"
)

// Resolution is the time between two ticks. Now lags behind the system's clock by at most
// this, plus the time that the scheduler takes to run the clock's goroutine.
const Resolution = 10 * time.Millisecond

// idleTicks is the number of ticks without use after which the goroutine ends.
const idleTicks = int(time.Second / Resolution)

// Began is shortly before the first possible reading of the time. It is the origin of
// Monotonic.
var Began = time.Now().Add(-1)

var system = Clock{origin: Began}

// Now returns the time of the last tick, in local time and with a monotonic
// reading, as time.Now does.
func Now() time.Time { return system.Now() }

// Read returns the current moment, as Clock.Read does.
func Read() Moment { return system.Read() }

// Monotonic returns the time since Began by the monotonic clock of the system. It is never 0.
func Monotonic() time.Duration { return time.Since(Began) }

// MomentOf returns the moment at which Monotonic recently returned at, or the zero Moment if
// at is 0.
func MomentOf(at time.Duration) Moment {
	if at == 0 {
		return Moment{}
	}
	system.use()
	return Moment{system.second.Load(), at}
}

// Elapsed returns the time of the last tick, as Clock.Elapsed does.
func Elapsed() time.Duration { return system.Elapsed() }

// At returns the time at which Elapsed returned elapsed.
func At(elapsed time.Duration) time.Time { return system.At(elapsed) }

// Second returns the number of the current second, as Clock.Second does.
func Second() int64 { return system.Second() }

// Date returns the text of the current second for a Date field.
func Date() string { return system.Date() }

// Clock is a coarse clock. The zero value is ready for use. All methods may be called
// concurrently; they allocate only if the clock has to start. A Clock must not be copied.
type Clock struct {
	// word is the monotonic time since origin in nanoseconds, shifted left by
	// flagBits, and the flags. While running is set, only the clock's goroutine
	// changes the time.
	word atomic.Uint64
	// second is replaced every second. Its wall time and the monotonic time of word
	// are consistent, whichever of the two was read first.
	second atomic.Pointer[second]

	starting lockorder.Mutex[lockorder.ClockStart]
	origin   time.Time
}

const (
	used     = 1 << iota // the time was read since the last tick
	running              // the clock's goroutine runs
	flagBits = iota
)

// second holds the values that stay the same for a second. It is not changed after
// it was published.
type second struct {
	unix int64
	base time.Time // the wall time of origin, as the wall clock now sees it
	date string
}

// Now returns the time of the last tick. The first call after an idle second
// reads the system's clock.
func (c *Clock) Now() time.Time {
	elapsed := c.Elapsed()
	return c.second.Load().base.Add(elapsed)
}

// Read returns the current moment. It reads only the monotonic clock of the system, and so
// takes a third of the time of time.Now. It notices within a second that the wall clock was
// set.
func (c *Clock) Read() Moment {
	c.use()
	s := c.second.Load()
	return Moment{s, time.Since(s.base)}
}

// Moment is an exact point in time. Converting it to a time.Time takes time. The zero Moment
// is none.
type Moment struct {
	of    *second
	since time.Duration // since the base of that
}

// IsZero reports whether m is the zero Moment.
func (m Moment) IsZero() bool { return m.of == nil }

// Time returns the time of m, in local time and with a monotonic reading.
func (m Moment) Time() time.Time { return m.of.base.Add(m.since) }

// Until returns the time from m to the moment at which Monotonic returned at. m is not the zero
// Moment, and was read from the shared Clock.
func (m Moment) Until(at time.Duration) time.Duration { return at - m.since }

// Second returns the number of the last tick's second, whose text Date returns.
func (c *Clock) Second() int64 {
	c.use()
	return c.second.Load().unix
}

// Elapsed returns the monotonic time of the last tick, counted from Began by the shared
// Clock, and from shortly before the first use by any other: it is never 0. It is cheaper than Now.
func (c *Clock) Elapsed() time.Duration { return time.Duration(int64(c.use()) >> flagBits) }

// At returns the time that Now would have returned when Elapsed returned elapsed.
func (c *Clock) At(elapsed time.Duration) time.Time {
	s := c.second.Load()
	if s == nil {
		// elapsed is from Monotonic
		c.use()
		s = c.second.Load()
	}
	return s.base.Add(elapsed)
}

// Date returns the text of the last tick's second for a Date field.
func (c *Clock) Date() string {
	c.use()
	return c.second.Load().date
}

// use notes that the clock is needed and returns the word. Mostly it is one atomic load,
// which the compiler inlines.
func (c *Clock) use() uint64 {
	if word := c.word.Load(); word&(used|running) == used|running {
		return word
	}
	return c.firstUse()
}

// firstUse is use for the first caller after a tick, and for a clock whose
// goroutine does not run.
func (c *Clock) firstUse() uint64 {
	for {
		word := c.word.Load()
		switch {
		case word&running == 0:
			c.start()
		case word&used != 0:
			return word
		case c.word.CompareAndSwap(word, word|used):
			return word
		}
	}
}

func (c *Clock) start() {
	c.starting.Lock()
	defer c.starting.Unlock()
	if c.word.Load()&running != 0 {
		return
	}
	now := time.Now()
	if c.origin.IsZero() {
		c.origin = now.Add(-1)
	}
	c.word.Store(c.read(now) | running | used)
	go c.run()
}

// read publishes the second of now, if it is a new one, and returns the word
// for now without flags.
func (c *Clock) read(now time.Time) uint64 {
	elapsed := now.Sub(c.origin)
	if s := c.second.Load(); s == nil || s.unix != now.Unix() {
		c.second.Store(&second{
			unix: now.Unix(),
			base: now.Add(-elapsed),
			date: string(httpdate.Append(make([]byte, 0, httpdate.Len), now)),
		})
	}
	return uint64(elapsed) << flagBits
}

func (c *Clock) run() {
	ticker := time.NewTicker(Resolution)
	defer ticker.Stop()
	idle := 0
	for range ticker.C {
		word := c.read(time.Now()) | running
		if c.word.Swap(word)&used != 0 {
			idle = 0
			continue
		}
		idle++
		// The exchange fails if the clock was used just now. If it succeeds,
		// the next use starts another goroutine.
		if idle >= idleTicks && c.word.CompareAndSwap(word, word&^running) {
			return
		}
	}
}

// Earliest returns the earlier of two deadlines. A zero deadline means none.
func Earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// Passed reports whether a deadline has passed. A zero deadline never has.
func Passed(deadline time.Time) bool { return !deadline.IsZero() && !time.Now().Before(deadline) }
