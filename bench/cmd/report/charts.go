package main

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/valyala/fasthttp/bench/internal/idle"
	"github.com/valyala/fasthttp/bench/internal/markdown"
	"github.com/valyala/fasthttp/bench/internal/plot"
	"github.com/valyala/fasthttp/bench/internal/report"
	"github.com/valyala/fasthttp/bench/internal/rig"
	"github.com/valyala/fasthttp/bench/internal/study"
	"github.com/valyala/fasthttp/bench/internal/tcp"
)

// chart is a file in the folder img.
type chart struct {
	file, alt string
	svg       string
}

// The files of the charts.
const (
	variedServersChart = "servers-varied.svg"
	serversChart       = "servers.svg"
	variedClientsChart = "clients-varied.svg"
	clientsChart       = "clients.svg"
	valuesChart        = "values.svg"
	cpuVariedChart     = "cpu-varied.svg"
	cpuChart           = "cpu.svg"
	idleChart          = "idle.svg"
	requestChart       = "request.svg"
	http2Chart         = "http2.svg"
	waitChart          = "wait.svg"
	phasesChart        = "phases.svg"
)

// charts draws all charts for which there are figures.
func charts(r *results) []chart {
	var all []chart
	memory := on(r, "Benchmarks without system calls: what a server does over sockets is another chart.")
	if r.Rows != nil {
		all = append(all,
			ratioChart(r.Rows, variedServersChart, "Server, requests that differ: times as fast as upstream v1.77.0", "Over connections in memory; no two requests in a row are alike. Longer is better.", memory, report.VariedServers),
			ratioChart(r.Rows, serversChart, "Server, repeated requests: times as fast as upstream v1.77.0", "Over connections in memory; all requests are the same. Longer is better.", memory, report.Servers),
			ratioChart(r.Rows, variedClientsChart, "Client, messages that differ: times as fast as upstream v1.77.0", "Calls over connections in memory; no two responses in a row are alike. Longer is better.", memory, report.VariedClients),
			ratioChart(r.Rows, clientsChart, "Client, repeated messages: times as fast as upstream v1.77.0", "Calls over connections in memory and over TCP. Longer is better.", on(r, "Benchmarks of a client and its server in one process."), report.Clients),
			ratioChart(r.Rows, valuesChart, "Values, compression, files: times as fast as upstream v1.77.0", "From the most gained to the least.", on(r, "Benchmarks of single calls, in a loop that keeps caches warm."), report.Values, report.Compression, report.Files))
	}
	for _, c := range []struct{ file, of, loads string }{{cpuVariedChart, "requests that differ", varied}, {cpuChart, "repeated requests", repeated}} {
		if loads := r.Sockets[c.loads]; loads != nil {
			all = append(all, chart{c.file, "Processor time for a request against connections, " + c.of, cpuLines(r, loads, c.of).SVG()})
		}
	}
	if row := idle.Of(r.Sockets[idleOne]); row != nil {
		all = append(all, rowBars(row, idle.Resident, whole, idleChart, "Memory of an idle connection", plot.Amounts{
			Title: "Resident memory of an idle connection, in bytes",
			Note:  fmt.Sprintf("%s connections in one process, each after one request. Shorter is better.", thousands(row.Conns)),
			Foot:  on(r, "Without the kernel's memory for sockets, which all pay alike."),
		}))
	}
	loopback := on(r, "Loopback, one thread of the server.")
	all = append(all, rowBars(tcp.LoadOf(r.Sockets[varied], tcp.Steady, 512), study.CPUs, decimal, requestChart, "Processor time of a request, 512 connections", plot.Amounts{
		Title: "Processor time of the server for a request, in µs",
		Note:  "Requests that differ, over 512 connections. Shorter is better.", Foot: loopback,
	}))
	if row := http2Row(r.Sockets[http2]); row != nil {
		all = append(all, rowBars(row, study.CPUs, decimal, http2Chart, "Processor time of a request of HTTP/2", plot.Amounts{
			Title: "HTTP/2: processor time of the server for a request, in µs",
			Note:  row.Name + ", by prior knowledge. Shorter is better.", Foot: loopback + " v1.77.0 has no HTTP/2.",
		}))
	}
	all = append(all, rowBars(waitRow(r.Sockets[wait]), study.Rate, whole, waitChart, "Requests a second with handlers that wait", plot.Amounts{
		Title: fmt.Sprintf("Requests a second with a handler that waits for %v", frontWait),
		Note:  fmt.Sprintf("%s, one processor for the server. Longer is better.", markdown.Plural(frontConns, "connection")),
		Foot:  on(r, "Loopback; each connection sends a request after each answer."),
	}))
	if r.Rows != nil {
		all = append(all, chart{phasesChart, "Instructions of a request by parts of the work", phaseBars().SVG()})
	}
	return slices.DeleteFunc(all, func(c chart) bool { return c.svg == "" })
}

// rowBars draws a figure of all servers with bars from 0 on, in the order of legends. These charts
// are seen by readers that do not know the engines yet.
func rowBars(row *study.Row, figure string, show func(float64) string, file, alt string, a plot.Amounts) chart {
	if row == nil {
		return chart{}
	}
	servers := slices.Clone(serverOrder)
	for _, m := range row.Servers {
		if !slices.Contains(servers, m.Server) {
			servers = append(servers, m.Server)
		}
	}
	for _, server := range servers {
		if row.Of(server) == nil {
			continue
		}
		s, known := series[server]
		if !known {
			s = plot.Series{Name: server, Colour: plot.Floor}
		}
		if server == rig.Event || server == rig.Portable {
			s.Name = "this, " + s.Name
		}
		v := row.Get(server, figure).Median
		a.Bars = append(a.Bars, plot.Amount{Label: s.Name, Colour: s.Colour, Value: v, Text: show(v)})
	}
	return chart{file, alt, a.SVG()}
}

// phase matches a row of the table of phases: the part, and its instructions after the change.
// The sum is bold, and no part.
var phase = regexp.MustCompile(`(?m)^\| ([a-z][^|]*) \| -?\d+ \| (-?\d+) \|$`)

func phaseBars() *plot.Amounts {
	a := &plot.Amounts{
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

// ratioChart draws the rows of some groups. If all of them were run on one processor only,
// there is one bar for each, and the bars are sorted.
func ratioChart(r *report.Report, file, title, note, foot string, groups ...string) chart {
	var procs []int
	var names []string
	values := map[string]map[int]float64{}
	for _, row := range r.Rows {
		v := row.Ratios[report.Upstream]
		if v <= 0 || !slices.Contains(groups, report.Group(row.Name)) {
			continue
		}
		if values[row.Name] == nil {
			values[row.Name] = map[int]float64{}
			names = append(names, row.Name)
		}
		values[row.Name][row.Procs] = v
		if !slices.Contains(procs, row.Procs) {
			procs = append(procs, row.Procs)
		}
	}
	slices.Sort(procs)
	procs = procs[:min(len(procs), 2)]
	if len(procs) == 1 && len(groups) > 1 {
		slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(values[b][procs[0]], values[a][procs[0]]) })
	}
	if len(names) == 0 {
		return chart{}
	}
	c := plot.Ratios{Title: title, Note: note, Foot: foot}
	for i, n := range procs {
		c.Series = append(c.Series, plot.Series{Name: fmt.Sprintf("GOMAXPROCS %d", n), Colour: []plot.Colour{plot.Ours, plot.Second}[i]})
	}
	for _, name := range names {
		row := plot.Row{Label: shortName(name)}
		for _, n := range procs {
			row.Values = append(row.Values, values[name][n])
		}
		c.Rows = append(c.Rows, row)
	}
	return chart{file, title, c.SVG()}
}

var serverName = regexp.MustCompile(`^Server(Get|Post)(Varied|Proxied|Browser)?(?:(\d+K?)ReqPerConn|OnePerRead)(10KClients)?$`)

// shortName describes in words a row of a server.
func shortName(name string) string {
	match := serverName.FindStringSubmatch(name)
	if match == nil {
		return name
	}
	short := strings.ToUpper(match[1])
	if match[2] != "" {
		short += " " + strings.ToLower(match[2])
	}
	if match[3] != "" {
		short += ", " + match[3] + " per connection"
	} else {
		short += ", one per read"
	}
	if match[4] != "" {
		short += ", 10K clients"
	}
	return short
}

// series has the name and the colour of each server in charts.
var series = map[string]plot.Series{
	rig.Event:    {Name: "event engine", Colour: plot.Ours},
	rig.Portable: {Name: "portable engine", Colour: plot.Second},
	rig.Upstream: {Name: "upstream v1.77.0", Colour: plot.Upstream},
	rig.NetHTTP:  {Name: "net/http", Colour: plot.Other},
	rig.Floor:    {Name: "C loop, no parsing", Colour: plot.Floor},
}

// serverOrder is the order of legends and bars.
var serverOrder = []string{rig.Event, rig.Portable, rig.Upstream, rig.NetHTTP, rig.Floor}

// on describes the machine on which the figures of a chart were measured, and the limits of
// the figures.
func on(r *results, what string) string {
	return fmt.Sprintf("%s, %s. %s", r.Machine.CPU, markdown.Plural(r.Machine.Cores, "core"), what)
}

func cpuLines(r *results, loads *study.Report, of string) *plot.Lines {
	l := &plot.Lines{
		Title: "Processor time of the server for a request, in µs: " + of,
		Note:  "13-byte answers over loopback, with wrk. Lower is better; the C loop is what the system calls cost.",
		Foot:  on(r, "No network, and one thread of the server: neither rates nor latency."),
		X:     "connections",
	}
	var rows []*study.Row
	for _, row := range loads.Rows {
		if row.Kind == tcp.Steady {
			rows = append(rows, row)
			l.Places = append(l.Places, fmt.Sprint(row.Conns))
		}
	}
	for _, server := range serverOrder {
		line := plot.Line{Series: series[server], Dashed: server == rig.Floor}
		there := false
		for _, row := range rows {
			there = there || row.Of(server) != nil
			line.Values = append(line.Values, row.Get(server, study.CPUs).Median)
		}
		if there {
			l.Lines = append(l.Lines, line)
		}
	}
	return l
}

// thousands writes a number with commas.
func thousands(n int) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
