package stackless

import (
	"errors"
	"io"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/valyala/fasthttp/internal/servertest"
)

func TestFuncIsCalledWithItsArgument(t *testing.T) {
	double := NewFunc(func(ctx any) { *ctx.(*int) *= 2 })
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() {
			n := i
			if !double(&n) {
				t.Error("a call was refused")
			}
			if n != 2*i {
				t.Errorf("%d became %d", i, n)
			}
		})
	}
	wg.Wait()
}

func TestFuncRunsOnFewGoroutines(t *testing.T) {
	var running, most atomic.Int64
	f := NewFunc(func(any) {
		n := running.Add(1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		runtime.Gosched()
		running.Add(-1)
	})
	var wg sync.WaitGroup
	for range 200 {
		wg.Go(func() { f(nil) })
	}
	wg.Wait()
	if limit := int64(runtime.GOMAXPROCS(0)); most.Load() > limit {
		t.Errorf("%d calls ran at a time, want at most %d", most.Load(), limit)
	}
}

func TestFuncRefusesCallsWhenItsQueueIsFull(t *testing.T) {
	p := &pool{workers: 1, queue: make(chan *call, 1)}
	busy, release := make(chan struct{}), make(chan struct{})
	p.f = func(ctx any) {
		if ctx == "first" {
			close(busy)
			<-release
		}
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		if !p.run("first") {
			t.Error("the first call was refused")
		}
	})
	servertest.Receive(t, "the first call", busy)
	// the test itself queues the second call, so that the result does not depend on when a
	// goroutine runs
	p.queue <- &call{done: make(chan struct{}, 1)}
	if p.run("third") {
		t.Error("the third call was taken")
	}
	close(release)
	wg.Wait()
	if !p.run("fourth") {
		t.Error("a call was refused though the queue is empty again")
	}
}

func TestFuncPassesPanicsToItsCaller(t *testing.T) {
	f := NewFunc(func(ctx any) {
		if ctx != nil {
			panic(ctx)
		}
	})
	for range 3 * runtime.GOMAXPROCS(0) {
		func() {
			defer func() {
				err, ok := recover().(error)
				if !ok || !errors.Is(err, io.ErrNoProgress) || !strings.Contains(err.Error(), "TestFuncPassesPanics") {
					t.Errorf("the caller recovered %v", err)
				}
			}()
			f(io.ErrNoProgress)
		}()
	}
	if !f(nil) {
		t.Error("the goroutines have ended after a panic")
	}
}

func TestFuncPassesGoexitToItsCaller(t *testing.T) {
	f := NewFunc(func(ctx any) {
		if ctx != nil {
			runtime.Goexit()
		}
	})
	for range 3 * runtime.GOMAXPROCS(0) {
		ended, returned := make(chan struct{}), false
		go func() {
			defer close(ended)
			f(1)
			returned = true
		}()
		servertest.Receive(t, "the end of the goroutine", ended)
		if returned {
			t.Fatal("the call returned")
		}
	}
	if !f(nil) {
		t.Error("the goroutines have ended after a Goexit")
	}
}

func TestFuncDoesNotAllocate(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector makes sync.Pool drop values")
	}
	f := NewFunc(func(ctx any) { *ctx.(*int)++ })
	n := new(int)
	if allocs := testing.AllocsPerRun(100, func() { f(n) }); allocs > 0 {
		t.Errorf("%v allocations", allocs)
	}
}
