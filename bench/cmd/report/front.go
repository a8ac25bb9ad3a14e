package main

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/valyala/fasthttp/bench/internal/calls"
	"github.com/valyala/fasthttp/bench/internal/idle"
	"github.com/valyala/fasthttp/bench/internal/markdown"
	"github.com/valyala/fasthttp/bench/internal/rig"
	"github.com/valyala/fasthttp/bench/internal/study"
	"github.com/valyala/fasthttp/bench/internal/tcp"
)

// front returns the first page: the figures by which a user decides. The other page has all
// of them.
func (p *page) front() string {
	var b strings.Builder
	b.WriteString("# Performance\n\n" +
		"Figures to decide by: this fasthttp, v1.77.0 and net/http, measured in turn on one machine. The page is written by\n" +
		"`go run ./cmd/report` in the folder `bench`: run it on an idle machine to see what yours does.\n" +
		"[performance-rows.md](performance-rows.md) has every row with its spread, the goals, and the reasons for those that\n" +
		"are missed. [why-fast.md](why-fast.md) explains the figures, and [peers.md](peers.md) compares with servers of other\n" +
		"languages.\n\n")
	p.writeMachine(&b)
	table := markdown.Table{Header: []string{"What", "this", "v1.77.0", "net/http", "best other", "Command, in `bench`"}}
	table.Rows = p.decisions()
	if len(table.Rows) > 0 {
		b.WriteString("\nLess is better, except in the rows with requests/s and connections held. \"Best other\" is the best of the servers that\n" +
			"were installed; the C loop makes the system calls of a server, and parses nothing.\n")
		table.Write(&b)
	}
	for _, file := range []string{requestChart, http2Chart, waitChart, idleChart} {
		p.figure(&b, file)
	}
	b.WriteString("\nNot in these figures: a network. Over loopback nothing but processor time and memory is compared, and one connection\n" +
		"that waits for each response is about as fast with every server, since the kernel's work of waking decides.\n")
	return b.String()
}

// decision is a row of the first page: a figure of a row of a measurement.
type decision struct {
	what    string
	row     *study.Row
	figure  string
	show    func(float64) string
	command string
	// others are the servers of the last column, of which the best counts.
	others []string
}

func (d decision) of(server string) string {
	s := d.row.Get(server, d.figure)
	if len(s.Samples) == 0 {
		return ""
	}
	return d.show(s.Median)
}

func (d decision) cells() []string {
	best := ""
	least := 0.0
	for _, server := range d.others {
		if v := d.row.Get(server, d.figure).Median; v > 0 && (best == "" || v < least) {
			best, least = d.of(server)+" ("+cmp.Or(map[string]string{rig.Floor: "C loop"}[server], server)+")", v
		}
	}
	cells := []string{d.of(rig.Event), d.of(rig.Upstream), d.of(rig.NetHTTP), best}
	if d.row.Of(calls.OursHTTP2) != nil {
		cells = []string{d.of(calls.OursHTTP2), "", d.of(calls.NetHTTPHTTP2), ""}
	}
	return d.line(cells...)
}

// line returns the cells of a line. An empty cell was not measured.
func (d decision) line(cells ...string) []string {
	for i, cell := range cells {
		cells[i] = cmp.Or(cell, markdown.None)
	}
	return append(append([]string{d.what}, cells...), "`go run ./cmd/"+d.command+"`")
}

// decisions returns the lines for which ours has a figure.
func (p *page) decisions() (lines [][]string) {
	of := p.Sockets
	var all []decision
	for _, conns := range []int{1, 64, 512} {
		all = append(all, decision{
			fmt.Sprintf("processor time of a request, %s, µs", markdown.Plural(conns, "connection")),
			tcp.LoadOf(of[varied], tcp.Steady, conns), study.CPUs, decimal, "tcp -varied", []string{rig.Floor},
		})
	}
	all = append(all,
		decision{"99th percentile of latency, 512 connections, µs", tcp.LoadOf(of[varied], tcp.Steady, 512), study.P99, whole, "tcp -varied", []string{rig.Floor}},
		decision{"processor time of a request over TLS, 64 connections, µs", tcp.LoadOf(of[tlsLoads], tcp.Steady, 64), study.CPUs, decimal, "tcp -tls", []string{rig.Nginx}},
		decision{
			fmt.Sprintf("requests/s with a handler that waits for %v, %s, one processor", frontWait, markdown.Plural(frontConns, "connection")),
			waitRow(of[wait]), study.Rate, whole, "tcp -wait -rows " + frontHandler, nil,
		},
		decision{"99th percentile of latency beside requests that compute for 50 ms, µs", of[slow].Named(tcp.Computing), study.P99, whole, "tcp -slow", nil})
	if row := http2Row(of[http2]); row != nil {
		all = append(all, decision{"processor time of a request of HTTP/2, " + row.Name + ", µs", row, study.CPUs, decimal, "h2", []string{rig.Nghttpd, rig.H2O, rig.Nginx}})
	}
	all = append(all,
		decision{"processor time of a client's call over HTTP/2 and TLS, 100 callers, µs", of[call].Named("100 callers"), calls.CPUs, decimal, "calls", nil},
		decision{"memory of an idle connection, bytes", idle.Of(of[idleOne]), idle.Resident, whole, "idle", nil})
	for _, d := range all {
		if d.row.Of(rig.Event) != nil || d.row.Of(calls.OursHTTP2) != nil {
			lines = append(lines, d.cells())
		}
	}
	if ours := p.held(rig.Event); ours != nil {
		d := decision{what: fmt.Sprintf("idle connections held in %.0f GiB, with those of the clients and the kernel", float64(ours.Total)/(1<<30)), command: "crowd"}
		upstream := ""
		if other := p.held(rig.Upstream); other != nil {
			upstream = thousands(other.Held)
		}
		lines = append(lines, d.line(thousands(ours.Held), upstream, "", ""))
	}
	if p.Size != nil {
		d := decision{what: "size of a small program, bytes", command: "report -parts size"}
		lines = append(lines, d.line(thousands(int(p.Size.Ours)), thousands(int(p.Size.Upstream)), "", ""))
	}
	return lines
}

func (p *page) held(server string) *idle.Filled {
	if p.Fill != nil {
		for _, f := range p.Fill.Servers {
			if f.Server == server {
				return f
			}
		}
	}
	return nil
}

// decimal writes a time of some microseconds, and whole a larger figure.
func decimal(v float64) string { return fmt.Sprintf("%.2f", v) }

func whole(v float64) string { return thousands(int(v + 0.5)) }

// The handler and the load of the first page: the wait is short, and the connections are so few
// that the processor is idle if a server wakes up late.
const (
	frontHandler = "sleep300us"
	frontWait    = 300 * time.Microsecond
	frontConns   = 64
)

func waitRow(r *study.Report) *study.Row {
	return r.Find(func(row *study.Row) bool {
		return row.Kind == frontHandler && row.Conns == frontConns && row.Procs == 1
	})
}

// http2Row returns the load of HTTP/2 with 64 connections.
func http2Row(r *study.Report) *study.Row {
	return r.Find(func(row *study.Row) bool { return strings.HasPrefix(row.Name, "64 ") })
}
