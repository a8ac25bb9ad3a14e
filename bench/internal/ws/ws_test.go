package ws

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/valyala/fasthttp/bench/internal/progress"
	"github.com/valyala/fasthttp/bench/internal/rig"
	"github.com/valyala/fasthttp/bench/internal/wsload"
)

func TestMain(m *testing.M) {
	wsload.Main()
	os.Exit(m.Run())
}

func needCompiler(t *testing.T) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("the load and the loop in C need epoll")
	}
	if _, err := exec.LookPath("cc"); err != nil {
		t.Skip("there is no C compiler")
	}
}

type silent struct{}

func (silent) Plan(int, float64)   {}
func (silent) Begin(string)        {}
func (silent) End(float64, string) {}
func (silent) Note(string)         {}

var _ progress.Log = silent{}

// TestMeasure measures two servers as the command does.
func TestMeasure(t *testing.T) {
	needCompiler(t)
	dir, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	r, runs, err := Measure(t.Context(), dir, Options{
		Rounds: 1, Seconds: 1, Conns: 100,
		Rows: regexp.MustCompile("125 B, 64 sockets$|idle"), Servers: regexp.MustCompile("^gorilla|C epoll"),
	}, silent{})
	if err != nil {
		t.Fatal(err)
	}
	// On a busy machine a server may not get a measurable time.
	busy := func(failure string) bool { return strings.Contains(failure, "used no processor time") }
	if failures := slices.DeleteFunc(slices.Clone(r.Failures), busy); len(failures) > 0 || runs != 5 || len(r.Rows) != 3 {
		t.Fatalf("%d runs, %d rows, failures %q", runs, len(r.Rows), failures)
	}
	echo, idle, secured := r.Rows[0], r.Rows[1], r.Rows[2]
	if len(echo.Servers)+len(r.Failures) != 2 || len(idle.Servers) != 2 || !idle.Idle || echo.Idle {
		t.Fatalf("%+v, %+v", echo, idle)
	}
	for _, m := range echo.Servers {
		if m.CPU.Median <= 0 || m.Rate.Median <= 0 || m.P99.Median < m.P50.Median || (m.Allocs == nil) != (m.Server == rig.WebSocketFloor) {
			t.Errorf("%+v", m)
		}
	}
	if m := idle.of("gorilla/websocket"); m.Goroutines.Median != 1 || m.Resident.Median <= 0 {
		t.Errorf("idle: %+v", m)
	}
	if len(secured.Servers) != 1 || secured.Servers[0].Resident.Median <= 0 {
		t.Errorf("over TLS: %+v", secured)
	}
	if m := idle.of(rig.WebSocketFloor); m.Goroutines != nil {
		t.Errorf("idle: %+v", m)
	}
}
