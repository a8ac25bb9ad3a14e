package fasthttp

import (
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

const defaultIdleWorker = 10 * time.Second

// workerPool runs a goroutine for each connection that is being served. A
// goroutine whose connection has ended waits for another one: its stack has
// grown to what handlers need. The one that has waited least is taken first,
// so that those which are not needed end.
//
// A server whose connections are short spends much of its time on handing them
// from the goroutine of Serve to a worker. Once there have been many, workers
// also accept connections themselves.
type workerPool struct {
	s  *Server
	ln net.Listener

	accepted  atomic.Uint32 // by Serve, up to manyAccepted
	acceptors atomic.Int32  // workers that accept, or are about to
	failed    atomic.Pointer[error]

	mu       sync.Mutex
	idle     []*worker // by how long they have been waiting
	stopped  bool
	cleaner  *time.Timer
	entering sync.WaitGroup // workers that register a connection they have accepted
}

type worker struct {
	conns chan *serverConn
	since time.Time
}

// manyAccepted is how many connections Serve accepts before workers do so as well.
// A listener that was made for a few, as tests have them, may not be up to that.
const manyAccepted = 1000

func newWorkerPool(s *Server, ln net.Listener) *workerPool {
	p := &workerPool{s: s, ln: ln}
	p.mu.Lock()
	p.cleaner = time.AfterFunc(p.patience(), p.clean)
	p.mu.Unlock()
	return p
}

func (p *workerPool) patience() time.Duration {
	if p.s.MaxIdleWorkerDuration > 0 {
		return p.s.MaxIdleWorkerDuration
	}
	return defaultIdleWorker
}

// serve hands c to a worker.
func (p *workerPool) serve(c *serverConn) {
	if n := p.accepted.Load(); n < manyAccepted {
		p.accepted.Store(n + 1)
	}
	p.mu.Lock()
	n := len(p.idle)
	if n == 0 {
		p.mu.Unlock()
		w := &worker{conns: make(chan *serverConn, 1)}
		w.conns <- c
		go p.run(w)
		return
	}
	w := p.idle[n-1]
	p.idle[n-1] = nil
	p.idle = p.idle[:n-1]
	p.mu.Unlock()
	w.conns <- c
}

func (p *workerPool) run(w *worker) {
	for c := range w.conns {
		for c != nil {
			_ = p.s.servePortable(c)
			c = p.accept()
		}
		if !p.rest(w) {
			return
		}
	}
}

// accept returns another connection for a worker, or nil where it is to rest.
func (p *workerPool) accept() *serverConn {
	if p.accepted.Load() < manyAccepted {
		return nil
	}
	defer p.acceptors.Add(-1)
	if int(p.acceptors.Add(1)) > max(minAcceptors, runtime.GOMAXPROCS(0)) {
		return nil
	}
	nc, err := p.ln.Accept()
	switch {
	case err != nil && passes(err):
		return nil
	case err != nil:
		p.fail(err)
		return nil
	case !p.enter():
		// nobody would wait for it
		_ = nc.Close()
		return nil
	}
	defer p.entering.Done()
	return p.s.accepted(nc)
}

// enter reports whether a worker may register a connection: Serve waits for it
// then.
func (p *workerPool) enter() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.stopped {
		p.entering.Add(1)
	}
	return !p.stopped
}

// minAcceptors is how many workers may wait in Accept even with one processor.
const minAcceptors = 2

// fail has Serve return err, which the listener may not say again.
func (p *workerPool) fail(err error) {
	if p.failed.CompareAndSwap(nil, &err) {
		_ = p.ln.Close()
	}
}

// rest puts w among the idle ones, unless the pool has stopped.
func (p *workerPool) rest(w *worker) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped {
		return false
	}
	w.since = time.Time{}
	p.idle = append(p.idle, w)
	return true
}

// clean ends the workers that have been idle for as long as is allowed. A
// worker is stamped by the first clean that sees it idle, so that resting does
// not cost a reading of the clock.
func (p *workerPool) clean() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped {
		return
	}
	now := time.Now()
	patience := p.patience()
	n := 0
	for n < len(p.idle) && !p.idle[n].since.IsZero() && now.Sub(p.idle[n].since) >= patience {
		close(p.idle[n].conns)
		n++
	}
	kept := copy(p.idle, p.idle[n:])
	clear(p.idle[kept:])
	p.idle = p.idle[:kept]
	for _, w := range p.idle {
		if w.since.IsZero() {
			w.since = now
		}
	}
	p.cleaner.Reset(max(patience/2, time.Millisecond))
}

// stop ends the idle workers, and the others as soon as their connections have
// ended. No worker brings in another connection when it has returned.
func (p *workerPool) stop() {
	p.mu.Lock()
	p.stopped = true
	p.cleaner.Stop()
	for _, w := range p.idle {
		close(w.conns)
	}
	p.idle = nil
	p.mu.Unlock()
	p.entering.Wait()
}
