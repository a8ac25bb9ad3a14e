package ws

import (
	"fmt"
	"math"
	"strings"

	"github.com/valyala/fasthttp/bench/internal/rig"
	"github.com/valyala/fasthttp/bench/internal/stats"
	"github.com/valyala/fasthttp/bench/internal/turns"
	"github.com/valyala/fasthttp/bench/internal/wsload"
)

// Report is a whole comparison.
type Report struct {
	rig.Head
	Seconds     int      `json:"seconds"`
	ServerPlace string   `json:"server_place"`
	ClientPlace string   `json:"client_place"`
	Procs       int      `json:"gomaxprocs"` // of the servers
	Servers     []string `json:"servers"`    // in the order of the tables
	Rows        []*Row   `json:"rows"`
	Missing     []string `json:"missing,omitempty"`
	Failures    []string `json:"failures,omitempty"`
}

// Row is one load on all servers.
type Row struct {
	Name    string         `json:"name"`
	Idle    bool           `json:"idle,omitempty"`
	Servers []*Measurement `json:"servers"`
}

// Measurement summarizes all runs of one server under one load. A row of idle sockets has the
// last two figures, the others have all but these. Figures that only Go has are nil for other
// servers. Times are in µs.
type Measurement struct {
	Server     string         `json:"server"`
	Rate       *stats.Summary `json:"messages_per_second,omitempty"`
	CPU        *stats.Summary `json:"cpu_us_per_message,omitempty"`
	Allocs     *stats.Summary `json:"allocations_per_message,omitempty"`
	P50        *stats.Summary `json:"p50_us,omitempty"`
	P99        *stats.Summary `json:"p99_us,omitempty"`
	Longest    *stats.Summary `json:"longest_us,omitempty"`
	LoadCPU    *stats.Summary `json:"load_cpu_us_per_message,omitempty"`
	Resident   *stats.Summary `json:"resident_bytes_per_socket,omitempty"`
	Goroutines *stats.Summary `json:"goroutines_per_socket,omitempty"`
	// The ratios compare processor times, or the resident bytes of idle sockets.
	ToFasthttp rig.Ratio `json:"to_fasthttp_websocket"`
	ToFloor    rig.Ratio `json:"to_c_loop"`
}

// figure is the one that the ratios compare.
func (m *Measurement) figure() stats.Summary {
	if m.Resident != nil {
		return *m.Resident
	}
	return *m.CPU
}

// report summarizes the samples.
func (s *session) report() *Report {
	r := &Report{
		Head:        rig.NewHead(s.servers, s.Rounds),
		Seconds:     s.Seconds,
		ServerPlace: s.place.String(),
		ClientPlace: s.clientPlace.String(),
		Procs:       s.place.Procs(),
		Missing:     s.missing,
		Failures:    s.failures,
	}
	for _, server := range s.servers {
		r.Servers = append(r.Servers, server.Name)
	}
	for _, l := range s.loads {
		row := &Row{Name: l.name, Idle: l.Kind == wsload.Idle}
		for _, name := range r.Servers {
			if samples := s.samples[turns.Key{Load: l.name, Server: name}]; len(samples) > 0 {
				row.Servers = append(row.Servers, summarize(name, samples))
			}
		}
		row.compare()
		r.Rows = append(r.Rows, row)
	}
	return r
}

func summarize(server string, samples []sample) *Measurement {
	of := func(figure func(sample) float64) *stats.Summary {
		var list []float64
		for _, s := range samples {
			if x := figure(s); !math.IsNaN(x) {
				list = append(list, x)
			}
		}
		if len(list) == 0 {
			return nil
		}
		sum := stats.Summarize(list)
		return &sum
	}
	m := &Measurement{Server: server}
	if samples[0].idle {
		m.Resident = of(func(s sample) float64 { return s.resident })
		m.Goroutines = of(func(s sample) float64 { return s.goroutines })
		return m
	}
	m.Rate = of(func(s sample) float64 { return s.rate })
	m.CPU = of(func(s sample) float64 { return s.cpu })
	m.Allocs = of(func(s sample) float64 { return s.allocs })
	m.P50 = of(func(s sample) float64 { return s.p50 })
	m.P99 = of(func(s sample) float64 { return s.p99 })
	m.Longest = of(func(s sample) float64 { return s.most })
	m.LoadCPU = of(func(s sample) float64 { return s.load })
	return m
}

// compare fills in the ratios.
func (row *Row) compare() {
	ratio := func(m *Measurement, to string) rig.Ratio {
		if other := row.of(to); other != nil && other != m {
			return rig.NewRatio(m.figure(), other.figure())
		}
		return rig.Ratio{}
	}
	for _, m := range row.Servers {
		m.ToFasthttp, m.ToFloor = ratio(m, rig.FasthttpWebSocket), ratio(m, rig.WebSocketFloor)
	}
}

func (row *Row) of(server string) *Measurement {
	for _, m := range row.Servers {
		if m.Server == server {
			return m
		}
	}
	return nil
}

// Markdown returns the comparison as Markdown.
func (r *Report) Markdown() string {
	var b strings.Builder
	var more []string
	for _, name := range r.Servers {
		more = append(more, name+": "+r.Versions[name])
	}
	more = append(more, fmt.Sprintf("%s each", rig.Plural(r.Seconds, "second")),
		fmt.Sprintf("servers: %s, GOMAXPROCS %d; load: %s", r.ServerPlace, r.Procs, r.ClientPlace))
	r.WriteMarkdown(&b, "WebSocket servers over loopback sockets", append(more, r.Missing...)...)
	b.WriteString("\nFigures are medians, ± the median absolute deviation. CPU is the server's processor time for a message\n" +
		"in µs, user and system; a message that is broadcast counts once for each socket. In the ratios less than\n" +
		"1 is better for the server of the line; they are in parentheses where the two ranges of samples overlap,\n" +
		"so that the difference may be chance.\n")
	r.writeOverview(&b)
	r.WriteTables(&b, "##")
	rig.WriteFailures(&b, r.Failures)
	return b.String()
}

// writeOverview writes a table with the figures that the ratios compare.
func (r *Report) writeOverview(b *strings.Builder) {
	b.WriteString("\n## All rows: CPU µs/message, or resident bytes of an idle socket\n")
	table := rig.Table{Header: append([]string{"row"}, r.Servers...)}
	for _, row := range r.Rows {
		cells := []string{row.Name}
		for _, name := range r.Servers {
			cell := rig.None
			if m := row.of(name); m != nil {
				digits := 2
				if row.Idle {
					digits = 0
				}
				cell = fmt.Sprintf("%.*f", digits, m.figure().Median)
			}
			cells = append(cells, cell)
		}
		table.Rows = append(table.Rows, cells)
	}
	table.Write(b)
}

// WriteTables writes a table for each load, each under a heading; level is the Markdown prefix
// of the heading.
func (r *Report) WriteTables(b *strings.Builder, level string) {
	for _, row := range r.Rows {
		fmt.Fprintf(b, "\n%s %s\n", level, row.Name)
		table := rig.Table{Header: []string{
			"server", "messages/s", "CPU µs/message", "least", "allocs/message", "p50 µs", "p99 µs", "longest µs", "load's CPU µs",
			"CPU ÷ " + rig.FasthttpWebSocket, "CPU ÷ C loop",
		}}
		if row.Idle {
			table.Header = []string{"server", "resident B/socket", "goroutines/socket", "÷ " + rig.FasthttpWebSocket, "÷ C loop"}
		}
		for _, m := range row.Servers {
			cells := []string{
				m.Server, cell(m.Rate, 0), cell(m.CPU, 2), least(m.CPU), median(m.Allocs, 2), cell(m.P50, 0), cell(m.P99, 0),
				median(m.Longest, 0), median(m.LoadCPU, 2),
			}
			if row.Idle {
				cells = []string{m.Server, cell(m.Resident, 0), median(m.Goroutines, 2)}
			}
			table.Rows = append(table.Rows, append(cells, m.ToFasthttp.String(), m.ToFloor.String()))
		}
		table.Write(b)
	}
}

func cell(s *stats.Summary, digits int) string {
	if s == nil {
		return rig.None
	}
	return fmt.Sprintf("%.*f ±%.0f%%", digits, s.Median, 100*s.Spread())
}

func median(s *stats.Summary, digits int) string {
	if s == nil {
		return rig.None
	}
	return fmt.Sprintf("%.*f", digits, s.Median)
}

func least(s *stats.Summary) string {
	if s == nil {
		return rig.None
	}
	return fmt.Sprintf("%.2f", s.Min)
}
