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
	"github.com/valyala/fasthttp/bench/internal/study"
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
	r, err := Measure(t.Context(), dir, Options{
		Options: study.Options{Rounds: 1, Seconds: 1, Rows: regexp.MustCompile("125 B, 64 sockets$|idle")},
		Conns:   100, Servers: regexp.MustCompile("^gorilla|C epoll"),
	}, silent{})
	if err != nil {
		t.Fatal(err)
	}
	// On a busy machine a server may not get a measurable time.
	busy := func(failure string) bool { return strings.Contains(failure, "of processor time") }
	if failures := slices.DeleteFunc(slices.Clone(r.Failures), busy); len(failures) > 0 || r.Runs != 5 || len(r.Rows) != 3 {
		t.Fatalf("%d runs, %d rows, failures %q", r.Runs, len(r.Rows), failures)
	}
	echo, idle, secured := r.Rows[0], r.Rows[1], r.Rows[2]
	if len(echo.Servers)+len(r.Failures) != 2 || len(idle.Servers) != 2 {
		t.Fatalf("%+v, %+v", echo, idle)
	}
	for _, m := range echo.Servers {
		f := m.Figures
		if f[CPUs].Median <= 0 || f[rate].Median <= 0 || f[study.P99].Median < f[study.P50].Median || (len(f[allocs].Samples) == 0) != (m.Server == rig.WebSocketFloor) {
			t.Errorf("%+v", m)
		}
	}
	if idle.Get("gorilla/websocket", goroutines).Median != 1 || idle.Get("gorilla/websocket", Resident).Median <= 0 {
		t.Errorf("idle: %+v", idle)
	}
	if len(secured.Servers) != 1 || secured.Servers[0].Figures[Resident].Median <= 0 {
		t.Errorf("over TLS: %+v", secured)
	}
}
