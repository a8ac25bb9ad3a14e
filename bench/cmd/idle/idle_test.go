package main

import (
	"io"
	"strings"
	"testing"
)

func TestFlags(t *testing.T) {
	tests := []struct {
		args                 string
		conns, procs, rounds int // no rounds if refused
	}{
		{"", 0, 1, 3},
		{"-procs 8 -conns 100 -rounds 2", 100, 8, 2},
		{"-short", 2000, 1, 1},
		{"-short -conns 50", 50, 1, 1},
		{"-short -rounds 5", 2000, 1, 5},
		{"-rounds 0", 0, 0, 0},
		{"-procs 0", 0, 0, 0},
		{"-tls -http2", 0, 0, 0},
		{"-procs 65", 0, 0, 0},
		{"-conns -1", 0, 0, 0},
		{"-conns 150001", 0, 0, 0},
		{"-unknown", 0, 0, 0},
		{"8", 0, 0, 0},
	}
	for _, test := range tests {
		opts, err := parseFlags(strings.Fields(test.args), io.Discard)
		if test.rounds == 0 {
			if err == nil {
				t.Errorf("%s: accepted", test.args)
			}
			continue
		}
		if err != nil || opts.Conns != test.conns || opts.Procs != test.procs || opts.Rounds != test.rounds {
			t.Errorf("%s: %+v, %v", test.args, opts, err)
		}
	}
}
