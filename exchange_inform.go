package fasthttp

import (
	"fmt"
	"time"

	"github.com/valyala/fasthttp/internal/field"
	"github.com/valyala/fasthttp/internal/http1"
	"github.com/valyala/fasthttp/internal/watch"
)

// responder is the exchange as its context sees it while the handler runs.
type responder interface {
	// inform sends an informational response at once, and earlyHints a 103 response
	// with the Link fields that are set so far.
	inform(h *ResponseHeader) error
	earlyHints(h *ResponseHeader) error
	// requestWatch returns the watch of the request, which all its contexts share, and
	// makes it if there is none. It may be called until the exchange has been taken away
	// from these contexts: see RequestCtx.endResponders.
	requestWatch() *watch.Watch
	// watchPeer makes the engine call w, the watch of the request, when the client goes
	// away, until the request was handled.
	watchPeer(w *watch.Watch)
	// readBeside lets the body of the request be read in one goroutine while the
	// response is written in another.
	readBeside()
}

var _ responder = (*exchange)(nil)

// inform implements responder.
func (x *exchange) inform(h *ResponseHeader) error {
	out := x.output()
	out.B = http1.AppendUsualStatusLine(out.B, h.StatusCode())
	out.B = h.appendList(out.B, http1.Response, 0)
	out.B = append(out.B, strCRLF...)
	if err := x.flushNow(); err != nil {
		return fmt.Errorf("fasthttp: cannot send an informational response: %w", err)
	}
	return nil
}

// earlyHints implements responder.
func (x *exchange) earlyHints(h *ResponseHeader) error {
	out := x.output()
	from := len(out.B)
	out.B = http1.AppendUsualStatusLine(out.B, StatusEarlyHints)
	had := len(out.B)
	for i := h.list.FindID(field.Link, 0); i >= 0; i = h.list.FindID(field.Link, i+1) {
		out.B = http1.AppendKnown(out.B, field.Link, h.list.Value(i))
	}
	if len(out.B) == had {
		out.B = out.B[:from]
		return nil
	}
	out.B = append(out.B, strCRLF...)
	if err := x.flushNow(); err != nil {
		return fmt.Errorf("fasthttp: cannot send early hints: %w", err)
	}
	return nil
}

// requestWatch implements responder.
func (x *exchange) requestWatch() *watch.Watch { return x.ctx.ownWatch() }

// watchPeer implements responder. Contexts of more than one goroutine may call it.
func (x *exchange) watchPeer(w *watch.Watch) {
	if x.watching.CompareAndSwap(false, true) {
		x.link.Watch(w, x.mayReadAhead())
	}
}

// mayReadAhead reports whether the next bytes on the connection do not belong to the
// current request.
func (x *exchange) mayReadAhead() bool {
	return !(x.conn.Reading() == http1.ReadStream && x.ctx.Request.arrives()) && len(x.pending()) == 0
}

// endWatch ends the watch of the request that was handled. If a handler is late, it learns
// from its watch that no client waits for its response any more, also if it begins to watch
// only then.
func (x *exchange) endWatch(w *watch.Watch, late bool) {
	if x.watching.CompareAndSwap(true, false) && x.link.Unwatch() {
		x.readUntil = time.Time{}
	}
	if late {
		x.s.watches.Abandon(w)
	} else {
		x.s.watches.Finish(w)
	}
}

// readBeside implements responder.
func (x *exchange) readBeside() { x.duplex = true }
