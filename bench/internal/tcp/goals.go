package tcp

import (
	"fmt"
	"strings"

	"github.com/valyala/fasthttp/bench/internal/markdown"
	"github.com/valyala/fasthttp/bench/internal/rig"
	"github.com/valyala/fasthttp/bench/internal/stats"
	"github.com/valyala/fasthttp/bench/internal/study"
)

// LoadOf returns the row of a load, or nil.
func LoadOf(r *study.Report, kind string, conns int) *study.Row {
	return r.Find(func(row *study.Row) bool { return row.Kind == kind && row.Conns == conns })
}

// goalLoads has the goals for loads: the event engine's processor time for a request relative to
// the loop in C.
var goalLoads = []struct {
	id    string
	kind  string
	conns int
	text  string
	most  float64
}{
	{"cpu-1", Steady, 1, "1 connection", 1.45},
	{"cpu-64", Steady, 64, "64 connections", 1.12},
	{"cpu-512", Steady, 512, "512 connections", 1.1},
	{"cpu-4096", Steady, 4096, "4096 connections", 1.12},
	{"cpu-pipelined", Pipelined, 64, "64 connections, 16 requests pipelined", 1.35},
	{"cpu-churn", Churn, 64, "64 connections, closed after 10 requests", 1.15},
}

// kernelDecides is a share of upstream's processor time. If the loop in C takes more, most of
// the time is the kernel's.
const kernelDecides = 0.7

// Goals judges the event engine. The report may be nil.
func Goals(r *study.Report) []study.Goal {
	var all []study.Goal
	p99 := study.Goal{ID: "p99", Text: "Sockets: p99 no worse than upstream's under any load", Met: true}
	for _, l := range goalLoads {
		g := study.Goal{ID: l.id, Text: fmt.Sprintf("Sockets, %s: processor time for a request at most %.2f of a C loop's that does not parse", l.text, l.most)}
		row := LoadOf(r, l.kind, l.conns)
		if ratio := row.Ratio(study.CPUs, rig.Event, rig.Floor); ratio.Value > 0 {
			g.Judge(ratio, ratio.Value <= l.most, "%.2f", ratio.Value)
			if floor := row.Ratio(study.CPUs, rig.Floor, rig.Upstream); floor.Value > 0 {
				g.Figure += fmt.Sprintf(" (upstream: %.2f)", stats.Ratio(1, floor.Value))
				if floor.Value > kernelDecides {
					g.Evidence = fmt.Sprintf("The kernel decides: the C loop, which does nothing but the system calls, takes %.2f of what upstream takes.", floor.Value)
				}
			}
		}
		if ratio := row.Ratio(study.P99, rig.Event, rig.Upstream); ratio.Value > 0 {
			p99.Met = p99.Met && study.NoWorse(ratio)
			p99.Figure += fmt.Sprintf(", %.2f with %s", ratio.Value, l.text)
		}
		all = append(all, g)
	}
	p99.Figure = strings.TrimPrefix(p99.Figure, ", ")
	return append(all, p99)
}

// tlsMost is the most that the event engine's processor time for a request over TLS may be, as a
// share of upstream's.
const tlsMost = 0.85

// TLSGoals judges the event engine over TLS. The report may be nil.
func TLSGoals(r *study.Report) []study.Goal {
	var all []study.Goal
	for _, l := range tlsLoads() {
		g := study.Goal{
			ID:   fmt.Sprintf("tls-cpu-%d", l.conns),
			Text: fmt.Sprintf("TLS, %s: processor time for a request at most %.2f of upstream's", markdown.Plural(l.conns, "connection"), tlsMost),
		}
		row := LoadOf(r, Steady, l.conns)
		ratio := row.Ratio(study.CPUs, rig.Event, rig.Upstream)
		g.Judge(ratio, ratio.Value <= tlsMost, "%.2f", ratio.Value)
		if nginx := row.Ratio(study.CPUs, rig.Nginx, rig.Upstream); nginx.Value > 0 && g.Figure != "" {
			g.Figure += fmt.Sprintf(" (nginx: %.2f)", nginx.Value)
		}
		all = append(all, g)
	}
	return all
}
