package main

import (
	"cmp"
	_ "embed" // for phases.md
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/valyala/fasthttp/bench/internal/idle"
	"github.com/valyala/fasthttp/bench/internal/report"
	"github.com/valyala/fasthttp/bench/internal/rig"
	"github.com/valyala/fasthttp/bench/internal/stats"
)

// page is docs/performance.md, the first page, and docs/performance-rows.md with all rows.
type page struct {
	*results
	goals []goal
	notes map[string]string // by goal
}

// write writes both pages into folder and their charts into folder/img.
func (p *page) write(folder string) error {
	images := filepath.Join(folder, "img")
	if err := os.MkdirAll(images, 0o755); err != nil {
		return err
	}
	for _, c := range charts(p.results) {
		if err := os.WriteFile(filepath.Join(images, c.file), []byte(c.svg), 0o644); err != nil {
			return err
		}
	}
	for name, text := range map[string]string{"performance.md": p.front(), "performance-rows.md": p.markdown()} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// markdown returns the page with all rows.
func (p *page) markdown() string {
	var b strings.Builder
	b.WriteString("# Performance: all rows\n\n" +
		"[performance.md](performance.md) has the figures to decide by.\n\n" +
		"This page is written by `go run ./cmd/report` in the folder `bench`, which measures this fasthttp, the published\n" +
		"v1.77.0 (\"upstream\") and net/http in turn on one machine. Run it on an idle machine to see what yours does;\n" +
		"[bench/README.md](../bench/README.md) describes each row, and how to run parts of it.\n\n")
	p.writeHead(&b)
	p.writeTraffic(&b)
	p.writeWait(&b)
	p.writeTLS(&b)
	p.writeHTTP2(&b)
	p.writeWS(&b)
	p.writeFiles(&b)
	p.writeIdle(&b)
	p.writeRepeated(&b)
	p.writeValues(&b)
	p.writeSize(&b)
	p.writeNetHTTP(&b)
	p.writeGoals(&b)
	rig.WriteFailures(&b, p.failures())
	return b.String()
}

// writeMachine lists the machine, the versions and the time.
func (p *page) writeMachine(b *strings.Builder) {
	m := p.Machine
	fmt.Fprintf(b, "- machine: %s, %s, %s/%s, kernel %s\n", m.CPU, rig.Plural(m.Cores, "core"), m.OS, m.Arch, m.Kernel)
	fmt.Fprintf(b, "- Go: %s\n", m.Go)
	for _, name := range []string{report.Ours, report.Upstream} {
		if version := p.version(name); version != "" {
			fmt.Fprintf(b, "- %s: %s\n", name, version)
		}
	}
	fmt.Fprintf(b, "- date: %s\n", p.Date)
}

// writeHead describes the figures: the machine, how they were measured, and what is missing.
func (p *page) writeHead(b *strings.Builder) {
	p.writeMachine(b)
	if p.Rows != nil {
		fmt.Fprintf(b, "- benchmarks: %s of %s each, in turn\n", rig.Plural(p.Rows.Rounds, "round"), p.Rows.Benchtime)
	}
	if loads := cmp.Or(p.Varied, p.TCP); loads != nil {
		fmt.Fprintf(b, "- loads over sockets: %s of %s each, in turn; servers %s, GOMAXPROCS %d; wrk %s\n",
			rig.Plural(loads.Rounds, "round"), rig.Plural(loads.Seconds, "second"), loads.ServerPlace, loads.Procs, loads.ClientPlace)
	}
	var short []string
	for _, part := range parts {
		if p.Short[part.name] {
			short = append(short, part.name)
		}
	}
	if len(short) > 0 {
		fmt.Fprintf(b, "\n**Rough figures**: these parts are of a short run (`-short`), which shows that everything works, and little more: %s.\n",
			strings.Join(short, ", "))
	}
	lacking := slices.Clone(p.Missing)
	if loads := cmp.Or(p.Varied, p.TCP); loads != nil {
		lacking = append(lacking, loads.Missing...)
	}
	if p.Calls != nil {
		for _, what := range p.Calls.Missing {
			lacking = append(lacking, "Clients of HTTP/2: "+what)
		}
	}
	if p.Wait != nil {
		lacking = append(lacking, p.Wait.Missing...)
	}
	if p.Files != nil {
		lacking = append(lacking, p.Files.Missing...)
	}
	if p.TLS != nil {
		lacking = append(lacking, p.TLS.missing()...)
	}
	if p.HTTP2 != nil {
		lacking = append(lacking, p.HTTP2.missing()...)
	}
	if p.WS != nil {
		for _, what := range p.WS.Missing {
			lacking = append(lacking, "WebSocket: "+what)
		}
	}
	if len(lacking) > 0 {
		b.WriteString("\nWhat is missing here:\n\n")
		for _, what := range lacking {
			fmt.Fprintf(b, "- %s\n", what)
		}
	}
}

// version returns the version of one of the two, from any part that has it.
func (p *page) version(name string) string {
	var all []map[string]string
	if p.Rows != nil {
		all = append(all, p.Rows.Versions)
	}
	server := name
	if name == report.Ours {
		server = rig.Event
	}
	if loads := cmp.Or(p.Varied, p.TCP); loads != nil {
		all = append(all, loads.Versions)
	}
	if p.Wait != nil {
		all = append(all, p.Wait.Versions)
	}
	if p.Idle != nil {
		all = append(all, p.Idle.Versions)
	}
	if p.Size != nil {
		all = append(all, p.Size.Versions)
	}
	for _, versions := range all {
		if v := cmp.Or(versions[name], versions[server]); v != "" {
			return v
		}
	}
	return ""
}

func (p *page) writeGoals(b *strings.Builder) {
	b.WriteString("\n## Goals\n")
	met := 0
	var rows strings.Builder
	var lacking []goal
	for _, g := range p.goals {
		if g.figure != "" && !g.met {
			lacking = append(lacking, g)
		}
		if g.met && g.figure != "" {
			met++
		}
		fmt.Fprintf(&rows, "| %s | %s | %s |\n", g.text, cmp.Or(g.figure, rig.None), g.verdict())
	}
	fmt.Fprintf(b, "\n%d of %d are met.\n\n| goal | measured | |\n|---|---|---|\n%s", met, len(p.goals), rows.String())
	if len(lacking) == 0 {
		return
	}
	b.WriteString("\n### What holds back those that are not met\n\n")
	for _, g := range lacking {
		why := strings.TrimSpace(g.evidence + " " + p.notes[g.id])
		fmt.Fprintf(b, "- **%s.** %s\n", g.text, cmp.Or(why, "Not investigated yet."))
	}
}

// figure refers to a chart, if it was drawn.
func (p *page) figure(b *strings.Builder, file string) {
	for _, c := range charts(p.results) {
		if c.file == file {
			fmt.Fprintf(b, "\n![%s](img/%s)\n", c.alt, c.file)
		}
	}
}

const tableNote = "\nTimes are medians in ns/op, ± the median absolute deviation; a ratio over 1 means that ours is faster, and is in\n" +
	"parentheses where the ranges overlap. CPU ratios compare processor time.\n"

// phases is a table of instruction counts, which depend on the machine less than times. It is
// edited by hand.
//
//go:embed phases.md
var phases string

// writeTraffic writes the measurements of servers and clients with varied messages.
func (p *page) writeTraffic(b *strings.Builder) {
	if p.Rows == nil && p.Varied == nil {
		return
	}
	b.WriteString("\n## Requests that differ\n\n" +
		"The requests of browsers, programs, probes and bots in turn (GetVaried), those of a client behind a proxy, which gives\n" +
		"each an id (GetProxied), and JSON for an API (PostVaried). No two in a row have the same fields, so it is of no use to\n" +
		"recognise those of the last request. A request is answered with 13 bytes of text.\n")
	if p.Rows != nil {
		b.WriteString("\n### Servers in memory\n\n" +
			"Connections without sockets: what is compared is accepting, parsing, dispatching and writing, and not what the system\n" +
			"does. Where one request comes per read, the client waits for each response; elsewhere it sends as fast as the server\n" +
			"reads.\n")
		p.figure(b, variedServersChart)
		b.WriteString(tableNote)
		p.Rows.WriteTables(b, "####", report.VariedServers)
		b.WriteString(phases)
		p.figure(b, phasesChart)
	}
	if p.Varied != nil {
		b.WriteString("\n### Servers over sockets\n" + loadNote)
		p.figure(b, cpuVariedChart)
		p.Varied.WriteTables(b, "####")
	}
	if p.Rows != nil {
		b.WriteString("\n### Clients\n\n" +
			"Requests with an id and another path in each, and responses of an API: their dates, ids and tags change, and bodies have\n" +
			"20 to 2000 bytes.\n")
		p.figure(b, variedClientsChart)
		p.Rows.WriteTables(b, "####", report.VariedClients)
	}
}

const loadNote = "\nwrk over loopback. CPU is the server's processor time for a request, user and system: requests/s are often the limit\n" +
	"of wrk. The C loop makes the system calls that a server has to make, and understands nothing of what it reads.\n"

// writeRepeated writes the measurements with one repeated message.
func (p *page) writeRepeated(b *strings.Builder) {
	if p.Rows == nil && p.TCP == nil {
		return
	}
	b.WriteString("\n## The same message again and again\n\n" +
		"These rows are what benchmarks of servers usually show. Real traffic is above: a repeated message finds all caches and\n" +
		"branch predictors prepared for it.\n")
	if p.Rows != nil {
		b.WriteString("\n### Servers in memory, repeated requests\n\n" +
			"Each client repeats one browser-like request of 230 bytes (Browser: of 800).\n")
		p.figure(b, serversChart)
		p.Rows.WriteTables(b, "####", report.Servers)
	}
	if p.TCP != nil {
		b.WriteString("\n### Servers over sockets, repeated requests\n" + loadNote)
		p.figure(b, cpuChart)
		p.TCP.WriteTables(b, "####")
	}
	if p.Rows != nil {
		b.WriteString("\n### Clients, repeated messages\n")
		p.figure(b, clientsChart)
		p.Rows.WriteTables(b, "####", report.Clients)
	}
}

func (p *page) writeValues(b *strings.Builder) {
	if p.Rows == nil {
		return
	}
	b.WriteString("\n## Values, compression and files\n")
	rows := rowsOf(p.Rows, func(row *report.Row) bool {
		return slices.Contains([]string{report.Values, report.Compression, report.Files}, report.Group(row.Name))
	})
	slices.SortStableFunc(rows, func(a, b *report.Row) int { return cmp.Compare(ratio(b), ratio(a)) })
	if len(rows) >= 3 {
		var best []string
		for _, row := range rows[:3] {
			best = append(best, fmt.Sprintf("%s (%.1f×)", row.Name, ratio(row)))
		}
		fmt.Fprintf(b, "\nThe three that gain most: %s.\n", strings.Join(best, ", "))
	}
	p.figure(b, valuesChart)
	p.Rows.WriteTables(b, "###", report.Values, report.Compression, report.Files)
}

func (p *page) writeWait(b *strings.Builder) {
	if p.Wait == nil && p.Slow == nil {
		return
	}
	b.WriteString("\n## Handlers that wait\n")
	if p.Wait != nil {
		fmt.Fprintf(b, "\n%s of %v each, in turn. With GOMAXPROCS 1 the server is %s, what asks it and the backend %s;\n"+
			"else nothing is pinned.\n", rig.Plural(p.Wait.Rounds, "round"), p.Wait.Time, p.Wait.ServerPlace, p.Wait.ClientPlace)
		p.Wait.WriteTables(b, "###")
	}
	if p.Slow != nil {
		fmt.Fprintf(b, "\n### Beside slow requests\n\n%d ordinary requests a second, and slow ones on other connections; nothing is pinned.\n", p.Slow.Rate)
		p.Slow.WriteTable(b)
	}
}

func (p *page) writeFiles(b *strings.Builder) {
	if p.Files == nil {
		return
	}
	b.WriteString("\n## Files over sockets\n\n" +
		"CPU is the server's processor time for a request; \"with wrk\" that of the client is added, which for large files pays\n" +
		"for a part of what the server sends.\n")
	if p.Files.Nginx != "" {
		fmt.Fprintf(b, "nginx is %s.\n", p.Files.Nginx)
	}
	p.Files.WriteTables(b, "###")
}

func (p *page) writeIdle(b *strings.Builder) {
	if p.Idle == nil && p.IdleMany == nil && p.Fill == nil {
		return
	}
	b.WriteString("\n## Idle connections\n\n" +
		"Each had one request and waits for the next. Resident is what the process holds more for each of them; the kernel's\n" +
		"memory for sockets is not in it.\n")
	if p.Idle != nil {
		p.figure(b, idleChart)
		p.Idle.WriteTable(b)
	}
	if p.IdleMany != nil {
		fmt.Fprintf(b, "\n%s connections of %d processes that share a port:\n", thousands(p.IdleMany.Conns), p.IdleMany.Procs)
		p.IdleMany.WriteTable(b)
	}
	b.WriteString("\n### As many connections as fit\n\n" +
		"`go run ./cmd/crowd` in the folder `bench` opens as many connections as the machine's descriptors and memory allow, or\n" +
		"as many as `-conns` sets, to processes that share a port, and sends one request over each.\n")
	if p.Fill != nil {
		b.WriteString("\n" + idle.FillNote)
		p.Fill.WriteTable(b)
	}
}

func (p *page) writeSize(b *strings.Builder) {
	if p.Size == nil {
		return
	}
	fmt.Fprintf(b, "\n## Size of a program\n\n%s, built with `-trimpath` and else as usual: %s bytes with ours, %s with upstream, %.3f of it.\n",
		p.Size.Program, thousands(int(p.Size.Ours)), thousands(int(p.Size.Upstream)), p.Size.Ratio())
}

// writeNetHTTP compares with net/http, with one figure for each topic.
func (p *page) writeNetHTTP(b *strings.Builder) {
	table := rig.Table{Header: []string{"net/http ÷ ours", "ratio"}}
	add := func(what string, ratio float64) {
		if ratio > 0 {
			table.Rows = append(table.Rows, []string{what, fmt.Sprintf("%.2f", ratio)})
		}
	}
	if p.Rows != nil {
		for _, mean := range p.Rows.Means {
			add(fmt.Sprintf("time, %s, GOMAXPROCS %d (geometric mean)", strings.ToLower(mean.Group[:1])+mean.Group[1:], mean.Procs), mean.Ratios[report.NetHTTP])
		}
	}
	if p.TCP != nil {
		for _, row := range p.TCP.Rows {
			ours, other := row.Of(rig.Event), row.Of(rig.NetHTTP)
			if ours != nil && other != nil {
				add("processor time over sockets, "+row.Name, stats.Ratio(other.CPU.Median, ours.CPU.Median))
			}
		}
	}
	if ours, other := idleOf(p.Idle, rig.Event), idleOf(p.Idle, rig.NetHTTP); ours != nil && other != nil {
		add("memory of an idle connection", stats.Ratio(other.Resident.Median, ours.Resident.Median))
	}
	if len(table.Rows) == 0 {
		return
	}
	b.WriteString("\n## Against net/http\n")
	table.Write(b)
}

// summary returns the goals in a few lines, for the terminal.
func (p *page) summary() string {
	var b strings.Builder
	for _, g := range p.goals {
		fmt.Fprintf(&b, "%-14s %-22s %s: %s\n", strings.Trim(g.verdict(), "*"), g.id, g.text, cmp.Or(g.figure, rig.None))
	}
	return b.String()
}
