// Package clock tells the time to those who ask for it with every request and
// can do with a hundredth of a second: one goroutine reads the system's clock
// and everybody else reads what it left, together with the text for a Date
// field.
//
// The goroutine is started by use and ends by itself a second after the last
// use, so that an idle process wakes up for nothing.
//
// It imports nothing of this module but httpdate. The package-level functions
// share one Clock. A test that runs in a testing/synctest bubble makes a Clock
// of its own, so that the bubble's time stays inside.
package clock

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp/internal/httpdate"
)

// Resolution is the time between two ticks: what Now returns lags behind the
// system's clock by this much at most, plus what the scheduler takes to run
// the clock's goroutine.
const Resolution = 10 * time.Millisecond

// idleTicks is how many ticks without use end the goroutine.
const idleTicks = int(time.Second / Resolution)

var system Clock

// Now returns the time of the last tick, in local time and with a monotonic
// reading, as time.Now does.
func Now() time.Time { return system.Now() }

// Elapsed returns the time of the last tick, as Clock.Elapsed does.
func Elapsed() time.Duration { return system.Elapsed() }

// At returns the time that Elapsed has returned as elapsed.
func At(elapsed time.Duration) time.Time { return system.At(elapsed) }

// Date returns the text of the current second for a Date field.
func Date() string { return system.Date() }

// Clock is a coarse clock. The zero value is ready for use. All methods may be
// called concurrently; they allocate nothing unless the clock has to start.
// A Clock must not be copied.
type Clock struct {
	// word is the monotonic time since origin in nanoseconds, shifted left by
	// flagBits, and the flags. Only the ticking goroutine changes the time
	// while running is set.
	word atomic.Uint64
	// second is made anew with each second. What it says about wall time and
	// what word says about monotonic time fit together whichever of the two
	// was read first.
	second atomic.Pointer[second]

	starting sync.Mutex
	origin   time.Time
}

const (
	used     = 1 << iota // somebody asked for the time since the last tick
	running              // there is a goroutine that ticks
	flagBits = iota
)

// second is what stays the same between two ticks of a clock with a hand for
// the seconds. It is never changed once it is published.
type second struct {
	unix int64
	base time.Time // the wall time of origin, as the wall clock now sees it
	date string
}

// Now returns the time of the last tick. The first call after an idle second
// reads the system's clock.
func (c *Clock) Now() time.Time {
	elapsed := c.use()
	return c.second.Load().base.Add(elapsed)
}

// Elapsed returns the monotonic time of the last tick, counted from shortly before
// the clock was used first: it is never 0. It takes less than Now.
func (c *Clock) Elapsed() time.Duration { return c.use() }

// At returns what Now would have returned when Elapsed returned elapsed.
func (c *Clock) At(elapsed time.Duration) time.Time { return c.second.Load().base.Add(elapsed) }

// Date returns the text of the last tick's second for a Date field.
func (c *Clock) Date() string {
	c.use()
	return c.second.Load().date
}

// use notes that the clock is needed and returns the monotonic time of the
// last tick. Mostly it is one atomic load.
func (c *Clock) use() time.Duration {
	word := c.word.Load()
	if word&(used|running) != used|running {
		word = c.firstUse()
	}
	return time.Duration(word >> flagBits)
}

// firstUse is use for the first caller after a tick, and for a clock that
// does not run.
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
		// The exchange fails if somebody has just come to use the clock.
		// If it succeeds, the next user starts another goroutine.
		if idle >= idleTicks && c.word.CompareAndSwap(word, word&^running) {
			return
		}
	}
}
