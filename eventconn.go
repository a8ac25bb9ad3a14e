package fasthttp

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp/internal/bufpool"
	"github.com/valyala/fasthttp/internal/clock"
	"github.com/valyala/fasthttp/internal/engine"
)

// EventHandler is the protocol that a connection speaks after RequestCtx.SwitchProtocols. A
// Server calls its methods when something happens on the connection: no goroutine belongs to
// the connection in between on the event engine, nor does a buffer.
//
// The methods are called one after the other, by changing goroutines. They may block:
// meanwhile output is still sent, and input is received until a buffer is full. Then the peer
// has to wait. They may call all methods of the EventConn. A panic in one of them is logged and
// resets the connection.
type EventHandler interface {
	// Opened is called once, before the other methods, when the response to the request was
	// sent.
	Opened(c *EventConn)

	// Received consumes bytes from the beginning of p, and returns how many. The rest is
	// passed again, together with further bytes, once more have arrived. p is only valid
	// until Received returns; Received may change it. A handler that needs more than 64 KiB
	// to consume any must collect them itself: otherwise the connection ends with
	// ErrInputNotConsumed.
	Received(c *EventConn, p []byte) (n int)

	// Drained is called after NotifyDrained, once the peer has taken enough of the output.
	Drained(c *EventConn)

	// Tick is called at the time set with SetTick.
	Tick(c *EventConn)

	// ShuttingDown is called once if the server shuts down. Shutdown waits until the
	// connection has ended, so the handler has to end it.
	ShuttingDown(c *EventConn)

	// Ended is called once, after all other methods. err is nil after Close, io.EOF if the peer
	// has ended the connection, net.ErrClosed after Abort, or the error that ended the
	// connection. Afterwards nothing refers to the EventConn any more.
	Ended(c *EventConn, err error)
}

// EventConn is a connection after RequestCtx.SwitchProtocols. It is usually a field of the
// struct that implements the EventHandler, so that both are one allocation. An EventConn must
// not be copied, nor used for another connection. All methods may be called concurrently, and
// none of them waits for the peer. Its zero value is ready for SwitchProtocols; output appended
// earlier is sent after the response.
type EventConn struct {
	mu      sync.Mutex
	link    engine.Link
	handler EventHandler
	flow    *eventFlow // nil if there is neither input nor output

	rare *eventRare // nil until it is needed

	next, prev *EventConn // in the list of the server; its lock guards them

	tickAt       eventTime // when Tick is due
	armed        eventTime // the same, as the engine knows it
	writeTimeout uint32    // in milliseconds; 0 for none
	queued       atomic.Uint32
	state        eventState
	output       eventOutput
	returns      bool   // the connection speaks HTTP again after Ended, and keeps its input for that
	users        uint16 // goroutines that may make the engine ask for output, if returns is set
}

// eventRare is the state that only some of the connections have.
type eventRare struct {
	err       error         // why the connection has ended
	low       uint32        // at how many bytes of output Drained is called
	left      uint32        // how much output waited when limitEnd last looked
	progress  chan struct{} // closed when output was written; nil if nothing waits for that
	corkTimer *time.Timer   // of Cork, or nil
	endTimer  *time.Timer   // of EndAfter or limitEnd, or nil
}

// eventTime is a time of clock.Monotonic in milliseconds, which wraps around after seven weeks;
// 0 is no time.
type eventTime uint32

// maxEventTime is how far a time may be ahead: a little less than half of the way around.
const maxEventTime = 24 * 24 * time.Hour

// eventTimeAfter returns the time after d.
func eventTimeAfter(d time.Duration) eventTime {
	d = min(d, maxEventTime)
	return max(eventTime((clock.Monotonic() + d + time.Millisecond - 1).Milliseconds()), 1)
}

// left returns how long it is until t.
func (t eventTime) left() time.Duration {
	now := clock.Monotonic()
	return time.Duration(int32(t-eventTime(now.Milliseconds())))*time.Millisecond - now%time.Millisecond
}

// before reports whether t is before u. Neither is 0.
func (t eventTime) before(u eventTime) bool { return int32(t-u) < 0 }

// eventState is a set of facts about an EventConn.
type eventState uint32

const (
	eventAttached eventState = 1 << iota // the engine has begun to call the protocol
	eventOpened                          // Opened was called
	eventWorking                         // a goroutine calls the handler
	eventTaken                           // Received is using the input
	eventReading                         // the engine may be using the rest of the input buffer
	eventPaused                          // the engine waits for room in the input buffer
	eventCorked                          // output waits for the end of the callback
	eventCorkRuns                        // the timer for that runs
	eventTicks                           // Tick is due
	eventStops                           // the server shuts down
	eventStopSent                        // ShuttingDown was called
	eventNotifies                        // Drained is to be called
	eventDrained                         // Drained is due
	eventEOF                             // nothing more will arrive
	eventClosing                         // Close was called
	eventFailed                          // the connection is to be ended at once
	eventEnded                           // Ended was called
	eventReturned                        // Ended has returned
	eventGone                            // the engine has left the connection
	eventMuch                            // the last reads have filled a buffer, so the next one may
)

// engineConn returns the connection as the engine knows it. It must have switched.
func (c *EventConn) engineConn() *engine.Conn { return c.link.State() }

// is reports whether one of the facts in s is true.
func (c *EventConn) is(s eventState) bool { return c.state&s != 0 }

// eventOutput is the state of the output.
type eventOutput uint8

const (
	eventQuiet   eventOutput = iota // the engine was not woken, and does not write
	eventWoken                      // the engine was woken, or is about to be
	eventWriting                    // the engine writes
)

// eventFlow has the input and output of an EventConn.
type eventFlow struct {
	in    *bufpool.Buffer // received; the bytes before read are consumed
	read  int
	stuck int  // how many of the rest the handler has seen without consuming them
	full  bool // the last read has filled the buffer

	parts []eventPart // the output, from first on
	first int
	sent  int // bytes of the first part that were written
}

// eventPart is a part of the output: first buf, and then shared, which others may use as well.
type eventPart struct {
	buf    *bufpool.Buffer
	shared []byte
}

func (p *eventPart) size() int {
	if p.buf == nil {
		return len(p.shared)
	}
	return len(p.buf.B) + len(p.shared)
}

const (
	// maxEventInput is how many bytes a handler may leave unconsumed, and the size of the
	// buffer while much arrives.
	maxEventInput = 64 << 10
	// maxEventPart is the size up to which a buffer for output grows. Larger output begins
	// another one.
	maxEventPart = 64 << 10
	// headSpace is the room for the head of 64 KiB, so that a read or write takes both.
	headSpace = 1 << 10
	// minShared is the size from which on AppendShared does not copy bytes that have to wait.
	minShared = 1 << 10
	// maxQueued is how much output an EventConn holds.
	maxQueued = 1 << 30
	// endTimeout is how long the peer may take to accept 64 KiB of the last output, if neither
	// SetWriteTimeout nor the server sets another time.
	endTimeout = 30 * time.Second
	// corkTime is how long output waits for the end of a callback.
	corkTime = 2 * time.Millisecond
)

var eventFlows = sync.Pool{New: func() any { return new(eventFlow) }}

// SwitchProtocols makes the connection speak another protocol than HTTP (RFC 9110 section 7.8)
// once the RequestHandler has returned and the response was sent: usually a 101 (Switching
// Protocols) with an Upgrade field, or a 2xx to CONNECT, which the RequestHandler sets. From
// then on h gets all bytes that arrive, including the bytes that the client has sent after its
// request. SwitchProtocols panics if c was used before.
//
// It differs from Hijack in that no goroutine serves the connection, see EventHandler, and that
// the connection still belongs to the server: it counts for Concurrency and MaxConnsPerIP,
// Server.ConnState reports it as active until it is closed, and Shutdown and ServeConn wait for
// its end. The timeouts and limits of the server for requests and responses do not apply to it,
// except for WriteTimeout at its end: see EventConn.Close.
//
// The request ends when the response was sent: h must not use ctx. No method of h is called if
// Hijack would not call its handler, nor by code that calls a RequestHandler without a Server.
//
// With HTTP/2 the connection is the stream of the request, which must be a CONNECT or an extended
// CONNECT, see ConnectProtocol, with a 2xx response; otherwise the response is a 501 instead. A
// goroutine and a buffer then belong to the connection, it counts as a stream instead of a
// connection, and ConnState does not report it. Abort resets the stream.
func (ctx *RequestCtx) SwitchProtocols(c *EventConn, h EventHandler) {
	c.mu.Lock()
	if c.handler != nil {
		c.mu.Unlock()
		panic("fasthttp: SwitchProtocols with an EventConn that was used before")
	}
	c.handler = h
	c.mu.Unlock()
	ctx.hijack, ctx.hijackNoResponse, ctx.hijackReleases = refuseSwitched, false, false
	ctx.switched = c
}

// refuseSwitched is the HijackHandler after SwitchProtocols for code without a Server.
func refuseSwitched(nc net.Conn) { _ = nc.Close() }

// errEventClosed is the error of methods that need an open connection.
var errEventClosed = fmt.Errorf("fasthttp: %w", net.ErrClosed)

// ErrInputNotConsumed ends a connection whose EventHandler has not consumed anything of 64 KiB.
var ErrInputNotConsumed = fmt.Errorf("fasthttp: an EventHandler has consumed none of %d bytes", maxEventInput)

// errEventLate is the error of EndAfter.
var errEventLate = fmt.Errorf("fasthttp: a connection has not ended in time: %w", os.ErrDeadlineExceeded)

// errEventPanic ends a connection whose handler has panicked.
var errEventPanic = errors.New("fasthttp: an EventHandler has panicked")

// errEventOverflow is the error of Append if the output is too large.
var errEventOverflow = fmt.Errorf("fasthttp: more than %d bytes of output wait", maxQueued)

// more returns the rare state, which it creates if there is none. mu is held.
func (c *EventConn) more() *eventRare {
	if c.rare == nil {
		c.rare = new(eventRare)
	}
	return c.rare
}

// err returns why the connection has ended, or nil. mu is held.
func (c *EventConn) err() error {
	if c.rare == nil {
		return nil
	}
	return c.rare.err
}

// setErr records why the connection ends, unless there is a reason already. mu is held.
func (c *EventConn) setErr(err error) {
	if x := c.more(); x.err == nil {
		x.err = err
	}
}

// SetTick makes the server call Tick of the EventHandler after d, instead of at the time set
// before. If d is 0 or less, it is not called. The resolution is a few
// milliseconds, and the maximum is 24 days. Tick may be late while output waits for the peer: it is
// for EndAfter to end a connection whose peer takes none.
func (c *EventConn) SetTick(d time.Duration) {
	c.mu.Lock()
	c.tickAt = 0
	if d > 0 {
		c.tickAt = eventTimeAfter(d)
	}
	rouses := c.is(eventAttached) && !c.is(eventWorking|eventGone) && c.isLate()
	c.mu.Unlock()
	if rouses {
		go c.rouse()
	}
}

// isLate reports whether the engine would call too late for the next Tick. mu is held.
func (c *EventConn) isLate() bool {
	return c.tickAt != 0 && (c.armed == 0 || c.tickAt.before(c.armed))
}

// EndAfter makes the connection end after d at the latest, as Abort does, even if a method of
// the EventHandler blocks or output waits: the error is os.ErrDeadlineExceeded. If d is 0 or
// less, there is no such limit any more. It replaces the limit that Close describes.
func (c *EventConn) EndAfter(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.rare != nil && c.rare.endTimer != nil {
		c.rare.endTimer.Stop()
		c.rare.endTimer = nil
	}
	if d > 0 && !c.is(eventGone) {
		c.more().endTimer = time.AfterFunc(d, func() { c.fail(errEventLate) })
		return
	}
	c.limitEnd()
}

// limitEnd limits how long the last output may wait for the peer once the connection is about to
// end: the handler does not look after it any more. mu is held.
func (c *EventConn) limitEnd() {
	switch {
	case !c.is(eventClosing|eventEnded) || !c.is(eventAttached) || c.is(eventFailed|eventGone):
		return
	case !c.hasOutput() || c.rare != nil && c.rare.endTimer != nil:
		return
	}
	timeout := endTimeout
	if c.writeTimeout > 0 {
		timeout = time.Duration(c.writeTimeout) * time.Millisecond
	} else if t := (*Server)(c.engineConn().Set.Host.(*host)).WriteTimeout; t > 0 {
		timeout = t
	}
	x := c.more()
	x.left = c.queued.Load()
	var timer *time.Timer
	timer = time.AfterFunc(timeout, func() {
		c.mu.Lock()
		left, resets := c.queued.Load(), false
		switch {
		case x.endTimer != timer || c.is(eventGone) || left == 0:
		case x.left-left < maxEventPart:
			resets = c.setFailed(errEventLate)
		default:
			x.left = left
			timer.Reset(timeout)
		}
		c.mu.Unlock()
		if resets {
			c.reset()
		}
	})
	x.endTimer = timer
}

// SetWriteTimeout limits how long the peer may take to accept 64 KiB of output. The connection
// ends when that time, or up to an eighth more, is over. If d is 0 or less, which is the default,
// there is no limit before Close. It applies to waits that begin later. A server should set it:
// while a peer takes no output, its input is not received, so that the end of that may not be
// noticed either.
func (c *EventConn) SetWriteTimeout(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.writeTimeout = uint32(min(max(d, 0), maxEventTime).Milliseconds())
	if d > 0 {
		c.writeTimeout = max(c.writeTimeout, 1)
	}
}

// Close ends the connection after all output was sent. Bytes that arrive from now on are
// discarded. From Close on, and from Ended on at the end of the input, the connection ends as with
// EndAfter if the peer takes less than 64 KiB, and not all, of the output in the time of
// SetWriteTimeout, or of Server.WriteTimeout if that is not set, or in 30 seconds if neither is.
// The error is always nil.
func (c *EventConn) Close() error {
	c.mu.Lock()
	rouses := !c.is(eventClosing|eventGone) && c.is(eventAttached)
	c.state |= eventClosing
	c.limitEnd()
	c.mu.Unlock()
	if rouses {
		go c.rouse()
	}
	return nil
}

// Abort ends the connection at once: the peer gets a reset.
func (c *EventConn) Abort() { c.fail(errEventClosed) }

// fail resets the connection because of err.
func (c *EventConn) fail(err error) {
	c.mu.Lock()
	resets := c.setFailed(err)
	c.mu.Unlock()
	if resets {
		c.reset()
	}
}

// setFailed records that the connection has failed. It reports whether the caller must call
// reset. mu is held.
func (c *EventConn) setFailed(err error) (resets bool) {
	resets = !c.is(eventFailed|eventGone) && c.is(eventAttached)
	c.state |= eventFailed
	c.setErr(err)
	c.signalProgress()
	return resets
}

// reset makes the engine reset the connection. Where a goroutine may be waiting for the peer, it ends the
// connection below the engine, which finds out when it reads or writes.
func (c *EventConn) reset() {
	e := c.engineConn()
	e.Abort()
	if t, ok := e.NC.(tunnel); ok {
		_ = t.Reset()
	} else if e.HasReadGoroutine {
		_ = e.CloseAborted()
	}
	go c.rouse()
}

// RemoteAddr returns the address of the client. It is never nil. Once the connection has ended,
// it may be 0.0.0.0 if it was not called before.
func (c *EventConn) RemoteAddr() net.Addr {
	if nc := c.netConn(); nc != nil {
		if addr := nc.RemoteAddr(); addr != nil {
			return addr
		}
	}
	return zeroTCPAddr
}

// LocalAddr returns the server's address of the connection, in the same way.
func (c *EventConn) LocalAddr() net.Addr {
	if nc := c.netConn(); nc != nil {
		if addr := nc.LocalAddr(); addr != nil {
			return addr
		}
	}
	return zeroTCPAddr
}

// TLSConnectionState returns the state of a TLS connection, or nil for another connection.
func (c *EventConn) TLSConnectionState() *tls.ConnectionState {
	switch over := c.netConn().(type) {
	case tunnel:
		return over.tlsState()
	case connTLSer:
		state := over.ConnectionState()
		return &state
	}
	return nil
}

// netConn returns the connection, or nil before Opened.
func (c *EventConn) netConn() net.Conn {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.link == nil {
		return nil
	}
	return c.engineConn().NC
}

// eventCall is a method of an EventHandler.
type eventCall uint8

const (
	eventCallNone eventCall = iota
	eventCallOpened
	eventCallReceived
	eventCallDrained
	eventCallTick
	eventCallShuttingDown
	eventCallEnded
)

// nextCall returns the method of the handler to be called next. mu is held.
func (c *EventConn) nextCall() eventCall {
	switch {
	case c.is(eventEnded):
		return eventCallNone
	case !c.is(eventOpened):
		return eventCallOpened
	case c.is(eventFailed|eventGone) || c.is(eventClosing) && !c.hasOutput():
		return eventCallEnded
	case c.is(eventClosing):
		return eventCallNone
	case c.is(eventDrained):
		return eventCallDrained
	case c.is(eventStops) && !c.is(eventStopSent):
		return eventCallShuttingDown
	case c.flow != nil && len(c.pending()) > c.flow.stuck:
		return eventCallReceived
	case c.is(eventTicks):
		return eventCallTick
	case c.is(eventEOF):
		return eventCallEnded
	}
	return eventCallNone
}

// work calls the methods of the handler until there is nothing more to do. One goroutine does
// so at a time. If inStep is set, the caller is Step, which holds mu, and the engine continues
// afterwards.
func (c *EventConn) work(inStep bool) {
	if !inStep {
		c.mu.Lock()
		defer c.mu.Unlock()
	}
	if c.is(eventWorking) {
		return
	}
	c.state |= eventWorking
	ended := false
	for {
		call := c.nextCall()
		if call == eventCallNone {
			if inStep || !c.rouseAfter(ended) {
				break
			}
			ended = false
			continue
		}
		ended = ended || call == eventCallEnded
		c.handle(call)
	}
	c.state &^= eventWorking
	if c.is(eventGone) && !c.returns && c.flow != nil {
		c.dropInput()
	}
	c.trim()
}

// rouseAfter makes the engine continue after calls of the handler, if there is a reason:
// output, room in the input buffer, an earlier Tick, or the end of the connection. It reports
// whether there was one. mu is held before and after it, and not meanwhile.
func (c *EventConn) rouseAfter(ended bool) bool {
	if c.is(eventGone) {
		return false
	}
	wakes, steps := c.wakes(), ended || c.is(eventPaused) || c.isLate()
	c.state &^= eventPaused
	if c.isLate() {
		c.armed = c.tickAt
	}
	if !wakes && !steps {
		return false
	}
	c.wake(steps)
	return true
}

// handle calls a method of the handler. mu is held before and after it, and not during the
// call.
func (c *EventConn) handle(call eventCall) {
	var p []byte
	err := c.err()
	switch call {
	case eventCallOpened:
		c.state |= eventOpened
	case eventCallDrained:
		c.state &^= eventDrained
	case eventCallTick:
		c.state &^= eventTicks
	case eventCallShuttingDown:
		c.state |= eventStopSent
	case eventCallEnded:
		c.state |= eventEnded
		if c.is(eventClosing) && !c.is(eventFailed) {
			err = nil
		}
		c.limitEnd()
	case eventCallReceived:
		p = c.pending()
		c.state |= eventTaken
	}
	if c.engineConn().HasReadGoroutine {
		c.state |= eventCorked
	}
	c.mu.Unlock()
	n := c.call(call, p, err)
	c.mu.Lock()
	c.state &^= eventTaken | eventCorked
	if call == eventCallEnded {
		c.state |= eventReturned
	}
	if c.is(eventCorkRuns) && c.rare.corkTimer.Stop() {
		c.state &^= eventCorkRuns
	}
	if f := c.flow; p != nil && f != nil && f.in != nil {
		n = min(max(n, 0), len(p))
		f.read += n
		f.stuck = len(p) - n
	}
}

// call calls a method of the handler. A panic ends the connection.
func (c *EventConn) call(call eventCall, p []byte, err error) (n int) {
	returned := false
	defer func() {
		if !returned {
			c.callFailed(recover())
		}
	}()
	switch h := c.handler; call {
	case eventCallOpened:
		h.Opened(c)
	case eventCallReceived:
		n = h.Received(c, p)
	case eventCallDrained:
		h.Drained(c)
	case eventCallTick:
		h.Tick(c)
	case eventCallShuttingDown:
		h.ShuttingDown(c)
	case eventCallEnded:
		h.Ended(c, err)
	}
	returned = true
	return n
}

// callFailed ends the connection after a method of the handler has panicked or ended its
// goroutine.
func (c *EventConn) callFailed(panicked any) {
	c.fail(errEventPanic)
	if panicked != nil {
		(*Server)(c.engineConn().Set.Host.(*host)).logPanic(c.engineConn(), panicked)
		return
	}
	// the goroutine ends, and another one must continue; the callers unlock mu
	c.mu.Lock()
	c.state &^= eventWorking | eventTaken | eventCorked
	go c.work(false)
}
