package idle

import (
	"errors"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/valyala/fasthttp/bench/internal/procfs"
	"github.com/valyala/fasthttp/bench/internal/progress"
	"github.com/valyala/fasthttp/bench/internal/rig"
)

// TestMain lets the test binary run as the processes of crowds.
func TestMain(m *testing.M) {
	Crowd()
	os.Exit(m.Run())
}

func TestFillHoldsConnectionsAndSendsARequestOverEach(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only linux has a whole network of loopback addresses")
	}
	if testing.Short() {
		t.Skip("it builds the servers")
	}
	const conns = 500
	var log strings.Builder
	modules := rig.Modules{Ours: "go.mod", Upstream: "go.mod"} // the published one need not be available
	r, err := Fill(t.Context(), "../..", FillOptions{Conns: conns, Modules: modules, each: 200}, progress.New(&log))
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Failures) != 0 || r.Runs != 2 || len(r.Servers) != 2 {
		t.Fatalf("%d servers, failures %q\n%s", r.Runs, r.Failures, log.String())
	}
	for _, m := range r.Servers {
		if m.Held != conns || m.Asked != conns || m.Processes != 3 || m.Failed != 0 || m.Limit != "-conns" || m.OpenRate <= 0 || m.RequestRate <= 0 || m.Total <= 0 {
			t.Errorf("%+v", *m)
		}
	}
	for _, want := range []string{rig.Event + ": 200 connections for a try\n", "[1/2] " + rig.Event + ": opening  500 connections, "} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("progress was\n%s", log.String())
		}
	}
}

func TestBounds(t *testing.T) {
	const mib = 1 << 20
	tests := []struct {
		name  string
		bound bound
		conns int
		why   string
	}{
		{"ports", boundOfPorts(20_000), 254 * 19_000, "254 client processes have 19000"},
		{"ports without a limit of files", boundOfPorts(1 << 30), 254 * crowdConns, ""},
		{"few files", boundOfPorts(1024), 254 * 24, ""},
		{"files of the system", boundOfFiles(2_466_000), 1_232_500, "fs.file-max leaves 2466000"},
		{"no files left", boundOfFiles(100), 0, ""},
		{"memory", boundOfMemory(procfs.Memory{Total: 4096 * mib, Room: 2048 * mib}, 8192), 1024 * mib / 8192, "1.0 GiB, beside 1.0 GiB for all else; a connection took 8.0 KiB"},
		{"much memory", boundOfMemory(procfs.Memory{Total: 32768 * mib, Room: 20480 * mib}, 8192), 18432 * mib / 8192, "beside 2.0 GiB"},
		{"no memory", boundOfMemory(procfs.Memory{Total: 4096 * mib, Room: 1000 * mib}, 8192), 0, ""},
	}
	for _, test := range tests {
		if test.bound.conns != test.conns || !strings.Contains(test.bound.why, test.why) {
			t.Errorf("%s: %+v", test.name, test.bound)
		}
	}
}

// answers is a connection on which each request has this error.
type answers struct{ err error }

func (a answers) Get() error   { return a.err }
func (a answers) Close() error { return nil }

func TestRequestsThatFailAreCounted(t *testing.T) {
	const n = 1000
	tests := []struct {
		name  string
		fails func(i int) bool
		want  int
	}{
		{"none", func(int) bool { return false }, n},
		{"one", func(i int) bool { return i == 7 }, n - 1},
		{"all of one opener", func(i int) bool { return i%crowdOpeners == 3 }, n - (n-3+crowdOpeners-1)/crowdOpeners},
		{"all", func(int) bool { return true }, 0},
	}
	for _, test := range tests {
		conns := make([]conn, n)
		for i := range conns {
			if test.fails(i) {
				conns[i] = answers{errors.New("it is\nclosed")}
			} else {
				conns[i] = answers{}
			}
		}
		got := getAll(t.Context(), conns)
		if got.Conns != test.want || (got.Wrong == "it is closed") != (test.want < n) {
			t.Errorf("%s: %+v, want %d", test.name, got, test.want)
		}
	}
}
