package engine

import (
	"net"
	"time"

	"github.com/valyala/fasthttp/internal/bufpool"
)

const (
	// lingerTime and lingerSize bound the time and the bytes for discarding the rest
	// of a request that was answered before its end, and lingerRead the bytes of one
	// read.
	lingerTime = 500 * time.Millisecond
	lingerSize = 256 << 10
	lingerRead = 16 << 10
)

// LingerOn ends the sending side of a connection and discards the bytes that the peer
// is still sending: closing right away would make the system reset it, and the peer
// could lose the response (RFC 9112 section 9.6).
func LingerOn(nc net.Conn) {
	half, ok := nc.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil {
		return
	}
	_ = nc.SetReadDeadline(time.Now().Add(lingerTime))
	rest := bufpool.Get(lingerLeast)
	defer bufpool.Put(rest)
	for left := lingerSize; left > 0; {
		n, err := nc.Read(rest.B[:cap(rest.B)])
		if err != nil {
			return
		}
		left -= n
	}
}

// lingerLeast is how much a goroutine discards at a time. It is small, since the
// goroutine holds its buffer while it waits.
const lingerLeast = 4 << 10
