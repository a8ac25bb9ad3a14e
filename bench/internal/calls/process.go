package calls

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp/bench/internal/cputime"
	"github.com/valyala/fasthttp/bench/internal/rig"
)

// job is the task of a process of callers.
type job struct {
	client        string
	addr          string
	callers       int
	plain, varied bool
	// warm is how long calls are made before they count, and time how long they count.
	warm, time time.Duration
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
	ctx, cancel := context.WithTimeout(ctx, j.warm+j.time+spareTime)
	defer cancel()
	return rig.AskSelf[result](ctx, place, "callers", []string{fmt.Sprintf("GOMAXPROCS=%d", place.Procs())}, j.args()...)
}

// args returns the arguments for Main.
func (j job) args() []string {
	return []string{
		word, "-client", j.client, "-addr", j.addr, "-callers", fmt.Sprint(j.callers), "-plain=" + fmt.Sprint(j.plain),
		"-varied=" + fmt.Sprint(j.varied), "-warm", j.warm.String(), "-time", j.time.String(),
	}
}

// Main runs the process as callers if its arguments request that, and then does not return.
func Main() {
	rig.AnswerAs(word, "callers", func(ctx context.Context, args []string) (r result, err error) {
		j, err := parse(args)
		if err != nil {
			return r, err
		}
		return j.call(ctx.Done())
	})
}

func parse(args []string) (job, error) {
	var j job
	flags := flag.NewFlagSet(word, flag.ContinueOnError)
	flags.SetOutput(io.Discard) // the error is enough
	flags.StringVar(&j.client, "client", "", "which client calls")
	flags.StringVar(&j.addr, "addr", "", "address of the server")
	flags.IntVar(&j.callers, "callers", 1, "how many goroutines call")
	flags.BoolVar(&j.plain, "plain", false, "the server speaks no TLS")
	flags.BoolVar(&j.varied, "varied", false, "no two calls in a row are alike")
	flags.DurationVar(&j.warm, "warm", 0, "time to make calls that do not count")
	flags.DurationVar(&j.time, "time", time.Second, "time to make calls that count")
	if err := flags.Parse(args); err != nil {
		return j, err
	}
	if j.callers < 1 || j.warm < 0 || j.time <= 0 {
		return j, fmt.Errorf("these are no callers: %+v", j)
	}
	return j, nil
}

// counter counts the calls of one caller. No two counters share a cache line.
type counter struct {
	atomic.Int64
	_ [120]byte
}

// call makes calls for the time of the job, or until over is closed.
func (j job) call(over <-chan struct{}) (result, error) {
	c := newClient(j)
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
	err = j.wait(j.warm, failed, over)
	runtime.ReadMemStats(&before)
	calls, cpu, begin := sum(), cputime.Used(), time.Now()
	if err == nil {
		err = j.wait(j.time, failed, over)
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
