package engine

import (
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/valyala/fasthttp/internal/netio"
)

// listener is a listener that a Set accepts from.
type listener struct {
	net.Listener
	once        sync.Once
	closed      error // the error of Close
	drainRounds int   // how often Serve has continued since the shutdown began
}

// Close closes the listener, once.
func (l *listener) Close() error {
	l.once.Do(func() { l.closed = l.Listener.Close() })
	return l.closed
}

// drainAcceptTime is how long Serve keeps accepting during a shutdown, if the listener has
// deadlines: Accept returns the connections in its queue at once.
const drainAcceptTime = 5 * time.Millisecond

// maxDrainRounds limits how often Serve continues for another drainAcceptTime: new connections may
// arrive faster than they are accepted.
const maxDrainRounds = 5

// drain makes Serve accept the connections that have arrived by now, and no more.
func (l *listener) drain() {
	if !l.limit() {
		_ = l.Close()
	}
}

func (l *listener) limit() bool {
	ln, ok := l.Listener.(interface{ SetDeadline(t time.Time) error })
	return ok && ln.SetDeadline(time.Now().Add(drainAcceptTime)) == nil
}

// keepsAccepting reports whether Serve continues after an error during a shutdown: on a busy
// machine the time may be over before Accept has looked at the queue.
func (l *listener) keepsAccepting(err error) bool {
	l.drainRounds++
	return l.drainRounds < maxDrainRounds && netio.IsTimeout(err) && isReady(l.Listener) && l.limit()
}

// addListener registers a listener. It returns nil if the server is shutting down.
func (s *Set) addListener(ln net.Listener) *listener {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping.Load() {
		return nil
	}
	l := &listener{Listener: ln}
	s.listeners = append(s.listeners, l)
	return l
}

func (s *Set) removeListener(l *listener) {
	_ = l.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(s.listeners, l); i >= 0 {
		s.listeners = slices.Delete(s.listeners, i, i+1)
	}
	s.checkDrained()
	s.checkStopped()
}

// IsClosing reports whether err means that a listener is closed, or that a listener made
// for a few connections has no more of them. Listeners of other packages report the former
// only by the error's text.
func IsClosing(err error) bool {
	return err != nil && (errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) || strings.Contains(err.Error(), net.ErrClosed.Error()))
}

// acceptFailures records the failures of an accept loop.
type acceptFailures struct {
	wait   time.Duration // the wait after the last failure; 0 after a success
	logged time.Time     // when a failure was last logged
}

// acceptLogInterval is how long after a logged failure to accept no other one is logged. A
// server short of descriptors gets one now and then, and fails again.
const acceptLogInterval = 10 * time.Second

// waitToAccept waits after an error of Accept, longer each time. It returns false if the
// error is permanent. Running out of descriptors or memory is temporary: some become free
// again.
func (s *Set) waitToAccept(f *acceptFailures, err error) bool {
	if !isTemporaryAccept(err) {
		return false
	}
	if now := time.Now(); now.Sub(f.logged) >= acceptLogInterval {
		f.logged = now
		s.Host.Logf("fasthttp: cannot accept connections at the moment, will try again: %v", err)
	}
	f.wait = min(max(2*f.wait, 5*time.Millisecond), time.Second)
	s.Pause(f.wait)
	return true
}

// isTemporaryAccept reports whether accepting may succeed after err.
func isTemporaryAccept(err error) bool {
	t, ok := errors.AsType[interface {
		error
		Temporary() bool
	}](err)
	return ok && t.Temporary() || errors.Is(err, syscall.ENOBUFS) || errors.Is(err, syscall.ENOMEM)
}

// Pause waits for a while, or until the server shuts down.
func (s *Set) Pause(d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-s.Done():
	}
}
