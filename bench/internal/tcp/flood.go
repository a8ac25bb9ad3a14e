package tcp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/valyala/fasthttp/bench/internal/progress"
	"github.com/valyala/fasthttp/bench/internal/rig"
	"github.com/valyala/fasthttp/bench/internal/tlsload"
	"github.com/valyala/fasthttp/bench/internal/turns"
)

// flood is the load of hostile clients beside the established clients.
type flood struct {
	kind  tlsload.Kind // "" if there are none
	conns int
	rate  int
}

// halfOpenConns is how many half-open handshakes there are.
const halfOpenConns = 5000

// floods are the rows. The first has no flood; the others are compared with it.
var floods = []flood{
	{},
	{tlsload.HalfOpen, halfOpenConns, 1000},
	{tlsload.Hellos, 256, 0},
}

func (f flood) String() string {
	switch f.kind {
	case tlsload.HalfOpen:
		return fmt.Sprintf("%d half-open handshakes, %d new a second", f.conns, f.rate)
	case tlsload.Hellos:
		return fmt.Sprintf("%s from %d clients", f.kind, f.conns)
	}
	return "none"
}

// The established clients, whose requests are measured.
const (
	establishedConns = 64
	establishedRate  = 1000
)

// floodSession measures the effect of floods on established connections.
type floodSession struct {
	*secureSession
	samples map[turns.Key][]floodSample // the load is the text of the flood
}

// floodSample is one run.
type floodSample struct {
	p50, p99 float64 // µs, of the established clients
	rate     float64 // connections of the flood a second
	resident float64 // bytes of the server during the flood
	// For HalfOpen: held is how many connections of the flood the server has open, and memory
	// the size of heap and stacks for each.
	held, memory float64
}

// MeasureFlood measures established connections over TLS beside floods. dir is the bench
// folder. The program must call tlsload.Main before anything else.
func MeasureFlood(ctx context.Context, dir string, opts Options, log progress.Log) (*FloodReport, int, error) {
	temp, err := os.MkdirTemp("", "fasthttp-bench-")
	if err != nil {
		return nil, 0, err
	}
	defer os.RemoveAll(temp)
	secure, err := opts.secure(ctx, dir, temp, false, log)
	if err != nil {
		return nil, 0, err
	}
	s := &floodSession{secureSession: secure, samples: map[turns.Key][]floodSample{}}
	if err := s.runAll(ctx); err != nil {
		return nil, 0, err
	}
	return s.report(), s.rounds * len(s.servers), nil
}

func (s *floodSession) runAll(ctx context.Context) error {
	all := s.rounds * len(s.servers)
	s.log.Plan(all, float64(all))
	for round := range s.rounds {
		for _, server := range s.servers {
			s.log.Begin(fmt.Sprintf("round %d/%d  %s", round+1, s.rounds, server.Name))
			said, err := s.measure(ctx, server)
			if ctx.Err() != nil {
				return errors.New("interrupted")
			}
			if err != nil {
				s.failures = append(s.failures, fmt.Sprintf("round %d, %s: %v", round+1, server.Name, err))
				said = append(said, fmt.Sprintf("FAILED: %v", err))
			}
			s.log.End(1, strings.Join(said, "  "))
		}
	}
	return nil
}

// measure starts a server and runs all floods on it. It returns a line about each flood.
func (s *floodSession) measure(ctx context.Context, server *rig.Server) (said []string, err error) {
	process, err := s.start(ctx, server)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, process.Stop()) }()
	before, err := process.Usage(ctx)
	if err != nil {
		return nil, err
	}
	for _, f := range floods {
		got, err := s.beside(ctx, process, f, before)
		if err != nil {
			return said, fmt.Errorf("flood: %s: %w", f, err)
		}
		k := turns.Key{Load: f.String(), Server: server.Name}
		s.samples[k] = append(s.samples[k], got)
		said = append(said, fmt.Sprintf("p99 %.0f µs beside %s (%.0f/s)", got.p99, f, got.rate))
	}
	return said, nil
}

// beside measures established clients beside a flood. before is the server's usage before
// there were any connections.
func (s *floodSession) beside(ctx context.Context, process *rig.Process, f flood, before rig.Usage) (got floodSample, err error) {
	var running *tlsload.Flood
	if f.kind != "" {
		running, err = tlsload.Start(ctx, s.client, tlsload.Load{Kind: f.kind, Addr: process.Addr, Conns: f.conns, Rate: f.rate})
		if err != nil {
			return got, err
		}
		defer func() {
			r, stopped := running.Stop(ctx)
			got.rate = r.Rate
			err = errors.Join(err, stopped)
		}()
	}
	r, err := tlsload.Run(ctx, s.client, tlsload.Load{
		Kind: tlsload.Steady, Addr: process.Addr, Conns: establishedConns, Rate: establishedRate, Time: time.Duration(s.seconds) * time.Second,
	})
	if err != nil {
		return got, err
	}
	got.p50, got.p99 = micros(r.P50), micros(r.P99)
	after, err := process.Usage(ctx)
	if err != nil {
		return got, err
	}
	got.resident = float64(after.Resident)
	if f.kind == tlsload.HalfOpen {
		got.held = float64(after.Descriptors - before.Descriptors)
		grown := float64(after.HeapInUse+after.StackInUse) - float64(before.HeapInUse+before.StackInUse)
		if got.held > 0 {
			got.memory = grown / got.held
		}
	}
	return got, nil
}
