package fasthttp

import (
	"github.com/valyala/fasthttp/internal/bufpool"
	"github.com/valyala/fasthttp/internal/http1"
	"github.com/valyala/fasthttp/internal/http2"
)

var _ flushWriter = (*h2Writer)(nil)

// h2Writer writes the content of a response. What was written last is still being sent
// while the next piece is collected.
type h2Writer struct {
	x       *h2Exchange
	collect *bufpool.Buffer // not yet passed on
	sends   *bufpool.Buffer // being sent, or nil
}

// head sends the head of the response, with the content that follows.
func (w *h2Writer) head(e http1.Encoding) error {
	x := w.x
	x.h.mu.Lock()
	defer x.h.mu.Unlock()
	if !x.sendHead(e, http2.SendHead) {
		return x.gone()
	}
	return nil
}

// gone returns why nothing can be sent. mu is held.
func (x *h2Exchange) gone() error {
	if x.cut != nil {
		return x.cut
	}
	return errH2Gone
}

// h2Piece is how much content is collected before it is passed on.
const h2Piece = 32 << 10

// Write implements io.Writer.
func (w *h2Writer) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		if w.collect == nil {
			w.collect = bufpool.Get(min(h2Piece, max(len(p), h2SmallPiece)))
		}
		b := w.collect
		room := min(cap(b.B), h2Piece) - len(b.B)
		if room == 0 {
			if cap(b.B) < h2Piece {
				b.Grow(h2Piece - len(b.B))
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

const h2SmallPiece = 4 << 10

// Flush sends what was written.
func (w *h2Writer) Flush() error {
	if w.collect != nil {
		if err := w.pass(false); err != nil {
			return err
		}
	}
	w.x.wake()
	return nil
}

// pass passes on what was collected, as soon as what came before it was taken. end says
// that it is the end of the content.
func (w *h2Writer) pass(end bool) error {
	x := w.x
	h := x.h
	h.mu.Lock()
	if x.awaitRoom(); x.cut != nil {
		h.mu.Unlock()
		return x.cut
	}
	bufpool.Put(w.sends)
	w.sends, w.collect = w.collect, nil
	var p []byte
	if w.sends != nil {
		p = w.sends.B
	}
	h.conn.Send(x.stream, p, end)
	x.sent += int64(len(p))
	// the end is written together with what end and release add
	wake := !end && h.wakes()
	h.mu.Unlock()
	if wake {
		h.link.Wake()
	}
	return nil
}

// awaitRoom waits until all content that was passed on was taken, or the stream has ended. mu
// is held, but not while it waits.
func (x *h2Exchange) awaitRoom() {
	h := x.h
	for x.cut == nil && x.stream.Unsent() > 0 {
		if h.wakes() {
			h.mu.Unlock()
			h.link.Wake()
			h.mu.Lock()
			continue
		}
		x.room.Wait()
	}
}

// end ends the response: with trailers, if there are any. It waits until all content was
// taken.
func (w *h2Writer) end() error {
	x := w.x
	trailers := x.ctx.Response.Header.hasSection()
	if w.collect != nil || !trailers {
		if err := w.pass(!trailers); err != nil {
			return err
		}
	}
	h := x.h
	h.mu.Lock()
	defer h.mu.Unlock()
	x.awaitRoom()
	switch {
	case x.cut != nil:
		return x.cut
	case !trailers:
		return nil
	case !h.conn.CanSend(x.stream, http2.SendTrailers):
		return errH2Gone
	}
	b := x.ctx.Response.Header.appendTrailerBlock(h.conn.BeginHeaders(), h.conn.Encoder())
	h.conn.EndHeaders(x.stream, b, http2.SendTrailers)
	return nil
}

// release gives the buffers back.
func (w *h2Writer) release() {
	// a reset stream uses them no more
	bufpool.Put(w.collect)
	bufpool.Put(w.sends)
	w.collect, w.sends = nil, nil
}
