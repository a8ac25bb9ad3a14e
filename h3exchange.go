package fasthttp

import (
	"bytes"
	"errors"
	"io"
	"math"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp/internal/clock"
	"github.com/valyala/fasthttp/internal/field"
	"github.com/valyala/fasthttp/internal/header"
	"github.com/valyala/fasthttp/internal/http1"
	"github.com/valyala/fasthttp/internal/http3"
	"github.com/valyala/fasthttp/internal/watch"
)

// h3Exchange is an exchange on an HTTP/3 stream. One goroutine serves it from the head of the
// request to the end of the response, and waits for the client in Read and Write of the stream.
//
//	receive   counts the request; then, for its plan, takes the body or makes it a stream
//	respond   sends the response
//	release   close, which calls the application, and finish, which ends the stream
type h3Exchange struct {
	streamExchange
	h      *h3Conn
	stream http3.Stream

	in      *h3Incoming // of content, or nil
	pacing  h3Pace
	now     clock.Moment
	start   *header.BlockStart // of the last usual response, or nil; kept for other requests
	startOf *Server            // which has sent start

	// mu guards the beginning of the response, since goroutines of a handler may send informational
	// ones
	mu           sync.Mutex
	awaits100    bool // the client waits for 100 (Continue)
	limitsWrites bool // the handler has set a deadline for them
	begun        bool // the final response has begun, or there is none

	watchMu   sync.Mutex // guards the fields below
	watch     *watch.Watch
	stopWatch func() bool
	watched   bool // so a call of PeerGone may still be under way

	opened   bool  // the application has the stream, as a tunnel
	ended    bool  // the stream was ended or reset
	abortErr error // why the response was cut off, or nil
}

// run serves the exchange, and releases it.
func (x *h3Exchange) run(r *http3.Request) {
	over, ended := false, false
	defer func() {
		if !ended {
			// the panic is still on the stack
			over = x.failed(recover())
		}
		if over {
			x.release()
		}
	}()
	x.fill(r)
	over = x.serve(r.End)
	ended = true
}

// fill gives the request its head.
func (x *h3Exchange) fill(r *http3.Request) {
	m := r.Message
	x.refusal = faultOf(r.Fault)
	x.method = m.Head.MethodID
	if r.Fault == http3.LargeHead || r.Fault == http3.ManyFields {
		return
	}
	h := &x.ctx.Request.Header
	h.head.FillBlock(http1.Request, m)
	h.head.Line[header.LineVersion] = h.head.List.Append(strHTTP3)
	x.framing = m.Head.Framing
	x.expect = expectationOf(&m.Head)
	if m.Protocol.Len > 0 {
		h.head.Slots[header.SlotProtocol] = m.Protocol
		x.extended = true
	}
}

// serve receives the content, calls the handler, and sends the response. If end is set there is no
// content.
func (x *h3Exchange) serve(end bool) (over bool) {
	if x.abortErr = x.receive(end); x.abortErr != nil {
		x.resetStream()
		return true
	}
	x.makeResponse()
	return x.respond()
}

// receive receives the content for the handler. If the request must be refused, it sets refusal. It
// returns an error if the client is gone. If end is set there is no content.
func (x *h3Exchange) receive(end bool) error {
	x.h.mu.Lock()
	x.count(&x.now)
	x.h.mu.Unlock()
	next := x.plan(end, 0)
	if next == planRefuse || next == planServe {
		return nil
	}
	x.awaits100 = x.expect == expectsContinue
	x.limitContent()
	if next == planCollect {
		return x.take()
	}
	x.parses = next == planParse
	x.streamContent()
	return nil
}

// limitContent sets the deadline of ReadTimeout. An extended CONNECT has none, even if a body stream
// answers it, as with HTTP/2: its client sends for as long as its protocol lasts.
func (x *h3Exchange) limitContent() {
	if timeout := x.readTime(); timeout > 0 && !x.extended {
		x.limitReads(time.Now().Add(timeout))
	}
}

// take collects the body in memory.
func (x *h3Exchange) take() error {
	x.send100()
	for {
		p, err := x.next()
		switch {
		case x.refusal != nil:
			return nil
		case err == io.EOF:
			if fields := x.stream.Trailers(); fields != nil {
				x.refusal = x.ctx.Request.Header.head.AddSection(fields, x.s.AcceptTrailer)
			}
			x.collected()
			return nil
		case isH3Deadline(err):
			x.refusal = errStreamDeadline
			return nil
		case err != nil:
			return truncatedError{err}
		}
		x.collect(p, false)
		if x.parses {
			x.streamContent()
		}
		if x.parses || x.refusal != nil {
			return nil
		}
	}
}

// next returns the next content of a collected body. If it was ended because of its memory,
// next sets refusal.
func (x *h3Exchange) next() ([]byte, error) {
	// it sets a deadline, which must not replace the one of InterruptBody
	since := x.beginWait()
	if x.bodyMemory == nil {
		p, err := x.stream.Next(math.MaxInt)
		x.endWait(since, len(p))
		return p, err
	}
	x.bodyMemory.Block()
	p, err := x.stream.Next(math.MaxInt)
	x.endWait(since, len(p))
	if !x.bodyMemory.Resumed() {
		x.refusal = ErrRequestBodyMemory
	}
	return p, err
}

// InterruptBody implements bodymem.Request.
func (x *h3Exchange) InterruptBody() {
	_ = x.stream.SetReadDeadline(pastTime)
	// the goroutine may get a processor much later
	x.ctx.Request.body.ReleaseBuffer()
}

// pastTime is a deadline that has passed.
var pastTime = time.Unix(1, 0)

// ClaimStalledBody implements bodymem.Request. A goroutine serves each request.
func (x *h3Exchange) ClaimStalledBody() (confirm func() (end func())) { return nil }

// streamContent makes the body a stream: first the part in memory, then the rest as it arrives.
func (x *h3Exchange) streamContent() {
	content := new(h3Content)
	content.streamContent.init(&x.streamExchange, &content.h3Incoming)
	content.h3Incoming.x, content.h3Incoming.stream, content.left = x, x.stream, -1
	if x.framing.Kind == http1.Length {
		content.left = x.framing.Length - int64(len(x.ctx.Request.body.Bytes()))
	}
	x.content, x.in = &content.streamContent, &content.h3Incoming
	x.receiveStream(x.content)
}

// ctxReplaced implements serverTransport.
func (x *h3Exchange) ctxReplaced() {
	if x.in != nil {
		x.in.revoke()
	}
}

// setDeadlines implements deadliner.
func (x *h3Exchange) setDeadlines(read, write *time.Time) {
	if read != nil {
		x.limitReads(*read)
	}
	if write != nil {
		x.mu.Lock()
		x.limitsWrites = true
		x.mu.Unlock()
		_ = x.stream.SetWriteDeadline(*write)
	}
}

// h3Content is the content of an HTTP/3 request, and its input.
type h3Content struct {
	streamContent
	h3Incoming
}

// h3Incoming is the input of a request's content. Its exchange is not reused.
type h3Incoming struct {
	x      *h3Exchange
	stream http3.Stream
	left   int64 // how many bytes follow, or -1; only the reader uses it

	mu                     sync.Mutex // held while a goroutine reads
	revoked, closed, ended atomic.Bool
}

// revoke ends the reading for good, in whatever goroutine.
func (c *h3Incoming) revoke() {
	c.revoked.Store(true)
	_ = c.stream.SetReadDeadline(pastTime)
}

// Read implements streamInput.
func (c *h3Incoming) Read(p []byte) (n int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err = c.stopped(); err != nil {
		return 0, err
	}
	c.x.send100()
	since := c.x.beginWait()
	if err = c.stopped(); err != nil {
		// beginWait may have replaced the deadline that was to end the reading
		return 0, err
	}
	b, err := c.stream.Next(len(p))
	c.x.endWait(since, len(b))
	switch stopped := c.stopped(); {
	case err == nil:
		n = copy(p, b)
		if c.left > 0 {
			c.left -= int64(n)
		}
		return n, nil
	case stopped != nil:
		return 0, stopped
	case err == io.EOF:
		c.left = -1
		c.ended.Store(true)
		return 0, err
	case isH3Deadline(err):
		return 0, errStreamDeadline
	}
	return 0, truncatedError{err}
}

// isH3Deadline reports whether a deadline has expired. The loss of a connection may be a timeout as well.
func isH3Deadline(err error) bool { return errors.Is(err, os.ErrDeadlineExceeded) }

// stopped returns the error of reading that was revoked or closed, or nil.
func (c *h3Incoming) stopped() error {
	switch {
	case c.revoked.Load():
		return errReadingRevoked
	case c.closed.Load():
		return errStreamClosed
	}
	return nil
}

// Close implements streamInput.
func (c *h3Incoming) Close() error {
	if !c.closed.Swap(true) && !c.ended.Load() {
		_ = c.stream.SetReadDeadline(pastTime)
	}
	return nil
}

// Section implements streamInput.
func (c *h3Incoming) Section() *field.List { return c.stream.Trailers() }

// Ahead implements streamInput.
func (c *h3Incoming) Ahead() int64 { return max(c.left, 0) }

// Ended implements streamInput.
func (c *h3Incoming) Ended() bool { return c.ended.Load() }

// isHTTP3 reports whether the message was received by HTTP/3.
func (h *commonHeader) isHTTP3() bool {
	return h.head.IsHTTP2() && bytes.Equal(h.head.Text(h.head.Line[header.LineVersion]), strHTTP3)
}

// h3Pace measures a body that must arrive at a minimum rate: the waits of the goroutine that receives it.
type h3Pace struct {
	pace
	until atomic.Int64 // the deadline of the body in nanoseconds of Unix time, or 0
}

// limitReads sets the deadline for the rest of the request.
func (x *h3Exchange) limitReads(t time.Time) {
	until := int64(0)
	if !t.IsZero() {
		until = t.UnixNano()
	}
	x.pacing.until.Store(until)
	_ = x.stream.SetReadDeadline(t)
}

// isPaced reports whether the content must arrive at a minimum rate.
func (x *h3Exchange) isPaced() bool {
	return x.s.MinRequestBodyRate > 0 && x.method != http1.MethodConnect
}

// beginWait begins a wait for a part of the body. It returns when, for endWait.
func (x *h3Exchange) beginWait() (since time.Duration) {
	if !x.isPaced() {
		return 0
	}
	p := &x.pacing
	if !p.begun {
		p.spend(x.s, 0, 0)
	}
	for {
		until := p.until.Load()
		by := time.Now().Add(p.left)
		if until != 0 {
			by = clock.Earliest(by, time.Unix(0, until))
		}
		_ = x.stream.SetReadDeadline(by)
		// another goroutine of the handler may set the deadline
		if p.until.Load() == until {
			return clock.Monotonic()
		}
	}
}

// endWait ends a wait in which n bytes have arrived.
func (x *h3Exchange) endWait(since time.Duration, n int) {
	if x.isPaced() {
		x.pacing.spend(x.s, clock.Monotonic()-since, int64(n))
	}
}

var _ streamTransport = (*h3Exchange)(nil)

// h3Traits are the traits of HTTP/3.
var h3Traits = streamTraits{name: protocolHTTP3, noConn: errH3Hijack, tunnels: true}

// traits implements streamTransport.
func (x *h3Exchange) traits() *streamTraits { return &h3Traits }

// errH3Hijack is sent to the client, and logged, if a handler hijacks the connection.
var errH3Hijack = errors.New("fasthttp: HTTP/3 has no connection for a handler to take over: use extended CONNECT (RFC 9220), or HTTP/1.1")

// respond implements streamTransport.
func (x *h3Exchange) respond() (over bool) {
	if x.method == http1.MethodConnect && x.connects() {
		return x.openTunnel()
	}
	e, last := x.prepare(&h3Traits)
	if timeout := x.responseTime(); timeout > 0 {
		_ = x.stream.SetWriteDeadline(time.Now().Add(timeout))
	}
	if last {
		x.stream.GoAway()
	}
	resp := &x.ctx.Response
	if e.Kind != http1.NoBody && resp.body.Stream != nil {
		x.sendStream(x, e)
		return true
	}
	if err := x.writeHead(e); err != nil || e.Kind == http1.NoBody {
		_ = resp.body.CloseStream()
		x.end(err)
		return true
	}
	_, err := x.Write(resp.body.Bytes())
	if e.Kind == http1.Chunks {
		x.endStream(err)
	} else {
		x.end(err)
	}
	return true
}

// writeHead implements streamTransport. The head is sent with the next Flush.
func (x *h3Exchange) writeHead(e http1.Encoding) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.begun = true
	b, enc := x.stream.BeginSection()
	from := len(b)
	b = x.ctx.Response.Header.head.AppendResponseBlock(b, enc, &x.start, x.s.name, e)
	n := len(b) - from
	if err := x.stream.SendSection(b); err != nil {
		return err
	}
	x.sent += int64(n)
	return nil
}

// endStream implements streamTransport.
func (x *h3Exchange) endStream(err error) {
	if h := &x.ctx.Response.Header; err == nil && h.head.HasSection() {
		b, enc := x.stream.BeginSection()
		err = x.stream.SendSection(h.head.AppendTrailerBlock(b, enc))
	}
	x.end(err)
}

// end ends the response. If err is not nil it is incomplete, and the stream is reset.
func (x *h3Exchange) end(err error) {
	if err == nil {
		err = x.stream.End()
	}
	if err != nil {
		x.s.logWriteError(x.c, err)
		x.abortErr = err
		x.resetStream()
	}
	x.ended = true
}

// resetStream implements streamTransport.
func (x *h3Exchange) resetStream() {
	if !x.ended {
		x.ended = true
		x.stream.Reset()
	}
}

// cutOff implements streamTransport.
func (x *h3Exchange) cutOff() error { return x.abortErr }

// Write implements flushWriter. It writes content of the response.
func (x *h3Exchange) Write(p []byte) (int, error) {
	x.limitPiece()
	n, err := x.stream.Write(p)
	x.sent += int64(n)
	return n, err
}

// Flush implements flushWriter.
func (x *h3Exchange) Flush() error {
	x.limitPiece()
	return x.stream.Flush()
}

// limitPiece sets the deadline for content, if pieces have their own time.
func (x *h3Exchange) limitPiece() {
	if timeout := x.ctx.Response.PieceTimeout; timeout > 0 {
		_ = x.stream.SetWriteDeadline(time.Now().Add(timeout))
	}
}

// release implements streamTransport. The application may end the goroutine, or panic.
func (x *h3Exchange) release() {
	defer x.finish()
	x.close()
}

// finish is the part of release after close.
func (x *h3Exchange) finish() {
	// nothing else is sent
	x.mu.Lock()
	x.begun = true
	x.mu.Unlock()
	x.unwatchPeer()
	if x.in != nil {
		x.in.revoke()
	}
	x.resetStream()
	x.stream.StopReading()
	if ctx := x.ctx; ctx != nil {
		x.ctx = nil
		x.s.ctxs.Put(ctx)
	}
}

// sendInterim implements serverTransport.
func (x *h3Exchange) sendInterim(status int, h *ResponseHeader, only field.ID) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.begun {
		return errStreamConnEnded
	}
	b, enc := x.stream.BeginSection()
	if err := x.stream.SendSection(appendInterim(b, enc, status, h, only)); err != nil {
		return err
	}
	if timeout := x.writeTimeout(); timeout > 0 && !x.limitsWrites {
		_ = x.stream.SetWriteDeadline(time.Now().Add(timeout))
		defer x.stream.SetWriteDeadline(time.Time{})
	}
	return x.stream.Flush()
}

// send100 sends 100 (Continue) if the client waits for it.
func (x *h3Exchange) send100() {
	x.mu.Lock()
	waits := x.awaits100
	x.awaits100 = false
	x.mu.Unlock()
	if waits {
		_ = x.sendInterim(StatusContinue, nil, 0)
	}
}

// watchPeer implements serverTransport.
func (x *h3Exchange) watchPeer(w *watch.Watch) {
	x.watchMu.Lock()
	defer x.watchMu.Unlock()
	if x.watch != nil {
		return
	}
	x.watch, x.watched = w, true
	x.stopWatch = x.stream.OnCancel(func() {
		x.watchMu.Lock()
		own := x.watch == w
		x.watchMu.Unlock()
		if own {
			w.PeerGone(false)
		}
	})
}

// unwatchPeer implements serverTransport.
func (x *h3Exchange) unwatchPeer() {
	x.watchMu.Lock()
	defer x.watchMu.Unlock()
	if x.watch != nil {
		x.stopWatch()
		x.watch, x.stopWatch = nil, nil
	}
}

// h3Tunnel is the tunnel of an HTTP/3 stream (RFC 9114 section 4.4, RFC 9220). Its directions end as with
// TCP: the end of the stream is its FIN, and a reset its RST.
type h3Tunnel struct {
	http3.Tunnel
	tunnelConn
}

// openTunnel sends the response, and gives the stream to the function of Hijack, or to the
// EventHandler of SwitchProtocols. over reports that the stream has ended before.
func (x *h3Exchange) openTunnel() (over bool) {
	ctx := x.ctx
	_ = ctx.Response.body.CloseStream()
	x.finishResponse()
	e := http1.Encoding{}
	x.recordHead(e)
	x.send100()
	if x.in != nil {
		x.in.leave()
	}
	// neither timeouts nor limits of requests apply to a tunnel
	_ = x.stream.SetReadDeadline(time.Time{})
	_ = x.stream.SetWriteDeadline(time.Time{})
	err := x.writeHead(e)
	if err == nil {
		err = x.stream.Flush()
	}
	if err != nil {
		ctx.hijack, ctx.switched = nil, nil
		x.end(err)
		return true
	}
	if ctx.Response.ConnectionClose() || x.s.servesLast(ctx.requestNum) {
		x.stream.GoAway()
	}
	x.report(&h3Traits, SentResponse{StatusCode: ctx.Response.StatusCode(), Bytes: x.sent})
	x.opened = true
	x.stream.BeginTunnel()
	t := &h3Tunnel{tunnelConn: tunnelConn{x.c}}
	stream := x.stream
	t.Init(stream, func() {
		x.unwatchPeer()
		stream.EndTunnel()
	})
	x.giveTunnel(t, variantHTTP3)
	return false
}

// leave ends the reading of the content, which belongs to a tunnel from here on.
func (c *h3Incoming) leave() {
	c.closed.Store(true)
	c.revoke()
	// a goroutine of the handler may still read
	c.mu.Lock()
	defer c.mu.Unlock()
}
