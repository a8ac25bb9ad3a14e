package fasthttp

import (
	"crypto/tls"
	"errors"
	"net"
	"time"

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
	if t := x.s.Trace; t != nil && t.ResponseSent != nil {
		traced := TracedResponse{SentResponse: sent, Protocol: protocol}
		if times := x.ctx.traced; times != nil {
			times.durations(&traced)
		}
		x.clearTimes()
		x.s.traceSent(x.ctx, traced)
	}
	if x.s.ResponseSent != nil {
		x.s.reportSent(x.ctx, sent)
	}
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

// ServerTrace is a set of hooks for Server.Trace. Any of them may be nil.
//
// For a connection the order is ConnAccepted, TLSHandshakeDone if it uses TLS, the hooks of its
// requests, ConnEnded. For a request it is HeadReceived, BodyReceived, HandlerBegins,
// HandlerEnds, ResponseSent. A hook is left out if its event does not occur: a request whose head
// could not be read has ResponseSent alone. The requests of an HTTP/1 connection follow one
// another; the requests of an HTTP/2 connection overlap.
//
// A hook runs on the goroutine that does the work, so it delays that: HandlerBegins and
// HandlerEnds are called by the goroutine of the handler, the other hooks by any goroutine of the
// server. Several may run at once, for different connections, or requests of one HTTP/2
// connection, but those for one request never overlap. A panic in a hook is logged, and has no
// other effect.
//
// ctx is valid until the hook returns. RequestCtx.ID identifies the request in all of its hooks,
// and RequestCtx.ConnID its connection. Values that a hook sets with SetUserValue or SetContext
// are there for the handler and for later hooks, except in ResponseSent if a TimeoutError method
// was called or the request was reset. A connection may be kept, but not used.
type ServerTrace struct {
	// ConnAccepted is called for each connection before it is served. id is its number, which no
	// other connection of the process has. Connections that are refused, because of Concurrency
	// or MaxConnsPerIP, have ResponseSent alone. So has the 400 for a client that speaks HTTP
	// instead of TLS, beside the hooks of its connection.
	ConnAccepted func(id uint64, conn net.Conn)

	// TLSHandshakeDone is called after a TLS handshake, with the error if it has failed.
	TLSHandshakeDone func(id uint64, conn net.Conn, state tls.ConnectionState, err error)

	// HeadReceived is called when the head of a request was read, before Server.HeaderReceived.
	// ctx has the head alone.
	HeadReceived func(ctx *RequestCtx)

	// BodyReceived is called when the server has received the body of a request, before the
	// handler is called. It is not called for a request without a body, nor for a body that the
	// handler reads as it arrives.
	BodyReceived func(ctx *RequestCtx)

	// HandlerBegins is called before Server.Handler.
	HandlerBegins func(ctx *RequestCtx)

	// HandlerEnds is called when the handler has returned, or has panicked. After a call of a
	// TimeoutError method goroutines of the application may still use ctx: the hook must use no
	// more than its ID.
	HandlerEnds func(ctx *RequestCtx)

	// ResponseSent is called just before Server.ResponseSent, which has the same conditions for
	// its use: also for refused requests, and if there was no response.
	ResponseSent func(ctx *RequestCtx, sent TracedResponse)

	// ConnEnded is called when the server has closed a connection, or has handed it over to a
	// HijackHandler: the end of such a connection is not reported. A connection after
	// RequestCtx.SwitchProtocols, such as a WebSocket with callbacks, is reported as usual.
	ConnEnded func(id uint64, conn net.Conn, why ConnEnd)
}

// TracedResponse describes a response to ServerTrace.ResponseSent.
type TracedResponse struct {
	SentResponse
	// Protocol is the protocol of the request: HTTP/1.0, HTTP/1.1 or HTTP/2.0. It is empty if
	// the connection was refused.
	Protocol string
	// Receiving is the time from the head of the request to the end of its body, if
	// BodyReceived was called for it, or else 0.
	Receiving time.Duration
	// Handling is the time that the handler took; 0 if it was not called.
	Handling time.Duration
	// Sending is the time from the end of the handler, or from the head of a refused request, to
	// this call; 0 if there was no head. It includes the time of a body stream.
	Sending time.Duration
}

// ConnEnd is the reason for which a connection has ended.
type ConnEnd int

const (
	// ConnEndServer is the end after the last response: client, handler or settings of the
	// server wanted that, or a handler of Server.NextProto has returned.
	ConnEndServer ConnEnd = iota
	// ConnEndClient is the end of a connection that the client has closed or reset, or whose
	// network has failed.
	ConnEndClient
	// ConnEndTimeout is the end because of a timeout, such as IdleTimeout.
	ConnEndTimeout
	// ConnEndShutdown is the end because the server shuts down.
	ConnEndShutdown
	// ConnEndHijacked is the end of the server's part: a HijackHandler has the connection.
	ConnEndHijacked
	// ConnEndFault is the end because of an error: the client has violated the protocol or a
	// limit, the TLS handshake has failed, or a response could not be completed.
	ConnEndFault
	// ConnEndAborted is the end of a connection that the server has cut off, since a handler or
	// a hook has panicked in the middle.
	ConnEndAborted
)

// String returns the name of the reason.
func (e ConnEnd) String() string {
	switch e {
	case ConnEndServer:
		return "server"
	case ConnEndClient:
		return "client"
	case ConnEndTimeout:
		return "timeout"
	case ConnEndShutdown:
		return "shutdown"
	case ConnEndHijacked:
		return "hijacked"
	case ConnEndFault:
		return "fault"
	case ConnEndAborted:
		return "aborted"
	}
	return ""
}

// The protocols of TracedResponse.
const (
	protocolHTTP10 = "HTTP/1.0"
	protocolHTTP11 = "HTTP/1.1"
	protocolHTTP2  = "HTTP/2.0"
)

// traceTimes are the times of a traced request, of clock.Monotonic; 0 for events that have not
// occurred. They are only written if the server has a Trace.
type traceTimes struct{ head, body, begun, ended time.Duration }

// durations sets the durations of a response that was sent.
func (t *traceTimes) durations(sent *TracedResponse) {
	since := t.head
	if t.body != 0 {
		sent.Receiving = t.body - t.head
		since = t.body
	}
	if t.begun != 0 {
		sent.Handling = t.ended - t.begun
		since = t.ended
	}
	if since != 0 {
		sent.Sending = clock.Monotonic() - since
	}
}

// tracesConns reports whether there are hooks for connections.
func (t *ServerTrace) tracesConns() bool {
	return t != nil && (t.ConnAccepted != nil || t.ConnEnded != nil)
}

// traceState reports the beginning and the end of a connection.
func (s *Server) traceState(c *engine.Conn, state engine.State) {
	defer s.catchPanic("ServerTrace")
	switch t := s.Trace; state {
	case engine.StateNew:
		if t.ConnAccepted != nil {
			t.ConnAccepted(c.ID, c.NC)
		}
	case engine.StateHijacked, engine.StateClosed:
		if t.ConnEnded != nil {
			t.ConnEnded(c.ID, c.NC, ConnEnd(c.EndReason()-engine.EndServer))
		}
	}
}

// traceHandshake reports a TLS handshake.
func (s *Server) traceHandshake(c *engine.Conn, conn connTLSer, err error) {
	if s.Trace.TLSHandshakeDone == nil {
		return
	}
	defer s.catchPanic("ServerTrace")
	s.Trace.TLSHandshakeDone(c.ID, c.NC, conn.ConnectionState(), err)
}

// traceSent calls the hook for a response.
func (s *Server) traceSent(ctx *RequestCtx, sent TracedResponse) {
	defer s.catchPanic("ServerTrace")
	s.Trace.ResponseSent(ctx, sent)
}

// traceHead is called when the head of a request was received. It gives the context the number
// and the time of the request, which count sets again.
func (x *exchange) traceHead() {
	ctx := x.ctx
	if ctx.traced == nil {
		ctx.traced = new(traceTimes)
	}
	*ctx.traced = traceTimes{head: clock.Monotonic()}
	if ctx.requestNum = x.c.Requests + 1; x.c.Concurrent {
		ctx.requestNum = x.c.Requests // counted already
	}
	if ctx.receivedAt.IsZero() && !x.s.LazyRequestTime {
		ctx.receivedAt = clock.Read()
	}
	x.callTrace(x.s.Trace.HeadReceived)
}

// clearTimes forgets the times of a request, for which there are no further hooks.
func (x *exchange) clearTimes() {
	if x.ctx.traced != nil {
		*x.ctx.traced = traceTimes{}
	}
}

// traceBody is called when the body of a request was received.
func (x *exchange) traceBody() {
	x.ctx.traced.body = clock.Monotonic()
	x.callTrace(x.s.Trace.BodyReceived)
}

// handleTraced calls the handler.
func (x *exchange) handleTraced() {
	times := x.ctx.traced
	times.begun = clock.Monotonic()
	x.callTrace(x.s.Trace.HandlerBegins)
	defer func() {
		times.ended = clock.Monotonic()
		x.callTrace(x.s.Trace.HandlerEnds)
	}()
	x.s.Handler(x.ctx)
}

// callTrace calls a hook for a request, unless it is nil.
func (x *exchange) callTrace(hook func(ctx *RequestCtx)) {
	if hook == nil {
		return
	}
	defer x.s.catchPanic("ServerTrace")
	hook(x.ctx)
}
