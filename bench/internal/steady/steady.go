// Package steady sends requests at a steady rate, and measures what each took. See Run
// for where to start.
package steady

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/valyala/fasthttp/bench/internal/probe"
)

// Load is how many requests are sent, over how many connections.
type Load struct {
	Conns int
	Rate  int // requests a second over all connections
	Time  time.Duration
}

// settleTime is how long the connections may take to be made before requests count.
const settleTime = 200 * time.Millisecond

// Run returns how long each request took. A request that could not go out in time,
// because the one before it was not answered yet, counts from when it was due; any
// other from when it went out, so that the client's own timers are not held against the
// server.
func Run(ctx context.Context, l Load, dial func() (*probe.Conn, error)) ([]time.Duration, error) {
	conns := make([]*probe.Conn, l.Conns)
	defer func() {
		for _, conn := range conns {
			if conn != nil {
				_ = conn.Close()
			}
		}
	}()
	if err := Each(l.Conns, func(i int) (err error) {
		conns[i], err = dial()
		return err
	}); err != nil {
		return nil, err
	}
	interval := time.Duration(l.Conns) * time.Second / time.Duration(l.Rate)
	count := max(1, int(l.Time/interval))
	lists := make([][]time.Duration, l.Conns)
	start := time.Now().Add(settleTime)
	err := Each(l.Conns, func(i int) error {
		times := make([]time.Duration, 0, count)
		next := start.Add(interval * time.Duration(i) / time.Duration(l.Conns))
		for range count {
			from := next
			if wait := time.Until(next); wait > 0 {
				if !Sleep(ctx, wait) {
					return ctx.Err()
				}
				from = time.Now()
			} else if err := ctx.Err(); err != nil {
				return fmt.Errorf("the server does not keep up: %w", err)
			}
			if err := conns[i].Get(); err != nil {
				return err
			}
			times = append(times, time.Since(from))
			next = next.Add(interval)
		}
		lists[i] = times
		return nil
	})
	return slices.Concat(lists...), err
}

// Each runs f on n goroutines and returns their errors, of which equal ones
// appear once.
func Each(n int, f func(i int) error) error {
	errs := make([]error, n)
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() { errs[i] = f(i) })
	}
	group.Wait()
	seen := map[string]bool{}
	return errors.Join(slices.DeleteFunc(errs, func(err error) bool {
		if err == nil || seen[err.Error()] {
			return true
		}
		seen[err.Error()] = true
		return false
	})...)
}

// Sleep waits, and reports whether ctx goes on.
func Sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
