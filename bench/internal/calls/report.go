package calls

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
	Plain       bool     `json:"plain,omitempty"`
	Varied      bool     `json:"varied,omitempty"`
	Seconds     int      `json:"seconds"`
	ServerPlace string   `json:"server_place"`
	ClientPlace string   `json:"client_place"`
	Procs       int      `json:"gomaxprocs"` // of the server and of the callers
	Rows        []*Row   `json:"rows"`
	Missing     []string `json:"missing,omitempty"`
	Failures    []string `json:"failures,omitempty"`
}

// Row is one load on all clients.
type Row struct {
	Name    string         `json:"name"`
	Clients []*Measurement `json:"clients"`
	// Goal is the goal for OursHTTP2 relative to NetHTTPHTTP2; nil if one of them has no
	// figures, or if there is no goal.
	Goal *Goal `json:"goal,omitempty"`
}

// Measurement summarizes all runs of one client under one load.
type Measurement struct {
	Client string        `json:"client"`
	Rate   stats.Summary `json:"calls_per_second"`
	CPU    stats.Summary `json:"cpu_us_per_call"`
	Allocs stats.Summary `json:"allocations_per_call"`
	Conns  stats.Summary `json:"connections"`
	// OursTo is the processor time of OursHTTP2 over this client's.
	OursTo rig.Ratio `json:"ours_cpu_to_this"`
}

// Goal is a goal for a ratio of processor times.
type Goal struct {
	Most  float64   `json:"most"`
	Ratio rig.Ratio `json:"ratio"`
	Met   bool      `json:"met"`
	// Bare is the ratio of Bare to NetHTTPHTTP2, the lower bound for any client.
	Bare rig.Ratio `json:"bare"`
}

// Most is the largest processor time of a call over TLS, as a share of net/http's.
const Most = 1. / 3

// Names returns the names of all rows.
func Names() []string {
	var all []string
	for _, l := range loads {
		all = append(all, l.name)
	}
	return all
}

// report summarizes the samples.
func (s *session) report() *Report {
	r := &Report{
		Plain: s.Plain, Varied: s.Varied, Seconds: s.Seconds,
		ServerPlace: s.place.String(), ClientPlace: s.clientPlace.String(), Procs: s.place.Procs(),
		Missing: s.missing, Failures: s.failures,
	}
	for _, l := range s.loads {
		row := &Row{Name: l.name}
		for _, client := range clients {
			samples := s.samples[turns.Key{Load: l.name, Server: client}]
			if len(samples) == 0 {
				continue
			}
			of := func(quantity func(sample) float64) stats.Summary {
				var all []float64
				for _, got := range samples {
					all = append(all, quantity(got))
				}
				return stats.Summarize(all)
			}
			row.Clients = append(row.Clients, &Measurement{
				Client: client,
				Rate:   of(func(s sample) float64 { return s.rate }),
				CPU:    of(func(s sample) float64 { return s.cpu }),
				Allocs: of(func(s sample) float64 { return s.allocs }),
				Conns:  of(func(s sample) float64 { return s.conns }),
			})
		}
		row.compare(!s.Plain)
		r.Rows = append(r.Rows, row)
	}
	return r
}

// compare fills in the ratios, and the goal if there is one.
func (row *Row) compare(hasGoal bool) {
	ours := row.of(OursHTTP2)
	if ours == nil {
		return
	}
	for _, m := range row.Clients {
		if m != ours {
			m.OursTo = rig.NewRatio(ours.CPU, m.CPU)
		}
	}
	if m := row.of(NetHTTPHTTP2); m != nil && hasGoal {
		row.Goal = &Goal{Most: Most, Ratio: m.OursTo, Met: m.OursTo.Value <= Most}
		if bare := row.of(Bare); bare != nil {
			row.Goal.Bare = rig.NewRatio(bare.CPU, m.CPU)
		}
	}
}

func (row *Row) of(client string) *Measurement {
	for _, m := range row.Clients {
		if m.Client == client {
			return m
		}
	}
	return nil
}

// Markdown returns the comparison as Markdown.
func (r *Report) Markdown() string {
	var b strings.Builder
	title := "Clients over loopback sockets"
	if !r.Plain {
		title += ", with TLS"
	}
	if r.Varied {
		title += ", varied calls"
	}
	more := []string{
		fmt.Sprintf("%s each", rig.Plural(r.Seconds, "second")),
		fmt.Sprintf("server: %s; callers: %s; GOMAXPROCS %d each", r.ServerPlace, r.ClientPlace, r.Procs),
	}
	r.WriteMarkdown(&b, title, append(more, r.Missing...)...)
	b.WriteString("\nFigures are medians, ± the median absolute deviation. CPU is the processor time for a call, user and system, of\n" +
		"the process that calls, in µs, and the least of all rounds is that of the one that other programs on the machine\n" +
		"disturbed least. Ours ÷ this is the processor time of our client with HTTP/2 over that of the client of the line: less\n" +
		"than 1 is better for ours. It is in parentheses where the two ranges of samples overlap, so that the difference\n" +
		"may be chance. Connections are those that were dialed. Ready frames are no client: they are requests that were\n" +
		"encoded before, those of all callers in one write, and only the ends of the responses are looked for, so that the row\n" +
		"shows what TLS and the system take.\n")
	r.WriteTables(&b, "##")
	r.writeGoals(&b)
	rig.WriteFailures(&b, r.Failures)
	return b.String()
}

// WriteTables writes a table for each load, each under a heading; level is the Markdown prefix
// of the heading.
func (r *Report) WriteTables(b *strings.Builder, level string) {
	for _, row := range r.Rows {
		fmt.Fprintf(b, "\n%s %s\n", level, row.Name)
		table := rig.Table{Header: []string{"client", "calls/s", "CPU µs/call", "least", "allocs/call", "connections", "CPU: ours with HTTP/2 ÷ this"}}
		for _, m := range row.Clients {
			table.Rows = append(table.Rows, []string{
				m.Client, cell(m.Rate, 0), cell(m.CPU, 2), fmt.Sprintf("%.2f", m.CPU.Min), fmt.Sprintf("%.2f", m.Allocs.Median),
				fmt.Sprintf("%.0f", m.Conns.Median), m.OursTo.String(),
			})
		}
		table.Write(b)
	}
}

func (r *Report) writeGoals(b *strings.Builder) {
	table := rig.Table{Header: []string{"row", "CPU: ours ÷ net/http, HTTP/2", "goal: at most", "", "ready frames ÷ net/http"}}
	for _, row := range r.Rows {
		if g := row.Goal; g != nil {
			table.Rows = append(table.Rows, []string{row.Name, g.Ratio.String(), fmt.Sprintf("%.2f", g.Most), rig.Met(g.Met), g.Bare.String()})
		}
	}
	if len(table.Rows) > 0 {
		b.WriteString("\n## Goals\n")
		table.Write(b)
	}
}

func cell(s stats.Summary, digits int) string {
	return fmt.Sprintf("%.*f ±%.0f%%", digits, s.Median, 100*s.Spread())
}
