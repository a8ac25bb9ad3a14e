package workers

import (
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/valyala/fasthttp/internal/servertest"
)

// idleNow returns how many goroutines of a pool wait for a job when all other
// goroutines of the bubble are blocked.
func idleNow[Job any](p *Pool[Job]) int {
	synctest.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.idle)
}

func TestJobsDoNotWaitForEachOther(t *testing.T) {
	servertest.Bubble(t, func(t *testing.T) {
		var running atomic.Int32
		gate := make(chan struct{})
		p := New(time.Minute, func(n int32) {
			running.Add(n)
			<-gate
			running.Add(-n)
		})
		for n := range int32(10) {
			p.Do(n)
		}
		synctest.Wait()
		if n := running.Load(); n != 45 {
			t.Errorf("the sum of the running jobs is %d", n)
		}
		close(gate)
		if n := idleNow(p); n != 10 || running.Load() != 0 {
			t.Errorf("%d goroutines wait, %d run", n, running.Load())
		}
		p.Stop()
	})
}

func TestGoroutinesEndThatAreNotNeeded(t *testing.T) {
	servertest.Bubble(t, func(t *testing.T) {
		p := New(time.Minute, func(wait time.Duration) { time.Sleep(wait) })
		for range 10 {
			p.Do(time.Second)
		}
		time.Sleep(time.Second)
		if n := idleNow(p); n != 10 {
			t.Errorf("%d goroutines wait after 10 jobs", n)
		}
		time.Sleep(58 * time.Second)
		if n := idleNow(p); n != 10 {
			t.Errorf("%d goroutines wait for as long as they may", n)
		}
		// one goroutine is kept busy with one job after another
		for range 8 {
			time.Sleep(30 * time.Second)
			p.Do(0)
		}
		if n := idleNow(p); n != 1 {
			t.Errorf("%d goroutines wait, want the one that is used", n)
		}
		time.Sleep(3 * time.Minute)
		if n := idleNow(p); n != 0 {
			t.Errorf("%d goroutines wait for nothing", n)
		}
		p.Stop()
	})
}

// A pool that has stopped costs neither goroutines nor timers, and can be reused.
func TestAPoolThatRestsHasNothing(t *testing.T) {
	servertest.Bubble(t, func(t *testing.T) {
		p := New(time.Minute, func(wait time.Duration) { time.Sleep(wait) })
		for range 3 {
			for range 10 {
				p.Do(time.Second)
			}
			time.Sleep(time.Second)
			if n := idleNow(p); n != 10 {
				t.Errorf("%d goroutines wait after 10 jobs", n)
			}
			p.Stop()
			if n := idleNow(p); n != 0 {
				t.Errorf("%d goroutines wait after Stop", n)
			}
			p.Resume()
			time.Sleep(time.Hour)
			p.mu.Lock()
			if p.armed {
				t.Error("a timer looks for goroutines")
			}
			p.mu.Unlock()
		}
	})
}

// A bubble ends only after all its goroutines have ended.
func TestStopEndsAllGoroutines(t *testing.T) {
	servertest.Bubble(t, func(t *testing.T) {
		var ended atomic.Int32
		p := New(time.Hour, func(wait time.Duration) {
			time.Sleep(wait)
			ended.Add(1)
		})
		for i := range 10 {
			p.Do(time.Duration(i%2) * time.Minute)
		}
		time.Sleep(time.Second)
		p.Stop()
		if n := idleNow(p); n != 0 || ended.Load() != 5 {
			t.Errorf("%d goroutines wait after Stop, %d jobs have ended", n, ended.Load())
		}
		p.Do(time.Second)
		time.Sleep(time.Minute)
		if n := idleNow(p); n != 0 || ended.Load() != 11 {
			t.Errorf("%d goroutines wait at the end, %d jobs have ended", n, ended.Load())
		}
	})
}

func TestAJobMayEndItsGoroutine(t *testing.T) {
	servertest.Bubble(t, func(t *testing.T) {
		jobs := 0
		p := New(time.Minute, func(leave bool) {
			jobs++
			if leave {
				runtime.Goexit()
			}
		})
		for _, leave := range []bool{false, true, true, false} {
			p.Do(leave)
			synctest.Wait()
		}
		if n := idleNow(p); n != 1 || jobs != 4 {
			t.Errorf("%d goroutines wait after %d jobs", n, jobs)
		}
		p.Stop()
	})
}

func TestAGoroutineThatWaitsIsUsedWithoutAllocating(t *testing.T) {
	done := make(chan struct{})
	p := New(time.Hour, func(*int) { done <- struct{}{} })
	defer p.Stop()
	job := new(int)
	if n := testing.AllocsPerRun(100, func() {
		p.Do(job)
		<-done
		for waiting := 0; waiting == 0; runtime.Gosched() {
			p.mu.Lock()
			waiting = len(p.idle)
			p.mu.Unlock()
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
