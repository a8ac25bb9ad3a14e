package tcp

import (
	"fmt"
	"strings"

	"github.com/valyala/fasthttp/bench/internal/rig"
	"github.com/valyala/fasthttp/bench/internal/stats"
	"github.com/valyala/fasthttp/bench/internal/turns"
)

// slowGoal is by what factor the p99 of ordinary requests may grow on the event engine beside
// slow requests.
const slowGoal = 2

// SlowNetHTTPMost is the largest p99 of ordinary requests on the event engine, relative to
// net/http's, beside handlers that compute. There the growth of the p99 depends on the
// scheduler as much as on the server, so the goal is to be about as good as net/http.
const SlowNetHTTPMost = 1.5

// SlowReport is a whole comparison of mixed loads.
type SlowReport struct {
	rig.Head
	Seconds  int        `json:"seconds"`
	Rate     int        `json:"requests_per_second"`
	Procs    int        `json:"gomaxprocs"`
	Rows     []*SlowRow `json:"rows"`
	Goals    []Goal     `json:"goals"`
	Failures []string   `json:"failures,omitempty"`
}

// SlowRow is one server beside one disturbance.
type SlowRow struct {
	Server  string        `json:"server"`
	Beside  string        `json:"slow_requests"`
	P50     stats.Summary `json:"p50_us"`
	P99     stats.Summary `json:"p99_us"`
	Slow    int           `json:"slow_answered"`     // in all rounds
	Regular int           `json:"ordinary_answered"` // in all rounds
	// P99Ratio is the ratio to the same server without slow requests.
	P99Ratio rig.Ratio `json:"p99_ratio"`
	// ToNetHTTP is the ratio to net/http beside the same slow requests.
	ToNetHTTP rig.Ratio `json:"p99_to_net_http"`
}

func (s *slowSession) report() *SlowReport {
	r := &SlowReport{
		Head:     rig.NewHead(s.servers, s.rounds),
		Seconds:  s.seconds,
		Rate:     s.rate,
		Procs:    rig.Anywhere.Procs(),
		Failures: s.failures,
	}
	for _, server := range s.servers {
		var quiet *SlowRow
		for _, d := range disturbances {
			samples := s.samples[turns.Key{Load: d.name, Server: server.Name}]
			if len(samples) == 0 {
				continue
			}
			row := summarizeMixed(server.Name, d.name, samples)
			r.Rows = append(r.Rows, row)
			if d.path == "" {
				quiet = row
				continue
			}
			if quiet == nil {
				continue
			}
			row.P99Ratio = rig.NewRatio(row.P99, quiet.P99)
			if server.Name == rig.Event {
				r.Goals = append(r.Goals, Goal{Row: d.name, Of: "p99 ÷ without", Most: slowGoal, Ratio: row.P99Ratio, Met: row.P99Ratio.Value <= slowGoal})
			}
		}
	}
	r.compare()
	return r
}

// compare fills in the ratios to net/http, and judges the one with a goal.
func (r *SlowReport) compare() {
	for _, row := range r.Rows {
		other := r.Of(rig.NetHTTP, row.Beside)
		if other == nil || other == row {
			continue
		}
		row.ToNetHTTP = rig.NewRatio(row.P99, other.P99)
		if row.Server == rig.Event && row.Beside == Computing {
			r.Goals = append(r.Goals, Goal{
				Row: row.Beside, Of: "p99 ÷ net/http", Most: SlowNetHTTPMost, Ratio: row.ToNetHTTP, Met: row.ToNetHTTP.Value <= SlowNetHTTPMost,
			})
		}
	}
}

// Of returns the row of a server, or nil.
func (r *SlowReport) Of(server, beside string) *SlowRow {
	for _, row := range r.Rows {
		if row.Server == server && row.Beside == beside {
			return row
		}
	}
	return nil
}

func summarizeMixed(server, beside string, samples []mixedSample) *SlowRow {
	row := &SlowRow{Server: server, Beside: beside}
	var p50, p99 []float64
	for _, s := range samples {
		p50, p99 = append(p50, s.p50), append(p99, s.p99)
		row.Slow += s.slow
		row.Regular += s.ordinary
	}
	row.P50, row.P99 = stats.Summarize(p50), stats.Summarize(p99)
	return row
}

// Markdown returns the comparison as Markdown.
func (r *SlowReport) Markdown() string {
	var b strings.Builder
	r.WriteMarkdown(&b, "Requests beside slow ones",
		fmt.Sprintf("%s each, %d ordinary requests/s over %d connections", rig.Plural(r.Seconds, "second"), r.Rate, ordinaryConns),
		fmt.Sprintf("nothing is pinned: servers and client share all processors, GOMAXPROCS %d", r.Procs))
	b.WriteString("\nLatencies are those of the ordinary requests, medians, ± the median absolute deviation. Ratios are to\n" +
		"the same server without slow requests, and to net/http beside the same ones; one is in parentheses where the\n" +
		"two ranges of samples overlap, so that the difference may be chance. A request that computes keeps a processor\n" +
		"busy: with one or two of them in the machine, the first ratio is about the scheduler as much as about the server.\n")
	r.WriteTable(&b)
	writeGoals(&b, "ratio", "C loop", r.Goals)
	rig.WriteFailures(&b, r.Failures)
	return b.String()
}

// WriteTable writes the table of all rows.
func (r *SlowReport) WriteTable(b *strings.Builder) {
	table := rig.Table{Header: []string{"server", "slow requests", "slow answered", "p50 µs", "p99 µs", "p99 ÷ without", "p99 ÷ net/http"}}
	for _, row := range r.Rows {
		table.Rows = append(table.Rows, []string{
			row.Server, row.Beside, fmt.Sprint(row.Slow), cell(row.P50, 0), cell(row.P99, 0), row.P99Ratio.String(), row.ToNetHTTP.String(),
		})
	}
	table.Write(b)
}
