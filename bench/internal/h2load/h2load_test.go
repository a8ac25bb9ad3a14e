package h2load

import (
	"slices"
	"strings"
	"testing"

	"github.com/valyala/fasthttp/bench/internal/rig"
	"github.com/valyala/fasthttp/bench/internal/turns"
)

const said = `starting benchmark...
Main benchmark duration is started for thread #0.
Application protocol: h2c
Main benchmark duration is over for thread #0. Stopping all clients.

finished in 1.01s, 7035.50 req/s, 249.45KB/s
requests: 7035 total, 7675 started, 7035 done, 7035 succeeded, 0 failed, 0 errored, 0 timeout
status codes: 7163 2xx, 0 3xx, 0 4xx, 0 5xx
traffic: 249.45KB (255441) total, 31.54KB (32300) headers (space savings 94.43%), 89.31KB (91455) data
`

func TestParse(t *testing.T) {
	got, err := parse(said)
	if want := (result{requests: 7035, rate: 7035.5}); err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	for _, change := range [][2]string{
		{"finished", "ended"}, {"requests:", "calls:"}, {"protocol: h2c", "protocol: http/1.1"}, {"7035 done", "0 done"},
		{"7035 succeeded", "7034 succeeded"}, {"0 failed", "1 failed"}, {"0 errored", "1 errored"}, {"0 timeout", "1 timeout"}, {"0 4xx", "5 4xx"},
	} {
		if got, err := parse(strings.Replace(said, change[0], change[1], 1)); err == nil {
			t.Errorf("with %q: %+v", change[1], got)
		}
	}
}

func TestCommand(t *testing.T) {
	l := load{conns: 5, streams: 7}
	s := &session{h2load: "h2load", clientPlace: rig.Anywhere}
	want := []string{"h2load", "-t", "1", "-c", "5", "-m", "7", "-D", "2", "http://127.0.0.1:1/"}
	if got := s.command(l, "127.0.0.1:1", "-D", "2"); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	s.identity = new(rig.Identity)
	if got := s.command(l, "127.0.0.1:1", "-n", "2"); !slices.Contains(got, "--npn-list=h2") || got[len(got)-1] != "https://127.0.0.1:1/" {
		t.Errorf("%q", got)
	}
}

func TestReport(t *testing.T) {
	s := &session{
		servers: []*rig.Server{{Name: rig.Event}, {Name: rig.NetHTTP}, {Name: rig.Nghttpd}, {Name: rig.H2O}},
		loads:   loads[:2], rounds: 3, seconds: 5, place: rig.Anywhere, clientPlace: rig.Anywhere,
		missing: []string{"nginx is not installed"}, failures: []string{"round 1: exit\nstatus"},
		samples: map[turns.Key][]sample{},
	}
	for server, cpu := range map[string]float64{rig.Event: 1.5, rig.NetHTTP: 30, rig.Nghttpd: 3, rig.H2O: 2.5} {
		for _, factor := range []float64{1, 0.99, 1.01} {
			k := turns.Key{Load: loads[0].name, Server: server}
			s.samples[k] = append(s.samples[k], sample{rate: 1000, cpu: factor * cpu})
		}
	}
	r := s.report()
	if len(r.Goals) != 2 || r.Goals[0].Met || !r.Goals[1].Met {
		t.Errorf("%+v", r.Goals)
	}
	text := r.Markdown()
	for _, want := range []string{
		"- nginx is not installed\n",
		"\n## 1 connection x 100 streams\n",
		"| ours, event engine | 1000 ±0% | 1.50 ±1% | 1.48 | – |\n",
		"| net/http | 1000 ±0% | 30.00 ±1% | 29.70 | 0.05 |\n",
		"| 1 connection x 100 streams | nghttpd | 0.50 | 0.45 | **not met** |\n",
		"| 1 connection x 100 streams | h2o | 0.60 | 0.70 | met |\n",
		"- round 1: exit status\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	s.identity = new(rig.Identity)
	if r := s.report(); len(r.Goals) != 0 || !strings.Contains(r.Markdown(), "with TLS\n") {
		t.Errorf("%+v", r.Goals)
	}
}
