// Package steady sends requests at a steady rate, and measures their times. Start with Run.
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

// Load has the rate of requests and the number of connections.
type Load struct {
	Conns int
	Rate  int // requests a second over all connections
	Time  time.Duration
}

// settleTime is how long connections may take to open before requests count.
const settleTime = 200 * time.Millisecond

// Run returns how long each request took. If a request had to wait for the response to the one
// before it, its time begins when it was due. Otherwise its time begins when it was sent, so
// that it does not include delays of the client's own timers.
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

// Each runs f on n goroutines and returns their errors, without duplicates.
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

// Sleep waits for d, and reports whether ctx has not ended.
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
