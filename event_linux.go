package fasthttp

import (
	"net"
	"net/netip"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

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
	ip, err := s.admit(c)
	if err != nil {
		s.refuseEvent(fd, err)
		return
	}
	g.users.Add(1)
	s.register(&c.serverConn, c, ip)
	wait := s.ReadTimeout
	if wait <= 0 {
		wait = s.IdleTimeout
	}
	if err := g.Add(&c.net, wait); err != nil {
		s.logger().Printf("fasthttp: cannot watch a connection: %v", err)
		c.finish(false)
	}
}

// refuseEvent answers a connection that is not served, and closes it.
func (s *Server) refuseEvent(fd int, why error) {
	f := os.NewFile(uintptr(fd), "refused")
	nc, err := net.FileConn(f)
	_ = f.Close()
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
	limit time.Duration // how long the rest of the request limitOf may take, where that is new
	isTCP bool
	// drained says that the last read took all there was
	drained bool
	// unsent says that there was no room for all of the last flush: it goes on
	// before the exchange does
	unsent bool
	// limited is the request, counted from 1, that the deadline is for: it is
	// set when the rest of a request is waited for the first time
	limited, limitOf uint32
}

// eventExtra is what only some connections need.
type eventExtra struct {
	detached atomic.Pointer[netloop.Detached]

	watch atomic.Pointer[watch] // of the request that is being handled

	mu            sync.Mutex
	local, remote net.Addr
	readUntil     time.Time // set by the application
	writeUntil    time.Time
}

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
			c.drop(recover())
		}
	}()
	alive = c.drive(x, cache)
	ended = true
	return alive
}

// drop ends a connection whose exchange has stopped in the middle. Whatever
// was in use stays with whoever may still have it.
func (c *eventConn) drop(panicked any) {
	s := c.s
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
// is false where the connection was closed or given away.
func (c *eventConn) drive(x *exchange, cache *loopCache) bool {
	for round := 0; ; {
		next := stepFlush
		if !c.unsent {
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
				return c.rest(x, cache)
			}
		case stepFlush:
			waited := c.unsent
			err := c.flush(x)
			c.unsent = err == netloop.ErrAgain
			if c.unsent {
				c.x = x
				if !waited {
					c.limited = 0
					c.wait(x.writeTimeout(), c.writeDeadline())
				}
				return true
			}
			if err != nil {
				x.cutOff(err)
				return c.end(x, cache)
			}
		case stepHijack:
			return c.handOver(x)
		case stepClose:
			return c.end(x, cache)
		}
		// only now, when nothing is left half done
		if round++; round >= share {
			c.x = x
			c.net.Again()
			return true
		}
	}
}

// receive reads into the exchange. It is false where there is nothing at the
// moment.
func (c *eventConn) receive(x *exchange) bool {
	if c.drained && !c.net.Gone() {
		return false
	}
	space := x.space()
	n, err := c.net.Read(space)
	switch {
	case n > 0:
		c.drained = n < len(space)
		if x.idle() {
			c.waiting.Store(connBusy)
			c.s.setState(&c.serverConn, StateActive)
		}
		x.received(n)
	case err == netloop.ErrAgain:
		c.drained = true
		return false
	default:
		x.ended(err)
	}
	return true
}

// rest leaves the connection to its loop until more comes.
func (c *eventConn) rest(x *exchange, cache *loopCache) bool {
	s := c.s
	if !x.idle() {
		c.x = x
		c.restInside()
		return true
	}
	c.lay(x, cache)
	c.limited = 0
	if s.stopping.Load() {
		c.finish(false)
		return false
	}
	if c.requests == 0 {
		// the deadline that was set on accepting goes on
		return true
	}
	c.waiting.Store(connWaiting)
	s.setState(&c.serverConn, StateIdle)
	idle := s.IdleTimeout
	if idle <= 0 {
		idle = s.ReadTimeout
	}
	c.wait(idle, c.readDeadline())
	return true
}

// restInside sets how long the rest of a request may take, the first time that
// it is waited for.
func (c *eventConn) restInside() {
	current := uint32(c.requests) + 1
	switch timeout := c.s.ReadTimeout; {
	case c.limitOf == current:
		c.wait(c.limit, c.readDeadline())
		c.limitOf = 0
	case c.limited == current:
	case c.requests == 0 && timeout > 0:
		c.wait(max(timeout-time.Since(c.opened), 1), c.readDeadline())
	default:
		c.wait(timeout, c.readDeadline())
	}
	c.limited = current
}

// wait sets how long the connection may wait now: the time from the settings
// of the server or, where that is sooner, until what the application has set.
func (c *eventConn) wait(timeout time.Duration, until time.Time) {
	if !until.IsZero() {
		left := max(time.Until(until), 1)
		if timeout <= 0 || left < timeout {
			timeout = left
		}
	}
	c.net.SetDeadline(timeout)
}

func (c *eventConn) readDeadline() time.Time {
	e := c.extra.Load()
	if e == nil {
		return time.Time{}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.readUntil
}

func (c *eventConn) writeDeadline() time.Time {
	e := c.extra.Load()
	if e == nil {
		return time.Time{}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.writeUntil
}

// Expire implements netloop.Handler.
func (c *eventConn) Expire() bool {
	x := c.x
	if x == nil {
		if !c.neverBegan() {
			c.finish(false)
			return false
		}
		x = c.begin(new(loopCache))
		c.waiting.Store(connBusy)
		c.s.setState(&c.serverConn, StateActive)
	}
	if x.flushThen(stepRead) == stepFlush {
		x.cutOff(os.ErrDeadlineExceeded)
		return c.end(x, nil)
	}
	x.ended(os.ErrDeadlineExceeded)
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
		if over := n - len(x.out.B); over >= 0 {
			x.out.B, x.tail = x.out.B[:0], x.tail[over:]
		} else {
			x.out.B = x.out.B[:copy(x.out.B, x.out.B[n:])]
		}
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
		c.lingerOn()
		return false
	}
	c.finish(c.aborted)
	return false
}

// abandon closes a connection whose exchange was left to a handler that timed
// out and may be reading from it.
func (c *eventConn) abandon() bool {
	c.x = nil
	c.detach().Abandon(c.aborted)
	c.s.setState(&c.serverConn, StateClosed)
	c.forget()
	return false
}

// finish closes the descriptor and forgets the connection.
func (c *eventConn) finish(reset bool) {
	s := c.s
	if d := c.detached(); d != nil {
		// somebody who has kept the connection waits in Read or Write
		d.Abandon(reset)
	} else {
		c.net.Close(reset)
	}
	s.setState(&c.serverConn, StateClosed)
	c.forget()
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
	c.limitOf, c.limited, c.drained, c.unsent = 0, 0, false, false
	eventConns.Put(c)
}

// fileConn takes the descriptor off its loop and into the standard library.
func (c *eventConn) fileConn() (net.Conn, error) {
	f := os.NewFile(uintptr(c.net.Forget()), "connection")
	defer f.Close()
	return net.FileConn(f)
}

// lingerOn reads away what the peer is still sending, off the loop, and closes
// the connection then.
func (c *eventConn) lingerOn() {
	s := c.s
	nc, err := c.fileConn()
	go func() {
		if err == nil {
			lingerOn(nc)
			_ = nc.Close()
		}
		s.setState(&c.serverConn, StateClosed)
		c.forget()
	}()
}

// handOver gives the connection to the handler that Hijack was called with.
func (c *eventConn) handOver(x *exchange) bool {
	s := c.s
	handler := x.ctx.hijack
	ahead := append([]byte(nil), x.pending()...)
	c.lay(x, nil)
	s.setState(&c.serverConn, StateHijacked)
	nc, err := c.fileConn()
	if err != nil {
		s.logger().Printf("fasthttp: cannot hand over a connection: %v", err)
		c.forget()
		return false
	}
	c.forget()
	go s.runHijacked(handler, &hijackedConn{Conn: nc, ahead: ahead})
	return false
}

// claimIdle implements idleClaimer.
func (c *eventConn) claimIdle() func() {
	if !c.net.TryAcquire() {
		return nil
	}
	if c.x != nil {
		c.net.Release()
		return nil
	}
	return func() { c.finish(false) }
}
