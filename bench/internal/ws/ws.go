// Package ws measures WebSocket servers over loopback sockets: the libraries of the program in
// servers/websocket, and a loop in C that checks nothing. Start with Measure.
package ws

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"time"

	"github.com/valyala/fasthttp/bench/internal/progress"
	"github.com/valyala/fasthttp/bench/internal/rig"
	"github.com/valyala/fasthttp/bench/internal/serving"
	"github.com/valyala/fasthttp/bench/internal/turns"
	"github.com/valyala/fasthttp/bench/internal/wsload"
)

// Options select what to measure.
type Options struct {
	Rounds  int
	Seconds int // that a run takes
	Conns   int // sockets of the rows with many
	Pin     bool
	Rows    *regexp.Regexp
	Servers *regexp.Regexp
}

// session runs all loads on all servers, round after round.
type session struct {
	Options
	servers            []*rig.Server
	loads              []load
	place, clientPlace rig.Place
	identity           *rig.Identity
	log                progress.Log

	samples  map[turns.Key][]sample
	missing  []string
	failures []string
}

// spareFiles is how many descriptors a process needs besides its sockets.
const spareFiles = 500

// Measure builds the servers in dir, which is the bench folder, and measures them. The program
// must have called wsload.Main. The report has the failed runs; runs is the number of all runs.
func Measure(ctx context.Context, dir string, opts Options, log progress.Log) (r *Report, runs int, err error) {
	limit, err := rig.RaiseFileLimit()
	if err != nil {
		return nil, 0, err
	}
	s := &session{Options: opts, place: rig.Anywhere, clientPlace: rig.Anywhere, log: log}
	if most := limit - spareFiles; s.Conns > most {
		if most < 1 {
			return nil, 0, fmt.Errorf("a process may have only %d files open", limit)
		}
		s.missing = append(s.missing, fmt.Sprintf("%d sockets instead of %d, since a process may have only %d files open", most, s.Conns, limit))
		s.Conns = most
	}
	s.loads = slices.DeleteFunc(loads(s.Conns), func(l load) bool { return !opts.Rows.MatchString(l.name) })
	if len(s.loads) == 0 {
		return nil, 0, fmt.Errorf("no row matches %q", opts.Rows)
	}
	temp, err := os.MkdirTemp("", "fasthttp-bench-")
	if err != nil {
		return nil, 0, err
	}
	defer os.RemoveAll(temp)
	if opts.Pin {
		if s.place, s.clientPlace, err = rig.Separate(); err != nil {
			s.missing = append(s.missing, "nothing is pinned: "+err.Error())
		}
	}
	if s.identity, err = rig.NewIdentity(temp); err != nil {
		return nil, 0, err
	}
	log.Note("building the servers")
	if err := s.build(ctx, dir, temp); err != nil {
		return nil, 0, err
	}
	for _, note := range s.missing {
		log.Note(note)
	}
	log.Note(fmt.Sprintf("servers: %v; load: %v", s.place, s.clientPlace))
	if runs, err = s.runAll(ctx); err != nil {
		return nil, 0, err
	}
	return s.report(), runs, nil
}

// build builds the servers that the options select.
func (s *session) build(ctx context.Context, dir, temp string) error {
	all, err := rig.BuildWebSocket(ctx, dir, temp)
	if err != nil {
		return err
	}
	floor, err := rig.BuildWebSocketFloor(ctx, dir, temp)
	if err != nil {
		s.missing = append(s.missing, err.Error())
	} else {
		all = append(all, floor)
	}
	s.servers = slices.DeleteFunc(all, func(server *rig.Server) bool { return !s.Servers.MatchString(server.Name) })
	if len(s.servers) == 0 {
		return fmt.Errorf("no server matches %q", s.Servers)
	}
	return nil
}

func (s *session) runAll(ctx context.Context) (runs int, err error) {
	plan := turns.Plan{Rounds: s.Rounds, Log: s.log, Skip: func(load, server int) bool {
		// the loop in C does not speak TLS
		return s.loads[load].TLS && s.servers[server].Name == rig.WebSocketFloor
	}}
	for _, l := range s.loads {
		plan.Loads = append(plan.Loads, l.name)
	}
	for _, server := range s.servers {
		plan.Servers = append(plan.Servers, server.Name)
	}
	s.samples, s.failures, err = turns.Run(ctx, plan, func(load, server int) (sample, error) {
		return s.measure(ctx, s.loads[load], s.servers[server])
	})
	return plan.Rounds * plan.Runs(), err
}

// sample is one run.
type sample struct {
	idle bool
	// Of a run with messages: messages a second, the server's processor time and allocations
	// for a message, and the load's processor time for it. Times are in µs.
	rate, cpu, load float64
	allocs          float64 // NaN if the server is not written in Go
	p50, p99, most  float64
	// Of idle sockets, for each.
	resident   float64 // bytes
	goroutines float64 // NaN if the server is not written in Go
}

func (s sample) String() string {
	if s.idle {
		return fmt.Sprintf("%.0f bytes a socket", s.resident)
	}
	return fmt.Sprintf("%.0f messages/s, %.2f µs CPU, p99 %.0f µs", s.rate, s.cpu, s.p99)
}

// measure runs one load on a fresh server.
func (s *session) measure(ctx context.Context, l load, server *rig.Server) (got sample, err error) {
	settings := rig.Settings{Mode: serving.Plain, Place: s.place, Procs: s.place.Procs()}
	if l.TLS {
		settings.Identity = s.identity
	}
	process, err := server.Start(ctx, settings)
	if err != nil {
		return got, err
	}
	defer func() { err = errors.Join(err, process.Stop()) }()
	l.Addr = process.Addr
	l.Warm = warmTime
	l.Time = time.Duration(s.Seconds*max(1, l.times)) * time.Second
	p := probe{Process: process, counts: server.Name != rig.WebSocketFloor}
	if l.Kind == wsload.Idle {
		return s.hold(ctx, l, p)
	}
	return s.exchange(ctx, l, p)
}

// warmTime is how long messages are sent before they count.
const warmTime = 300 * time.Millisecond

// exchange measures a load with messages.
func (s *session) exchange(ctx context.Context, l load, p probe) (got sample, err error) {
	sockets, err := wsload.Start(ctx, s.clientPlace, l.Load)
	if err != nil {
		return got, err
	}
	defer func() { err = errors.Join(err, sockets.Stop()) }()
	before, err := p.allocs(ctx)
	if err != nil {
		return got, err
	}
	begin, err := p.CPU()
	if err != nil {
		return got, err
	}
	r, err := sockets.Run(ctx)
	if err != nil {
		return got, err
	}
	end, err := p.CPU()
	if err != nil {
		return got, err
	}
	after, err := p.allocs(ctx)
	if err != nil {
		return got, err
	}
	if end <= begin {
		return got, fmt.Errorf("the server used no processor time for %d messages", r.Messages)
	}
	n := float64(r.Messages)
	return sample{
		rate: n / r.Took.Seconds(), cpu: micros(end-begin) / n, load: micros(r.CPU) / n,
		allocs: (after - before) / n,
		p50:    micros(r.P50), p99: micros(r.P99), most: micros(r.Longest),
	}, nil
}

// micros converts a time to µs, the unit of the figures.
func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
