package ws

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/valyala/fasthttp/bench/internal/rig"
	"github.com/valyala/fasthttp/bench/internal/wsload"
)

// probe asks a server for its figures.
type probe struct {
	*rig.Process
	counts bool // it answers such questions, since it is written in Go
}

// allocs returns how often the server has allocated memory, or NaN.
func (p probe) allocs(ctx context.Context) (float64, error) {
	if !p.counts {
		return math.NaN(), nil
	}
	counts, err := p.Counts(ctx)
	return float64(counts.Allocs), err
}

// settled returns the resident bytes and the goroutines of a server, after garbage collections.
// It asks a few times and takes the lowest figures: the server may have work left. Without
// goroutines the number is NaN.
func (p probe) settled(ctx context.Context) (resident, goroutines float64, err error) {
	const times, pause = 4, 250 * time.Millisecond
	resident, goroutines = math.Inf(1), math.NaN()
	for range times {
		var bytes int64
		if p.counts {
			u, err := p.Usage(ctx)
			if err != nil {
				return 0, 0, err
			}
			bytes = u.Resident
			if n := float64(u.Goroutines); math.IsNaN(goroutines) || n < goroutines {
				goroutines = n
			}
		} else if bytes, err = p.Resident(); err != nil {
			return 0, 0, err
		}
		resident = min(resident, float64(bytes))
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return 0, 0, ctx.Err()
		}
	}
	return resident, goroutines, nil
}

// warmConns is how many sockets load the code of a server into memory, so that the measured
// sockets do not include it.
const warmConns = 8

// hold measures idle sockets.
func (s *session) hold(ctx context.Context, l load, p probe) (got sample, err error) {
	few := l.Load
	few.Conns = warmConns
	first, err := wsload.Start(ctx, s.clientPlace, few)
	if err != nil {
		return got, fmt.Errorf("warming up: %w", err)
	}
	defer func() { err = errors.Join(err, first.Stop()) }()
	resident, goroutines, err := p.settled(ctx)
	if err != nil {
		return got, err
	}
	all, err := wsload.Start(ctx, s.clientPlace, l.Load)
	if err != nil {
		return got, err
	}
	defer func() { err = errors.Join(err, all.Stop()) }()
	residentAfter, goroutinesAfter, err := p.settled(ctx)
	if err != nil {
		return got, err
	}
	n := float64(l.Conns)
	return sample{idle: true, resident: (residentAfter - resident) / n, goroutines: (goroutinesAfter - goroutines) / n}, nil
}
