package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/valyala/fasthttp/bench/internal/markdown"
	"github.com/valyala/fasthttp/bench/internal/plot"
	"github.com/valyala/fasthttp/bench/internal/rig"
	"github.com/valyala/fasthttp/bench/internal/stats"
	"github.com/valyala/fasthttp/bench/internal/study"
	"github.com/valyala/fasthttp/bench/internal/tcp"
)

// shown is the load of the chart, and of the order of servers in tables.
const shown = 512

// page returns docs/peers.md.
func page(r *study.Report) string {
	var b strings.Builder
	b.WriteString("# Beside servers of other languages\n\n" +
		"This page is written by `go run ./cmd/peers` in the folder `bench`. All servers answer varied requests, like those of\n" +
		"browsers, programs and probes, with 13 bytes. They have one thread, or one processor, and the settings that their\n" +
		"documentation gives for speed; [bench/servers](../bench/servers) has their source.\n\n")
	fmt.Fprintf(&b, "- machine: %s\n- date: %s\n", r.Machine, r.Date)
	for _, name := range names(r) {
		if version := r.Versions[name]; version != "" && name != rig.Portable {
			fmt.Fprintf(&b, "- %s: %s\n", strings.TrimSuffix(name, ", event engine"), version)
		}
	}
	fmt.Fprintf(&b, "- %s of %s each, in turn; servers %s; wrk %s\n", markdown.Plural(r.Rounds, "round"), markdown.Plural(r.Seconds, "second"), r.ServerPlace, r.ClientPlace)
	for _, what := range r.Missing {
		fmt.Fprintf(&b, "- left out: %s\n", what)
	}
	b.WriteString("\nThe answer of each server is compared with the expected one before it is measured. Not measured: gnet, which leaves the\n" +
		"parsing of HTTP to programs. For HTTP/2 beside h2o and nghttpd see\n" +
		"[HTTP/2](performance-rows.md#h2load-by-prior-knowledge).\n\n" +
		"![Processor time of a request beside other servers](img/peers.svg)\n\n" +
		"## Processor time of a request\n\n" +
		"In µs, user and system; medians, ± the median absolute deviation. In parentheses: this fasthttp with its event engine over\n" +
		"the server of the line; below 1 this fasthttp takes less. These are medians of the ratios of single rounds, which other\n" +
		"programs on the machine disturb less than the times. A star marks ratios that may be chance: one of the rounds has the\n" +
		"opposite order. [performance.md](performance.md) has other times, from another run: compare times of one run only.\n")
	cells := func(row *study.Row, server string) string {
		cpu := row.Get(server, study.CPUs)
		text := fmt.Sprintf("%.2f ±%.0f%%", cpu.Median, 100*cpu.Spread())
		if server == rig.Event || row.Of(rig.Event) == nil {
			return text
		}
		all := row.Rounds(study.CPUs, rig.Event, server)
		star := ""
		if slices.Min(all) < 1 && slices.Max(all) > 1 {
			star = `\*`
		}
		return text + fmt.Sprintf(" (%.2f%s)", stats.Median(all), star)
	}
	writeTable(&b, r, varied, cells)
	b.WriteString("\nWith TLS 1.3 and TLS_AES_128_GCM_SHA256, and with handlers that wait, by a timer of the library or, in Go, by\n" +
		"`time.Sleep`. These requests do not differ.\n")
	writeTable(&b, r, others, cells)
	b.WriteString("\n## Requests per second\n\nwith one processor for the server. With 64 connections and more wrk is often the limit.\n")
	rate := func(row *study.Row, server string) string {
		return fmt.Sprintf("%.0f", row.Get(server, study.Rate).Median)
	}
	writeTable(&b, r, varied, rate)
	writeTable(&b, r, others, rate)
	b.WriteString("\n## 99th percentile of latency, in µs\n")
	p99 := func(row *study.Row, server string) string {
		return fmt.Sprintf("%.0f", row.Get(server, study.P99).Median)
	}
	writeTable(&b, r, varied, p99)
	writeTable(&b, r, others, p99)
	markdown.WriteFailures(&b, r.Failures)
	return b.String()
}

// relative returns the processor time of a server over the event engine's.
func relative(row *study.Row, server string) float64 {
	if row.Of(rig.Event) == nil {
		return row.Get(server, study.CPUs).Median
	}
	return stats.Ratio(1, stats.Median(row.Rounds(study.CPUs, rig.Event, server)))
}

// varied reports whether the requests of a load differ.
func varied(row *study.Row) bool { return tcp.Varies(row) }

func others(row *study.Row) bool { return !tcp.Varies(row) }

// writeTable writes a line for each server that has one of the chosen loads, and a column for
// each of them.
func writeTable(b *strings.Builder, r *study.Report, chosen func(*study.Row) bool, cell func(row *study.Row, server string) string) {
	var rows []*study.Row
	table := markdown.Table{Header: []string{"server"}}
	for _, row := range r.Rows {
		if chosen(row) {
			rows = append(rows, row)
			table.Header = append(table.Header, tcp.Short(row))
		}
	}
	if len(rows) == 0 {
		return
	}
	for _, name := range names(r) {
		if !slices.ContainsFunc(rows, func(row *study.Row) bool { return row.Of(name) != nil }) {
			continue
		}
		line := []string{name}
		for _, row := range rows {
			text := markdown.None
			if row.Of(name) != nil {
				text = cell(row, name)
			}
			line = append(line, text)
		}
		table.Rows = append(table.Rows, line)
	}
	table.Write(b)
}

// names returns the servers, the one with the least processor time first.
func names(r *study.Report) []string {
	row := shownRow(r)
	if row == nil {
		return nil
	}
	var all []string
	for _, m := range row.Servers {
		all = append(all, m.Server)
	}
	slices.SortStableFunc(all, func(a, b string) int { return cmp.Compare(relative(row, a), relative(row, b)) })
	return all
}

// shownRow returns the row of the chart, which has all servers, or nil.
func shownRow(r *study.Report) *study.Row {
	return r.Find(func(row *study.Row) bool { return row.Kind == tcp.Steady && row.Conns == shown && varied(row) })
}

var colours = map[string]plot.Colour{
	rig.Event: plot.Ours, rig.Portable: plot.Second, rig.Upstream: plot.Upstream, rig.NetHTTP: plot.Upstream, rig.Floor: plot.Floor,
}

var labels = map[string]string{
	rig.Event: "this, event engine", rig.Portable: "this, portable engine", rig.Upstream: "fasthttp v1.77.0", rig.Floor: "C loop, no parsing",
}

// chart draws the processor times of the shown load, relative to the event engine's.
func chart(r *study.Report) string {
	a := plot.Amounts{
		Title: "Processor time of a request, relative to this server",
		Note:  fmt.Sprintf("Requests that differ, over %d connections. Shorter is better.", shown),
		Foot:  fmt.Sprintf("%s, %s. Loopback, one thread of the server.", r.Machine.CPU, markdown.Plural(r.Machine.Cores, "core")),
	}
	for _, name := range names(r) {
		row := shownRow(r)
		v := relative(row, name)
		a.Bars = append(a.Bars, plot.Amount{
			Label: cmp.Or(labels[name], name), Colour: cmp.Or(colours[name], plot.Other),
			Value: v, Text: fmt.Sprintf("%.2f", v),
		})
	}
	return a.SVG()
}
