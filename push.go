package fasthttp

import (
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp/internal/bufpool"
	"github.com/valyala/fasthttp/internal/engine"
	"github.com/valyala/fasthttp/internal/http1"
)

// PushHandler is called when something happens to the body of a response that RequestCtx.PushBody
// has begun. The methods are called one after the other, by changing goroutines. They may call all
// methods of the Push. They should not block: over HTTP/2 nothing is sent meanwhile. A panic in one
// of them is logged and aborts the response.
type PushHandler interface {
	// Opened is called once, before Tick and ShuttingDown, when the head of the response is
	// sent: from then on pieces can be sent.
	Opened(p *Push)

	// Tick is called at the time set with Push.SetTick.
	Tick(p *Push)

	// ShuttingDown is called once if the server shuts down. Shutdown waits until the body has
	// ended, so the handler has to end it.
	ShuttingDown(p *Push)

	// Ended is called once, after all other methods: the body has ended, or cannot be sent any
	// further. err is nil after Push.Close, io.EOF if the client has left or has ended its
	// sending side, net.ErrClosed after Push.Abort, os.ErrDeadlineExceeded after
	// Response.PieceTimeout, ErrPushNotSent if the response has no such body, or another error
	// of the connection; all but nil and io.EOF may be wrapped. Only after ErrPushNotSent was
	// Opened not called.
	Ended(p *Push, err error)
}

// Push is the body of a response after RequestCtx.PushBody: a stream of pieces that the application
// sends whenever it has one. It is usually a field of the struct that implements the PushHandler,
// so that both are one allocation. A Push must not be copied, nor used for another response. Its
// methods may be called by several goroutines, before the body has begun and after it has ended.
// None of them waits for the client.
type Push struct {
	// MaxQueued is how many bytes may wait for the client: while as many wait, Send fails. A
	// piece is accepted if fewer bytes wait, whatever its size. 0 or less means
	// DefaultMaxQueued. It must not be changed after PushBody.
	MaxQueued int

	conn    EventConn
	handler PushHandler
	stream  *pushStream // unless conn sends the body
	state   atomic.Uint32
	chunked bool // conn sends pieces as chunks
}

// DefaultMaxQueued is the default of Push.MaxQueued, in bytes.
const DefaultMaxQueued = 64 << 10

var (
	// ErrPushQueueFull is the error of a piece which is not sent since Push.MaxQueued bytes wait
	// for the client.
	ErrPushQueueFull = errors.New("fasthttp: a client is too slow for a pushed body")

	// ErrPushNotSent is the error with which a PushHandler ends if the body is not sent: after
	// a HEAD request, with a status that has no content, if other code has replaced the body,
	// or if the head of the response cannot be sent.
	ErrPushNotSent = errors.New("fasthttp: a pushed body is not sent")
)

var (
	errPushNotOpen = errors.New("fasthttp: a pushed body has not begun")
	errPushEnded   = fmt.Errorf("fasthttp: a pushed body has ended: %w", net.ErrClosed)
)

// The states of a Push. From pushChunks on the body is being sent.
const (
	pushNew      uint32 = iota
	pushSet             // PushBody was called
	pushHead            // conn sends the body after the head
	pushOver            // Ended was called, or is about to be
	pushChunks          // conn sends pieces as chunks
	pushRaw             // conn sends pieces until it is closed
	pushStreamed        // another goroutine reads stream
)

// PushBody makes p the body of the response, in place of any other. The RequestHandler should set
// the other parts of the response, and return. Then the head is sent at once, h.Opened is called,
// and each piece is sent as soon as Push.Send is called: as one chunk over HTTP/1.1 (RFC 9112
// section 7.1), in DATA frames over HTTP/2, and as it is to an HTTP/1.0 client, where the end of the
// connection ends the body. PushBody panics if p was used before.
//
// Over HTTP/1 the connection has no goroutine and no buffer on the event engine while nothing is
// sent. The request ends when the head is sent: Server.ResponseSent is called then, user values are
// closed, and h must not use ctx. Requests that the client sends meanwhile wait until the body has
// ended, and are served then, unless the connection closes after the response. While more than
// Server.ReadBufferSize bytes of them wait, the end of the connection is noticed by sending only.
//
// The response is sent by a goroutine of its own, which waits while there is no piece, over HTTP/2,
// if it is compressed (see CompressHandler), if it has trailers, if the body of the request is still
// arriving, or after Hijack or EnableFullDuplex. The request then ends with the response, and pieces that wait are sent
// together.
//
// A piece that the client does not take within Response.PieceTimeout ends the connection, or the
// HTTP/2 stream. By default that is the time for writing a response (Server.WriteTimeout,
// RequestConfig.WriteTimeout); it does not limit the whole response.
func (ctx *RequestCtx) PushBody(p *Push, h PushHandler) {
	if !p.state.CompareAndSwap(pushNew, pushSet) {
		panic("fasthttp: PushBody with a Push that was used before")
	}
	p.handler = h
	if p.MaxQueued <= 0 {
		p.MaxQueued = DefaultMaxQueued
	}
	resp := &ctx.Response
	resp.SetBodyStream(pushBody{p}, -1)
	resp.ImmediateHeaderFlush = true
	if resp.PieceTimeout == 0 {
		resp.PieceTimeout = ctx.pieceTimeout()
	}
	if ctx.Request.Header.head.IsHTTP2() || ctx.Request.arrives() {
		p.watch(ctx)
	}
}

// watchPush is called when the handler has returned. It prepares for the cases in which beginPush
// leaves a body to a goroutine that PushBody could not foresee.
func (ctx *RequestCtx) watchPush() {
	if ctx.timedOut() {
		// another response is sent
		return
	}
	if body, is := ctx.Response.body.Stream.(pushBody); is && ctx.pushNeedsGoroutine() {
		body.p.watch(ctx)
	}
}

// pushNeedsGoroutine reports whether the connection cannot send a pushed body itself, for a reason
// known when the handler has returned.
func (ctx *RequestCtx) pushNeedsGoroutine() bool {
	return ctx.FullDuplex() || ctx.hijack != nil || ctx.Response.Header.head.Trailers.Len() > 0
}

// pieceTimeout returns the default of Response.PieceTimeout for a pushed body.
func (ctx *RequestCtx) pieceTimeout() time.Duration {
	ctx.timeoutMu.Lock()
	defer ctx.timeoutMu.Unlock()
	switch {
	case ctx.exchange != nil && ctx.exchange.terms.writeTimeout > 0:
		return ctx.exchange.terms.writeTimeout
	case ctx.s != nil && ctx.s.WriteTimeout > 0:
		return ctx.s.WriteTimeout
	}
	return -1
}

// PushPiece is a piece that many Pushes send without copying it. It never changes.
type PushPiece struct {
	chunk    []byte
	from, to int // the content within the chunk
}

// NewPushPiece returns a piece with a copy of content.
func NewPushPiece(content []byte) *PushPiece {
	if len(content) == 0 {
		return new(PushPiece)
	}
	q := &PushPiece{chunk: make([]byte, 0, len(content)+maxChunkFraming)}
	q.chunk = http1.AppendChunkStart(q.chunk, len(content))
	q.from = len(q.chunk)
	q.chunk = append(q.chunk, content...)
	q.to = len(q.chunk)
	q.chunk = http1.AppendChunkEnd(q.chunk)
	return q
}

// maxChunkFraming is how many bytes a chunk has at most beside its content.
const maxChunkFraming = len("0123456789abcdef\r\n\r\n")

// Send sends a copy of content as a piece: it writes as much as the connection takes, and leaves
// the rest to the server. Without content it does nothing.
//
// The error is ErrPushQueueFull if too many bytes wait, and wraps net.ErrClosed once Close was
// called or the body has ended. Before PushHandler.Opened it is another error. Nothing of the
// piece is sent then.
func (p *Push) Send(content []byte) error { return p.send(content, p.MaxQueued) }

// send is Send with a limit in place of MaxQueued.
func (p *Push) send(content []byte, limit int) error {
	switch p.state.Load() {
	case pushChunks:
		return p.conn.sendPiece(content, true, limit)
	case pushRaw:
		return p.conn.sendPiece(content, false, limit)
	case pushStreamed:
		return p.stream.send(content, limit)
	case pushOver:
		return errPushEnded
	}
	return errPushNotOpen
}

// SendPiece is Send without a copy, unless the piece is small and has to wait, or a goroutine
// sends the response, see PushBody.
func (p *Push) SendPiece(q *PushPiece) error {
	switch p.state.Load() {
	case pushChunks:
		return p.conn.sendShared(q.chunk, p.MaxQueued)
	case pushRaw:
		return p.conn.sendShared(q.chunk[q.from:q.to], p.MaxQueued)
	case pushStreamed:
		return p.stream.send(q.chunk[q.from:q.to], p.MaxQueued)
	case pushOver:
		return errPushEnded
	}
	return errPushNotOpen
}

// Queued returns how many bytes wait for the client. Bytes that the connection has taken do not
// count.
func (p *Push) Queued() int {
	switch p.state.Load() {
	case pushChunks, pushRaw:
		return p.conn.Queued()
	case pushStreamed:
		return p.stream.queued()
	}
	return 0
}

// SetTick makes the server call PushHandler.Tick after d, instead of at the time set before: for
// a heartbeat, for example. If d is 0 or less, it is not called. The resolution is a few
// milliseconds, and the maximum is 24 days. It costs no timer on the event engine over HTTP/1. It
// has no effect before Opened. Tick may be late while pieces wait for the client.
func (p *Push) SetTick(d time.Duration) {
	switch p.state.Load() {
	case pushChunks, pushRaw:
		p.conn.SetTick(d)
	case pushStreamed:
		p.stream.setTick(d)
	}
}

// Close ends the body after the pieces that wait. It has no effect before Opened.
func (p *Push) Close() {
	switch p.state.Load() {
	case pushChunks:
		p.conn.closeAfter(lastChunk)
	case pushRaw:
		_ = p.conn.Close()
	case pushStreamed:
		p.stream.close()
	}
}

const lastChunk = "0\r\n\r\n"

// Abort ends the response at once, so that the client notices that it is incomplete: over HTTP/1
// the connection is reset, over HTTP/2 the stream. Pieces that wait are not sent. It has no effect
// before Opened.
func (p *Push) Abort() {
	switch p.state.Load() {
	case pushChunks, pushRaw:
		p.conn.Abort()
	case pushStreamed:
		p.stream.fail(errPushEnded)
	}
}

// A pushed body over HTTP/1 is sent by an EventConn: the connection switches to it after the head,
// as after RequestCtx.SwitchProtocols, and back to HTTP after the last chunk.

// pushEvents is a Push as its EventConn sees it.
type pushEvents struct{ p *Push }

var _ EventHandler = pushEvents{}

// Opened implements EventHandler.
func (e pushEvents) Opened(*EventConn) { e.p.handler.Opened(e.p) }

// Received implements EventHandler. The next requests stay in the buffer, if there will be any.
func (e pushEvents) Received(c *EventConn, p []byte) int {
	if c.returns {
		return 0
	}
	return len(p)
}

// Drained implements EventHandler.
func (e pushEvents) Drained(*EventConn) {}

// Tick implements EventHandler.
func (e pushEvents) Tick(*EventConn) { e.p.handler.Tick(e.p) }

// ShuttingDown implements EventHandler.
func (e pushEvents) ShuttingDown(*EventConn) { e.p.handler.ShuttingDown(e.p) }

// Ended implements EventHandler.
func (e pushEvents) Ended(_ *EventConn, err error) {
	e.p.state.Store(pushOver)
	e.p.handler.Ended(e.p, err)
}

// begin is called when the connection switches to e, after the head was sent.
func (e pushEvents) begin() {
	to := pushRaw
	if e.p.chunked {
		to = pushChunks
	}
	e.p.state.CompareAndSwap(pushHead, to)
}

// beginPush reports whether the connection itself can send a pushed body. If so it makes the
// connection switch to that after the head.
func (x *h1Exchange) beginPush(e http1.Encoding) bool {
	ctx := x.ctx
	body, ok := ctx.Response.body.Stream.(pushBody)
	if !ok || ctx.pushNeedsGoroutine() || ctx.Request.arrives() {
		return false
	}
	p := body.p
	if !p.state.CompareAndSwap(pushSet, pushHead) {
		return false
	}
	c := &p.conn
	c.handler = pushEvents{p}
	c.SetWriteTimeout(max(ctx.Response.PieceTimeout, 0))
	p.chunked, c.returns = e.Kind == http1.Chunks, !x.h.phases.Ends()
	ctx.hijack, ctx.hijackNoResponse, ctx.hijackDropped = refuseSwitched, false, false
	ctx.switched = c
	return true
}

// respondPush sends the head of a response after which the connection sends a pushed body.
func (x *h1Exchange) respondPush(e http1.Encoding) (engine.Action, bool) {
	out := x.h.output()
	from := len(out.B)
	out.B = x.ctx.Response.Header.head.AppendResponse(out.B, &x.s.start, e)
	if x.s.set.reports {
		x.beginSending(len(out.B) - from)
		x.h.phases.SetWriting(http1.WriteQueued)
		return engine.Flush, true
	}
	x.endRequest()
	return engine.Read, false
}

// resumeHTTP1 returns the protocol of a connection whose pushed body has ended. It begins with the
// bytes that have arrived meanwhile.
func (h *host) resumeHTTP1(c *engine.Conn, l engine.Link, over *EventConn) engine.Protocol {
	s := (*Server)(h)
	s.switched.remove(over)
	c.Concurrent, c.KeepsProtocol = false, false
	l.ForgetDeadlines(time.Time{})
	next := h1Conns.Get().(*h1Conn)
	next.attach(s, c, l)
	over.mu.Lock()
	defer over.mu.Unlock()
	over.signalProgress()
	if f := over.flow; f != nil {
		if len(over.pending()) > 0 {
			bufpool.Put(next.in)
			next.in, next.read = f.in, f.read
			f.in, f.read, f.stuck = nil, 0, 0
		}
		over.trim()
	}
	return next
}

// mayReturn reports whether the connection can speak HTTP again: the handler has ended, and no
// goroutine is about to make the engine ask for output. A later call of Link.Wake does no harm on
// an engine without a goroutine for reading. mu is held.
func (c *EventConn) mayReturn() bool {
	return c.returns && c.users == 0 && c.is(eventReturned) && !c.is(eventGone|eventFailed)
}

// pushReturning is push for a connection that speaks HTTP again later. No call of Link.Push may
// reach the engine then.
func (c *EventConn) pushReturning() {
	if c.engineConn().HasReadGoroutine {
		go c.wakeReturning()
		return
	}
	c.mu.Lock()
	if c.is(eventGone) {
		c.mu.Unlock()
		return
	}
	c.users++
	c.mu.Unlock()
	over := c.link.Push()
	c.mu.Lock()
	c.users--
	wakes := !over && !c.is(eventGone) || c.mayReturn()
	c.mu.Unlock()
	if wakes {
		go c.link.Wake()
	}
}

func (c *EventConn) wakeReturning() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.is(eventGone) {
		c.wake(false)
	}
}

// mayQueue returns the reason why a piece of n bytes cannot be sent, or nil. mu is held.
func (c *EventConn) mayQueue(n, limit int) error {
	err := c.mayAppend(n)
	switch {
	case err == errEventClosed:
		return errPushEnded
	case err != nil || int(c.queued.Load()) >= limit:
		return ErrPushQueueFull
	}
	return nil
}

// sendPiece sends a piece, as a chunk or as it is.
func (c *EventConn) sendPiece(content []byte, isChunk bool, limit int) error {
	n := len(content) + maxChunkFraming
	c.mu.Lock()
	if err := c.mayQueue(n, limit); err != nil || len(content) == 0 {
		c.mu.Unlock()
		return err
	}
	b := c.room(n)
	before := len(b.B)
	if isChunk {
		b.B = http1.AppendChunkStart(b.B, len(content))
	}
	b.B = append(b.B, content...)
	if isChunk {
		b.B = http1.AppendChunkEnd(b.B)
	}
	c.queued.Add(uint32(len(b.B) - before))
	c.mu.Unlock()
	c.Flush()
	return nil
}

// sendShared sends bytes that others may use as well.
func (c *EventConn) sendShared(p []byte, limit int) error {
	c.mu.Lock()
	if err := c.mayQueue(len(p), limit); err != nil || len(p) == 0 {
		c.mu.Unlock()
		return err
	}
	c.appendShared(p)
	c.mu.Unlock()
	c.Flush()
	return nil
}

// closeAfter is Close after more output.
func (c *EventConn) closeAfter(end string) {
	c.mu.Lock()
	if c.mayAppend(len(end)) == nil {
		b := c.room(len(end))
		b.B = append(b.B, end...)
		c.queued.Add(uint32(len(end)))
		c.state |= eventClosing
		if c.is(eventAttached) {
			go c.rouse()
		}
	}
	c.mu.Unlock()
}
