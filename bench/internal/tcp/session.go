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
	identity *rig.Identity // nil if no load has TLS
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
	plan := turns.Plan{Rounds: s.rounds, Log: s.log, Skip: s.skips}
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

func (s *session) skips(load, server int) bool { return !s.loads[load].isFor(s.servers[server]) }

// runs returns how many runs there are in all.
func (s *session) runs() (n int) {
	for _, l := range s.loads {
		for _, server := range s.servers {
			if l.isFor(server) {
				n += s.rounds
			}
		}
	}
	return n
}

// spareFiles is how many descriptors a process needs besides its connections.
const spareFiles = 100

// measure runs one load on a fresh server.
func (s *session) measure(ctx context.Context, l load, server *rig.Server) (got sample, err error) {
	if l.conns+spareFiles > s.limit {
		return got, fmt.Errorf("a process may have only %d files open", s.limit)
	}
	settings := rig.Settings{Mode: serving.Plain, Place: s.place, Procs: s.place.Procs(), Wait: l.wait}
	if l.tls {
		settings.Identity = s.identity
	}
	if l.wait > 0 {
		settings.Mode = serving.Mixed
	}
	process, err := server.Start(ctx, settings)
	if err != nil {
		return got, err
	}
	defer func() { err = errors.Join(err, process.Stop()) }()
	if err := warmUp(process.Addr, l); err != nil {
		return got, fmt.Errorf("warming up: %w", err)
	}
	if seconds := server.WarmSeconds(); seconds > 0 {
		generate := s.generate
		generate.seconds = seconds
		if _, err := generate.run(ctx, l, process.Addr); err != nil {
			return got, fmt.Errorf("warming up: %w", err)
		}
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
func warmUp(addr string, l load) error {
	const conns, most = 8, 5 * time.Second
	perConn := 250
	if l.wait > 0 {
		perConn = 10
	}
	deadline := time.Now().Add(most)
	dial := probe.Dial
	if l.tls {
		dial = probe.DialTLS
	}
	for range conns {
		conn, err := dial("", addr, l.path())
		if err != nil {
			return err
		}
		for range perConn {
			begin := time.Now()
			if err = conn.Get(); err == nil && time.Since(begin) < l.wait {
				err = fmt.Errorf("a handler that should wait for %v answers after %v", l.wait, time.Since(begin))
			}
			if err != nil || time.Now().After(deadline) {
				break
			}
		}
		if err = errors.Join(err, conn.Close()); err != nil {
			return err
		}
	}
	return nil
}
