package http2body

import (
	"errors"
	"sync"

	"github.com/valyala/fasthttp/internal/bodyio"
	"github.com/valyala/fasthttp/internal/bufpool"
	"github.com/valyala/fasthttp/internal/hpack"
	"github.com/valyala/fasthttp/internal/http2"
)

// The sizes of the buffer that collects content before it is passed on: at first, and at
// most.
const (
	smallPiece = 4 << 10
	piece      = 32 << 10
)

// MostHeld is how much content an Outgoing holds at most, in bytes, while the peer takes none: what
// is being sent, and what was collected after that.
const MostHeld = 2 * piece

// Outgoing is content that is written to a stream. What was written last is still being sent
// while the next piece is collected. One goroutine uses it, except for Taken and Cut.
type Outgoing struct {
	side    Side
	collect *bufpool.Buffer // not yet passed on
	sends   *bufpool.Buffer // being sent, or nil
	passed  int64

	// guarded by the lock
	stream *http2.Stream
	room   sync.Cond // what was passed on was taken, or cut is set
	cut    error     // why nothing can be sent
}

var _ bodyio.Writer = (*Outgoing)(nil)

// Init makes w write the content of the message that is sent on a stream.
func (w *Outgoing) Init(side Side, s *http2.Stream) {
	w.side, w.stream, w.room.L = side, s, side
}

// Taken says that http2.Conn.Drained has returned the stream. The lock is held.
func (w *Outgoing) Taken() { w.room.Signal() }

// Cut says that nothing more can be sent. The lock is held.
func (w *Outgoing) Cut(err error) {
	if w.cut == nil {
		w.cut = err
	}
	w.room.Broadcast()
}

// Err returns what Cut has said. The lock is held.
func (w *Outgoing) Err() error { return w.cut }

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

// Flush sends what was written, and whatever else there is to be sent on the connection.
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

// pass passes on what was collected, as soon as what came before it was taken. end says
// that it is the end of the content.
func (w *Outgoing) pass(end bool) error {
	w.side.Lock()
	if w.awaitRoom(); w.cut != nil {
		err := w.cut
		w.side.Unlock()
		return err
	}
	bufpool.Put(w.sends)
	w.sends, w.collect = w.collect, nil
	var p []byte
	if w.sends != nil {
		p = w.sends.B
	}
	w.side.HTTP2().Send(w.stream, p, end)
	w.passed += int64(len(p))
	// the end is written together with what the caller adds
	wake := !end && w.side.Wakes()
	w.side.Unlock()
	if wake {
		w.side.Wake()
	}
	return nil
}

// awaitRoom waits until all content that was passed on was taken, or the stream has ended.
// The lock is held, but not while it waits.
func (w *Outgoing) awaitRoom() {
	for w.cut == nil && w.stream.Unsent() > 0 {
		if w.side.Wakes() {
			w.side.Unlock()
			w.side.Wake()
			w.side.Lock()
			continue
		}
		w.room.Wait()
	}
}

// End ends the content: with the trailer section that trailers appends, unless it is nil. It
// waits until all content was taken. The caller has the rest written.
func (w *Outgoing) End(trailers func(dst []byte, enc *hpack.Encoder) []byte) error {
	if w.collect != nil || trailers == nil {
		if err := w.pass(trailers == nil); err != nil {
			return err
		}
	}
	w.side.Lock()
	defer w.side.Unlock()
	if w.awaitRoom(); w.cut != nil || trailers == nil {
		return w.cut
	}
	c := w.side.HTTP2()
	if !c.CanSend(w.stream, http2.SendTrailers) {
		return errEnded
	}
	c.EndHeaders(w.stream, trailers(c.BeginHeaders(), c.Encoder()), http2.SendTrailers)
	return nil
}

var errEnded = errors.New("fasthttp: the stream has ended before the trailers")

// Passed returns how many bytes were passed on.
func (w *Outgoing) Passed() int64 { return w.passed }

// Release gives the buffers back. Nothing is being sent any more, or the stream was reset.
func (w *Outgoing) Release() {
	bufpool.Put(w.collect)
	bufpool.Put(w.sends)
	w.collect, w.sends = nil, nil
}
