package tcp

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/valyala/fasthttp/bench/internal/closedloop"
	"github.com/valyala/fasthttp/bench/internal/markdown"
	"github.com/valyala/fasthttp/bench/internal/rig"
	"github.com/valyala/fasthttp/bench/internal/serving"
	"github.com/valyala/fasthttp/bench/internal/stats"
	"github.com/valyala/fasthttp/bench/internal/study"
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

// The beginnings of the names of handlers, and their meanings.
var handlerNames = []struct{ name, text string }{
	{"sleep", "`sleep1ms` sleeps for 1 ms, and so on"},
	{"proxy", "`proxy` asks a server that sleeps for 1 ms, with the library's own client"},
	{"mix", "`mix` sleeps for 1 ms in one request of 10"},
}

var handlers = []handler{
	{"sleep100us", serving.Mixed, 100 * time.Microsecond, 1},
	{"sleep300us", serving.Mixed, 300 * time.Microsecond, 1},
	{"sleep1ms", serving.Mixed, time.Millisecond, 1},
	{"sleep2.5ms", serving.Mixed, 2500 * time.Microsecond, 1},
	{"sleep10ms", serving.Mixed, 10 * time.Millisecond, 1},
	{"proxy", serving.Forwards, time.Millisecond, 1},
	{"mix", serving.Mixed, time.Millisecond, 10},
}

// waitLoads returns all rows: with GOMAXPROCS 1 and with all processors.
func waitLoads() (all []waitLoad) {
	for _, procs := range slices.Compact([]int{1, runtime.NumCPU()}) {
		for _, h := range handlers {
			for _, conns := range []int{16, 64, 512} {
				all = append(all, waitLoad{h, conns, procs})
			}
		}
	}
	return all
}

// waitLoad is a load on all servers.
type waitLoad struct {
	handler handler
	conns   int
	procs   int
}

func (l waitLoad) Row() study.Row {
	name := fmt.Sprintf("%s, %d connections, GOMAXPROCS %d", l.handler.name, l.conns, l.procs)
	return study.Row{Name: name, Kind: l.handler.name, Conns: l.conns, Procs: l.procs}
}

// doubtRounds is the number of rounds in which a row with a missed goal is measured again:
// with few rounds on a machine that shares its processors, some of the many cells miss their
// goals by chance. Only these rounds count then.
const doubtRounds = 9

// Wait is the kind of handlers that wait.
var Wait = &study.Kind{
	Name: "tcp-wait", Title: "Handlers that wait", Client: "load and backend", Tables: writeWait, Goals: WaitGoals,
	Note:    fmt.Sprintf("%v of each run do not count. Nothing is pinned but with GOMAXPROCS 1.\n", warmTime),
	Columns: []study.Column{{Figure: study.Rate}, {Figure: study.P99}, {Figure: study.CPUs, Digits: 1}},
}

// MeasureWait measures handlers that wait; a run lasts for some time. The program must call closedloop.Main before anything else.
func MeasureWait(ctx context.Context, s *study.Study, lasts time.Duration) (*study.Report, error) {
	if err := s.Build(ctx); err != nil {
		return nil, err
	}
	backend := s.Servers[slices.IndexFunc(s.Servers, func(server *rig.Server) bool { return server.Name == rig.Portable })]
	measure := func(ctx context.Context, l waitLoad, server *rig.Server) (study.Figures, error) {
		return l.measure(ctx, s, server, backend, lasts)
	}
	r, err := study.Measure(ctx, s, waitLoads(), measure)
	if err != nil || s.Rounds == 1 || s.Rounds >= doubtRounds { // a quick look judges nothing
		return r, err
	}
	doubts := slices.DeleteFunc(waitLoads(), func(l waitLoad) bool {
		row := r.Named(l.Row().Name)
		return row == nil || !missed(row)
	})
	if len(doubts) == 0 {
		return r, nil
	}
	s.Log.Note(fmt.Sprintf("%s not met; measured anew with %s", markdown.Plural(len(doubts), "row"), markdown.Plural(doubtRounds, "round")))
	s.Rounds = doubtRounds
	again, err := study.Measure(ctx, s, doubts, measure)
	if err == nil {
		replace(r, again)
	}
	return r, err
}

// replace replaces the rows that were measured again.
func replace(r, again *study.Report) {
	for i, row := range r.Rows {
		if other := again.Named(row.Name); other != nil {
			other.Again = true
			r.Rows[i] = other
		}
	}
	r.Failures, r.Runs = append(r.Failures, again.Failures...), r.Runs+again.Runs
}

// warmTime is how long a server is under load before anything counts: it makes its goroutines,
// connects to its backend, and learns how its handlers behave.
const warmTime = 150 * time.Millisecond

// measure runs one load on a fresh server. Only one with GOMAXPROCS 1 is pinned.
func (l waitLoad) measure(ctx context.Context, s *study.Study, server, backend *rig.Server, lasts time.Duration) (got study.Figures, err error) {
	place, others := s.Place, s.ClientPlace
	if l.procs != 1 {
		place, others = rig.Anywhere, rig.Anywhere
	}
	settings := rig.Settings{Mode: l.handler.mode, Place: place, Procs: l.procs, Wait: l.handler.wait}
	if l.handler.mode == serving.Forwards {
		behind, err := backend.Start(ctx, rig.Settings{Mode: serving.Mixed, Place: others, Procs: others.Procs(), Wait: l.handler.wait})
		if err != nil {
			return nil, fmt.Errorf("backend: %w", err)
		}
		defer func() { err = errors.Join(err, behind.Stop()) }()
		settings.Backend = behind.Addr
	}
	return s.With(ctx, server, settings, func(process *rig.Process) (study.Figures, error) {
		var r closedloop.Result
		cpu, err := study.CPU(process, func() (n int, err error) {
			r, err = closedloop.Run(ctx, others, closedloop.Load{
				Addr: process.Addr, Conns: l.conns, Path: serving.WaitPath, Every: l.handler.every, Warm: warmTime, Time: lasts,
			})
			return r.Sent, err
		})
		return study.Figures{study.Rate: r.Rate, study.CPUs: cpu, study.P50: study.Micros(r.P50), study.P99: study.Micros(r.P99)}, err
	})
}

// The goals for the event engine with handlers that wait, relative to the best of the other
// servers, which need not be the same one for both.
const (
	waitRateLeast = 0.95
	waitP99Most   = 1.1
)

// waitGoals are the figures with a goal.
var waitGoals = []struct {
	figure, short string
	better        func(a, b float64) bool
	met           func(rig.Ratio) bool
}{
	{study.Rate, "requests/s", func(a, b float64) bool { return a > b }, func(r rig.Ratio) bool { return r.Value >= waitRateLeast }},
	{study.P99, "p99", func(a, b float64) bool { return a < b }, func(r rig.Ratio) bool { return r.Value > 0 && r.Value <= waitP99Most }},
}

// toBest returns the ratio of the event engine to the best other server, which is 0 if all runs
// of the event engine failed. It reports whether there is another server.
func toBest(row *study.Row, figure string, better func(a, b float64) bool) (r rig.Ratio, judged bool) {
	var best *stats.Summary
	for _, m := range row.Servers {
		if s := m.Figures[figure]; m.Server != rig.Event && (best == nil || better(s.Median, best.Median)) {
			best = &s
		}
	}
	if best == nil {
		return r, false
	}
	return rig.NewRatio(row.Get(rig.Event, figure), *best), true
}

func missed(row *study.Row) bool {
	for _, g := range waitGoals {
		if ratio, judged := toBest(row, g.figure, g.better); judged && !g.met(ratio) {
			return true
		}
	}
	return false
}

// verdict reports whether the goals are met, or names the missed ones. A name is in
// parentheses if the goal may be missed by chance.
func verdict(row *study.Row) string {
	var names []string
	for _, g := range waitGoals {
		ratio, judged := toBest(row, g.figure, g.better)
		switch {
		case !judged:
			return markdown.None
		case g.met(ratio):
		case ratio.Overlaps:
			names = append(names, "("+g.short+")")
		default:
			names = append(names, g.short)
		}
	}
	if len(names) == 0 {
		return rig.Met(true)
	}
	return rig.Met(false) + ": " + strings.Join(names, ", ")
}

// mostNamed is how many of the rows that miss a goal are named.
const mostNamed = 6

// WaitGoals combines the goals of all rows. The report may be nil.
func WaitGoals(r *study.Report) []study.Goal {
	all := []study.Goal{
		{ID: "wait-rate", Text: fmt.Sprintf("Handlers that wait: requests/s at least %.2f of the best other server's, in each row", waitRateLeast)},
		{ID: "wait-p99", Text: fmt.Sprintf("Handlers that wait: p99 at most %.1f of the best other server's, in each row", waitP99Most)},
	}
	if r == nil {
		return all
	}
	for i, g := range waitGoals {
		judged := 0
		var names []string
		for _, row := range r.Rows {
			ratio, ok := toBest(row, g.figure, g.better)
			if !ok {
				continue
			}
			if judged++; !g.met(ratio) {
				names = append(names, row.Name+": "+ratio.String())
			}
		}
		if judged == 0 {
			continue
		}
		all[i].Met, all[i].Figure = len(names) == 0, fmt.Sprintf("%d of %d rows", judged-len(names), judged)
		if n := len(names); n > mostNamed {
			names = append(names[:mostNamed], fmt.Sprintf("and %d more", n-mostNamed))
		}
		if len(names) > 0 {
			all[i].Figure += "; not " + strings.Join(names, "; ")
		}
	}
	return all
}

// waitColumns are the servers in tables.
var waitColumns = map[string]string{rig.Event: "event", rig.Portable: "portable", rig.Upstream: "upstream", rig.NetHTTP: "net/http"}

// writeWait explains the measurement and writes a table for each GOMAXPROCS, each under a
// heading; level is the Markdown prefix of the heading.
func writeWait(b *strings.Builder, r *study.Report, level string) {
	var procs []int
	var texts []string
	for _, kind := range handlerNames {
		if r.Find(func(row *study.Row) bool { return strings.HasPrefix(row.Kind, kind.name) }) != nil {
			texts = append(texts, kind.text)
		}
	}
	for _, row := range r.Rows {
		if !slices.Contains(procs, row.Procs) {
			procs = append(procs, row.Procs)
		}
	}
	fmt.Fprintf(b, "\nEach connection sends a request after each answer; no latency is corrected.\n%s.\n", strings.Join(texts, "; "))
	fmt.Fprintf(b, "Figures are medians. The event engine is compared with the best of the others, which need not be the same one for\n"+
		"requests/s and for p99. The ratio is to be at least %.2f of requests/s, and at most %.2f of p99. It is in parentheses\n"+
		"where the two ranges of samples overlap; so does what is not met, as that may be chance then.\n", waitRateLeast, waitP99Most)
	if r.Find(func(row *study.Row) bool { return row.Again }) != nil {
		fmt.Fprintf(b, "A row with a star was not met at first. It was measured anew in %d rounds, which count alone.\n", doubtRounds)
	}
	for _, n := range procs {
		fmt.Fprintf(b, "\n%s GOMAXPROCS %d\n", level, n)
		table := markdown.Table{Header: []string{"handler, connections"}}
		for _, g := range waitGoals {
			for _, server := range rig.Usual {
				table.Header = append(table.Header, g.figure+" "+waitColumns[server])
			}
			table.Header = append(table.Header, "event ÷ best other")
		}
		table.Header = append(table.Header, "")
		for _, row := range r.Rows {
			if row.Procs == n {
				table.Rows = append(table.Rows, waitCells(row))
			}
		}
		table.Write(b)
	}
}

// waitCells returns the cells of a table row.
func waitCells(row *study.Row) []string {
	cells := []string{fmt.Sprintf("%s, %d", row.Kind, row.Conns)}
	if row.Again {
		cells[0] += " \\*"
	}
	for _, g := range waitGoals {
		for _, server := range rig.Usual {
			text := markdown.None
			if row.Of(server) != nil {
				text = fmt.Sprintf("%.0f", row.Get(server, g.figure).Median)
			}
			cells = append(cells, text)
		}
		ratio, _ := toBest(row, g.figure, g.better)
		cells = append(cells, ratio.String())
	}
	return append(cells, verdict(row))
}
