package fasthttp

import (
	"time"

	"github.com/valyala/fasthttp/internal/field"
	"github.com/valyala/fasthttp/internal/http1"
	"github.com/valyala/fasthttp/internal/watch"
)

// sendInterim implements serverTransport.
func (x *h1Exchange) sendInterim(status int, h *ResponseHeader, only field.ID) error {
	out := x.h.output()
	out.B = http1.AppendUsualStatusLine(out.B, status)
	if only == 0 {
		out.B = h.appendList(out.B, http1.Response, 0)
	} else {
		for i := h.list.FindID(only, 0); i >= 0; i = h.list.FindID(only, i+1) {
			out.B = http1.AppendKnown(out.B, only, h.list.Value(i))
		}
	}
	out.B = append(out.B, strCRLF...)
	return x.flushNow()
}

// watchPeer implements serverTransport.
func (x *h1Exchange) watchPeer(w *watch.Watch) {
	if x.watching.CompareAndSwap(false, true) {
		x.h.link.Watch(w, x.mayReadAhead())
	}
}

// unwatchPeer implements serverTransport.
func (x *h1Exchange) unwatchPeer() {
	if x.watching.CompareAndSwap(true, false) && x.h.link.Unwatch() {
		x.h.readUntil = time.Time{}
	}
}

// mayReadAhead reports whether the next bytes on the connection do not belong to the
// current request.
func (x *h1Exchange) mayReadAhead() bool {
	return !(x.h.conn.Reading() == http1.ReadStream && x.ctx.Request.arrives()) && len(x.h.pending()) == 0
}
