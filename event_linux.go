package fasthttp

import (
	"net/netip"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/valyala/fasthttp/internal/bufpool"
	"github.com/valyala/fasthttp/internal/neterr"
	"github.com/valyala/fasthttp/internal/netloop"
)

// eventGroup is the event loops of one call of Serve. They run until the last
// of its connections has gone.
type eventGroup struct {
	*netloop.Group
	users atomic.Int64 // connections, and Serve itself
}

func (g *eventGroup) leave() {
	if g.users.Add(-1) == 0 {
		// the caller may be on one of the loops, which Close waits for
		go g.Group.Close()
	}
}

// acceptedEvent gives a connection to a loop, or refuses it.
func (s *Server) acceptedEvent(fd int, g *eventGroup, isTCP bool) {
	c := eventConns.Get().(*eventConn)
	c.group, c.isTCP = g, isTCP
	c.net.Init(fd, c)
	timeout := s.firstTimeout()
	if s.ProxyProtocol != nil {
		if !c.expectHeader(s) {
			return
		}
		if c.awaitsHeader() {
			timeout = s.proxyTimeout()
		}
	}
	ip, err := s.admit(c)
	if err != nil {
		s.refuseEvent(fd, err)
		return
	}
	g.users.Add(1)
	if s.ConnState != nil {
		// it may be used by others from the start
		c.extra.Store(new(eventExtra))
	}
	s.register(&c.serverConn, c, ip)
	if err := g.Add(&c.net, c.waitFor(waitRead, timeout)); err != nil {
		s.logger().Printf("fasthttp: cannot watch a connection: %v", err)
		c.finish(false)
	}
}

// refuseEvent answers a connection that is not served, and closes it.
func (s *Server) refuseEvent(fd int, why error) {
	nc, err := spare.fileConn(fd)
	if err != nil {
		return
	}
	go s.turnAway(nc, why)
	if why == ErrConcurrencyLimit && s.SleepWhenConcurrencyLimitsExceeded > 0 {
		s.pause(s.SleepWhenConcurrencyLimitsExceeded)
	}
}

var eventConns = sync.Pool{New: func() any { return new(eventConn) }}

// eventConn is a connection of the event engine. While it is idle this is all
// there is of it.
type eventConn struct {
	serverConn
	net   netloop.Conn
	group *eventGroup
	x     *exchange // of the request that is on its way
	extra atomic.Pointer[eventExtra]
	waste int32 // how many bytes are still read away before the connection is closed
	phase eventPhase
	isTCP bool
	// drained says that the last read took all there was
	drained bool
}

// eventPhase is what a connection does when its loop calls.
type eventPhase uint8

const (
	eventServing   eventPhase = iota // go on with the exchange, or begin one
	eventUnsent                      // go on with a flush for which there was no room
	eventTurn                        // go on with the exchange, which has let others go first
	eventLingering                   // read away what comes, until the peer is done
	eventHeader                      // take the header of the PROXY protocol, when it is there
	eventEnded                       // nothing: the descriptor is closed or somebody else's
)

// loopCache keeps an exchange with its buffers for the connections that a
// poller serves one after the other.
type loopCache struct {
	x *exchange
}

var exchanges = sync.Pool{New: func() any { return new(exchange) }}

// Serve implements netloop.Handler.
func (c *eventConn) Serve(p *netloop.Poller) bool {
	cache, _ := p.Local.(*loopCache)
	if cache == nil {
		cache = new(loopCache)
		p.Local = cache
	}
	c.drained = false
	c.working()
	if c.phase == eventLingering {
		return c.linger()
	}
	if c.phase == eventHeader {
		if taken, alive := c.takeHeader(); !taken {
			return alive
		}
	}
	x := c.x
	if x == nil {
		x = c.begin(cache)
	}
	return c.driveWithCare(x, cache)
}

// driveWithCare is drive for code that may not come back: it panics where
// nothing of the application is expected to run, or ends its goroutine.
func (c *eventConn) driveWithCare(x *exchange, cache *loopCache) (alive bool) {
	ended := false
	defer func() {
		if !ended {
			c.drop(x, recover())
		}
	}()
	alive = c.drive(x, cache)
	ended = true
	return alive
}

// drop ends a connection whose exchange has stopped in the middle. Whatever
// was in use stays with whoever may still have it.
func (c *eventConn) drop(x *exchange, panicked any) {
	s := c.s
	x.dropBodyCount()
	c.x = nil
	c.pinned.Store(true)
	c.finish(true)
	if panicked != nil {
		s.logger().Printf("fasthttp: panic serving a connection: %v\n%s", panicked, debug.Stack())
	}
}

// begin lends the connection an exchange.
func (c *eventConn) begin(cache *loopCache) *exchange {
	x := cache.x
	if x != nil {
		cache.x = nil
	} else {
		x = exchanges.Get().(*exchange)
	}
	x.attach(c.s, &c.serverConn, c)
	return x
}

// lay gives the exchange of a connection that has become idle back.
func (c *eventConn) lay(x *exchange, cache *loopCache) {
	c.x = nil
	if cache != nil && cache.x == nil && x.light() {
		cache.x = x
		return
	}
	x.release()
	*x = exchange{}
	exchanges.Put(x)
}

// share is how many reads and writes a connection may do before the others of
// its loop get their turn.
const share = 16

// drive does what the exchange asks for, as far as it can without waiting. It
// is false if the connection was closed or given away.
func (c *eventConn) drive(x *exchange, cache *loopCache) bool {
	if c.phase == eventTurn {
		c.phase = eventServing
	}
	for round := 0; ; {
		next := stepFlush
		if c.phase == eventServing {
			next = x.step()
		}
		if x.given {
			return c.abandon()
		}
		if d := c.detached(); d != nil {
			d.Attach()
			c.extra.Load().detached.Store(nil)
			c.drained = false
		}
		switch next {
		case stepRead:
			if !c.receive(x) {
				if !x.overdue {
					return c.rest(x, cache)
				}
				x.ended(c.readTooLate())
			}
		case stepFlush:
			err := c.flush(x)
			if err == netloop.ErrAgain {
				c.restUnsent(x)
				return true
			}
			c.phase = eventServing
			if err != nil {
				x.cutOff(neterr.Op(c, "write", err))
				return c.end(x, cache)
			}
		case stepHijack:
			return c.handOver(x)
		case stepClose:
			return c.end(x, cache)
		}
		// only now, when nothing is left half done
		if round++; round >= share {
			c.giveTurn(x)
			return true
		}
	}
}

// giveTurn lets the other connections of the loop have their turn. Meanwhile
// nobody owns this one, and a deadline of an earlier wait must not end it. Its turn
// comes when there is room for output, which may be never: a peer that does not
// read has as long as it would for a response that there is no room for.
func (c *eventConn) giveTurn(x *exchange) {
	c.x = x
	switch {
	case !x.begun || !x.timed:
		c.phase = eventTurn
		x.limitResponse()
		c.limit(waitWrite, x.writeUntil)
	case x.phase == phaseBody && x.pace.begun:
		// what has come since the last wait counts
		x.limitRequest()
		c.limit(waitRead, x.readUntil)
	}
	c.net.Again()
}

// receive reads into the exchange. It is false if there is nothing at the
// moment.
func (c *eventConn) receive(x *exchange) bool {
	// what came while the last request was handled is answered, too, before the
	// server goes down
	if c.drained && !c.net.Gone() && !c.s.stopping.Load() {
		return false
	}
	space := x.space()
	n, err := c.net.Read(space)
	switch {
	case n > 0:
		c.drained = n < len(space) && !c.net.Urgent()
		if c.waiting.Load() != connBusy {
			c.wake(x)
		}
		x.received(n)
	case err == netloop.ErrAgain:
		c.drained = true
		return false
	default:
		x.ended(neterr.Op(c, "read", err))
	}
	return true
}

// readTooLate is the error of a read that nothing came for in time.
func (c *eventConn) readTooLate() error { return neterr.Op(c, "read", os.ErrDeadlineExceeded) }

// wake says that the first bytes of a request are there.
func (c *eventConn) wake(x *exchange) {
	x.woken()
	c.waiting.Store(connBusy)
	c.s.setState(&c.serverConn, StateActive)
}

// rest leaves the connection to its loop until more comes.
func (c *eventConn) rest(x *exchange, cache *loopCache) bool {
	s := c.s
	if !x.idle() {
		c.x = x
		x.giveSpace()
		x.limitRequest()
		c.limit(waitRead, x.readUntil)
		return true
	}
	c.lay(x, cache)
	if s.stopping.Load() {
		c.finish(false)
		return false
	}
	if c.requests == 0 || c.waiting.Load() != connBusy {
		// the deadline of the wait goes on
		c.stay()
		return true
	}
	c.waiting.Store(connWaiting)
	timeout := s.idleTimeout()
	if timeout > 0 {
		c.limitReads(time.Time{})
	}
	s.setState(&c.serverConn, StateIdle)
	c.net.SetDeadline(c.waitFor(waitRead, timeout))
	return true
}

// restUnsent leaves the connection to its loop until there is room for the rest of
// a flush.
func (c *eventConn) restUnsent(x *exchange) {
	c.x = x
	if c.phase != eventUnsent {
		c.phase = eventUnsent
		x.limitResponse()
	}
	c.limit(waitWrite, x.writeUntil)
}

// Expire implements netloop.Handler.
func (c *eventConn) Expire() bool {
	c.working()
	x := c.x
	if c.phase == eventHeader {
		return c.expireHeader()
	}
	if c.phase == eventTurn && c.has(unix.POLLIN|unix.POLLOUT) {
		return c.Serve(&netloop.Poller{})
	}
	if c.phase == eventServing && c.hasInput() {
		// it may have come in time, and the loop was busy
		if x != nil {
			x.expired()
		} else if c.requests == 0 {
			// empty lines do not begin a new wait
			c.net.SetDeadline(1)
		}
		return c.Serve(&netloop.Poller{})
	}
	switch {
	case c.phase == eventLingering, x == nil && !c.neverBegan():
		c.finish(false)
		return false
	case c.phase == eventUnsent, c.phase == eventTurn:
		x.cutOff(neterr.Op(c, "write", os.ErrDeadlineExceeded))
		return c.end(x, nil)
	case x == nil:
		x = c.begin(new(loopCache))
		c.wake(x)
	}
	x.ended(c.readTooLate())
	return c.driveWithCare(x, nil)
}

// flush writes what the exchange has put together, as much as there is room
// for.
func (c *eventConn) flush(x *exchange) error {
	if x.file.file != nil {
		return c.flushFile(x)
	}
	n, err := c.net.Write(x.out.B, x.tail)
	if err != nil {
		x.taken(n)
		return err
	}
	x.flushed()
	return nil
}

// end closes the connection.
func (c *eventConn) end(x *exchange, cache *loopCache) bool {
	linger := x.linger && !c.aborted
	c.lay(x, cache)
	if linger {
		return c.beginLinger()
	}
	c.finish(c.aborted)
	return false
}

// abandon ends a connection whose exchange was left to a handler that timed out
// and may be reading from it.
func (c *eventConn) abandon() bool {
	c.x = nil
	if c.aborted {
		c.finish(true)
		return false
	}
	_ = c.detach(time.Time{}, time.Time{}).SetReadDeadline(time.Unix(1, 0))
	return c.beginLinger()
}

// beginLinger ends the sending side of the connection. What the peer is still
// sending is read away as it comes: closing right away would make the system reset
// the connection, and the peer could lose the response (RFC 9112 section 9.6).
func (c *eventConn) beginLinger() bool {
	var err error = syscall.ENOTCONN
	c.net.Use(func(fd int) { err = syscall.Shutdown(fd, syscall.SHUT_WR) })
	if err != nil {
		c.finish(false)
		return false
	}
	c.phase, c.waste = eventLingering, lingerSize
	c.net.SetDeadline(lingerTime)
	return c.linger()
}

// linger reads away what has come. It is false if the connection was closed.
func (c *eventConn) linger() bool {
	waste := bufpool.Get(lingerRead)
	defer bufpool.Put(waste)
	for range share {
		n, err := c.net.Read(waste.B[:cap(waste.B)])
		if err == netloop.ErrAgain {
			return true
		}
		if c.waste -= int32(n); err != nil || c.waste <= 0 {
			c.finish(false)
			return false
		}
	}
	c.net.Again()
	return true
}

// lingerRead is how much is read away at a time.
const lingerRead = 16 << 10

// finish closes the descriptor and forgets the connection, once: a hook can end the
// goroutine in between, and what follows from that comes here again.
func (c *eventConn) finish(reset bool) {
	if c.phase == eventEnded {
		return
	}
	c.phase = eventEnded
	defer c.forget()
	s := c.s
	c.working()
	if d := c.detached(); d != nil {
		// somebody who has kept the connection waits in Read or Write
		d.Abandon(reset)
	} else {
		c.net.Close(reset)
	}
	s.setState(&c.serverConn, StateClosed)
}

// forget takes the connection out of the books.
func (c *eventConn) forget() {
	s, g := c.s, c.group
	s.unregister(&c.serverConn)
	g.leave()
	if c.pinned.Load() {
		return
	}
	c.nc, c.s, c.group, c.x = nil, nil, nil, nil
	c.extra.Store(nil)
	c.ip = netip.Addr{}
	c.phase, c.drained = eventServing, false
	eventConns.Put(c)
}

// handOver gives the connection to the handler that Hijack was called with.
func (c *eventConn) handOver(x *exchange) bool {
	s := c.s
	ahead := append([]byte(nil), x.pending()...)
	ctx := x.letGo()
	c.lay(x, nil)
	s.setState(&c.serverConn, StateHijacked)
	nc, err := c.leave()
	if err != nil {
		s.logger().Printf("fasthttp: cannot hand over a connection: %v", err)
		s.endHijacked(ctx, true)
		return false
	}
	ctx.c.nc = nc
	go s.runHijacked(ctx, &hijackedConn{Conn: nc, ahead: ahead})
	return false
}

// claimIdle implements idleClaimer.
func (c *eventConn) claimIdle() (closeIt func()) {
	if !c.net.TryAcquire() {
		return nil
	}
	if !c.lacksHeader() && (c.x != nil || c.phase != eventServing || c.hasInput()) {
		c.net.Release()
		return nil
	}
	return func() { c.finish(false) }
}

// claimStalled implements link.
func (c *eventConn) claimStalled(x *exchange) (end func()) {
	if !c.net.TryAcquire() {
		return nil
	}
	if c.x != x || c.hasInput() {
		c.net.Release()
		return nil
	}
	return func() {
		c.working()
		x.ended(ErrRequestBodyMemory)
		if c.driveWithCare(x, nil) {
			c.net.Release()
		}
	}
}

// hasInput reports whether something has come that nobody has read: it will be
// served in a moment.
func (c *eventConn) hasInput() bool { return c.has(unix.POLLIN) }

// has reports whether one of the events is there.
func (c *eventConn) has(events int16) bool {
	poll := []unix.PollFd{{Fd: int32(c.net.FD()), Events: events}}
	n, err := unix.Poll(poll, 0)
	return n > 0 && err == nil
}
