package main

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/valyala/fasthttp/bench/internal/plot"
	"github.com/valyala/fasthttp/bench/internal/report"
	"github.com/valyala/fasthttp/bench/internal/rig"
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
	for _, c := range []struct {
		file, of string
		loads    *tcp.Report
	}{{cpuVariedChart, "requests that differ", r.Varied}, {cpuChart, "repeated requests", r.TCP}} {
		if c.loads != nil {
			all = append(all, chart{c.file, "Processor time for a request against connections, " + c.of, cpuLines(r, c.loads, c.of).SVG()})
		}
	}
	if r.Idle != nil {
		all = append(all, chart{idleChart, "Memory of an idle connection", idleBars(r).SVG()})
	}
	all = append(all, frontCharts(r)...)
	return slices.DeleteFunc(all, func(c chart) bool { return c.svg == "" })
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
	return fmt.Sprintf("%s, %s. %s", r.Machine.CPU, rig.Plural(r.Machine.Cores, "core"), what)
}

func cpuLines(r *results, loads *tcp.Report, of string) *plot.Lines {
	l := &plot.Lines{
		Title: "Processor time of the server for a request, in µs: " + of,
		Note:  "13-byte answers over loopback, with wrk. Lower is better; the C loop is what the system calls cost.",
		Foot:  on(r, "No network, and one thread of the server: neither rates nor latency."),
		X:     "connections",
	}
	var rows []*tcp.Row
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
			v := 0.0
			if m := row.Of(server); m != nil {
				v, there = m.CPU.Median, true
			}
			line.Values = append(line.Values, v)
		}
		if there {
			l.Lines = append(l.Lines, line)
		}
	}
	return l
}

func idleBars(r *results) *plot.Amounts {
	a := &plot.Amounts{
		Title: "Resident memory of an idle connection, in bytes",
		Note:  fmt.Sprintf("%s connections in one process, each after one request. Shorter is better.", thousands(r.Idle.Conns)),
		Foot:  on(r, "Without the kernel's memory for sockets, which all pay alike."),
	}
	for _, server := range serverOrder {
		if m := idleOf(r.Idle, server); m != nil {
			a.Bars = append(a.Bars, plot.Amount{
				Label: series[server].Name, Colour: series[server].Colour,
				Value: m.Resident.Median, Text: thousands(int(m.Resident.Median + 0.5)),
			})
		}
	}
	return a
}

// thousands writes a number with commas.
func thousands(n int) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
