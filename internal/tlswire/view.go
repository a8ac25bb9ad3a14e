package tlswire

import (
	"crypto/tls"

	"github.com/valyala/fasthttp/internal/ioread"
)

// View is a tls.Conn as an engine uses it: it can wait without a buffer, and sends
// the records of one write together. It is for one reader and one writer at a time,
// and while it is in use nothing else may read from the tls.Conn.
type View struct {
	*tls.Conn
	wire *wire // nil if the connection is not one of Server

	rest  bool // Conn may hold data that it has decrypted
	woken bool // first has come
	first [1]byte
}

// ViewOf returns the view of a connection: always the same one if Server has made
// the connection, or else a new one, which saves less.
func ViewOf(c *tls.Conn) *View {
	if w, ok := c.NetConn().(*wire); ok {
		return &w.view
	}
	return &View{Conn: c}
}

// Await waits until there is something to be read, be it data, the end, or
// something of the TLS connection's own. It holds no buffer while it waits,
// where that is possible, or else one of a single byte.
func (v *View) Await() error {
	if v.wire != nil && !v.rest {
		return v.wire.await()
	}
	n, err := ioread.Some(v.Conn, v.first[:])
	if n > 0 {
		v.woken = true
		return nil
	}
	return err
}

// Read implements net.Conn.
func (v *View) Read(p []byte) (n int, err error) {
	if v.woken && len(p) > 0 {
		v.woken, v.rest = false, true
		return copy(p, v.first[:]), nil
	}
	n, err = v.Conn.Read(p)
	v.rest = n == len(p)
	return n, err
}

// Write implements net.Conn.
func (v *View) Write(p []byte) (int, error) {
	v.gather(len(p))
	n, err := v.Conn.Write(p)
	return n, v.send(err)
}

// WriteBoth writes two parts, one behind the other.
func (v *View) WriteBoth(a, b []byte) error {
	v.gather(len(a) + len(b))
	_, err := v.Conn.Write(a)
	if err == nil {
		_, err = v.Conn.Write(b)
	}
	return v.send(err)
}

// recordShare is the least number of bytes of data for which there is one of
// records around them: their headers, and what encryption adds.
const recordShare = 16

func (v *View) gather(n int) {
	if v.wire != nil {
		v.wire.gather(n + n/recordShare + 512)
	}
}

func (v *View) send(err error) error {
	if v.wire == nil {
		return err
	}
	if sent := v.wire.send(); err == nil {
		err = sent
	}
	return err
}
