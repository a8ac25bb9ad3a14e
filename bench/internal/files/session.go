package files

import (
	"context"
	"errors"
	"fmt"

	"github.com/valyala/fasthttp/bench/internal/progress"
	"github.com/valyala/fasthttp/bench/internal/rig"
)

// session runs all loads on all servers, round after round.
type session struct {
	contenders         []contender
	loads              []load
	rounds, seconds    int
	wrk                string
	place, clientPlace rig.Place
	nginx              string // its version
	log                progress.Log

	samples  map[key][]sample
	missing  []string
	failures []string
}

// key says what a sample is of.
type key struct{ load, server string }

// sample is one run.
type sample struct {
	rate   float64 // requests a second
	cpu    float64 // µs of the server's processor time for a request
	both   float64 // and with that of wrk
	errors int
}

// runAll goes on after a failed run, which it remembers, and stops only when
// ctx ends. The servers take turns, so that whatever else the machine does
// meets all of them alike.
func (s *session) runAll(ctx context.Context) error {
	s.samples = map[key][]sample{}
	all := s.rounds * len(s.loads) * len(s.contenders)
	s.log.Plan(all, float64(all))
	for round := range s.rounds {
		for _, l := range s.loads {
			for _, c := range s.contenders {
				s.log.Begin(fmt.Sprintf("round %d/%d  %s  %s", round+1, s.rounds, l.name, c.name))
				got, err := s.measure(ctx, l, c)
				if ctx.Err() != nil {
					return errors.New("interrupted")
				}
				if err != nil {
					s.failures = append(s.failures, fmt.Sprintf("round %d, %s, %s: %v", round+1, l.name, c.name, err))
					s.log.End(1, fmt.Sprintf("FAILED: %v", err))
					continue
				}
				k := key{l.name, c.name}
				s.samples[k] = append(s.samples[k], got)
				s.log.End(1, fmt.Sprintf("%.0f requests/s, %.2f µs CPU, %.2f µs with wrk", got.rate, got.cpu, got.both))
			}
		}
	}
	return nil
}

// measure runs one load on a fresh server.
func (s *session) measure(ctx context.Context, l load, c contender) (got sample, err error) {
	process, err := c.start(ctx)
	if err != nil {
		return got, err
	}
	defer func() { err = errors.Join(err, c.stop(process)) }()
	if err := l.warmUp(ctx, process.Addr); err != nil {
		return got, fmt.Errorf("warming up: %w", err)
	}
	begin, err := process.CPU()
	if err != nil {
		return got, err
	}
	result, used, err := s.run(ctx, l, process.Addr)
	if err != nil {
		return got, err
	}
	end, err := process.CPU()
	if err != nil {
		return got, err
	}
	if end <= begin {
		return got, fmt.Errorf("the server used no processor time for %d requests", result.Requests)
	}
	n := float64(result.Requests)
	return sample{
		rate:   result.Rate,
		cpu:    micros(end-begin) / n,
		both:   micros(end-begin+used) / n,
		errors: result.Errors,
	}, nil
}
