package fasthttp

import (
	"context"
	"errors"
	"net"
	"slices"
	"time"
)

// Shutdown ends the server in order: it closes the listeners, so that Serve
// returns nil, and the connections that wait for a request; requests that have
// begun to arrive are answered, with "Connection: close". It returns when all
// connections have gone and all calls of Serve are about to return, however
// long that takes. It may be called more than once. Serve may be called again
// afterwards. The error is that of a listener that could not be closed; the rest is
// done all the same.
func (s *Server) Shutdown() error { return s.ShutdownWithContext(context.Background()) }

// ShutdownWithContext is Shutdown with an end: when ctx ends before the last
// connection has gone, it returns ctx.Err() and leaves the connections that
// are still busy to themselves. Serve may be called again then, with another
// listener. RequestCtx.Done stays closed for the requests that go on.
func (s *Server) ShutdownWithContext(ctx context.Context) error {
	s.prepare()
	drained, listeners := s.beginShutdown()
	defer s.endShutdown()
	s.watches.endAll()
	for _, ln := range listeners {
		ln.wind()
	}
	// a connection that becomes idle at this very moment is found next time
	again := time.NewTicker(shutdownLook)
	defer again.Stop()
	for {
		s.closeIdle(ctx)
		select {
		case <-drained:
			return closeAll(listeners)
		case <-ctx.Done():
			_ = closeAll(listeners)
			return ctx.Err()
		case <-again.C:
			_ = closeAll(listeners)
		}
	}
}

// closeAll closes listeners, and returns the first error.
func closeAll(listeners []*accepting) (failed error) {
	for _, ln := range listeners {
		// somebody else may have closed it
		if err := ln.Close(); err != nil && failed == nil && !errors.Is(err, net.ErrClosed) {
			failed = err
		}
	}
	return failed
}

// beginShutdown makes the server stop, and returns the listeners to be closed
// and a channel that is closed when nothing is left.
func (s *Server) beginShutdown() (drained <-chan struct{}, listeners []*accepting) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shutdowns++
	s.stopping.Store(true)
	if done := *s.done.Load(); !isClosed(done) {
		close(done)
	}
	if s.drained == nil {
		s.drained = make(chan struct{})
	}
	drained = s.drained
	s.checkDrained()
	return drained, slices.Clone(s.listeners)
}

// checkDrained tells the shutdowns that wait for it that nothing is left. mu is
// held. The listeners count as well as the connections: one of them may be about
// to bring in another connection.
func (s *Server) checkDrained() {
	if s.drained != nil && s.open.Load() == 0 && len(s.listeners) == 0 {
		close(s.drained)
		s.drained = nil
	}
}

func (s *Server) endShutdown() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shutdowns--
	s.checkStopped()
}

// checkStopped lets Serve be called again once nobody needs to know any more
// that the server was to stop. mu is held.
func (s *Server) checkStopped() {
	if s.shutdowns == 0 && len(s.listeners) == 0 && s.stopping.Load() {
		s.stopping.Store(false)
		s.renewDone()
	}
}

func (s *Server) renewDone() {
	done := make(chan struct{})
	s.done.Store(&done)
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

// closesPerLook is how many connections are closed before the end of the context
// counts: a shutdown that has no time left closes idle connections all the same, and
// one of a million connections returns in time.
const closesPerLook = 1024

// closeIdle closes the connections that wait for a request, as far as it gets
// before ctx ends.
func (s *Server) closeIdle(ctx context.Context) {
	var claimed []func()
	closed := 0
	for i := range s.conns {
		if closed >= closesPerLook && ctx.Err() != nil {
			return
		}
		shard := &s.conns[i]
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
