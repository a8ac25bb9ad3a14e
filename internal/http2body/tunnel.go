package http2body

import (
	"net"
	"os"
	"sync"
	"time"

	"github.com/valyala/fasthttp/internal/bodyio"
	"github.com/valyala/fasthttp/internal/bufpool"
	"github.com/valyala/fasthttp/internal/http2"
)

// Tunnel is both directions of a stream after a 2xx response to CONNECT (RFC 9113 section 8.5),
// with the methods of a net.Conn but its addresses. The directions end like those of
// TCP: END_STREAM is its FIN, and RST_STREAM with CANCEL its RST.
//
// A Write returns once a piece of its bytes was given to the connection, which may still hold
// it: MaxTunnel bytes at most, beside what small pieces add to the output of the connection, which
// http2.Limits.Output limits for all streams together.
type Tunnel struct {
	side   Side
	in     *Incoming
	unused func() // is called once, by Close or Reset

	// guarded by the lock
	stream      *http2.Stream
	room        sync.Cond       // the piece was taken, or the state has changed
	sending     *bufpool.Buffer // a piece that waits for a window, or nil
	err         error           // why nothing can be sent
	writing     bool            // a goroutine is in Write
	ended       bool            // CloseWrite, Close or Reset was called
	closed      bool            // Close or Reset was called
	read, write tunnelDeadline
}

// MaxTunnel is how many bytes of a Tunnel may wait for the peer after its Writes have returned.
const MaxTunnel = piece

// tunnelDeadline is a deadline of a Tunnel.
type tunnelDeadline struct {
	at     time.Time
	timer  *time.Timer
	passed bool
}

// Init makes t the tunnel on a stream, whose incoming bytes in has. unused is called,
// without the lock, when the tunnel is no longer used; some of its bytes may still wait.
func (t *Tunnel) Init(side Side, s *http2.Stream, in *Incoming, unused func()) {
	t.side, t.stream, t.in, t.unused, t.room.L = side, s, in, unused, side
}

// Read implements net.Conn.
func (t *Tunnel) Read(p []byte) (int, error) {
	n, err := t.in.Read(p)
	if err == bodyio.ErrClosed {
		err = net.ErrClosed
	}
	return n, err
}

// Write implements net.Conn.
func (t *Tunnel) Write(p []byte) (n int, err error) {
	t.side.Lock()
	defer t.side.Unlock()
	for t.writing && t.writeErr() == nil {
		t.room.Wait()
	}
	if err := t.writeErr(); err != nil || len(p) == 0 {
		return 0, err
	}
	t.writing = true
	for n < len(p) {
		if err = t.awaitRoom(); err != nil {
			break
		}
		n += t.send(p[n:min(n+piece, len(p))])
		if t.side.Wakes() {
			t.side.Unlock()
			t.side.Wake()
			t.side.Lock()
		}
	}
	t.writing = false
	t.room.Broadcast()
	return n, err
}

// send passes a piece on. The lock is held, and there is room.
func (t *Tunnel) send(p []byte) int {
	b := bufpool.Get(len(p))
	b.B = append(b.B[:0], p...)
	t.side.HTTP2().Send(t.stream, b.B, false)
	if t.stream.Unsent() > 0 {
		t.sending = b
	} else {
		bufpool.Put(b)
	}
	return len(p)
}

// writeErr returns the reason why nothing can be written now, or nil. The lock is held.
func (t *Tunnel) writeErr() error {
	switch {
	case t.ended:
		return net.ErrClosed
	case t.err != nil:
		return t.err
	case t.write.passed:
		return os.ErrDeadlineExceeded
	}
	return nil
}

// awaitRoom waits until the last piece was taken. The lock is held, but not while it waits.
func (t *Tunnel) awaitRoom() error {
	for {
		err := t.writeErr()
		switch {
		case err != nil || t.stream.Unsent() == 0:
			return err
		case t.side.Wakes():
			t.side.Unlock()
			t.side.Wake()
			t.side.Lock()
		default:
			t.room.Wait()
		}
	}
}

// ContentSent is called when http2.Conn.Drained has returned the stream. The lock is held.
func (t *Tunnel) ContentSent() {
	if t.stream.Unsent() == 0 {
		bufpool.Put(t.sending)
		t.sending = nil
	}
	t.room.Broadcast()
}

// Fail makes writes fail with err, since nothing more can be sent. The caller also ends the
// Incoming. The lock is held.
func (t *Tunnel) Fail(err error) {
	if t.err == nil {
		t.err = err
	}
	t.room.Broadcast()
}

// HasUnsent reports whether bytes that were written wait for the peer.
func (t *Tunnel) HasUnsent() bool {
	t.side.Lock()
	defer t.side.Unlock()
	return t.err == nil && t.stream.Unsent() > 0
}

// AwaitSent waits after Close until the peer has taken all bytes, or nothing can be sent any more,
// but not longer than limit.
func (t *Tunnel) AwaitSent(limit time.Duration) {
	t.side.Lock()
	defer t.side.Unlock()
	timer := time.AfterFunc(limit, func() {
		t.side.Lock()
		defer t.side.Unlock()
		t.Fail(os.ErrDeadlineExceeded)
	})
	defer timer.Stop()
	for t.err == nil && t.stream.Unsent() > 0 {
		t.room.Wait()
	}
}

// Release is called when the stream was released, and frees memory. The lock is held.
func (t *Tunnel) Release() {
	bufpool.Put(t.sending)
	t.sending = nil
}

// CloseWrite ends the direction to the peer, after the bytes that were written.
func (t *Tunnel) CloseWrite() error {
	t.side.Lock()
	err := error(nil)
	if t.closed {
		err = net.ErrClosed
	} else if !t.ended {
		t.end()
	}
	wake := t.side.Wakes()
	t.side.Unlock()
	if wake {
		t.side.Wake()
	}
	return err
}

// end ends the direction to the peer. The lock is held.
func (t *Tunnel) end() {
	t.ended = true
	if t.err == nil {
		t.side.HTTP2().Finish(t.stream)
	}
	t.room.Broadcast()
}

// Close implements net.Conn: it ends both directions. Bytes that were written are still sent.
func (t *Tunnel) Close() error { return t.close(false) }

// Reset ends both directions at once: the peer gets a reset.
func (t *Tunnel) Reset() error { return t.close(true) }

func (t *Tunnel) close(reset bool) error {
	t.side.Lock()
	if t.closed {
		t.side.Unlock()
		return net.ErrClosed
	}
	t.closed = true
	if reset && t.err == nil {
		t.side.HTTP2().Reset(t.stream, http2.Cancel)
		t.err = net.ErrClosed
	}
	if !t.ended {
		t.end()
	}
	for _, d := range []*tunnelDeadline{&t.read, &t.write} {
		if d.timer != nil {
			d.timer.Stop()
		}
	}
	t.side.Unlock()
	// it also wakes the side
	_ = t.in.Close()
	t.unused()
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
func (t *Tunnel) SetReadDeadline(at time.Time) error { return t.setDeadline(&t.read, at) }

// SetWriteDeadline implements net.Conn.
func (t *Tunnel) SetWriteDeadline(at time.Time) error { return t.setDeadline(&t.write, at) }

func (t *Tunnel) setDeadline(d *tunnelDeadline, at time.Time) error {
	t.side.Lock()
	defer t.side.Unlock()
	if t.closed {
		return net.ErrClosed
	}
	d.at = at
	if at.IsZero() {
		if d.timer != nil {
			d.timer.Stop()
		}
		t.setPassed(d, false)
		return nil
	}
	left := time.Until(at)
	t.setPassed(d, left <= 0)
	switch {
	case left <= 0:
	case d.timer == nil:
		d.timer = time.AfterFunc(left, func() { t.checkDeadline(d) })
	default:
		d.timer.Reset(left)
	}
	return nil
}

// checkDeadline is called by a timer, which may have been set for an earlier deadline.
func (t *Tunnel) checkDeadline(d *tunnelDeadline) {
	t.side.Lock()
	defer t.side.Unlock()
	if d.at.IsZero() || t.closed {
		return
	}
	if left := time.Until(d.at); left > 0 {
		d.timer.Reset(left)
		return
	}
	t.setPassed(d, true)
}

// setPassed records whether the deadline has passed. The lock is held.
func (t *Tunnel) setPassed(d *tunnelDeadline, passed bool) {
	if d.passed == passed {
		return
	}
	d.passed = passed
	if d == &t.read {
		t.in.setLate(passed)
	} else if passed {
		t.room.Broadcast()
	}
}
