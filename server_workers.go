package fasthttp

import (
	"sync"
	"time"
)

const defaultIdleWorker = 10 * time.Second

// workerPool runs a goroutine for each connection that is being served. A
// goroutine whose connection has ended waits for another one: its stack has
// grown to what handlers need. The one that has waited least is taken first,
// so that those which are not needed end.
type workerPool struct {
	s *Server

	mu      sync.Mutex
	idle    []*worker // by how long they have been waiting
	stopped bool
	cleaner *time.Timer
}

type worker struct {
	conns chan *serverConn
	since time.Time
}

func newWorkerPool(s *Server) *workerPool {
	p := &workerPool{s: s}
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
		_ = p.s.servePortable(c)
		if !p.rest(w) {
			return
		}
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
// ended.
func (p *workerPool) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopped = true
	p.cleaner.Stop()
	for _, w := range p.idle {
		close(w.conns)
	}
	p.idle = nil
}
