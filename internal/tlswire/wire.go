// Package tlswire lies between crypto/tls and the transport of a server's
// connection: it knows where TLS records end, so that a connection that waits for
// its next request holds no buffer, and sends the records of a message together.
//
// It imports bufpool and ioread. Server makes a connection, over a wire (wire.go);
// ViewOf returns what an engine reads from and writes to (view.go).
package tlswire

import (
	"crypto/tls"
	"encoding/binary"
	"io"
	"net"
	"sync"
	"syscall"

	"github.com/valyala/fasthttp/internal/bufpool"
	"github.com/valyala/fasthttp/internal/ioread"
)

// Server returns the TLS connection of a server over nc, whose handshake is still
// to come. socket is the connection that nc reads from unchanged, which may be nc
// itself: if it is one of a system's sockets, it is read from without a buffer that
// waits.
func Server(nc, socket net.Conn, config *tls.Config) *tls.Conn {
	w := &wire{Conn: nc, missing: HeaderSize}
	w.findFD(socket)
	c := tls.Server(w, config)
	w.view = View{Conn: c, wire: w}
	return c
}

// Transport returns the connection that c, which lies under a tls.Conn, was made
// over by Server. ok reports whether it was: if not, it returns c itself.
func Transport(c net.Conn) (transport net.Conn, ok bool) {
	if w, ok := c.(*wire); ok {
		return w.Conn, true
	}
	return c, false
}

// wire is what lies between a tls.Conn of a server and its transport.
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
type wire struct {
	net.Conn
	view View

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
	header  [HeaderSize]byte
	waited  [HeaderSize]byte // what ended a wait without a buffer

	mu       sync.Mutex
	gathered *bufpool.Buffer // records that wait for being sent; nil where none do
	sendErr  error           // why records were lost that a tls.Conn thinks are sent
}

const (
	// HeaderSize is the size of what is in front of each record (RFC 8446
	// section 5.1): a type, a version and the size of the payload.
	HeaderSize = 5

	// wireSize is how much is read ahead at first, and wireEagerSize how much
	// where a peer sends more than that.
	wireSize      = 4 << 10
	wireEagerSize = 64 << 10

	// GatherSize is how much is sent in one go at most.
	GatherSize = 64 << 10
)

// NetConn returns the transport, as the method of tls.Conn does.
func (w *wire) NetConn() net.Conn { return w.Conn }

// SyscallConn implements syscall.Conn, for setting options of a socket.
func (w *wire) SyscallConn() (syscall.RawConn, error) {
	c, ok := w.Conn.(syscall.Conn)
	if !ok {
		return nil, syscall.EINVAL
	}
	return c.SyscallConn()
}

// CloseWrite ends the sending side where the transport has two.
func (w *wire) CloseWrite() error {
	half, ok := w.Conn.(interface{ CloseWrite() error })
	if !ok {
		return syscall.EINVAL
	}
	return half.CloseWrite()
}

// Read implements net.Conn. It never goes beyond the current record.
func (w *wire) Read(p []byte) (int, error) {
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
func (w *wire) follow(p []byte) {
	if !w.payload {
		copy(w.header[HeaderSize-w.missing:], p)
	}
	w.missing -= len(p)
	if w.missing > 0 {
		return
	}
	size := int(binary.BigEndian.Uint16(w.header[3:]))
	if w.payload = !w.payload && size > 0; w.payload {
		w.missing = size
	} else {
		w.missing = HeaderSize
	}
}

// fill waits for bytes and reads them ahead.
func (w *wire) fill() error {
	if w.raw != nil {
		return w.fillRaw()
	}
	b := bufpool.Get(w.aheadSize())
	n, err := ioread.Some(w.Conn, b.B[:cap(b.B)])
	return w.filled(b, n, err)
}

// filled takes over what was read into b, or gives b back.
func (w *wire) filled(b *bufpool.Buffer, n int, err error) error {
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

func (w *wire) aheadSize() int {
	if w.eager {
		return wireEagerSize
	}
	return wireSize
}

// await waits until there are bytes, without holding a buffer.
func (w *wire) await() error {
	if len(w.ahead) > 0 {
		return nil
	}
	if w.raw != nil {
		return w.fillRaw()
	}
	n, err := ioread.Some(w.Conn, w.waited[:])
	if n > 0 {
		w.ahead = w.waited[:n]
		return nil
	}
	return err
}

// Write implements net.Conn.
func (w *wire) Write(p []byte) (int, error) {
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
func (w *wire) gather(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.gathered == nil {
		w.gathered = bufpool.Get(min(n, GatherSize))
	}
}

// send sends what was gathered.
func (w *wire) send() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	err := w.sendGathered()
	bufpool.Put(w.gathered)
	w.gathered = nil
	return err
}

// sendGathered sends what was gathered so far. mu is held. An error is for
// ever: the peer cannot make sense of a record behind one that is missing.
func (w *wire) sendGathered() error {
	if b := w.gathered; w.sendErr == nil && b != nil && len(b.B) > 0 {
		_, w.sendErr = w.Conn.Write(b.B)
		b.B = b.B[:0]
	}
	return w.sendErr
}
