package tcp

import (
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp/bench/internal/rig"
	"github.com/valyala/fasthttp/bench/internal/serving"
	"github.com/valyala/fasthttp/bench/internal/stats"
	"github.com/valyala/fasthttp/bench/internal/study"
)

func TestPeersGetOnlyTheLoadsThatTheyHave(t *testing.T) {
	kinds := map[string]int{}
	for _, l := range peerLoads() {
		if !l.IsFor(&rig.Server{Name: rig.Event}) {
			t.Errorf("%q is left out", l.name)
		}
		kinds[l.url("h:1")]++
	}
	if want := map[string]int{"http://h:1/": 4, "https://h:1/": 1, "http://h:1/wait": 2}; !maps.Equal(kinds, want) {
		t.Errorf("loads are %v, want %v", kinds, want)
	}
}

func TestVariedLoadsAreTheSameLoads(t *testing.T) {
	for i, l := range variedLoads() {
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

func TestScheduleKeepsTheShareOfSlowRequests(t *testing.T) {
	for _, d := range disturbances[1:] {
		conns, interval := d.schedule(ordinaryRate)
		if got, want := float64(conns)/interval.Seconds(), ordinaryRate/float64(d.share); got < 0.999*want || got > 1.001*want {
			t.Errorf("%s: %v slow requests a second, want %v", d.name, got, want)
		}
		if interval <= d.takes {
			t.Errorf("%s: one of %v each %v", d.name, d.takes, interval)
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
	got, err := mix(t.Context(), server.Listener.Addr().String(), d, 320, 400*time.Millisecond)
	if err != nil || got[slowFigure] < 1 || got[study.P50] <= 0 || got[study.P99] < got[study.P50] {
		t.Errorf("%+v, %v", got, err)
	}
}

// waited is a row with three samples for each server: one in the middle, and one on each side.
func waited(rates, p99s map[string]float64) *study.Row {
	row := &study.Row{Name: "row"}
	for server := range rates {
		around := func(x float64) stats.Summary { return stats.Summarize([]float64{x, 0.99 * x, 1.01 * x}) }
		row.Servers = append(row.Servers, &study.Measurement{Server: server, Figures: map[string]stats.Summary{
			study.Rate: around(rates[server]), study.P99: around(p99s[server]),
		}})
	}
	return row
}

func TestWaitGoalsCompareWithTheBestOfTheOthers(t *testing.T) {
	others := func(event, portable, upstream float64) map[string]float64 {
		return map[string]float64{rig.Event: event, rig.Portable: portable, rig.Upstream: upstream}
	}
	for _, test := range []struct {
		name          string
		rates, p99s   map[string]float64
		rate, verdict string
		missed        bool
	}{
		{"better than all", others(200, 100, 110), others(10, 20, 30), "1.82", "met", false},
		{"within bounds", others(96, 100, 90), others(109, 120, 100), "0.96", "met", false},
		{"slow", others(94, 100, 90), others(109, 120, 100), "0.94", "**not met**: requests/s", true},
		{"late", others(100, 100, 90), others(111, 120, 100), "(1.00)", "**not met**: p99", true},
		{"failed", map[string]float64{rig.Portable: 100}, map[string]float64{rig.Portable: 100}, "–", "**not met**: requests/s, p99", true},
		{"all others have failed", map[string]float64{rig.Event: 100}, map[string]float64{rig.Event: 100}, "–", "–", false},
	} {
		row := waited(test.rates, test.p99s)
		ratio, _ := toBest(row, study.Rate, waitGoals[0].better)
		if ratio.String() != test.rate || verdict(row) != test.verdict || missed(row) != test.missed {
			t.Errorf("%s: %s, %q, missed %v", test.name, ratio, verdict(row), missed(row))
		}
	}
}

// A repeated measurement replaces the first one.
func TestRowsThatAreNotMetAreMeasuredAnew(t *testing.T) {
	others := func(event float64) *study.Report {
		return &study.Report{Rows: []*study.Row{waited(map[string]float64{rig.Event: event, rig.Portable: 100}, map[string]float64{rig.Event: 10, rig.Portable: 10})}}
	}
	r := others(90)
	replace(r, others(99))
	if !r.Rows[0].Again || missed(r.Rows[0]) || WaitGoals(r)[0].Figure != "1 of 1 rows" {
		t.Errorf("%+v, %+v", r.Rows[0], WaitGoals(r))
	}
}

func TestHandlersAreCalledWhatTheyWait(t *testing.T) {
	for _, h := range handlers {
		text, sleeps := strings.CutPrefix(h.name, "sleep")
		if d, err := time.ParseDuration(text); sleeps && (err != nil || d != h.wait) {
			t.Errorf("%s waits for %v", h.name, h.wait)
		}
	}
}
