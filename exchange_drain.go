package fasthttp

import (
	"errors"

	"github.com/valyala/fasthttp/internal/http1"
)

// drainLimit is how much of a body that the handler left unread is read away to
// keep the connection.
const drainLimit = 256 << 10

// drained is what reading the rest of a body away has come to.
type drained uint8

const (
	drainedAll   drained = iota // the next request lies behind it
	drainedNever                // there is too much of it, or it never comes
	drainedLater                // the rest has not arrived
)

// drain reads away what the handler left of a body that is a stream: unless it may
// wait, no more than what has arrived. A body that the peer may be waiting to send
// is not waited for.
func (x *exchange) drain(mayWait bool) drained {
	stream := &x.ctx.Request.stream
	if stream.done {
		return drainedAll
	}
	if x.expects || stream.decoder.Left() > drainLimit {
		return drainedNever
	}
	if !mayWait {
		in := stream.in
		stream.in = arrivedSource{x}
		defer func() { stream.in = in }()
	}
	if stream.drain(drainLimit) {
		return drainedAll
	}
	if stream.err == errNotArrived {
		stream.err = nil
		return drainedLater
	}
	return drainedNever
}

// arrivedSource is the source of a body of which only what has arrived is read.
type arrivedSource struct{ *exchange }

// fill implements source.
func (arrivedSource) fill() error { return errNotArrived }

// errNotArrived is what fill returns if it must not wait.
var errNotArrived = errors.New("fasthttp: the rest of the body has not arrived")

// dropBody drains the body, and has the connection end if the next request cannot
// be found behind it.
func (x *exchange) dropBody(mayWait bool) {
	if x.drain(mayWait) == drainedNever {
		x.ending, x.linger = true, true
	}
}

// dropUnread drains the body before the response, which the peer may be waiting
// for before it sends more. So the rest is left to dropRest.
//
// Where a body ends that comes in chunks is not known: it has to be read to tell
// whether the connection can be kept, and the response is to say so.
func (x *exchange) dropUnread() {
	x.dropBody(x.ctx.Request.stream.decoder.Kind() == http1.Chunks && !x.duplex && !x.wantsClose())
}

// dropRest drains what comes behind the response, which has to be on its way by
// then.
func (x *exchange) dropRest() {
	if x.ctx.Request.stream.done || x.linger || x.fault != nil {
		return
	}
	if err := x.flushNow(); err != nil {
		x.cutOff(err)
		x.ending = true
		return
	}
	x.dropBody(true)
}
