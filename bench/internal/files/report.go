package files

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
	Nginx       string   `json:"nginx,omitempty"` // its version
	TLS         bool     `json:"tls,omitempty"`
	Seconds     int      `json:"seconds"`
	ServerPlace string   `json:"server_place"`
	ClientPlace string   `json:"client_place"`
	Procs       int      `json:"gomaxprocs"`
	Rows        []*Row   `json:"rows"`
	Goals       []Goal   `json:"goals"`
	Missing     []string `json:"missing,omitempty"`
	Failures    []string `json:"failures,omitempty"`
}

// Row is one load on all servers.
type Row struct {
	Name    string         `json:"name"`
	Conns   int            `json:"connections"`
	Servers []*Measurement `json:"servers"`
}

// Measurement summarizes all runs of one server under one load. A ratio of less than 1 is
// better than the other server.
type Measurement struct {
	Server       string        `json:"server"`
	Rate         stats.Summary `json:"requests_per_second"`
	CPU          stats.Summary `json:"cpu_us_per_request"`
	Both         stats.Summary `json:"cpu_us_per_request_with_client"`
	SocketErrors int           `json:"socket_errors"` // of all runs

	ToUpstream     rig.Ratio `json:"cpu_to_upstream"`
	ToNginx        rig.Ratio `json:"cpu_to_nginx"`
	BothToUpstream rig.Ratio `json:"cpu_with_client_to_upstream"`
	BothToNginx    rig.Ratio `json:"cpu_with_client_to_nginx"`
}

// Goal is a goal for a ratio of the event engine's processor time.
type Goal struct {
	Row   string    `json:"row"`
	To    string    `json:"to"`
	Most  float64   `json:"most"`
	Ratio rig.Ratio `json:"ratio"`
	Both  rig.Ratio `json:"ratio_with_client"`
	Met   bool      `json:"met"`
}

// report summarizes the samples.
func (s *session) report() *Report {
	r := &Report{
		Nginx:       s.nginx,
		TLS:         s.identity != nil,
		Seconds:     s.seconds,
		ServerPlace: s.place.String(),
		ClientPlace: s.clientPlace.String(),
		Procs:       s.place.Procs(),
		Missing:     s.missing,
		Failures:    s.failures,
	}
	for _, l := range s.loads {
		row := &Row{Name: l.name, Conns: l.conns}
		for _, server := range s.servers {
			if samples := s.samples[turns.Key{Load: l.name, Server: server.Name}]; len(samples) > 0 {
				row.Servers = append(row.Servers, summarize(server.Name, samples))
			}
		}
		row.compare()
		r.Rows = append(r.Rows, row)
		r.Goals = append(r.Goals, row.goals(&l)...)
	}
	return r
}

func summarize(server string, samples []sample) *Measurement {
	var rate, cpu, both []float64
	m := &Measurement{Server: server}
	for _, s := range samples {
		rate, cpu, both = append(rate, s.rate), append(cpu, s.cpu), append(both, s.both)
		m.SocketErrors += s.errors
	}
	m.Rate, m.CPU, m.Both = stats.Summarize(rate), stats.Summarize(cpu), stats.Summarize(both)
	return m
}

// compare fills the ratios in.
func (r *Row) compare() {
	upstream, nginx := r.of(rig.Upstream), r.of(rig.Nginx)
	for _, m := range r.Servers {
		if upstream != nil && m != upstream {
			m.ToUpstream, m.BothToUpstream = rig.NewRatio(m.CPU, upstream.CPU), rig.NewRatio(m.Both, upstream.Both)
		}
		if nginx != nil && m != nginx {
			m.ToNginx, m.BothToNginx = rig.NewRatio(m.CPU, nginx.CPU), rig.NewRatio(m.Both, nginx.Both)
		}
	}
}

func (r *Row) of(server string) *Measurement {
	for _, m := range r.Servers {
		if m.Server == server {
			return m
		}
	}
	return nil
}

// goals judges the event engine. If the ranges of samples overlap, the goal "as good as
// upstream" counts as met.
func (r *Row) goals(l *load) []Goal {
	m := r.of(rig.Event)
	if m == nil {
		return nil
	}
	if l.bothGoal > 0 {
		if m.BothToUpstream.Value == 0 {
			return nil
		}
		met := m.BothToUpstream.Value <= l.bothGoal
		return []Goal{{r.Name, rig.Upstream, l.bothGoal, m.ToUpstream, m.BothToUpstream, met}}
	}
	var goals []Goal
	if m.ToUpstream.Value > 0 {
		goals = append(goals, Goal{r.Name, rig.Upstream, 1, m.ToUpstream, m.BothToUpstream, m.ToUpstream.Value <= 1 || m.ToUpstream.Overlaps})
	}
	if m.ToNginx.Value > 0 {
		goals = append(goals, Goal{r.Name, rig.Nginx, l.nginxGoal, m.ToNginx, m.BothToNginx, m.ToNginx.Value <= l.nginxGoal})
	}
	return goals
}

// Markdown returns the comparison as Markdown.
func (r *Report) Markdown() string {
	var b strings.Builder
	more := []string{
		fmt.Sprintf("%s each", rig.Plural(r.Seconds, "second")),
		fmt.Sprintf("servers: %s, GOMAXPROCS %d; wrk: %s", r.ServerPlace, r.Procs, r.ClientPlace),
	}
	if r.Nginx != "" {
		more = append(more, r.Nginx)
	}
	title := "Servers of files over loopback sockets"
	if r.TLS {
		title += ", with TLS"
	}
	r.WriteMarkdown(&b, title, append(more, r.Missing...)...)
	b.WriteString("\nFigures are medians, ± the median absolute deviation. CPU is the server's processor time for a request\n" +
		"in µs, user and system; \"with wrk\" that of the client is added. Over loopback the system does much of the work of\n" +
		"sending on behalf of whoever happens to run: for large files a server that sends in small pieces has the client\n" +
		"pay, so look at the sum of both. Ratios of less than 1 are better; one is in parentheses where the two ranges\n" +
		"of samples overlap, so that the difference may be chance.\n")
	r.WriteTables(&b, "##")
	if len(r.Goals) > 0 && r.TLS {
		b.WriteString("\nWith TLS the goals are for server and client together.\n")
	}
	if len(r.Goals) > 0 {
		b.WriteString("\n## Goals of the event engine\n")
		table := rig.Table{Header: []string{"row", "to", "CPU ratio", "with wrk", "goal: at most", ""}}
		for _, g := range r.Goals {
			table.Rows = append(table.Rows, []string{g.Row, g.To, g.Ratio.String(), g.Both.String(), fmt.Sprintf("%.2f", g.Most), rig.Met(g.Met)})
		}
		table.Write(&b)
	}
	rig.WriteFailures(&b, r.Failures)
	return b.String()
}

// WriteTables writes a table for each load, each under a heading; level is the Markdown prefix
// of the heading.
func (r *Report) WriteTables(b *strings.Builder, level string) {
	for _, row := range r.Rows {
		fmt.Fprintf(b, "\n%s %s, %s\n", level, row.Name, rig.Plural(row.Conns, "connection"))
		table := rig.Table{Header: []string{
			"server", "requests/s", "CPU µs/request", "with wrk", "CPU ÷ upstream", "CPU ÷ nginx", "with wrk ÷ upstream", "with wrk ÷ nginx", "socket errors",
		}}
		for _, m := range row.Servers {
			table.Rows = append(table.Rows, []string{
				m.Server, cell(m.Rate, 0), cell(m.CPU, 2), cell(m.Both, 2),
				m.ToUpstream.String(), m.ToNginx.String(), m.BothToUpstream.String(), m.BothToNginx.String(),
				fmt.Sprint(m.SocketErrors),
			})
		}
		table.Write(b)
	}
}

func cell(s stats.Summary, digits int) string {
	return fmt.Sprintf("%.*f ±%.0f%%", digits, s.Median, 100*s.Spread())
}
