package h2load

import (
	"fmt"
	"strings"

	"github.com/valyala/fasthttp/bench/internal/rig"
	"github.com/valyala/fasthttp/bench/internal/stats"
	"github.com/valyala/fasthttp/bench/internal/turns"
)

// Report is a whole comparison.
type Report struct {
	rig.Head
	TLS         bool     `json:"tls,omitempty"`
	Seconds     int      `json:"seconds"`
	ServerPlace string   `json:"server_place"`
	ClientPlace string   `json:"client_place"`
	Procs       int      `json:"gomaxprocs"`
	Rows        []*Row   `json:"rows"`
	Goals       []Goal   `json:"goals,omitempty"`
	Missing     []string `json:"missing,omitempty"`
	Failures    []string `json:"failures,omitempty"`
}

// Row is one load on all servers.
type Row struct {
	Name    string         `json:"name"`
	Servers []*Measurement `json:"servers"`
}

// Measurement summarizes all runs of one server under one load. A ratio above 1 means that the
// event engine takes less.
type Measurement struct {
	Server string        `json:"server"`
	Rate   stats.Summary `json:"requests_per_second"`
	CPU    stats.Summary `json:"cpu_us_per_request"`
	// EventTo is the event engine's processor time over this server's.
	EventTo rig.Ratio `json:"event_cpu_to_this"`
}

// Goal is a goal for a ratio of the event engine's processor time.
type Goal struct {
	Row   string    `json:"row"`
	Conns int       `json:"connections"`
	To    string    `json:"to"`
	Most  float64   `json:"most"`
	Ratio rig.Ratio `json:"ratio"`
	Met   bool      `json:"met"`
}

// report summarizes the samples.
func (s *session) report() *Report {
	r := &Report{
		TLS:         s.identity != nil,
		Seconds:     s.seconds,
		ServerPlace: s.place.String(),
		ClientPlace: s.clientPlace.String(),
		Procs:       s.place.Procs(),
		Missing:     s.missing,
		Failures:    s.failures,
	}
	for i := range s.loads {
		l := &s.loads[i]
		row := &Row{Name: l.name}
		for _, server := range s.servers {
			samples := s.samples[turns.Key{Load: l.name, Server: server.Name}]
			if len(samples) == 0 {
				continue
			}
			var rate, cpu []float64
			for _, got := range samples {
				rate, cpu = append(rate, got.rate), append(cpu, got.cpu)
			}
			row.Servers = append(row.Servers, &Measurement{Server: server.Name, Rate: stats.Summarize(rate), CPU: stats.Summarize(cpu)})
		}
		event := row.of(rig.Event)
		for _, m := range row.Servers {
			if event != nil && m != event {
				m.EventTo = rig.NewRatio(event.CPU, m.CPU)
			}
		}
		r.Rows = append(r.Rows, row)
		if !r.TLS {
			r.Goals = append(r.Goals, row.goals(l)...)
		}
	}
	return r
}

func (r *Row) of(server string) *Measurement {
	for _, m := range r.Servers {
		if m.Server == server {
			return m
		}
	}
	return nil
}

// Goals returns the goals without figures.
func Goals() []Goal {
	var all []Goal
	for i := range loads {
		all = append(all, loads[i].goals()...)
	}
	return all
}

func (l *load) goals() []Goal {
	var all []Goal
	for _, g := range []Goal{{To: rig.Nghttpd, Most: l.toNghttpd}, {To: rig.H2O, Most: l.toH2O}} {
		if g.Row, g.Conns = l.name, l.conns; g.Most > 0 {
			all = append(all, g)
		}
	}
	return all
}

// goals judges the event engine.
func (r *Row) goals(l *load) []Goal {
	var all []Goal
	for _, g := range l.goals() {
		if m := r.of(g.To); m != nil && m.EventTo.Value > 0 {
			g.Ratio, g.Met = m.EventTo, m.EventTo.Value <= g.Most
			all = append(all, g)
		}
	}
	return all
}

// Markdown returns the comparison as Markdown.
func (r *Report) Markdown() string {
	var b strings.Builder
	title := "Servers of HTTP/2 over loopback sockets"
	if r.TLS {
		title += ", with TLS"
	}
	var more []string
	for _, name := range []string{rig.Nghttpd, rig.H2O, rig.Nginx} {
		if version := r.Versions[name]; version != "" {
			more = append(more, version)
		}
	}
	more = append(more, fmt.Sprintf("%s each", rig.Plural(r.Seconds, "second")),
		fmt.Sprintf("servers: %s, GOMAXPROCS %d; h2load: %s", r.ServerPlace, r.Procs, r.ClientPlace))
	r.WriteMarkdown(&b, title, append(more, r.Missing...)...)
	b.WriteString("\nFigures are medians, ± the median absolute deviation. CPU is the server's processor time for a request\n" +
		"in µs, user and system, and the least of all rounds is that of the one that other programs on the machine\n" +
		"disturbed least. Event ÷ this is the processor time of the event engine over that of the server of\n" +
		"the line: less than 1 is better for ours. It is in parentheses where the two ranges of samples overlap,\n" +
		"so that the difference may be chance.\n")
	r.WriteTables(&b, "##")
	if len(r.Goals) > 0 {
		b.WriteString("\n## Goals of the event engine\n")
		r.WriteGoals(&b)
	}
	rig.WriteFailures(&b, r.Failures)
	return b.String()
}

// WriteGoals writes the table of goals.
func (r *Report) WriteGoals(b *strings.Builder) {
	table := rig.Table{Header: []string{"row", "to", "CPU ratio", "goal: at most", ""}}
	for _, g := range r.Goals {
		table.Rows = append(table.Rows, []string{g.Row, g.To, g.Ratio.String(), fmt.Sprintf("%.2f", g.Most), rig.Met(g.Met)})
	}
	table.Write(b)
}

// WriteTables writes a table for each load, each under a heading; level is the Markdown prefix
// of the heading.
func (r *Report) WriteTables(b *strings.Builder, level string) {
	for _, row := range r.Rows {
		fmt.Fprintf(b, "\n%s %s\n", level, row.Name)
		table := rig.Table{Header: []string{"server", "requests/s", "CPU µs/request", "least", "CPU: event ÷ this"}}
		for _, m := range row.Servers {
			table.Rows = append(table.Rows, []string{m.Server, cell(m.Rate, 0), cell(m.CPU, 2), fmt.Sprintf("%.2f", m.CPU.Min), m.EventTo.String()})
		}
		table.Write(b)
	}
}

func cell(s stats.Summary, digits int) string {
	return fmt.Sprintf("%.*f ±%.0f%%", digits, s.Median, 100*s.Spread())
}
