package clientconn

import (
	"encoding/binary"
	"net"
	"sync/atomic"

	"github.com/valyala/fasthttp/internal/connpool"
)

// gate is a connection below TLS. It can be read without waiting, so that TLS can receive its
// own messages, such as session tickets, while the connection is idle. It also knows whether
// a TLS record was received in part.
type gate struct {
	net.Conn
	probe *connpool.Probe
	// dry means that a read must not wait
	dry bool

	head    [5]byte // of the current record
	inHead  int     // bytes of it that were received
	content int     // missing bytes of the record's content

	// poster receives the bytes that TLS writes, unless it is nil
	poster atomic.Pointer[poster]
}

// Write implements net.Conn.
func (g *gate) Write(p []byte) (int, error) {
	poster := g.poster.Load()
	if poster == nil {
		return g.Conn.Write(p)
	}
	poster.add(p)
	return len(p), nil
}

// Close implements net.Conn. It sends the last bytes of TLS if the connection accepts them.
func (g *gate) Close() error {
	if poster := g.poster.Load(); poster != nil {
		_, _ = poster.post(nil)
	}
	return g.Conn.Close()
}

// NetConn returns the connection below.
func (g *gate) NetConn() net.Conn { return g.Conn }

// errWouldWait is the error of a read that must not wait. TLS does not keep it, since
// it is temporary.
var errWouldWait net.Error = &wouldWait{}

type wouldWait struct{}

func (*wouldWait) Error() string { return "fasthttp: nothing to be read" }

// Timeout implements net.Error.
func (*wouldWait) Timeout() bool { return true }

// Temporary implements net.Error.
func (*wouldWait) Temporary() bool { return true }

// Read implements io.Reader.
func (g *gate) Read(p []byte) (int, error) {
	if g.dry {
		switch g.probe.Look() {
		case connpool.Quiet, connpool.Unknown:
			return 0, errWouldWait
		}
	}
	n, err := g.Conn.Read(p)
	g.follow(p[:n])
	return n, err
}

// follow tracks the records in the received bytes.
func (g *gate) follow(b []byte) {
	for len(b) > 0 {
		if g.content > 0 {
			n := min(g.content, len(b))
			g.content -= n
			b = b[n:]
			continue
		}
		n := copy(g.head[g.inHead:], b)
		g.inHead += n
		b = b[n:]
		if g.inHead == len(g.head) {
			g.inHead = 0
			g.content = int(binary.BigEndian.Uint16(g.head[3:]))
		}
	}
}

// isQuiet reports whether only messages of TLS itself have arrived through secure, the
// connection above. Bytes that TLS received together with the last response count as well.
func (g *gate) isQuiet(secure net.Conn) bool {
	var b [1]byte
	n, err := g.readReady(secure, b[:])
	return n == 0 && err == error(errWouldWait) && g.inHead == 0 && g.content == 0
}

// readReady reads arrived bytes from secure, the connection above. The error is errWouldWait
// if less than a record has arrived.
func (g *gate) readReady(secure net.Conn, p []byte) (int, error) {
	g.dry = true
	defer func() { g.dry = false }()
	return secure.Read(p)
}
