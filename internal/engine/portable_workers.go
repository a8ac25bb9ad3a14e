package engine

import (
	"cmp"
	"net"
	"net/netip"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp/internal/workers"
)

const defaultIdleWorker = 10 * time.Second

// connWorkers serves the connections of a listener by the portable engine, each on a worker
// of its own for its lifetime.
//
// A server with short connections spends much of its time on handing them from the
// goroutine of Serve to a worker. After many connections, workers also accept connections
// themselves.
type connWorkers struct {
	s    *Set
	ln   net.Listener
	pool *workers.Pool[*portable]

	accepted atomic.Uint32 // by Serve, up to ManyAccepted
	failed   atomic.Pointer[error]

	// seats counts the workers that accept, or are about to, in units of seatAccept, and
	// the workers that register an accepted connection in units of seatEnter. Serve adds
	// seatsStopped when it returns, and waits for the latter workers: the last of them
	// signals on entered that it has left. All of this is in one word, since the processors
	// contend for it.
	seats   atomic.Int64
	entered chan struct{}
}

const (
	seatAccept   int64 = 1
	seatEnter    int64 = 1 << 31
	seatsStopped int64 = 1 << 62
	seatsAccept        = seatEnter - 1 // the part that counts workers that accept
)

const (
	// ManyAccepted is how many connections Serve accepts before workers do so as well. A
	// listener made for a few connections, as in tests, may not support that.
	ManyAccepted = 1000

	// MinAcceptors is how many workers may wait in Accept even with one processor.
	MinAcceptors = 2
)

// Serve serves the connections that ln accepts by the portable engine, until ln fails
// permanently, and returns that error. The error is nil if the server shuts down, or if
// other code has closed ln. Serve closes ln.
func (s *Set) Serve(ln net.Listener) error {
	l := s.addListener(ln)
	if l == nil {
		_ = ln.Close()
		return nil
	}
	defer s.removeListener(l)
	w := newConnWorkers(s, ln)
	defer w.stop()
	var failing acceptFailures
	for {
		nc, err := ln.Accept()
		if err != nil {
			if failed := w.failed.Load(); failed != nil {
				err = *failed
			}
			if IsClosing(err) {
				return nil
			}
			if s.stopping.Load() {
				if l.keepsAccepting(err) {
					continue
				}
				return nil
			}
			if !s.waitToAccept(&failing, err) {
				return err
			}
			continue
		}
		failing.wait = 0
		if c := s.accepted(nc); c != nil {
			w.serve(c)
		}
	}
}

// accepted prepares a connection for being served, or refuses it and returns nil. A panic of its
// methods ends that connection alone: nothing else might recover it on the goroutine of a worker.
func (s *Set) accepted(nc net.Conn) *portable {
	peer, ok := s.admit(nc)
	if !ok {
		return nil
	}
	return s.newPortable(nc, peer)
}

// admit does the part of accepted that calls methods of the connection. ok is false if the
// connection is refused or has ended.
func (s *Set) admit(nc net.Conn) (peer netip.Addr, ok bool) {
	admitted, returned := false, false
	defer func() {
		if !returned {
			if admitted {
				s.Host.ConnClosed(peer)
			}
			s.acceptFailed(nc, recover())
		}
	}()
	peer, err := s.Host.Admit(nc)
	if err != nil {
		returned = true
		go s.Host.Refuse(nc, err)
		s.Host.OnOverload(err)
		return peer, false
	}
	admitted = true
	s.Host.Prepare(nc)
	returned = true
	return peer, true
}

// acceptFailed closes a connection whose methods have panicked, or have ended the goroutine, before
// it was served.
func (s *Set) acceptFailed(nc net.Conn, panicked any) {
	if panicked != nil {
		s.Host.Logf("fasthttp: panic serving a connection: %v\n%s", panicked, debug.Stack())
	}
	s.guarded(func() { _ = nc.Close() })
}

func newConnWorkers(s *Set, ln net.Listener) *connWorkers {
	w := &connWorkers{s: s, ln: ln, entered: make(chan struct{}, 1)}
	patience := cmp.Or(max(s.WorkerIdleTimeout, 0), defaultIdleWorker)
	w.pool = workers.New(patience, w.serveAll)
	return w
}

// serve hands c to a worker.
func (w *connWorkers) serve(c *portable) {
	if n := w.accepted.Load(); n < ManyAccepted {
		w.accepted.Store(n + 1)
	}
	w.pool.Do(c)
}

// serveAll serves c, and then the connections that the worker accepts itself.
func (w *connWorkers) serveAll(c *portable) {
	for c != nil {
		_ = c.serve()
		c = w.accept()
	}
}

// accept returns another connection for a worker, or nil if the worker should rest.
func (w *connWorkers) accept() *portable {
	if w.accepted.Load() < ManyAccepted {
		return nil
	}
	seat := seatAccept
	defer func() { w.releaseSeat(seat) }()
	if n := w.seats.Add(seat) & seatsAccept; n > MinAcceptors && int(n) > runtime.GOMAXPROCS(0) {
		return nil
	}
	nc, err := w.ln.Accept()
	if err != nil {
		if !isTemporaryAccept(err) {
			w.fail(err)
		}
		return nil
	}
	seat = seatEnter
	if w.seats.Add(seatEnter-seatAccept) >= seatsStopped {
		// Serve would not wait for it
		w.s.guarded(func() { _ = nc.Close() })
		return nil
	}
	return w.s.accepted(nc)
}

// releaseSeat gives up the seat of a worker.
func (w *connWorkers) releaseSeat(seat int64) {
	if w.seats.Add(-seat)&^seatsAccept == seatsStopped {
		select {
		case w.entered <- struct{}{}:
		default:
		}
	}
}

// fail makes Serve return err, which the listener may not return again.
func (w *connWorkers) fail(err error) {
	if w.failed.CompareAndSwap(nil, &err) {
		_ = w.ln.Close()
	}
}

// stop ends the idle workers, and the busy ones as soon as their connections have ended. No
// worker registers another connection after it has returned.
func (w *connWorkers) stop() {
	w.seats.Add(seatsStopped)
	w.pool.Stop()
	for w.seats.Load()&^seatsAccept != seatsStopped {
		<-w.entered
	}
}
