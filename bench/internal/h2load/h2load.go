// Package h2load measures servers of HTTP/2 over loopback sockets: this fasthttp with its
// event engine and with its portable one, net/http, and nghttpd, h2o and nginx as far as they
// are installed. h2load generates the load. Start with Measure.
package h2load

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"time"

	"github.com/valyala/fasthttp/bench/internal/progress"
	"github.com/valyala/fasthttp/bench/internal/rig"
	"github.com/valyala/fasthttp/bench/internal/serving"
	"github.com/valyala/fasthttp/bench/internal/turns"
)

// Options select what to measure.
type Options struct {
	Rounds  int
	Seconds int // that a run takes
	Pin     bool
	TLS     bool
	Rows    *regexp.Regexp
	Modules rig.Modules
}

// ErrNoH2load is returned if the load generator is not installed.
var ErrNoH2load = errors.New("the load generator h2load is not installed; on Debian and Ubuntu: sudo apt-get install nghttp2-client")

// load is one row: the number of connections of h2load, and of streams on each.
type load struct {
	name           string
	conns, streams int
	// toNghttpd and toH2O are the most that the event engine's processor time for a
	// request may be, as a share of theirs, or 0.
	toNghttpd, toH2O float64
}

var loads = []load{
	{name: "1 connection x 100 streams", conns: 1, streams: 100, toNghttpd: 0.45, toH2O: 0.7},
	{name: "64 connections x 10 streams", conns: 64, streams: 10, toNghttpd: 0.65},
	{name: "512 connections x 1 stream", conns: 512, streams: 1},
}

// session runs all loads on all servers, round after round.
type session struct {
	servers            []*rig.Server
	identity           *rig.Identity // nil for plain HTTP
	loads              []load
	rounds, seconds    int
	h2load             string
	place, clientPlace rig.Place
	log                progress.Log

	samples  map[turns.Key][]sample
	missing  []string
	failures []string
}

// Measure builds the servers in dir, which is the bench folder, and measures them. The report
// has the failed runs; runs is the number of all runs.
func Measure(ctx context.Context, dir string, opts Options, log progress.Log) (r *Report, runs int, err error) {
	program, err := exec.LookPath("h2load")
	if err != nil {
		return nil, 0, ErrNoH2load
	}
	temp, err := os.MkdirTemp("", "fasthttp-bench-")
	if err != nil {
		return nil, 0, err
	}
	defer os.RemoveAll(temp)
	s := &session{
		rounds: opts.Rounds, seconds: opts.Seconds, h2load: program,
		place: rig.Anywhere, clientPlace: rig.Anywhere, log: log,
	}
	for _, l := range loads {
		if opts.Rows.MatchString(l.name) {
			s.loads = append(s.loads, l)
		}
	}
	if len(s.loads) == 0 {
		return nil, 0, fmt.Errorf("no row matches %q", opts.Rows)
	}
	if opts.TLS {
		if s.identity, err = rig.NewIdentity(temp); err != nil {
			return nil, 0, err
		}
	}
	if opts.Pin {
		if s.place, s.clientPlace, err = rig.Separate(); err != nil {
			s.miss("nothing is pinned: " + err.Error())
		}
	}
	if err := s.prepare(ctx, dir, temp, opts.Modules); err != nil {
		return nil, 0, err
	}
	log.Note(fmt.Sprintf("servers: %v; h2load: %v", s.place, s.clientPlace))
	if err := s.runAll(ctx); err != nil {
		return nil, 0, err
	}
	r = s.report()
	r.Head = rig.NewHead(s.servers, opts.Rounds)
	return r, opts.Rounds * len(s.loads) * len(s.servers), nil
}

// prepare builds the servers of this module, and finds the installed ones.
func (s *session) prepare(ctx context.Context, dir, temp string, modules rig.Modules) error {
	s.log.Note(fmt.Sprintf("building the servers (%s)", modules.Ours))
	servers, err := rig.Build(ctx, dir, temp, modules)
	if err != nil {
		return err
	}
	s.servers = slices.DeleteFunc(servers, func(server *rig.Server) bool { return server.Name == rig.Upstream })
	root, err := rig.PlantHello(temp)
	if err != nil {
		return err
	}
	for _, find := range []func() (*rig.Server, error){
		func() (*rig.Server, error) { return rig.NewNghttpd(ctx, root) },
		func() (*rig.Server, error) { return rig.NewH2O(ctx, temp, root) },
		func() (*rig.Server, error) { return rig.NewNginx(ctx, temp, rig.HelloSite()) },
	} {
		if server, err := find(); err != nil {
			s.miss(err.Error())
		} else {
			s.servers = append(s.servers, server)
		}
	}
	return nil
}

func (s *session) miss(what string) {
	s.missing = append(s.missing, what)
	s.log.Note(what)
}

// sample is one run.
type sample struct {
	rate float64 // requests a second
	cpu  float64 // µs of the server's processor time for a request
}

func (s sample) String() string {
	return fmt.Sprintf("%.0f requests/s, %.2f µs CPU", s.rate, s.cpu)
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
	process, err := server.Start(ctx, rig.Settings{
		Mode: serving.Plain, Place: s.place, Procs: s.place.Procs(), Identity: s.identity, HTTP2: true,
	})
	if err != nil {
		return got, err
	}
	defer func() { err = errors.Join(err, process.Stop()) }()
	if _, err := s.run(ctx, l, process.Addr, "-n", fmt.Sprint(warmUp*l.conns*l.streams)); err != nil {
		return got, fmt.Errorf("warming up: %w", err)
	}
	begin, err := process.CPU()
	if err != nil {
		return got, err
	}
	result, err := s.run(ctx, l, process.Addr, "-D", fmt.Sprint(s.seconds))
	if err != nil {
		return got, err
	}
	end, err := process.CPU()
	if err != nil {
		return got, err
	}
	if end <= begin {
		return got, fmt.Errorf("the server used no processor time for %d requests", result.requests)
	}
	return sample{
		rate: result.rate,
		cpu:  float64(end-begin) / float64(time.Microsecond) / float64(result.requests),
	}, nil
}
