package tcp

import (
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp/bench/internal/rig"
	"github.com/valyala/fasthttp/bench/internal/serving"
	"github.com/valyala/fasthttp/bench/internal/turns"
	"github.com/valyala/fasthttp/bench/internal/wrk"
)

func TestAcceptRefusesRunsThatFailed(t *testing.T) {
	tests := []struct {
		result wrk.Result
		ok     bool
	}{
		{wrk.Result{Requests: 1000}, true},
		{wrk.Result{Requests: 1000, Errors: 10}, true},
		{wrk.Result{Requests: 1000, Errors: 11}, false},
		{wrk.Result{Requests: 1000, Refused: 1}, false},
		{wrk.Result{}, false},
	}
	for _, test := range tests {
		if err := accept(test.result); (err == nil) != test.ok {
			t.Errorf("%+v: %v", test.result, err)
		}
	}
}

func TestGeneratorCommand(t *testing.T) {
	g := generator{program: "wrk", place: rig.Anywhere, seconds: 7, temp: t.TempDir()}
	line, err := g.command(loads[0], "127.0.0.1:1234")
	if err != nil || strings.Join(line, " ") != "wrk -t1 -c1 -d7s --latency --timeout 10s http://127.0.0.1:1234/" {
		t.Errorf("%q, %v", line, err)
	}
	line, err = g.command(load{conns: 4, script: "the script"}, "127.0.0.1:1234")
	if err != nil {
		t.Fatal(err)
	}
	i := slices.Index(line, "-s")
	if i < 0 {
		t.Fatalf("no script: %q", line)
	}
	if text, err := os.ReadFile(line[i+1]); err != nil || string(text) != "the script" {
		t.Errorf("%q, %v", text, err)
	}
}

func TestPeersGetOnlyTheLoadsThatTheyHave(t *testing.T) {
	s := &session{rounds: 2, loads: peerLoads(), servers: []*rig.Server{{Name: rig.Event}}}
	if got, want := s.runs(), 2*len(s.loads); got != want {
		t.Errorf("%d runs, want %d", got, want)
	}
	g := generator{program: "wrk", place: rig.Anywhere, temp: t.TempDir()}
	kinds := map[string]int{}
	for i, l := range s.loads {
		if s.skips(i, 0) {
			t.Errorf("%q is left out", l.name)
		}
		line, err := g.command(l, "h:1")
		if err != nil {
			t.Fatal(err)
		}
		kinds[line[len(line)-1]]++
	}
	if want := map[string]int{"http://h:1/": 4, "https://h:1/": 1, "http://h:1/wait": 2}; !maps.Equal(kinds, want) {
		t.Errorf("loads are %v, want %v", kinds, want)
	}
}

func TestVariedLoadsAreTheSameLoads(t *testing.T) {
	all := variedLoads()
	if len(all) != len(loads) {
		t.Fatalf("%d loads, want %d", len(all), len(loads))
	}
	for i, l := range all {
		if l.name != loads[i].name+variedSuffix || l.kind != loads[i].kind || l.conns != loads[i].conns {
			t.Errorf("%s, %s", l.name, loads[i].name)
		}
		if closing := strings.Contains(l.script, "Connection: close"); closing != (l.kind == Churn) {
			t.Errorf("%s: asks to close: %v", l.name, closing)
		}
		if latency := strings.Contains(l.script, "Latency of batches"); latency != (l.kind == Pipelined) {
			t.Errorf("%s: latency of batches: %v", l.name, latency)
		}
		if !strings.Contains(l.script, "Firefox") || loads[i].script == l.script {
			t.Errorf("%s has no visitors", l.name)
		}
	}
}

// served returns a session with known samples.
func served() *session {
	l := load{name: "64 connections", cpuGoal: 0.65}
	s := &session{
		servers:  []*rig.Server{{Name: rig.Event}, {Name: rig.Portable}, {Name: rig.Upstream}, {Name: rig.NetHTTP}, {Name: rig.Floor}},
		loads:    []load{l},
		rounds:   3,
		seconds:  5,
		place:    rig.Anywhere,
		generate: generator{place: rig.Anywhere},
		samples:  map[turns.Key][]sample{},
		failures: []string{"round 1, 64 connections, net/http:\nexit status 1"},
	}
	add := func(server string, rate, cpu, p99 float64) {
		k := turns.Key{Load: l.name, Server: server}
		for _, factor := range []float64{1, 0.9, 1.1} {
			s.samples[k] = append(s.samples[k], sample{rate: factor * rate, cpu: factor * cpu, p50: 100, p99: factor * p99, errors: 1})
		}
	}
	add(rig.Event, 200, 6, 410)
	add(rig.Portable, 110, 9, 800)
	add(rig.Upstream, 100, 10, 400)
	add(rig.Floor, 300, 5, 200)
	return s
}

func TestGoalsCompareTheEventEngineWithUpstream(t *testing.T) {
	tests := []struct {
		name     string
		cpu, p99 float64 // factors for the samples of upstream
		want     []bool
	}{
		{"both met", 1, 1, []bool{true, true}},
		{"processor time missed", 0.9, 1, []bool{false, true}},
		{"latency a bit worse, perhaps", 1, 0.9, []bool{true, true}},
		{"latency worse for sure", 1, 0.5, []bool{true, false}},
	}
	for _, test := range tests {
		s := served()
		samples := s.samples[turns.Key{Load: "64 connections", Server: rig.Upstream}]
		for i := range samples {
			samples[i].cpu *= test.cpu
			samples[i].p99 *= test.p99
		}
		goals := s.report().Goals
		if len(goals) != 2 || goals[0].Of != "CPU" || goals[1].Of != "p99" {
			t.Fatalf("%s: %+v", test.name, goals)
		}
		if got := []bool{goals[0].Met, goals[1].Met}; !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}

func TestNoGoalIsJudgedWithoutUpstream(t *testing.T) {
	s := served()
	delete(s.samples, turns.Key{Load: "64 connections", Server: rig.Upstream})
	if goals := s.report().Goals; len(goals) != 0 {
		t.Errorf("%+v", goals)
	}
}

func TestMarkdown(t *testing.T) {
	text := served().report().Markdown()
	for _, want := range []string{
		"# Servers over loopback sockets\n",
		"- 5 seconds each\n",
		"| 64 connections | 6.00 | 9.00 | 10.00 | – | 5.00 | 0.60 | (1.20) |\n",
		"\n## 64 connections\n",
		"| ours, event engine | 200 ±10% | 6.00 ±10% | 100 ±0% | 410 ±10% | 2.00 | 0.60 | (1.02) | (1.20) | 3 |\n",
		"| ours, portable engine | 110 ±10% | 9.00 ±10% | 100 ±0% | 800 ±10% | (1.10) | (0.90) | 2.00 | 1.80 | 3 |\n",
		"| upstream | 100 ±10% | 10.00 ±10% | 100 ±0% | 400 ±10% | – | – | – | 2.00 | 3 |\n",
		"| C epoll loop, no HTTP | 300 ±10% | 5.00 ±10% | 100 ±0% | 200 ±10% | 3.00 | 0.50 | 0.50 | – | 3 |\n",
		"| 64 connections | CPU | 0.60 | 0.50 | 0.65 | met |\n",
		"| 64 connections | p99 | (1.02) | 0.50 | 1.00 | met |\n",
		"- round 1, 64 connections, net/http: exit status 1\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "\n| net/http |") {
		t.Errorf("a line of figures for a server without any:\n%s", text)
	}
}

func TestSlowReport(t *testing.T) {
	s := &slowSession{
		servers: []*rig.Server{{Name: rig.Event}, {Name: rig.Upstream}, {Name: rig.NetHTTP}},
		rounds:  1, seconds: 1, rate: 2000,
		samples: map[turns.Key][]mixedSample{},
	}
	add := func(server string, p99s ...float64) {
		for i, p99 := range p99s {
			k := turns.Key{Load: disturbances[i].name, Server: server}
			s.samples[k] = append(s.samples[k], mixedSample{p50: 100, p99: p99, ordinary: 2000, slow: 20 * i})
		}
	}
	add(rig.Event, 200, 400, 402)
	add(rig.NetHTTP, 250, 200, 268)
	r := s.report()
	var met []bool
	for _, g := range r.Goals {
		met = append(met, g.Met)
	}
	if !slices.Equal(met, []bool{true, false, true}) {
		t.Errorf("%+v", r.Goals)
	}
	text := r.Markdown()
	for _, want := range []string{
		"| ours, event engine | none | 0 | 100 ±0% | 200 ±0% | – | 0.80 |\n",
		"| ours, event engine | 1 request in 100 sleeps 1 s | 20 | 100 ±0% | 400 ±0% | 2.00 | 2.00 |\n",
		"| net/http | 1 request in 1000 computes 50 ms | 40 | 100 ±0% | 268 ±0% | 1.07 | – |\n",
		"| 1 request in 100 sleeps 1 s | p99 ÷ without | 2.00 | – | 2.00 | met |\n",
		"| 1 request in 1000 computes 50 ms | p99 ÷ without | 2.01 | – | 2.00 | **not met** |\n",
		"| 1 request in 1000 computes 50 ms | p99 ÷ net/http | 1.50 | – | 1.50 | met |\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	k := turns.Key{Load: Computing, Server: rig.NetHTTP}
	s.samples[k][0].p99 = 267
	if goals := s.report().Goals; len(goals) != 3 || goals[2].Met {
		t.Errorf("over the bound: %+v", goals)
	}
	delete(s.samples, k)
	if goals := s.report().Goals; len(goals) != 2 {
		t.Errorf("without net/http: %+v", goals)
	}
}

func TestScheduleKeepsTheShareOfSlowRequests(t *testing.T) {
	for _, d := range disturbances[1:] {
		for _, rate := range []int{LeastRate, 1234, 2000, MostRate} {
			conns, interval := d.schedule(rate)
			if got, want := float64(conns)/interval.Seconds(), float64(rate)/float64(d.share); got < 0.999*want || got > 1.001*want {
				t.Errorf("%s at %d: %v slow requests a second, want %v", d.name, rate, got, want)
			}
			if interval <= d.takes {
				t.Errorf("%s at %d: one of %v each %v", d.name, rate, d.takes, interval)
			}
		}
	}
}

func TestMixSendsBothKindsOfRequests(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		serving.Job{}.Slow(r.URL.Path)
		_, _ = io.WriteString(w, serving.Body)
	}))
	defer server.Close()
	d := disturbance{"some compute", serving.SpinPath, 40, serving.SpinTime}
	const rate = 320 // 5 requests a second on each ordinary connection
	got, err := mix(t.Context(), server.Listener.Addr().String(), d, rate, 400*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	if got.ordinary != 2*ordinaryConns || got.slow < 1 || got.p50 <= 0 || got.p99 < got.p50 {
		t.Errorf("%+v", got)
	}
}

func TestMixFailsWhereTheServerDoes(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == serving.SpinPath {
			http.Error(w, "no", http.StatusInternalServerError)
			return
		}
		_, _ = io.WriteString(w, serving.Body)
	}))
	defer server.Close()
	d := disturbance{"some compute", serving.SpinPath, 40, serving.SpinTime}
	if got, err := mix(t.Context(), server.Listener.Addr().String(), d, 320, 200*time.Millisecond); err == nil {
		t.Errorf("%+v", got)
	}
}
