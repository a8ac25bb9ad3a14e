// Package calls measures clients over loopback sockets: this fasthttp with HTTP/2 and with
// HTTP/1.1, and net/http with HTTP/2. The callers run in a separate process, which this
// program starts from its own file. So does the server, which is this fasthttp with its event
// engine. Start with Measure.
package calls

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
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
	Plain   bool // no TLS
	Varied  bool // no two calls in a row are alike
	Rows    *regexp.Regexp
}

// load is one row.
type load struct {
	name    string
	callers int
}

var loads = []load{{"1 caller", 1}, {"100 callers", 100}, {"1000 callers", 1000}}

// streams is the server's limit of open streams for a client: the number of callers, so that
// they can share one connection.
const streams = 1000

// warm is how long calls are made before they count.
const warm = 500 * time.Millisecond

// session runs all loads on all clients, round after round.
type session struct {
	Options
	server             *rig.Server
	identity           *rig.Identity // nil for plain HTTP
	loads              []load
	place, clientPlace rig.Place
	log                progress.Log

	samples  map[turns.Key][]sample
	missing  []string
	failures []string
}

// Measure builds the server in dir, which is the bench folder, and measures the clients. The
// program must have called Main. The report has the failed runs; runs is the number of all
// runs.
func Measure(ctx context.Context, dir string, opts Options, log progress.Log) (r *Report, runs int, err error) {
	if _, err := rig.RaiseFileLimit(); err != nil {
		return nil, 0, err
	}
	temp, err := os.MkdirTemp("", "fasthttp-bench-")
	if err != nil {
		return nil, 0, err
	}
	defer os.RemoveAll(temp)
	s := &session{Options: opts, place: rig.Anywhere, clientPlace: rig.Anywhere, log: log}
	s.loads = slices.DeleteFunc(slices.Clone(loads), func(l load) bool { return !opts.Rows.MatchString(l.name) })
	if len(s.loads) == 0 {
		return nil, 0, fmt.Errorf("no row matches %q", opts.Rows)
	}
	if !opts.Plain {
		if s.identity, err = rig.NewIdentity(temp); err != nil {
			return nil, 0, err
		}
	}
	if opts.Pin {
		if s.place, s.clientPlace, err = rig.Separate(); err != nil {
			s.missing = append(s.missing, "nothing is pinned: "+err.Error())
		}
	}
	log.Note("building the server")
	if s.server, err = rig.BuildEvent(ctx, dir, temp); err != nil {
		return nil, 0, err
	}
	log.Note(fmt.Sprintf("server: %v; callers: %v", s.place, s.clientPlace))
	if err := s.runAll(ctx); err != nil {
		return nil, 0, err
	}
	r = s.report()
	r.Head = rig.NewHead([]*rig.Server{s.server}, opts.Rounds)
	return r, opts.Rounds * len(s.loads) * len(clients), nil
}

// sample is one run.
type sample struct {
	rate   float64 // calls a second
	cpu    float64 // µs of the callers' processor time for a call
	allocs float64 // for a call
	conns  float64
}

func (s sample) String() string {
	return fmt.Sprintf("%.0f calls/s, %.2f µs CPU, %.2f allocations, %.0f connections", s.rate, s.cpu, s.allocs, s.conns)
}

func (s *session) runAll(ctx context.Context) (err error) {
	plan := turns.Plan{Rounds: s.Rounds, Servers: clients, Log: s.log}
	for _, l := range s.loads {
		plan.Loads = append(plan.Loads, l.name)
	}
	s.samples, s.failures, err = turns.Run(ctx, plan, func(load, client int) (sample, error) {
		return s.measure(ctx, s.loads[load], clients[client])
	})
	return err
}

// measure runs one load on one client, with a fresh server.
func (s *session) measure(ctx context.Context, l load, client string) (got sample, err error) {
	process, err := s.server.Start(ctx, rig.Settings{
		Mode: serving.Plain, Place: s.place, Procs: s.place.Procs(), Identity: s.identity, HTTP2: true,
		Args: []string{"-" + serving.StreamsFlag, strconv.Itoa(streams)},
	})
	if err != nil {
		return got, err
	}
	defer func() { err = errors.Join(err, process.Stop()) }()
	r, err := job{
		client: client, addr: process.Addr, callers: l.callers, plain: s.Plain, varied: s.Varied,
		warm: warm, time: time.Duration(s.Seconds) * time.Second,
	}.run(ctx, s.clientPlace)
	if err != nil {
		return got, err
	}
	if r.Calls == 0 || r.CPU <= 0 {
		return got, fmt.Errorf("%d calls took %v of processor time", r.Calls, r.CPU)
	}
	calls := float64(r.Calls)
	return sample{
		rate:   calls / r.Took.Seconds(),
		cpu:    float64(r.CPU) / float64(time.Microsecond) / calls,
		allocs: float64(r.Allocs) / calls,
		conns:  float64(r.Conns),
	}, nil
}
