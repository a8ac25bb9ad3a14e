package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp/bench/internal/binsize"
	"github.com/valyala/fasthttp/bench/internal/calls"
	"github.com/valyala/fasthttp/bench/internal/files"
	"github.com/valyala/fasthttp/bench/internal/gobench"
	"github.com/valyala/fasthttp/bench/internal/idle"
	"github.com/valyala/fasthttp/bench/internal/report"
	"github.com/valyala/fasthttp/bench/internal/rig"
	"github.com/valyala/fasthttp/bench/internal/stats"
	"github.com/valyala/fasthttp/bench/internal/tcp"
)

var update = flag.Bool("update", false, "write what the page should look like")

// sample is a set of results with one result of each kind.
func sample() *results {
	head := rig.Head{
		Versions: map[string]string{rig.Event: "this tree at abc", rig.Upstream: "fasthttp v1.77.0", rig.NetHTTP: "go1.99"},
		Rounds:   2,
	}
	return &results{
		Machine:  report.Machine{OS: "linux", Arch: "amd64", Kernel: "9.9", CPU: "Some CPU", Cores: 2, Go: "go1.99"},
		Date:     "2026-01-02 03:04 UTC",
		Short:    map[string]bool{"tcp": true},
		Failed:   map[string]string{"crowd": "no descriptors"},
		Missing:  []string{"There is no tea."},
		Rows:     sampleRows(),
		Varied:   sampleTCP(head),
		TCP:      sampleTCP(head),
		Slow:     sampleSlow(head),
		Wait:     sampleWait(head),
		Files:    sampleFiles(head),
		Idle:     sampleIdle(head),
		IdleMany: nil,
		Fill:     sampleFill(head),
		Calls:    sampleCalls(head),
		TLS:      sampleTLS(head),
		HTTP2:    sampleHTTP2(head),
		WS:       sampleWS(head),
		Size:     &binsize.Report{Program: "examples/helloworld", Ours: 1_040_000, Upstream: 1_000_000},
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
		Versions:  map[string]string{report.Ours: "this tree at abc", report.Upstream: "fasthttp v1.77.0"},
		Rounds:    2,
		Benchtime: "20ms",
	}
	c.Finish(r)
	slices.SortStableFunc(r.Rows, func(a, b *report.Row) int { return strings.Compare(a.Name, b.Name) })
	return r
}

func sampleTCP(head rig.Head) *tcp.Report {
	r := &tcp.Report{Head: head, Seconds: 1, ServerPlace: "pinned to processor 0", ClientPlace: "pinned to processor 1", Procs: 1}
	for _, load := range []struct {
		name, kind string
		conns      int
		cpu        map[string]float64
		p99        float64
	}{
		{"64 connections", tcp.Steady, 64, map[string]float64{rig.Event: 2.2, rig.Upstream: 4, rig.NetHTTP: 8, rig.Floor: 2}, 0.5},
		{"512 connections", tcp.Steady, 512, map[string]float64{rig.Event: 3, rig.Upstream: 5, rig.NetHTTP: 9, rig.Floor: 2.5}, 1.5},
		{"64 connections, pipelined", tcp.Pipelined, 64, map[string]float64{rig.Event: 0.2, rig.Upstream: 0.8}, 0.9},
	} {
		row := &tcp.Row{Name: load.name, Kind: load.kind, Conns: load.conns}
		for _, server := range slices.Sorted(maps.Keys(load.cpu)) {
			cpu := load.cpu[server]
			m := &tcp.Measurement{Server: server, CPU: stats.Summarize([]float64{cpu})}
			if server != rig.Upstream {
				m.CPURatio = rig.Ratio{Value: cpu / load.cpu[rig.Upstream]}
			}
			if server == rig.Event {
				m.P99Ratio = rig.Ratio{Value: load.p99}
				m.FloorRatio = rig.Ratio{Value: stats.Ratio(cpu, load.cpu[rig.Floor])}
			}
			row.Servers = append(row.Servers, m)
		}
		r.Rows = append(r.Rows, row)
	}
	return r
}

func sampleSlow(head rig.Head) *tcp.SlowReport {
	r := &tcp.SlowReport{Head: head, Rate: 2000}
	for _, server := range []string{rig.Event, rig.Upstream} {
		for beside, ratio := range map[string]float64{"1 in 100": 1.5} {
			r.Rows = append(r.Rows,
				&tcp.SlowRow{Server: server, Beside: "none", P99: stats.Summarize([]float64{100})},
				&tcp.SlowRow{Server: server, Beside: beside, P99: stats.Summarize([]float64{150}), P99Ratio: rig.Ratio{Value: ratio}})
		}
	}
	r.Rows = append(r.Rows,
		&tcp.SlowRow{Server: rig.Event, Beside: tcp.Computing, P99: stats.Summarize([]float64{250}),
			P99Ratio: rig.Ratio{Value: 2.5}, ToNetHTTP: rig.Ratio{Value: 1.25}},
		&tcp.SlowRow{Server: rig.NetHTTP, Beside: tcp.Computing, P99: stats.Summarize([]float64{200})})
	return r
}

func sampleWait(head rig.Head) *tcp.WaitReport {
	r := &tcp.WaitReport{Head: head, Time: time.Second, ServerPlace: "pinned to processor 0", ClientPlace: "pinned to processor 1"}
	for procs, p99 := range []float64{1200, 900} {
		row := &tcp.WaitRow{Handler: "sleep1ms", Conns: 64, Procs: 1 + procs}
		for _, m := range []struct {
			server    string
			rate, p99 float64
		}{{rig.Event, 40_000, p99}, {rig.Portable, 41_000, 1000}, {rig.NetHTTP, 30_000, 2000}} {
			row.Servers = append(row.Servers, &tcp.WaitMeasurement{
				Server: m.server, Rate: stats.Summarize([]float64{m.rate}), P99: stats.Summarize([]float64{m.p99}),
			})
		}
		row.Goals = []tcp.WaitGoal{
			{Of: tcp.WaitRate, Best: rig.Portable, Ratio: rig.Ratio{Value: 40. / 41}, Met: true},
			{Of: tcp.WaitP99, Best: rig.Portable, Ratio: rig.Ratio{Value: p99 / 1000}, Met: p99 < 1100},
		}
		r.Rows = append(r.Rows, row)
	}
	return r
}

func sampleFiles(head rig.Head) *files.Report {
	r := &files.Report{Head: head, Nginx: "nginx/9"}
	r.Rows = []*files.Row{{Name: "1 KiB", Conns: 8, Servers: []*files.Measurement{
		{Server: rig.Event, CPU: stats.Summarize([]float64{4}), ToUpstream: rig.Ratio{Value: 0.8}, ToNginx: rig.Ratio{Value: 1.4}},
		{Server: rig.Upstream, CPU: stats.Summarize([]float64{5})},
	}}}
	r.Goals = []files.Goal{
		{Row: "1 KiB", To: rig.Upstream, Most: 1, Ratio: rig.Ratio{Value: 0.8}, Met: true},
		{Row: "1 KiB", To: rig.Nginx, Most: 1.3, Ratio: rig.Ratio{Value: 1.4}},
	}
	return r
}

func sampleIdle(head rig.Head) *idle.Report {
	r := &idle.Report{Head: head, Conns: 19000, Procs: 1}
	for _, m := range []struct {
		server               string
		resident, goroutines float64
	}{{rig.Event, 250, 0}, {rig.Upstream, 16500, 1}, {rig.NetHTTP, 20000, 1}} {
		r.Servers = append(r.Servers, &idle.Measurement{
			Server: m.server, Resident: stats.Summarize([]float64{m.resident}), Goroutines: stats.Summarize([]float64{m.goroutines}),
		})
	}
	return r
}

func sampleFill(head rig.Head) *idle.FillReport {
	return &idle.FillReport{Head: head, Servers: []*idle.Filled{
		{Server: rig.Event, Limit: "memory", Processes: 80, Held: 1_500_000, OpenRate: 4000, RequestRate: 50_000, CPU: 20, User: 300, Kernel: 8000, Client: 1500, Total: 20 << 30, Seconds: 400},
	}}
}

func sampleCalls(head rig.Head) *calls.Report {
	r := &calls.Report{Head: head, Seconds: 1, ServerPlace: "pinned to processor 0", ClientPlace: "pinned to processor 1", Procs: 1, Missing: []string{"There is no milk."}}
	for name, ours := range map[string]float64{"1 caller": 25, "100 callers": 2} {
		r.Rows = append(r.Rows, &calls.Row{
			Name: name,
			Clients: []*calls.Measurement{
				{Client: calls.OursHTTP2, CPU: stats.Summarize([]float64{ours})},
				{Client: calls.NetHTTPHTTP2, CPU: stats.Summarize([]float64{50}), OursTo: rig.Ratio{Value: ours / 50}},
			},
			Goal: &calls.Goal{Most: calls.Most, Ratio: rig.Ratio{Value: ours / 50}, Met: ours == 2, Bare: rig.Ratio{Value: 0.9 * ours / 50}},
		})
	}
	slices.SortFunc(r.Rows, func(a, b *calls.Row) int { return strings.Compare(a.Name, b.Name) })
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
		"files-upstream":         {"met", "0.80 at most (1 KiB)"},
		"files-nginx":            {"**not met**", "not with 1 KiB 1.40"},
		"idle":                   {"met", "250 bytes, 19000 connections"},
		"idle-crowd":             {"not measured", ""},
		"idle-goroutines":        {"met", "0.00"},
		"size":                   {"met", "1.040"},
		"http2-nghttpd-1":        {"met", "0.40"},
		"http2-h2o-1":            {"**not met**", "(0.80)"},
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
		if ids[g.id] {
			t.Errorf("two goals are called %s", g.id)
		}
		ids[g.id] = true
		w, ok := want[g.id]
		if ok && (g.verdict() != w.verdict || g.figure != w.figure) {
			t.Errorf("%s: %s, %q; want %s, %q", g.id, g.verdict(), g.figure, w.verdict, w.figure)
		}
		delete(want, g.id)
	}
	if len(want) > 0 {
		t.Errorf("not judged: %v", want)
	}
	for _, g := range goals(new(results)) {
		if !ids[g.id] || g.verdict() != "not measured" {
			t.Errorf("without results: %s is %s", g.id, g.verdict())
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
		ids[g.id] = true
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
