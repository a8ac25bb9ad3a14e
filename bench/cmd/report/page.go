package main

import (
	"cmp"
	_ "embed" // for phases.md
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/valyala/fasthttp/bench/internal/calls"
	"github.com/valyala/fasthttp/bench/internal/files"
	"github.com/valyala/fasthttp/bench/internal/h2load"
	"github.com/valyala/fasthttp/bench/internal/idle"
	"github.com/valyala/fasthttp/bench/internal/markdown"
	"github.com/valyala/fasthttp/bench/internal/report"
	"github.com/valyala/fasthttp/bench/internal/rig"
	"github.com/valyala/fasthttp/bench/internal/study"
	"github.com/valyala/fasthttp/bench/internal/tcp"
	"github.com/valyala/fasthttp/bench/internal/ws"
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
	markdown.WriteFailures(&b, p.failures())
	return b.String()
}

// writeMachine lists the machine, the versions and the time.
func (p *page) writeMachine(b *strings.Builder) {
	fmt.Fprintf(b, "- machine: %s\n- Go: %s\n", p.Machine, p.Machine.Go)
	for _, name := range []string{report.Ours, report.Upstream} {
		if version := p.version(name); version != "" {
			fmt.Fprintf(b, "- %s: %s\n", name, version)
		}
	}
	fmt.Fprintf(b, "- date: %s\n", p.Date)
}

// writeHead describes the figures: the machine, how they were measured, and missing tools.
func (p *page) writeHead(b *strings.Builder) {
	p.writeMachine(b)
	if p.Rows != nil {
		fmt.Fprintf(b, "- benchmarks: %s of %s each, in turn\n", markdown.Plural(p.Rows.Rounds, "round"), p.Rows.Benchtime)
	}
	if loads := cmp.Or(p.Sockets[varied], p.Sockets[repeated]); loads != nil {
		fmt.Fprintf(b, "- loads over sockets: %s of %s each, in turn; servers %s, GOMAXPROCS %d; wrk %s\n",
			markdown.Plural(loads.Rounds, "round"), markdown.Plural(loads.Seconds, "second"), loads.ServerPlace, loads.Procs, loads.ClientPlace)
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
	lacking := p.lacking()
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
	for _, s := range studies {
		if got := p.Sockets[s.name]; got != nil {
			all = append(all, got.Versions)
		}
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
		if g.Figure != "" && !g.Met {
			lacking = append(lacking, g)
		}
		if g.Met && g.Figure != "" {
			met++
		}
		fmt.Fprintf(&rows, "| %s | %s | %s |\n", g.Text, cmp.Or(g.Figure, markdown.None), g.Verdict())
	}
	fmt.Fprintf(b, "\n%d of %d are met.\n\n| goal | measured | |\n|---|---|---|\n%s", met, len(p.goals), rows.String())
	if len(lacking) == 0 {
		return
	}
	b.WriteString("\n### What holds back those that are not met\n\n")
	for _, g := range lacking {
		why := strings.TrimSpace(g.Evidence + " " + p.notes[g.ID])
		fmt.Fprintf(b, "- **%s.** %s\n", g.Text, cmp.Or(why, "Not investigated yet."))
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
	loads := p.Sockets[varied]
	if p.Rows == nil && loads == nil {
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
	if loads != nil {
		b.WriteString("\n### Servers over sockets\n" + loadNote)
		p.figure(b, cpuVariedChart)
		tcp.Varied.WriteTables(b, loads, "####")
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
	loads := p.Sockets[repeated]
	if p.Rows == nil && loads == nil {
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
	if loads != nil {
		b.WriteString("\n### Servers over sockets, repeated requests\n" + loadNote)
		p.figure(b, cpuChart)
		tcp.Repeated.WriteTables(b, loads, "####")
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

// in describes how a measurement was made.
func in(r *study.Report, client string) string {
	return fmt.Sprintf("%s of %s each, in turn; servers %s, GOMAXPROCS %d; %s %s.",
		markdown.Plural(r.Rounds, "round"), markdown.Plural(r.Seconds, "second"), r.ServerPlace, r.Procs, client, r.ClientPlace)
}

// section writes a heading, a text and the tables of a measurement, if there is one. level is the
// Markdown prefix of the headings of tables.
func section(b *strings.Builder, r *study.Report, k *study.Kind, level, text string) {
	if r != nil {
		b.WriteString(text)
		k.WriteTables(b, r, level)
	}
}

func (p *page) writeWait(b *strings.Builder) {
	waits, beside := p.Sockets[wait], p.Sockets[slow]
	if waits == nil && beside == nil {
		return
	}
	b.WriteString("\n## Handlers that wait\n")
	if waits != nil {
		section(b, waits, tcp.Wait, "###", fmt.Sprintf("\n%s, in turn. With GOMAXPROCS 1 the server is %s, what asks it and the backend %s;\n"+
			"else nothing is pinned.\n", markdown.Plural(waits.Rounds, "round"), waits.ServerPlace, waits.ClientPlace))
	}
	section(b, beside, tcp.Slow, "", "\n### Beside slow requests\n\n2000 ordinary requests a second, and slow ones on other connections; nothing is pinned.\n")
}

// writeTLS writes the measurements over TLS.
func (p *page) writeTLS(b *strings.Builder) {
	hasRows := p.Rows != nil && slices.ContainsFunc(p.Rows.Rows, func(row *report.Row) bool { return report.Group(row.Name) == report.TLSServers })
	of := p.Sockets
	if !hasRows && of[tlsLoads] == nil && of[handshakes] == nil && of[flood] == nil && of[tlsFiles] == nil && of[tlsIdle] == nil {
		return
	}
	b.WriteString("\n## TLS\n\n" +
		"All servers have the same certificate of ECDSA on P-256, and speak TLS 1.3 with X25519 and AES-128-GCM.\n")
	section(b, of[tlsLoads], tcp.OverTLS, "###", "\nwrk over connections that it keeps. The handshakes of a run are a part of the processor time.\n")
	if hasRows {
		b.WriteString("\n### Server and client in one process\n\n" +
			"A client of crypto/tls sends a request on each of eight connections, and then reads the responses. It takes about as much\n" +
			"as the server, in all columns.\n")
		p.Rows.WriteTables(b, "####", report.TLSServers)
	}
	section(b, of[handshakes], tcp.Handshakes, "####", "\n### New connections\n\n"+
		"A client connects, performs a handshake, sends one request, and waits for the end of the connection.\n")
	section(b, of[flood], tcp.Flood, "", "\n### Beside floods\n\n"+
		"The requests of established connections beside clients that send half of a ClientHello and nothing more, or whole ones\n"+
		"as fast as they go.\n")
	section(b, of[tlsFiles], files.Kind, "####", "\n### Files\n\nCPU is the server's processor time for a request; \"with wrk\" that of the client is added.\n")
	if row := idle.Of(of[tlsIdle]); row != nil {
		section(b, of[tlsIdle], idle.Kind(idle.TLS), "", fmt.Sprintf("\n### Idle connections\n\n%s connections after one request each.\n", thousands(row.Conns)))
	}
}

// writeHTTP2 writes the measurements of HTTP/2, in memory and over sockets.
func (p *page) writeHTTP2(b *strings.Builder) {
	hasRows := p.Rows != nil && slices.ContainsFunc(p.Rows.Rows, func(row *report.Row) bool { return report.IsHTTP2(row.Name) })
	of := p.Sockets
	if !hasRows && of[http2] == nil && of[http2TLS] == nil && of[http2Idle] == nil && of[call] == nil {
		return
	}
	b.WriteString("\n## HTTP/2\n\nUpstream has none, so ours is compared with net/http and with servers in C.\n")
	if hasRows {
		b.WriteString("\nIn memory: each client keeps one or 100 streams busy on its connection. In the varied rows path, cookie and request id\n" +
			"differ from request to request, and are sent as literals; all other fields are in the table of the connection. The\n" +
			"callers of a client share one connection, in memory or over TCP.\n")
		p.Rows.WriteTables(b, "###", report.HTTP2Servers, report.HTTP2Clients)
	}
	for _, name := range []string{http2, http2TLS} {
		loads := of[name]
		if loads == nil {
			continue
		}
		how := "by prior knowledge"
		if loads.TLS {
			how = "over TLS 1.3"
		}
		fmt.Fprintf(b, "\n### h2load, %s\n\n%s\nCPU is the server's processor time for a request, user and system. nghttpd and h2o answer with a file of 13 bytes.\n", how, in(loads, "h2load"))
		if loads.Date != "" && loads.Date != p.Date {
			fmt.Fprintf(b, "Measured on %s, %s.\n", loads.Date, loads.Versions[rig.Event])
		}
		h2load.Kind.WriteTables(b, loads, "####")
	}
	if row := idle.Of(of[http2Idle]); row != nil {
		section(b, of[http2Idle], idle.Kind(idle.HTTP2), "", fmt.Sprintf("\n### Idle connections of HTTP/2\n\n%s connections without TLS, after one request each.\n", thousands(row.Conns)))
	}
	if r := of[call]; r != nil {
		section(b, r, calls.Kind, "####", fmt.Sprintf("\n### Clients of HTTP/2 over sockets\n\n%s All of it is over TLS 1.3. CPU is the\n"+
			"processor time for a call of the process that calls. Ready frames are no client: they were encoded before, those of all\n"+
			"callers go in one write, and only the ends of the responses are looked for. No client takes less with crypto/tls.\n", in(r, "callers")))
	}
}

func (p *page) writeWS(b *strings.Builder) {
	if r := p.Sockets[webSocket]; r != nil {
		section(b, r, ws.Kind, "###", fmt.Sprintf("\n## WebSocket\n\n%s\nCPU is the server's processor time for a message; one\n"+
			"that is broadcast counts once for each socket. The ratios are less than 1 where the server of the line takes less. The\n"+
			"C loop checks nothing.\n", in(r, "load")))
	}
}

func (p *page) writeFiles(b *strings.Builder) {
	r := p.Sockets[file]
	if r == nil {
		return
	}
	b.WriteString("\n## Files over sockets\n\n" +
		"CPU is the server's processor time for a request; \"with wrk\" that of the client is added, which for large files pays\n" +
		"for a part of what the server sends.\n")
	if nginx := r.Versions[rig.Nginx]; nginx != "" {
		fmt.Fprintf(b, "nginx is %s.\n", nginx)
	}
	files.Kind.WriteTables(b, r, "###")
}

func (p *page) writeIdle(b *strings.Builder) {
	one, many := p.Sockets[idleOne], p.Sockets[idleMany]
	if one == nil && many == nil && p.Fill == nil {
		return
	}
	b.WriteString("\n## Idle connections\n\n" +
		"Each had one request and waits for the next. Resident is what the process holds more for each of them; the kernel's\n" +
		"memory for sockets is not in it.\n")
	if one != nil {
		p.figure(b, idleChart)
		idle.Kind(idle.HTTP1).WriteTables(b, one, "")
	}
	if row := idle.Of(many); row != nil {
		section(b, many, idle.Kind(idle.HTTP1), "", fmt.Sprintf("\n%s connections of %d processes that share a port:\n", thousands(row.Conns), row.Procs))
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
	table := markdown.Table{Header: []string{"net/http ÷ ours", "ratio"}}
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
	if loads := p.Sockets[repeated]; loads != nil {
		for _, row := range loads.Rows {
			add("processor time over sockets, "+row.Name, row.Ratio(study.CPUs, rig.NetHTTP, rig.Event).Value)
		}
	}
	add("memory of an idle connection", idle.Of(p.Sockets[idleOne]).Ratio(idle.Resident, rig.NetHTTP, rig.Event).Value)
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
		fmt.Fprintf(&b, "%-14s %-22s %s: %s\n", strings.Trim(g.Verdict(), "*"), g.ID, g.Text, cmp.Or(g.Figure, markdown.None))
	}
	return b.String()
}
