// Package study has the common parts of all measurements over sockets: they put loads on
// servers, round after round, and compare the figures. Run begins a measurement, which adds its
// servers, and calls Measure with its loads. Its Kind describes the Report.
package study

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/valyala/fasthttp/bench/internal/progress"
	"github.com/valyala/fasthttp/bench/internal/rig"
	"github.com/valyala/fasthttp/bench/internal/stats"
)

// Options select the rows, and how they are measured.
type Options struct {
	Rounds  int
	Seconds int  // that a run takes
	Pin     bool // the servers to one core and their load to another
	TLS     bool
	Rows    *regexp.Regexp // nil for all
	Modules rig.Modules
}

// Study is a measurement.
type Study struct {
	Options
	Kind *Kind
	// Dir is the bench folder, and Temp a folder for files of the measurement.
	Dir, Temp string
	Limit     int // on open files of a process
	// Place is the place of the servers, and ClientPlace of their load.
	Place, ClientPlace rig.Place
	Identity           *rig.Identity // nil without TLS
	Servers            []*rig.Server
	Log                *progress.Log

	missing []string
}

// Measurer measures the servers of a study.
type Measurer = func(ctx context.Context, s *Study) (*Report, error)

// Run measures in dir, which is the bench folder.
func Run(ctx context.Context, dir string, kind *Kind, opts Options, log *progress.Log, measure Measurer) (*Report, error) {
	opts.TLS, opts.Pin = opts.TLS || kind.TLS, opts.Pin && !kind.Unpinned
	s, err := New(dir, kind, opts, log)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	return measure(ctx, s)
}

// New begins a measurement in dir, which is the bench folder. It ends with Close.
func New(dir string, kind *Kind, opts Options, log *progress.Log) (s *Study, err error) {
	s = &Study{Options: opts, Kind: kind, Dir: dir, Place: rig.Anywhere, ClientPlace: rig.Anywhere, Log: log}
	if s.Limit, err = rig.RaiseFileLimit(); err != nil {
		return nil, err
	}
	if s.Temp, err = os.MkdirTemp("", "fasthttp-bench-"); err != nil {
		return nil, err
	}
	if opts.TLS {
		if s.Identity, err = rig.NewIdentity(s.Temp); err != nil {
			s.Close()
			return nil, err
		}
	}
	if opts.Pin {
		if s.Place, s.ClientPlace, err = rig.Separate(); err != nil {
			s.Miss("nothing is pinned: " + err.Error())
		}
	}
	return s, nil
}

// Close removes the files of the measurement.
func (s *Study) Close() { _ = os.RemoveAll(s.Temp) }

// Miss notes a missing server or tool.
func (s *Study) Miss(what string) {
	s.missing = append(s.missing, what)
	s.Log.Note(what)
}

// Build adds the servers that are written in Go, except for some.
func (s *Study) Build(ctx context.Context, except ...string) error {
	s.Log.Note(fmt.Sprintf("building the servers (%s, %s)", s.Modules.Ours, s.Modules.Upstream))
	servers, err := rig.Build(ctx, s.Dir, s.Temp, s.Modules)
	for _, server := range servers {
		if !slices.Contains(except, server.Name) {
			s.Servers = append(s.Servers, server)
		}
	}
	return err
}

// Add adds a server, or notes why it is missing.
func (s *Study) Add(server *rig.Server, err error) {
	if err != nil {
		s.Miss("measuring without it: " + err.Error())
		return
	}
	s.Servers = append(s.Servers, server)
}

// With starts a server at its place, with the certificate if there is one, and ends it after
// use. It returns the figures of that.
func (s *Study) With(ctx context.Context, server *rig.Server, settings rig.Settings, use func(*rig.Process) (Figures, error)) (got Figures, err error) {
	if settings.Procs == 0 {
		settings.Place, settings.Procs = s.Place, s.Place.Procs()
	}
	process, err := server.Start(ctx, settings)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, process.Stop()) }()
	return use(process)
}

// CPU returns the processor time of a process for each request, in µs. run makes the requests,
// and returns their number.
func CPU(process interface {
	CPU() (time.Duration, error)
}, run func() (n int, err error)) (float64, error) {
	begin, err := process.CPU()
	if err != nil {
		return 0, err
	}
	n, err := run()
	if err != nil {
		return 0, err
	}
	end, err := process.CPU()
	if err != nil {
		return 0, err
	}
	if n == 0 || end <= begin {
		return 0, fmt.Errorf("%v of processor time for %d requests", end-begin, n)
	}
	return Micros(end-begin) / float64(n), nil
}

// Micros converts a time to µs, the unit of the figures.
func Micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// Load is a load on servers.
type Load interface {
	// Row returns the load's row without figures.
	Row() Row
}

// Picky is a load that not all servers have.
type Picky interface {
	Load
	IsFor(server *rig.Server) bool
}

func isFor(l Load, server *rig.Server) bool {
	p, picky := l.(Picky)
	return !picky || p.IsFor(server)
}

// Figures are the figures of one run, by their names. NaN marks a missing figure.
type Figures map[string]float64

// Measure puts each load on each server in every round. The servers take turns, so that other
// work of the machine affects all of them equally. A failed run is logged and is in the report;
// only the end of ctx ends Measure early.
func Measure[L Load](ctx context.Context, s *Study, loads []L, measure func(context.Context, L, *rig.Server) (Figures, error)) (*Report, error) {
	r := &Report{
		Head: rig.NewHead(s.Servers, s.Rounds), Seconds: s.Seconds, TLS: s.TLS,
		ServerPlace: s.Place.String(), ClientPlace: s.ClientPlace.String(), Procs: s.Place.Procs(),
	}
	for _, server := range s.Servers {
		r.Servers = append(r.Servers, server.Name)
	}
	loads = slices.DeleteFunc(slices.Clone(loads), func(l L) bool { return s.Rows != nil && !s.Rows.MatchString(l.Row().Name) })
	if len(loads) == 0 {
		return nil, fmt.Errorf("no row matches %q", s.Rows)
	}
	samples := make([]map[string][]Figures, len(loads))
	for i, l := range loads {
		samples[i] = map[string][]Figures{}
		for _, server := range s.Servers {
			if isFor(l, server) {
				r.Runs += s.Rounds
			}
		}
	}
	s.Log.Note(fmt.Sprintf("servers: %v; %s: %v", s.Place, s.Kind.Client, s.ClientPlace))
	s.Log.Plan(r.Runs, float64(r.Runs))
	for round := range s.Rounds {
		for i, l := range loads {
			for _, server := range s.Servers {
				if !isFor(l, server) {
					continue
				}
				row := l.Row()
				s.Log.Begin(fmt.Sprintf("round %d/%d  %s  %s", round+1, s.Rounds, row.Name, server.Name))
				got, err := measure(ctx, l, server)
				if ctx.Err() != nil {
					return nil, errors.New("interrupted")
				}
				if err != nil {
					r.Failures = append(r.Failures, fmt.Sprintf("round %d, %s, %s: %v", round+1, row.Name, server.Name, err))
					s.Log.End(1, fmt.Sprintf("FAILED: %v", err))
					continue
				}
				samples[i][server.Name] = append(samples[i][server.Name], got)
				s.Log.End(1, s.Kind.text(row, got))
			}
		}
	}
	for i, l := range loads {
		row := l.Row()
		for _, server := range r.Servers {
			if all := samples[i][server]; len(all) > 0 {
				row.Servers = append(row.Servers, summarize(server, all))
			}
		}
		r.Rows = append(r.Rows, &row)
	}
	r.Missing = s.missing
	return r, nil
}

func summarize(server string, runs []Figures) *Measurement {
	lists := map[string][]float64{}
	for _, run := range runs {
		for name, v := range run {
			if !math.IsNaN(v) {
				lists[name] = append(lists[name], v)
			}
		}
	}
	m := &Measurement{Server: server, Figures: map[string]stats.Summary{}}
	for name, list := range lists {
		m.Figures[name] = stats.Summarize(list)
	}
	return m
}

// text describes the figures of one run.
func (k *Kind) text(row Row, got Figures) string {
	var all []string
	for _, c := range k.columns(&row) {
		if v, ok := got[c.Figure]; ok && c.isFigure() && !math.IsNaN(v) {
			if c.Share > 0 {
				v *= c.Share
			}
			all = append(all, fmt.Sprintf("%.*f %s", c.Digits, v, c.title()))
		}
	}
	return strings.Join(all, ", ")
}
