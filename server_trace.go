package fasthttp

import (
	"crypto/tls"
	"errors"
	"net"
	"time"

	"github.com/valyala/fasthttp/internal/clock"
	"github.com/valyala/fasthttp/internal/engine"
	"github.com/valyala/fasthttp/internal/http1"
)

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

// errNoResponse is reported if there is no response.
var errNoResponse = errors.New("fasthttp: the connection was cut off without a response")

// TracedResponse describes a response to ServerTrace.ResponseSent.
type TracedResponse struct {
	SentResponse
	// Protocol is the protocol of the request: HTTP/1.0, HTTP/1.1, HTTP/2.0 or HTTP/3.0. It is empty if
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
	protocolHTTP3  = "HTTP/3.0"
)

// traceTimes are the times of a traced request, of clock.Monotonic; 0 for events that have not
// occurred. They are only written if the server has hooks.
type traceTimes struct {
	head, body, begun, ended time.Duration
	// sent is only set while hooks for the response are called; before a hook has asked for it, it
	// may be notAsked
	sent time.Duration
}

const notAsked = -1

// durations sets the durations of a response that was sent, and replaces the times by this one.
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
	*t = traceTimes{sent: clock.Monotonic()}
	if since != 0 {
		sent.Sending = t.sent - since
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

// traceSent calls the hook for a response.
func (s *Server) traceSent(ctx *RequestCtx, sent TracedResponse) {
	defer s.catchPanic("ServerTrace")
	s.Trace.ResponseSent(ctx, sent)
}

// tracesHead reports whether traceHead is called for a request whose head was received: there is a
// hook, or another one needs the time. The server has a Trace.
func (x *exchange) tracesHead(framing http1.Framing) bool {
	t := x.s.Trace
	return x.s.set.timed || t.HeadReceived != nil || t.BodyReceived != nil && framing.Kind != http1.NoBody
}

// traceHead is called when the head of a request was received. It gives the context the number
// and the time of the request, which count sets again.
func (x *exchange) traceHead() {
	ctx := x.ctx
	if ctx.traced == nil {
		ctx.traced = new(traceTimes)
	}
	*ctx.traced = traceTimes{head: clock.Monotonic()}
	if !x.c.Concurrent {
		ctx.requestNum = x.c.Requests + 1 // else it was counted already
	}
	if ctx.receivedAt.IsZero() && !x.s.LazyRequestTime {
		ctx.receivedAt = clock.MomentOf(ctx.traced.head)
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
	if x.s.set.timed {
		x.ctx.traced.body = clock.Monotonic()
	}
	x.callTrace(x.s.Trace.BodyReceived)
}

// handleTraced calls the handler.
func (x *exchange) handleTraced() {
	times, timed := x.ctx.traced, x.s.set.timed
	if timed {
		if times.begun = x.handlesAtOnce(); times.begun == 0 {
			times.begun = clock.Monotonic()
		}
	}
	x.callTrace(x.s.Trace.HandlerBegins)
	defer func() {
		if timed {
			times.ended = clock.Monotonic()
		}
		x.callTrace(x.s.Trace.HandlerEnds)
	}()
	x.s.Handler(x.ctx)
}

// handlesAtOnce returns the time of the head, or of the body, if the handler is called right after it:
// the server has neither waited since, nor called a function of the application. Otherwise it
// returns 0. To read the clock again would take longer than what is between.
func (x *exchange) handlesAtOnce() time.Duration {
	s, h, times := x.s, &x.ctx.Request.Header, x.ctx.traced
	switch {
	case h.head.IsHTTP2():
		return 0 // it may have waited for a goroutine
	case times.body != 0:
		if s.Trace.BodyReceived == nil {
			return times.body
		}
	case s.Trace.HeadReceived == nil && s.HeaderReceived == nil && s.ExpectHandler == nil && s.ContinueHandler == nil && h.head.Framing.Kind == http1.NoBody:
		return times.head
	}
	return 0
}

// callTrace calls a hook for a request, unless it is nil.
func (x *exchange) callTrace(hook func(ctx *RequestCtx)) {
	if hook == nil {
		return
	}
	defer x.s.catchPanic("ServerTrace")
	hook(x.ctx)
}
