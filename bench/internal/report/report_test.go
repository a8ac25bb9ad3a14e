package report

import (
	"math"
	"testing"

	"github.com/valyala/fasthttp/bench/internal/gobench"
)

// cpu invents the processor time of an operation: upstream uses all the time, ours half of it,
// and the time of net/http is unknown.
func cpu(build string, ns float64) float64 {
	return map[string]float64{Ours: ns / 2, Upstream: ns}[build]
}

// sample is a comparison of three rows with known figures.
func sample() *Report {
	c := NewCollector()
	add := func(build, name string, procs int, bytes, allocs float64, times ...float64) {
		for _, ns := range times {
			c.Add(build, gobench.Result{Name: name, Procs: procs, NsPerOp: ns, CPUNsPerOp: cpu(build, ns), BytesPerOp: bytes, AllocsPerOp: allocs})
		}
	}
	add(Ours, "ServerGet", 4, 0, 0, 50, 60, 40)
	add(Ours, "ServerGet", 1, 0, 0, 100, 110, 90)
	add(Upstream, "ServerGet", 1, 3, 1, 200, 210, 190)
	add(NetHTTP, TwinName("ServerGet"), 1, 2400, 22, 1000, 1000, 1100)
	add(Ours, "ServerPost", 1, 0, 0, 100)
	add(Upstream, "ServerPost", 1, 0, 0, 50)
	add(Ours, "ArgsParse", 1, 0, 0, 3.25, 3.5, 3)
	add(Upstream, "ArgsParse", 1, 0, 0, 3.5, 3.1, 4)
	r := &Report{
		Head: Head{
			Machine:  Machine{OS: "linux", Arch: "amd64", Kernel: "6.1", CPU: "Some CPU", Cores: 4, Go: "go1.26"},
			Versions: map[string]string{Ours: "this tree", Upstream: "v1.77.0"},
			Date:     "2026-01-02",
			Rounds:   3,
		},
		Benchtime: "1s",
	}
	c.Finish(r)
	return r
}

func TestRatiosAreTheOthersMediansOverOurs(t *testing.T) {
	want := map[string]map[string]float64{
		"ServerGet":  {Upstream: 2, NetHTTP: 10},
		"ServerPost": {Upstream: 0.5},
		"ArgsParse":  {Upstream: 3.5 / 3.25},
	}
	for _, row := range sample().Rows {
		if row.Procs != 1 {
			if len(row.Ratios) != 0 {
				t.Errorf("%s at %d: ratios without another build: %v", row.Name, row.Procs, row.Ratios)
			}
			continue
		}
		if len(row.Ratios) != len(want[row.Name]) {
			t.Errorf("%s: %v, want %v", row.Name, row.Ratios, want[row.Name])
		}
		for other, ratio := range want[row.Name] {
			if math.Abs(row.Ratios[other]-ratio) > 1e-12 {
				t.Errorf("%s: %s: %v, want %v", row.Name, other, row.Ratios[other], ratio)
			}
		}
	}
}

func TestCPURatiosNeedBothSides(t *testing.T) {
	want := map[string]float64{"ServerGet": 4, "ServerPost": 1, "ArgsParse": 3.5 / 1.625}
	for _, row := range sample().Rows {
		if row.Procs != 1 {
			continue
		}
		if got := row.CPURatios[Upstream]; math.Abs(got-want[row.Name]) > 1e-12 {
			t.Errorf("%s: got %v, want %v", row.Name, got, want[row.Name])
		}
		if got, ok := row.CPURatios[NetHTTP]; ok {
			t.Errorf("%s: %v times the processor time of nothing", row.Name, got)
		}
	}
}

func TestMeansAreTakenPerGroupAndProcessors(t *testing.T) {
	means := sample().Means
	if len(means) != 3 {
		t.Fatalf("got %+v", means)
	}
	if m := means[0]; m.Group != Servers || m.Procs != 1 || math.Abs(m.Ratios[Upstream]-1) > 1e-12 || math.Abs(m.Ratios[NetHTTP]-10) > 1e-12 {
		t.Errorf("got %+v", m)
	}
	if m := means[1]; m.Group != Servers || m.Procs != 4 || len(m.Ratios) != 0 {
		t.Errorf("got %+v", m)
	}
	if m := means[2]; m.Group != "Values" || m.Procs != 1 {
		t.Errorf("got %+v", m)
	}
}

func TestGroupsOfRows(t *testing.T) {
	for name, want := range map[string]string{
		"ServerGet10ReqPerConn":              Servers,
		"ServerGetBrowserOnePerRead":         Servers,
		"ServerPostVariedOnePerRead":         VariedServers,
		"ServerGetProxied10KReqPerConn":      VariedServers,
		"ClientGet1CallersMemory":            Clients,
		"ClientGetVaried1CallersMemory":      VariedClients,
		"PipelineClientVaried1":              VariedClients,
		"HTTP2ServerGetVaried1Stream":        HTTP2Servers,
		"HTTP2ClientGetVaried1CallersMemory": HTTP2Clients,
		"TLSServerGetVariedTCP":              TLSServers,
		"RequestHeaderReadVaried":            Values,
		"PipelineClientDo100":                Clients,
		"ArgsParse":                          Values,
		"AppendHTTPDate":                     Values,
		"AppendEncoded/Gzip":                 Compression,
		"CompressHandler":                    Compression,
		"FilesTCP/1KiB":                      Files,
	} {
		if got := Group(name); got != want {
			t.Errorf("%s is among %s, want %s", name, got, want)
		}
	}
}
