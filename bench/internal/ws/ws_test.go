package ws

import (
	"math"
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
	"github.com/valyala/fasthttp/bench/internal/serving"
	"github.com/valyala/fasthttp/bench/internal/turns"
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

// TestTheLoopInCAnswersEveryLoad runs a small version of each row; the load checks the answers.
func TestTheLoopInCAnswersEveryLoad(t *testing.T) {
	needCompiler(t)
	floor, err := rig.BuildWebSocketFloor(t.Context(), filepath.Join("..", ".."), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p, err := floor.Start(t.Context(), rig.Settings{Mode: serving.Plain, Place: rig.Anywhere, Procs: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Stop()
	for _, l := range loads(20) {
		if l.TLS {
			continue
		}
		l.Addr, l.Conns, l.Time = p.Addr, min(l.Conns, 20), warmTime
		sockets, err := wsload.Start(t.Context(), rig.Anywhere, l.Load)
		if err != nil {
			t.Errorf("%s: %v", l.name, err)
			continue
		}
		if l.Kind != wsload.Idle {
			if r, err := sockets.Run(t.Context()); err != nil || r.Messages < l.Conns {
				t.Errorf("%s: %+v, %v", l.name, r, err)
			}
		}
		if err := sockets.Stop(); err != nil {
			t.Errorf("%s: %v", l.name, err)
		}
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

func TestNothingToMeasureIsAnError(t *testing.T) {
	all := regexp.MustCompile("")
	if _, _, err := Measure(t.Context(), "", Options{Rounds: 1, Seconds: 1, Conns: 1, Rows: regexp.MustCompile("tea"), Servers: all}, silent{}); err == nil {
		t.Error("a row tea was measured")
	}
}

func TestEveryLoadHasANameOfItsOwn(t *testing.T) {
	seen := map[string]bool{}
	for _, l := range loads(10_000) {
		if seen[l.name] {
			t.Errorf("two rows are called %s", l.name)
		}
		seen[l.name] = true
	}
	for _, l := range loads(10) {
		if l.Kind != wsload.Echo && l.Conns > 10 {
			t.Errorf("%s has %d sockets", l.name, l.Conns)
		}
	}
}

func TestReport(t *testing.T) {
	nan := math.NaN()
	s := &session{
		Options: Options{Rounds: 3, Seconds: 2},
		servers: []*rig.Server{
			{Name: "ours", Version: "1"}, {Name: rig.FasthttpWebSocket, Version: "2"}, {Name: rig.WebSocketFloor, Version: "C"},
		},
		place: rig.Anywhere, clientPlace: rig.Anywhere,
		missing: []string{"a cat instead of a dog"}, failures: []string{"round 2: no\nanswer"},
		samples: map[turns.Key][]sample{},
	}
	for _, l := range loads(100) {
		if l.name == "echo of 125 B, 64 sockets" || l.Kind == wsload.Idle && !l.TLS || l.Ping {
			s.loads = append(s.loads, l)
		}
	}
	echo, idle, pings := s.loads[0].name, s.loads[1].name, s.loads[2].name
	for server, cpus := range map[string][]float64{"ours": {5, 4, 6}, rig.FasthttpWebSocket: {10, 12, 10}, rig.WebSocketFloor: {4, 4, 8}} {
		for _, cpu := range cpus {
			allocs := 2.0
			if server == rig.WebSocketFloor {
				allocs = nan
			}
			k := turns.Key{Load: echo, Server: server}
			s.samples[k] = append(s.samples[k], sample{rate: 1000, cpu: cpu, load: 1, allocs: allocs, p50: 7, p99: 90, most: 900})
		}
	}
	s.samples[turns.Key{Load: idle, Server: "ours"}] = []sample{{idle: true, resident: 500, goroutines: 0}}
	s.samples[turns.Key{Load: idle, Server: rig.FasthttpWebSocket}] = []sample{{idle: true, resident: 5000, goroutines: 1}}
	s.samples[turns.Key{Load: idle, Server: rig.WebSocketFloor}] = []sample{{idle: true, resident: 100, goroutines: nan}}
	s.samples[turns.Key{Load: pings, Server: "ours"}] = []sample{{rate: 1000, cpu: 3, load: 1, p50: 7, p99: 90, most: 900}}

	text := s.report().Markdown()
	for _, want := range []string{
		"# WebSocket servers over loopback sockets\n",
		"- fasthttp/websocket: 2\n", "- a cat instead of a dog\n", "- 2 seconds each\n", "3 rounds",
		"| row | ours | fasthttp/websocket | C epoll loop, checks nothing |\n",
		"| echo of 125 B, 64 sockets | 5.00 | 10.00 | 4.00 |\n",
		"| 100 idle sockets | 500 | 5000 | 100 |\n",
		"| echo of 125 B, 64 sockets, a ping before each message | 3.00 | – | – |\n",
		"| ours | 1000 ±0% | 5.00 ±20% | 4.00 | 2.00 | 7 ±0% | 90 ±0% | 900 | 1.00 | 0.50 | (1.25) |\n",
		"| fasthttp/websocket | 1000 ±0% | 10.00 ±0% | 10.00 | 2.00 | 7 ±0% | 90 ±0% | 900 | 1.00 | – | 2.50 |\n",
		"| C epoll loop, checks nothing | 1000 ±0% | 4.00 ±0% | 4.00 | – | 7 ±0% | 90 ±0% | 900 | 1.00 | 0.40 | – |\n",
		"| ours | 500 ±0% | 0.00 | 0.10 | 5.00 |\n",
		"| C epoll loop, checks nothing | 100 ±0% | – | 0.02 | – |\n",
		"| ours | 1000 ±0% | 3.00 ±0% | 3.00 | 0.00 | 7 ±0% | 90 ±0% | 900 | 1.00 | – | – |\n",
		"- round 2: no answer\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}
