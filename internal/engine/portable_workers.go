package engine

import (
	"cmp"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp/internal/workers"
)

const defaultIdleWorker = 10 * time.Second

// connWorkers serves the connections of a listener by the portable engine, each on a
// worker of its own while it lasts.
//
// A server whose connections are short spends much of its time on handing them
// from the goroutine of Serve to a worker. Once there have been many, workers
// also accept connections themselves.
type connWorkers struct {
	s    *Set
	ln   net.Listener
	pool *workers.Pool[*portable]

	accepted  atomic.Uint32 // by Serve, up to ManyAccepted
	acceptors atomic.Int32  // workers that accept, or are about to
	failed    atomic.Pointer[error]

	mu       sync.Mutex
	stopped  bool
	entering sync.WaitGroup // workers that register a connection they have accepted
}

const (
	// ManyAccepted is how many connections Serve accepts before workers do so as
	// well. A listener that was made for a few, as tests have them, may not be up to
	// that.
	ManyAccepted = 1000

	// MinAcceptors is how many workers may wait in Accept even with one processor.
	MinAcceptors = 2
)

// Serve serves the connections that ln accepts by the portable engine, until ln fails
// for good, and returns that error. The error is nil when the server shuts down, and
// when other code has closed ln. Serve closes ln.
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
			if s.stopping.Load() || IsClosing(err) {
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

// accepted makes a connection ready to be served, or refuses it and returns nil.
func (s *Set) accepted(nc net.Conn) *portable {
	peer, err := s.Host.Admit(nc)
	if err != nil {
		go s.Host.Refuse(nc, err)
		s.Host.Crowded(err)
		return nil
	}
	s.Host.Prepare(nc)
	return s.newPortable(nc, peer)
}

func newConnWorkers(s *Set, ln net.Listener) *connWorkers {
	w := &connWorkers{s: s, ln: ln}
	patience := cmp.Or(max(s.IdleWorker, 0), defaultIdleWorker)
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

// accept returns another connection for a worker, or nil if the worker is to rest.
func (w *connWorkers) accept() *portable {
	if w.accepted.Load() < ManyAccepted {
		return nil
	}
	defer w.acceptors.Add(-1)
	if int(w.acceptors.Add(1)) > max(MinAcceptors, runtime.GOMAXPROCS(0)) {
		return nil
	}
	nc, err := w.ln.Accept()
	switch {
	case err != nil && isTemporaryAccept(err):
		return nil
	case err != nil:
		w.fail(err)
		return nil
	case !w.enter():
		// Serve would not wait for it
		_ = nc.Close()
		return nil
	}
	defer w.entering.Done()
	return w.s.accepted(nc)
}

// enter reports whether a worker may register a connection: Serve waits for it
// then.
func (w *connWorkers) enter() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.stopped {
		w.entering.Add(1)
	}
	return !w.stopped
}

// fail makes Serve return err, which the listener may not return again.
func (w *connWorkers) fail(err error) {
	if w.failed.CompareAndSwap(nil, &err) {
		_ = w.ln.Close()
	}
}

// stop ends the idle workers, and the busy ones as soon as their connections have
// ended. No worker brings in another connection when it has returned.
func (w *connWorkers) stop() {
	w.mu.Lock()
	w.stopped = true
	w.mu.Unlock()
	w.pool.Stop()
	w.entering.Wait()
}
