package engine

import (
	"errors"
	"net"
	"os"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/valyala/fasthttp/internal/netloop"
	"github.com/valyala/fasthttp/internal/rawsys"
	"github.com/valyala/fasthttp/internal/tlswire"
)

// eventListener is a listener whose connections are accepted as descriptors.
//
// net.Listener has no way to wait for a connection without accepting it. So the listener's
// descriptor is put into an epoll set, and Go's poller watches the set. The descriptor is
// not copied: a copy would keep the port open after the listener was closed, and making one
// may clear O_NONBLOCK for all users of the socket.
type eventListener struct {
	net.Listener
	raw  syscall.RawConn // of the listener
	set  *os.File        // the epoll set
	wait syscall.RawConn // of the set

	options bool // it has the options that its connections inherit

	// backlog is called once, before the server closes the listener
	backlog func()

	closing atomic.Bool
}

func newEventListener(ln net.Listener) (*eventListener, error) {
	own, ok := ln.(syscall.Conn)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	l := &eventListener{Listener: ln}
	var err error
	if l.raw, err = own.SyscallConn(); err != nil {
		return nil, err
	}
	set, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	if err = unix.SetNonblock(set, true); err != nil {
		_ = unix.Close(set)
		return nil, os.NewSyscallError("fcntl", err)
	}
	l.set = os.NewFile(uintptr(set), "listener")
	if err = l.watch(set); err != nil {
		_ = l.set.Close()
		return nil, err
	}
	return l, nil
}

// watch puts the listener into the set.
func (l *eventListener) watch(set int) error {
	var failed error
	err := l.raw.Control(func(fd uintptr) {
		ev := unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)}
		failed = unix.EpollCtl(set, unix.EPOLL_CTL_ADD, int(fd), &ev)
	})
	if err != nil {
		return err
	}
	if failed != nil {
		return os.NewSyscallError("epoll_ctl", failed)
	}
	l.wait, err = l.set.SyscallConn()
	return err
}

// Close is called once. It first accepts the connections that have arrived, if the server is
// stopping. It then closes the listener and the set, which ends a wait at once.
func (l *eventListener) Close() error {
	if !l.closing.Swap(true) {
		l.backlog()
	}
	err := l.Listener.Close()
	_ = l.set.Close()
	return err
}

// acceptor accepts the connections of a listener in one goroutine. Its functions are values
// made once, not for each connection.
type acceptor struct {
	l      *eventListener
	fd     int
	from   rawsys.Address // of the peer
	err    error          // of accept4
	closed error          // the error of a closed listener, or nil
	waited bool           // a connection has arrived since the last one was accepted
	empty  bool           // there was nothing to accept at least once

	fromListener func(fd uintptr)
	fromSet      func(set uintptr) (done bool)
}

func (l *eventListener) newAcceptor() *acceptor {
	a := &acceptor{l: l}
	a.fromListener = func(fd uintptr) { a.fd, a.from, a.err = a.accept(int(fd)) }
	a.fromSet = func(uintptr) bool {
		err := a.tryAccept()
		a.waited = err == syscall.EAGAIN
		a.empty = a.empty || a.waited
		return !a.waited
	}
	return a
}

// accept is acceptFrom, after a cheaper check for a connection, which is skipped if one has
// arrived. As a rule there is none right after another one was accepted.
func (a *acceptor) accept(fd int) (int, rawsys.Address, error) {
	if !a.waited {
		if ready, errno := rawsys.Ready(fd, unix.POLLIN); !ready && errno == 0 {
			return -1, rawsys.Address{}, syscall.EAGAIN
		}
	}
	return acceptFrom(fd)
}

// tryAccept accepts a connection if there is one.
func (a *acceptor) tryAccept() error {
	if a.closed = a.l.raw.Control(a.fromListener); a.closed != nil {
		return a.closed
	}
	return a.err
}

// next waits for a connection. The error is os.ErrDeadlineExceeded if none arrived for a
// while: next does not wake up when other code closes the listener.
func (a *acceptor) next() (fd int, err error) {
	waited := a.l.wait.Read(a.fromSet)
	switch {
	case waited == nil && a.closed == nil:
		return a.fd, a.err
	case waited == nil || !errors.Is(waited, os.ErrDeadlineExceeded):
		// the listener was closed, or the set
		return -1, net.ErrClosed
	}
	_ = a.l.set.SetReadDeadline(time.Now().Add(closedCheckInterval))
	if closed := a.l.raw.Control(func(uintptr) {}); closed != nil {
		return -1, closed
	}
	return -1, waited
}

// closedCheckInterval is how often next checks whether its listener was closed.
const closedCheckInterval = 100 * time.Millisecond

// acceptFrom accepts a connection as a nonblocking descriptor, and returns its remote
// address: the system does not return it later if the peer has reset the connection.
//
// Other processes may have copies of the listening socket, and clearing O_NONBLOCK for one
// copy clears it for all. So the flag is checked each time.
func acceptFrom(fd int) (int, rawsys.Address, error) {
	_ = rawsys.SetNonblock(fd)
	n, from, errno := rawsys.Accept(fd)
	if errno != 0 {
		return -1, rawsys.Address{}, errno
	}
	return n, from, nil
}

// ServeEvents accepts the connections of ln and serves them from event loops, until ln
// fails permanently, and returns that error. The error is nil if the server shuts down, or
// if other code has closed ln. It closes ln. served is false if event loops cannot serve
// ln. If layer is not nil, the connections use TLS.
func (s *Set) ServeEvents(ln net.Listener, layer tlswire.Layer) (served bool, err error) {
	l, err := newEventListener(ln)
	if err != nil {
		return false, nil
	}
	loops, err := netloop.NewGroup(netloop.Options{Loops: runtime.GOMAXPROCS(0), MaxWait: s.Limits.Queue, Now: s.Clock})
	if err != nil {
		s.Host.Logf("fasthttp: no event loops, using goroutines: %v", err)
		_ = l.set.Close()
		return false, nil
	}
	fdReserve.refill()
	g := &eventGroup{Group: loops, layer: layer}
	loops.Local = g
	if layer != nil {
		g.handshakes = newHandshakeLimiter(s.WorkerIdleTimeout)
	}
	g.users.Add(1)
	defer g.release()
	_, isTCP := ln.(*net.TCPListener)
	l.backlog = func() { s.acceptBacklog(l, g, isTCP) }
	registered := s.addListener(l)
	if registered == nil {
		l.closing.Store(true)
		_ = l.Close()
		return true, nil
	}
	defer s.removeListener(registered)
	if isTCP {
		_ = l.raw.Control(func(fd uintptr) { l.options = s.setOptions(int(fd)) })
	}
	if err = s.acceptEvents(l, g, isTCP); IsClosing(err) {
		err = nil
	}
	return true, err
}

// growEvery is the number of accepted connections after which the number of loops is
// adapted to GOMAXPROCS. Go raises GOMAXPROCS itself if the limit of a container is raised.
const growEvery = 64

// acceptEvents accepts until the listener is closed or the server is stopping.
func (s *Set) acceptEvents(l *eventListener, g *eventGroup, isTCP bool) error {
	var failing acceptFailures
	_ = l.set.SetReadDeadline(time.Now().Add(closedCheckInterval))
	accepted := 0
	for a := l.newAcceptor(); !s.stopping.Load(); {
		fd, err := a.next()
		switch {
		case err == nil:
			failing.wait = 0
			if accepted++; accepted%growEvery == 0 {
				// without more loops the old ones continue as before
				_ = g.Grow(runtime.GOMAXPROCS(0))
			}
			if isTCP && (!a.empty || !l.options) {
				// it may have arrived before the listener had the options
				_ = s.setOptions(fd)
			}
			s.acceptedEvent(fd, a.from, g, isTCP)
		case err == syscall.ECONNABORTED || err == syscall.EINTR || errors.Is(err, os.ErrDeadlineExceeded):
		case errors.Is(err, net.ErrClosed):
			return err
		default:
			err = os.NewSyscallError("accept4", err)
			if !s.waitToAccept(&failing, err) {
				return err
			}
		}
	}
	return nil
}

const (
	// backlogTime and backlogSize limit how much a stopping server still accepts: new
	// connections may arrive faster than they are accepted. The time limit applies only
	// after backlogMin connections: on a busy machine all of it may pass before the first
	// one.
	backlogTime = 50 * time.Millisecond
	backlogMin  = 128
	backlogSize = 4096
)

// acceptBacklog accepts the connections that arrived before Shutdown was called: there may
// be requests on them.
func (s *Set) acceptBacklog(l *eventListener, g *eventGroup, isTCP bool) {
	if !s.stopping.Load() {
		return
	}
	a := l.newAcceptor()
	end := time.Now().Add(backlogTime)
	for n := 0; n < backlogSize && (n < backlogMin || time.Now().Before(end)); n++ {
		if a.tryAccept() != nil {
			return
		}
		s.acceptedEvent(a.fd, a.from, g, isTCP)
	}
}
