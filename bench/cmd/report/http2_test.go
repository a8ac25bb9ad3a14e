package main

import (
	"strings"
	"testing"

	"github.com/valyala/fasthttp/bench/internal/h2load"
	"github.com/valyala/fasthttp/bench/internal/idle"
	"github.com/valyala/fasthttp/bench/internal/rig"
	"github.com/valyala/fasthttp/bench/internal/stats"
)

// sampleHTTP2 has a result of each kind.
func sampleHTTP2(head rig.Head) *http2Results {
	one := func(v float64) stats.Summary { return stats.Summarize([]float64{v}) }
	const name = "1 connection x 100 streams"
	loads := &h2load.Report{Head: head, Seconds: 4, Missing: []string{"no nginx"}, Failures: []string{"round 1, h2o: gone"}, Rows: []*h2load.Row{
		{Name: name, Servers: []*h2load.Measurement{
			{Server: rig.Event, Rate: one(100_000), CPU: one(1.2)},
			{Server: rig.Nghttpd, Rate: one(90_000), CPU: one(3), EventTo: rig.Ratio{Value: 0.4}},
		}},
	}, Goals: []h2load.Goal{
		{Row: name, Conns: 1, To: rig.Nghttpd, Most: 0.45, Ratio: rig.Ratio{Value: 0.4}, Met: true},
		{Row: name, Conns: 1, To: rig.H2O, Most: 0.7, Ratio: rig.Ratio{Value: 0.8, Overlaps: true}},
	}}
	secure := &h2load.Report{Head: head, TLS: true, Missing: []string{"no nginx"}}
	held := &idle.Report{Head: head, Speaks: idle.HTTP2, Conns: 19_000, Procs: 1, Servers: []*idle.Measurement{
		{Server: rig.Event, Resident: one(1500)}, {Server: rig.NetHTTP, Resident: one(30_000)},
	}}
	return &http2Results{loads, secure, held}
}

func TestHTTP2IsOnThePage(t *testing.T) {
	text := samplePage(sample()).markdown()
	for _, want := range []string{
		"\n## HTTP/2\n", "\n### Servers, HTTP/2, GOMAXPROCS 1\n", "\n### h2load, over TLS 1.3\n", "- HTTP/2: no nginx\n", "- round 1, h2o: gone\n",
		"| nghttpd | 90000 ±0% | 3.00 ±0% | 3.00 | 0.40 |\n", "19,000 connections without TLS", "resident ÷ net/http",
	} {
		if strings.Count(text, want) != 1 {
			t.Errorf("%q is not there once in\n%s", want, text)
		}
	}
}
