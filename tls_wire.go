package fasthttp

import (
	"crypto/tls"
	"encoding/binary"
	"io"
	"net"
	"sync"
	"syscall"

	"github.com/valyala/fasthttp/internal/bufpool"
)

// serverTLS returns the TLS connection of a server over nc.
func serverTLS(nc net.Conn, config *tls.Config) *tls.Conn {
	w := &tlsWire{Conn: nc, missing: recordHeader}
	w.findFD()
	c := tls.Server(w, config)
	w.view = tlsView{Conn: c, wire: w}
	return c
}

// tlsWire is what lies between a tls.Conn of a server and its transport.
//
// It reads ahead into a buffer that it gives back as soon as it is empty, and
// passes on one record at a time. So a tls.Conn from which everything was read
// holds no bytes itself, and where the wire has none either, the connection is
// idle: waiting for the transport is all there is to do, and takes no buffer.
// A tls.Conn on the transport itself may have the next record in hand, which
// nobody could know.
//
// It also sends what it is told to gather in one go: a tls.Conn writes each
// record by itself, and its first ones are small.
type tlsWire struct {
	net.Conn
	view tlsView

	// raw reads from the descriptor of a socket, with read, whose error is
	// readErr. It is nil where the transport is something else.
	raw     syscall.RawConn
	read    func(fd uintptr) (done bool)
	readErr error

	ahead   []byte          // received and not yet passed on: of buffer, or of header
	buffer  *bufpool.Buffer // nil where ahead is not in it
	eager   bool            // the last read filled the buffer
	missing int             // bytes up to the end of the current header or payload
	payload bool            // the current one is a payload
	header  [recordHeader]byte
	waited  [recordHeader]byte // what ended a wait without a buffer

	mu       sync.Mutex
	gathered *bufpool.Buffer // records that wait for being sent; nil where none do
	sendErr  error           // why records were lost that a tls.Conn thinks are sent
}

const (
	// recordHeader is the size of what is in front of each record (RFC 8446
	// section 5.1): a type, a version and the size of the payload.
	recordHeader = 5

	// wireSize is how much is read ahead at first, and wireEagerSize how much
	// where a peer sends more than that.
	wireSize      = 4 << 10
	wireEagerSize = 64 << 10

	// gatherSize is how much is sent in one go at most.
	gatherSize = 64 << 10
)

// NetConn returns the transport, as the method of tls.Conn does.
func (w *tlsWire) NetConn() net.Conn { return w.Conn }

// SyscallConn implements syscall.Conn, for setting options of a socket.
func (w *tlsWire) SyscallConn() (syscall.RawConn, error) {
	c, ok := w.Conn.(syscall.Conn)
	if !ok {
		return nil, syscall.EINVAL
	}
	return c.SyscallConn()
}

// CloseWrite ends the sending side where the transport has two.
func (w *tlsWire) CloseWrite() error {
	half, ok := w.Conn.(interface{ CloseWrite() error })
	if !ok {
		return syscall.EINVAL
	}
	return half.CloseWrite()
}

// Read implements net.Conn. It never goes beyond the current record.
func (w *tlsWire) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if len(w.ahead) == 0 {
		if err := w.fill(); err != nil {
			return 0, err
		}
	}
	n := copy(p, w.ahead[:min(len(w.ahead), w.missing)])
	w.follow(p[:n])
	if w.ahead = w.ahead[n:]; len(w.ahead) == 0 {
		bufpool.Put(w.buffer)
		w.buffer = nil
	}
	return n, nil
}

// follow finds the ends of the records in what is passed on.
func (w *tlsWire) follow(p []byte) {
	if !w.payload {
		copy(w.header[recordHeader-w.missing:], p)
	}
	w.missing -= len(p)
	if w.missing > 0 {
		return
	}
	size := int(binary.BigEndian.Uint16(w.header[3:]))
	if w.payload = !w.payload && size > 0; w.payload {
		w.missing = size
	} else {
		w.missing = recordHeader
	}
}

// fill waits for bytes and reads them ahead.
func (w *tlsWire) fill() error {
	if w.raw != nil {
		return w.fillRaw()
	}
	b := bufpool.Get(w.aheadSize())
	n, err := readSome(w.Conn, b.B[:cap(b.B)])
	return w.filled(b, n, err)
}

// filled takes over what was read into b, or gives b back.
func (w *tlsWire) filled(b *bufpool.Buffer, n int, err error) error {
	if n <= 0 {
		bufpool.Put(b)
		if err == nil {
			err = io.EOF
		}
		return err
	}
	w.eager = n == cap(b.B)
	w.buffer, w.ahead = b, b.B[:n]
	return nil
}

func (w *tlsWire) aheadSize() int {
	if w.eager {
		return wireEagerSize
	}
	return wireSize
}

// await waits until there are bytes, without holding a buffer.
func (w *tlsWire) await() error {
	if len(w.ahead) > 0 {
		return nil
	}
	if w.raw != nil {
		return w.fillRaw()
	}
	n, err := readSome(w.Conn, w.waited[:])
	if n > 0 {
		w.ahead = w.waited[:n]
		return nil
	}
	return err
}

// Write implements net.Conn.
func (w *tlsWire) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.sendErr != nil {
		return 0, w.sendErr
	}
	b := w.gathered
	if b == nil {
		return w.Conn.Write(p)
	}
	if len(b.B)+len(p) > cap(b.B) {
		if err := w.sendGathered(); err != nil {
			return 0, err
		}
		if len(p) > cap(b.B) {
			return w.Conn.Write(p)
		}
	}
	b.B = append(b.B, p...)
	return len(p), nil
}

// gather makes Write collect records, up to a limit, until send is called. They
// come to about n bytes.
func (w *tlsWire) gather(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.gathered == nil {
		w.gathered = bufpool.Get(min(n, gatherSize))
	}
}

// send sends what was gathered.
func (w *tlsWire) send() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	err := w.sendGathered()
	bufpool.Put(w.gathered)
	w.gathered = nil
	return err
}

// sendGathered sends what was gathered so far. mu is held. An error is for
// ever: the peer cannot make sense of a record behind one that is missing.
func (w *tlsWire) sendGathered() error {
	if b := w.gathered; w.sendErr == nil && b != nil && len(b.B) > 0 {
		_, w.sendErr = w.Conn.Write(b.B)
		b.B = b.B[:0]
	}
	return w.sendErr
}

// tlsView is a tls.Conn as the portable engine uses it.
type tlsView struct {
	*tls.Conn
	wire *tlsWire // nil where the connection is not one of serverTLS

	rest  bool // Conn may hold data that it has decrypted
	woken bool // first has come
	first [1]byte
}

// viewTLS returns the view of a connection.
func viewTLS(c *tls.Conn) *tlsView {
	if w, ok := c.NetConn().(*tlsWire); ok {
		return &w.view
	}
	return &tlsView{Conn: c}
}

// await waits until there is something to be read, be it data, the end, or
// something of the TLS connection's own. It holds no buffer while it waits,
// where that is possible, or else one of a single byte.
func (v *tlsView) await() error {
	if v.wire != nil && !v.rest {
		return v.wire.await()
	}
	n, err := readSome(v.Conn, v.first[:])
	if n > 0 {
		v.woken = true
		return nil
	}
	return err
}

// Read implements net.Conn.
func (v *tlsView) Read(p []byte) (n int, err error) {
	if v.woken && len(p) > 0 {
		v.woken, v.rest = false, true
		return copy(p, v.first[:]), nil
	}
	n, err = v.Conn.Read(p)
	v.rest = n == len(p)
	return n, err
}

// Write implements net.Conn.
func (v *tlsView) Write(p []byte) (int, error) {
	v.gather(len(p))
	n, err := v.Conn.Write(p)
	return n, v.send(err)
}

// writeBoth writes two parts, one behind the other.
func (v *tlsView) writeBoth(a, b []byte) error {
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

func (v *tlsView) gather(n int) {
	if v.wire != nil {
		v.wire.gather(n + n/recordShare + 512)
	}
}

func (v *tlsView) send(err error) error {
	if v.wire == nil {
		return err
	}
	if sent := v.wire.send(); err == nil {
		err = sent
	}
	return err
}

// transportOf returns what lies under the TLS connection nc, or nc itself where
// it is none.
func transportOf(nc net.Conn) net.Conn {
	switch c := nc.(type) {
	case *tls.Conn:
		nc = c.NetConn()
	case *proxiedTLS:
		nc = c.NetConn()
	}
	if w, ok := nc.(*tlsWire); ok {
		nc = w.Conn
	}
	return unproxied(nc)
}
