package fasthttp

import (
	"bytes"
	"strings"

	"github.com/valyala/fasthttp/internal/bodyio"
	"github.com/valyala/fasthttp/internal/files"
	"github.com/valyala/fasthttp/internal/http1"
)

// drainLimit is how much of a body that the handler left unread is discarded to keep
// the connection.
const drainLimit = 256 << 10

// drain discards the rest that the handler left unread of a body that is a stream:
// unless mayWait is set, only the bytes that have arrived. It does not wait for a
// body that the peer may be waiting to send.
func (x *h1Exchange) drain(mayWait bool) bodyio.Drained {
	source := x.ctx.Request.source
	switch {
	case source.Ended():
		return bodyio.DrainedAll
	case x.h.conn.Waiting() != http1.WaitNever:
		return bodyio.DrainedNever
	case mayWait:
		return source.Drain(&x.toDrain)
	}
	return source.DrainArrived(&x.toDrain)
}

// dropBody drains the body, and makes the connection end if the next request cannot
// be found after it.
func (x *h1Exchange) dropBody(mayWait bool) {
	if x.drain(mayWait) == bodyio.DrainedNever {
		x.h.conn.Linger()
	}
}

// dropUnread drains the part of the body that has arrived before the response, so
// that the response can say whether the connection closes because of the rest. The
// peer may be waiting for the response before it sends more, so that is left to
// dropRest.
func (x *h1Exchange) dropUnread() { x.dropBody(false) }

// mayReadRequest reports whether the response may be made from the body of the request while
// it is sent: its body is a stream, unless that is one of a file or of memory.
func (x *h1Exchange) mayReadRequest() bool {
	stream := x.ctx.Response.body.stream
	if e, ok := stream.(*bodyio.Encoded); ok {
		stream = *e.Source()
	}
	switch stream.(type) {
	case nil:
		return false
	case fileSpan, *files.Part, *bytes.Reader, *strings.Reader:
		// another goroutine may be reading it nevertheless
		return x.duplex
	}
	return true
}

// dropRest drains the part of the body that comes after the response, which it
// flushes first. A connection that closes anyway only lingers.
func (x *h1Exchange) dropRest() {
	if x.ctx.Request.source.Ended() || x.h.conn.Lingers() || x.h.fault != nil {
		return
	}
	if err := x.flushNow(); err != nil {
		x.cutOff(err)
		x.h.conn.End()
		return
	}
	if x.h.conn.Ends() {
		x.h.conn.Linger()
		return
	}
	x.dropBody(true)
}
