package fasthttp

import (
	"errors"

	"github.com/valyala/fasthttp/internal/http1"
)

// drainLimit is how much of a body that the handler left unread is discarded to keep
// the connection.
const drainLimit = 256 << 10

// drained is the result of draining a body.
type drained uint8

const (
	drainedAll   drained = iota // the next request lies behind it
	drainedNever                // there is too much of it, or it never comes
	drainedLater                // the rest has not arrived
)

// drain discards the rest that the handler left unread of a body that is a stream:
// unless mayWait is set, only the bytes that have arrived. It does not wait for a
// body that the peer may be waiting to send.
func (x *exchange) drain(mayWait bool) drained {
	stream := &x.ctx.Request.stream
	if stream.done {
		return drainedAll
	}
	if x.conn.Waiting() != http1.WaitNever || stream.decoder.Left() > int64(x.toDrain) {
		return drainedNever
	}
	if !mayWait {
		in := stream.in
		stream.in = arrivedSource{x}
		defer func() { stream.in = in }()
	}
	if stream.drain(&x.toDrain) {
		return drainedAll
	}
	if stream.err == errNotArrived {
		stream.err = nil
		return drainedLater
	}
	return drainedNever
}

// arrivedSource is the source of a body of which only the bytes that have arrived are
// read.
type arrivedSource struct{ *exchange }

// fill implements source.
func (arrivedSource) fill() error { return errNotArrived }

// errNotArrived is what fill returns if it must not wait.
var errNotArrived = errors.New("fasthttp: the rest of the body has not arrived")

// dropBody drains the body, and makes the connection end if the next request cannot
// be found after it.
func (x *exchange) dropBody(mayWait bool) {
	if x.drain(mayWait) == drainedNever {
		x.conn.Linger()
	}
}

// dropUnread drains the part of the body that has arrived before the response, so
// that the response can say whether the connection closes because of the rest. The
// peer may be waiting for the response before it sends more, so that is left to
// dropRest.
func (x *exchange) dropUnread() { x.dropBody(false) }

// dropRest drains the part of the body that comes after the response, which it
// flushes first. A connection that closes anyway only lingers.
func (x *exchange) dropRest() {
	if x.ctx.Request.stream.done || x.conn.Lingers() || x.fault != nil {
		return
	}
	if err := x.flushNow(); err != nil {
		x.cutOff(err)
		x.conn.End()
		return
	}
	if x.conn.Ends() {
		x.conn.Linger()
		return
	}
	x.dropBody(true)
}
