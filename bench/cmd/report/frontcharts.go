package main

import (
	"fmt"
	"regexp"
	"strconv"

	"github.com/valyala/fasthttp/bench/internal/plot"
	"github.com/valyala/fasthttp/bench/internal/rig"
	"github.com/valyala/fasthttp/bench/internal/tcp"
)

// The files of the charts of the first page, and the chart of phases.
const (
	requestChart = "request.svg"
	http2Chart   = "http2.svg"
	waitChart    = "wait.svg"
	phasesChart  = "phases.svg"
)

// frontCharts draws the charts with bars from 0 on.
func frontCharts(r *results) []chart {
	var all []chart
	add := func(file, alt string, a plot.Amounts) {
		if len(a.Bars) > 0 {
			all = append(all, chart{file, alt, a.SVG()})
		}
	}
	add(requestChart, "Processor time of a request, 512 connections", requestBars(r))
	add(http2Chart, "Processor time of a request of HTTP/2", http2Bars(r))
	add(waitChart, "Requests a second with handlers that wait", waitBars(r))
	if r.Rows != nil {
		add(phasesChart, "Instructions of a request by parts of the work", phaseBars())
	}
	return all
}

// bar is a bar for a server that charts know, or for another one. These charts are seen by
// readers that do not know the engines yet.
func bar(server string, value float64, text string) plot.Amount {
	s, known := series[server]
	if !known {
		s = plot.Series{Name: server, Colour: plot.Floor}
	}
	if server == rig.Event || server == rig.Portable {
		s.Name = "this, " + s.Name
	}
	return plot.Amount{Label: s.Name, Colour: s.Colour, Value: value, Text: text}
}

func requestBars(r *results) plot.Amounts {
	a := plot.Amounts{
		Title: "Processor time of the server for a request, in µs",
		Note:  "Requests that differ, over 512 connections. Shorter is better.",
		Foot:  on(r, "Loopback, one thread of the server."),
	}
	row := loadOf(r.Varied, tcp.Steady, 512)
	if row == nil {
		return a
	}
	for _, server := range serverOrder {
		if m := row.Of(server); m != nil {
			a.Bars = append(a.Bars, bar(server, m.CPU.Median, decimal(m.CPU.Median)))
		}
	}
	return a
}

func http2Bars(r *results) plot.Amounts {
	a := plot.Amounts{
		Title: "HTTP/2: processor time of the server for a request, in µs",
		Foot:  on(r, "Loopback, one thread of the server. v1.77.0 has no HTTP/2."),
	}
	row := (&page{results: r}).http2Row()
	if row == nil {
		return a
	}
	a.Note = row.Name + ", by prior knowledge. Shorter is better."
	for _, m := range row.Servers {
		a.Bars = append(a.Bars, bar(m.Server, m.CPU.Median, decimal(m.CPU.Median)))
	}
	return a
}

func waitBars(r *results) plot.Amounts {
	a := plot.Amounts{
		Title: fmt.Sprintf("Requests a second with a handler that waits for %v", frontWait),
		Note:  fmt.Sprintf("%s, one processor for the server. Longer is better.", rig.Plural(frontConns, "connection")),
		Foot:  on(r, "Loopback; each connection sends a request after each answer."),
	}
	row := (&page{results: r}).waitRow()
	if row == nil {
		return a
	}
	for _, m := range row.Servers {
		a.Bars = append(a.Bars, bar(m.Server, m.Rate.Median, whole(m.Rate.Median)))
	}
	return a
}

// phase matches a row of the table of phases: the part, and its instructions after the change.
// The sum is bold, and no part.
var phase = regexp.MustCompile(`(?m)^\| ([a-z][^|]*) \| -?\d+ \| (-?\d+) \|$`)

func phaseBars() plot.Amounts {
	a := plot.Amounts{
		Title: "Instructions of a request by parts of the work",
		Note:  "A varied GET of 610 bytes over a connection in memory, without the system.",
		Foot:  "Counted by valgrind. The engine reads, writes and waits; reset makes memory ready for the next request.",
	}
	for _, m := range phase.FindAllStringSubmatch(phases, -1) {
		n, err := strconv.Atoi(m[2])
		if err != nil || n <= 0 || m[1] == "harness" {
			continue
		}
		a.Bars = append(a.Bars, plot.Amount{Label: m[1], Colour: plot.Ours, Value: float64(n), Text: thousands(n)})
	}
	return a
}
