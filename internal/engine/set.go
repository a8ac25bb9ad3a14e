package engine

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp/internal/clock"
	"github.com/valyala/fasthttp/internal/rawsys"
)

// connShards is the number of lists that the connections of a server are spread over,
// so that connections that come and go on all processors do not contend for one lock.
const connShards = 16

// connShard is one list of connections, on cache lines of its own.
type connShard struct {
	mu    sync.Mutex
	first *Conn
	_     [112]byte
}

func (l *connShard) add(c *Conn) {
	l.mu.Lock()
	if c.next = l.first; c.next != nil {
		c.next.prev = c
	}
	l.first = c
	l.mu.Unlock()
}

func (l *connShard) remove(c *Conn) {
	l.mu.Lock()
	if c.next != nil {
		c.next.prev = c.prev
	}
	if c.prev != nil {
		c.prev.next = c.next
	} else {
		l.first = c.next
	}
	c.prev, c.next = nil, nil
	l.mu.Unlock()
}

// Set is the connections and listeners of one server.
type Set struct {
	// Host decides about the connections. It must be set, and Renew called, before
	// anything else.
	Host Host
	// Limits are how long connections wait. They do not change while there are some.
	Limits Limits
	// Watched says that the Host is called for the states of connections. The
	// application may keep any connection then.
	Watched bool
	// IdleWorker is how long a worker of the portable engine stays without a
	// connection, 0 for 10 seconds. Goroutines for TLS handshakes stay no longer, and a
	// second at most.
	IdleWorker time.Duration

	open     atomic.Int32
	stopping atomic.Bool
	shards   [connShards]connShard
	service  atomic.Pointer[Service]

	mu        sync.Mutex
	listeners []*listener
	drained   chan struct{} // closed when the last connection and listener have gone
	shutdowns int           // that are under way
}

// Service is one time that a server serves, from its begin to a shutdown.
type Service struct{ done chan struct{} }

// Done returns a channel that is closed when the server shuts down.
func (s *Service) Done() <-chan struct{} { return s.done }

// Renew begins a new Service.
func (s *Set) Renew() { s.service.Store(&Service{done: make(chan struct{})}) }

// Service returns the Service that began last.
func (s *Set) Service() *Service { return s.service.Load() }

// Done returns a channel that is closed when the server shuts down.
func (s *Set) Done() <-chan struct{} { return s.Service().Done() }

// Stopping reports whether the server shuts down.
func (s *Set) Stopping() bool { return s.stopping.Load() }

// Open returns how many connections there are.
func (s *Set) Open() int { return int(s.open.Load()) }

// Listeners returns how many listeners there are.
func (s *Set) Listeners() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.listeners)
}

// All calls f for each connection, with a lock held under which none is forgotten.
func (s *Set) All(f func(c *Conn)) {
	for i := range s.shards {
		shard := &s.shards[i]
		shard.mu.Lock()
		for c := shard.first; c != nil; c = c.next {
			f(c)
		}
		shard.mu.Unlock()
	}
}

// setState reports to the Host that a state of a connection begins.
func (s *Set) setState(nc net.Conn, state State) {
	if s.Watched {
		s.Host.StateChanged(nc, state)
	}
}

func (s *Set) shardOf(c *Conn) *connShard { return &s.shards[c.ID%connShards] }

// register enters a connection into the books: one that comes from an address, if that is
// known, and that counts for peer, which is the result of Host.Admit.
func (s *Set) register(c *Conn, nc net.Conn, from rawsys.Address, peer netip.Addr) {
	c.Set, c.NC, c.peer = s, nc, from
	c.countFor(peer)
	c.ID = NewID()
	c.Opened = clock.Monotonic()
	c.Requests, c.Empty = 0, 0
	c.Concurrent, c.RoomForEver, c.Stays, c.Variant = false, false, false, 0
	c.looks = 0
	c.stage.Store(int32(stageWaiting))
	opening, isTLS := s.Host.KindOf(nc)
	if c.IsTLS = isTLS; opening {
		c.stage.Store(int32(stageOpening))
	}
	c.marks.Store(0)
	if s.Watched {
		c.PinOnly()
	}
	c.Service = s.Service()
	s.open.Add(1)
	s.shardOf(c).add(c)
	s.setState(nc, StateNew)
}

// unregister takes a connection out of the books.
func (s *Set) unregister(c *Conn) {
	s.shardOf(c).remove(c)
	peer := netip.Addr{}
	if c.counted {
		peer = c.peer.Addr()
	}
	s.Host.Gone(peer)
	// a shutdown that is not seen here sees that the connection has gone
	if s.open.Add(-1) == 0 && s.stopping.Load() {
		s.mu.Lock()
		s.checkDrained()
		s.mu.Unlock()
	}
}

// SetPeer says for which peer the connection counts that was admitted when more was
// known of it.
func (c *Conn) SetPeer(peer netip.Addr) {
	if peer.IsValid() {
		c.peer = rawsys.Address{}
	}
	c.countFor(peer)
}

// countFor notes that the connection counts for a peer, if there is one. Its address is kept
// unless that of the connection is known, which counts for the same.
func (c *Conn) countFor(peer netip.Addr) {
	if c.counted = peer.IsValid(); c.counted && !c.peer.Known() {
		c.peer = rawsys.AddressOf(peer)
	}
}

// Shutdown ends the server in order: it closes the listeners and the connections that
// wait for a request, and waits for the other connections until ctx ends, and returns
// its error then. Otherwise it returns the error of a listener that could not be
// closed. begun is called once the server has begun to stop.
func (s *Set) Shutdown(ctx context.Context, begun func()) error {
	drained, listeners := s.beginShutdown()
	defer s.endShutdown()
	begun()
	for _, ln := range listeners {
		ln.wind()
	}
	// a connection that becomes idle at this very moment is found next time
	again := time.NewTicker(shutdownLook)
	defer again.Stop()
	for looks := 1; ; looks++ {
		s.closeIdle(ctx)
		select {
		case <-drained:
			return closeAll(listeners)
		case <-ctx.Done():
			_ = closeAll(listeners)
			return ctx.Err()
		case <-again.C:
			// Serve may not have come to what they have, or not heed their deadlines
			if looks >= acceptLooks {
				_ = closeAll(listeners)
			}
		}
	}
}

// closeAll closes listeners, and returns the first error.
func closeAll(listeners []*listener) (failed error) {
	for _, ln := range listeners {
		// other code may have closed it
		if err := ln.Close(); err != nil && failed == nil && !errors.Is(err, net.ErrClosed) {
			failed = err
		}
	}
	return failed
}

// beginShutdown makes the server stop, and returns the listeners to be closed
// and a channel that is closed when nothing is left.
func (s *Set) beginShutdown() (drained <-chan struct{}, listeners []*listener) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shutdowns++
	s.stopping.Store(true)
	if done := s.Service().done; !isClosed(done) {
		close(done)
	}
	if s.drained == nil {
		s.drained = make(chan struct{})
	}
	drained = s.drained
	s.checkDrained()
	return drained, slices.Clone(s.listeners)
}

// checkDrained wakes the waiting shutdowns if nothing is left. mu is held. The
// listeners count as well as the connections: one of them may be about to bring in
// another connection.
func (s *Set) checkDrained() {
	if s.drained != nil && s.open.Load() == 0 && len(s.listeners) == 0 {
		close(s.drained)
		s.drained = nil
	}
}

func (s *Set) endShutdown() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shutdowns--
	s.checkStopped()
}

// checkStopped lets connections be accepted again once no shutdown needs to know any
// more that the server was to stop. mu is held.
func (s *Set) checkStopped() {
	if s.shutdowns == 0 && len(s.listeners) == 0 && s.stopping.Load() {
		s.All(func(c *Conn) { c.marks.Or(left) })
		s.stopping.Store(false)
		s.Renew()
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// shutdownLook is how often a shutdown looks for connections that have become
// idle.
const shutdownLook = 20 * time.Millisecond

// acceptLooks is after how many looks a shutdown closes listeners that Serve has not closed.
const acceptLooks = 10

// closesPerLook is how many connections are closed before the end of the context
// counts: a shutdown that has no time left closes idle connections all the same, and
// one of a million connections returns in time.
const closesPerLook = 1024

// closeIdle closes the connections that wait for a request, as far as it gets
// before ctx ends.
func (s *Set) closeIdle(ctx context.Context) {
	var claimed []func()
	closed := 0
	for i := range s.shards {
		if closed >= closesPerLook && ctx.Err() != nil {
			return
		}
		shard := &s.shards[i]
		shard.mu.Lock()
		for c := shard.first; c != nil; c = c.next {
			if closeIt := c.claimIdle(); closeIt != nil {
				claimed = append(claimed, closeIt)
			}
		}
		shard.mu.Unlock()
		for _, closeIt := range claimed {
			closeIt()
		}
		closed += len(claimed)
		claimed = claimed[:0]
	}
}
