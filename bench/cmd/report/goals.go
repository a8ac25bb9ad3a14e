package main

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/valyala/fasthttp/bench/internal/calls"
	"github.com/valyala/fasthttp/bench/internal/files"
	"github.com/valyala/fasthttp/bench/internal/h2load"
	"github.com/valyala/fasthttp/bench/internal/idle"
	"github.com/valyala/fasthttp/bench/internal/report"
	"github.com/valyala/fasthttp/bench/internal/stats"
	"github.com/valyala/fasthttp/bench/internal/study"
	"github.com/valyala/fasthttp/bench/internal/tcp"
)

// goal is a goal of the project, with its id as its heading in notes.md.
type goal = study.Goal

// goals judges all goals, in the order of the page.
func goals(r *results) []goal {
	of := r.Sockets
	return slices.Concat(
		rowGoals(r.Rows), tcp.Goals(of[repeated]), tcp.SlowGoals(of[slow]), tcp.WaitGoals(of[wait]), files.Goals(of[file]),
		idle.Goals(of[idleOne]), idle.ManyGoals(of[idleMany]),
		tcp.TLSGoals(of[tlsLoads]), tcp.HandshakeGoals(of[handshakes]), files.TLSGoals(of[tlsFiles]), idle.TLSGoals(of[tlsIdle]), tcp.FloodGoals(of[flood]),
		h2load.Goals(of[http2]), idle.HTTP2Goals(of[http2Idle]), calls.Goals(of[call]), sizeGoals(r))
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

// rowsGoal judges rows, if there are any.
func rowsGoal(id, text string, rows []*report.Row, judge func() (met bool, figure string)) goal {
	g := goal{ID: id, Text: text}
	if len(rows) > 0 {
		g.Met, g.Figure = judge()
	}
	return g
}

func eachGoal(id, text string, least float64, rows []*report.Row) goal {
	return rowsGoal(id, fmt.Sprintf("%s at least %.1f× as fast as upstream", text, least), rows, func() (bool, string) {
		worst := slices.MinFunc(rows, func(a, b *report.Row) int { return cmp.Compare(ratio(a), ratio(b)) })
		below := 0
		for _, row := range rows {
			if ratio(row) < least {
				below++
			}
		}
		return below == 0, fmt.Sprintf("%d of %d rows; the least is %.2f× (%s)", len(rows)-below, len(rows), ratio(worst), worst.Name)
	})
}

func meanGoal(id, text string, least float64, rows []*report.Row) goal {
	return rowsGoal(id, fmt.Sprintf("%s at least %.1f× as fast as upstream", text, least), rows, func() (bool, string) {
		var ratios []float64
		for _, row := range rows {
			ratios = append(ratios, ratio(row))
		}
		mean := stats.GeoMean(ratios)
		return mean >= least, fmt.Sprintf("%.2f×", mean)
	})
}

// allocGoal counts whole allocations after rounding, as go test does.
func allocGoal(id, text string, rows []*report.Row) goal {
	return rowsGoal(id, text, rows, func() (bool, string) {
		var with []string
		for _, row := range rows {
			if n := row.Builds[report.Ours].AllocsPerOp.Median; n > 0 {
				with = append(with, fmt.Sprintf("%s (%.0f)", row.Name, n))
			}
		}
		if len(with) > 0 {
			return false, "not in " + strings.Join(with, ", ")
		}
		return true, "0 allocs/op in all rows"
	})
}

// slowerGoal counts a row as slower only if that cannot be chance: half of all equal rows
// would be slower by a tiny amount.
func slowerGoal(id, text string, rows []*report.Row) goal {
	return rowsGoal(id, text, rows, func() (bool, string) {
		slices.SortStableFunc(rows, func(a, b *report.Row) int { return cmp.Compare(ratio(a), ratio(b)) })
		var slower []string
		for _, row := range rows {
			if ratio(row) < 1 && row.Certain(report.Upstream) {
				slower = append(slower, fmt.Sprintf("%s %.2f×", row.Name, ratio(row)))
			}
		}
		n := len(slower)
		if n == 0 {
			return true, fmt.Sprintf("none of %d", len(rows))
		}
		more := ""
		if n > mostNamed {
			slower, more = slower[:mostNamed], fmt.Sprintf(" and %d more", n-mostNamed)
		}
		return false, fmt.Sprintf("%d of %d are slower: %s%s", n, len(rows), strings.Join(slower, ", "), more)
	})
}

// mostNamed is how many of the rows that miss a goal are named.
const mostNamed = 6

// sizeMost is the largest size of the program as a multiple of its size with upstream.
const sizeMost = 1.1

func sizeGoals(r *results) []goal {
	g := goal{ID: "size", Text: fmt.Sprintf("Size of a small program at most %.2f of that with upstream", sizeMost)}
	if r.Size != nil {
		g.Figure = fmt.Sprintf("%.3f", r.Size.Ratio())
		g.Met = r.Size.Ratio() <= sizeMost
	}
	return []goal{g}
}
