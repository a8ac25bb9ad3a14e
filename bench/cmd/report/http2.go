package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/valyala/fasthttp/bench/internal/calls"
	"github.com/valyala/fasthttp/bench/internal/h2load"
	"github.com/valyala/fasthttp/bench/internal/idle"
	"github.com/valyala/fasthttp/bench/internal/progress"
	"github.com/valyala/fasthttp/bench/internal/report"
	"github.com/valyala/fasthttp/bench/internal/rig"
)

// http2Results has the measurements of HTTP/2 over sockets. A missing one is nil.
type http2Results struct {
	Plain *h2load.Report `json:"plain"`
	TLS   *h2load.Report `json:"tls"`
	Idle  *idle.Report   `json:"idle"`
}

// loads returns the reports that are not nil.
func (r *http2Results) loads() []*h2load.Report {
	var all []*h2load.Report
	for _, load := range []*h2load.Report{r.Plain, r.TLS} {
		if load != nil {
			all = append(all, load)
		}
	}
	return all
}

func (r *http2Results) failures() []string {
	var all []string
	for _, load := range r.loads() {
		all = append(all, load.Failures...)
	}
	if r.Idle != nil {
		all = append(all, r.Idle.Failures...)
	}
	return all
}

// missing lists the servers and tools that were not installed.
func (r *http2Results) missing() []string {
	var all []string
	for _, load := range r.loads() {
		for _, what := range load.Missing {
			if what = "HTTP/2: " + what; !slices.Contains(all, what) {
				all = append(all, what)
			}
		}
	}
	return all
}

// http2Runs is how many runs there are in a round.
const http2Runs = 18

func http2Estimate(o options) time.Duration {
	run := loadSpare + time.Duration(o.seconds)*time.Second
	return 10*time.Second + time.Duration(o.rounds+fewer(o))*http2Runs*run + time.Duration(fewer(o))*3*crowdTime
}

// measureHTTP2 makes all measurements of HTTP/2 that need sockets. If one fails, it continues
// with the next.
func measureHTTP2(ctx context.Context, dir string, o options, all *results, log progress.Log) error {
	r := new(http2Results)
	all.HTTP2 = r
	opts := h2load.Options{Rounds: o.rounds, Seconds: o.seconds, Pin: true, Rows: everything, Modules: o.modules}
	var plain, secure, held error
	r.Plain, _, plain = h2load.Measure(ctx, dir, opts, log)
	opts.Rounds, opts.TLS = fewer(o), true
	r.TLS, _, secure = h2load.Measure(ctx, dir, opts, log)
	conns := idle.Options{Procs: 1, Rounds: fewer(o), Speaks: idle.HTTP2, Modules: o.modules}
	if o.short {
		conns.Conns = 2000
	}
	r.Idle, _, held = idle.Measure(ctx, dir, conns, log)
	if errors.Is(plain, h2load.ErrNoH2load) {
		return held
	}
	return errors.Join(plain, secure, held)
}

// http2Goals judges the goals for HTTP/2.
func http2Goals(r *http2Results) []goal {
	if r == nil {
		r = new(http2Results)
	}
	var all []goal
	for _, aim := range h2load.Goals() {
		g := goal{
			id:   fmt.Sprintf("http2-%s-%d", aim.To, aim.Conns),
			text: fmt.Sprintf("HTTP/2, %s: processor time for a request at most %.2f of %s's", aim.Row, aim.Most, aim.To),
		}
		if r.Plain != nil {
			for _, got := range r.Plain.Goals {
				if got.Row == aim.Row && got.To == aim.To {
					g.met, g.figure = got.Met, got.Ratio.String()
				}
			}
		}
		all = append(all, g)
	}
	held := goal{id: "http2-idle", text: fmt.Sprintf("Idle connection of HTTP/2: at most %d bytes", idle.HTTP2Goal)}
	if m := idleOf(r.Idle, rig.Event); m != nil {
		held.figure, held.met = fmt.Sprintf("%.0f bytes, %d connections", m.Resident.Median, r.Idle.Conns), m.Resident.Median <= idle.HTTP2Goal
	}
	return append(all, held)
}

// writeHTTP2 writes the measurements of HTTP/2, in memory and over sockets.
func (p *page) writeHTTP2(b *strings.Builder) {
	hasRows := p.Rows != nil && slices.ContainsFunc(p.Rows.Rows, func(row *report.Row) bool { return report.IsHTTP2(row.Name) })
	r := p.HTTP2
	if r == nil {
		r = new(http2Results)
	}
	if !hasRows && len(r.loads()) == 0 && r.Idle == nil && p.Calls == nil {
		return
	}
	b.WriteString("\n## HTTP/2\n\nUpstream has none, so ours is compared with net/http and with servers in C.\n")
	if hasRows {
		b.WriteString("\nIn memory: each client keeps one or 100 streams busy on its connection. In the varied rows path, cookie and request id\n" +
			"differ from request to request, and are sent as literals; all other fields are in the table of the connection. The\n" +
			"callers of a client share one connection, in memory or over TCP.\n")
		p.Rows.WriteTables(b, "###", report.HTTP2Servers, report.HTTP2Clients)
	}
	for _, load := range r.loads() {
		how := "by prior knowledge"
		if load.TLS {
			how = "over TLS 1.3"
		}
		fmt.Fprintf(b, "\n### h2load, %s\n\n%s of %s each, in turn; servers %s, GOMAXPROCS %d; h2load %s. CPU is the server's\n"+
			"processor time for a request, user and system. nghttpd and h2o answer with a file of 13 bytes.\n",
			how, rig.Plural(load.Rounds, "round"), rig.Plural(load.Seconds, "second"), load.ServerPlace, load.Procs, load.ClientPlace)
		if load.Date != "" && load.Date != p.Date {
			fmt.Fprintf(b, "Measured on %s, %s.\n", load.Date, load.Versions[rig.Event])
		}
		load.WriteTables(b, "####")
	}
	if r.Idle != nil {
		fmt.Fprintf(b, "\n### Idle connections of HTTP/2\n\n%s connections without TLS, after one request each.\n", thousands(r.Idle.Conns))
		r.Idle.WriteTable(b)
	}
	if p.Calls != nil {
		fmt.Fprintf(b, "\n### Clients of HTTP/2 over sockets\n\n%s of %s each, in turn, over TLS 1.3; server %s, callers %s, GOMAXPROCS %d. CPU is the\n"+
			"processor time for a call of the process that calls. Ready frames are no client: they were encoded before, those of all\n"+
			"callers go in one write, and only the ends of the responses are looked for. No client takes less with crypto/tls.\n",
			rig.Plural(p.Calls.Rounds, "round"), rig.Plural(p.Calls.Seconds, "second"), p.Calls.ServerPlace, p.Calls.ClientPlace, p.Calls.Procs)
		p.Calls.WriteTables(b, "####")
	}
}

// callGoals judges the goals for HTTP/2 clients.
func callGoals(r *calls.Report) []goal {
	if r == nil {
		r = new(calls.Report)
	}
	var all []goal
	for _, name := range calls.Names() {
		g := goal{id: "calls-" + name[:strings.IndexByte(name, ' ')], text: fmt.Sprintf("HTTP/2 over TLS, %s: processor time for a call at most %.2f of net/http's client", name, calls.Most)}
		for _, row := range r.Rows {
			if row.Name == name && row.Goal != nil {
				g.met, g.figure = row.Goal.Met, row.Goal.Ratio.String()
				if bare := row.Goal.Bare; bare.Value > 0 {
					g.figure += fmt.Sprintf(" (ready frames: %.2f)", bare.Value)
					g.evidence = fmt.Sprintf("A loop that sends ready frames and parses nothing is at %.2f.", bare.Value)
				}
			}
		}
		all = append(all, g)
	}
	return all
}
