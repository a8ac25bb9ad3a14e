package tcp

import (
	"fmt"
	"slices"
	"strings"

	"github.com/valyala/fasthttp/bench/internal/rig"
	"github.com/valyala/fasthttp/bench/internal/stats"
	"github.com/valyala/fasthttp/bench/internal/turns"
)

// Report is a whole comparison.
type Report struct {
	rig.Head
	Seconds     int    `json:"seconds"`
	ServerPlace string `json:"server_place"`
	ClientPlace string `json:"client_place"`
	Procs       int    `json:"gomaxprocs"`
	TLS         bool   `json:"tls,omitempty"`
	Rows        []*Row `json:"rows"`
	Goals       []Goal `json:"goals"`
	// Missing lists the servers and tools that were not installed.
	Missing  []string `json:"missing,omitempty"`
	Failures []string `json:"failures,omitempty"`
}

// Row is one load on all servers.
type Row struct {
	Name    string         `json:"name"`
	Kind    string         `json:"kind"`
	Conns   int            `json:"connections"`
	Servers []*Measurement `json:"servers"`
}

// Measurement summarizes all runs of one server under one load. The ratios are relative to
// upstream: below 1 is better than upstream, except for the rate.
type Measurement struct {
	Server       string        `json:"server"`
	Rate         stats.Summary `json:"requests_per_second"`
	CPU          stats.Summary `json:"cpu_us_per_request"`
	P50          stats.Summary `json:"p50_us"`
	P99          stats.Summary `json:"p99_us"`
	SocketErrors int           `json:"socket_errors"` // of all runs

	RateRatio rig.Ratio `json:"rate_ratio"`
	CPURatio  rig.Ratio `json:"cpu_ratio"`
	P99Ratio  rig.Ratio `json:"p99_ratio"`
	// FloorRatio is the processor time relative to the C loop's or, over TLS, to nginx's, if
	// there is one.
	FloorRatio rig.Ratio `json:"floor_ratio"`
}

// Goal is a goal for a ratio of the event engine to upstream.
type Goal struct {
	Row   string    `json:"row"`
	Of    string    `json:"of"`
	Most  float64   `json:"most"`
	Ratio rig.Ratio `json:"ratio"`
	Floor rig.Ratio `json:"floor"` // the same ratio of the C loop, or of nginx
	Met   bool      `json:"met"`
}

// report summarizes the samples.
func (s *session) report() *Report {
	r := &Report{
		Head:        rig.NewHead(s.servers, s.rounds),
		Seconds:     s.seconds,
		ServerPlace: s.place.String(),
		ClientPlace: s.generate.place.String(),
		Procs:       s.place.Procs(),
		TLS:         !slices.ContainsFunc(s.loads, func(l load) bool { return !l.tls }),
		Failures:    s.failures,
	}
	for _, l := range s.loads {
		row := &Row{Name: l.name, Kind: l.kind, Conns: l.conns}
		for _, server := range s.servers {
			if samples := s.samples[turns.Key{Load: l.name, Server: server.Name}]; len(samples) > 0 {
				row.Servers = append(row.Servers, summarize(server.Name, samples))
			}
		}
		row.compare(r.reference())
		r.Rows = append(r.Rows, row)
		r.Goals = append(r.Goals, row.goals(l.cpuGoal, r.reference())...)
	}
	return r
}

func summarize(server string, samples []sample) *Measurement {
	var rate, cpu, p50, p99 []float64
	m := &Measurement{Server: server}
	for _, s := range samples {
		rate, cpu, p50, p99 = append(rate, s.rate), append(cpu, s.cpu), append(p50, s.p50), append(p99, s.p99)
		m.SocketErrors += s.errors
	}
	m.Rate, m.CPU = stats.Summarize(rate), stats.Summarize(cpu)
	m.P50, m.P99 = stats.Summarize(p50), stats.Summarize(p99)
	return m
}

// reference returns the server that shows the possible minimum, and is not compared.
func (r *Report) reference() string {
	if r.TLS {
		return rig.Nginx
	}
	return rig.Floor
}

// referenceName returns its name in tables.
func (r *Report) referenceName() string {
	if r.TLS {
		return rig.Nginx
	}
	return "C loop"
}

// compare fills the ratios in.
func (r *Row) compare(reference string) {
	if floor := r.Of(reference); floor != nil {
		for _, m := range r.Servers {
			if m != floor {
				m.FloorRatio = rig.NewRatio(m.CPU, floor.CPU)
			}
		}
	}
	upstream := r.Of(rig.Upstream)
	if upstream == nil {
		return
	}
	for _, m := range r.Servers {
		if m == upstream {
			continue
		}
		m.RateRatio = rig.NewRatio(m.Rate, upstream.Rate)
		m.CPURatio = rig.NewRatio(m.CPU, upstream.CPU)
		m.P99Ratio = rig.NewRatio(m.P99, upstream.P99)
	}
}

// Of returns the measurement of a server, or nil.
func (r *Row) Of(server string) *Measurement {
	for _, m := range r.Servers {
		if m.Server == server {
			return m
		}
	}
	return nil
}

// goals judges the event engine. Half of all equal latencies would miss a goal of 1, so it
// counts as met unless the difference is certain.
func (r *Row) goals(cpu float64, reference string) []Goal {
	m := r.Of(rig.Event)
	if m == nil || m.CPURatio.Value == 0 {
		return nil
	}
	var floor Measurement
	if f := r.Of(reference); f != nil {
		floor = *f
	}
	return []Goal{
		{Row: r.Name, Of: "CPU", Most: cpu, Ratio: m.CPURatio, Floor: floor.CPURatio, Met: m.CPURatio.Value <= cpu},
		{Row: r.Name, Of: "p99", Most: 1, Ratio: m.P99Ratio, Floor: floor.P99Ratio, Met: m.P99Ratio.Value <= 1 || m.P99Ratio.Overlaps},
	}
}

// Markdown returns the comparison as Markdown.
func (r *Report) Markdown() string {
	var b strings.Builder
	title := "Servers over loopback sockets"
	if r.TLS {
		title += ", with TLS"
	}
	r.WriteMarkdown(&b, title,
		fmt.Sprintf("%s each", rig.Plural(r.Seconds, "second")),
		fmt.Sprintf("servers: %s, GOMAXPROCS %d; wrk: %s", r.ServerPlace, r.Procs, r.ClientPlace))
	b.WriteString("\nFigures are medians, ± the median absolute deviation. CPU is the server's processor time for a request\n" +
		"in µs, user and system. Latencies are as wrk reports them, pipelined ones those of whole batches. Ratios are to\n" +
		"upstream; one is in parentheses where the two ranges of samples overlap, so that the difference may be\n" +
		"chance.\n")
	r.writeCPU(&b)
	r.WriteTables(&b, "##")
	writeGoals(&b, "ratio to upstream", r.referenceName(), r.Goals)
	rig.WriteFailures(&b, r.Failures)
	return b.String()
}

// writeCPU writes one table with the processor times of all loads.
func (r *Report) writeCPU(b *strings.Builder) {
	b.WriteString("\n## CPU µs/request\n")
	order := append(slices.Clone(cpuOrder), r.reference())
	table := rig.Table{Header: append([]string{"load"}, order...)}
	table.Header = append(table.Header, rig.Event+" ÷ "+rig.Upstream, rig.Event+" ÷ "+r.reference())
	for _, row := range r.Rows {
		cells := []string{row.Name}
		for _, server := range order {
			cell := rig.None
			if m := row.Of(server); m != nil {
				cell = fmt.Sprintf("%.2f", m.CPU.Median)
			}
			cells = append(cells, cell)
		}
		var ours Measurement
		if m := row.Of(rig.Event); m != nil {
			ours = *m
		}
		table.Rows = append(table.Rows, append(cells, ours.CPURatio.String(), ours.FloorRatio.String()))
	}
	table.Write(b)
}

var cpuOrder = []string{rig.Event, rig.Portable, rig.Upstream, rig.NetHTTP}

// WriteTables writes a table for each load, each under a heading; level is the Markdown prefix
// of the heading.
func (r *Report) WriteTables(b *strings.Builder, level string) {
	for _, row := range r.Rows {
		fmt.Fprintf(b, "\n%s %s\n", level, row.Name)
		table := rig.Table{Header: []string{
			"server", "requests/s", "CPU µs/request", "p50 µs", "p99 µs", "requests/s ÷ upstream", "CPU ÷ upstream", "p99 ÷ upstream", "CPU ÷ " + r.referenceName(), "socket errors",
		}}
		for _, m := range row.Servers {
			table.Rows = append(table.Rows, []string{
				m.Server,
				cell(m.Rate, 0), cell(m.CPU, 2), cell(m.P50, 0), cell(m.P99, 0),
				m.RateRatio.String(), m.CPURatio.String(), m.P99Ratio.String(), m.FloorRatio.String(),
				fmt.Sprint(m.SocketErrors),
			})
		}
		table.Write(b)
	}
}

// writeGoals writes the goals of the event engine, if any could be judged. header and
// reference are the column headers of the ratios.
func writeGoals(b *strings.Builder, header, reference string, goals []Goal) {
	if len(goals) == 0 {
		return
	}
	b.WriteString("\n## Goals of the event engine\n")
	table := rig.Table{Header: []string{"row", "of", header, reference, "goal: at most", ""}}
	for _, g := range goals {
		table.Rows = append(table.Rows, []string{g.Row, g.Of, g.Ratio.String(), g.Floor.String(), fmt.Sprintf("%.2f", g.Most), rig.Met(g.Met)})
	}
	table.Write(b)
}

func cell(s stats.Summary, digits int) string {
	return fmt.Sprintf("%.*f ±%.0f%%", digits, s.Median, 100*s.Spread())
}
