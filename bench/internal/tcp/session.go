package tcp

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/valyala/fasthttp/bench/internal/probe"
	"github.com/valyala/fasthttp/bench/internal/progress"
	"github.com/valyala/fasthttp/bench/internal/rig"
	"github.com/valyala/fasthttp/bench/internal/serving"
	"github.com/valyala/fasthttp/bench/internal/turns"
)

// session runs all loads on all servers, round after round.
type session struct {
	servers  []*rig.Server
	loads    []load
	rounds   int
	seconds  int
	place    rig.Place // of the servers
	generate generator
	limit    int           // on open files of a process
	identity *rig.Identity // nil for plain HTTP
	log      progress.Log

	samples  map[turns.Key][]sample
	failures []string
}

// sample is one run.
type sample struct {
	rate     float64 // requests a second
	cpu      float64 // µs of the server's processor time for a request
	p50, p99 float64 // µs
	errors   int
}

func (s sample) String() string {
	return fmt.Sprintf("%.0f requests/s, %.2f µs CPU, p99 %.0f µs", s.rate, s.cpu, s.p99)
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

// spareFiles is how many descriptors a process needs besides its connections.
const spareFiles = 100

// measure runs one load on a fresh server.
func (s *session) measure(ctx context.Context, l load, server *rig.Server) (got sample, err error) {
	if l.conns+spareFiles > s.limit {
		return got, fmt.Errorf("a process may have only %d files open", s.limit)
	}
	process, err := server.Start(ctx, rig.Settings{Mode: serving.Plain, Place: s.place, Procs: s.place.Procs(), Identity: s.identity})
	if err != nil {
		return got, err
	}
	defer func() { err = errors.Join(err, process.Stop()) }()
	if err := warmUp(process.Addr, s.identity != nil); err != nil {
		return got, fmt.Errorf("warming up: %w", err)
	}
	begin, err := process.CPU()
	if err != nil {
		return got, err
	}
	result, err := s.generate.run(ctx, l, process.Addr)
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
	return sample{
		rate:   result.Rate,
		cpu:    micros(end-begin) / float64(result.Requests),
		p50:    micros(result.P50),
		p99:    micros(result.P99),
		errors: result.Errors,
	}, nil
}

// warmUp checks the responses of a server, and takes it past its first requests, which are
// slow.
func warmUp(addr string, overTLS bool) error {
	const conns, perConn, most = 8, 250, 5 * time.Second
	deadline := time.Now().Add(most)
	dial := probe.Dial
	if overTLS {
		dial = probe.DialTLS
	}
	for range conns {
		conn, err := dial("", addr, "/")
		if err != nil {
			return err
		}
		for range perConn {
			if err = conn.Get(); err != nil || time.Now().After(deadline) {
				break
			}
		}
		if err = errors.Join(err, conn.Close()); err != nil {
			return err
		}
	}
	return nil
}
