package tcp

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/valyala/fasthttp/bench/internal/rig"
	"github.com/valyala/fasthttp/bench/internal/tlsload"
	"github.com/valyala/fasthttp/bench/internal/turns"
)

func TestMain(m *testing.M) {
	tlsload.Main()
	os.Exit(m.Run())
}

func TestLoadsOverTLSAreCompared(t *testing.T) {
	s := served()
	s.loads = tlsLoads()[1:2]
	s.identity = new(rig.Identity)
	s.servers = append(s.servers[:4], &rig.Server{Name: rig.Nginx})
	l := s.loads[0].name
	for server, cpu := range map[string]float64{rig.Event: 8.4, rig.Upstream: 10, rig.Nginx: 12} {
		s.samples[turns.Key{Load: l, Server: server}] = []sample{{rate: 1, cpu: cpu, p99: 1}}
	}
	text := s.report().Markdown()
	for _, want := range []string{
		"# Servers over loopback sockets, with TLS\n",
		"| 64 connections, TLS | 8.40 | – | 10.00 | – | 12.00 | 0.84 | 0.70 |\n",
		"| CPU ÷ nginx |",
		"| 64 connections, TLS | CPU | 0.84 | 1.20 | 0.85 | met |\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	g := generator{program: "wrk", place: rig.Anywhere, seconds: 1}
	if line, err := g.command(s.loads[0], "127.0.0.1:1"); err != nil || line[len(line)-1] != "https://127.0.0.1:1/" {
		t.Errorf("%q, %v", line, err)
	}
}

// secured is a session of servers without samples.
func secured() *secureSession {
	return &secureSession{
		servers: []*rig.Server{{Name: rig.Event}, {Name: rig.Upstream}, {Name: rig.NetHTTP}},
		rounds:  1, seconds: 1, place: rig.Anywhere, client: rig.Anywhere, failures: []string{"round 1:\nno"},
	}
}

func TestHandshakesAreComparedWithNetHTTP(t *testing.T) {
	tests := []struct {
		name string
		ours []float64 // rates, where net/http has 1000 and 1010
		met  bool
	}{
		{"faster", []float64{1100, 1120}, true},
		{"slower for sure", []float64{990, 980}, false},
		{"slower, perhaps", []float64{990, 1000}, true},
	}
	for _, test := range tests {
		s := &shakeSession{secured(), map[turns.Key][]shakeSample{}}
		for _, kind := range shakeKinds {
			for server, rates := range map[string][]float64{rig.Event: test.ours, rig.NetHTTP: {1000, 1010}, rig.Upstream: {900, 900}} {
				for _, rate := range rates {
					k := turns.Key{Load: string(kind), Server: server}
					s.samples[k] = append(s.samples[k], shakeSample{rate: rate, cpu: 1e6 / rate, p99: 1})
				}
			}
		}
		r := s.report()
		if len(r.Goals) != 2 || r.Goals[0].Met != test.met || r.Goals[1].Met != test.met {
			t.Errorf("%s: %+v", test.name, r.Goals)
		}
		text := r.Markdown()
		for _, want := range []string{"\n## full handshakes\n", "\n## resumed sessions\n", "| net/http | 1005 ±0% | 995.0 ±0% |", "- round 1: no\n"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %q in\n%s", test.name, want, text)
			}
		}
		delete(s.samples, turns.Key{Load: string(tlsload.Full), Server: rig.NetHTTP})
		if goals := s.report().Goals; len(goals) != 1 {
			t.Errorf("%s: without net/http: %+v", test.name, goals)
		}
	}
}

func TestFloodGoals(t *testing.T) {
	tests := []struct {
		name              string
		p99, held, memory float64 // alone the p99 is 100
		met               []bool
	}{
		{"good", 200, 4990, 2048, []bool{true, true}},
		{"late", 201, 5000, 100, []bool{false, true}},
		{"large", 100, 5000, 2049, []bool{true, false}},
		{"few are held", 100, 4000, 100, []bool{true, false}},
	}
	for _, test := range tests {
		s := &floodSession{secured(), map[turns.Key][]floodSample{}}
		for _, server := range s.servers {
			for i, got := range []floodSample{
				{p50: 50, p99: 100}, {p50: 50, p99: test.p99, held: test.held, memory: test.memory, rate: 1000}, {p50: 1, p99: 9000, rate: 5000},
			} {
				s.samples[turns.Key{Load: floods[i].String(), Server: server.Name}] = []floodSample{got}
			}
		}
		r := s.report()
		var met []bool
		for _, g := range r.Goals {
			met = append(met, g.Met)
		}
		if !slices.Equal(met, test.met) {
			t.Errorf("%s: %+v", test.name, r.Goals)
		}
		if text := r.Markdown(); !strings.Contains(text, "| ours, event engine | whole ClientHellos from 256 clients | 5000 | 1 ±0% | 9000 ±0% | 90.00 | – | – | 0.0 MiB |\n") {
			t.Errorf("%s: got\n%s", test.name, text)
		}
	}
}
