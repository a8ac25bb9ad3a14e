package tcp

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/valyala/fasthttp/bench/internal/rig"
	"github.com/valyala/fasthttp/bench/internal/stats"
	"github.com/valyala/fasthttp/bench/internal/turns"
)

// The goals for the event engine with handlers that wait, relative to the best of the other
// servers.
const (
	WaitRateLeast = 0.95
	WaitP99Most   = 1.1
)

// The subjects of a WaitGoal.
const (
	WaitRate = "requests/s"
	WaitP99  = "p99"
)

// WaitReport is a whole comparison of handlers that wait.
type WaitReport struct {
	rig.Head
	Time        time.Duration `json:"run_ns"`
	ServerPlace string        `json:"server_place"` // with GOMAXPROCS 1
	ClientPlace string        `json:"client_place"` // with GOMAXPROCS 1
	Rows        []*WaitRow    `json:"rows"`
	// Missing lists the servers and tools that were not installed.
	Missing  []string `json:"missing,omitempty"`
	Failures []string `json:"failures,omitempty"`
}

// WaitRow is one handler on all servers.
type WaitRow struct {
	Handler string             `json:"handler"`
	Conns   int                `json:"connections"`
	Procs   int                `json:"gomaxprocs"`
	Servers []*WaitMeasurement `json:"servers"`
	Goals   []WaitGoal         `json:"goals"` // empty if they cannot be judged
	// Again is set if the row was measured again, with doubtRounds.
	Again bool `json:"again,omitempty"`
}

// WaitMeasurement summarizes all runs of one server.
type WaitMeasurement struct {
	Server string        `json:"server"`
	Rate   stats.Summary `json:"requests_per_second"`
	CPU    stats.Summary `json:"cpu_us_per_request"`
	P50    stats.Summary `json:"p50_us"`
	P99    stats.Summary `json:"p99_us"`
}

// WaitGoal is a goal for the event engine.
type WaitGoal struct {
	Of   string `json:"of"`
	Best string `json:"best"` // of the other servers
	// Ratio is the ratio to the best; it is 0 if all runs of the event engine failed.
	Ratio rig.Ratio `json:"ratio"`
	Met   bool      `json:"met"`
}

// report summarizes the samples.
func (s *waitSession) report() *WaitReport {
	r := &WaitReport{
		Head:        rig.NewHead(s.servers, s.rounds),
		Time:        s.time,
		ServerPlace: s.alone.String(),
		ClientPlace: s.asking.String(),
		Failures:    s.failures,
	}
	for _, l := range s.loads {
		row := &WaitRow{Handler: l.handler.name, Conns: l.conns, Procs: l.procs, Again: s.doubts[l]}
		judged := false
		for _, server := range s.servers {
			judged = judged || server.Name == rig.Event
			if samples := s.samples[turns.Key{Load: l.String(), Server: server.Name}]; len(samples) > 0 {
				row.Servers = append(row.Servers, summarizeWait(server.Name, samples))
			}
		}
		if judged {
			row.judge()
		}
		r.Rows = append(r.Rows, row)
	}
	return r
}

func summarizeWait(server string, samples []waitSample) *WaitMeasurement {
	var rate, cpu, p50, p99 []float64
	for _, s := range samples {
		rate, cpu, p50, p99 = append(rate, s.rate), append(cpu, s.cpu), append(p50, s.p50), append(p99, s.p99)
	}
	return &WaitMeasurement{
		Server: server,
		Rate:   stats.Summarize(rate),
		CPU:    stats.Summarize(cpu),
		P50:    stats.Summarize(p50),
		P99:    stats.Summarize(p99),
	}
}

// Of returns the measurement of a server, or nil.
func (r *WaitRow) Of(server string) *WaitMeasurement {
	for _, m := range r.Servers {
		if m.Server == server {
			return m
		}
	}
	return nil
}

// judge compares the event engine with the best of the other servers, which may differ between
// the two goals.
func (r *WaitRow) judge() {
	var fastest, steadiest *WaitMeasurement
	for _, m := range r.Servers {
		if m.Server == rig.Event {
			continue
		}
		if fastest == nil || m.Rate.Median > fastest.Rate.Median {
			fastest = m
		}
		if steadiest == nil || m.P99.Median < steadiest.P99.Median {
			steadiest = m
		}
	}
	if fastest == nil {
		return
	}
	rate, p99 := WaitGoal{Of: WaitRate, Best: fastest.Server}, WaitGoal{Of: WaitP99, Best: steadiest.Server}
	if m := r.Of(rig.Event); m != nil {
		rate.Ratio, p99.Ratio = rig.NewRatio(m.Rate, fastest.Rate), rig.NewRatio(m.P99, steadiest.P99)
		rate.Met = rate.Ratio.Value >= WaitRateLeast
		p99.Met = p99.Ratio.Value > 0 && p99.Ratio.Value <= WaitP99Most
	}
	r.Goals = []WaitGoal{rate, p99}
}

// missed reports whether a goal is not met.
func (r *WaitRow) missed() bool {
	return slices.ContainsFunc(r.Goals, func(g WaitGoal) bool { return !g.Met })
}

// String describes the row.
func (r *WaitRow) String() string {
	return fmt.Sprintf("%s, %d connections, GOMAXPROCS %d", r.Handler, r.Conns, r.Procs)
}

// ratio returns the ratio of a goal, as tables show it.
func (r *WaitRow) ratio(of string) string {
	for _, g := range r.Goals {
		if g.Of == of {
			return g.Ratio.String()
		}
	}
	return rig.None
}

// verdict reports whether the goals are met, or names the missed ones. A name is in
// parentheses if the goal may be missed by chance.
func (r *WaitRow) verdict() string {
	if len(r.Goals) == 0 {
		return rig.None
	}
	var missed []string
	for _, g := range r.Goals {
		switch {
		case g.Met:
		case g.Ratio.Overlaps:
			missed = append(missed, "("+g.Of+")")
		default:
			missed = append(missed, g.Of)
		}
	}
	if len(missed) == 0 {
		return rig.Met(true)
	}
	return rig.Met(false) + ": " + strings.Join(missed, ", ")
}

// Markdown returns the comparison as Markdown.
func (r *WaitReport) Markdown() string {
	var b strings.Builder
	r.WriteMarkdown(&b, "Handlers that wait",
		fmt.Sprintf("%v each, after %v that do not count", r.Time, warmTime),
		fmt.Sprintf("with GOMAXPROCS 1: server %s, load and backend %s; nothing is pinned else", r.ServerPlace, r.ClientPlace))
	r.WriteTables(&b, "##")
	if met, judged := r.Met(); judged > 0 {
		fmt.Fprintf(&b, "\n%d of %d rows are met.\n", met, judged)
	}
	rig.WriteFailures(&b, r.Failures)
	return b.String()
}

// Met returns the number of rows with both goals met, and the number of rows that could be
// judged.
func (r *WaitReport) Met() (met, judged int) {
	for _, row := range r.Rows {
		if len(row.Goals) == 0 {
			continue
		}
		judged++
		if !row.missed() {
			met++
		}
	}
	return met, judged
}

// waitColumns are the servers and their names in tables.
var waitColumns = []struct{ server, name string }{
	{rig.Event, "event"},
	{rig.Portable, "portable"},
	{rig.Upstream, "upstream"},
	{rig.NetHTTP, "net/http"},
}

// WriteTables explains the measurement and writes a table for each GOMAXPROCS, each under a
// heading; level is the Markdown prefix of the heading.
func (r *WaitReport) WriteTables(b *strings.Builder, level string) {
	var procs []int
	var names []string
	for _, row := range r.Rows {
		names = append(names, row.Handler)
		if !slices.Contains(procs, row.Procs) {
			procs = append(procs, row.Procs)
		}
	}
	if len(r.Rows) == 0 {
		return
	}
	fmt.Fprintf(b, "\nEach connection sends a request after each answer; no latency is corrected.\n%s.\n", explain(names))
	fmt.Fprintf(b, "Figures are medians. The event engine is compared with the best of the others, which need not be the same one for\n"+
		"requests/s and for p99. The ratio is to be at least %.2f of requests/s, and at most %.2f of p99. It is in parentheses\n"+
		"where the two ranges of samples overlap; so does what is not met, as that may be chance then.\n", WaitRateLeast, WaitP99Most)
	if slices.ContainsFunc(r.Rows, func(row *WaitRow) bool { return row.Again }) {
		fmt.Fprintf(b, "A row with a star was not met at first. It was measured anew in %d rounds, which count alone.\n", doubtRounds)
	}
	for _, n := range procs {
		fmt.Fprintf(b, "\n%s GOMAXPROCS %d\n", level, n)
		table := rig.Table{Header: []string{"handler, connections"}}
		for _, of := range []string{"requests/s", "p99 µs"} {
			for _, c := range waitColumns {
				table.Header = append(table.Header, of+" "+c.name)
			}
			table.Header = append(table.Header, "event ÷ best other")
		}
		table.Header = append(table.Header, "")
		for _, row := range r.Rows {
			if row.Procs == n {
				table.Rows = append(table.Rows, row.cells())
			}
		}
		table.Write(b)
	}
}

// cells returns the cells of a table row.
func (r *WaitRow) cells() []string {
	figures := func(of func(*WaitMeasurement) stats.Summary) []string {
		var all []string
		for _, c := range waitColumns {
			text := rig.None
			if m := r.Of(c.server); m != nil {
				text = fmt.Sprintf("%.0f", of(m).Median)
			}
			all = append(all, text)
		}
		return all
	}
	name := fmt.Sprintf("%s, %d", r.Handler, r.Conns)
	if r.Again {
		name += " \\*"
	}
	return slices.Concat(
		[]string{name},
		figures(func(m *WaitMeasurement) stats.Summary { return m.Rate }), []string{r.ratio(WaitRate)},
		figures(func(m *WaitMeasurement) stats.Summary { return m.P99 }), []string{r.ratio(WaitP99), r.verdict()},
	)
}
