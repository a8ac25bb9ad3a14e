package tlswire

import (
	"crypto/tls"
	"net"

	"github.com/valyala/fasthttp/internal/netio"
)

// View reads and writes a tls.Conn for an engine: it can wait without a buffer, and sends
// the records of one write together. One goroutine may read while another writes. While a
// View is in use, the tls.Conn must not be read in another way.
type View struct {
	Conn
	wire *wire // nil if Server has not made the connection

	sealed   int  // bytes of the output whose records are unsent; see Send
	buffered bool // Conn may hold decrypted data
	woken    bool // first was received
	first    [1]byte
}

// ViewOf returns the View of a tls.Conn, and false for any other connection. If a Layer has
// made the tls.Conn, it is always the same View. Otherwise it is a new one, which cannot avoid
// as many buffers and system calls.
func ViewOf(nc net.Conn) (v *View, ok bool) {
	if _, ok = nc.(*tls.Conn); !ok {
		return nil, false
	}
	c := nc.(Conn)
	if w, ok := c.NetConn().(*wire); ok {
		return &w.view, true
	}
	return &View{Conn: c}, true
}

// Await waits until the connection is readable: there is data, its end, or a message
// of the TLS protocol itself. While it waits it holds no buffer if possible,
// and otherwise a buffer of a single byte.
func (v *View) Await() error {
	if v.wire != nil && !v.buffered {
		return v.wire.await()
	}
	n, err := netio.Some(v.Conn, v.first[:])
	if n > 0 {
		v.woken = true
		return nil
	}
	return err
}

// Read implements net.Conn.
func (v *View) Read(p []byte) (n int, err error) {
	if v.woken && len(p) > 0 {
		v.woken, v.buffered = false, true
		return copy(p, v.first[:]), nil
	}
	n, err = v.Conn.Read(p)
	v.buffered = n == len(p)
	return n, err
}

// Write implements net.Conn.
func (v *View) Write(p []byte) (int, error) {
	v.gather(len(p))
	n, err := v.Conn.Write(p)
	return n, v.send(err)
}

// WriteBoth writes two parts, one after the other.
func (v *View) WriteBoth(a, b []byte) error {
	v.gather(len(a) + len(b))
	_, err := v.Conn.Write(a)
	if err == nil {
		_, err = v.Conn.Write(b)
	}
	return v.send(err)
}

// recordShare limits how much records add to data, by their headers and by encryption: at
// most one byte per recordShare bytes of data.
const recordShare = 16

// sizeOfRecords returns the approximate size of the records of n bytes of data.
func sizeOfRecords(n int) int { return n + n/recordShare + 512 }

func (v *View) gather(n int) {
	if v.wire != nil {
		v.wire.gather(sizeOfRecords(n))
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
