// Package tlswire is a layer between crypto/tls and the transport of a server's connection.
// It knows where TLS records end. So a connection that waits for its next request holds no
// buffer, and the records of a message are sent together.
//
// Server makes a connection over a wire (wire.go). ViewOf returns the View through which an
// engine reads and writes: with calls that wait (view.go), and, if the transport is a Socket,
// with calls that do not (nowait.go).
package tlswire

import (
	"crypto/tls"
	"encoding/binary"
	"io"
	"net"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/valyala/fasthttp/internal/bufpool"
	"github.com/valyala/fasthttp/internal/lockorder"
	"github.com/valyala/fasthttp/internal/netio"
)

// Conn is a tls.Conn. It is an interface, and a Layer a function value, so that the linker
// leaves crypto/tls out of programs that serve no TLS: only Server, and the programs that make
// a tls.Conn themselves, turn a tls.Conn into an interface.
type Conn interface {
	net.Conn
	// Handshake performs the handshake, unless that has been done.
	Handshake() error
	// ConnectionState returns what was agreed on in the handshake.
	ConnectionState() tls.ConnectionState
	// NetConn returns the connection below.
	NetConn() net.Conn
	// CloseWrite ends the sending side with an alert.
	CloseWrite() error
}

// Layer makes a server's TLS connection over nc, as Server does with a configuration.
type Layer func(nc, socket net.Conn) Conn

// With returns the Layer of a configuration.
func With(config *tls.Config) Layer {
	return func(nc, socket net.Conn) Conn { return Server(nc, socket, config) }
}

// Server returns a server's TLS connection over nc. It does not perform the handshake.
// socket is the connection from which nc reads without changes; it may be nc itself. If it
// is a socket of the system, waiting for it needs no buffer.
func Server(nc, socket net.Conn, config *tls.Config) *tls.Conn {
	w := newWire(nc, socket)
	c := tls.Server(w, config)
	w.view = View{Conn: c, wire: w}
	return c
}

// Transport returns the transport of c, the connection under a tls.Conn, and true if
// Server has made that tls.Conn. Otherwise it returns c itself and false.
func Transport(c net.Conn) (transport net.Conn, ok bool) {
	if w, ok := c.(*wire); ok {
		return w.NetConn(), true
	}
	return c, false
}

// wire is the connection between a tls.Conn of a server and its transport.
//
// It reads ahead into a buffer, which it returns to the pool as soon as it is empty, and
// passes one record at a time to the tls.Conn. On an event loop it reads into the memory of
// the tls.Conn as long as that has room, and keeps only the bytes after the record. So a
// tls.Conn from which everything was read holds no bytes. If the wire has none either, the
// connection is idle: it only has to wait for the transport, for which it needs no buffer.
// A tls.Conn directly on the transport could already hold the next record, and there is no
// way to detect that.
//
// A wire can also gather records and send them with one call: a tls.Conn writes each record
// separately, and the first ones are small.
type wire struct {
	view View

	// to is the transport, which is first until Move replaces it
	to    atomic.Pointer[transport]
	first transport

	// read calls readFD, which stores its error in readErr
	read    func(fd uintptr) (done bool)
	readErr error

	ahead      []byte          // received bytes that are not passed on yet: a part of buffer, or of waited
	buffer     *bufpool.Buffer // nil if ahead is not a part of a buffer
	readFilled bool            // the last read filled the buffer
	missing    int             // bytes up to the end of the current header or payload
	payload    bool            // the current part of the record is its payload
	more       atomic.Bool     // more may have arrived since the last read
	header     [HeaderSize]byte
	waited     [HeaderSize]byte // the bytes that ended a wait without a buffer

	waitless  atomic.Int32 // while it is not 0, reads and writes do not wait
	output    atomic.Int32 // the size of encrypted output, until its first record is written
	detaching atomic.Bool  // Close and the deadlines, which Close of a tls.Conn calls, do nothing

	// held is set if there are unsent records, or if some were lost
	held atomic.Bool

	// waits is set if the holder of mu may wait for room
	waits atomic.Bool

	mu        lockorder.Mutex[lockorder.Wire]
	gathering bool            // records are sent when send is called
	gathered  *bufpool.Buffer // unsent records; nil if there are none
	sent      int             // bytes of gathered that were sent
	sendErr   error           // the error that lost records: no others are sent
}

// transport is the connection that a wire reads and writes.
type transport struct {
	net.Conn
	// raw reads from the descriptor of a socket. It is nil if the transport is not a
	// socket of package net.
	raw syscall.RawConn
	now Socket // the same connection, or nil if it is no Socket
}

func newTransport(nc, socket net.Conn) transport {
	now, _ := nc.(Socket)
	return transport{nc, rawOf(socket), now}
}

func newWire(nc, socket net.Conn) *wire {
	w := &wire{first: newTransport(nc, socket), missing: HeaderSize}
	w.to.Store(&w.first)
	w.read = w.readFD
	return w
}

const (
	// HeaderSize is the size of the header of a record (RFC 8446 section 5.1): a
	// type, a version and the size of the payload.
	HeaderSize = 5

	// wireSize is how much is read ahead at first, and wireEagerSize how much if the peer
	// sends more than that.
	wireSize      = 4 << 10
	wireEagerSize = 64 << 10

	// directSize is how much room a tls.Conn must have for reading into it without another
	// buffer. It has that for the header of a record, and for more later: as much as its
	// largest record so far has needed.
	directSize = 512

	// GatherSize is the largest number of gathered bytes.
	GatherSize = 64 << 10
)

// FirstMessage returns the size of the peer's first record, which begins with p: at most
// limit, and 0 if p is something else.
func FirstMessage(p []byte, limit int) int {
	const handshake = 22 // the type of the record
	switch {
	case len(p) < HeaderSize:
		return HeaderSize
	case p[0] != handshake:
		return 0
	}
	return min(HeaderSize+int(binary.BigEndian.Uint16(p[3:])), limit)
}

// NetConn returns the transport, as the method of tls.Conn does.
func (w *wire) NetConn() net.Conn { return w.to.Load().Conn }

// LocalAddr implements net.Conn.
func (w *wire) LocalAddr() net.Addr { return w.to.Load().LocalAddr() }

// RemoteAddr implements net.Conn.
func (w *wire) RemoteAddr() net.Addr { return w.to.Load().RemoteAddr() }

// Close implements net.Conn.
func (w *wire) Close() error {
	if w.detaching.Load() {
		return nil
	}
	return w.to.Load().Close()
}

// SetDeadline implements net.Conn.
func (w *wire) SetDeadline(t time.Time) error {
	if w.detaching.Load() {
		return nil
	}
	return w.to.Load().SetDeadline(t)
}

// SetReadDeadline implements net.Conn.
func (w *wire) SetReadDeadline(t time.Time) error {
	if w.detaching.Load() {
		return nil
	}
	return w.to.Load().SetReadDeadline(t)
}

// SetWriteDeadline implements net.Conn.
func (w *wire) SetWriteDeadline(t time.Time) error {
	if w.detaching.Load() {
		return nil
	}
	return w.to.Load().SetWriteDeadline(t)
}

// SyscallConn implements syscall.Conn, for setting options of a socket.
func (w *wire) SyscallConn() (syscall.RawConn, error) {
	c, ok := w.NetConn().(syscall.Conn)
	if !ok {
		return nil, syscall.EINVAL
	}
	return c.SyscallConn()
}

// CloseWrite shuts down the sending side if the transport supports that.
func (w *wire) CloseWrite() error {
	half, ok := w.NetConn().(interface{ CloseWrite() error })
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
		if from := w.to.Load().now; from != nil && len(p) >= directSize && !w.readFilled && w.waitless.Load() > 0 {
			return w.readDirectly(from, p)
		}
		if err := w.fill(); err != nil {
			return 0, err
		}
	}
	n := copy(p, w.ahead[:min(len(w.ahead), w.upToEnd(w.ahead))])
	w.follow(p[:n])
	if w.ahead = w.ahead[n:]; len(w.ahead) == 0 {
		bufpool.Put(w.buffer)
		// an empty slice would keep the memory as well
		w.ahead, w.buffer = nil, nil
	}
	return n, nil
}

// upToEnd returns the least number of bytes up to the end of the record that next
// continues. If its header is complete, that is all of the record: a tls.Conn allocates for
// each Read.
func (w *wire) upToEnd(next []byte) int {
	if w.payload || w.missing < HeaderSize || len(next) < HeaderSize {
		return w.missing
	}
	return HeaderSize + int(binary.BigEndian.Uint16(next[3:]))
}

// follow keeps track of the ends of records in the bytes that Read returns.
func (w *wire) follow(p []byte) {
	for len(p) > 0 {
		n := min(len(p), w.missing)
		if !w.payload {
			copy(w.header[HeaderSize-w.missing:], p[:n])
		}
		p = p[n:]
		if w.missing -= n; w.missing > 0 {
			return
		}
		size := int(binary.BigEndian.Uint16(w.header[3:]))
		if w.payload = !w.payload && size > 0; w.payload {
			w.missing = size
		} else {
			w.missing = HeaderSize
		}
	}
}

// fill waits for bytes, unless reads do not wait, and reads them ahead.
func (w *wire) fill() error {
	to := w.to.Load()
	if to.raw != nil {
		return w.fillRaw(to.raw)
	}
	if to.now != nil {
		return w.fillNow(to.now)
	}
	b := bufpool.Get(w.aheadSize())
	n, err := netio.Some(to, b.B[:cap(b.B)])
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
	w.readFilled = n == cap(b.B)
	w.more.Store(w.readFilled)
	w.buffer, w.ahead = b, b.B[:n]
	return nil
}

func (w *wire) aheadSize() int {
	if w.readFilled {
		return wireEagerSize
	}
	return wireSize
}

// await waits until bytes have arrived, without holding a buffer.
func (w *wire) await() error {
	if len(w.ahead) > 0 {
		return nil
	}
	to := w.to.Load()
	if to.raw != nil {
		return w.fillRaw(to.raw)
	}
	n, err := netio.Some(to, w.waited[:])
	if n > 0 {
		w.ahead = w.waited[:n]
		return nil
	}
	return err
}

// Write implements net.Conn.
func (w *wire) Write(p []byte) (int, error) {
	if w.waitless.Load() > 0 {
		return w.writeNow(p)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.sendErr != nil {
		return 0, w.sendErr
	}
	if !w.gathering {
		// records for which there was no room are sent first
		if err := w.sendAll(); err != nil {
			return 0, err
		}
		return w.sendNow(p)
	}
	b := w.gathered
	if len(b.B)+len(p) > cap(b.B) {
		if err := w.sendGathered(); err != nil {
			return 0, err
		}
		if len(p) > cap(b.B) {
			return w.sendNow(p)
		}
	}
	b.B = append(b.B, p...)
	return len(p), nil
}

// sendNow sends records. If that fails no others are sent, not even the alert of a Close:
// the peer would regard them as forged. mu is held.
func (w *wire) sendNow(p []byte) (n int, err error) {
	if n, err = w.writeOut(p); err != nil {
		w.sendErr = err
		w.held.Store(true)
	}
	return n, err
}

// writeOut writes to the transport, and waits for room. mu is held.
func (w *wire) writeOut(p []byte) (int, error) {
	w.waits.Store(true)
	defer w.waits.Store(false)
	return w.to.Load().Write(p)
}

// gather makes Write collect records, up to GatherSize bytes, until send is called.
// The records will have about n bytes.
func (w *wire) gather(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gathering = true
	if w.gathered == nil {
		w.gathered = bufpool.Get(min(n, GatherSize))
		w.held.Store(true)
	}
}

// send sends the gathered records and ends the gathering.
func (w *wire) send() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gathering = false
	return w.sendAll()
}

// sendAll sends the gathered records, and drops their buffer. mu is held.
func (w *wire) sendAll() error {
	err := w.sendGathered()
	w.releaseRecords()
	return err
}

// releaseRecords drops the buffer of the gathered records. mu is held.
func (w *wire) releaseRecords() {
	bufpool.Put(w.gathered)
	w.gathered, w.sent = nil, 0
	w.held.Store(w.sendErr != nil)
}

// sendGathered sends the records gathered so far. mu is held. An error is permanent:
// the peer cannot decrypt a record after a lost one.
func (w *wire) sendGathered() error {
	if b := w.gathered; w.sendErr == nil && b != nil && len(b.B) > 0 {
		_, w.sendErr = w.writeOut(b.B[w.sent:])
		b.B, w.sent = b.B[:0], 0
	}
	return w.sendErr
}
