package fasthttp

import (
	"io"
	"net"
	"sync"
	"time"

	"github.com/valyala/fasthttp/internal/bufpool"
	"github.com/valyala/fasthttp/internal/clock"
	"github.com/valyala/fasthttp/internal/engine"
)

// switchedConn is an EventConn as its engine sees it: the engine.Protocol that passes received
// bytes to the EventHandler, and takes the output.
//
// The handler is called by work, which one goroutine runs at a time. On the event engine it is
// the goroutine of the loop, after it has given up the connection, so that others can write and
// receive while the handler blocks; on the portable engine it is usually the goroutine of the
// connection. Received gets the bytes in the buffer in which they have arrived, while more may
// arrive in the rest of that buffer. So only the engine's side moves the bytes, and only while
// no Received uses them.
type switchedConn EventConn

func (p *switchedConn) conn() *EventConn { return (*EventConn)(p) }

var _ engine.Worker = (*switchedConn)(nil)

// switchedConns are lists of the connections of a server that have switched.
type switchedConns struct {
	shards [16]struct {
		mu    sync.Mutex
		first *EventConn
		_     [48]byte
	}
}

func (s *switchedConns) add(c *EventConn) {
	l := &s.shards[c.engineConn().ID%uint64(len(s.shards))]
	l.mu.Lock()
	if c.next = l.first; c.next != nil {
		c.next.prev = c
	}
	l.first = c
	l.mu.Unlock()
	if c.engineConn().Stopping() {
		c.stop()
	}
}

func (s *switchedConns) remove(c *EventConn) {
	l := &s.shards[c.engineConn().ID%uint64(len(s.shards))]
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.next != nil {
		c.next.prev = c.prev
	}
	if c.prev != nil {
		c.prev.next = c.next
	} else if l.first == c {
		l.first = c.next
	}
	c.next, c.prev = nil, nil
}

// shutdown informs all connections that the server shuts down.
func (s *switchedConns) shutdown() {
	for i := range s.shards {
		l := &s.shards[i]
		l.mu.Lock()
		for c := l.first; c != nil; c = c.next {
			if c.stop() {
				go c.work(false)
			}
		}
		l.mu.Unlock()
	}
}

// stop records that the server shuts down. It reports whether the caller must call work.
func (c *EventConn) stop() (works bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state |= eventStops
	return !c.is(eventWorking | eventStopSent)
}

// switchProtocols returns the protocol of a connection whose handler has called
// SwitchProtocols, after the response was sent.
func (h *host) switchProtocols(c *engine.Conn, l engine.Link, old *h1Conn) engine.Protocol {
	ctx := old.x.ctx
	next := ctx.switched
	if p, ok := next.handler.(pushEvents); ok {
		p.begin()
	}
	// the application may use c after the end of the connection
	c.MarkEscaped()
	c.Concurrent, c.NoWriteTimeout = true, false
	l.ForgetDeadlines(time.Time{})
	ctx.Request.RemoveMultipartFormFiles()
	ctx.Request.closeSource()
	next.mu.Lock()
	next.link = l
	if len(old.pending()) > 0 {
		f := next.flowing()
		f.in, f.read = old.in, old.read
		old.in, old.read = nil, 0
	}
	next.mu.Unlock()
	return (*switchedConn)(next)
}

// pending returns the bytes that have arrived and were not consumed. mu is held.
func (c *EventConn) pending() []byte {
	if c.flow == nil || c.flow.in == nil {
		return nil
	}
	return c.flow.in.B[c.flow.read:]
}

// ReadBuffer implements engine.Protocol. Step has made sure that there is room.
func (p *switchedConn) ReadBuffer() []byte {
	c := (*EventConn)(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state |= eventReading
	f := c.flowing()
	if f.in == nil {
		f.in = bufpool.Get(c.readSize())
		f.read, f.stuck = 0, 0
	}
	return f.in.B[len(f.in.B):cap(f.in.B)]
}

// readSize returns the size of a buffer for input.
func (c *EventConn) readSize() int {
	switch {
	case !c.flow.full && !c.is(eventMuch):
	case !c.engineConn().HasReadGoroutine:
		return maxEventInput + headSpace
	case c.flow.full:
		return maxEventInput
	}
	return c.usualReadSize()
}

// usualReadSize returns the size of a buffer for input while little arrives.
func (c *EventConn) usualReadSize() int {
	return (*Server)(c.engineConn().Set.Host.(*host)).set.readSize
}

// Received implements engine.Protocol.
func (p *switchedConn) Received(n int, _ engine.Arrival) {
	c := (*EventConn)(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state &^= eventReading
	f := c.flow
	f.in.B = f.in.B[:len(f.in.B)+n]
	f.full = len(f.in.B) == cap(f.in.B)
	switch {
	case f.full:
		c.state |= eventMuch
	case c.is(eventMuch) && n == len(f.in.B) && n <= c.usualReadSize():
		c.state &^= eventMuch
	}
}

// InputEnded implements engine.Protocol. A timeout is only a reason to look at the clock.
func (p *switchedConn) InputEnded(err error) {
	c := (*EventConn)(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state &^= eventReading
	if isTimeout(err) {
		return
	}
	c.state |= eventEOF
	c.setErr(err)
}

// Step implements engine.Protocol.
func (p *switchedConn) Step() engine.Action {
	c := (*EventConn)(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.is(eventAttached) {
		c.attach()
	}
	c.state &^= eventReading | eventPaused
	c.checkTime()
	if c.engineConn().HasReadGoroutine && !c.is(eventWorking) {
		c.work(true)
	}
	switch {
	case c.is(eventFailed):
		return engine.Close
	case c.hasOutput() && !c.isHeld():
		return engine.Flush
	case c.is(eventEnded):
		return c.lastAction()
	case c.is(eventEOF | eventClosing):
		return engine.Pause
	case c.hasRoom():
		return engine.Read
	case c.is(eventFailed):
		return engine.Close
	case c.returns:
		// the rest waits until the connection speaks HTTP again
		return engine.Pause
	}
	c.state |= eventPaused
	return engine.Pause
}

// lastAction returns the action after Ended was called. mu is held, and the caller is Step.
func (c *EventConn) lastAction() engine.Action {
	switch {
	case c.is(eventEOF):
		return engine.Close
	case !c.returns:
		return engine.Linger
	case c.mayReturn():
		c.state |= eventGone
		return engine.Upgrade
	}
	return engine.Pause
}

// attach makes other goroutines, and a shutdown, wake the engine from now on. Not earlier: the
// engine must already have this protocol. mu is held before and after it, and not meanwhile.
func (c *EventConn) attach() {
	c.state |= eventAttached
	c.mu.Unlock()
	(*Server)(c.engineConn().Set.Host.(*host)).switched.add(c)
	c.mu.Lock()
	c.limitEnd()
}

// isHeld reports whether the output waits for the end of a callback. mu is held.
func (c *EventConn) isHeld() bool { return c.is(eventCorked) && c.output == eventQuiet }

// checkTime finds out whether Tick is due. mu is held.
func (c *EventConn) checkTime() {
	if c.tickAt != 0 && c.tickAt.left() <= 0 {
		c.tickAt = 0
		c.state |= eventTicks
	}
}

// hasRoom makes room for more input, and reports whether there is any. mu is held, and the
// caller is the engine, which does not use the buffer at the moment.
func (c *EventConn) hasRoom() bool {
	f := c.flow
	if f == nil || f.in == nil {
		return true
	}
	room := cap(f.in.B) - len(f.in.B)
	if c.is(eventTaken) {
		return room > 0
	}
	rest := c.pending()
	seen := len(rest) <= f.stuck && !c.returns
	switch {
	case len(rest) == 0 && f.full && cap(f.in.B) < maxEventInput:
		c.dropInput()
		return true
	case seen && len(rest) >= maxEventInput:
		if c.setFailed(ErrInputNotConsumed) {
			c.engineConn().Abort()
		}
		return false
	case !seen && len(rest) > maxEventInput+headSpace:
		// the handler has to see it first: no other input may arrive after it
		return false
	case room >= minSpace:
		return true
	case f.read > 0:
		f.in.B = f.in.B[:copy(f.in.B, rest)]
		f.read = 0
	}
	if cap(f.in.B)-len(f.in.B) >= minSpace {
		return true
	}
	if !seen {
		return false
	}
	f.in.Grow(max(cap(f.in.B), minSpace))
	return true
}

// dropInput releases the buffer for input. mu is held.
func (c *EventConn) dropInput() {
	f := c.flow
	bufpool.Put(f.in)
	f.in, f.read, f.stuck = nil, 0, 0
}

// shrinkInput moves a small rest from a large buffer to one of its size: the next bytes may
// arrive late. mu is held.
func (c *EventConn) shrinkInput() {
	f, rest := c.flow, c.pending()
	if len(rest) > f.stuck {
		return
	}
	size := max(len(rest)+minSpace, c.usualReadSize())
	if size > cap(f.in.B)/4 {
		return
	}
	b := bufpool.Get(size)
	b.B = append(b.B, rest...)
	bufpool.Put(f.in)
	f.in, f.read = b, 0
}

// trim releases memory not in use. mu is held.
func (c *EventConn) trim() {
	f := c.flow
	if f == nil || c.is(eventTaken|eventReading) {
		return
	}
	if f.in != nil && f.read == len(f.in.B) {
		c.dropInput()
	}
	if f.in != nil && cap(f.in.B) >= maxEventInput {
		c.shrinkInput()
	}
	if f.in == nil && len(f.parts) == 0 {
		f.full, f.sent = false, 0
		c.flow = nil
		eventFlows.Put(f)
	}
}

// Output implements engine.Protocol.
func (p *switchedConn) Output() (head, tail []byte, file *engine.FilePart) {
	c := (*EventConn)(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.hasOutput() || c.is(eventFailed) {
		c.output = eventQuiet
		if c.is(eventClosing|eventFailed) && !c.is(eventGone) {
			// the goroutine that waits for input must end the connection
			c.link.Interrupt()
		}
		return nil, nil, nil
	}
	c.output = eventWriting
	f := c.flow
	part := &f.parts[f.first]
	tail = part.shared
	if part.buf != nil {
		head = part.buf.B[min(f.sent, len(part.buf.B)):]
		tail = tail[max(f.sent-len(part.buf.B), 0):]
	} else {
		tail = tail[f.sent:]
	}
	if len(head) == 0 {
		head, tail = tail, nil
	}
	if len(head) >= maxEventPart {
		return head[:c.writeSize(len(head))], nil, nil
	}
	return head, tail[:min(len(tail), maxEventPart)], nil
}

// writeSize returns how many of n bytes, which are at least maxEventPart, are written at once.
// Where a write waits for the peer, no more than that counts as taken in the time for it.
func (c *EventConn) writeSize(n int) int {
	if n <= maxEventPart+headSpace && !c.engineConn().HasReadGoroutine {
		return n
	}
	return maxEventPart
}

// Written implements engine.Protocol.
func (p *switchedConn) Written(n int64, err error) {
	c := (*EventConn)(p)
	c.mu.Lock()
	if f := c.flow; f != nil && !c.is(eventGone) {
		c.queued.Add(-uint32(n))
		c.signalProgress()
		f.sent += int(n)
		c.dropWritten()
	}
	if !c.hasOutput() {
		c.output = eventQuiet
	}
	if err != nil {
		c.state |= eventFailed
		c.setErr(err)
		c.signalProgress()
	}
	works := c.checkDrained()
	c.mu.Unlock()
	if err != nil {
		c.engineConn().Abort()
	}
	if works {
		go c.work(false)
	}
}

// maxKeptParts is how long a list of parts may be to be reused.
const maxKeptParts = 256

// dropWritten removes the parts of the output that were written. mu is held.
func (c *EventConn) dropWritten() {
	f := c.flow
	for f.first < len(f.parts) {
		part := &f.parts[f.first]
		if f.sent < part.size() {
			break
		}
		f.sent -= part.size()
		bufpool.Put(part.buf)
		*part = eventPart{}
		f.first++
	}
	switch {
	case f.first == len(f.parts):
		if f.parts, f.first = f.parts[:0], 0; cap(f.parts) > maxKeptParts {
			f.parts = nil
		}
		c.trim()
	case f.first > len(f.parts)/2:
		kept := copy(f.parts, f.parts[f.first:])
		clear(f.parts[kept:])
		f.parts, f.first = f.parts[:kept], 0
	}
}

// Idle implements engine.Protocol. The connection keeps its protocol.
func (p *switchedConn) Idle() bool { return false }

// Wait implements engine.Protocol.
func (p *switchedConn) Wait(w engine.Wait) (until time.Time) {
	c := (*EventConn)(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	if w == engine.WaitWritable {
		return c.writeUntil()
	}
	if !c.engineConn().HasReadGoroutine {
		c.state &^= eventReading
		c.trim()
	}
	if c.armed = c.tickAt; c.armed == 0 {
		return time.Time{}
	}
	return time.Now().Add(c.armed.left())
}

// writeUntil returns the deadline of a write that begins now. It stays the same for an eighth of
// the timeout, since changing it for each write costs something.
func (c *EventConn) writeUntil() time.Time {
	if c.writeTimeout == 0 {
		return time.Time{}
	}
	timeout := time.Duration(c.writeTimeout) * time.Millisecond
	step := timeout/8 + 1
	return clock.Began.Add((clock.Monotonic() + timeout + step).Truncate(step))
}

// Yield implements engine.Protocol.
func (p *switchedConn) Yield() (w engine.Wait, until time.Time) {
	c := (*EventConn)(p)
	c.mu.Lock()
	w = engine.WaitInput
	if c.hasOutput() {
		w = engine.WaitWritable
	}
	c.mu.Unlock()
	return w, p.Wait(w)
}

// DeadlineExceeded implements engine.Protocol. It does nothing, since Step checks the time.
func (p *switchedConn) DeadlineExceeded() {}

// Hijack implements engine.Protocol. It is not used, since Step never returns that action.
func (p *switchedConn) Hijack() (take func(nc net.Conn, err error)) {
	return func(net.Conn, error) {}
}

// Abandoned implements engine.Protocol.
func (p *switchedConn) Abandoned() { _ = (*EventConn)(p).release(false) }

// release is called when the engine leaves the connection. Its memory is reused if reuse is set.
// It returns the error that has ended the connection early, or nil.
func (c *EventConn) release(reuse bool) error {
	(*Server)(c.engineConn().Set.Host.(*host)).switched.remove(c)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state |= eventGone
	if c.rare != nil && c.rare.endTimer != nil {
		c.rare.endTimer.Stop()
	}
	c.signalProgress()
	if f := c.flow; f != nil {
		if reuse && (c.output == eventQuiet || !c.engineConn().HasReadGoroutine) {
			// no other goroutine writes it
			for _, part := range f.parts[f.first:] {
				bufpool.Put(part.buf)
			}
		}
		f.parts, f.first, f.sent = nil, 0, 0
		c.queued.Store(0)
		switch {
		case !reuse:
			c.flow = nil
		case !c.is(eventTaken):
			c.state &^= eventReading
			c.dropInput()
			c.trim()
		}
	}
	if !c.is(eventWorking | eventEnded) {
		go c.work(false)
	}
	switch err := c.err(); err {
	case io.EOF, errEventClosed, errEventLate:
		return nil
	default:
		return err
	}
}

// HasWork implements engine.Worker.
func (p *switchedConn) HasWork() bool {
	c := (*EventConn)(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.is(eventWorking) && c.nextCall() != eventCallNone
}

// Work implements engine.Worker.
func (p *switchedConn) Work() { (*EventConn)(p).work(false) }
