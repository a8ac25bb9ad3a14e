package main

import (
	"strings"
	"testing"

	"github.com/valyala/fasthttp/bench/internal/turns"
)

func TestSetupsAreComparedRoundByRound(t *testing.T) {
	if n := len(setups(1)); n != 2 {
		t.Errorf("%d setups on one processor", n)
	}
	ways := setups(2)
	samples := map[turns.Key][]sample{
		{Load: "l", Server: ways[0].name}: {{cpu: 4, rate: 10, p99: 7}, {cpu: 8}, {cpu: 12}},
		{Load: "l", Server: ways[2].name}: {{cpu: 3}, {cpu: 4}, {cpu: 24}},
		{Load: "l", Server: ways[3].name}: {{cpu: 3}},
	}
	text := summarize(ways, "l", samples).markdown(options{conns: 64, seconds: 2})
	for _, want := range []string{
		"| one process | 8.00 ±50% | 1.00 | 0 | 0 |\n",
		"| a process for each processor | 4.00 ±25% | 0.75 | 0 | 0 |\n",
		"| a process for each processor, pinned to it | 3.00 ±0% | 0.00 | 0 | 0 |\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}
