package tcp

import (
	"fmt"
	"strings"

	"github.com/valyala/fasthttp/bench/internal/rig"
	"github.com/valyala/fasthttp/bench/internal/stats"
	"github.com/valyala/fasthttp/bench/internal/tlsload"
	"github.com/valyala/fasthttp/bench/internal/turns"
)

const (
	// FloodMost is by what factor the p99 of established connections may grow on the event
	// engine beside half-open handshakes.
	FloodMost = 2
	// HalfOpenMost is how many bytes of heap and stacks it may hold for one of them.
	HalfOpenMost = 2 << 10
	// heldLeast is the share of the half-open connections that the server must hold.
	heldLeast = 0.9
)

// FloodReport is a whole comparison of established connections beside floods.
type FloodReport struct {
	rig.Head
	Seconds     int         `json:"seconds"`
	ServerPlace string      `json:"server_place"`
	ClientPlace string      `json:"client_place"`
	Procs       int         `json:"gomaxprocs"`
	Rows        []*FloodRow `json:"rows"`
	Goals       []Goal      `json:"goals"`
	Missing     []string    `json:"missing,omitempty"`
	Failures    []string    `json:"failures,omitempty"`
}

// FloodRow is one server beside one flood.
type FloodRow struct {
	Server   string        `json:"server"`
	Flood    string        `json:"flood"`
	Kind     tlsload.Kind  `json:"kind"`
	P50      stats.Summary `json:"p50_us"`
	P99      stats.Summary `json:"p99_us"`
	Rate     stats.Summary `json:"flood_per_second"`
	Resident stats.Summary `json:"resident_bytes"`
	Held     stats.Summary `json:"held_connections"`
	Memory   stats.Summary `json:"bytes_per_held_connection"`
	// P99Ratio is to the same server without a flood.
	P99Ratio rig.Ratio `json:"p99_ratio"`
}

func (s *floodSession) report() *FloodReport {
	r := &FloodReport{
		Head:        rig.NewHead(s.servers, s.rounds),
		Seconds:     s.seconds,
		ServerPlace: s.place.String(),
		ClientPlace: s.client.String(),
		Procs:       s.place.Procs(),
		Missing:     s.missing,
		Failures:    s.failures,
	}
	for _, server := range s.servers {
		var quiet *FloodRow
		for _, f := range floods {
			samples := s.samples[turns.Key{Load: f.String(), Server: server.Name}]
			if len(samples) == 0 {
				continue
			}
			row := summarizeFlood(server.Name, f, samples)
			r.Rows = append(r.Rows, row)
			if f.kind == "" {
				quiet = row
			} else if quiet != nil {
				row.P99Ratio = rig.NewRatio(row.P99, quiet.P99)
			}
			if server.Name == rig.Event && f.kind == tlsload.HalfOpen {
				r.judge(row)
			}
		}
	}
	return r
}

func summarizeFlood(server string, f flood, samples []floodSample) *FloodRow {
	var p50, p99, rate, resident, held, memory []float64
	for _, s := range samples {
		p50, p99, rate = append(p50, s.p50), append(p99, s.p99), append(rate, s.rate)
		resident, held, memory = append(resident, s.resident), append(held, s.held), append(memory, s.memory)
	}
	return &FloodRow{
		Server: server, Flood: f.String(), Kind: f.kind,
		P50: stats.Summarize(p50), P99: stats.Summarize(p99), Rate: stats.Summarize(rate),
		Resident: stats.Summarize(resident), Held: stats.Summarize(held), Memory: stats.Summarize(memory),
	}
}

// judge judges the event engine beside half-open handshakes.
func (r *FloodReport) judge(row *FloodRow) {
	if row.P99Ratio.Value > 0 {
		r.Goals = append(r.Goals, Goal{Row: row.Flood, Of: "p99 ÷ without", Most: FloodMost, Ratio: row.P99Ratio, Met: row.P99Ratio.Value <= FloodMost})
	}
	memory := rig.Ratio{Value: row.Memory.Median}
	r.Goals = append(r.Goals, Goal{Row: row.Flood, Of: "bytes for each", Most: HalfOpenMost, Ratio: memory, Met: row.Bounded()})
}

// Bounded reports whether the memory for half-open handshakes is within the goal. That is
// meaningful only if the server has them open.
func (r *FloodRow) Bounded() bool {
	return r.Memory.Median <= HalfOpenMost && r.Held.Median >= heldLeast*halfOpenConns
}

// Of returns the row of a server, or nil.
func (r *FloodReport) Of(server string, kind tlsload.Kind) *FloodRow {
	for _, row := range r.Rows {
		if row.Server == server && row.Kind == kind {
			return row
		}
	}
	return nil
}

// Markdown returns the comparison as Markdown.
func (r *FloodReport) Markdown() string {
	var b strings.Builder
	r.WriteMarkdown(&b, "Established connections over TLS beside floods", append([]string{
		fmt.Sprintf("%s each, %d requests/s over %d established connections", rig.Plural(r.Seconds, "second"), establishedRate, establishedConns),
		fmt.Sprintf("servers: %s, GOMAXPROCS %d; clients and flood: %s", r.ServerPlace, r.Procs, r.ClientPlace),
	}, r.Missing...)...)
	b.WriteString("\nLatencies are those of the requests over established connections. The flood is a process of its own with a low\n" +
		"priority. A half-open handshake is a connection on which half of a ClientHello has come, and nothing more; the oldest is\n" +
		"dropped for a new one. Memory is heap and stacks, after garbage collection. Figures are medians, ± the median absolute\n" +
		"deviation; a ratio is in parentheses where the two ranges of samples overlap, so that the difference may be chance.\n")
	r.WriteTable(&b)
	writeGoals(&b, "measured", "C loop", r.Goals)
	rig.WriteFailures(&b, r.Failures)
	return b.String()
}

// WriteTable writes the table of all rows.
func (r *FloodReport) WriteTable(b *strings.Builder) {
	table := rig.Table{Header: []string{
		"server", "flood", "flood/s", "p50 µs", "p99 µs", "p99 ÷ without", "held open", "bytes for each", "resident",
	}}
	for _, row := range r.Rows {
		rate, held, memory := rig.None, rig.None, rig.None
		if row.Kind != "" {
			rate = fmt.Sprintf("%.0f", row.Rate.Median)
		}
		if row.Kind == tlsload.HalfOpen {
			held, memory = fmt.Sprintf("%.0f", row.Held.Median), fmt.Sprintf("%.0f", row.Memory.Median)
		}
		table.Rows = append(table.Rows, []string{
			row.Server, row.Flood, rate, cell(row.P50, 0), cell(row.P99, 0), row.P99Ratio.String(), held, memory,
			fmt.Sprintf("%.1f MiB", row.Resident.Median/(1<<20)),
		})
	}
	table.Write(b)
}
