package tcp

import (
	"fmt"
	"strings"

	"github.com/valyala/fasthttp/bench/internal/rig"
	"github.com/valyala/fasthttp/bench/internal/stats"
	"github.com/valyala/fasthttp/bench/internal/tlsload"
	"github.com/valyala/fasthttp/bench/internal/turns"
)

// HandshakeReport is a whole comparison of handshakes.
type HandshakeReport struct {
	rig.Head
	Seconds     int             `json:"seconds"`
	ServerPlace string          `json:"server_place"`
	ClientPlace string          `json:"client_place"`
	Procs       int             `json:"gomaxprocs"`
	Rows        []*HandshakeRow `json:"rows"`
	Goals       []Goal          `json:"goals"`
	Missing     []string        `json:"missing,omitempty"`
	Failures    []string        `json:"failures,omitempty"`
}

// HandshakeRow is one kind of handshakes with one server.
type HandshakeRow struct {
	Kind   tlsload.Kind  `json:"kind"`
	Server string        `json:"server"`
	Rate   stats.Summary `json:"handshakes_per_second"`
	CPU    stats.Summary `json:"cpu_us_per_handshake"`
	P99    stats.Summary `json:"p99_us"`

	CPUToUpstream rig.Ratio `json:"cpu_to_upstream"`
	CPUToNetHTTP  rig.Ratio `json:"cpu_to_net_http"`
	RateToNetHTTP rig.Ratio `json:"rate_to_net_http"`
}

// HandshakeLeast is the least that the event engine's handshakes a second may be, as a
// share of net/http's.
const HandshakeLeast = 1

func (s *shakeSession) report() *HandshakeReport {
	r := &HandshakeReport{
		Head:        rig.NewHead(s.servers, s.rounds),
		Seconds:     s.seconds,
		ServerPlace: s.place.String(),
		ClientPlace: s.client.String(),
		Procs:       s.place.Procs(),
		Missing:     s.missing,
		Failures:    s.failures,
	}
	for _, kind := range shakeKinds {
		for _, server := range s.servers {
			samples := s.samples[turns.Key{Load: string(kind), Server: server.Name}]
			if len(samples) == 0 {
				continue
			}
			var rate, cpu, p99 []float64
			for _, got := range samples {
				rate, cpu, p99 = append(rate, got.rate), append(cpu, got.cpu), append(p99, got.p99)
			}
			r.Rows = append(r.Rows, &HandshakeRow{
				Kind: kind, Server: server.Name, Rate: stats.Summarize(rate), CPU: stats.Summarize(cpu), P99: stats.Summarize(p99),
			})
		}
		r.compare(kind)
	}
	return r
}

// compare fills in the ratios of a kind, and judges the event engine.
func (r *HandshakeReport) compare(kind tlsload.Kind) {
	upstream, nethttp := r.Of(kind, rig.Upstream), r.Of(kind, rig.NetHTTP)
	for _, row := range r.Rows {
		if row.Kind != kind {
			continue
		}
		if upstream != nil && row != upstream {
			row.CPUToUpstream = rig.NewRatio(row.CPU, upstream.CPU)
		}
		if nethttp != nil && row != nethttp {
			row.CPUToNetHTTP = rig.NewRatio(row.CPU, nethttp.CPU)
			row.RateToNetHTTP = rig.NewRatio(row.Rate, nethttp.Rate)
		}
	}
	if m := r.Of(kind, rig.Event); m != nil && m.RateToNetHTTP.Value > 0 {
		r.Goals = append(r.Goals, Goal{
			Row: string(kind), Of: "net/http's handshakes/s ÷ ours", Most: 1 / HandshakeLeast,
			Ratio: rig.NewRatio(nethttp.Rate, m.Rate), Met: m.Fast(),
		})
	}
}

// Fast reports whether the rate of handshakes meets the goal. Half of all equal rates would
// miss it, so it counts as met unless the difference is certain.
func (r *HandshakeRow) Fast() bool {
	return r.RateToNetHTTP.Value >= HandshakeLeast || r.RateToNetHTTP.Overlaps
}

// Of returns the row of a server, or nil.
func (r *HandshakeReport) Of(kind tlsload.Kind, server string) *HandshakeRow {
	for _, row := range r.Rows {
		if row.Kind == kind && row.Server == server {
			return row
		}
	}
	return nil
}

// Markdown returns the comparison as Markdown.
func (r *HandshakeReport) Markdown() string {
	var b strings.Builder
	r.WriteMarkdown(&b, "New connections over TLS", append([]string{
		fmt.Sprintf("%s each, %d clients at the same time", rig.Plural(r.Seconds, "second"), shakeConns),
		fmt.Sprintf("servers: %s, GOMAXPROCS %d; clients: %s", r.ServerPlace, r.Procs, r.ClientPlace),
	}, r.Missing...)...)
	b.WriteString("\nA client connects, performs a handshake of TLS 1.3 (X25519, AES-128-GCM, a certificate of ECDSA on P-256), sends one\n" +
		"request, and waits until the server ends the connection. CPU is the server's processor time for all of that in µs,\n" +
		"user and system. Figures are medians, ± the median absolute deviation; a ratio is in parentheses where the two\n" +
		"ranges of samples overlap, so that the difference may be chance.\n")
	r.WriteTables(&b, "##")
	writeGoals(&b, "ratio", rig.Nginx, r.Goals)
	rig.WriteFailures(&b, r.Failures)
	return b.String()
}

// WriteTables writes a table for each kind, each under a heading; level is the Markdown prefix
// of the heading.
func (r *HandshakeReport) WriteTables(b *strings.Builder, level string) {
	for _, kind := range shakeKinds {
		fmt.Fprintf(b, "\n%s %s\n", level, kind)
		table := rig.Table{Header: []string{
			"server", "handshakes/s", "CPU µs/handshake", "p99 µs", "handshakes/s ÷ net/http", "CPU ÷ net/http", "CPU ÷ upstream",
		}}
		for _, row := range r.Rows {
			if row.Kind == kind {
				table.Rows = append(table.Rows, []string{
					row.Server, cell(row.Rate, 0), cell(row.CPU, 1), cell(row.P99, 0),
					row.RateToNetHTTP.String(), row.CPUToNetHTTP.String(), row.CPUToUpstream.String(),
				})
			}
		}
		table.Write(b)
	}
}
