package http3

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// TunnelStream is the part of a stream that a Tunnel needs. One goroutine may receive while another
// sends; the deadlines, StopReading and Cancel may be used by any goroutine.
type TunnelStream interface {
	// Next returns up to n bytes from the peer, as Stream.Next does. After an error because the
	// peer has reset the stream, writes fail as well.
	Next(n int) ([]byte, error)
	// Write sends bytes, of which a part may be kept until Flush.
	Write(p []byte) (int, error)
	// Flush sends the bytes that were kept.
	Flush() error
	// End is Flush, and ends the direction to the peer.
	End() error
	// StopReading tells the peer that no more is received.
	StopReading()
	// Cancel ends both directions at once.
	Cancel()
	// SetReadDeadline limits the waits of Next.
	SetReadDeadline(t time.Time) error
	// SetWriteDeadline limits the waits of the other direction.
	SetWriteDeadline(t time.Time) error
}

// Tunnel is both directions of a stream after a 2xx response to CONNECT (RFC 9114 section 4.4),
// with the methods of a net.Conn but its addresses. A reset by the peer ends both directions: once a
// Read has failed because of it, writes fail.
//
// A Write that has failed, also because of a deadline, may have sent a part of a frame, so all later
// ones fail.
type Tunnel struct {
	stream TunnelStream
	unused func() // is called once, by Close or Reset, when no goroutine uses the stream

	reading sync.Mutex // held while a goroutine receives

	writing  sync.Mutex // guards the fields below, and is held while a goroutine sends
	ended    bool       // the direction to the peer
	writeErr error      // why nothing more can be sent

	mu     sync.Mutex // guards the field below, and is held while a deadline is set
	closed bool       // Close or Reset was called
}

// Init makes t the tunnel on a stream. unused is called when the tunnel is no longer used.
func (t *Tunnel) Init(s TunnelStream, unused func()) { t.stream, t.unused = s, unused }

// isClosed reports whether Close or Reset was called.
func (t *Tunnel) isClosed() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.closed
}

// reason returns the error for the caller.
func (t *Tunnel) reason(err error) error {
	switch {
	case err == nil:
	case t.isClosed():
		return net.ErrClosed
	case errors.Is(err, os.ErrDeadlineExceeded):
		// the loss of a connection may be a timeout as well
		return os.ErrDeadlineExceeded
	}
	return err
}

// Read implements net.Conn.
func (t *Tunnel) Read(p []byte) (int, error) {
	t.reading.Lock()
	defer t.reading.Unlock()
	if t.isClosed() {
		return 0, net.ErrClosed
	}
	if len(p) == 0 {
		return 0, nil
	}
	b, err := t.stream.Next(len(p))
	n := copy(p, b)
	if err == io.EOF && !t.isClosed() {
		return n, err
	}
	return n, t.reason(err)
}

// Write implements net.Conn. Its bytes are not kept.
func (t *Tunnel) Write(p []byte) (int, error) {
	t.writing.Lock()
	defer t.writing.Unlock()
	switch {
	case t.ended || t.isClosed():
		return 0, net.ErrClosed
	case t.writeErr != nil:
		return 0, t.writeErr
	}
	n, err := t.stream.Write(p)
	if err == nil {
		err = t.stream.Flush()
	}
	if err != nil {
		t.writeErr = t.reason(err)
		return min(n, max(len(p)-1, 0)), t.writeErr
	}
	return n, nil
}

// CloseWrite ends the direction to the peer, after the bytes that were written.
func (t *Tunnel) CloseWrite() error {
	t.writing.Lock()
	defer t.writing.Unlock()
	if t.isClosed() {
		return net.ErrClosed
	}
	return t.end()
}

// end ends the direction to the peer. writing is held.
func (t *Tunnel) end() error {
	switch {
	case t.ended:
		return nil
	case t.writeErr != nil:
		return t.writeErr
	}
	t.ended = true
	t.writeErr = t.stream.End()
	return t.writeErr
}

// close records the end. It returns false if the tunnel has ended before.
func (t *Tunnel) close() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	was := t.closed
	t.closed = true
	return !was
}

// pastTime is a deadline that has passed.
var pastTime = time.Unix(1, 0)

// Close implements net.Conn: it ends both directions. Bytes that were written are still sent.
func (t *Tunnel) Close() error {
	if !t.close() {
		return net.ErrClosed
	}
	if !t.writing.TryLock() {
		// no other deadline is set any more
		_ = t.stream.SetWriteDeadline(pastTime)
		t.writing.Lock()
	}
	if t.end() != nil {
		t.stream.Cancel()
	} else {
		t.stream.StopReading()
	}
	t.writing.Unlock()
	t.leave()
	return nil
}

// leave ends the use of the stream. A Read that waits has been ended.
func (t *Tunnel) leave() {
	t.reading.Lock()
	defer t.reading.Unlock()
	t.unused()
}

// Reset ends both directions at once: the peer gets a reset.
func (t *Tunnel) Reset() error {
	if !t.close() {
		return net.ErrClosed
	}
	t.stream.Cancel()
	// a Write that waits returns now
	t.writing.Lock()
	t.ended = true
	t.writing.Unlock()
	t.leave()
	return nil
}

// SetDeadline implements net.Conn.
func (t *Tunnel) SetDeadline(at time.Time) error {
	if err := t.SetReadDeadline(at); err != nil {
		return err
	}
	return t.SetWriteDeadline(at)
}

// SetReadDeadline implements net.Conn.
func (t *Tunnel) SetReadDeadline(at time.Time) error {
	return t.setDeadline(t.stream.SetReadDeadline, at)
}

// SetWriteDeadline implements net.Conn.
func (t *Tunnel) SetWriteDeadline(at time.Time) error {
	return t.setDeadline(t.stream.SetWriteDeadline, at)
}

func (t *Tunnel) setDeadline(set func(time.Time) error, at time.Time) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return net.ErrClosed
	}
	return set(at)
}
