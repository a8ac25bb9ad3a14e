package engine

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp/internal/clock"
	"github.com/valyala/fasthttp/internal/lockorder"
	"github.com/valyala/fasthttp/internal/rawsys"
)

// connShards is the number of lists over which the connections of a server are spread, so
// that connections that open and close on all processors do not contend for one lock.
const connShards = 16

// connShard is one list of connections, on cache lines of its own.
type connShard struct {
	mu    lockorder.Mutex[lockorder.ConnShard]
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

// Set holds the connections and listeners of one server.
type Set struct {
	// Host makes the decisions about connections. It must be set, and Renew called, before
	// anything else.
	Host Host
	// Limits are how long connections wait. They must not change while there are
	// connections.
	Limits Limits
	// TracksState is set if the Host is called for the states of connections. The application
	// may then keep any connection.
	TracksState bool
	// WorkerIdleTimeout is how long a worker of the portable engine stays without a connection, 0
	// for 10 seconds. Goroutines for TLS handshakes stay as long, but a second at most.
	WorkerIdleTimeout time.Duration
	// Clock is the clock of event loops. Nil means clock.Monotonic; a test sets another one.
	Clock func() time.Duration

	open     atomic.Int32
	stopping atomic.Bool
	shards   [connShards]connShard
	service  atomic.Pointer[Service]

	mu        lockorder.Mutex[lockorder.ConnSet]
	listeners []*listener
	drained   chan struct{} // closed when the last connection and listener have gone
	shutdowns int           // the number of running shutdowns
}

// Service is one run of a server, from its start to a shutdown.
type Service struct{ done chan struct{} }

// Done returns a channel closed when the server shuts down.
func (s *Service) Done() <-chan struct{} { return s.done }

// Renew begins a new Service.
func (s *Set) Renew() { s.service.Store(&Service{done: make(chan struct{})}) }

// Service returns the Service that began last.
func (s *Set) Service() *Service { return s.service.Load() }

// Done returns a channel closed when the server shuts down.
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

// All calls f for each connection, with a lock held: none is removed meanwhile.
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

func (s *Set) shardOf(c *Conn) *connShard { return &s.shards[c.ID%connShards] }

// register adds a connection to the Set. The caller reports StateNew. from is its address, if known,
// and peer, the result of Host.Admit, is the address that it counts for.
func (s *Set) register(c *Conn, nc net.Conn, from rawsys.Address, peer netip.Addr) {
	c.Set, c.NC, c.peer = s, nc, from
	c.marks.Store(0)
	c.countFor(peer)
	c.ID = NewID()
	c.Opened = clock.Monotonic()
	c.Requests, c.Empty = 0, 0
	c.Concurrent, c.NoWriteTimeout, c.KeepsProtocol, c.Variant = false, false, false, 0
	c.shutdownProbes = 0
	c.stage.Store(int32(stageWaiting))
	opening, isTLS := s.Host.KindOf(nc)
	if c.IsTLS = isTLS; opening {
		c.stage.Store(int32(stageOpening))
	}
	if s.TracksState {
		c.MarkEscaped()
	}
	c.Service = s.Service()
	s.open.Add(1)
	s.shardOf(c).add(c)
}

// unregister removes a connection from the Set.
func (s *Set) unregister(c *Conn) {
	s.shardOf(c).remove(c)
	peer := netip.Addr{}
	if c.marks.Load()&counted != 0 {
		peer = c.peer.Addr()
	}
	s.Host.ConnClosed(peer)
	// a shutdown unseen here sees that the connection was removed
	if s.open.Add(-1) == 0 && s.stopping.Load() {
		s.mu.Lock()
		s.checkDrained()
		s.mu.Unlock()
	}
}

// SetPeer sets the peer that the connection counts for, if the connection was admitted
// after more was known about it.
func (c *Conn) SetPeer(peer netip.Addr) {
	if peer.IsValid() {
		c.peer = rawsys.Address{}
	}
	c.countFor(peer)
}

// countFor records the peer that the connection counts for, if there is one. It keeps the
// peer's address unless the connection's own is known, which counts for the same.
func (c *Conn) countFor(peer netip.Addr) {
	if !peer.IsValid() {
		c.marks.And(^counted)
		return
	}
	c.marks.Or(counted)
	if !c.peer.Known() {
		c.peer = rawsys.AddressOf(peer)
	}
}

// Shutdown gracefully shuts down the server. It closes the listeners and the connections
// that wait for a request, and waits for the other connections until ctx ends; it then
// returns the error of ctx. Otherwise it returns the error of a listener that could not be
// closed. begun is called once the server has begun to stop.
func (s *Set) Shutdown(ctx context.Context, begun func()) error {
	drained, listeners := s.beginShutdown()
	defer s.endShutdown()
	begun()
	for _, ln := range listeners {
		ln.drain()
	}
	// a connection that becomes idle at this very moment is found by the next look
	again := time.NewTicker(shutdownPollInterval)
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
			// Serve may not have accepted their queues yet, or they may not heed their
			// deadlines
			if looks >= maxAcceptPolls {
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

// beginShutdown makes the server stop. It returns the listeners to close, and a channel
// that is closed when nothing is left.
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

// checkDrained wakes the waiting shutdowns if nothing is left. mu is held. Listeners count
// as well as connections: one of them may be about to add another connection.
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

// checkStopped lets connections be accepted again once no shutdown is running that must see
// that the server was stopping. mu is held.
func (s *Set) checkStopped() {
	if s.shutdowns == 0 && len(s.listeners) == 0 && s.stopping.Load() {
		s.All(func(c *Conn) { c.marks.Or(leftByShutdown) })
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

// shutdownPollInterval is how often a shutdown looks for connections that have become
// idle.
const shutdownPollInterval = 20 * time.Millisecond

// maxAcceptPolls is the number of looks after which a shutdown closes listeners that Serve has
// not closed.
const maxAcceptPolls = 10

// closesPerPoll is how many connections are closed before the end of ctx is checked: a
// shutdown without time left still closes idle connections, and a shutdown of a million
// connections returns in time.
const closesPerPoll = 1024

// closeIdle closes the connections that wait for a request, as many as it can before ctx
// ends.
func (s *Set) closeIdle(ctx context.Context) {
	var claimed []func()
	closed := 0
	for i := range s.shards {
		if closed >= closesPerPoll && ctx.Err() != nil {
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
			s.guarded(closeIt)
		}
		closed += len(claimed)
		claimed = claimed[:0]
	}
}

// guarded calls f, which calls methods of a connection that the application may have written. A
// panic in them is logged.
func (s *Set) guarded(f func()) {
	defer func() {
		if p := recover(); p != nil {
			s.Host.Logf("fasthttp: panic serving a connection: %v\n%s", p, debug.Stack())
		}
	}()
	f()
}
