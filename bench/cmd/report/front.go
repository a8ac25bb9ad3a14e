package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/valyala/fasthttp/bench/internal/calls"
	"github.com/valyala/fasthttp/bench/internal/h2load"
	"github.com/valyala/fasthttp/bench/internal/idle"
	"github.com/valyala/fasthttp/bench/internal/rig"
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
	table := rig.Table{Header: []string{"What", "this", "v1.77.0", "net/http", "best other", "Command, in `bench`"}}
	for _, d := range p.decisions() {
		table.Rows = append(table.Rows, d.cells())
	}
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

// decision is a row of the first page. A figure that was not measured is empty.
type decision struct {
	what, ours, upstream, netHTTP, other, command string
}

func (d decision) cells() []string {
	row := []string{d.what, d.ours, d.upstream, d.netHTTP, d.other, "`go run ./cmd/" + d.command + "`"}
	for i, cell := range row {
		if cell == "" {
			row[i] = rig.None
		}
	}
	return row
}

// decisions returns the rows for which ours has a figure.
func (p *page) decisions() []decision {
	var all []decision
	add := func(d decision) {
		if d.ours != "" {
			all = append(all, d)
		}
	}
	for _, conns := range []int{1, 64, 512} {
		row := loadOf(p.Varied, tcp.Steady, conns)
		add(loadDecision(row, fmt.Sprintf("processor time of a request, %s, µs", rig.Plural(conns, "connection")), rig.Floor, "tcp -varied", cpuOf))
	}
	add(loadDecision(loadOf(p.Varied, tcp.Steady, 512), "99th percentile of latency, 512 connections, µs", rig.Floor, "tcp -varied", p99Of))
	if p.TLS != nil {
		add(loadDecision(loadOf(p.TLS.Loads, tcp.Steady, 64), "processor time of a request over TLS, 64 connections, µs", rig.Nginx, "tcp -tls", cpuOf))
	}
	add(p.waitDecision())
	add(p.slowDecision())
	add(p.http2Decision())
	add(p.callDecision())
	add(p.idleDecision())
	add(p.fillDecision())
	if p.Size != nil {
		add(decision{"size of `examples/helloworld`, bytes", thousands(int(p.Size.Ours)), thousands(int(p.Size.Upstream)), "", "", "report -parts size"})
	}
	return all
}

func cpuOf(m *tcp.Measurement) string { return decimal(m.CPU.Median) }
func p99Of(m *tcp.Measurement) string { return whole(m.P99.Median) }

// decimal writes a time of some microseconds, and whole a larger figure.
func decimal(v float64) string {
	if v <= 0 {
		return ""
	}
	return fmt.Sprintf("%.2f", v)
}

func whole(v float64) string {
	if v <= 0 {
		return ""
	}
	return thousands(int(v + 0.5))
}

// named adds the name of another server to its figure.
func named(figure, server string) string {
	if figure == "" {
		return ""
	}
	if server == rig.Floor {
		server = "C loop"
	}
	return figure + " (" + server + ")"
}

func loadDecision(row *tcp.Row, what, other, command string, of func(*tcp.Measurement) string) decision {
	if row == nil {
		return decision{}
	}
	figure := func(server string) string {
		if m := row.Of(server); m != nil {
			return of(m)
		}
		return ""
	}
	return decision{what, figure(rig.Event), figure(rig.Upstream), figure(rig.NetHTTP), named(figure(other), other), command}
}

// The handler and the load of the first page: the wait is short, and the connections are so few
// that the processor is idle if a server wakes up late.
const (
	frontHandler = "sleep300us"
	frontWait    = 300 * time.Microsecond
	frontConns   = 64
)

func (p *page) waitRow() *tcp.WaitRow {
	if p.Wait == nil {
		return nil
	}
	for _, row := range p.Wait.Rows {
		if row.Handler == frontHandler && row.Conns == frontConns && row.Procs == 1 {
			return row
		}
	}
	return nil
}

func (p *page) waitDecision() decision {
	row := p.waitRow()
	if row == nil {
		return decision{}
	}
	d := decision{
		what:    fmt.Sprintf("requests/s with a handler that waits for %v, %s, one processor", frontWait, rig.Plural(frontConns, "connection")),
		command: "tcp -wait -only " + frontHandler,
	}
	for _, m := range row.Servers {
		switch m.Server {
		case rig.Event:
			d.ours = whole(m.Rate.Median)
		case rig.Upstream:
			d.upstream = whole(m.Rate.Median)
		case rig.NetHTTP:
			d.netHTTP = whole(m.Rate.Median)
		}
	}
	return d
}

func (p *page) slowDecision() decision {
	if p.Slow == nil {
		return decision{}
	}
	figure := func(server string) string {
		if row := p.Slow.Of(server, tcp.Computing); row != nil {
			return whole(row.P99.Median)
		}
		return ""
	}
	return decision{
		"99th percentile of latency beside requests that compute for 50 ms, µs",
		figure(rig.Event), figure(rig.Upstream), figure(rig.NetHTTP), "", "tcp -slow",
	}
}

// http2Row returns the load of HTTP/2 with 64 connections.
func (p *page) http2Row() *h2load.Row {
	if p.HTTP2 == nil || p.HTTP2.Plain == nil {
		return nil
	}
	for _, row := range p.HTTP2.Plain.Rows {
		if strings.HasPrefix(row.Name, "64 ") {
			return row
		}
	}
	return nil
}

func (p *page) http2Decision() decision {
	row := p.http2Row()
	if row == nil {
		return decision{}
	}
	d := decision{what: "processor time of a request of HTTP/2, " + row.Name + ", µs", command: "h2"}
	best := 0.0
	for _, m := range row.Servers {
		switch m.Server {
		case rig.Event:
			d.ours = decimal(m.CPU.Median)
		case rig.NetHTTP:
			d.netHTTP = decimal(m.CPU.Median)
		case rig.Portable:
		default:
			if best == 0 || m.CPU.Median < best {
				best, d.other = m.CPU.Median, named(decimal(m.CPU.Median), m.Server)
			}
		}
	}
	return d
}

func (p *page) callDecision() decision {
	if p.Calls == nil {
		return decision{}
	}
	for _, row := range p.Calls.Rows {
		if row.Name != "100 callers" {
			continue
		}
		d := decision{what: "processor time of a client's call over HTTP/2 and TLS, " + row.Name + ", µs", command: "calls"}
		for _, m := range row.Clients {
			switch m.Client {
			case calls.OursHTTP2:
				d.ours = decimal(m.CPU.Median)
			case calls.NetHTTPHTTP2:
				d.netHTTP = decimal(m.CPU.Median)
			}
		}
		return d
	}
	return decision{}
}

func (p *page) idleDecision() decision {
	figure := func(server string) string {
		if m := idleOf(p.Idle, server); m != nil {
			return whole(m.Resident.Median)
		}
		return ""
	}
	return decision{"memory of an idle connection, bytes", figure(rig.Event), figure(rig.Upstream), figure(rig.NetHTTP), "", "idle"}
}

func (p *page) fillDecision() decision {
	if p.Fill == nil {
		return decision{}
	}
	held := func(server string) string {
		for _, f := range p.Fill.Servers {
			if f.Server == server {
				return whole(float64(f.Held))
			}
		}
		return ""
	}
	d := decision{"idle connections held, with their clients on the same machine", held(rig.Event), held(rig.Upstream), "", "", "crowd"}
	if of := filledOf(p.Fill, rig.Event); of != nil {
		d.what = fmt.Sprintf("idle connections held in %.0f GiB, with those of the clients and the kernel", float64(of.Total)/(1<<30))
	}
	return d
}

func filledOf(r *idle.FillReport, server string) *idle.Filled {
	for _, f := range r.Servers {
		if f.Server == server {
			return f
		}
	}
	return nil
}
