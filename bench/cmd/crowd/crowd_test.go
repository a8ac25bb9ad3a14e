package main

import (
	"io"
	"strings"
	"testing"
)

func TestFlags(t *testing.T) {
	tests := []struct {
		args  string
		conns int // negative if refused
	}{
		{"", 0},
		{"-conns 1500000", 1_500_000},
		{"-short", 20_000},
		{"-short -conns 50", 50},
		{"-conns -1", -1},
		{"-conns many", -1},
		{"-unknown", -1},
		{"8", -1},
	}
	for _, test := range tests {
		opts, err := parseFlags(strings.Fields(test.args), io.Discard)
		if test.conns < 0 {
			if err == nil {
				t.Errorf("%s: accepted", test.args)
			}
			continue
		}
		if err != nil || opts.Conns != test.conns || opts.Modules.Ours != "go.mod" || opts.out != "results" {
			t.Errorf("%s: %+v, %v", test.args, opts, err)
		}
	}
}
