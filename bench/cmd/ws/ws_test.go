package main

import (
	"io"
	"strings"
	"testing"
)

func TestFlags(t *testing.T) {
	tests := []struct {
		args                   string
		rounds, seconds, conns int // no rounds if refused
	}{
		{"", 5, 3, 10_000},
		{"-rounds 2 -seconds 7 -pin=false -conns 50", 2, 7, 50},
		{"-short", 1, 1, 10_000},
		{"-short -rounds 3 -rows idle -servers gws", 3, 1, 10_000},
		{"-rounds 0", 0, 0, 0},
		{"-seconds 0", 0, 0, 0},
		{"-conns 0", 0, 0, 0},
		{"-rows (", 0, 0, 0},
		{"-servers (", 0, 0, 0},
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
		if err != nil || opts.Rounds != test.rounds || opts.Seconds != test.seconds || opts.Conns != test.conns {
			t.Errorf("%s: %+v, %v", test.args, opts, err)
		}
	}
}
