package fasthttp

import (
	"bufio"
	"errors"
	"io"
	"net"
	"runtime/debug"
	"time"

	"github.com/valyala/fasthttp/internal/bufpool"
	"github.com/valyala/fasthttp/internal/engine"
	"github.com/valyala/fasthttp/internal/field"
	"github.com/valyala/fasthttp/internal/http1"
)

// serve runs the handler for the request that was read, and answers it.
func (x *exchange) serve() (engine.Action, bool) {
	ctx := x.ctx
	x.count()
	isHead := ctx.Request.Header.IsHead()
	ctx.responder = x
	ok := x.callHandler()
	response := ctx.timeoutResponse.Load()
	if w := ctx.watch.Load(); w != nil && (!ok || response != nil || ctx.timedOut || ctx.Response.body.stream == nil) {
		// the producer of a body stream needs the watch, too
		x.endWatch(w, ok && (response != nil || ctx.timedOut))
	}
	if response == nil && ctx.timedOut && x.conn.Reading() == http1.ReadStream {
		return x.answerBeside(isHead, ok)
	}
	if response != nil {
		return x.answerLate(response, isHead)
	}
	ctx.responder = nil
	if !ok {
		return x.endAfterPanic(isHead)
	}
	return x.respond(isHead)
}

// count counts the current request as answered.
func (x *exchange) count() {
	ctx := x.ctx
	x.turn++
	x.c.Requests++
	ctx.requestNum = x.c.Requests
	if x.s.LazyRequestTime {
		return
	}
	if x.now.IsZero() {
		x.now = time.Now()
	}
	ctx.time = x.now
}

// callHandler runs the handler and reports whether it returned without a panic.
func (x *exchange) callHandler() (ok bool) {
	defer func() {
		if ok {
			return
		}
		// a nil panic value cannot be: the runtime replaces it
		if p := recover(); p != nil {
			x.logPanic(p)
		}
	}()
	x.s.Handler(x.ctx)
	return true
}

func (x *exchange) logPanic(p any) {
	if err, ok := p.(error); ok && isAbort(err) {
		x.c.Aborted = true
		return
	}
	x.s.logger().Printf("fasthttp: panic serving %s: %v\n%s", x.c.NC.RemoteAddr(), p, debug.Stack())
}

// endAfterPanic answers with 500, or resets the connection if the handler panicked
// with http.ErrAbortHandler.
func (x *exchange) endAfterPanic(isHead bool) (engine.Action, bool) {
	if x.c.Aborted {
		x.nothingSent(errNoAnswer)
		x.conn.EndReading()
		return engine.Close, false
	}
	// the context may be inconsistent, so it is not used again
	left := x.ctx
	left.Request.closeSource()
	left.discard()
	x.ctx = x.s.acquireCtx(x.c)
	x.ctx.requestNum, x.ctx.time = left.requestNum, left.time
	if x.s.ResponseSent != nil {
		left.Request.copyTextTo(&x.ctx.Request)
		x.ctx.remoteAddr = left.remoteAddr
	}
	x.ctx.Response.SetStatusCode(StatusInternalServerError)
	x.ctx.Response.SetBodyString(StatusMessage(StatusInternalServerError))
	return x.answerAndEnd(isHead)
}

// answerLate answers with the timeout response, and leaves the context to a handler
// that timed out and goes on using it.
func (x *exchange) answerLate(response *Response, isHead bool) (engine.Action, bool) {
	x.leaveCtx(response)
	if x.conn.Reading() != http1.ReadStream {
		return x.respond(isHead)
	}
	// the handler may be reading the body at this moment, so the exchange is left to
	// it, too: closing the connection ends that. Earlier responses were written
	// before the handler was called.
	x.conn.SetLife(http1.LifeLeft)
	x.cut.Store(true)
	resp := &x.ctx.Response
	resp.SkipBody = isHead
	x.sendBeside(resp)
	return engine.Close, true
}

// answerBeside answers if a handler under TimeoutHandler is late and may be reading
// the body at this moment. The context is that of the handlers around it, which have
// set the response, or have panicked if ok is false. The stream in that context stays
// where it is.
func (x *exchange) answerBeside(isHead, ok bool) (engine.Action, bool) {
	ctx := x.ctx
	x.leaveBodyCount(ctx.lent)
	x.conn.SetLife(http1.LifeLeft)
	x.cut.Store(true)
	resp := &ctx.Response
	if !ok && !x.c.Aborted {
		_ = resp.body.closeStream()
		resp.Reset()
		x.s.configureResponse(resp)
		resp.SetStatusCode(StatusInternalServerError)
		resp.SetBodyString(StatusMessage(StatusInternalServerError))
	}
	if x.c.Aborted {
		x.nothingSent(errNoAnswer)
	} else {
		resp.SkipBody = resp.SkipBody || isHead
		x.sendBeside(resp)
	}
	ctx.discard()
	x.ctx = x.s.acquireCtx(x.c)
	return engine.Close, true
}

// sendBeside sends the last response of a connection from which a late handler may be
// reading.
func (x *exchange) sendBeside(resp *Response) {
	sayClose(&resp.Header)
	if x.minor == 0 {
		resp.Header.dropTrailers()
	}
	hasBody := resp.prepareHead()
	plain := x.minor == 0 && resp.Header.contentLength < 0
	switch {
	case plain && hasBody:
		resp.Header.SetContentLength(-2)
	case plain:
		dropFraming(&resp.Header)
	}
	x.limitResponse()
	x.beginSending(0)
	out := countingWriter{w: x.c.NC}
	w := bufio.NewWriter(&out)
	_, err := w.Write(resp.Header.appendHead(nil, &x.s.start))
	switch {
	case err != nil || !hasBody:
		_ = resp.body.closeStream()
	case plain:
		err = resp.body.writePlain(w)
	default:
		err = writeBody(w, &resp.body, &resp.Header.header)
	}
	if err == nil {
		err = w.Flush()
	}
	x.delivery.size = out.n
	if err != nil {
		x.cutOff(err)
		return
	}
	x.sent()
}

// countingWriter counts the bytes that are written.
type countingWriter struct {
	w io.Writer
	n int64
}

// Write implements io.Writer.
func (c *countingWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

// leaveCtx leaves the context to a goroutine that still uses it, and goes on
// with another one that has the response.
func (x *exchange) leaveCtx(response *Response) {
	s, requestNum, began := x.s, x.ctx.requestNum, time.Time{}
	if !s.LazyRequestTime {
		began = x.ctx.time
	}
	x.c.Pin()
	x.leaveBodyCount(x.ctx)
	x.ctx = s.acquireCtx(x.c)
	x.ctx.requestNum, x.ctx.time = requestNum, began
	resp := &x.ctx.Response
	response.CopyTo(resp)
	resp.Header.setState(noDefaultType, resp.Header.is(noDefaultType) || s.NoDefaultContentType)
	resp.Header.setState(noDefaultDate, resp.Header.is(noDefaultDate) || s.NoDefaultDate)
}

// respond puts the response into out. With isHead no body follows.
func (x *exchange) respond(isHead bool) (engine.Action, bool) {
	ctx := x.ctx
	resp := &ctx.Response
	if isHead {
		resp.SkipBody = true
	}
	if ctx.Request.source != nil && resp.body.stream == nil {
		x.dropUnread()
	}
	tunnel, connected := x.opensTunnel()
	if tunnel {
		resp.SkipBody = true
	}
	if connected && ctx.hijack == nil {
		x.conn.End()
	}
	if code := resp.StatusCode(); code < StatusOK && ctx.hijack == nil {
		// the peer still waits for a response, and would take the next one for it
		x.conn.End()
	} else if code == StatusResetContent {
		resp.ResetBody() // RFC 9110 section 15.3.6
	}
	x.prepareConnection()
	if resp.Header.is(hasBadName) {
		x.s.logBadName(&resp.Header.list)
	}
	switch {
	case ctx.hijack != nil && ctx.hijackNoResponse:
		x.endRequest()
		return engine.Read, false
	case resp.body.stream != nil && !resp.SkipBody && !bodiless(resp.StatusCode()):
		if x.queueFile() {
			return engine.Flush, true
		}
		x.respondStream()
		return engine.Read, false
	}
	hasBody := resp.prepareHead()
	if tunnel || x.minor == 0 && resp.Header.contentLength < 0 {
		// the chunked coding is not for HTTP/1.0, not even in an answer to HEAD
		dropFraming(&resp.Header)
	}
	out := x.output()
	from := len(out.B)
	out.B = resp.Header.appendHead(out.B, &x.s.start)
	if hasBody {
		x.respondBody(out)
	} else {
		_ = resp.body.closeStream()
	}
	if x.tail != nil || x.s.ResponseSent != nil {
		x.beginSending(len(out.B) - from + len(x.tail))
		x.conn.SetWriting(http1.WriteQueued)
		return engine.Flush, true
	}
	x.endRequest()
	return engine.Read, false
}

// opensTunnel reports whether the response makes the connection a tunnel: it has
// neither content nor framing then, and the bytes that the peer sends after its
// request are no request (RFC 9110 section 9.3.6). If the target is a path, which RFC
// 9110 does not define, only a handler that takes the connection over makes one.
//
// The second result reports whether a front end may take it for a tunnel. Unless the
// handler takes the connection over, it ends then: a front end passes on all bytes of
// a tunnel, so requests that were served from there would be ones that it has not
// checked.
func (x *exchange) opensTunnel() (tunnel, connected bool) {
	h := &x.ctx.Request.Header
	connected = h.IsConnect() && x.ctx.Response.StatusCode()/100 == 2
	return connected && (x.ctx.hijack != nil || h.target()[0] != '/'), connected
}

// dropFraming removes the fields that frame content from h.
func dropFraming(h *ResponseHeader) {
	h.contentLength = 0
	h.setState(hasLength, false)
	h.setCoding(false)
}

// prepareConnection decides whether the connection stays open after the response, and
// makes the response say so.
func (x *exchange) prepareConnection() {
	ctx := x.ctx
	resp := &ctx.Response
	closing := x.wantsClose()
	if ctx.hijack != nil {
		closing = x.prepareHijack(closing)
	}
	if closing {
		x.conn.End()
		if resp.StatusCode() != StatusSwitchingProtocols {
			sayClose(&resp.Header)
		}
	}
	if x.minor > 0 {
		return
	}
	// HTTP/1.0 has neither chunks nor trailers, and needs an explicit keep-alive
	resp.Header.dropTrailers()
	if !closing {
		resp.Header.setID(field.Connection, strKeepAlive)
	}
}

// sayClose announces the end of the connection, whatever the handler has set.
func sayClose(h *ResponseHeader) {
	if i := h.list.FindID(field.Connection, 0); i >= 0 && http1.ConnectionFlags(h.list.Value(i))&http1.KeepAlive != 0 {
		h.dropConnection()
	}
	h.SetConnectionClose()
}

// respondBody puts a buffered body after its head.
func (x *exchange) respondBody(out *bufpool.Buffer) {
	resp := &x.ctx.Response
	body := resp.body.bytes()
	switch {
	case resp.Header.contentLength < 0:
		// trailers follow, so the body is a chunk
		if len(body) > 0 {
			out.B = http1.AppendChunkStart(out.B, len(body))
			out.B = append(out.B, body...)
			out.B = http1.AppendChunkEnd(out.B)
		}
		out.B = http1.AppendLastChunk(out.B)
		out.B = resp.Header.appendTrailers(out.B)
	case len(body) <= copyLimit:
		out.B = append(out.B, body...)
	default:
		x.tail = body
	}
}

// respondStream writes a response whose body is a stream, waiting for the peer
// if it must.
func (x *exchange) respondStream() {
	resp := &x.ctx.Response
	if resp.Header.announces() {
		resp.body.unsize()
	}
	if x.minor == 0 && resp.body.size < 0 {
		// HTTP/1.0 knows no chunks: the end of the connection ends the body
		sayClose(&resp.Header)
		resp.Header.SetContentLength(-2)
		x.conn.End()
		if x.ctx.Request.arrives() {
			x.conn.Linger()
		}
	} else {
		resp.Header.SetContentLength(max(resp.body.size, -1))
	}
	// the response body may be made from the request body, and this is the last
	// moment
	if x.duplex {
		x.continuing.Lock()
	}
	if x.conn.Waiting() == http1.WaitOpen && x.ctx.Request.arrives() {
		x.sayContinue()
	}
	if x.duplex {
		x.continuing.Unlock()
	}
	out := x.output()
	from := len(out.B)
	out.B = resp.Header.appendHead(out.B, &x.s.start)
	x.limitResponse()
	x.conn.SetWriting(http1.WriteStream)
	defer x.conn.SetWriting(http1.WriteIdle)
	x.beginSending(0)
	w := streamOutput{x: x, conn: x.blocking(), from: from, sent: -int64(from)}
	err := error(nil)
	if resp.ImmediateHeaderFlush {
		err = w.Flush()
	}
	if err == nil {
		err = x.writeStream(&w)
	} else {
		_ = resp.body.closeStream()
	}
	if err == nil {
		err = w.Flush()
	}
	if err != nil {
		// the message is cut off, which shows the peer the failure; if the end of the
		// connection would end the message properly, a reset is needed
		x.s.logWriteError(x.c, err)
		x.fault = err
		x.cutShort(err)
		x.conn.End()
		x.out.B = x.out.B[:w.from]
		x.c.Aborted = w.broken || w.flushed && resp.Header.contentLength == -2
	}
	x.delivery.size = w.sent
	x.endRequest()
}

func (x *exchange) writeStream(w *streamOutput) error {
	resp := &x.ctx.Response
	if span, ok := resp.body.stream.(fileSpan); ok && resp.Header.contentLength > 0 {
		if known, err := x.sendFile(w, span); known {
			return err
		}
	}
	if resp.Header.contentLength == -2 {
		return resp.body.writePlain(w)
	}
	return writeBody(w, &resp.body, &resp.Header.header)
}

// sendFile makes the system copy a body from its file to the connection, if it can do
// that with both; known is false otherwise.
func (x *exchange) sendFile(w *streamOutput, span fileSpan) (known bool, err error) {
	body := &x.ctx.Response.body
	file, offset, length := span.span()
	if file == nil || length != int64(body.size) {
		return false, nil
	}
	send := engine.FileSender(w.conn)
	if send == nil {
		return false, nil
	}
	defer body.endStream(&err)
	out := x.output()
	w.from, w.flushed = 0, true
	sent, err := send(out.B, file, offset, length)
	if err == nil || sent > 0 {
		w.sent += int64(len(out.B)) + sent
	}
	out.B = out.B[:0]
	x.turn = 0
	if w.broken = err != nil; errors.Is(err, io.ErrUnexpectedEOF) {
		// the connection is intact, and the bytes that were sent should arrive
		w.broken = false
		err = shortFile(sent, length)
	}
	return true, err
}

// streamOutput writes to a connection through out.
type streamOutput struct {
	x       *exchange
	conn    net.Conn
	from    int   // where the message begins in out
	sent    int64 // bytes of it that were written, less those that stood before it
	flushed bool  // part of it was written
	broken  bool  // the connection takes no more
}

func (w *streamOutput) Write(p []byte) (int, error) {
	out := w.x.output()
	if len(out.B)+len(p) > flushSize {
		if err := w.Flush(); err != nil {
			return 0, err
		}
		if len(p) >= copyLimit {
			n, err := w.conn.Write(p)
			w.sent += int64(n)
			w.broken = err != nil
			return n, err
		}
	}
	out.B = append(out.B, p...)
	return len(p), nil
}

func (w *streamOutput) Flush() error {
	w.from, w.flushed = 0, true
	n, err := w.x.flushTo(w.conn)
	w.sent += int64(n)
	w.broken = err != nil
	return err
}

// cutOff ends a connection that could not be written to, or not in time. If the
// connection were ended in order, the system would hold the output for a peer that
// does not read for minutes.
func (x *exchange) cutOff(err error) {
	x.s.logWriteError(x.c, err)
	x.c.Aborted = true
	if x.delivery.on {
		x.cutShort(err)
		x.sent()
	}
}

// endRequest makes the exchange ready for the next request, once the response
// is in out or written.
func (x *exchange) endRequest() {
	ctx := x.ctx
	if w := ctx.watch.Load(); w != nil {
		x.endWatch(w, false)
	}
	if x.s.ResponseSent != nil {
		x.sent()
	}
	if ctx.Request.source != nil {
		x.dropRest()
	}
	x.timing = timesWait
	if x.held != nil {
		if ctx.lent != nil {
			x.leaveBodyCount(ctx.lent)
		} else {
			x.dropBodyCount()
		}
	}
	if x.pace.begun {
		x.endPace()
	}
	switch {
	case ctx.hijack != nil && !ctx.hijackDropped:
		x.conn.EndReading()
		x.conn.SetLife(http1.LifeHandedOver)
		return
	case x.conn.Ends():
		if len(x.pending()) > 0 {
			x.conn.Linger()
		}
		x.conn.EndReading()
	default:
		x.conn.SetReading(http1.ReadIdle)
	}
	x.resetCtx()
}

// prepareHijack decides whether the handler that was given to Hijack will be
// called, and returns whether the connection closes instead.
func (x *exchange) prepareHijack(closing bool) bool {
	ctx := x.ctx
	if ctx.hijackNoResponse {
		return false
	}
	asked := !x.conn.KeepAlive() || ctx.Request.Header.ConnectionClose() || ctx.Response.ConnectionClose() ||
		x.s.conns.Stopping() && x.s.CloseOnShutdown
	ctx.hijackDropped = asked
	return asked && closing
}
