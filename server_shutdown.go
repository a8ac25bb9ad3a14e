package fasthttp

import (
	"context"
	"time"
)

// Shutdown ends the server in order: it closes the listeners, so that Serve
// returns nil, and the connections that wait for a request; requests that have
// begun to arrive are answered, with "Connection: close". It returns when all
// connections have gone, however long that takes. It may be called more than
// once.
func (s *Server) Shutdown() error { return s.ShutdownWithContext(context.Background()) }

// ShutdownWithContext is Shutdown with an end: when ctx ends before the last
// connection has gone, it returns ctx.Err() and leaves the connections that
// are still busy to themselves. Serve may be called again then, with another
// listener. RequestCtx.Done stays closed for the requests that go on.
func (s *Server) ShutdownWithContext(ctx context.Context) error {
	s.prepare()
	s.mu.Lock()
	s.stopping.Store(true)
	var failed error
	for _, ln := range s.listeners {
		if err := ln.Close(); err != nil && failed == nil {
			failed = err
		}
	}
	s.closeDone()
	drained := s.drained
	if drained == nil {
		drained = make(chan struct{})
		if s.conns.next == &s.conns {
			close(drained)
		} else {
			s.drained = drained
		}
	}
	s.mu.Unlock()

	defer s.restart()
	// a connection that becomes idle at this very moment is found next time
	again := time.NewTicker(shutdownLook)
	defer again.Stop()
	for {
		s.closeIdle()
		select {
		case <-drained:
			return failed
		case <-ctx.Done():
			return ctx.Err()
		case <-again.C:
		}
	}
}

// shutdownLook is how often a shutdown looks for connections that have become
// idle.
const shutdownLook = 20 * time.Millisecond

// closeIdle closes the connections that wait for a request.
func (s *Server) closeIdle() {
	var claimed []func()
	s.mu.Lock()
	for c := s.conns.next; c != &s.conns; c = c.next {
		if closeIt := c.claimIdle(); closeIt != nil {
			claimed = append(claimed, closeIt)
		}
	}
	s.mu.Unlock()
	for _, closeIt := range claimed {
		closeIt()
	}
}

func (s *Server) closeDone() {
	select {
	case <-s.done:
	default:
		close(s.done)
	}
}

// restart lets Serve be called again.
func (s *Server) restart() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.listeners) == 0 {
		s.stopping.Store(false)
	}
}

// doneChannel returns the channel that is closed at shutdown.
func (s *Server) doneChannel() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.done
}
