package fasthttp

import (
	"sync"
	"sync/atomic"

	"github.com/valyala/fasthttp/internal/engine"
	"github.com/valyala/fasthttp/internal/http1"
)

// h1Exchange is an exchange of a connection of HTTP/1: it receives the request and sends the
// response. The next request of the connection uses it again.
//
// Only bodies that are streams, in either direction, need a connection that can wait:
// the exchange asks the link for one.
type h1Exchange struct {
	exchange
	h *h1Conn

	recv     receiver
	pace     pace
	delivery delivery // of the response, for Server.ResponseSent

	toDrain int        // how much of the body may still be discarded, see drain
	spare   *h1Content // for the next body that is a stream, or nil
	minor   uint8      // of HTTP/1.x
	// continuing is held while 100 (Continue) is sent, if the body, which is a stream, may be
	// read in one goroutine while the response is written in another.
	continuing sync.Mutex
	watching   atomic.Bool // the engine watches the client for the handler
	// cut says that a late handler, which has the body, must not read more of it
	cut atomic.Bool
}

var _ serverTransport = (*h1Exchange)(nil)

// advanceHead reads a head. The second result reports whether the exchange has to
// wait for the step.
func (x *h1Exchange) advanceHead() (engine.Action, bool) {
	b := x.h.pending()
	if x.h.conn.Idle() {
		if x.s.set.unencryptedHTTP2 && x.c.NeverAsked() {
			if next, wait := x.lookForPreface(b); wait {
				return next, true
			}
		}
		if len(b) > 0 && b[0] == '\r' {
			if b = x.h.skipEmptyLines(b); len(b) == 1 && b[0] == '\r' {
				b = nil
			}
		}
		if len(b) == 0 {
			return x.h.flushThen(engine.Read), true
		}
		if x.h.turn >= turnLimit || x.h.out != nil && len(x.h.out.B) >= flushSize {
			return engine.Flush, true
		}
		x.begin()
	}
	h := &x.ctx.Request.Header
	n, err := h.feed(http1.Request, &x.h.head, b)
	if err == nil && n == 0 {
		return x.h.flushThen(engine.Read), true
	}
	if err == nil {
		x.h.consume(n)
		err = x.h.head.CheckRequest(h.list.Block)
	}
	if err != nil {
		return x.refuse(requestError(b, err))
	}
	return x.headReceived()
}

// begin prepares for a request whose first byte has arrived.
func (x *h1Exchange) begin() {
	if x.c.IsPinned() && x.h.conn.Reading() == http1.ReadIdle {
		x.h.forgetDeadlines()
	}
	x.h.conn.SetReading(http1.ReadHead)
	if x.h.conn.Waiting() != http1.WaitNever {
		x.h.conn.SetWaiting(http1.WaitNever)
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
	x.h.head.Reset()
	x.config, x.refusal = RequestConfig{}, nil
	x.minor, x.duplex = 1, false
}

// headReceived continues after the head of a request.
func (x *h1Exchange) headReceived() (engine.Action, bool) {
	h, framing := x.h, x.h.head.Framing
	if h.timing.ofHead() {
		x.endHead()
	}
	x.minor = uint8(h.head.Minor)
	if x.ctx.Request.Header.ConnectionClose() {
		h.conn.SetLife(http1.LifeLast)
	}
	expects := expectsNothing
	if x.minor > 0 {
		expects = expectationOf(&h.head)
	}
	next := x.admit(framing, expects, false)
	if x.config.ReadTimeout > 0 {
		h.timing = timesWait
	}
	switch next {
	case planServe:
		return x.serveEmpty()
	case planRefuse:
		if x.config.RefuseStatus != 0 {
			return x.refuseUnread(framing)
		}
		return x.refuse(x.refusal)
	}
	if expects == expectsContinue && (framing.Kind == http1.Chunks || framing.Length > 0) {
		h.conn.SetWaiting(http1.WaitOpen)
	}
	if next == planCollect {
		_ = x.recv.start(framing, int(x.limit)) // admit has looked at its length
		x.sayContinue()
		h.conn.SetReading(http1.ReadBody)
		return x.advanceBody()
	}
	h.conn.SetReading(http1.ReadStream)
	x.limitRequest()
	h.blocking()
	if err := x.flushNow(); err != nil {
		return x.flushFailed(err)
	}
	source := x.newSource()
	source.start(x, framing, &x.ctx.Request.Header.header, x.s.AcceptTrailer)
	x.ctx.Request.setSource(source, x.ctx.Request.Header.contentLength)
	if next == planParse {
		return x.serveForm()
	}
	return x.serve()
}

// serveEmpty answers a request that has no body.
func (x *h1Exchange) serveEmpty() (engine.Action, bool) {
	x.h.conn.SetReading(http1.ReadDone)
	if x.h.head.MethodID != http1.MethodGet {
		x.ctx.Request.finalizeEmpty()
	}
	return x.serve()
}

// flushFailed ends a connection to which earlier output could not be written before
// the call of the handler.
func (x *h1Exchange) flushFailed(err error) (engine.Action, bool) {
	x.cutOff(err)
	x.h.fault = err
	x.h.conn.EndReading()
	return engine.Close, false
}

// sayContinue sends 100 (Continue) to a client that waits for it.
func (x *h1Exchange) sayContinue() {
	if x.h.conn.Waiting() == http1.WaitOpen {
		x.h.conn.SetWaiting(http1.WaitOver)
		out := x.h.output()
		out.B = append(out.B, "HTTP/1.1 100 Continue\r\n\r\n"...)
	}
}

// advanceBody reads a body into the request.
func (x *h1Exchange) advanceBody() (engine.Action, bool) {
	req := &x.ctx.Request
	b := x.h.pending()
	if len(b) == 0 && !x.recv.decoder.Done() {
		return x.h.flushThen(engine.Read), true
	}
	if more := x.recv.grown(&req.body, len(b)); more > aheadRoom {
		if err := x.growBody(more); err != nil {
			return x.refuse(err)
		}
	}
	n, done, err := x.recv.feed(b, &req.body, &req.Header.header)
	if n > 0 {
		x.h.consume(n)
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
		if x.parsesForm(x.h.head.Framing, x.recv.got) {
			return x.parseRest()
		}
		return x.h.flushThen(engine.Read), true
	}
	x.h.conn.SetReading(http1.ReadDone)
	req.finalizeEmpty()
	return x.serve()
}

// flushNow writes the bytes in out, before the response to the current request or in
// the middle of it.
func (x *h1Exchange) flushNow() error {
	if x.h.out == nil || len(x.h.out.B) == 0 {
		return nil
	}
	if x.h.conn.Writing() != http1.WriteStream {
		x.limitResponse()
	}
	_, err := x.h.flushTo(x.h.blocking())
	return err
}

// wantsClose reports whether the connection ends with the current request.
func (x *h1Exchange) wantsClose() bool {
	s, ctx := x.s, x.ctx
	return !x.h.conn.KeepAlive() || s.DisableKeepalive || x.c.Stopping() ||
		s.MaxRequestsPerConn > 0 && x.c.Requests >= uint64(s.MaxRequestsPerConn) ||
		ctx.Request.Header.ConnectionClose() || ctx.Response.ConnectionClose()
}
