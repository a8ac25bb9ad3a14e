// Package workers runs jobs on reused goroutines. It does not depend on the kind of jobs.
package workers

import (
	"time"

	"github.com/valyala/fasthttp/internal/lockorder"
)

// Pool runs each job on its own goroutine. A goroutine whose job has ended waits for
// another job: its stack has grown to the size that jobs need. Do chooses the goroutine
// that has waited for the shortest time, so that surplus ones end.
//
// New makes a Pool. Its methods may be called concurrently.
type Pool[Job any] struct {
	run         func(Job)
	idleTimeout time.Duration

	mu      lockorder.Mutex[lockorder.Workers]
	idle    []*worker[Job] // the first has been idle longest
	stopped bool
	cleaner *time.Timer
	armed   bool // the cleaner will call clean
}

type worker[Job any] struct {
	jobs  chan Job
	since time.Time
}

// New returns a Pool that calls run with each job. A goroutine ends when it has waited for
// a job for patience, or somewhat longer. patience must be positive. run may end its
// goroutine with runtime.Goexit.
func New[Job any](patience time.Duration, run func(Job)) *Pool[Job] {
	p := &Pool[Job]{run: run, idleTimeout: patience, armed: true}
	p.mu.Lock()
	p.cleaner = time.AfterFunc(patience, p.clean)
	p.mu.Unlock()
	return p
}

// Do starts a job on a goroutine, and does not wait for its end. In a pool that has stopped,
// the goroutine ends with the job.
func (p *Pool[Job]) Do(job Job) {
	p.mu.Lock()
	n := len(p.idle)
	if n == 0 {
		p.mu.Unlock()
		w := &worker[Job]{jobs: make(chan Job, 1)}
		w.jobs <- job
		go p.work(w)
		return
	}
	w := p.idle[n-1]
	p.idle[n-1] = nil
	p.idle = p.idle[:n-1]
	p.mu.Unlock()
	w.jobs <- job
}

func (p *Pool[Job]) work(w *worker[Job]) {
	for job := range w.jobs {
		p.run(job)
		if !p.park(w) {
			return
		}
	}
}

// park adds w to the idle workers and returns true, unless the pool has stopped.
func (p *Pool[Job]) park(w *worker[Job]) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped {
		return false
	}
	w.since = time.Time{}
	p.idle = append(p.idle, w)
	if !p.armed {
		p.armed = true
		p.cleaner.Reset(p.pause())
	}
	return true
}

// clean ends the workers that have been idle for too long. The first clean that finds
// a worker idle sets its time, so that park need not read the clock.
func (p *Pool[Job]) clean() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped {
		return
	}
	now := time.Now()
	n := 0
	for n < len(p.idle) && !p.idle[n].since.IsZero() && now.Sub(p.idle[n].since) >= p.idleTimeout {
		close(p.idle[n].jobs)
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
	// an unused pool becomes garbage
	if p.armed = len(p.idle) > 0; p.armed {
		p.cleaner.Reset(p.pause())
	}
}

// pause is the time between two calls of clean.
func (p *Pool[Job]) pause() time.Duration { return max(p.idleTimeout/2, time.Millisecond) }

// Stop ends the idle goroutines at once, and the others as soon as their jobs have ended, until
// Resume is called. It does not wait for that.
func (p *Pool[Job]) Stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopped, p.armed = true, false
	p.cleaner.Stop()
	for _, w := range p.idle {
		close(w.jobs)
	}
	p.idle = nil
}

// Resume makes goroutines wait for jobs again after Stop.
func (p *Pool[Job]) Resume() {
	p.mu.Lock()
	p.stopped = false
	p.mu.Unlock()
}
