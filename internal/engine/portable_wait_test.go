package engine

import (
	"net"
	"testing"
	"time"

	"github.com/valyala/fasthttp/internal/bufpool"
)

// dormantHost is a Host whose connections wait for their first request without a protocol.
type dormantHost struct {
	linesHost
	size int
}

func (h *dormantHost) Dormant(*Conn) (size int, until time.Time, ok bool) {
	return h.size, until, true
}

// A connection does not wait with the buffer of another server's connection if that server
// has another buffer size. Otherwise it does.
func TestBufferToWaitWithHasTheSizeOfTheServer(t *testing.T) {
	const size = 4096
	for _, test := range []struct {
		had  int
		kept bool
	}{{0, false}, {size / 2, false}, {size, true}, {16 * size, false}} {
		near, far := net.Pipe()
		e := &portable{nc: near}
		e.Set, e.NC = &Set{Host: &dormantHost{size: size}}, near
		if test.had > 0 {
			e.readBuffer = &bufpool.Buffer{B: make([]byte, 0, test.had)}
		}
		before := e.readBuffer
		e.beginWait()
		if got := cap(e.readBuffer.B); got < size || got >= 2*size {
			t.Errorf("of %d bytes: the connection waits with %d", test.had, got)
		}
		if kept := e.readBuffer == before; kept != test.kept {
			t.Errorf("of %d bytes: kept %t, want %t", test.had, kept, test.kept)
		}
		_, _ = near.Close(), far.Close()
	}
}
