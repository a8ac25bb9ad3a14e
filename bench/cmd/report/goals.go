package main

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/valyala/fasthttp/bench/internal/files"
	"github.com/valyala/fasthttp/bench/internal/idle"
	"github.com/valyala/fasthttp/bench/internal/report"
	"github.com/valyala/fasthttp/bench/internal/rig"
	"github.com/valyala/fasthttp/bench/internal/stats"
	"github.com/valyala/fasthttp/bench/internal/tcp"
)

// goal is a goal of the project. Its id is its heading in notes.md.
type goal struct {
	id, text string
	figure   string // the measured figure; "" if not measured
	met      bool
	// evidence is the explanation in the figures themselves for a missed goal.
	evidence string
}

// verdict returns the verdict for the page.
func (g goal) verdict() string {
	if g.figure == "" {
		return "not measured"
	}
	return rig.Met(g.met)
}

// goals judges all goals, in the order of the page.
func goals(r *results) []goal {
	return slices.Concat(rowGoals(r.Rows), socketGoals(r.TCP), slowGoals(r.Slow), waitGoals(r.Wait), fileGoals(r.Files), idleGoals(r), tlsGoals(r.TLS), http2Goals(r.HTTP2), callGoals(r.Calls), sizeGoals(r))
}

// The goals for rows of benchmarks: the speed relative to upstream. The messages of varied
// rows are not all the same.
const (
	variedServerEach = 2.0
	variedServerMean = 2.5
	serverEach       = 1.8
	serverMean       = 2.5 // over rows with many requests for each connection
	variedClientEach = 1.3
	clientEach       = 1.2
	clientMean       = 1.5
	// From manyRequests for each connection on, the cost of the connection itself hardly
	// matters.
	manyRequests = 10
)

func rowGoals(r *report.Report) []goal {
	if r == nil {
		r = new(report.Report)
	}
	procs := []int{1}
	for _, row := range r.Rows {
		if !slices.Contains(procs, row.Procs) {
			procs = append(procs, row.Procs)
		}
	}
	if len(procs) == 1 {
		procs = append(procs, 2) // to report that it was not measured
	}
	var varied, repeated []goal
	for i, n := range procs[:2] {
		id := []string{"one", "all"}[i]
		of := func(group string) []*report.Row {
			return rowsOf(r, func(row *report.Row) bool { return report.Group(row.Name) == group && row.Procs == n })
		}
		rows, same := of(report.VariedServers), of(report.Servers)
		many := slices.DeleteFunc(slices.Clone(same), func(row *report.Row) bool { return requestsPerConn(row.Name) < manyRequests })
		where := fmt.Sprintf("Server in memory, varied requests, GOMAXPROCS %d: ", n)
		varied = append(varied,
			eachGoal("server-varied-each-"+id, where+"each row", variedServerEach, rows),
			meanGoal("server-varied-mean-"+id, where+"geometric mean", variedServerMean, rows))
		where = fmt.Sprintf("Server in memory, repeated requests, GOMAXPROCS %d: ", n)
		repeated = append(repeated,
			eachGoal("server-each-"+id, where+"each row", serverEach, same),
			meanGoal("server-mean-"+id, where+fmt.Sprintf("geometric mean of the rows with %d and more requests per connection", manyRequests), serverMean, many),
			allocGoal("server-allocs-"+id, fmt.Sprintf("Server in memory, GOMAXPROCS %d: no allocations", n), slices.Concat(rows, same)))
	}
	variedClients := rowsOf(r, func(row *report.Row) bool { return report.Group(row.Name) == report.VariedClients })
	varied = append(varied, eachGoal("client-varied-each", "Clients, varied messages: each row", variedClientEach, variedClients))
	clients := rowsOf(r, func(row *report.Row) bool { return report.Group(row.Name) == report.Clients })
	others := rowsOf(r, func(row *report.Row) bool {
		return slices.Contains([]string{report.Values, report.Compression, report.Files}, report.Group(row.Name))
	})
	return append(slices.Concat(varied, repeated),
		eachGoal("client-each", "Clients, repeated messages: each row", clientEach, clients),
		meanGoal("client-mean", "Clients, repeated messages: geometric mean", clientMean, clients),
		slowerGoal("none-slower", "Values, compression and files: no row slower than upstream", others))
}

// rowsOf returns the rows for which both builds have a figure.
func rowsOf(r *report.Report, of func(*report.Row) bool) []*report.Row {
	var rows []*report.Row
	for _, row := range r.Rows {
		if row.Ratios[report.Upstream] > 0 && of(row) {
			rows = append(rows, row)
		}
	}
	return rows
}

var perConn = regexp.MustCompile(`(\d+)(K?)ReqPerConn`)

// requestsPerConn reads the number in the name of a row. Without a number it returns many.
func requestsPerConn(name string) int {
	match := perConn.FindStringSubmatch(name)
	if match == nil {
		return manyRequests
	}
	n, _ := strconv.Atoi(match[1])
	if match[2] != "" {
		n *= 1000
	}
	return n
}

func ratio(row *report.Row) float64 { return row.Ratios[report.Upstream] }

func eachGoal(id, text string, least float64, rows []*report.Row) goal {
	g := goal{id: id, text: fmt.Sprintf("%s at least %.1f× as fast as upstream", text, least)}
	if len(rows) == 0 {
		return g
	}
	worst := slices.MinFunc(rows, func(a, b *report.Row) int { return cmp.Compare(ratio(a), ratio(b)) })
	below := 0
	for _, row := range rows {
		if ratio(row) < least {
			below++
		}
	}
	g.met = below == 0
	g.figure = fmt.Sprintf("%d of %d rows; the least is %.2f× (%s)", len(rows)-below, len(rows), ratio(worst), worst.Name)
	return g
}

func meanGoal(id, text string, least float64, rows []*report.Row) goal {
	g := goal{id: id, text: fmt.Sprintf("%s at least %.1f× as fast as upstream", text, least)}
	if len(rows) == 0 {
		return g
	}
	var ratios []float64
	for _, row := range rows {
		ratios = append(ratios, ratio(row))
	}
	mean := stats.GeoMean(ratios)
	g.met = mean >= least
	g.figure = fmt.Sprintf("%.2f×", mean)
	return g
}

// allocGoal counts whole allocations after rounding, as go test does.
func allocGoal(id, text string, rows []*report.Row) goal {
	g := goal{id: id, text: text}
	if len(rows) == 0 {
		return g
	}
	var with []string
	for _, row := range rows {
		if n := row.Builds[report.Ours].AllocsPerOp.Median; n > 0 {
			with = append(with, fmt.Sprintf("%s (%.0f)", row.Name, n))
		}
	}
	g.met = len(with) == 0
	g.figure = "0 allocs/op in all rows"
	if !g.met {
		g.figure = "not in " + strings.Join(with, ", ")
	}
	return g
}

// slowerGoal counts a row as slower only if that cannot be chance: half of all equal rows
// would be slower by a tiny amount.
func slowerGoal(id, text string, rows []*report.Row) goal {
	g := goal{id: id, text: text}
	if len(rows) == 0 {
		return g
	}
	slices.SortStableFunc(rows, func(a, b *report.Row) int { return cmp.Compare(ratio(a), ratio(b)) })
	var slower []string
	for _, row := range rows {
		if ratio(row) < 1 && row.Certain(report.Upstream) {
			slower = append(slower, fmt.Sprintf("%s %.2f×", row.Name, ratio(row)))
		}
	}
	g.met = len(slower) == 0
	g.figure = fmt.Sprintf("none of %d", len(rows))
	if n := len(slower); n > 0 {
		more := ""
		if n > mostNamed {
			slower, more = slower[:mostNamed], fmt.Sprintf(" and %d more", n-mostNamed)
		}
		g.figure = fmt.Sprintf("%d of %d are slower: %s%s", n, len(rows), strings.Join(slower, ", "), more)
	}
	return g
}

// mostNamed is how many of the rows that miss a goal are named.
const mostNamed = 6

// socketLoads has the names of the goals for loads over sockets.
var socketLoads = []struct {
	id    string
	kind  string
	conns int
	text  string
	most  float64
}{
	{"cpu-1", tcp.Steady, 1, "1 connection", 1.45},
	{"cpu-64", tcp.Steady, 64, "64 connections", 1.12},
	{"cpu-512", tcp.Steady, 512, "512 connections", 1.1},
	{"cpu-4096", tcp.Steady, 4096, "4096 connections", 1.12},
	{"cpu-pipelined", tcp.Pipelined, 64, "64 connections, 16 requests pipelined", 1.35},
	{"cpu-churn", tcp.Churn, 64, "64 connections, closed after 10 requests", 1.15},
}

// kernelDecides is a share of upstream's processor time. If the loop in C takes more, most of
// the time is the kernel's.
const kernelDecides = 0.7

func socketGoals(r *tcp.Report) []goal {
	var all []goal
	p99 := goal{id: "p99", text: "Sockets: p99 no worse than upstream's under any load", met: true}
	for _, load := range socketLoads {
		g := goal{id: load.id, text: fmt.Sprintf("Sockets, %s: processor time for a request at most %.2f of a C loop's that does not parse", load.text, load.most)}
		if row := loadOf(r, load.kind, load.conns); row != nil {
			judgeLoad(&g, row, load.most)
			if m := row.Of(rig.Event); m != nil && m.P99Ratio.Value > 0 {
				ok := m.P99Ratio.Value <= 1 || m.P99Ratio.Overlaps
				p99.met = p99.met && ok
				p99.figure += fmt.Sprintf(", %.2f with %s", m.P99Ratio.Value, load.text)
			}
		}
		all = append(all, g)
	}
	p99.figure = strings.TrimPrefix(p99.figure, ", ")
	return append(all, p99)
}

// judgeLoad judges the event engine by its processor time relative to the loop in C.
func judgeLoad(g *goal, row *tcp.Row, most float64) {
	m := row.Of(rig.Event)
	if m == nil || m.FloorRatio.Value <= 0 {
		return
	}
	g.met = m.FloorRatio.Value <= most
	g.figure = fmt.Sprintf("%.2f", m.FloorRatio.Value)
	floor, upstream := row.Of(rig.Floor), row.Of(rig.Upstream)
	if floor == nil || upstream == nil {
		return
	}
	g.figure += fmt.Sprintf(" (upstream: %.2f)", stats.Ratio(upstream.CPU.Median, floor.CPU.Median))
	if share := stats.Ratio(floor.CPU.Median, upstream.CPU.Median); share > kernelDecides {
		g.evidence = fmt.Sprintf("The kernel decides: the C loop, which does nothing but the system calls, takes %.2f of what upstream takes.", share)
	}
}

func loadOf(r *tcp.Report, kind string, conns int) *tcp.Row {
	if r == nil {
		return nil
	}
	for _, row := range r.Rows {
		if row.Kind == kind && row.Conns == conns {
			return row
		}
	}
	return nil
}

// slowMost is by what factor the p99 of requests may grow beside slow ones.
const slowMost = 2

func slowGoals(r *tcp.SlowReport) []goal {
	all := []goal{
		{id: "slow-sleep", text: fmt.Sprintf("p99 of others at most %d× where 1 request in 100 sleeps for 1 s", slowMost)},
		{id: "slow-spin", text: fmt.Sprintf("p99 of others at most %d× where 1 request in 1000 computes for 50 ms", slowMost)},
	}
	toNetHTTP := goal{
		id:   "slow-spin-nethttp",
		text: fmt.Sprintf("p99 of others at most %.1f of net/http's where 1 request in 1000 computes for 50 ms", tcp.SlowNetHTTPMost),
	}
	if r == nil {
		return append(all, toNetHTTP)
	}
	if row := r.Of(rig.Event, tcp.Computing); row != nil && row.ToNetHTTP.Value > 0 {
		toNetHTTP.figure = fmt.Sprintf("%.2f", row.ToNetHTTP.Value)
		toNetHTTP.met = row.ToNetHTTP.Value <= tcp.SlowNetHTTPMost
		if other := r.Of(rig.NetHTTP, tcp.Computing); other != nil {
			toNetHTTP.figure += fmt.Sprintf(" (%.0f µs of %.0f µs)", row.P99.Median, other.P99.Median)
		}
	}
	i := 0
	for _, row := range r.Rows {
		if row.Server != rig.Event || row.P99Ratio.Value == 0 || i == len(all) {
			continue
		}
		all[i].figure = fmt.Sprintf("%.2f×", row.P99Ratio.Value)
		all[i].met = row.P99Ratio.Value <= slowMost
		for _, other := range r.Rows {
			if other.Server == rig.Upstream && other.Beside == row.Beside && other.P99Ratio.Value > 0 {
				all[i].figure += fmt.Sprintf(" (upstream: %.2f×)", other.P99Ratio.Value)
			}
		}
		i++
	}
	return append(all, toNetHTTP)
}

// waitGoals combines the goals of all handlers that wait.
func waitGoals(r *tcp.WaitReport) []goal {
	all := []goal{
		{id: "wait-rate", text: fmt.Sprintf("Handlers that wait: requests/s at least %.2f of the best other server's, in each row", tcp.WaitRateLeast)},
		{id: "wait-p99", text: fmt.Sprintf("Handlers that wait: p99 at most %.1f of the best other server's, in each row", tcp.WaitP99Most)},
	}
	if r == nil {
		return all
	}
	for i, of := range []string{tcp.WaitRate, tcp.WaitP99} {
		judged := 0
		var missed []string
		for _, row := range r.Rows {
			for _, g := range row.Goals {
				if g.Of != of {
					continue
				}
				judged++
				if !g.Met {
					missed = append(missed, fmt.Sprintf("%s: %s", row, g.Ratio))
				}
			}
		}
		if judged == 0 {
			continue
		}
		all[i].met = len(missed) == 0
		all[i].figure = fmt.Sprintf("%d of %d rows", judged-len(missed), judged)
		if n := len(missed); n > 0 {
			more := ""
			if n > mostNamed {
				missed, more = missed[:mostNamed], fmt.Sprintf("; and %d more", n-mostNamed)
			}
			all[i].figure += "; not " + strings.Join(missed, "; ") + more
		}
	}
	return all
}

// fileGoals combines the goals for loads: one for each other server.
func fileGoals(r *files.Report) []goal {
	all := []goal{
		{id: "files-upstream", text: "Files over sockets: processor time for a request no more than upstream's"},
		{id: "files-nginx", text: "Files over sockets: processor time for a request at most 1.3 of nginx's, 1.1 for large files"},
	}
	if r == nil {
		return all
	}
	for i, to := range []string{rig.Upstream, rig.Nginx} {
		goals := slices.Clone(r.Goals)
		goals = slices.DeleteFunc(goals, func(g files.Goal) bool { return g.To != to })
		var missed []string
		for _, g := range goals {
			if !g.Met {
				missed = append(missed, fmt.Sprintf("%s %.2f", g.Row, g.Ratio.Value))
			}
		}
		if len(goals) == 0 {
			continue
		}
		all[i].met = len(missed) == 0
		worst := slices.MaxFunc(goals, func(a, b files.Goal) int { return cmp.Compare(a.Ratio.Value/a.Most, b.Ratio.Value/b.Most) })
		all[i].figure = fmt.Sprintf("%.2f at most (%s)", worst.Ratio.Value, worst.Row)
		if len(missed) > 0 {
			all[i].figure = "not with " + strings.Join(missed, ", ")
		}
	}
	return all
}

// The goals for idle connections, in bytes of resident memory for each.
const (
	idleMost  = 300
	crowdMost = 400
	// spareGoroutines is how many goroutines a connection may have on average, since the
	// server's own goroutines are divided by all connections.
	spareGoroutines = 0.01
)

func idleGoals(r *results) []goal {
	one := goal{id: "idle", text: fmt.Sprintf("Idle connection: at most %d bytes with as many as a process may have, or 19,000", idleMost)}
	many := goal{id: "idle-crowd", text: fmt.Sprintf("Idle connection: at most %d bytes in each of %d processes", crowdMost, crowdProcs)}
	goroutines := goal{id: "idle-goroutines", text: "Idle connection: no goroutine"}
	if m := idleOf(r.Idle, rig.Event); m != nil {
		one.figure = fmt.Sprintf("%.0f bytes, %d connections", m.Resident.Median, r.Idle.Conns)
		one.met = m.Resident.Median <= idleMost
		goroutines.figure = fmt.Sprintf("%.2f", m.Goroutines.Median)
		goroutines.met = m.Goroutines.Median <= spareGoroutines
	}
	if m := idleOf(r.IdleMany, rig.Event); m != nil {
		many.figure = fmt.Sprintf("%.0f bytes, %d connections", m.Resident.Median, r.IdleMany.Conns)
		many.met = m.Resident.Median <= crowdMost
	}
	return []goal{one, many, goroutines}
}

func idleOf(r *idle.Report, server string) *idle.Measurement {
	if r == nil {
		return nil
	}
	for _, m := range r.Servers {
		if m.Server == server {
			return m
		}
	}
	return nil
}

// sizeMost is the largest size of the program as a multiple of its size with upstream.
const sizeMost = 1.1

func sizeGoals(r *results) []goal {
	g := goal{id: "size", text: fmt.Sprintf("Size of examples/helloworld at most %.2f of that with upstream", sizeMost)}
	if r.Size != nil {
		g.figure = fmt.Sprintf("%.3f", r.Size.Ratio())
		g.met = r.Size.Ratio() <= sizeMost
	}
	return []goal{g}
}
