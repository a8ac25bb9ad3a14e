package fasthttp

import (
	"net"
	"net/http/httptrace"
	"net/textproto"
	"time"

	"github.com/valyala/fasthttp/internal/clock"
)

// A call reports what it does to the httptrace.ClientTrace in the Trace field of its
// client, or to the one that httptrace.WithClientTrace has put into its context. The
// hooks are called on the goroutine of the call, except for the hooks of the dialer.
// WroteHeaderField is never called.

// traceOf returns the trace of a call. The trace of the context takes precedence.
func (c *HostClient) traceOf(call *callState) *httptrace.ClientTrace {
	if call.ctx != nil {
		if trace := httptrace.ContextClientTrace(call.ctx); trace != nil {
			return trace
		}
	}
	return c.Trace
}

func traceGetConn(call *callState, addr string) {
	if t := call.trace; t != nil && t.GetConn != nil {
		t.GetConn(addr)
	}
}

// traceGotConn reports a connection, which has been idle since a time on the clock
// unless since is zero.
func traceGotConn(call *callState, conn net.Conn, since time.Duration) {
	t := call.trace
	if t == nil || t.GotConn == nil {
		return
	}
	info := httptrace.GotConnInfo{Conn: conn, Reused: since != 0, WasIdle: since != 0}
	if info.WasIdle {
		info.IdleTime = max(time.Since(clock.At(since)), 0)
	}
	t.GotConn(info)
}

// tracedWrite is how much of a request was reported as written.
type tracedWrite uint8

const (
	wroteNothing tracedWrite = iota
	wroteHeaders
	wroteRequest
)

// traceWrote reports that the request was written up to a point, unless that was
// reported before.
func (x *clientExchange) traceWrote(upTo tracedWrite, err error) {
	if t := x.call.trace; t != nil && x.traced < upTo {
		x.traced.report(t, upTo, err)
	}
}

// report reports to a trace that the request was written up to a point.
func (w *tracedWrite) report(t *httptrace.ClientTrace, upTo tracedWrite, err error) {
	before := *w
	*w = upTo
	if err != nil {
		*w = wroteRequest
	}
	if before < wroteHeaders && err == nil && t.WroteHeaders != nil {
		t.WroteHeaders()
	}
	if *w == wroteRequest && t.WroteRequest != nil {
		t.WroteRequest(httptrace.WroteRequestInfo{Err: err})
	}
}

// traceSent reports how far a bodySender has written, on the goroutine of the call.
func (x *clientExchange) traceSent() {
	if x.sender != nil && x.call.trace != nil {
		x.reportSent()
	}
}

// reportSent is traceSent for a traced call.
func (x *clientExchange) reportSent() {
	if ended, err := x.sender.Ended(); ended {
		x.traceWrote(wroteRequest, err)
		return
	}
	x.traceWrote(wroteHeaders, nil)
}

// traceInformational reports a 1xx response. An error of the hook ends the call.
func traceInformational(t *httptrace.ClientTrace, h *ResponseHeader) error {
	if h.StatusCode() == StatusContinue && t.Got100Continue != nil {
		t.Got100Continue()
	}
	if t.Got1xxResponse == nil {
		return nil
	}
	fields := make(textproto.MIMEHeader)
	for name, value := range h.All() {
		fields.Add(string(name), string(value))
	}
	return t.Got1xxResponse(h.StatusCode(), fields)
}
