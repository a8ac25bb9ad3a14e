package http2body

import (
	"errors"
	"sync"

	"github.com/valyala/fasthttp/internal/bodyio"
	"github.com/valyala/fasthttp/internal/bufpool"
	"github.com/valyala/fasthttp/internal/hpack"
	"github.com/valyala/fasthttp/internal/http2"
)

// The initial and the largest size of the buffer that collects content before it is passed
// on.
const (
	smallPiece = 4 << 10
	piece      = 32 << 10
)

// MaxHeld is the most content that an Outgoing holds, in bytes, while the peer takes none:
// the content being sent, and the content collected after it.
const MaxHeld = 2 * piece

// Outgoing is content to write to a stream. The last piece is still being sent while
// the next one is collected. Only one goroutine uses it, except for ContentSent and Fail.
type Outgoing struct {
	side    Side
	collect *bufpool.Buffer // not yet passed on
	sending *bufpool.Buffer // being sent, or nil
	passed  int64

	// guarded by the lock
	stream *http2.Stream
	room   sync.Cond // the piece passed on was taken, or cut is set
	err    error     // why nothing can be sent
}

var _ bodyio.Writer = (*Outgoing)(nil)

// Init makes w write the content of the message sent on a stream.
func (w *Outgoing) Init(side Side, s *http2.Stream) {
	w.side, w.stream, w.room.L = side, s, side
}

// ContentSent is called when http2.Conn.Drained has returned the stream. The lock is held.
func (w *Outgoing) ContentSent() { w.room.Signal() }

// Fail makes later writes fail with err: nothing more can be sent. The lock is held.
func (w *Outgoing) Fail(err error) {
	if w.err == nil {
		w.err = err
	}
	w.room.Broadcast()
}

// Err returns the error passed to Fail, or nil. The lock is held.
func (w *Outgoing) Err() error { return w.err }

// Write implements io.Writer.
func (w *Outgoing) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		if w.collect == nil {
			w.collect = bufpool.Get(min(piece, max(len(p), smallPiece)))
		}
		b := w.collect
		room := min(cap(b.B), piece) - len(b.B)
		if room == 0 {
			if cap(b.B) < piece {
				b.Grow(piece - len(b.B))
				continue
			}
			if err := w.pass(false); err != nil {
				return 0, err
			}
			continue
		}
		take := min(room, len(p))
		b.B = append(b.B, p[:take]...)
		p = p[take:]
	}
	return n, nil
}

// Flush sends the content written so far, and any other output of the connection.
func (w *Outgoing) Flush() error {
	if w.collect != nil {
		return w.pass(false)
	}
	w.side.Lock()
	wake := w.side.Wakes()
	w.side.Unlock()
	if wake {
		w.side.Wake()
	}
	return nil
}

// pass passes the collected content on, as soon as the previous piece was taken. end is
// true at the end of the content.
func (w *Outgoing) pass(end bool) error {
	w.side.Lock()
	w.awaitRoom()
	if err := w.failure(); err != nil {
		w.side.Unlock()
		return err
	}
	bufpool.Put(w.sending)
	w.sending, w.collect = w.collect, nil
	var p []byte
	if w.sending != nil {
		p = w.sending.B
	}
	w.side.HTTP2().Send(w.stream, p, end)
	w.passed += int64(len(p))
	// the end is written together with the caller's output
	wake := !end && w.side.Wakes()
	w.side.Unlock()
	if wake {
		w.side.Wake()
	}
	return nil
}

// failure returns why nothing can be sent, or nil. A stream may have been reset before Fail is
// called. The lock is held.
func (w *Outgoing) failure() error {
	if w.err == nil && w.stream.Sending() == http2.Cut {
		return errReset
	}
	return w.err
}

// awaitRoom waits until all content passed on was taken, or the stream has ended. The lock
// is held, but not while it waits.
func (w *Outgoing) awaitRoom() {
	for w.err == nil && w.stream.Unsent() > 0 {
		if w.side.Wakes() {
			w.side.Unlock()
			w.side.Wake()
			w.side.Lock()
			continue
		}
		w.room.Wait()
	}
}

// End ends the content: with the trailer section that trailers appends, unless trailers is
// nil. It waits until all content was taken. The caller must have the rest written.
func (w *Outgoing) End(trailers func(dst []byte, enc *hpack.Encoder) []byte) error {
	if w.collect != nil || trailers == nil {
		if err := w.pass(trailers == nil); err != nil {
			return err
		}
	}
	w.side.Lock()
	defer w.side.Unlock()
	w.awaitRoom()
	if err := w.failure(); err != nil || trailers == nil {
		return err
	}
	c := w.side.HTTP2()
	if !c.CanSend(w.stream, http2.SendTrailers) {
		return errEnded
	}
	c.EndHeaders(w.stream, trailers(c.BeginHeaders(), c.Encoder()), http2.SendTrailers)
	return nil
}

var errReset = errors.New("fasthttp: the stream was reset before the end of its content")

var errEnded = errors.New("fasthttp: the stream has ended before the trailers")

// Passed returns how many bytes were passed on.
func (w *Outgoing) Passed() int64 { return w.passed }

// Release releases the buffers. All content must have been sent, or the stream reset.
func (w *Outgoing) Release() {
	bufpool.Put(w.collect)
	bufpool.Put(w.sending)
	w.collect, w.sending = nil, nil
}
