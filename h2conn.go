package fasthttp

import (
	"io"
	"net"
	"sync"
	"time"

	"github.com/valyala/fasthttp/internal/bufpool"
	"github.com/valyala/fasthttp/internal/clock"
	"github.com/valyala/fasthttp/internal/engine"
	"github.com/valyala/fasthttp/internal/header"
	"github.com/valyala/fasthttp/internal/http2"
	"github.com/valyala/fasthttp/internal/http2body"
	"github.com/valyala/fasthttp/internal/lockorder"
	"github.com/valyala/fasthttp/internal/workers"
)

// h2Conn is a server's HTTP/2 connection: an http2.Conn, its input and output, and an exchange
// for each request. It is the engine.Protocol that an engine drives: Step passes received bytes
// to the http2.Conn, and its events to the exchanges. Handlers run on the goroutines of Work
// (h2conn_work.go), which put responses into the http2.Conn and wake the engine.
//
// An idle connection has an h2Conn, but no buffer.
type h2Conn struct {
	s    *Server
	c    *engine.Conn
	link engine.Link

	in   *bufpool.Buffer // received; the bytes before read are consumed
	read int

	// mu guards the fields below, and some of h2Exchange. But lastTick, lastRead, hears, pingSent,
	// opening, paused, now and waited are used only by the goroutine that drives the protocol.
	mu         lockorder.Mutex[lockorder.H2Conn]
	conn       http2.Conn
	out        *bufpool.Buffer // being written; the bytes before sent were written
	sent       int
	fills      bool // the last write was full, so the next one may be larger
	output     h2Output
	input      h2Input
	leadQueued bool   // a worker will call Work, because decide has asked for it
	reporting  bool   // a goroutine reports states, see reportStates
	unreported uint32 // how many states since the last reported one
	fault      error  // why the connection ended early, or nil

	first        *h2Exchange // the exchanges that were not released, linked by their after
	free         *h2Exchange // exchanges for other requests, linked by their next
	queue        h2Queue     // the exchanges to be served
	waiting      int32       // how many exchanges are in queue
	running      int32       // how many goroutines serve exchanges
	leader       uint32      // the number of the goroutine that serves the queue alone, or 0
	leaders      uint32      // how many leaders there have been
	leaderServed uint32      // how many exchanges leaders have begun to serve: their progress
	idleSince    uint32      // since when there has been no request
	leaderStall  workers.Stall
	heldBytes    int // bytes of responses that wait until the leader has served more

	lastTick uint32 // when look was last called, in milliseconds of h2Now
	lastRead uint32 // when bytes last arrived
	hears    h2Hearing
	// pingSent, shutdownAged and paused belong to no phase: pingSent only qualifies lastRead, and
	// any input answers it; shutdownAged qualifies conn.Life; and paused is conn.Paused as it was
	// when feed stopped: it stays set when the output has been written, until feed continues.
	pingSent     bool // a PING was sent since lastRead, to check whether the peer is alive
	shutdownAged bool // Shutdown was called about a second ago, or earlier
	paused       bool // feed has stopped because too much output waits
	opening      h2Opening
	activity     h2Activity
	freeCount    uint8 // how many exchanges the connection has put into free

	reported chan struct{}      // closed when nothing reports states any more, if release waits for that
	start    *header.BlockStart // of the last usual response, or nil
	now      clock.Moment       // when the bytes being fed arrived
	waited   time.Duration      // how long they had waited before, if it matters and is known
}

// newH2Conn makes a connection speak HTTP/2 from now on.
func newH2Conn(s *Server, c *engine.Conn, l engine.Link) *h2Conn {
	h := &h2Conn{s: s, c: c, link: l}
	// handlers may use c after the end of the connection, see release
	c.MarkEscaped()
	c.Concurrent, c.Variant = true, variantHTTP2
	now := h2Now()
	h.lastTick, h.lastRead, h.idleSince = now, now, now
	h.conn.Init(http2.Server, &s.h2.limits, now)
	return h
}

// h2Now returns the time in milliseconds since an arbitrary moment.
func h2Now() uint32 { return uint32(clock.Monotonic().Milliseconds()) }

// pending returns the bytes that were received and not yet consumed.
func (h *h2Conn) pending() []byte {
	if h.in == nil {
		return nil
	}
	return h.in.B[h.read:]
}

var _ http2body.Side = (*h2Conn)(nil)

// Lock implements http2body.Side.
func (h *h2Conn) Lock() { h.mu.Lock() }

// Unlock implements http2body.Side.
func (h *h2Conn) Unlock() { h.mu.Unlock() }

// HTTP2 implements http2body.Side.
func (h *h2Conn) HTTP2() *http2.Conn { return &h.conn }

// Wakes implements http2body.Side. It reports whether the caller, which has made output, must
// call Wake, or Wake of the link, after releasing mu.
func (h *h2Conn) Wakes() bool {
	if h.output != h2NoOutput || h.input == h2Detached || !h.conn.HasOutput() && !h.conn.Done() {
		return false
	}
	h.output = h2Woken
	return true
}

// add adds an exchange to the connection's list, and remove removes it. mu is held. The caller
// calls reportStates after it has released mu.
func (h *h2Conn) add(x *h2Exchange) {
	if h.activity != h2Busy {
		h.move(h2FirstBegins)
	}
	x.after = h.first
	if h.first != nil {
		h.first.before = x
	}
	h.first = x
}

func (h *h2Conn) remove(x *h2Exchange) {
	if x.before != nil {
		x.before.after = x.after
	} else {
		h.first = x.after
	}
	if x.after != nil {
		x.after.before = x.before
	}
	x.before, x.after = nil, nil
	if h.first == nil {
		h.idleSince = h2Now()
		h.move(h2LastEnds)
	}
}

// startGoAway starts a graceful shutdown of the connection, unless it has started: a second Shutdown
// would not wait for the peer. mu is held.
func (h *h2Conn) startGoAway() {
	if h.conn.Life() == http2.LifeOpen {
		h.conn.Shutdown()
	}
}

// shutdown starts a graceful shutdown of the connection, because the server shuts down.
func (h *h2Conn) shutdown() {
	h.mu.Lock()
	h.startGoAway()
	wake := h.Wakes()
	h.mu.Unlock()
	if wake {
		h.link.Wake()
	}
	// a goroutine that waits for input must check the time from now on
	h.link.Interrupt()
}

// end ends all requests, because the connection has failed or the peer is gone. input is the
// new state of the input, unless that is further on.
func (h *h2Conn) end(input h2Input) {
	h.mu.Lock()
	if h.input < input {
		h.input = input
	}
	h.conn.Close(http2.NoError)
	var ended []*h2Exchange
	for x := h.first; x != nil; x = x.after {
		ended = append(ended, x)
	}
	over := ended[:0]
	for _, x := range ended {
		if x.abort(errStreamConnEnded) {
			over = append(over, x)
		}
	}
	h.mu.Unlock()
	for _, x := range over {
		h.s.h2.workers.Do(h2Task{h2Release, nil, x})
	}
}

var _ engine.Protocol = (*h2Conn)(nil)

const (
	// h2SmallOutput is the size of a write at first, and h2LargeOutput while writes are full.
	h2SmallOutput = 16 << 10
	h2LargeOutput = 64 << 10
	// h2TickInterval is how often a connection calls look, in milliseconds.
	h2TickInterval = 1000
)

// h2Messages is the pool of the messages into which header sections are read.
var h2Messages = sync.Pool{New: func() any { return new(http2.Message) }}

// ReadBuffer implements engine.Protocol.
func (h *h2Conn) ReadBuffer() []byte {
	if h.in == nil {
		h.in = bufpool.Get(h.s.set.readSize)
	}
	b := h.in
	if h.read > 0 && cap(b.B)-len(b.B) < cap(b.B)/2 {
		b.B = b.B[:copy(b.B, b.B[h.read:])]
		h.read = 0
	}
	if cap(b.B)-len(b.B) < minSpace {
		b.Grow(max(cap(b.B), minSpace))
	}
	return b.B[len(b.B):cap(b.B)]
}

// Received implements engine.Protocol.
func (h *h2Conn) Received(n int, a engine.Arrival) {
	h.waited = a.Waited
	h.in.B = h.in.B[:len(h.in.B)+n]
	h.mu.Lock()
	if h.input == h2NoInput {
		h.input = h2Open
		now := h2Now()
		h.lastTick, h.lastRead, h.idleSince = now, now, now
		h.conn.Greet(now)
	}
	h.mu.Unlock()
}

// InputEnded implements engine.Protocol. After a timeout, Step calls look if it is time.
func (h *h2Conn) InputEnded(err error) {
	h.mu.Lock()
	fresh := h.input == h2NoInput
	if isTimeout(err) && !fresh {
		h.mu.Unlock()
		return
	}
	if h.conn.Held() > 0 && err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	if err != io.EOF && !fresh && h.fault == nil {
		h.fault = err
	}
	h.mu.Unlock()
	h.end(h2Ended)
}

// Step implements engine.Protocol. A panic in a hook of the application ends the
// connection.
func (h *h2Conn) Step() (next engine.Action) {
	defer h.recoverPanic(&next)
	if h.opening == h2Unregistered {
		// not earlier: a shutdown wakes the engine, which must already have this protocol
		h.opening.proceedTo(h2AwaitsPreface)
		h.s.h2.add(h)
	}
	at := clock.Monotonic()
	now := uint32(at.Milliseconds()) // as h2Now
	h.hears.end(now)
	feeds := (now-h.lastTick >= h2TickInterval || h.prefaceLeft(now) == 0) && h.tick(now)
	if h.in != nil && h.read < len(h.in.B) {
		h.lastRead, h.pingSent, feeds = now, false, true
	}
	for {
		if feeds {
			h.feed(at, now)
		}
		if next, feeds = h.decide(); !feeds {
			return next
		}
	}
}

// decide returns the next action of the engine after feed. If feeds is true, feed must be
// called again instead.
func (h *h2Conn) decide() (next engine.Action, feeds bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.leader != 0 {
		h.startLeaderTimer(int(h.waiting))
	} else if !h.leadQueued && h.c.HasReadGoroutine && h.hasWork() {
		// the engine's goroutine waits for input, so it cannot serve
		h.leadQueued = true
		h.s.h2.workers.Do(h2Task{h2Lead, h, nil})
	}
	switch {
	case h.output == h2NoOutput && h.conn.Done():
		return engine.Linger, false
	case h.fault != nil && h.input >= h2Ended:
		return engine.Close, false
	case h.conn.HasOutput() || h.output == h2Writing:
		return engine.Flush, false
	case h.conn.Done():
		return engine.Linger, false
	case h.input >= h2Ended:
		return engine.Close, false
	case h.paused && len(h.pending()) > 0 && !h.conn.Paused():
		// another goroutine has written the output because of which feed has stopped
		h.paused = false
		return engine.Read, true
	}
	return engine.Read, false
}

// feed passes the received bytes to conn, and its events to the exchanges, unless nothing is received
// any more. at is the present time by clock.Monotonic, and now by h2Now.
func (h *h2Conn) feed(at time.Duration, now uint32) {
	h.now = clock.MomentOf(at)
	m := h2Messages.Get().(*http2.Message)
	defer h2Messages.Put(m)
	h.mu.Lock()
	if h.input >= h2Ended || h.conn.Life() == http2.LifeClosed {
		h.mu.Unlock()
		return
	}
	for {
		n, ev, err := h.conn.Feed(h.pending(), now, m)
		h.read += n
		x := h.event(&ev, m)
		h.paused = h.conn.Paused()
		h.mu.Unlock()
		ready := false // x is to be served
		if x != nil {
			h.reportStates()
			ready = x.proceed(&ev, m)
		}
		if ev.Err != nil {
			h.s.h2.count(ev.Err)
		}
		if err != nil {
			h.failed(err)
			return
		}
		if n == 0 && ev.Kind == http2.None {
			break
		}
		h.mu.Lock()
		if ready {
			h.enqueue(x)
		}
	}
	if h.in != nil && h.read == len(h.in.B) {
		h.in.B, h.read = h.in.B[:0], 0
	}
}

// failed ends the connection because of a fault of the peer. The connection may have ended
// meanwhile: a write may have failed while received frames were processed.
func (h *h2Conn) failed(err error) {
	h.mu.Lock()
	ended := h.input >= h2Ended
	if h.fault == nil && !ended {
		h.fault = err
	}
	if h.in != nil {
		h.in.B, h.read = h.in.B[:0], 0
	}
	h.mu.Unlock()
	if !ended {
		h.s.h2.count(err)
	}
	h.end(h2Open)
}

// event takes an event of conn. It returns the exchange whose proceed must be called with the
// event after mu is released, or nil.
func (h *h2Conn) event(ev *http2.Event, m *http2.Message) *h2Exchange {
	switch ev.Kind {
	case http2.Headers, http2.TooLarge, http2.Malformed:
		x := h.s.h2.exchange(h, ev.Stream)
		h.add(x)
		x.feeding = true
		if ev.Kind == http2.TooLarge {
			x.refusal, x.method = errStreamLargeHead, m.Head.MethodID
			if m.StoresFields(h.s.h2.limits.Fields) {
				x.refusal = errStreamManyFields
			}
		} else {
			x.fill(m)
			if ev.Err != nil {
				x.refusal = h2RequestError(ev.Err)
			}
		}
		return x
	case http2.Data, http2.Trailers:
		x, _ := ev.Stream.User.(*h2Exchange)
		if x != nil && x.received(ev, m) {
			return x
		}
	case http2.Reset:
		x, _ := ev.Stream.User.(*h2Exchange)
		if x != nil && x.abort(h2Reset{ev.Code, ev.Err}) {
			return x
		}
	}
	return nil
}

// tick checks all time limits, ends late requests or the connection, and releases memory that
// an idle connection does not need. It reports whether feed must be called.
func (h *h2Conn) tick(now uint32) (feeds bool) {
	s := h.s
	h.mu.Lock()
	deaf := h.hears.pause(now - h.lastTick)
	h.lastTick = now
	err := h.conn.Tick(now)
	idle := uint32(s.set.idleTimeout.Milliseconds())
	if h.activity != h2Busy && now-h.idleSince >= h2TickInterval {
		h.trim()
	}
	s.h2.releaseFree(h)
	switch {
	case h.conn.Life() == http2.LifeGoingAway && h.shutdownAged, idle > 0 && h.activity != h2Busy && now-h.idleSince >= idle:
		// the peer has not answered the PING of Shutdown, or has no request
		if h.conn.Life() == http2.LifeOpen {
			h.c.SetEnd(engine.EndTimeout)
		}
		h.conn.Shutdown()
		h.conn.Shutdown()
	case h.conn.Life() == http2.LifeGoingAway:
		h.shutdownAged = true
	}
	if ping := s.HTTP2.SendPingTimeout; ping > 0 && now-h.lastRead >= uint32(ping.Milliseconds()) {
		if !h.pingSent {
			h.pingSent = true
			h.conn.Ping([8]byte{'a', 'l', 'i', 'v', 'e', '?'})
		} else if now-h.lastRead >= uint32((ping + positive(s.HTTP2.PingTimeout, h2WriteTime)).Milliseconds()) {
			err = http2.ErrNoPong
		}
	}
	var over []*h2Exchange
	for x := h.first; x != nil; x = x.after {
		if x.checkDeadlines(x.isSlow(deaf)) {
			over = append(over, x)
		}
	}
	feeds = h.conn.HasLost()
	h.mu.Unlock()
	for _, x := range over {
		x.expired()
	}
	if err != nil {
		h.failed(err)
	}
	return feeds
}

// Output implements engine.Protocol.
func (h *h2Conn) Output() (head, tail []byte, file *engine.FilePart) {
	var over []*h2Exchange
	h.mu.Lock()
	if h.out == nil {
		if !h.conn.HasOutput() {
			h.output = h2NoOutput
			done := h.conn.Done()
			h.mu.Unlock()
			if done {
				// the goroutine that waits for input must end the connection
				h.link.Interrupt()
			}
			return nil, nil, nil
		}
		h.output = h2Writing
		size := h2SmallOutput
		if h.fills {
			size = h2LargeOutput
		}
		h.out = bufpool.Get(size)
		h.out.B = h.conn.Output(h.out.B[:0], size)
		h.fills = len(h.out.B) >= size-http2.MinOutput
		over = h.drained()
	}
	b := h.out.B[h.sent:]
	h.mu.Unlock()
	for _, x := range over {
		h.s.h2.workers.Do(h2Task{h2Release, nil, x})
	}
	return b, nil, nil
}

// drained informs the exchanges whose content was taken, and returns the completed ones. mu is
// held.
func (h *h2Conn) drained() (over []*h2Exchange) {
	for s := h.conn.Drained(); s != nil; s = h.conn.Drained() {
		x, _ := s.User.(*h2Exchange)
		if x == nil {
			continue
		}
		x.taken = s.Sending() == http2.Ended
		if x.phase == h2Sends {
			x.phase = h2Over
			over = append(over, x)
		}
		x.out.ContentSent()
		if x.tunnel != nil {
			x.tunnel.ContentSent()
		}
	}
	return over
}

// Written implements engine.Protocol.
func (h *h2Conn) Written(n int64, err error) {
	h.mu.Lock()
	if h.sent += int(n); h.out != nil && h.sent == len(h.out.B) {
		bufpool.Put(h.out)
		h.out, h.sent = nil, 0
		if !h.conn.HasOutput() {
			h.output = h2NoOutput
		}
	}
	if err != nil && h.fault == nil {
		h.fault = err
	}
	h.mu.Unlock()
	if err != nil {
		h.c.Abort()
		h.end(h2Ended)
	}
}

// Idle implements engine.Protocol. The connection keeps its protocol, which itself ends an idle
// connection.
func (h *h2Conn) Idle() bool { return false }

// Wait implements engine.Protocol.
func (h *h2Conn) Wait(w engine.Wait) (until time.Time) {
	switch w {
	case engine.WaitWritable:
		if !h.c.HasReadGoroutine {
			h.hears.end(h2Now())
		}
		return time.Now().Add(h.s.writeByteTimeout())
	case engine.WaitRequest, engine.WaitUnbuffered:
		return afterTimeout(h.s.set.firstTimeout)
	}
	if h.in != nil && h.read == len(h.in.B) && !h.c.HasReadGoroutine {
		bufpool.Put(h.in)
		h.in, h.read = nil, 0
	}
	now := h2Now()
	h.hears.begin(now)
	left := h.prefaceLeft(now)
	h.mu.Lock()
	defer h.mu.Unlock()
	idle := h.s.set.idleTimeout
	switch {
	case left >= 0:
		return time.Now().Add(time.Duration(min(left+1, h2TickInterval)) * time.Millisecond)
	case h.input == h2NoInput && h.conn.Life() == http2.LifeOpen:
		return afterTimeout(h.s.set.firstTimeout)
	case !h.activity.isTrimmed() || h.conn.Timed() || h.conn.Life() != http2.LifeOpen || h.s.HTTP2.SendPingTimeout > 0:
		return time.Now().Add(h2TickInterval * time.Millisecond)
	case idle > 0:
		left := idle - time.Duration(now-h.idleSince)*time.Millisecond
		return time.Now().Add(max(left, 0) + time.Millisecond)
	}
	return time.Time{}
}

// writeByteTimeout returns how long an HTTP/2 connection may take no bytes: not longer than
// WriteTimeout, after which all waiting responses are late, since tick may not be called meanwhile.
func (s *Server) writeByteTimeout() time.Duration {
	limit := positive(s.HTTP2.WriteByteTimeout, h2WriteTime)
	if s.WriteTimeout > 0 {
		limit = min(limit, max(s.WriteTimeout, h2TickInterval*time.Millisecond))
	}
	return limit
}

// Yield implements engine.Protocol. There may still be no room for output after the turn of the
// others.
func (h *h2Conn) Yield() (w engine.Wait, until time.Time) {
	h.mu.Lock()
	writes := h.output == h2Writing || h.conn.HasOutput()
	h.mu.Unlock()
	w = engine.WaitInput
	if writes {
		w = engine.WaitWritable
	}
	return w, h.Wait(w)
}

// DeadlineExceeded implements engine.Protocol. It does nothing, since Step checks the time.
func (h *h2Conn) DeadlineExceeded() {}

// Hijack implements engine.Protocol. It is not used, since Step never returns that action.
func (h *h2Conn) Hijack() (take func(nc net.Conn, err error)) {
	return func(net.Conn, error) {}
}

// Abandoned implements engine.Protocol.
func (h *h2Conn) Abandoned() { _ = h.release() }

// recoverPanic is deferred. It ends the connection after a panic of a hook.
func (h *h2Conn) recoverPanic(next *engine.Action) {
	p := recover()
	if p == nil {
		return
	}
	h.s.logPanic(h.c, p)
	h.c.Abort()
	*next = engine.Close
}

// release ends the remaining requests, and returns the reason why the connection ended early,
// or nil. Late handlers may still be writing; their writes fail.
func (h *h2Conn) release() error {
	h.s.h2.remove(h)
	h.mu.Lock()
	used := h.first != nil
	for x := h.first; x != nil; x = x.after {
		// a hook may have ended the goroutine
		x.feeding = false
	}
	h.mu.Unlock()
	if used {
		// handlers may still use the addresses of the connection
		h.c.RecordEscape()
	}
	h.end(h2Detached)
	bufpool.Put(h.in)
	h.in, h.read = nil, 0
	h.mu.Lock()
	defer h.mu.Unlock()
	h.awaitReport()
	return h.fault
}
