package main

import (
	"io"
	"strings"
	"testing"

	"github.com/valyala/fasthttp/bench/internal/rig"
	"github.com/valyala/fasthttp/bench/internal/turns"
)

func TestFlags(t *testing.T) {
	opts, err := parseFlags([]string{"-conns", "1,20"}, io.Discard)
	if err != nil || len(opts.conns) != 2 || opts.conns[1] != 20 {
		t.Errorf("%+v, %v", opts, err)
	}
	for _, args := range [][]string{{"-conns", "0"}, {"-conns", "x"}, {"-rounds", "0"}, {"-time", "0s"}} {
		if _, err := parseFlags(args, io.Discard); err == nil {
			t.Errorf("%q is accepted", args)
		}
	}
}

// The ratios are those of rounds: a machine that gets slower in the middle does not change them.
func TestRatiosOfRounds(t *testing.T) {
	plan := turns.Plan{Loads: []string{"1 connection"}, Servers: []string{rig.RawProxy, rig.Nginx}}
	r := summarize(plan, map[turns.Key][]sample{
		{Load: plan.Loads[0], Server: rig.RawProxy}: {{cpu: 10}, {cpu: 40}, {cpu: 20}},
		{Load: plan.Loads[0], Server: rig.Nginx}:    {{cpu: 20}, {cpu: 80}, {cpu: 10}},
	})
	if got := r.Rows[0].Ratios[rig.Nginx]; got != 0.5 {
		t.Errorf("the ratio is %v, want 0.5", got)
	}
	if text := r.markdown(options{}); !strings.Contains(text, "0.50") || !strings.Contains(text, "–") {
		t.Error(text)
	}
}
