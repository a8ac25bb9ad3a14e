package fasthttp

import (
	"sync"
	"sync/atomic"

	"github.com/valyala/fasthttp/internal/bodymem"
	"github.com/valyala/fasthttp/internal/engine"
	"github.com/valyala/fasthttp/internal/http1"
)

// exchange is one request of a connection and the response to it: the hooks and the
// handler, the body, and how they end. The next request of the connection uses it
// again.
//
// Only bodies that are streams, in either direction, need a connection that can wait:
// the exchange asks the link for one.
type exchange struct {
	*h1Conn

	ctx      *RequestCtx
	config   RequestConfig
	recv     receiver
	held     *bodymem.Body // the body, if it counts for MaxRequestBodyMemory
	pace     pace
	delivery delivery // of the response, for Server.ResponseSent

	toDrain int        // how much of the body may still be discarded, see drain
	spare   *h1Content // for the next body that is a stream, or nil
	// duplex says that the body, which is a stream, may be read in one goroutine
	// while the response is written in another. continuing is held then while 100
	// (Continue) is sent.
	duplex     bool
	minor      uint8 // of HTTP/1.x
	handling   bool  // the handler is running
	continuing sync.Mutex
	watching   atomic.Bool // the engine watches the client for the handler
	// cut says that a late handler, which has the body, must not read more of it
	cut atomic.Bool
}

// advanceHead reads a head. The second result reports whether the exchange has to
// wait for the step.
func (x *exchange) advanceHead() (engine.Action, bool) {
	b := x.pending()
	if x.conn.Idle() {
		if x.s.set.unencryptedHTTP2 && x.c.NeverAsked() {
			if next, wait := x.lookForPreface(b); wait {
				return next, true
			}
		}
		if len(b) > 0 && b[0] == '\r' {
			if b = x.skipEmptyLines(b); len(b) == 1 && b[0] == '\r' {
				b = nil
			}
		}
		if len(b) == 0 {
			return x.flushThen(engine.Read), true
		}
		if x.turn >= turnLimit || x.out != nil && len(x.out.B) >= flushSize {
			return engine.Flush, true
		}
		x.begin()
	}
	h := &x.ctx.Request.Header
	n, err := h.feed(http1.Request, &x.head, b)
	if err == nil && n == 0 {
		return x.flushThen(engine.Read), true
	}
	if err == nil {
		x.consume(n)
		err = x.head.CheckRequest(h.list.Block)
	}
	if err != nil {
		return x.refuse(requestError(b, err))
	}
	return x.headReceived()
}

// begin prepares for a request whose first byte has arrived.
func (x *exchange) begin() {
	if x.c.IsPinned() && x.conn.Reading() == http1.ReadIdle {
		x.forgetDeadlines()
	}
	x.conn.SetReading(http1.ReadHead)
	if x.conn.Waiting() != http1.WaitNever {
		x.conn.SetWaiting(http1.WaitNever)
	}
	x.c.Empty = 0
	if x.ctx == nil {
		x.ctx = x.s.acquireCtx(x.c)
	} else if x.ctx.c == nil {
		x.ctx.serveOn(x.c)
	}
	x.ctx.used = true
	x.ctx.Request.isTLS = x.c.IsTLS
	// the header was reset after the last response
	x.head.Reset()
	x.config = RequestConfig{}
	x.minor, x.duplex = 1, false
}

// headReceived decides how the request goes on after its head.
func (x *exchange) headReceived() (engine.Action, bool) {
	s, req := x.s, &x.ctx.Request
	h := &req.Header
	if x.timing.ofHead() {
		x.endHead()
	}
	x.minor = uint8(x.head.Minor)
	if h.ConnectionClose() {
		x.conn.SetLife(http1.LifeLast)
	}
	if s.GetOnly && !h.IsGet() && !h.IsHead() {
		return x.refuse(ErrGetOnly)
	}
	if s.HeaderReceived != nil {
		x.configure(s.HeaderReceived(h))
		if x.config.RefuseStatus != 0 {
			return x.refuseUnread(x.head.Framing)
		}
	}
	if x.head.Framing.Kind == http1.NoBody && !x.head.Has(http1.Expect100|http1.ExpectOther) {
		return x.serveEmpty()
	}
	framing := x.head.Framing
	limit := s.set.maxBodySize
	if x.config.MaxRequestBodySize > 0 {
		limit = x.config.MaxRequestBodySize
	}
	spools := x.spoolsForm(framing)
	streams := (x.streamsBodies() || spools) && framing.Kind != http1.NoBody
	if !streams || spools {
		if err := x.recv.start(framing, limit); err != nil {
			return x.refuse(err)
		}
	}
	if x.head.Has(http1.Expect100|http1.ExpectOther) && x.minor > 0 {
		if code := x.expectation(framing, !streams); code != StatusContinue {
			return x.reject(code)
		}
	}
	if framing.Kind == http1.NoBody {
		return x.serveEmpty()
	}
	req.body.limit = limit // for decoding it, too
	if streams {
		x.conn.SetReading(http1.ReadStream)
		x.limitRequest()
		x.blocking()
		if err := x.flushNow(); err != nil {
			return x.flushFailed(err)
		}
		source := x.newSource()
		source.start(x, framing, &h.header, s.AcceptTrailer)
		req.setSource(source, h.contentLength)
		if spools {
			if err := x.spoolForm(limit); err != nil {
				return x.refuse(err)
			}
		}
		return x.serve()
	}
	x.conn.SetReading(http1.ReadBody)
	return x.advanceBody()
}

// serveEmpty answers a request that has no body.
func (x *exchange) serveEmpty() (engine.Action, bool) {
	x.conn.SetReading(http1.ReadDone)
	if x.head.MethodID != http1.MethodGet {
		x.ctx.Request.finalizeEmpty()
	}
	return x.serve()
}

// flushFailed ends a connection to which earlier output could not be written before
// the call of the handler.
func (x *exchange) flushFailed(err error) (engine.Action, bool) {
	x.cutOff(err)
	x.fault = err
	x.conn.EndReading()
	return engine.Close, false
}

// configure applies the settings that Server.HeaderReceived has returned for the
// request.
func (x *exchange) configure(c RequestConfig) {
	x.config = c
	if c.ReadTimeout > 0 {
		x.timing = timesWait
	}
}

// streamsBodies reports whether the handler of the current request gets the body as
// it arrives.
func (x *exchange) streamsBodies() bool { return x.s.streamsBody(x.config.BodyMode) }

// streamsBody reports whether the handler of a request with this mode gets the body as it
// arrives.
func (s *Server) streamsBody(mode BodyMode) bool {
	if mode != BodyModeServer {
		return mode == BodyModeStream
	}
	return s.StreamRequestBody
}

// expectation answers an Expect field (RFC 9110 section 10.1.1), and returns
// StatusContinue or the status to refuse the request with. The server sends 100
// (Continue) at once, or when the body is read.
func (x *exchange) expectation(framing http1.Framing, atOnce bool) int {
	if x.head.Has(http1.ExpectOther) {
		return StatusExpectationFailed
	}
	if code := x.s.expectation(x.ctx); code != StatusContinue {
		return code
	}
	if framing.Kind == http1.Chunks || framing.Length > 0 {
		x.conn.SetWaiting(http1.WaitOpen)
		if atOnce {
			x.sayContinue()
		}
	}
	return StatusContinue
}

// expectation asks the application whether the client may send the body. It returns
// StatusContinue or the status to refuse the request with.
func (s *Server) expectation(ctx *RequestCtx) int {
	switch {
	case s.ExpectHandler != nil:
		return s.ExpectHandler(ctx)
	case s.ContinueHandler != nil && !s.ContinueHandler(&ctx.Request.Header):
		return StatusExpectationFailed
	}
	return StatusContinue
}

// sayContinue sends 100 (Continue) to a client that waits for it.
func (x *exchange) sayContinue() {
	if x.conn.Waiting() == http1.WaitOpen {
		x.conn.SetWaiting(http1.WaitOver)
		out := x.output()
		out.B = append(out.B, "HTTP/1.1 100 Continue\r\n\r\n"...)
	}
}

// advanceBody reads a body into the request.
func (x *exchange) advanceBody() (engine.Action, bool) {
	req := &x.ctx.Request
	b := x.pending()
	if len(b) == 0 && !x.recv.decoder.Done() {
		return x.flushThen(engine.Read), true
	}
	if more := x.recv.grown(&req.body, len(b)); more > aheadRoom {
		if err := x.growBody(more); err != nil {
			return x.refuse(err)
		}
	}
	n, done, err := x.recv.feed(b, &req.body, &req.Header.header)
	if n > 0 {
		x.consume(n)
	}
	// the buffer of a small body that has arrived is below the size that counts
	if err == nil && (!done || x.recv.got > ownBuffer) {
		if room := x.bodyRoom(req.body.room()); room > uncountedBody {
			err = x.holdBody(room, n, done)
		}
	}
	if err != nil {
		return x.refuse(err)
	}
	if !done {
		if x.outgrown() {
			return x.spoolRest()
		}
		return x.flushThen(engine.Read), true
	}
	x.conn.SetReading(http1.ReadDone)
	req.finalizeEmpty()
	return x.serve()
}

// flushNow writes the bytes in out, before the response to the current request or in
// the middle of it.
func (x *exchange) flushNow() error {
	if x.out == nil || len(x.out.B) == 0 {
		return nil
	}
	if x.conn.Writing() != http1.WriteStream {
		x.limitResponse()
	}
	_, err := x.flushTo(x.blocking())
	return err
}

// wantsClose reports whether the connection ends with the current request.
func (x *exchange) wantsClose() bool {
	s, ctx := x.s, x.ctx
	return !x.conn.KeepAlive() || s.DisableKeepalive || x.c.Stopping() ||
		s.MaxRequestsPerConn > 0 && x.c.Requests >= uint64(s.MaxRequestsPerConn) ||
		ctx.Request.Header.ConnectionClose() || ctx.Response.ConnectionClose()
}
