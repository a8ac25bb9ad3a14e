package files

import (
	"context"
	"errors"
	"fmt"

	"github.com/valyala/fasthttp/bench/internal/progress"
	"github.com/valyala/fasthttp/bench/internal/rig"
	"github.com/valyala/fasthttp/bench/internal/turns"
)

// session runs all loads on all servers, round after round.
type session struct {
	servers            []*rig.Server
	identity           *rig.Identity // nil for plain HTTP
	root               string        // folder of the files
	loads              []load
	rounds, seconds    int
	wrk                string
	place, clientPlace rig.Place
	nginx              string // its version
	log                progress.Log

	samples  map[turns.Key][]sample
	missing  []string
	failures []string
}

// sample is one run.
type sample struct {
	rate   float64 // requests a second
	cpu    float64 // µs of the server's processor time for a request
	both   float64 // the server's and wrk's
	errors int
}

func (s sample) String() string {
	return fmt.Sprintf("%.0f requests/s, %.2f µs CPU, %.2f µs with wrk", s.rate, s.cpu, s.both)
}

func (s *session) runAll(ctx context.Context) (err error) {
	plan := turns.Plan{Rounds: s.rounds, Log: s.log}
	for _, l := range s.loads {
		plan.Loads = append(plan.Loads, l.name)
	}
	for _, server := range s.servers {
		plan.Servers = append(plan.Servers, server.Name)
	}
	s.samples, s.failures, err = turns.Run(ctx, plan, func(load, server int) (sample, error) {
		return s.measure(ctx, s.loads[load], s.servers[server])
	})
	return err
}

// measure runs one load on a fresh server.
func (s *session) measure(ctx context.Context, l load, server *rig.Server) (got sample, err error) {
	process, err := s.start(ctx, server)
	if err != nil {
		return got, err
	}
	defer func() { err = errors.Join(err, process.Stop()) }()
	if err := l.warmUp(ctx, s.url(process.Addr)); err != nil {
		return got, fmt.Errorf("warming up: %w", err)
	}
	begin, err := process.CPU()
	if err != nil {
		return got, err
	}
	result, used, err := s.run(ctx, l, s.url(process.Addr))
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
