package fasthttp

import (
	"errors"
	"net"

	"github.com/valyala/fasthttp/internal/clock"
	"github.com/valyala/fasthttp/internal/engine"
)

// SentResponse describes a response to Server.ResponseSent.
type SentResponse struct {
	// StatusCode is the status of the response, or 0 if there was none. It is also 101 if
	// the handler has set that status and HijackSetNoResponse, so that its HijackHandler
	// sends the response.
	StatusCode int
	// Bytes is how many bytes of the response the connection has taken, including the head,
	// before encryption. Whether they have arrived is unknown.
	Bytes int64
	// Refused is the reason for which the request was refused: the error passed to
	// Server.ErrorHandler, ErrRequestRefused (also for an Expect field),
	// ErrConcurrencyLimit, or ErrPerIPConnLimit. It is nil if a handler answered.
	Refused error
	// Err is the reason why the response was cut off. It is nil if the connection has taken
	// all of it.
	Err error
}

// delivery is the state of the response being written.
type delivery struct {
	on       bool  // Server.ResponseSent will be called for it
	reported bool  // Server.ResponseSent was called
	size     int64 // in bytes
	err      error // why the response was cut off, or nil
}

// errNoResponse is reported if there is no response.
var errNoResponse = errors.New("fasthttp: the connection was cut off without a response")

// stampRefused sets the number and the time of a refused request, for the hooks of its response.
func (x *h1Exchange) stampRefused() {
	ctx := x.ctx
	if (x.s.set.reports || x.s.ResponseReady != nil) && !x.s.LazyRequestTime && ctx.receivedAt.IsZero() {
		ctx.requestNum, ctx.receivedAt = x.c.Requests+1, clock.Read()
	}
}

// finishResponse calls Server.ResponseReady. Afterwards the response is encoded.
func (x *exchange) finishResponse() {
	if x.s.ResponseReady == nil || x.ctx.hijack != nil && x.ctx.hijackNoResponse {
		return
	}
	defer x.s.catchPanic("ResponseReady")
	x.s.ResponseReady(x.ctx)
}

// beginSending is called before a response of size bytes is written.
func (x *h1Exchange) beginSending(size int) {
	x.delivery.on, x.delivery.size = x.s.set.reports, int64(size)
}

// failDelivery records why the rest of the response is not written.
func (x *h1Exchange) failDelivery(err error) {
	if x.delivery.on {
		x.delivery.err = err
	}
}

// sent reports the response to Server.ResponseSent: all of it was written, or no more of it
// will be.
func (x *h1Exchange) sent() {
	d := &x.delivery
	if x.s.set.reports {
		report := SentResponse{Refused: x.refusal, Err: d.err}
		if d.on {
			report.StatusCode = x.ctx.Response.StatusCode()
			report.Bytes = max(d.size-x.unsent(), 0)
		}
		d.reported = true // it may end the goroutine
		protocol := protocolHTTP11
		if x.h.minor == 0 {
			protocol = protocolHTTP10
		}
		x.reportSent(protocol, report)
	}
	*d = delivery{}
}

// nothingSent reports to Server.ResponseSent that a request has begun and gets no response.
func (x *h1Exchange) nothingSent(err error) {
	if !x.s.set.reports || x.ctx == nil || !x.h.phases.Begun() || x.delivery.reported {
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

// reportSent calls the hooks for a response.
func (x *exchange) reportSent(protocol string, sent SentResponse) {
	if x.ctx.traced == nil {
		x.ctx.traced = new(traceTimes)
	}
	x.ctx.traced.sent = notAsked
	if x.s.set.timed {
		traced := TracedResponse{SentResponse: sent, Protocol: protocol}
		x.ctx.traced.durations(&traced)
		x.s.traceSent(x.ctx, traced)
	}
	if x.s.ResponseSent != nil {
		x.s.reportSent(x.ctx, sent)
	}
	*x.ctx.traced = traceTimes{} // the next request of the context has others
}

// reportSent calls Server.ResponseSent.
func (s *Server) reportSent(ctx *RequestCtx, sent SentResponse) {
	defer s.catchPanic("ResponseSent")
	s.ResponseSent(ctx, sent)
}

// reportRefusal reports the response on a refused connection to Server.ResponseSent.
func (s *Server) reportRefusal(nc net.Conn, resp *Response, sent SentResponse) {
	if !s.set.reports {
		return
	}
	c := &engine.Conn{Set: &s.conns, NC: nc, ID: engine.NewID(), Opened: clock.Monotonic(), Service: s.conns.Service()}
	ctx := &RequestCtx{s: s, receivedAt: clock.Read()}
	ctx.serveOn(c)
	resp.CopyTo(&ctx.Response)
	sent.StatusCode = resp.StatusCode()
	x := exchange{s: s, ctx: ctx}
	x.reportSent("", sent)
}
