package main

import (
	"strings"
	"testing"

	"github.com/valyala/fasthttp/bench/internal/files"
	"github.com/valyala/fasthttp/bench/internal/idle"
	"github.com/valyala/fasthttp/bench/internal/rig"
	"github.com/valyala/fasthttp/bench/internal/stats"
	"github.com/valyala/fasthttp/bench/internal/tcp"
	"github.com/valyala/fasthttp/bench/internal/tlsload"
)

// sampleTLS has a result of each kind.
func sampleTLS(head rig.Head) *tlsResults {
	one := func(v float64) stats.Summary { return stats.Summarize([]float64{v}) }
	loads := &tcp.Report{Head: head, TLS: true, Rows: []*tcp.Row{{Name: "64 connections, TLS", Kind: tcp.Steady, Conns: 64, Servers: []*tcp.Measurement{
		{Server: rig.Event, CPU: one(8), CPURatio: rig.Ratio{Value: 0.8}},
		{Server: rig.Upstream, CPU: one(10)},
		{Server: rig.Nginx, CPU: one(10), CPURatio: rig.Ratio{Value: 1}},
	}}}}
	shakes := &tcp.HandshakeReport{Head: head, Missing: []string{"no nginx"}, Rows: []*tcp.HandshakeRow{
		{Kind: tlsload.Full, Server: rig.Event, Rate: one(4400), RateToNetHTTP: rig.Ratio{Value: 1.1}, CPUToNetHTTP: rig.Ratio{Value: 0.9}},
		{Kind: tlsload.Full, Server: rig.NetHTTP, Rate: one(4000)},
		{Kind: tlsload.Resumed, Server: rig.Event, Rate: one(4200), RateToNetHTTP: rig.Ratio{Value: 0.7}, CPUToNetHTTP: rig.Ratio{Value: 1.4}},
	}}
	flood := &tcp.FloodReport{Head: head, Rows: []*tcp.FloodRow{
		{Server: rig.Event, Flood: "none", P99: one(100)},
		{Server: rig.Event, Flood: "half-open", Kind: tlsload.HalfOpen, P99: one(210), P99Ratio: rig.Ratio{Value: 2.1}, Memory: one(1800), Held: one(5000)},
	}}
	large := &files.Report{Head: head, TLS: true, Rows: []*files.Row{{Name: "1 MiB", Conns: 8}}, Goals: []files.Goal{
		{Row: "1 MiB", Both: rig.Ratio{Value: 1}, Met: true}, {Row: "100 MiB", Both: rig.Ratio{Value: 1.06}},
	}}
	held := &idle.Report{Head: head, Speaks: idle.TLS, Conns: 10_000, Procs: 1, Servers: []*idle.Measurement{
		{Server: rig.Event, Heap: one(5900), Stack: one(100), Goroutines: one(0)},
	}, Failures: []string{"round 1, net/http: gone"}}
	return &tlsResults{loads, shakes, flood, large, held}
}

func TestWhatFailedOrIsMissingOverTLSIsOnThePage(t *testing.T) {
	text := samplePage(sample()).markdown()
	for _, want := range []string{"\n## TLS\n", "- TLS: no nginx\n", "- round 1, net/http: gone\n", "10,000 connections after"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}
