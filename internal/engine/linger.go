package engine

import (
	"errors"
	"net"
	"os"
	"time"

	"github.com/valyala/fasthttp/internal/bufpool"
	"github.com/valyala/fasthttp/internal/clock"
)

// A connection that has sent its last response lingers: it ends its sending side, and
// discards the bytes that the peer still sends. Closing right away would make the system
// reset the connection, and the peer could lose the response (RFC 9112 section 9.6). A peer
// that reads while it sends needs little of that, but others send a whole request before
// they look for a response.
const (
	// LingerTime is the wait for the first byte, and for a peer that has sent its share.
	LingerTime = 500 * time.Millisecond
	// LingerPause is the wait for each further byte.
	LingerPause = 2 * time.Second
	// LingerMaxTime is the limit for all waits together.
	LingerMaxTime = 30 * time.Second
	// LingerRate is how many bytes per second must arrive on average, once LingerTime is
	// over.
	LingerRate = 64 << 10

	// LingerSize is how many bytes of a request that was answered are discarded.
	// LingerSmallSize is the limit where a peer may send bytes of no request without end.
	LingerSize      = 64 << 20
	LingerSmallSize = 256 << 10

	// lingerLook is how long a goroutine that was woken late looks for bytes that have arrived
	// meanwhile.
	lingerLook = 10 * time.Millisecond

	lingerRead = 16 << 10 // how much an event loop reads at once
	// lingerSmallRead is how much a goroutine reads at once. It is small, since the goroutine
	// holds its buffer while it waits.
	lingerSmallRead = 4 << 10
)

// lingering counts the bytes that a connection has discarded, and the time that it has waited
// for them. A wait that ends late because the machine stood still counts as its limit: the peer
// may have sent meanwhile.
type lingering struct {
	since     time.Duration // when the present wait began, by clock.Monotonic
	granted   time.Duration // the limit of the present wait
	waited    time.Duration // the sum of the waits before it
	remaining int64         // how many more bytes are discarded
	size      int64         // how many were discarded
}

func beginLingering(most int64) lingering {
	return lingering{since: clock.Monotonic(), granted: LingerTime, remaining: most}
}

// discarded accounts for n bytes that have arrived.
func (l *lingering) discarded(n int) {
	l.remaining -= int64(n)
	l.size += int64(n)
}

// wait returns how long to wait for the next bytes, or 0 if the connection must be closed.
func (l *lingering) wait(now time.Duration) time.Duration {
	l.waited += min(now-l.since, l.granted)
	l.since = now
	if l.waited > LingerTime && l.size < int64(LingerRate*l.waited.Seconds()) {
		return 0
	}
	l.granted = max(min(LingerPause, LingerMaxTime-l.waited), 0)
	return l.granted
}

// isLate reports whether the present wait has ended much later than it should have.
func (l *lingering) isLate(now time.Duration) bool { return now-l.since > l.granted+lingerLook }

// LingerOn lingers on a connection of which this goroutine is the only reader. It discards
// most bytes at most.
func LingerOn(nc net.Conn, most int64) { LingerUntil(nc, most, time.Time{}) }

// LingerUntil is LingerOn with a limit for the whole time, unless end is zero.
func LingerUntil(nc net.Conn, most int64, end time.Time) {
	half, ok := nc.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil {
		return
	}
	rest := bufpool.Get(lingerSmallRead)
	defer bufpool.Put(rest)
	l := beginLingering(most)
	for wait := LingerTime; wait > 0; wait = l.wait(clock.Monotonic()) {
		if nc.SetReadDeadline(time.Now().Add(untilEnd(wait, end))) != nil {
			// a Read could wait for as long as the peer likes
			return
		}
		n, err := nc.Read(rest.B[:cap(rest.B)])
		if errors.Is(err, os.ErrDeadlineExceeded) && l.isLate(clock.Monotonic()) {
			_ = nc.SetReadDeadline(time.Now().Add(lingerLook))
			n, err = nc.Read(rest.B[:cap(rest.B)])
		}
		if err != nil {
			return
		}
		if l.discarded(n); l.remaining <= 0 {
			// a peer that reads can still receive the response: it cannot send for long,
			// since nothing reads its bytes
			time.Sleep(untilEnd(LingerTime, end))
			return
		}
	}
}

// untilEnd returns how much of a wait is before end, which may be zero.
func untilEnd(wait time.Duration, end time.Time) time.Duration {
	if end.IsZero() {
		return wait
	}
	return min(wait, time.Until(end))
}

// lingerSize returns how many of the bytes that still arrive are discarded.
func (c *Conn) lingerSize() int64 {
	if c.Concurrent {
		return LingerSmallSize
	}
	return LingerSize
}
