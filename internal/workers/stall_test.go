package workers

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/valyala/fasthttp/internal/servertest"
)

// queueOf is an owner of a Stall: its progress is done, and it has work while left is not 0.
type queueOf struct {
	mu           sync.Mutex
	stall        Stall
	done         uint32
	left, stalls int
}

const patience = time.Second

func (q *queueOf) watch() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.left > 0 {
		q.stall.Start(patience, q.done, q)
	}
}

// end leaves nothing more to do.
func (q *queueOf) end() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.left = 0
}

func (q *queueOf) CheckStall() {
	q.mu.Lock()
	if q.stall.Ended(q.done) {
		q.stalls++
	}
	q.mu.Unlock()
	q.watch()
}

func TestStallIsFoundOnlyWithoutProgress(t *testing.T) {
	servertest.Bubble(t, func(t *testing.T) {
		q := &queueOf{left: 1}
		q.watch()
		at := func(after time.Duration, done uint32, stalls int, runs bool) {
			t.Helper()
			time.Sleep(after)
			synctest.Wait()
			q.mu.Lock()
			defer q.mu.Unlock()
			if q.stalls != stalls || q.stall.Runs() != runs {
				t.Errorf("%d stalls were found, want %d; the timer runs: %v", q.stalls, stalls, q.stall.Runs())
			}
			q.done = done
		}
		at(patience-1, 1, 0, true)
		at(1, 1, 0, true)          // there was progress
		at(patience, 1, 1, true)   // and now there was none
		at(patience/2, 2, 1, true) // there is again
		at(patience/2, 2, 1, true) //
		q.watch()                  // changes nothing while the timer runs
		at(patience-1, 2, 1, true) //
		at(1, 2, 2, true)          //
		q.end()
		at(patience, 2, 3, false)    //
		at(10*patience, 2, 3, false) //
	})
}

func TestStallDoesNotAllocateAgain(t *testing.T) {
	q := &queueOf{left: 1}
	q.stall.Start(time.Hour, 0, q)
	allocs := testing.AllocsPerRun(100, func() {
		q.mu.Lock()
		q.stall.Ended(1)
		q.stall.Start(time.Hour, 0, q)
		q.mu.Unlock()
	})
	if allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
	q.stall.timer.Stop()
}
