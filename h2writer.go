package fasthttp

import (
	"github.com/valyala/fasthttp/internal/hpack"
	"github.com/valyala/fasthttp/internal/http1"
	"github.com/valyala/fasthttp/internal/http2"
)

var _ flushWriter = (*h2Writer)(nil)

// h2Writer writes the content of the response of an exchange.
type h2Writer h2Exchange

// head sends the head of the response, with the content that follows.
func (w *h2Writer) head(e http1.Encoding) error {
	x := (*h2Exchange)(w)
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

// Write implements io.Writer.
func (w *h2Writer) Write(p []byte) (int, error) { return w.out.Write(p) }

// Flush sends what was written.
func (w *h2Writer) Flush() error { return w.out.Flush() }

// end ends the response: with trailers, if there are any. It waits until all content was
// taken.
func (w *h2Writer) end() error {
	h := &w.ctx.Response.Header
	if !h.hasSection() {
		return w.out.End(nil)
	}
	return w.out.End(func(dst []byte, enc *hpack.Encoder) []byte { return h.appendTrailerBlock(dst, enc) })
}

// release gives the buffers back.
func (w *h2Writer) release() {
	w.sent += w.out.Passed()
	w.out.Release()
}
