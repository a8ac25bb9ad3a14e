package tlswire

import (
	"encoding/binary"
	"io"
	"net"
	"runtime"

	"github.com/valyala/fasthttp/internal/bufpool"
)

// This file reads and writes a tls.Conn on an event loop, without waiting. It is for
// connections whose transport is a Socket, after their handshake.
//
// A Read of a tls.Conn can be repeated after a temporary error of its transport: it
// continues in the middle of a record. A Write and a handshake cannot. So all output of a
// tls.Conn is accepted: bytes that cannot be sent at once are buffered, and sent as far as
// there is room. Only one of the methods may run, and no other goroutine may read or write
// meanwhile.

// Socket is a transport that can also be read and written without waiting.
type Socket interface {
	net.Conn
	// Await waits until there are bytes to read, or an end or an error.
	Await() error
	// ReadNow reads bytes that have arrived. If there are none, the error is a temporary
	// net.Error.
	ReadNow(p []byte) (int, error)
	// WriteNow writes as much as there is room for. If more is left, it returns such an
	// error, too.
	WriteNow(p []byte) (int, error)
}

const (
	// sealSize is how many bytes of output are encrypted before their records are sent.
	// The records fit into GatherSize. A peer that does not read holds no more than that;
	// larger responses were not faster with four times as much.
	sealSize = 56 << 10
	// MaxUnsent is how many bytes of responses to messages of TLS itself may wait for room
	// before no more such messages are read.
	MaxUnsent = 16 << 10
	// minOverhead is the least number of bytes that a record adds to its data: its header,
	// and the authentication that each cipher suite adds.
	minOverhead = HeaderSize + 16
)

// ReadNow reads received bytes, and returns the error of the Socket if there are none at
// the moment. No goroutine may be in Read.
func (v *View) ReadNow(p []byte) (n int, err error) {
	w := v.wire
	if err := w.push(); err != nil && w.unsent() > MaxUnsent {
		return 0, err
	}
	n, err = v.readNow(p)
	// the end of a connection that accepts nothing is found by reading from it
	_ = w.push()
	return n, err
}

// Choked reports whether ReadNow reads nothing, whatever has arrived: the peer takes no responses to
// its messages of TLS itself.
func (v *View) Choked() bool {
	w := v.wire
	// a goroutine of the application that writes may hold mu for long
	if !w.held.Load() || !w.mu.TryLock() {
		return false
	}
	defer w.mu.Unlock()
	return w.pushGathered() != nil && w.unsentBytes() > MaxUnsent
}

func (v *View) readNow(p []byte) (n int, err error) {
	w := v.wire
	w.waitless.Add(1)
	n, err = v.Conn.Read(p)
	w.waitless.Add(-1)
	v.buffered = n == len(p)
	return n, err
}

// MaxAlert is the largest record that ProbeCloseNotify reads.
const MaxAlert = 127

// ProbeCloseNotify looks for the alert with which the peer ends its sending side. next holds the
// bytes that the Socket has, or the first of them, more than MaxAlert if there are that
// many. An error is the end of the peer's data: io.EOF if the alert was found.
//
// Only decryption distinguishes alerts of TLS 1.3 from data. So a record is read if no
// other bytes have arrived and it has the size of an alert. It may then contain two bytes
// of data instead, the first of which ProbeCloseNotify returns in p.
//
// It may run while other methods send, and must not run while another one reads.
func (v *View) ProbeCloseNotify(next, p []byte) (n int, err error) {
	w := v.wire
	if len(w.ahead) > 0 {
		next = w.ahead
	}
	if v.buffered || w.payload || w.missing != HeaderSize || !mayBeAlert(next) {
		return 0, nil
	}
	if n, err = v.readNow(p[:1]); isTemporary(err) {
		err = nil
	}
	w.pushConcurrently()
	return n, err
}

// mayBeAlert reports whether p is a record that may consist of an alert.
func mayBeAlert(p []byte) bool {
	const (
		alert, data = 21, 23
		size        = 2 + 1 + 16 // of an alert of TLS 1.3, without padding
	)
	if len(p) > MaxAlert || !isRecord(p) {
		return false
	}
	return p[0] == alert || p[0] == data && len(p) == HeaderSize+size
}

// isRecord reports whether p is one whole record.
func isRecord(p []byte) bool {
	return len(p) >= HeaderSize && len(p) == HeaderSize+int(binary.BigEndian.Uint16(p[3:]))
}

// HasInput reports whether bytes were received that ReadNow has not returned, as far
// as is known without decrypting them.
func (v *View) HasInput() bool { return v.buffered || len(v.wire.ahead) > 0 }

// Arrived reports that more may have arrived. Bytes read ahead can last for many calls of
// ReadNow.
func (v *View) Arrived() { v.wire.more.Store(true) }

// Drained reports whether ReadNow has returned everything that had arrived by the last
// call of Arrived.
func (v *View) Drained() bool { return !v.HasInput() && !v.wire.more.Load() }

// Send sends as much of head, and then of tail, as there is room for, and returns that
// number of bytes. If more is left, it returns the error of the Socket; the next call
// must begin with the rest, a part of which is encrypted already.
func (v *View) Send(head, tail []byte) (n int, err error) {
	if err = v.wire.push(); err != nil {
		return 0, err
	}
	n, v.sealed = v.sealed, 0
	for n < len(head)+len(tail) {
		if n < len(head) {
			err = v.seal(head[n:], tail)
		} else {
			err = v.seal(tail[n-len(head):], nil)
		}
		if err == nil {
			err = v.wire.push()
		}
		if err != nil {
			return n, err
		}
		n += v.sealed
		v.sealed = 0
	}
	return n, nil
}

// Sending reports whether a part of the output of Send was encrypted and is not sent.
func (v *View) Sending() bool { return v.sealed > 0 }

// seal encrypts the first bytes of head, and of tail after it.
func (v *View) seal(head, tail []byte) error {
	head = head[:min(len(head), sealSize)]
	tail = tail[:min(len(tail), sealSize-len(head))]
	v.sealed = len(head) + len(tail)
	w := v.wire
	w.waitless.Add(1)
	w.output.Store(int32(v.sealed))
	failed := true // crypto/tls may call a Config.Rand that panics
	defer func() { w.endOutput(failed) }()
	_, err := v.Conn.Write(head)
	if err == nil && len(tail) > 0 {
		_, err = v.Conn.Write(tail)
	}
	failed = err != nil
	return err
}

// endOutput is called after crypto/tls has returned. If it has failed, it may not have
// waited for another goroutine that writes.
func (w *wire) endOutput(failed bool) {
	defer w.waitless.Add(-1)
	if failed && w.output.Swap(0) == 0 {
		// another goroutine has taken it, and may be sending in mu
		w.mu.Lock()
		defer w.mu.Unlock()
	}
}

// Goodbye closes the tls.Conn: it sends the closing alert, as far as Push can. The
// transport must still be closed.
func (v *View) Goodbye() error {
	w := v.wire
	w.detaching.Store(true)
	w.waitless.Add(1)
	// it may be closed already, or a goroutine of the application may be writing: then
	// there is no alert
	_ = v.Conn.Close()
	w.waitless.Add(-1)
	w.detaching.Store(false)
	if !w.mu.TryLock() {
		return nil
	}
	defer w.mu.Unlock()
	return w.pushGathered()
}

// Push sends records for which there was no room, as far as there is room now.
func (v *View) Push() error { return v.wire.push() }

// Move makes nc, which has taken over the descriptor, the transport.
func (v *View) Move(nc net.Conn) {
	to := newTransport(nc, nc)
	v.wire.to.Store(&to)
}

// fillNow is fill for a Socket. It holds no buffer while it waits.
func (w *wire) fillNow(from Socket) error {
	for {
		waits := w.waitless.Load() == 0
		if waits {
			if err := from.Await(); err != nil {
				return err
			}
		}
		b := bufpool.Get(w.aheadSize())
		n, err := from.ReadNow(b.B[:cap(b.B)])
		if err = w.filled(b, n, err); !waits || !isTemporary(err) {
			return err
		}
	}
}

// readDirectly is Read from a Socket without a buffer in between. Bytes after the current
// record are kept.
func (w *wire) readDirectly(from Socket, p []byte) (int, error) {
	n, err := from.ReadNow(p)
	if n <= 0 {
		if err == nil {
			err = io.EOF
		}
		return 0, err
	}
	w.readFilled = n == len(p)
	w.more.Store(w.readFilled)
	if w.missing == HeaderSize && !w.payload && isRecord(p[:n]) {
		// it ends where the next one begins, as the last one did
		return n, nil
	}
	received := p[:n]
	if n = min(n, w.upToEnd(received)); n < len(received) {
		w.buffer = bufpool.Get(len(received) - n)
		w.buffer.B = append(w.buffer.B, received[n:]...)
		w.ahead = w.buffer.B
	}
	w.follow(p[:n])
	return n, nil
}

// writeNow is Write without waiting: bytes without room are kept. A record that is the
// whole output is sent from the memory of the tls.Conn. Other records are kept, for push to
// send them together.
//
// A goroutine of the application may write, too, as on any net.Conn. It sends only while
// seal waits for it in the tls.Conn: later its descriptor may belong to another connection.
// That is why the first record takes output away.
func (w *wire) writeNow(p []byte) (n int, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.sendErr != nil {
		return 0, w.sendErr
	}
	output := 0
	if w.output.Load() > 0 {
		output = int(w.output.Swap(0))
	}
	if output > 0 {
		if w.gathered == nil && len(p) >= output+minOverhead {
			n, err = w.to.Load().now.WriteNow(p)
		}
	}
	switch {
	case n == len(p):
		return n, nil
	case err != nil && !isTemporary(err):
		// push returns it
		w.sendErr = err
		w.held.Store(true)
		return len(p), nil
	}
	w.keep(p[n:], output)
	if w.waitless.Load() == 0 && !w.gathering {
		// the last push may have been too early, and not have seen the record
		if err = w.sendAll(); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// keep appends p to the unsent records, for that many bytes of output. mu is held.
func (w *wire) keep(p []byte, output int) {
	if w.gathered == nil {
		w.gathered = bufpool.Get(max(len(p), sizeOfRecords(output)))
		w.held.Store(true)
	}
	if w.sent > 0 {
		w.gathered.B = w.gathered.B[:copy(w.gathered.B, w.gathered.B[w.sent:])]
		w.sent = 0
	}
	w.gathered.Grow(len(p))
	w.gathered.B = append(w.gathered.B, p...)
}

// push is send without waiting, and without ending the gathering.
func (w *wire) push() error {
	if w.held.Load() {
		return w.pushHeld()
	}
	return nil
}

// pushConcurrently is push while another goroutine may wait for room: that one sends all records
// before it waits.
func (w *wire) pushConcurrently() {
	for w.held.Load() && !w.waits.Load() {
		if w.mu.TryLock() {
			_ = w.pushGathered()
			w.mu.Unlock()
			return
		}
		runtime.Gosched()
	}
}

func (w *wire) pushHeld() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.pushGathered()
}

func (w *wire) pushGathered() error {
	b := w.gathered
	if b == nil || w.sendErr != nil {
		return w.sendErr
	}
	n, err := w.to.Load().now.WriteNow(b.B[w.sent:])
	if w.sent += n; w.sent < len(b.B) && isTemporary(err) {
		return err
	}
	w.sendErr = err
	if w.gathering {
		// a goroutine is about to gather more
		b.B, w.sent = b.B[:0], 0
		return err
	}
	w.releaseRecords()
	return err
}

func (w *wire) unsent() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.unsentBytes()
}

// unsentBytes is unsent with mu held.
func (w *wire) unsentBytes() int {
	if w.gathered == nil {
		return 0
	}
	return len(w.gathered.B) - w.sent
}

// isTemporary reports whether crypto/tls continues after an error.
func isTemporary(err error) bool {
	t, ok := err.(interface{ Temporary() bool })
	return ok && t.Temporary()
}
