package main

import (
	"strings"
	"testing"

	"github.com/valyala/fasthttp/bench/internal/rig"
	"github.com/valyala/fasthttp/bench/internal/stats"
	"github.com/valyala/fasthttp/bench/internal/ws"
)

// sampleWS has a result of each kind.
func sampleWS(head rig.Head) *ws.Report {
	one := func(v float64) *stats.Summary {
		s := stats.Summarize([]float64{v})
		return &s
	}
	return &ws.Report{
		Head: head, Seconds: 3, ServerPlace: "pinned to processor 0", ClientPlace: "pinned to processor 1", Procs: 1,
		Servers: []string{"ours, callbacks", rig.FasthttpWebSocket}, Missing: []string{"no loop"}, Failures: []string{"round 1, gws: away"},
		Rows: []*ws.Row{
			{Name: "echo of tea", Servers: []*ws.Measurement{
				{Server: "ours, callbacks", Rate: one(5000), CPU: one(2), ToFasthttp: rig.Ratio{Value: 0.5}},
				{Server: rig.FasthttpWebSocket, Rate: one(5000), CPU: one(4)},
			}},
			{Name: "many idle sockets", Idle: true, Servers: []*ws.Measurement{{Server: "ours, callbacks", Resident: one(500), Goroutines: one(0)}}},
		},
	}
}

func TestWebSocketIsOnThePage(t *testing.T) {
	text := samplePage(sample()).markdown()
	for _, want := range []string{
		"\n## WebSocket\n", "\n### echo of tea\n", "\n### many idle sockets\n", "- WebSocket: no loop\n", "- round 1, gws: away\n",
		"| ours, callbacks | 500 ±0% | 0.00 | – | – |\n", "2 rounds of 3 seconds each, in turn; servers pinned to processor 0, GOMAXPROCS 1; load",
	} {
		if strings.Count(text, want) != 1 {
			t.Errorf("%q is not there once in\n%s", want, text)
		}
	}
}
