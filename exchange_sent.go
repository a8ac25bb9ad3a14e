package fasthttp

import (
	"errors"
	"net"

	"github.com/valyala/fasthttp/internal/clock"
	"github.com/valyala/fasthttp/internal/engine"
)

// SentResponse describes a response to Server.ResponseSent.
type SentResponse struct {
	// StatusCode is the status of the response, or 0 if there was none. It is 101 as well
	// if the handler has set that status, and a HijackHandler without a response
	// (HijackSetNoResponse) is to send it.
	StatusCode int
	// Bytes is how many bytes of it the connection has taken, its head included and
	// before they are encrypted. Whether they have arrived is not known.
	Bytes int64
	// Refused is the error for which the request was refused: the one that
	// Server.ErrorHandler got, ErrRequestRefused also for an Expect field,
	// ErrConcurrencyLimit or ErrPerIPConnLimit. It is nil if a handler answered.
	Refused error
	// Err is why the response was cut off; nil if all of it was taken.
	Err error
}

// delivery is the state of the response that is being written.
type delivery struct {
	on      bool  // Server.ResponseSent is to be called for it
	told    bool  // it was called
	size    int64 // in bytes
	missing int64 // of them, which are in no buffer
	err     error // why the response was cut off
}

// errNoAnswer is why there is no response.
var errNoAnswer = errors.New("fasthttp: the connection was cut off without a response")

// stampRefused says which request it is that the handler does not get, and when it came.
func (x *h1Exchange) stampRefused() {
	ctx := x.ctx
	if x.s.ResponseSent != nil && !x.s.LazyRequestTime && ctx.at.IsZero() {
		ctx.requestNum, ctx.at = x.c.Requests+1, clock.Read()
	}
}

// beginSending says that a response of the size is about to be written.
func (x *h1Exchange) beginSending(size int) {
	x.delivery.on, x.delivery.size = x.s.ResponseSent != nil, int64(size)
}

// cutShort says why no more of the response is written.
func (x *h1Exchange) cutShort(err error) {
	if x.delivery.on {
		x.delivery.err = err
	}
}

// sent reports to Server.ResponseSent the response that was written, as a whole or as
// far as it will be.
func (x *h1Exchange) sent() {
	d := &x.delivery
	if x.s.ResponseSent != nil {
		report := SentResponse{Refused: x.refusal, Err: d.err}
		if d.on {
			report.StatusCode = x.ctx.Response.StatusCode()
			report.Bytes = max(d.size-d.missing-x.unsent(), 0)
		}
		d.told = true // it may end the goroutine
		x.s.reportSent(x.ctx, report)
	}
	*d = delivery{}
}

// nothingSent reports to Server.ResponseSent that the request that has begun gets no
// response.
func (x *h1Exchange) nothingSent(err error) {
	if x.s.ResponseSent == nil || x.ctx == nil || !x.h.conn.Begun() || x.delivery.told {
		return
	}
	x.stampRefused()
	x.delivery.on, x.delivery.err = false, err
	x.sent()
}

// unsent returns how many bytes of the response are still to be written.
func (x *h1Exchange) unsent() int64 {
	n := int64(len(x.h.tail)) + x.h.file.Length
	if x.h.out != nil {
		n += int64(len(x.h.out.B))
	}
	return n
}

// reportSent calls Server.ResponseSent.
func (s *Server) reportSent(ctx *RequestCtx, sent SentResponse) {
	defer s.catchPanic("ResponseSent")
	s.ResponseSent(ctx, sent)
}

// reportRefusal reports to Server.ResponseSent the response to a connection that was
// refused.
func (s *Server) reportRefusal(nc net.Conn, resp *Response, sent SentResponse) {
	if s.ResponseSent == nil {
		return
	}
	c := &engine.Conn{Set: &s.conns, NC: nc, ID: engine.NewID(), Opened: clock.Monotonic(), Service: s.conns.Service()}
	ctx := &RequestCtx{s: s, at: clock.Read()}
	ctx.serveOn(c)
	resp.CopyTo(&ctx.Response)
	sent.StatusCode = resp.StatusCode()
	s.reportSent(ctx, sent)
}
