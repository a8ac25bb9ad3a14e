package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/valyala/fasthttp/bench/internal/binsize"
	"github.com/valyala/fasthttp/bench/internal/calls"
	"github.com/valyala/fasthttp/bench/internal/gobench"
	"github.com/valyala/fasthttp/bench/internal/idle"
	"github.com/valyala/fasthttp/bench/internal/report"
	"github.com/valyala/fasthttp/bench/internal/rig"
	"github.com/valyala/fasthttp/bench/internal/stats"
	"github.com/valyala/fasthttp/bench/internal/study"
	"github.com/valyala/fasthttp/bench/internal/tcp"
	"github.com/valyala/fasthttp/bench/internal/tlsload"
	"github.com/valyala/fasthttp/bench/internal/ws"
)

var update = flag.Bool("update", false, "write what the page should look like")

// figures are samples of one figure, by server.
type figures map[string]float64

// row returns a row with one sample of each figure.
func row(r study.Row, all map[string]figures) *study.Row {
	servers := map[string]*study.Measurement{}
	for figure, of := range all {
		for server, v := range of {
			if servers[server] == nil {
				servers[server] = &study.Measurement{Server: server, Figures: map[string]stats.Summary{}}
			}
			servers[server].Figures[figure] = stats.Summarize([]float64{v})
		}
	}
	for _, server := range slices.Sorted(maps.Keys(servers)) {
		r.Servers = append(r.Servers, servers[server])
	}
	return &r
}

// measured returns a report with some rows.
func measured(rows ...*study.Row) *study.Report {
	r := &study.Report{
		Head: report.Head{
			Versions: map[string]string{rig.Event: "this tree at abc", rig.Upstream: "fasthttp v1.77.0", rig.NetHTTP: "go1.99", rig.Nginx: "nginx/9"},
			Rounds:   2,
		},
		Seconds: 1, ServerPlace: "pinned to processor 0", ClientPlace: "pinned to processor 1", Procs: 1, Rows: rows,
	}
	for _, row := range rows {
		for _, m := range row.Servers {
			if !slices.Contains(r.Servers, m.Server) {
				r.Servers = append(r.Servers, m.Server)
			}
		}
	}
	return r
}

// missed adds a missing tool and a failure.
func missed(r *study.Report, what, failure string) *study.Report {
	r.Missing, r.Failures = []string{what}, []string{failure}
	return r
}

const (
	event, upstream, netHTTP = rig.Event, rig.Upstream, rig.NetHTTP
	streams                  = "1 connection x 100 streams"
)

// sample is a set of results with one result of each kind.
func sample() *results {
	loads := func() *study.Report {
		return measured(
			row(study.Row{Name: "64 connections", Kind: tcp.Steady, Conns: 64}, map[string]figures{
				study.CPUs: {event: 2.2, upstream: 4, netHTTP: 8, rig.Floor: 2}, study.P99: {event: 50, upstream: 100},
			}),
			row(study.Row{Name: "512 connections", Kind: tcp.Steady, Conns: 512}, map[string]figures{
				study.CPUs: {event: 3, upstream: 5, netHTTP: 9, rig.Floor: 2.5}, study.P99: {event: 150, upstream: 100},
			}),
			row(study.Row{Name: "64 connections, pipelined", Kind: tcp.Pipelined, Conns: 64}, map[string]figures{
				study.CPUs: {event: 0.2, upstream: 0.8}, study.P99: {event: 90, upstream: 100},
			}))
	}
	waits := func(procs int, p99 float64) *study.Row {
		return row(study.Row{Name: fmt.Sprintf("sleep1ms, 64 connections, GOMAXPROCS %d", procs), Kind: "sleep1ms", Conns: 64, Procs: procs}, map[string]figures{
			study.Rate: {event: 40_000, rig.Portable: 41_000, netHTTP: 30_000}, study.P99: {event: p99, rig.Portable: 1000, netHTTP: 2000},
		})
	}
	callers := func(name string, ours float64) *study.Row {
		return row(study.Row{Name: name}, map[string]figures{calls.CPUs: {calls.OursHTTP2: ours, calls.NetHTTPHTTP2: 50, calls.Bare: 0.9 * ours}})
	}
	size := func(name string, ours float64) *study.Row {
		return row(study.Row{Name: name, Conns: 8}, map[string]figures{"with wrk": {event: ours, upstream: 100}})
	}
	held := study.Row{Name: "19000 connections", Conns: 19_000, Procs: 1}
	secure := measured(row(study.Row{Name: "64 connections, TLS", Kind: tcp.Steady, Conns: 64}, map[string]figures{
		study.CPUs: {event: 8, upstream: 10, rig.Nginx: 10},
	}))
	http2s := missed(measured(row(study.Row{Name: streams}, map[string]figures{
		study.Rate: {event: 100_000, rig.Nghttpd: 90_000}, study.CPUs: {event: 1.2, rig.Nghttpd: 3, rig.H2O: 1.5},
	})), "no nginx", "round 1, h2o: gone")
	http2Secure := missed(measured(), "no nginx", "round 2, h2o: gone")
	http2Secure.TLS, secure.TLS = true, true
	return &results{
		Machine: report.Machine{OS: "linux", Arch: "amd64", Kernel: "9.9", CPU: "Some CPU", Cores: 2, Go: "go1.99"},
		Date:    "2026-01-02 03:04 UTC",
		Short:   map[string]bool{"tcp": true},
		Failed:  map[string]string{"crowd": "no descriptors"},
		Missing: []string{"There is no tea."},
		Rows:    sampleRows(),
		Fill: &idle.FillReport{Servers: []*idle.Filled{
			{Server: event, Limit: "memory", Processes: 80, Held: 1_500_000, OpenRate: 4000, RequestRate: 50_000, CPU: 20, User: 300, Kernel: 8000, Client: 1500, Total: 20 << 30, Seconds: 400},
		}},
		Size: &binsize.Report{Program: "a program", Ours: 1_040_000, Upstream: 1_000_000},
		Sockets: map[string]*study.Report{
			varied: loads(), repeated: loads(),
			slow: measured(
				row(study.Row{Name: "none"}, map[string]figures{study.P99: {event: 100, upstream: 100, netHTTP: 150}}),
				row(study.Row{Name: "1 request in 100 sleeps 1 s"}, map[string]figures{study.P99: {event: 150, upstream: 150}}),
				row(study.Row{Name: tcp.Computing}, map[string]figures{study.P99: {event: 250, netHTTP: 200}})),
			wait: measured(waits(1, 1200), waits(2, 900)),
			file: measured(row(study.Row{Name: "1 KiB, cached", Conns: 64}, map[string]figures{study.CPUs: {event: 4.2, upstream: 5, rig.Nginx: 3}})),
			idleOne: measured(row(held, map[string]figures{
				idle.Resident: {event: 250, upstream: 16_500, netHTTP: 20_000}, idle.Goroutines: {event: 0, upstream: 1, netHTTP: 1},
			})),
			call:     missed(measured(callers("1 caller", 25), callers("100 callers", 2)), "There is no milk.", "round 1, bare: away"),
			tlsLoads: secure,
			handshakes: missed(measured(
				row(study.Row{Name: string(tlsload.Full)}, map[string]figures{"handshakes/s": {event: 4400, netHTTP: 4000}, "CPU µs/handshake": {event: 90, netHTTP: 100}}),
				row(study.Row{Name: string(tlsload.Resumed)}, map[string]figures{"handshakes/s": {event: 2800, netHTTP: 4000}, "CPU µs/handshake": {event: 140, netHTTP: 100}}),
			), "no nginx", "round 1, net/http: gone"),
			flood: measured(
				row(study.Row{Name: "none"}, map[string]figures{study.P99: {event: 100}}),
				row(study.Row{Name: "5000 half-open handshakes, 1000 new a second"}, map[string]figures{
					study.P99: {event: 210}, "bytes for each": {event: 1800}, "held open": {event: 5000},
				})),
			tlsFiles: measured(size("1 MiB", 100), size("100 MiB", 106)),
			tlsIdle: measured(row(study.Row{Name: "10000 connections", Conns: 10_000, Procs: 1}, map[string]figures{
				"heap bytes/connection": {event: 5900}, "stack bytes/connection": {event: 100}, idle.Goroutines: {event: 0},
			})),
			http2: http2s, http2TLS: http2Secure,
			http2Idle: measured(row(held, map[string]figures{idle.Resident: {event: 1500, netHTTP: 30_000}})),
			webSocket: missed(measured(
				row(study.Row{Name: "echo of tea"}, map[string]figures{ws.CPUs: {"ours, callbacks": 2, rig.FasthttpWebSocket: 4}}),
				row(study.Row{Name: "many idle sockets", Kind: study.IdleRow}, map[string]figures{ws.Resident: {"ours, callbacks": 500}}),
			), "no loop", "round 1, gws: away"),
		},
	}
}

func sampleRows() *report.Report {
	c := report.NewCollector()
	add := func(build, name string, procs int, allocs float64, times ...float64) {
		for _, ns := range times {
			c.Add(build, gobench.Result{Name: name, Procs: procs, NsPerOp: ns, AllocsPerOp: allocs})
		}
	}
	for procs := 1; procs <= 2; procs++ {
		for _, row := range []struct {
			name           string
			ours, upstream float64
		}{
			{"ServerGet1ReqPerConn", 1000, 1400},
			{"ServerGet10ReqPerConn", 200, 600},
			{"ServerGet10KReqPerConn", 100, 400},
			{"ServerGetOnePerRead", 100, 300},
			{"ServerGetVariedOnePerRead", 100, 240},
			{"ServerGetProxied100ReqPerConn10KClients", 100, 290},
		} {
			add(report.Ours, row.name, procs, 0, row.ours, row.ours+1)
			add(report.Upstream, row.name, procs, 0, row.upstream, row.upstream+1)
			add(report.NetHTTP, row.name, procs, 20, 10*row.ours)
		}
	}
	add(report.Ours, "HTTP2ServerGet1Stream", 1, 0, 900)
	add(report.NetHTTP, "HTTP2ServerGet1Stream", 1, 0, 9000)
	add(report.Ours, "ClientGet1CallersTCP", 1, 0, 100)
	add(report.Upstream, "ClientGet1CallersTCP", 1, 0, 160)
	add(report.Ours, "ClientGetVaried1CallersMemory", 1, 0, 100)
	add(report.Upstream, "ClientGetVaried1CallersMemory", 1, 0, 125)
	for name, times := range map[string][2][]float64{
		"ArgsParse":         {{100, 101}, {300, 301}},
		"CookieParse":       {{100, 110}, {90, 105}}, // slower, perhaps by chance
		"AppendEncoded/br":  {{100, 101}, {90, 91}},
		"FilesTCP/NotFound": {{100, 101}, {500, 501}},
	} {
		add(report.Ours, name, 1, 0, times[0]...)
		add(report.Upstream, name, 1, 0, times[1]...)
	}
	r := &report.Report{
		Head:      report.Head{Versions: map[string]string{report.Ours: "this tree at abc", report.Upstream: "fasthttp v1.77.0"}, Rounds: 2},
		Benchtime: "20ms",
	}
	c.Finish(r)
	slices.SortStableFunc(r.Rows, func(a, b *report.Row) int { return strings.Compare(a.Name, b.Name) })
	return r
}

func samplePage(r *results) *page {
	return &page{results: r, goals: goals(r), notes: map[string]string{"cpu-512": "The kernel does."}}
}

// TestPage compares the page with testdata/performance.md, which -update writes. It has its
// own table of phases: the real table changes with the program.
func TestPage(t *testing.T) {
	defer func(real string) { phases = real }(phases)
	phases = "\n#### What a varied GET takes\n\n| part | before | after |\n|---|---:|---:|\n| parse | 2 | 1 |\n"
	folder := t.TempDir()
	if err := samplePage(sample()).write(folder); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"performance.md", "performance-rows.md"} {
		got, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		golden := filepath.Join("testdata", name)
		if *update {
			if err := os.WriteFile(golden, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
		}
	}
	checkPages(t, folder)
}

var picture = regexp.MustCompile(`!\[[^]]+\]\(([^)]+)\)`)

// checkPages checks properties of all pages: each picture exists and is on one of them, and
// no figure is invalid.
func checkPages(t *testing.T, folder string) {
	t.Helper()
	var text string
	for _, name := range []string{"performance.md", "performance-rows.md"} {
		page, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		text += string(page)
	}
	if strings.Contains(text, "NaN") || strings.Contains(text, "Inf") {
		t.Errorf("the page has figures that are none:\n%s", text)
	}
	seen := map[string]bool{}
	for _, match := range picture.FindAllStringSubmatch(text, -1) {
		seen[match[1]] = true
		svg, err := os.ReadFile(filepath.Join(folder, filepath.FromSlash(match[1])))
		if err != nil {
			t.Error(err)
			continue
		}
		decoder := xml.NewDecoder(bytes.NewReader(svg))
		for err == nil {
			_, err = decoder.Token()
		}
		if !errors.Is(err, io.EOF) || bytes.Contains(svg, []byte("NaN")) {
			t.Errorf("%s: %v\n%s", match[1], err, svg)
		}
	}
	files, err := os.ReadDir(filepath.Join(folder, "img"))
	if err != nil || len(files) != len(seen) {
		t.Errorf("%d pictures on the pages, %d files: %v", len(seen), len(files), err)
	}
}

func TestGoals(t *testing.T) {
	want := map[string]struct {
		verdict, figure string
	}{
		"server-varied-each-one": {"met", "2 of 2 rows; the least is 2.39× (ServerGetVariedOnePerRead)"},
		"server-varied-mean-one": {"met", "2.63×"},
		"client-varied-each":     {"**not met**", "0 of 1 rows; the least is 1.25× (ClientGetVaried1CallersMemory)"},
		"server-each-one":        {"**not met**", "3 of 4 rows; the least is 1.40× (ServerGet1ReqPerConn)"},
		"server-mean-one":        {"met", "3.29×"},
		"server-allocs-all":      {"met", "0 allocs/op in all rows"},
		"client-each":            {"met", "1 of 1 rows; the least is 1.60× (ClientGet1CallersTCP)"},
		"client-mean":            {"met", "1.60×"},
		"none-slower":            {"**not met**", "1 of 4 are slower: AppendEncoded/br 0.90×"},
		"cpu-64":                 {"met", "1.10 (upstream: 2.00)"},
		"cpu-512":                {"**not met**", "1.20 (upstream: 2.00)"},
		"cpu-pipelined":          {"not measured", ""},
		"cpu-4096":               {"not measured", ""},
		"p99":                    {"**not met**", "0.50 with 64 connections, 1.50 with 512 connections, 0.90 with 64 connections, 16 requests pipelined"},
		"slow-sleep":             {"met", "1.50× (upstream: 1.50×)"},
		"slow-spin":              {"**not met**", "2.50×"},
		"slow-spin-nethttp":      {"met", "1.25 (250 µs of 200 µs)"},
		"wait-rate":              {"met", "2 of 2 rows"},
		"wait-p99":               {"**not met**", "1 of 2 rows; not sleep1ms, 64 connections, GOMAXPROCS 1: 1.20"},
		"files-upstream":         {"met", "0.84 at most (1 KiB, cached)"},
		"files-nginx":            {"**not met**", "not with 1 KiB, cached 1.40"},
		"idle":                   {"met", "250 bytes, 19000 connections"},
		"idle-crowd":             {"not measured", ""},
		"idle-goroutines":        {"met", "0.00"},
		"size":                   {"met", "1.040"},
		"http2-nghttpd-1":        {"met", "0.40"},
		"http2-h2o-1":            {"**not met**", "0.80"},
		"http2-nghttpd-64":       {"not measured", ""},
		"http2-idle":             {"met", "1500 bytes, 19000 connections"},
		"calls-1":                {"**not met**", "0.50 (ready frames: 0.45)"},
		"calls-100":              {"met", "0.04 (ready frames: 0.04)"},
		"calls-1000":             {"not measured", ""},
		"tls-cpu-1":              {"not measured", ""},
		"tls-cpu-64":             {"met", "0.80 (nginx: 1.00)"},
		"tls-handshakes":         {"met", "1.10 (processor time for each: 0.90)"},
		"tls-resumed":            {"**not met**", "0.70 (processor time for each: 1.40)"},
		"tls-files":              {"**not met**", "1 MiB 1.00, 100 MiB 1.06"},
		"tls-idle":               {"met", "6000 bytes, 10000 connections"},
		"tls-idle-goroutines":    {"met", "0.00"},
		"tls-flood":              {"**not met**", "2.10×"},
		"tls-flood-memory":       {"met", "1800 bytes, 5000 connections"},
	}
	ids := map[string]bool{}
	for _, g := range goals(sample()) {
		if ids[g.ID] {
			t.Errorf("two goals are called %s", g.ID)
		}
		ids[g.ID] = true
		w, ok := want[g.ID]
		if ok && (g.Verdict() != w.verdict || g.Figure != w.figure) {
			t.Errorf("%s: %s, %q; want %s, %q", g.ID, g.Verdict(), g.Figure, w.verdict, w.figure)
		}
		delete(want, g.ID)
	}
	if len(want) > 0 {
		t.Errorf("not judged: %v", want)
	}
	for _, g := range goals(new(results)) {
		if !ids[g.ID] || g.Verdict() != "not measured" {
			t.Errorf("without results: %s is %s", g.ID, g.Verdict())
		}
	}
}

// TestNotesAreOfGoals checks that notes.md has no note without a goal, because the page would
// omit it.
func TestNotesAreOfGoals(t *testing.T) {
	text, err := os.ReadFile("notes.md")
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]bool{}
	for _, g := range goals(new(results)) {
		ids[g.ID] = true
	}
	for id, note := range parseNotes(string(text)) {
		if !ids[id] || note == "" {
			t.Errorf("a note of %q: %q", id, note)
		}
	}
	got := parseNotes("words\n\n## a\n\none\ntwo\n\n## b\nthree\n")
	if !maps.Equal(got, map[string]string{"a": "one two", "b": "three"}) {
		t.Errorf("got %v", got)
	}
}
