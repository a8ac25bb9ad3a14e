package engine

import (
	"errors"
	"io"
	"net"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/valyala/fasthttp/internal/netio"
	"github.com/valyala/fasthttp/internal/netloop"
	"github.com/valyala/fasthttp/internal/rawsys"
	"github.com/valyala/fasthttp/internal/tlswire"
)

// eventGroup is the event loops of one call of Serve. They run until its last connection
// has ended.
type eventGroup struct {
	*netloop.Group
	users      atomic.Int64      // connections, and Serve itself
	layer      tlswire.Layer     // of TLS connections, or nil
	handshakes *handshakeLimiter // of TLS connections, or nil
}

func (g *eventGroup) release() {
	if g.users.Add(-1) == 0 {
		if g.handshakes != nil {
			g.handshakes.stop()
		}
		// the caller may be on one of the loops, which Close waits for
		go g.Group.Close()
	}
}

// acceptedEvent gives a connection to a loop, or refuses it.
func (s *Set) acceptedEvent(fd int, from rawsys.Address, g *eventGroup, isTCP bool) {
	c := eventConns.Get().(*eventConn)
	c.isTCP, c.peer = isTCP, from
	c.net.Init(fd, c)
	timeout := s.Limits.First
	wait, header, served := s.Host.ExpectsHeader(c)
	if !served {
		_ = rawsys.CloseSocket(fd)
		return
	}
	if header {
		timeout = wait
		c.phase = eventHeader
	}
	peer, err := s.Host.Admit(c)
	if err != nil {
		s.refuseEvent(c, g, err)
		return
	}
	g.users.Add(1)
	var nc net.Conn = c
	if g.layer != nil {
		nc = c.beginTLS(g.layer)
		if !header {
			timeout = s.Limits.Handshake
			c.phase = eventHello
		}
	}
	s.register(&c.Conn, nc, from, peer)
	// even if the hook ends the goroutine, and with it Serve: the connection is in the Set
	defer c.awaitFirst(g, timeout)
	c.setState(StateNew)
}

// awaitFirst gives the connection to a loop, to wait for its first bytes.
func (c *eventConn) awaitFirst(g *eventGroup, timeout time.Duration) {
	if c.HasEscaped() {
		// the application may use it from the start
		c.extras()
	}
	if err := g.Add(&c.net, c.waitFor(waitRead, timeout)); err != nil {
		c.Set.Host.Logf("fasthttp: cannot watch a connection: %v", err)
		c.finish(false)
	}
}

// refuseEvent sends a response on an unserved connection, and closes it.
func (s *Set) refuseEvent(c *eventConn, g *eventGroup, why error) {
	nc, err := fdReserve.fileConn(c.net.FD(), c.RemoteAddr)
	if err != nil {
		return
	}
	if g.layer != nil {
		nc = g.layer(nc, nc)
	}
	go s.Host.Refuse(nc, why)
	s.Host.OnOverload(why)
}

var eventConns = sync.Pool{New: func() any { return new(eventConn) }}

// eventConn is a connection of the event engine. While it is idle it needs no other memory.
type eventConn struct {
	Conn
	net   netloop.Conn
	p     Protocol // of the request being served, or nil
	extra atomic.Pointer[eventExtra]
	phase eventPhase
	isTCP bool
	// overTLS is set if it is a TLS connection
	overTLS bool
	// lingersAfterAlert is set if the connection lingers after a farewell
	lingersAfterAlert bool
	// drained is set if the last read took all that was there
	drained bool
	// stepsFirst is set if the protocol may have no room for input before its next Step
	stepsFirst bool
}

// group returns the loops that the connection was given to.
func (c *eventConn) group() *eventGroup { return c.net.Group().Local.(*eventGroup) }

// tls returns the TLS connection above it. There must be one.
func (c *eventConn) tls() *tlswire.View { return c.extra.Load().tls }

// eventPhase is the next action of a connection, for when its loop calls Serve.
type eventPhase uint8

const (
	eventServing     eventPhase = iota // continue with the protocol, or begin with it
	eventUnsent                        // continue a flush for which there was no room
	eventYielded                       // continue with the protocol, after other connections had their turn
	eventLingering                     // discard the bytes that arrive, until the peer is done
	eventHeader                        // take the PROXY header when it has arrived
	eventHello                         // begin the TLS handshake when the client has begun
	eventHandshake                     // nothing: a goroutine owns the connection
	eventCloseNotify                   // send the alert that ends TLS, for which there was no room
	eventEnded                         // nothing: the descriptor is closed or handed over
	eventPhases
)

// eventChanges are the phases that may follow each phase.
var eventChanges = [eventPhases]uint16{
	eventServing:     1<<eventUnsent | 1<<eventYielded | 1<<eventLingering | 1<<eventCloseNotify | 1<<eventEnded,
	eventUnsent:      1<<eventServing | 1<<eventUnsent | 1<<eventLingering | 1<<eventCloseNotify | 1<<eventEnded,
	eventYielded:     1<<eventServing | 1<<eventLingering | 1<<eventCloseNotify | 1<<eventEnded,
	eventLingering:   1 << eventEnded,
	eventHeader:      1<<eventServing | 1<<eventHello | 1<<eventEnded,
	eventHello:       1<<eventHandshake | 1<<eventEnded,
	eventHandshake:   1<<eventServing | 1<<eventLingering | 1<<eventEnded,
	eventCloseNotify: 1<<eventLingering | 1<<eventEnded,
	eventEnded:       0,
}

// change puts the connection into the phase to.
func (c *eventConn) change(to eventPhase) {
	if eventChanges[c.phase]&(1<<to) == 0 {
		panic("engine: an event connection changes to a phase that cannot follow")
	}
	c.phase = to
}

// protocolCache keeps a protocol with its buffers for the connections that a poller serves
// one after another.
type protocolCache struct {
	p Protocol
	// arrival is about the event being served, until the first read
	arrival Arrival
}

// Serve implements netloop.Handler.
func (c *eventConn) Serve(p *netloop.Poller) bool {
	var cache *protocolCache
	var a Arrival
	if p != nil {
		cache, _ = p.Local.(*protocolCache)
		a.At, a.Waited = p.EventTime()
		if c.overTLS && c.Requests == 0 {
			// The event may be one of the handshake: the bytes that are read now may have arrived
			// after it. The connection itself has waited, though.
			a.At = 0
		}
	}
	if cache == nil {
		cache = new(protocolCache)
		if p != nil {
			p.Local = cache
		}
	}
	c.drained = false
	if c.overTLS {
		c.tls().Arrived()
	}
	c.markOwned()
	if c.phase >= eventLingering {
		if ready, alive := c.serveEnds(); !ready {
			return alive
		}
		a = Arrival{} // the connection has become one only now
	}
	if c.p == nil {
		c.attachProtocol(cache)
	}
	readable := c.phase == eventServing
	if !readable {
		a = Arrival{} // a handler may take long before something is received
	}
	cache.arrival = a
	return c.driveProtected(cache, readable)
}

// serveEnds is Serve for a connection whose protocol has not begun, or has ended. ready is
// true if it can begin.
func (c *eventConn) serveEnds() (ready, alive bool) {
	switch c.phase {
	case eventLingering:
		return false, c.linger()
	case eventCloseNotify:
		return false, c.sendCloseNotify()
	case eventHeader:
		if taken, alive := c.readHeader(); !taken {
			return false, alive
		}
	}
	if c.phase == eventHello {
		return false, c.awaitHello()
	}
	return true, true
}

// driveProtected is drive for code that may not return: it may panic outside of a handler,
// or end its goroutine.
func (c *eventConn) driveProtected(cache *protocolCache, readable bool) (alive bool) {
	ended := false
	defer func() {
		if !ended {
			c.abortProtocol(recover())
		}
	}()
	alive = c.drive(cache, readable)
	ended = true
	if alive && c.Concurrent {
		return c.work()
	}
	return alive
}

// abortProtocol ends a connection whose protocol has stopped in the middle. Memory in use is not
// reused, since references to it may remain.
func (c *eventConn) abortProtocol(panicked any) {
	s := c.Set
	// a hook of the application, or its logger, may end the goroutine again
	defer func() {
		c.p = nil
		c.MarkEscaped()
		c.finish(true)
	}()
	// a shutdown of the server waits for the log
	defer func() {
		if panicked != nil {
			s.Host.Logf("fasthttp: panic serving a connection: %v\n%s", panicked, debug.Stack())
		}
	}()
	if c.p != nil {
		c.p.Abandoned()
	}
}

// attachProtocol gives the connection a protocol.
func (c *eventConn) attachProtocol(cache *protocolCache) {
	last := cache.p
	cache.p = nil
	c.p = c.Set.Host.AcquireProtocol(&c.Conn, c, last)
}

// returnProtocol returns the protocol of a connection that has become idle, or ends. fault is
// the reason why it ends early, or nil.
func (c *eventConn) returnProtocol(cache *protocolCache) (fault error) {
	p := c.p
	c.p = nil
	last, fault := c.Set.Host.ReleaseProtocol(p, cache != nil && cache.p == nil)
	if last != nil {
		cache.p = last
	}
	return fault
}

// ioBudget is how many reads and writes a connection may do before the other connections
// of its loop get their turn.
const ioBudget = 16

// drive performs the protocol's actions, as far as it can without waiting. It returns false
// if the connection was closed or handed over. If readable is set, drive must read before
// the protocol can continue.
func (c *eventConn) drive(cache *protocolCache, readable bool) bool {
	if c.phase == eventYielded {
		c.change(eventServing)
	}
	p := c.p
	asked := false // the protocol needs more than was received
	if c.stepsFirst {
		c.stepsFirst, readable = false, false
	}
	for round := 0; ; {
		next := Flush
		if c.phase == eventServing {
			if next = Read; !readable {
				next = p.Step()
				asked = next == Read
			}
			readable = false
		}
		if d := c.detached(); d != nil && next != CloseDetached {
			d.Attach()
			c.extra.Load().detached.Store(nil)
			c.drained = false
		}
		switch next {
		case Read:
			if c.receive(cache) {
				break
			}
			if !asked && !p.Idle() {
				// it may not have seen yet the bytes that arrived before its turn ended
				continue
			}
			if alive, done := c.await(cache); done {
				return alive
			}
		case Pause:
			c.stepsFirst = true
			c.limit(waitRead, p.Wait(WaitInput))
			return true
		case Flush, FlushIdle:
			err := c.flush()
			if err == netloop.ErrAgain {
				c.awaitWritable()
				return true
			}
			if c.phase == eventUnsent {
				c.change(eventServing)
			}
			if err != nil {
				c.endsBecause(netio.Op(c, "write", err))
				return c.end(cache, false)
			}
			if c.drained && (next == FlushIdle || p.Idle()) {
				if c.hasReadAll() && c.detached() == nil {
					return c.park(cache)
				}
				readable = true
			}
		case Hijack:
			return c.hijack()
		case Upgrade:
			c.p = c.Set.Host.Upgrade(&c.Conn, c, p)
			p = c.p
		case CloseDetached:
			return c.closeDetached()
		case Close, Linger:
			return c.end(cache, next == Linger)
		}
		// only now, when nothing is half done
		if round++; round >= ioBudget {
			c.yield()
			return true
		}
	}
}

// yield lets the other connections of the loop have their turn. Meanwhile this one has
// no owner, and a deadline of an earlier wait must not end it. Its turn begins when there
// is room for output, which may be never.
func (c *eventConn) yield() {
	// a read may have been the last action
	c.stepsFirst = c.Concurrent
	switch w, until := c.p.Yield(); w {
	case WaitWritable:
		c.change(eventYielded)
		c.limit(waitWrite, until)
	case WaitInput:
		c.limit(waitRead, until)
	}
	c.net.ServeAgain()
}

// receive reads for the protocol. It returns false if there is nothing at the moment.
func (c *eventConn) receive(cache *protocolCache) bool {
	// a later read, perhaps after a handler, happens at another time
	var a Arrival
	if cache != nil {
		a, cache.arrival = cache.arrival, Arrival{}
	}
	if c.hasReadAll() {
		return false
	}
	space := c.p.ReadBuffer()
	var n int
	var err error
	if !c.overTLS {
		n, err = c.net.Read(space)
		c.drained = n < len(space)
	} else {
		n, err = c.tls().ReadNow(space)
		c.drained = c.tls().Drained()
	}
	switch {
	case n > 0:
		c.p.Received(n, a)
		if c.loadStage() != stageBusy {
			c.wake()
		}
	case err == netloop.ErrAgain:
		c.drained = true
		return false
	default:
		err = netio.Op(c, "read", err)
		c.inputEnds(err)
		c.p.InputEnded(err)
	}
	return true
}

// hasReadAll reports whether another read, before the loop calls again, would find nothing.
// A request that arrived while the last one was handled is answered, too, before the server
// shuts down.
func (c *eventConn) hasReadAll() bool { return c.drained && !c.net.MayHaveMore() && !c.Stopping() }

// readTimeoutError is the error of a read for which nothing arrived in time.
func (c *eventConn) readTimeoutError() error {
	if c.Concurrent {
		// for such a protocol it is no fault, and happens once a second
		return os.ErrDeadlineExceeded
	}
	return netio.Op(c, "read", os.ErrDeadlineExceeded)
}

// wake is called when the first bytes of a request have arrived.
func (c *eventConn) wake() {
	c.begin()
	c.setState(StateActive)
}

// await leaves the connection to its loop until more arrives. done is false if the time for
// that is over, which InputEnded has reported to the protocol.
func (c *eventConn) await(cache *protocolCache) (alive, done bool) {
	if c.p.Idle() {
		return c.park(cache), true
	}
	until := c.p.Wait(WaitInput)
	if until.Equal(PastDeadline) {
		c.inputEnds(os.ErrDeadlineExceeded)
		c.p.InputEnded(c.readTimeoutError())
		return true, false
	}
	c.limit(waitRead, until)
	return true, true
}

// park leaves an idle connection to its loop.
func (c *eventConn) park(cache *protocolCache) (alive bool) {
	s := c.Set
	_ = c.returnProtocol(cache)
	if c.Stopping() && !c.hasInput() {
		c.finish(false)
		return false
	}
	if c.Requests == 0 || c.loadStage() != stageBusy {
		// the deadline of the wait continues
		c.keepWaiting(waitRead)
		return true
	}
	c.Conn.change(stageBusy, stageWaiting)
	timeout := s.Limits.Idle
	if timeout > 0 {
		c.replaceAppDeadline(waitRead, time.Time{})
	}
	c.setState(StateIdle)
	c.net.SetDeadline(c.waitFor(waitRead, timeout))
	return true
}

// awaitWritable leaves the connection to its loop until there is room for the rest of
// a flush.
func (c *eventConn) awaitWritable() {
	if c.phase == eventUnsent {
		// the deadline of the wait continues
		c.keepWaiting(waitWrite)
		return
	}
	c.change(eventUnsent)
	c.limit(waitWrite, c.p.Wait(WaitWritable))
}

// Expire implements netloop.Handler.
func (c *eventConn) Expire() bool {
	c.markOwned()
	switch c.phase {
	case eventHeader:
		return c.expireHeader()
	case eventHello:
		// it fails at once
		c.beginHandshake()
		return false
	case eventLingering, eventCloseNotify:
		if c.phase == eventLingering && c.extras().lingering.remaining > 0 && c.isReadable() {
			// bytes may have arrived in time, while the loop was busy
			return c.linger()
		}
		c.finish(false)
		return false
	case eventYielded:
		if c.has(unix.POLLIN | unix.POLLOUT) {
			return c.Serve(nil)
		}
		fallthrough
	case eventUnsent:
		c.SetEnd(EndTimeout)
		c.p.Written(0, netio.Op(c, "write", os.ErrDeadlineExceeded))
		return c.end(nil, false)
	}
	if c.hasInput() {
		// bytes may have arrived in time, while the loop was busy
		if c.p != nil {
			c.p.DeadlineExceeded()
		} else if c.Requests == 0 {
			// empty lines do not begin a new wait
			c.net.SetDeadline(1)
		} else if c.overTLS {
			return c.expireIdle()
		}
		return c.Serve(nil)
	}
	c.inputEnds(os.ErrDeadlineExceeded)
	if c.p == nil {
		if !c.GetsTimeoutResponse() || c.isChoked() {
			c.finish(false)
			return false
		}
		c.attachProtocol(new(protocolCache))
		c.wake()
	}
	c.p.InputEnded(c.readTimeoutError())
	return c.driveProtected(nil, false)
}

// flush writes as much of the protocol's output as there is room for. An error other than
// netloop.ErrAgain ends the connection.
func (c *eventConn) flush() error {
	head, tail, file := c.p.Output()
	if file != nil {
		return c.flushFile(head, file)
	}
	var n int
	var err error
	if !c.overTLS {
		n, err = c.net.Write(head, tail)
	} else {
		n, err = c.tls().Send(head, tail)
	}
	switch err {
	case nil:
		n = len(head) + len(tail)
		c.p.Written(int64(n), nil)
	case netloop.ErrAgain:
		c.p.Written(int64(n), nil)
	default:
		c.p.Written(int64(n), netio.Op(c, "write", err))
	}
	return err
}

// flushFile is flush for output that ends with a part of a file.
func (c *eventConn) flushFile(head []byte, file *FilePart) error {
	raw, err := file.File.SyscallConn()
	if err != nil {
		c.p.Written(0, err)
		return err
	}
	f := netloop.FilePart{Head: head, File: raw, Offset: file.Offset, Length: file.Length}
	err = c.net.SendFile(&f)
	n := int64(len(head)-len(f.Head)) + file.Length - f.Length
	switch {
	case err == nil || err == netloop.ErrAgain:
		c.p.Written(n, nil)
	case errors.Is(err, io.ErrUnexpectedEOF):
		c.p.Written(n, io.ErrUnexpectedEOF)
		err = nil
	default:
		c.p.Written(n, netio.Op(c, "write", err))
	}
	return err
}

// hijack gives the connection to the application.
func (c *eventConn) hijack() bool {
	take := c.p.Hijack()
	_ = c.returnProtocol(nil)
	c.SetEnd(EndHandedOver)
	c.setState(StateHijacked)
	take(c.removeFromSet())
	return false
}

// claimIdle implements idleClaimer.
func (c *eventConn) claimIdle() (closeIt func()) {
	if !c.net.TryAcquire() {
		return c.claimHandshake()
	}
	idle := c.phase == eventServing && c.p == nil
	if !idle && c.phase != eventHeader && c.phase != eventHello {
		c.net.Release()
		return nil
	}
	return func() {
		if c.awaitingHeader() || c.awaitingClientHello() || idle && !c.hasInput() {
			c.finish(false)
		} else {
			c.net.Release()
		}
	}
}

// ClaimStalled implements Link.
func (c *eventConn) ClaimStalled(p Protocol) (confirm func() (end func(err error))) {
	if !c.net.TryAcquire() {
		return nil
	}
	if c.p != p {
		c.net.Release()
		return nil
	}
	return func() (end func(err error)) {
		if c.hasInput() {
			c.net.Release()
			return nil
		}
		return func(err error) {
			c.markOwned()
			p.InputEnded(err)
			if c.driveProtected(nil, false) {
				c.net.Release()
			}
		}
	}
}

// hasInput reports whether unread bytes have arrived: they are about to be served.
func (c *eventConn) hasInput() bool {
	return !c.isChoked() && (c.overTLS && c.tls().HasInput() || c.isReadable())
}

// isChoked reports whether nothing is read, for as long as the peer takes no answers of TLS.
func (c *eventConn) isChoked() bool { return c.overTLS && c.tls().Choked() }

// isReadable reports whether a read finds bytes, or the end of the input. A poll for POLLIN is not
// enough: a UNIX socket also reports urgent data, which no read takes.
func (c *eventConn) isReadable() bool {
	var first [1]byte
	_, err := c.net.Peek(first[:])
	return err != netloop.ErrAgain
}

// has reports whether one of the events is there.
func (c *eventConn) has(events int16) bool {
	poll := []unix.PollFd{{Fd: int32(c.net.FD()), Events: events}}
	n, err := unix.Poll(poll, 0)
	return n > 0 && err == nil
}
