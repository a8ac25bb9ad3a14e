package fasthttp

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"time"

	"github.com/valyala/fasthttp/internal/bodyio"
	"github.com/valyala/fasthttp/internal/bufpool"
	"github.com/valyala/fasthttp/internal/clock"
	"github.com/valyala/fasthttp/internal/content"
	"github.com/valyala/fasthttp/internal/engine"
	"github.com/valyala/fasthttp/internal/field"
	"github.com/valyala/fasthttp/internal/header"
	"github.com/valyala/fasthttp/internal/hpack"
	"github.com/valyala/fasthttp/internal/http1"
)

// streamExchange is an exchange on one of the streams of a connection: of HTTP/2 or of HTTP/3.
// Its streamTransport, an h2Exchange or an h3Exchange, receives the request and sends the response.
//
//	plan          decides how a request continues that was counted, as admit does
//	collect       takes a part of a body that is collected in memory; collected follows its end
//	makeResponse  parses a large form and calls the handler, or calls buildRefusal
//	prepare       makes the response one that a stream can carry, and decides its framing
//	sendStream    sends a response whose body is a stream
//	close         calls the application for the last time
//
// failed and abandon continue after a panic.
type streamExchange struct {
	exchange

	method   http1.MethodID
	expect   expectation
	extended bool // the request is an extended CONNECT (RFC 8441)
	parses   bool // the body is a form, parsed before the handler is called
	framing  http1.Framing
	got      int64 // bytes of a body collected in memory
	sent     int64 // bytes of the response

	content   *streamContent  // of a streamed body, or nil
	beginning *bufpool.Buffer // the beginning of the form, which was collected in memory
}

// streamTransport is the serverTransport of a streamExchange.
type streamTransport interface {
	serverTransport
	deadliner
	flushWriter // of the content of the response

	// traits returns the answers of the protocol.
	traits() *streamTraits
	// respond sends the response. over reports whether the exchange has ended; if not, the
	// transport ends it later.
	respond() (over bool)
	// send100 sends 100 (Continue) if the client waits for it.
	send100()
	// writeHead sends the head of a response whose content follows.
	writeHead(e http1.Encoding) error
	// endStream ends a response that was written piece by piece, with its trailers. If err is not
	// nil it is incomplete, and the stream is reset.
	endStream(err error)
	// resetStream ends the stream without the end of a response.
	resetStream()
	// cutOff returns why nothing more is sent or received, or nil.
	cutOff() error
	// release ends the exchange. No other goroutine uses it.
	release()
}

// streamTraits are the answers of a protocol to questions of a streamExchange.
type streamTraits struct {
	name    string // for the hooks
	noConn  error  // is sent to the client, and logged, if a handler takes over the connection
	tunnels bool   // a successful response to CONNECT is possible
}

// truncatedError is the error of reading content that was cut off. As with HTTP/1 it wraps
// io.ErrUnexpectedEOF, whatever the reason.
type truncatedError struct{ why error }

func (e truncatedError) Error() string   { return e.why.Error() }
func (e truncatedError) Unwrap() []error { return []error{e.why, io.ErrUnexpectedEOF} }

// The errors of requests that get a response although they are refused: the same as with HTTP/1.
var (
	errStreamLargeHead  = headerError("request", http1.ErrLongHead)
	errStreamManyFields = headerError("request", http1.ErrManyFields)
	errStreamTarget     = headerError("request", http1.ErrTarget)
	errStreamHost       = headerError("request", http1.ErrHost)
)

// errStreamConnEnded is the error of a stream whose connection has ended.
var errStreamConnEnded = errors.New("fasthttp: the connection of the request has ended")

// errStreamDeadline is the error of a deadline that has passed.
var errStreamDeadline error = streamTimeout{}

type streamTimeout struct{}

func (streamTimeout) Error() string {
	return "fasthttp: the time for the request or its response is over"
}
func (streamTimeout) Timeout() bool   { return true }
func (streamTimeout) Temporary() bool { return true }

// Is reports whether target is os.ErrDeadlineExceeded, as for timeouts of a net.Conn.
func (streamTimeout) Is(target error) bool { return target == os.ErrDeadlineExceeded }

// plan decides how the exchange continues after the head of the request, which was counted. If
// end is set there is no content. waited is as for admit.
func (x *streamExchange) plan(end bool, waited time.Duration) plan {
	if x.refusal != nil {
		x.clearTimes()
		return planRefuse
	}
	framing := x.framing
	switch {
	case end:
		framing.Kind = http1.NoBody
	case framing.Kind == http1.NoBody:
		framing.Kind = http1.UntilClose
	}
	next := x.admit(framing, x.expect, waited, x.method == http1.MethodConnect)
	switch next {
	case planRefuse:
	case planServe:
		x.ctx.Request.finalizeEmpty()
	default:
		if x.framing = framing; framing.Kind != http1.Length {
			x.ctx.Request.Header.head.Length = -1
		}
	}
	return next
}

// readTime returns how long the rest of the request may take, or 0 for no limit.
func (x *streamExchange) readTime() time.Duration {
	return positive(x.terms.readTimeout, x.s.ReadTimeout)
}

// collect appends p to the body, which ends with it if end is set. It may set refusal, or parses.
func (x *streamExchange) collect(p []byte, end bool) {
	if x.got += int64(len(p)); x.got > int64(x.bodyLimit()) {
		x.refusal = ErrBodyTooLarge
		return
	}
	if len(p) > 0 {
		body := &x.ctx.Request.body
		if left := x.framing.Length - x.got; x.framing.Kind == http1.Length && left > 0 && left <= uncountedBody {
			body.MakeRoom(len(p), int64(len(p))+left)
		}
		body.Write(p)
		if room := body.Capacity(); room > uncountedBody {
			if x.refusal = x.reserveBodyMemory(room, len(p), end); x.refusal != nil {
				return
			}
		}
	}
	x.parses = x.refusal == nil && x.parsesForm(x.framing, x.got)
}

// collected is called at the end of a body that was collected.
func (x *streamExchange) collected() {
	x.bodyArrived()
	x.ctx.Request.finalizeEmpty()
	if x.s.Trace != nil && x.refusal == nil {
		x.traceBody()
	}
}

// receiveStream makes the body a stream: first the part in memory, then content.
func (x *streamExchange) receiveStream(content *streamContent) {
	req := &x.ctx.Request
	if len(req.body.Bytes()) == 0 {
		// the body may have a buffer from an earlier request
		req.setSource(content, req.Header.head.Length)
		return
	}
	x.beginning = x.streamBody(content)
}

// formParsed implements serverTransport.
func (x *streamExchange) formParsed() {
	limit := drainLimit
	x.content.Drain(&limit)
}

// makeResponse calls the handler, or makes the response to a refused request.
func (x *streamExchange) makeResponse() {
	if x.parses && x.refusal == nil {
		x.refusal = x.parseForm(x.beginning)
	}
	switch {
	case x.refusal != nil:
		x.buildRefusal()
	case !x.handle():
		switch x.reclaimCtx(true) {
		case endedTimedOut:
			x.replaceCtx()
		case endedInside:
			x.t.ctxReplaced()
		}
	}
}

// failed continues after a panic with the value p, or, if p is nil, after the end of the goroutine.
// If the handler has called a TimeoutError method before its panic, that response must be sent.
// over is that of respond; if it is false, the exchange was or will be released.
func (x *streamExchange) failed(p any) (over bool) {
	if p == nil || x.s.logPanic(x.c, p) || !x.handling || x.reclaimCtx(false) != endedTimedOut {
		x.abandon()
		return false
	}
	x.replaceCtx()
	ended := false
	defer func() {
		if ended {
			return
		}
		if p := recover(); p != nil {
			x.s.logPanic(x.c, p)
		}
		x.abandon()
	}()
	over = x.t.(streamTransport).respond()
	ended = true
	return over
}

// abandon ends a request whose handler, or a hook before it, has panicked or has ended its
// goroutine. The context may be inconsistent, so it is not reused.
func (x *streamExchange) abandon() {
	if x.reclaimCtx(false) == endedTimedOut {
		// goroutines of the application still use it
		x.replaceCtx()
	}
	ctx, t := x.ctx, x.t.(streamTransport)
	t.resetStream()
	// the hook may end the goroutine
	defer func() {
		x.detachBodyMemory(ctx)
		ctx.Request.closeSource()
		ctx.discard()
		x.ctx = nil
		t.release()
	}()
	x.report(t.traits(), SentResponse{Refused: x.refusal, Err: errNoResponse})
}

// prepare makes the response one that a stream can carry, and decides how it is framed. last
// reports whether the connection takes no more requests. Afterwards the response is encoded.
func (x *streamExchange) prepare(p *streamTraits) (e http1.Encoding, last bool) {
	resp := &x.ctx.Response
	if x.s.ResponseReady != nil {
		x.checkResponse(p) // the hook gets the response to be sent
		x.finishResponse()
	}
	if status := resp.Header.head.StatusCode(); status < StatusOK || status > largestStatus || x.ctx.hijack != nil || x.method == http1.MethodConnect {
		x.checkResponse(p)
	}
	if x.method == http1.MethodHead {
		resp.SkipBody = true
	}
	switch {
	case x.method != http1.MethodConnect && resp.isUsual():
		e = http1.Sized(len(resp.body.Bytes()))
	default:
		o := resp.outgoing()
		last = o.Has(http1.AsksClose)
		o.Terms &^= http1.LineIsOld | http1.LineIsReceived | http1.AsksClose
		if e = o.Encode(); x.method == http1.MethodConnect && o.Status/100 == 2 {
			// the content is a tunnel's, which has no length
			e.Flags &^= http1.SendLength
		}
	}
	x.recordHead(e)
	return e, last || x.s.servesLast(x.ctx.requestNum)
}

// checkResponse replaces a response that no stream can carry.
func (x *streamExchange) checkResponse(p *streamTraits) {
	ctx := x.ctx
	status := ctx.Response.StatusCode()
	switch {
	case ctx.hijack != nil, status == StatusSwitchingProtocols, !p.tunnels && x.method == http1.MethodConnect && status/100 == 2:
		x.s.logger().Printf("%v", p.noConn)
		ctx.hijack, ctx.switched = nil, nil
		ctx.Error(p.noConn.Error(), StatusNotImplemented)
	case status < StatusOK, status > largestStatus:
		x.replaceResponse(status)
	}
}

// responseTime returns how long the response may take, or 0 for no limit. A stream may limit its
// pieces instead.
func (x *streamExchange) responseTime() time.Duration {
	if resp := &x.ctx.Response; resp.PieceTimeout != 0 && resp.body.Stream != nil {
		return 0
	}
	return x.writeTimeout()
}

// sendStream sends a response whose body is a stream. It may wait for the client.
func (x *streamExchange) sendStream(t streamTransport, e http1.Encoding) {
	x.ctx.setStreaming(t)
	defer x.ctx.setStreaming(nil)
	resp := &x.ctx.Response
	// the response stream may read the request body, and 100 (Continue) must be sent before
	// the response
	if x.content != nil && x.ctx.Request.arrives() {
		t.send100()
	}
	err := t.writeHead(e)
	if err == nil && resp.ImmediateHeaderFlush {
		err = t.Flush()
	}
	if err != nil {
		_ = resp.body.CloseStream()
	} else {
		if e.Kind == http1.Chunks {
			resp.body.Unsize()
			e.Kind = http1.UntilClose
		}
		err = writeStream(t, &resp.body, e, &resp.Header.head)
	}
	t.endStream(err)
}

// appendInterim appends an informational response with the fields of h: all of them if only is 0.
func appendInterim(b []byte, enc *hpack.Encoder, status int, h *ResponseHeader, only field.ID) []byte {
	b = enc.AppendStatus(b, status)
	switch {
	case h == nil:
	case only == 0:
		b = h.head.AppendListBlock(b, enc, http1.Response, 0)
	default:
		for i := h.head.List.FindID(only, 0); i >= 0; i = h.head.List.FindID(only, i+1) {
			b = header.AppendBlockField(b, enc, only, h.head.List.Name(i), h.head.List.Value(i))
		}
	}
	return b
}

// report calls Server.ResponseSent.
func (x *streamExchange) report(p *streamTraits, sent SentResponse) {
	if !x.s.set.reports {
		return
	}
	if x.ctx.receivedAt.IsZero() && !x.s.LazyRequestTime {
		x.ctx.receivedAt = clock.Read()
	}
	x.reportSent(p.name, sent)
}

// close is the part of release that may call the application. It leaves a context that can serve
// another request.
func (x *streamExchange) close() {
	ctx := x.ctx
	switch {
	case ctx == nil:
	case !x.s.set.reports && x.bodyMemory == nil && ctx.watch.Load() == nil && !ctx.hasClosers() && !ctx.lendsBody():
		// nothing of the application is called, as is usual
		if !x.s.cleanCtx(ctx) {
			x.ctx = nil
			ctx.discard()
		}
	default:
		x.closeCtx(ctx)
	}
}

// closeCtx is close for an exchange with a context, which may call the application.
func (x *streamExchange) closeCtx(ctx *RequestCtx) {
	returned := false
	defer func() {
		x.endBodyMemory()
		if returned {
			x.resetCtx()
			return
		}
		// the hook has ended the goroutine, and other goroutines may have the context
		x.ctx = nil
		ctx.Request.closeSource()
		ctx.discard()
	}()
	if w := ctx.watch.Load(); w != nil {
		x.endWatch(w, ctx.lendsBody())
	}
	if x.s.set.reports {
		t := x.t.(streamTransport)
		if cut := t.cutOff(); x.sent > 0 || cut != nil {
			sent := SentResponse{Bytes: x.sent, Refused: x.refusal, Err: cut}
			if x.sent > 0 {
				sent.StatusCode = ctx.Response.StatusCode()
			}
			x.report(t.traits(), sent)
		}
	}
	returned = true
}

// resetCtx makes the context ready for another request, if it can serve that.
func (x *streamExchange) resetCtx() {
	if !x.mayReuseCtx() || x.ctx.lendsBody() && x.content != nil {
		x.discardCtx()
		return
	}
	ctx := x.ctx
	x.ctx = nil
	defer x.s.catchPanic("a user value")
	if x.s.cleanCtx(ctx) {
		x.ctx = ctx
	}
}

// streamContent is the content of a request on a stream, read while it arrives. It outlives its
// exchange if a late handler still has it.
type streamContent struct {
	in     streamInput
	accept header.TrailerFilter

	// used by the reader
	trailerTarget *header.Header // gets the trailer section
	limited       bool
	limit         int64
	over          error // from Limit, or from the trailer section
	done          bool  // io.EOF was returned
}

// streamInput is the content that arrives on a stream.
type streamInput interface {
	// Read waits for content. It sends 100 (Continue) if the client waits for it.
	io.Reader
	// Close makes Read fail from now on, in whatever goroutine.
	io.Closer
	// Section returns the trailer section, or nil, once Read has returned io.EOF.
	Section() *field.List
	// Ahead returns how many bytes certainly follow.
	Ahead() int64
	// Ended reports whether the content was read to its end.
	Ended() bool
}

var (
	_ content.Source      = (*streamContent)(nil)
	_ ReadCloserWithError = (*streamContent)(nil)
)

// init makes c the content of the request of x.
func (c *streamContent) init(x *streamExchange, in streamInput) {
	*c = streamContent{in: in, accept: x.s.AcceptTrailer, trailerTarget: &x.ctx.Request.Header.head}
}

// Read implements io.Reader.
func (c *streamContent) Read(p []byte) (int, error) {
	if c.over != nil {
		return 0, c.over
	}
	if len(p) == 0 {
		return 0, nil
	}
	if c.limited && c.limit < int64(len(p)) {
		// one more byte shows whether the content exceeds the limit
		p = p[:c.limit+1]
	}
	n, err := c.in.Read(p)
	if err == io.EOF && !c.done {
		// the goroutine of the reader owns the header
		c.done = true
		if section := c.in.Section(); section != nil {
			if c.over = c.trailerTarget.AddSection(section, c.accept); c.over != nil {
				return 0, c.over
			}
		}
	}
	if c.limited && int64(n) > c.limit {
		n, err, c.over = int(c.limit), ErrBodyTooLarge, ErrBodyTooLarge
	}
	c.limit -= int64(n)
	return n, err
}

// Interrupt ends the reading now, even if a goroutine waits in Read. Package fasthttpadaptor
// calls it, from any goroutine.
func (c *streamContent) Interrupt() { _ = c.in.Close() }

// Close implements io.Closer.
func (c *streamContent) Close() error { return c.in.Close() }

// CloseWithError implements ReadCloserWithError.
func (c *streamContent) CloseWithError(error) error { return c.Close() }

// Limit implements content.Source.
func (c *streamContent) Limit(n int64) error {
	if n = max(n, 0); !c.limited || n < c.limit {
		c.limited, c.limit = true, n
	}
	if c.in.Ahead() > c.limit {
		c.over = ErrBodyTooLarge
	}
	return c.over
}

// Drain implements content.Source.
func (c *streamContent) Drain(limit *int) bodyio.Drained {
	buf := bufpool.Get(bodyReadSize)
	defer bufpool.Put(buf)
	for *limit > 0 {
		n, err := c.Read(buf.B[:min(cap(buf.B), *limit)])
		*limit -= n
		if err == io.EOF {
			return bodyio.DrainedAll
		}
		if err != nil {
			break
		}
	}
	return bodyio.DrainedNever
}

// DrainArrived implements content.Source. It discards nothing: unread content does not block
// other streams.
func (c *streamContent) DrainArrived(*int) bodyio.Drained {
	if c.Ended() {
		return bodyio.DrainedAll
	}
	return bodyio.DrainedNever
}

// Ended implements content.Source.
func (c *streamContent) Ended() bool { return c.in.Ended() }

// TrailersTo implements content.Source.
func (c *streamContent) TrailersTo(h *header.Header) { c.trailerTarget = h }

// tunnel is the stream of a CONNECT request as a net.Conn, after a 2xx response. The application that
// took it over closes it, which ends the exchange.
type tunnel interface {
	net.Conn
	CloseWrite() error
	Reset() error
	// tlsState returns the state of the TLS connection below, or nil.
	tlsState() *tls.ConnectionState
}

var (
	_ tunnel = (*h2Tunnel)(nil)
	_ tunnel = (*h3Tunnel)(nil)
)

// tunnelConn is the connection below a tunnel.
type tunnelConn struct{ c *engine.Conn }

// LocalAddr implements net.Conn.
func (t tunnelConn) LocalAddr() net.Addr { return t.c.NC.LocalAddr() }

// RemoteAddr implements net.Conn.
func (t tunnelConn) RemoteAddr() net.Addr { return t.c.NC.RemoteAddr() }

// tlsState implements tunnel.
func (t tunnelConn) tlsState() *tls.ConnectionState {
	over, ok := t.c.NC.(connTLSer)
	if !ok {
		return nil
	}
	state := over.ConnectionState()
	return &state
}

// errUnconnected is sent to a client whose extended CONNECT request no handler has taken over.
var errUnconnected = errors.New("fasthttp: the handler of the extended CONNECT request has not taken the stream over")

// connects reports whether the handler of a CONNECT request has taken over the stream. Otherwise there is
// a response to send.
func (x *streamExchange) connects() bool {
	ctx := x.ctx
	switch succeeds := ctx.Response.StatusCode()/100 == 2; {
	case !succeeds:
	case ctx.hijack == nil && x.extended && ctx.Response.body.Stream == nil:
		// a client would take the response for the beginning of its protocol
		ctx.Error(errUnconnected.Error(), StatusNotImplemented)
	case ctx.hijack == nil || ctx.hijackNoResponse:
	case x.s.CloseOnShutdown && x.c.Stopping():
		ctx.hijack, ctx.switched = nil, nil
		ctx.Error(StatusMessage(StatusServiceUnavailable), StatusServiceUnavailable)
	default:
		return true
	}
	return false
}

// giveTunnel gives the tunnel to the function of Hijack, or to the EventHandler of SwitchProtocols.
// variant is for its engine.Conn.
func (x *streamExchange) giveTunnel(t net.Conn, variant uint8) {
	s, c, ctx := x.s, x.c, x.ctx
	x.endBodyMemory()
	x.ctx = nil
	// the content belongs to the tunnel
	ctx.Request.source, ctx.Request.body.Stream = nil, nil
	ctx.c = &engine.Conn{
		Set: c.Set, NC: c.NC, ID: c.ID, Opened: c.Opened, Service: c.Service, IsTLS: c.IsTLS,
		Requests: ctx.requestNum, Variant: variant,
	}
	switched := ctx.switched
	if switched == nil {
		go s.runHijacked(ctx, &hijackedConn{Conn: t})
		return
	}
	ctx.hijack, ctx.switched = nil, nil
	of := ctx.c
	s.endHijacked(ctx, true)
	go func() {
		err := s.conns.ServeTunnel(t, of, func(c *engine.Conn, l engine.Link) engine.Protocol {
			switched.mu.Lock()
			defer switched.mu.Unlock()
			switched.link = l
			return (*switchedConn)(switched)
		})
		if err != nil {
			s.logReadError(of, err)
		}
	}()
}
