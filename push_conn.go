package fasthttp

import (
	"time"

	"github.com/valyala/fasthttp/internal/bufpool"
	"github.com/valyala/fasthttp/internal/engine"
	"github.com/valyala/fasthttp/internal/http1"
)

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
	if !ok || x.duplex || ctx.hijack != nil || ctx.Request.arrives() || ctx.Response.Header.head.Trailers.Len() > 0 {
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
