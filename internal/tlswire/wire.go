// Package tlswire stands between crypto/tls and the transport of a server's
// connection. It knows where TLS records end. So a connection that waits for its next
// request holds no buffer, and the records of a message are sent together.
//
// It imports bufpool and ioread. Server makes a connection over a wire (wire.go).
// ViewOf returns the View through which an engine reads and writes (view.go).
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

// Server returns the TLS connection of a server over nc. It does not perform the
// handshake. socket is the connection from which nc reads without changes; it may be
// nc itself. If it is a socket of the system, waiting for it needs no buffer.
func Server(nc, socket net.Conn, config *tls.Config) *tls.Conn {
	w := &wire{Conn: nc, missing: HeaderSize}
	w.findFD(socket)
	c := tls.Server(w, config)
	w.view = View{Conn: c, wire: w}
	return c
}

// Transport returns the transport of c, the connection under a tls.Conn, and true if
// Server has made that tls.Conn. Otherwise it returns c itself and false.
func Transport(c net.Conn) (transport net.Conn, ok bool) {
	if w, ok := c.(*wire); ok {
		return w.Conn, true
	}
	return c, false
}

// wire is the connection between a tls.Conn of a server and its transport.
//
// It reads ahead into a buffer, which it returns to the pool as soon as it is empty,
// and passes one record at a time to the tls.Conn. So a tls.Conn from which
// everything was read holds no bytes. If the wire has none either, the connection is
// idle: it only has to wait for the transport, for which it needs no buffer. A
// tls.Conn directly on the transport could hold the next record already, and there is
// no way to find that out.
//
// A wire can also gather records and send them with one call: a tls.Conn writes each
// record separately, and the first ones are small.
type wire struct {
	net.Conn
	view View

	// raw reads from the descriptor of a socket by calling read, which stores its
	// error in readErr. It is nil if the transport is not a socket.
	raw     syscall.RawConn
	read    func(fd uintptr) (done bool)
	readErr error

	ahead   []byte          // bytes received and not passed on yet: a part of buffer, or of waited
	buffer  *bufpool.Buffer // nil if ahead is not a part of a buffer
	eager   bool            // the last read filled the buffer
	missing int             // bytes up to the end of the current header or payload
	payload bool            // the current part of the record is its payload
	header  [HeaderSize]byte
	waited  [HeaderSize]byte // the bytes that ended a wait without a buffer

	mu       sync.Mutex
	gathered *bufpool.Buffer // records that are not sent yet; nil if there are none
	sendErr  error           // the error by which records were lost that Write has accepted
}

const (
	// HeaderSize is the size of the header of a record (RFC 8446 section 5.1): a
	// type, a version and the size of the payload.
	HeaderSize = 5

	// wireSize is how much is read ahead at first, and wireEagerSize how much if
	// the peer sends more than that.
	wireSize      = 4 << 10
	wireEagerSize = 64 << 10

	// GatherSize is how much is gathered at most.
	GatherSize = 64 << 10
)

// NetConn returns the transport, as the method of tls.Conn does.
func (w *wire) NetConn() net.Conn { return w.Conn }

// SyscallConn implements syscall.Conn, to set options of a socket.
func (w *wire) SyscallConn() (syscall.RawConn, error) {
	c, ok := w.Conn.(syscall.Conn)
	if !ok {
		return nil, syscall.EINVAL
	}
	return c.SyscallConn()
}

// CloseWrite shuts down the sending side if the transport can do that.
func (w *wire) CloseWrite() error {
	half, ok := w.Conn.(interface{ CloseWrite() error })
	if !ok {
		return syscall.EINVAL
	}
	return half.CloseWrite()
}

// Read implements net.Conn. It never reads beyond the current record.
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

// follow keeps track of the ends of records in the bytes that Read returns.
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

// filled keeps b if bytes were read into it, or returns it to the pool.
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

// gather makes Write collect records, up to GatherSize bytes, until send is called.
// The records will have about n bytes.
func (w *wire) gather(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.gathered == nil {
		w.gathered = bufpool.Get(min(n, GatherSize))
	}
}

// send sends the gathered records and ends the gathering.
func (w *wire) send() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	err := w.sendGathered()
	bufpool.Put(w.gathered)
	w.gathered = nil
	return err
}

// sendGathered sends the records gathered so far. mu is held. An error is permanent:
// the peer cannot decrypt a record after a lost one.
func (w *wire) sendGathered() error {
	if b := w.gathered; w.sendErr == nil && b != nil && len(b.B) > 0 {
		_, w.sendErr = w.Conn.Write(b.B)
		b.B = b.B[:0]
	}
	return w.sendErr
}
