package tcp

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/valyala/fasthttp/bench/internal/closedloop"
	"github.com/valyala/fasthttp/bench/internal/progress"
	"github.com/valyala/fasthttp/bench/internal/rig"
	"github.com/valyala/fasthttp/bench/internal/serving"
	"github.com/valyala/fasthttp/bench/internal/turns"
)

// handler is a handler that waits.
type handler struct {
	name string
	mode serving.Mode
	// wait is how long it sleeps, or how long its backend sleeps.
	wait time.Duration
	// Of every requests, one waits and the others are answered at once.
	every int
}

// The beginnings of the names of handlers.
const (
	sleeping = "sleep"
	proxying = "proxy"
	mixing   = "mix"
)

var handlers = []handler{
	{sleeping + "100us", serving.Mixed, 100 * time.Microsecond, 1},
	{sleeping + "300us", serving.Mixed, 300 * time.Microsecond, 1},
	{sleeping + "1ms", serving.Mixed, time.Millisecond, 1},
	{sleeping + "2.5ms", serving.Mixed, 2500 * time.Microsecond, 1},
	{sleeping + "10ms", serving.Mixed, 10 * time.Millisecond, 1},
	{proxying, serving.Forwards, time.Millisecond, 1},
	{mixing, serving.Mixed, time.Millisecond, 10},
}

// WaitOptions select what MeasureWait measures.
type WaitOptions struct {
	Rounds  int
	Time    time.Duration  // that a run takes
	Pin     bool           // a server with GOMAXPROCS 1 to a core
	Only    *regexp.Regexp // names of handlers
	Conns   []int
	Procs   []int    // GOMAXPROCS
	Servers []string // by their names in rig
	Modules rig.Modules
}

// WaitServers are the servers of MeasureWait.
var WaitServers = []string{rig.Event, rig.Portable, rig.Upstream, rig.NetHTTP}

// WaitConns returns the numbers of connections in turn.
func WaitConns() []int { return []int{16, 64, 512} }

// WaitProcs returns the values of GOMAXPROCS in turn: one, and all processors.
func WaitProcs() []int { return slices.Compact([]int{1, runtime.NumCPU()}) }

// Runs is how many runs there are in a round.
func (o WaitOptions) Runs() int {
	return len(o.chosen()) * len(o.Conns) * len(o.Procs) * len(o.Servers)
}

// again reports whether rows with a missed goal are measured again. A quick look has one round,
// and judges nothing.
func (o WaitOptions) again() bool { return o.Rounds > 1 && o.Rounds < doubtRounds }

// chosen returns the handlers to measure.
func (o WaitOptions) chosen() []handler {
	return slices.DeleteFunc(slices.Clone(handlers), func(h handler) bool { return !o.Only.MatchString(h.name) })
}

// waitLoad is a load on all servers.
type waitLoad struct {
	handler handler
	conns   int
	procs   int
}

func (l waitLoad) String() string {
	return fmt.Sprintf("%s, %d connections, GOMAXPROCS %d", l.handler.name, l.conns, l.procs)
}

// waitSample is one run.
type waitSample struct {
	rate     float64 // requests a second
	cpu      float64 // µs of the server's processor time for a request
	p50, p99 float64 // µs
}

func (s waitSample) String() string {
	return fmt.Sprintf("%.0f requests/s, p99 %.0f µs, %.1f µs CPU", s.rate, s.p99, s.cpu)
}

// waitSession runs all loads on all servers, round after round.
type waitSession struct {
	servers []*rig.Server
	backend *rig.Server
	loads   []waitLoad
	rounds  int
	time    time.Duration
	// alone is the place of a server with GOMAXPROCS 1, and asking the place of its clients.
	alone, asking rig.Place
	log           progress.Log

	samples  map[turns.Key][]waitSample // the load is the text of the waitLoad
	failures []string
	doubts   map[waitLoad]bool // the loads that were measured again
}

// doubtRounds is the number of rounds in which a row with a missed goal is measured again:
// with few rounds on a machine that shares its processors, some of the many cells miss their
// goals by chance. Only these rounds count then.
const doubtRounds = 9

// MeasureWait measures handlers that wait. dir is the bench folder. The program
// must call closedloop.Main before anything else.
func MeasureWait(ctx context.Context, dir string, opts WaitOptions, log progress.Log) (*WaitReport, int, error) {
	if opts.Runs() == 0 {
		return nil, 0, fmt.Errorf("no handler matches %q", opts.Only)
	}
	if _, err := rig.RaiseFileLimit(); err != nil {
		return nil, 0, err
	}
	temp, err := os.MkdirTemp("", "fasthttp-bench-")
	if err != nil {
		return nil, 0, err
	}
	defer os.RemoveAll(temp)
	servers, err := Options{Modules: opts.Modules}.build(ctx, dir, temp, log)
	if err != nil {
		return nil, 0, err
	}
	s := &waitSession{rounds: opts.Rounds, time: opts.Time, alone: rig.Anywhere, asking: rig.Anywhere, log: log}
	for _, server := range servers {
		if server.Name == rig.Portable {
			s.backend = server
		}
		if slices.Contains(opts.Servers, server.Name) {
			s.servers = append(s.servers, server)
		}
	}
	var missing []string
	if opts.Pin && slices.Contains(opts.Procs, 1) {
		if s.alone, s.asking, err = rig.Separate(); err != nil {
			missing = append(missing, "nothing is pinned: "+err.Error())
			log.Note("nothing is pinned: " + err.Error())
		}
	}
	for _, procs := range opts.Procs {
		for _, h := range opts.chosen() {
			for _, conns := range opts.Conns {
				s.loads = append(s.loads, waitLoad{h, conns, procs})
			}
		}
	}
	if err := s.runAll(ctx); err != nil {
		return nil, 0, err
	}
	runs := opts.Rounds * opts.Runs()
	if opts.again() {
		doubts := s.doubtful()
		if err := s.runAgain(ctx, doubts); err != nil {
			return nil, 0, err
		}
		runs += doubtRounds * len(doubts) * len(s.servers)
	}
	r := s.report()
	r.Missing = missing
	return r, runs, nil
}

func (s *waitSession) runAll(ctx context.Context) (err error) {
	s.samples, s.failures, err = s.run(ctx, s.loads, s.rounds)
	return err
}

// doubtful returns the loads whose goals are not met.
func (s *waitSession) doubtful() (loads []waitLoad) {
	for i, row := range s.report().Rows {
		if row.missed() {
			loads = append(loads, s.loads[i])
		}
	}
	return loads
}

// runAgain measures loads again.
func (s *waitSession) runAgain(ctx context.Context, loads []waitLoad) error {
	if len(loads) == 0 {
		return nil
	}
	s.log.Note(fmt.Sprintf("%s not met; measured anew with %s", rig.Plural(len(loads), "row"), rig.Plural(doubtRounds, "round")))
	samples, failures, err := s.run(ctx, loads, doubtRounds)
	maps.Copy(s.samples, samples)
	s.failures = append(s.failures, failures...)
	s.doubts = make(map[waitLoad]bool)
	for _, l := range loads {
		s.doubts[l] = true
	}
	return err
}

func (s *waitSession) run(ctx context.Context, loads []waitLoad, rounds int) (map[turns.Key][]waitSample, []string, error) {
	plan := turns.Plan{Rounds: rounds, Log: s.log}
	for _, l := range loads {
		plan.Loads = append(plan.Loads, l.String())
	}
	for _, server := range s.servers {
		plan.Servers = append(plan.Servers, server.Name)
	}
	return turns.Run(ctx, plan, func(load, server int) (waitSample, error) {
		return s.measure(ctx, loads[load], s.servers[server])
	})
}

// places returns the place of the server, and the place of the load and the backend.
func (s *waitSession) places(l waitLoad) (server, others rig.Place) {
	if l.procs == 1 {
		return s.alone, s.asking
	}
	return rig.Anywhere, rig.Anywhere
}

// warmTime is how long a server is under load before anything counts: it makes its goroutines,
// connects to its backend, and learns how its handlers behave.
const warmTime = 150 * time.Millisecond

// measure runs one load on a fresh server.
func (s *waitSession) measure(ctx context.Context, l waitLoad, server *rig.Server) (got waitSample, err error) {
	place, others := s.places(l)
	settings := rig.Settings{Mode: l.handler.mode, Place: place, Procs: l.procs}
	if l.handler.mode == serving.Forwards {
		backend, err := s.backend.Start(ctx, rig.Settings{Mode: serving.Mixed, Place: others, Procs: others.Procs(), Args: waitArgs(l.handler)})
		if err != nil {
			return got, fmt.Errorf("backend: %w", err)
		}
		defer func() { err = errors.Join(err, backend.Stop()) }()
		settings.Args = []string{"-" + serving.BackendFlag, backend.Addr}
	} else {
		settings.Args = waitArgs(l.handler)
	}
	process, err := server.Start(ctx, settings)
	if err != nil {
		return got, err
	}
	defer func() { err = errors.Join(err, process.Stop()) }()
	begin, err := process.CPU()
	if err != nil {
		return got, err
	}
	result, err := closedloop.Run(ctx, others, closedloop.Load{
		Addr: process.Addr, Conns: l.conns, Path: serving.WaitPath, Every: l.handler.every, Warm: warmTime, Time: s.time,
	})
	if err != nil {
		return got, err
	}
	end, err := process.CPU()
	if err != nil {
		return got, err
	}
	return waitSample{
		rate: result.Rate,
		cpu:  micros(end-begin) / float64(result.Sent),
		p50:  micros(result.P50),
		p99:  micros(result.P99),
	}, nil
}

// waitArgs make a server wait as the handler does.
func waitArgs(h handler) []string { return []string{"-" + serving.WaitFlag, h.wait.String()} }

// explain explains the handlers.
func explain(names []string) string {
	var all []string
	for _, kind := range []struct{ name, text string }{
		{sleeping, "`sleep1ms` sleeps for 1 ms, and so on"},
		{proxying, "`proxy` asks a server that sleeps for 1 ms, with the library's own client"},
		{mixing, "`mix` sleeps for 1 ms in one request of 10"},
	} {
		if slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, kind.name) }) {
			all = append(all, kind.text)
		}
	}
	return strings.Join(all, "; ")
}
