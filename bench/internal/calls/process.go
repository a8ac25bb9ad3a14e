package calls

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp/bench/internal/cputime"
	"github.com/valyala/fasthttp/bench/internal/rig"
)

// job is the task of a process of callers.
type job struct {
	Client  string
	Addr    string
	Callers int
	// Warm is how long calls are made before they count, and Time how long they count.
	Warm, Time time.Duration
}

// result is the result of a job.
type result struct {
	Calls  int64         `json:"calls"`
	Took   time.Duration `json:"took"`
	CPU    time.Duration `json:"cpu"`
	Allocs uint64        `json:"allocations"`
	Conns  int64         `json:"connections"` // dialed connections, including warm-up
}

// word is the first argument of a process of callers.
const word = "callers"

// spareTime is how much longer than requested the process may take.
const spareTime = time.Minute

// run does the job in a separate process.
func (j job) run(ctx context.Context, place rig.Place) (result, error) {
	ctx, cancel := context.WithTimeout(ctx, j.Warm+j.Time+spareTime)
	defer cancel()
	return rig.AskSelf[result](ctx, place, word, []string{fmt.Sprintf("GOMAXPROCS=%d", place.Procs())}, j)
}

// Main runs the process as callers if its arguments request that, and then does not return.
func Main() {
	rig.AnswerAs(word, func(ctx context.Context, j job) (r result, err error) {
		if j.Callers < 1 || j.Warm < 0 || j.Time <= 0 {
			return r, fmt.Errorf("these are no callers: %+v", j)
		}
		return j.call(ctx.Done())
	})
}

// counter counts the calls of one caller. No two counters share a cache line.
type counter struct {
	atomic.Int64
	_ [120]byte
}

// call makes calls for the time of the job, or until over is closed.
func (j job) call(over <-chan struct{}) (result, error) {
	c := &client{job: j}
	crew, err := c.prepare()
	if err != nil {
		return result{}, err
	}
	// the first caller connects, and the others share its connections
	if err := crew.newCaller()(); err != nil {
		return result{}, err
	}
	var all sync.WaitGroup
	var stopped atomic.Bool
	failed := make(chan error, crew.size)
	counters := make([]counter, crew.size)
	for i := range counters {
		call := crew.newCaller()
		all.Go(func() {
			for !stopped.Load() {
				if err := call(); err != nil {
					failed <- err
					return
				}
				counters[i].Add(int64(crew.each))
			}
		})
	}
	sum := func() (n int64) {
		for i := range counters {
			n += counters[i].Load()
		}
		return n
	}
	var before, after runtime.MemStats
	err = j.wait(j.Warm, failed, over)
	runtime.ReadMemStats(&before)
	calls, cpu, begin := sum(), cputime.Used(), time.Now()
	if err == nil {
		err = j.wait(j.Time, failed, over)
	}
	r := result{Calls: sum() - calls, CPU: cputime.Used() - cpu, Took: time.Since(begin)}
	runtime.ReadMemStats(&after)
	r.Allocs, r.Conns = after.Mallocs-before.Mallocs, c.conns.Load()
	stopped.Store(true)
	if err != nil {
		return r, err
	}
	all.Wait()
	return r, nil
}

var errEnded = errors.New("ended while calling")

// wait waits for d. It returns an error if a call fails, or if the process must end, before
// that.
func (j job) wait(d time.Duration, failed <-chan error, over <-chan struct{}) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case err := <-failed:
		return err
	case <-over:
		return errEnded
	case <-timer.C:
		return nil
	}
}
