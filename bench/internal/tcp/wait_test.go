package tcp

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp/bench/internal/rig"
	"github.com/valyala/fasthttp/bench/internal/turns"
)

// waited is a session with known samples of one load. A server that is not in
// the lists has no samples.
func waited(rates, p99s map[string]float64) *waitSession {
	l := waitLoad{handler: handlers[2], conns: 64, procs: 1}
	s := &waitSession{
		servers:  []*rig.Server{{Name: rig.Event}, {Name: rig.Portable}, {Name: rig.Upstream}, {Name: rig.NetHTTP}},
		loads:    []waitLoad{l},
		rounds:   3,
		time:     time.Second,
		alone:    rig.Anywhere,
		asking:   rig.Anywhere,
		samples:  map[turns.Key][]waitSample{},
		failures: []string{"round 1, sleep1ms, net/http:\nexit status 1"},
	}
	for server, rate := range rates {
		k := turns.Key{Load: l.String(), Server: server}
		for _, factor := range []float64{1, 0.99, 1.01} {
			s.samples[k] = append(s.samples[k], waitSample{rate: factor * rate, cpu: 10, p50: 50, p99: factor * p99s[server]})
		}
	}
	return s
}

func TestWaitGoalsCompareWithTheBestOfTheOthers(t *testing.T) {
	others := func(event, portable, upstream float64) map[string]float64 {
		return map[string]float64{rig.Event: event, rig.Portable: portable, rig.Upstream: upstream}
	}
	tests := []struct {
		name      string
		rates     map[string]float64
		p99s      map[string]float64
		best      []string
		rate, p99 string
		met       []bool
		verdict   string
		rows, all int
	}{
		{"better than all", others(200, 100, 110), others(10, 20, 30),
			[]string{rig.Upstream, rig.Portable}, "1.82", "0.50", []bool{true, true}, "met", 1, 1},
		{"within bounds", others(96, 100, 90), others(109, 120, 100),
			[]string{rig.Portable, rig.Upstream}, "0.96", "1.09", []bool{true, true}, "met", 1, 1},
		{"slow", others(94, 100, 90), others(109, 120, 100),
			[]string{rig.Portable, rig.Upstream}, "0.94", "1.09", []bool{false, true}, "**not met**: requests/s", 0, 1},
		{"late", others(100, 100, 90), others(111, 120, 100),
			[]string{rig.Portable, rig.Upstream}, "(1.00)", "1.11", []bool{true, false}, "**not met**: p99", 0, 1},
		{"the event engine has failed", map[string]float64{rig.Portable: 100}, map[string]float64{rig.Portable: 100},
			[]string{rig.Portable, rig.Portable}, "–", "–", []bool{false, false}, "**not met**: requests/s, p99", 0, 1},
		{"all others have failed", map[string]float64{rig.Event: 100}, map[string]float64{rig.Event: 100},
			nil, "–", "–", nil, "–", 0, 0},
	}
	for _, test := range tests {
		r := waited(test.rates, test.p99s).report()
		row := r.Rows[0]
		var best []string
		var met []bool
		for _, g := range row.Goals {
			best, met = append(best, g.Best), append(met, g.Met)
		}
		if !slices.Equal(best, test.best) || !slices.Equal(met, test.met) {
			t.Errorf("%s: %v, %v", test.name, best, met)
		}
		if rate, p99 := row.ratio(WaitRate), row.ratio(WaitP99); rate != test.rate || p99 != test.p99 {
			t.Errorf("%s: %s of requests/s, %s of p99", test.name, rate, p99)
		}
		if got := row.verdict(); got != test.verdict {
			t.Errorf("%s: %q", test.name, got)
		}
		if met, all := r.Met(); met != test.rows || all != test.all {
			t.Errorf("%s: %d of %d rows", test.name, met, all)
		}
	}
}

func TestAWaitGoalThatMayBeMissedByChanceIsMarked(t *testing.T) {
	s := waited(map[string]float64{rig.Event: 90, rig.Portable: 100}, map[string]float64{rig.Event: 50, rig.Portable: 100})
	k := turns.Key{Load: s.loads[0].String(), Server: rig.Event}
	s.samples[k][2].rate = 100
	if got := s.report().Rows[0].verdict(); got != "**not met**: (requests/s)" {
		t.Errorf("got %q", got)
	}
}

func TestNoWaitGoalIsJudgedWithoutTheEventEngine(t *testing.T) {
	s := waited(map[string]float64{rig.Portable: 100, rig.Upstream: 100}, map[string]float64{rig.Portable: 100, rig.Upstream: 100})
	s.servers = s.servers[1:]
	if goals := s.report().Rows[0].Goals; len(goals) != 0 {
		t.Errorf("%+v", goals)
	}
}

func TestWaitMarkdown(t *testing.T) {
	all := map[string]float64{rig.Event: 200, rig.Portable: 180, rig.Upstream: 160}
	s := waited(all, map[string]float64{rig.Event: 1500, rig.Portable: 1200, rig.Upstream: 1300})
	s.loads = append(s.loads, waitLoad{handler: handlers[len(handlers)-1], conns: 16, procs: 2})
	text := s.report().Markdown()
	for _, want := range []string{
		"# Handlers that wait\n",
		"- 1s each, after 150ms that do not count\n",
		"`sleep1ms` sleeps for 1 ms, and so on; `mix` sleeps",
		"\n## GOMAXPROCS 1\n",
		"| sleep1ms, 64 | 200 | 180 | 160 | – | 1.11 | 1500 | 1200 | 1300 | – | 1.25 | **not met**: p99 |\n",
		"\n## GOMAXPROCS 2\n",
		"| mix, 16 | – | – | – | – | – | – | – | – | – | – | – |\n",
		"\n0 of 1 rows are met.\n",
		"- round 1, sleep1ms, net/http: exit status 1\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "`proxy`") {
		t.Errorf("a missing handler is explained:\n%s", text)
	}
}

func TestWaitRunsAreCounted(t *testing.T) {
	opts := WaitOptions{
		Only: regexp.MustCompile(""), Conns: WaitConns(), Procs: []int{1, 2}, Servers: WaitServers,
	}
	tests := []struct {
		only string
		want int
	}{
		{"", 7 * 3 * 2 * 4},
		{"sleep300us|mix", 2 * 3 * 2 * 4},
		{"^sleep1ms$", 3 * 2 * 4},
		{"nap", 0},
	}
	for _, test := range tests {
		opts.Only = regexp.MustCompile(test.only)
		if got := opts.Runs(); got != test.want {
			t.Errorf("%q: %d runs, want %d", test.only, got, test.want)
		}
	}
}

func TestHandlersAreCalledWhatTheyWait(t *testing.T) {
	for _, h := range handlers {
		text, sleeps := strings.CutPrefix(h.name, sleeping)
		if d, err := time.ParseDuration(text); sleeps && (err != nil || d != h.wait) {
			t.Errorf("%s waits for %v", h.name, h.wait)
		}
		if args := waitArgs(h); len(args) != 2 || args[0] != "-wait" || args[1] != fmt.Sprint(h.wait) {
			t.Errorf("%s: %q", h.name, args)
		}
	}
}

func TestOnlyServersWithOneProcessorArePinned(t *testing.T) {
	s := &waitSession{alone: rig.Place{CPU: 0}, asking: rig.Place{CPU: 1}}
	if server, others := s.places(waitLoad{procs: 1}); server != s.alone || others != s.asking {
		t.Errorf("alone: %v, %v", server, others)
	}
	if server, others := s.places(waitLoad{procs: 2}); server != rig.Anywhere || others != rig.Anywhere {
		t.Errorf("with two: %v, %v", server, others)
	}
}

func TestAQuickLookMeasuresNothingAnew(t *testing.T) {
	for rounds, want := range map[int]bool{1: false, 2: true, doubtRounds - 1: true, doubtRounds: false} {
		if got := (WaitOptions{Rounds: rounds}).again(); got != want {
			t.Errorf("with %d rounds: %v, want %v", rounds, got, want)
		}
	}
}

// A repeated measurement replaces the first one, and the table marks it.
func TestRowsThatAreNotMetAreMeasuredAnew(t *testing.T) {
	s := waited(map[string]float64{rig.Event: 90, rig.Portable: 100}, map[string]float64{rig.Event: 10, rig.Portable: 10})
	doubts := s.doubtful()
	if !slices.Equal(doubts, s.loads) {
		t.Fatalf("in doubt: %v", doubts)
	}
	if text := s.report().Markdown(); strings.Contains(text, "64 \\*") || strings.Contains(text, "anew") {
		t.Errorf("no row was measured again:\n%s", text)
	}
	better := waited(map[string]float64{rig.Event: 99, rig.Portable: 100}, map[string]float64{rig.Event: 10, rig.Portable: 10})
	s.samples, s.doubts = better.samples, map[waitLoad]bool{doubts[0]: true}
	if doubts := s.doubtful(); len(doubts) != 0 {
		t.Errorf("in doubt: %v", doubts)
	}
	text := s.report().Markdown()
	for _, want := range []string{"sleep1ms, 64 \\*", "measured anew in 9 rounds", "1 of 1 rows are met"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}
