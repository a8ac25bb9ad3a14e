package engine

import (
	"net"
	"time"

	"github.com/valyala/fasthttp/internal/bufpool"
	"github.com/valyala/fasthttp/internal/clock"
)

// A connection that has sent its last response lingers: it ends its sending side, and
// discards the bytes that the peer is still sending. Closing right away would make the system
// reset the connection, and the peer could lose the response (RFC 9112 section 9.6). A peer
// that reads while it sends needs little of that, but others send the whole of a request
// before they look for a response.
const (
	// LingerTime is waited for the first byte, and for a peer that has sent its share.
	LingerTime = 500 * time.Millisecond
	// LingerPause is waited for each further byte.
	LingerPause = 2 * time.Second
	// LingerLong is waited for all of them.
	LingerLong = 30 * time.Second
	// LingerRate is how many bytes have to come in a second, on the average, once LingerTime
	// is over.
	LingerRate = 64 << 10

	// LingerSize is how many bytes of a request that was answered are discarded, and
	// LingerLittle how many where a peer may send without end what belongs to no request.
	LingerSize   = 64 << 20
	LingerLittle = 256 << 10

	lingerRead = 16 << 10 // what an event loop reads at a time
	// lingerLeast is what a goroutine reads at a time. It is small, since the goroutine holds
	// its buffer while it waits.
	lingerLeast = 4 << 10
)

// lingering is what a connection has discarded, from when.
type lingering struct {
	began time.Duration // by clock.Monotonic
	left  int64         // how many more bytes are discarded
	size  int64         // how many were discarded
}

func beginLingering(most int64) lingering {
	return lingering{began: clock.Monotonic(), left: most}
}

// discarded says that n bytes came.
func (l *lingering) discarded(n int) {
	l.left -= int64(n)
	l.size += int64(n)
}

// wait returns for how long the next bytes are waited for, or 0 if the connection is to be
// closed.
func (l *lingering) wait(now time.Duration) time.Duration {
	elapsed := now - l.began
	if elapsed > LingerTime && l.size < int64(LingerRate*elapsed.Seconds()) {
		return 0
	}
	return max(min(LingerPause, LingerLong-elapsed), 0)
}

// LingerOn lingers on a connection of which this goroutine is the only reader, and discards
// most bytes at most.
func LingerOn(nc net.Conn, most int64) {
	half, ok := nc.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil {
		return
	}
	rest := bufpool.Get(lingerLeast)
	defer bufpool.Put(rest)
	l := beginLingering(most)
	for wait := LingerTime; wait > 0; wait = l.wait(clock.Monotonic()) {
		_ = nc.SetReadDeadline(time.Now().Add(wait))
		n, err := nc.Read(rest.B[:cap(rest.B)])
		if err != nil {
			return
		}
		if l.discarded(n); l.left <= 0 {
			// a peer that reads can still take the response: it cannot send for long, since
			// nobody takes what it sends
			time.Sleep(LingerTime)
			return
		}
	}
}

// lingerSize returns how much is discarded of what still comes on the connection.
func (c *Conn) lingerSize() int64 {
	if c.Concurrent {
		return LingerLittle
	}
	return LingerSize
}
