package main

import (
	"io"
	"strings"
	"testing"
)

func TestFlags(t *testing.T) {
	tests := []struct {
		args            string
		rounds, seconds int // no rounds if refused
		name            string
	}{
		{"", 5, 3, "calls"},
		{"-rounds 2 -seconds 7 -pin=false", 2, 7, "calls"},
		{"-short", 1, 1, "calls"},
		{"-short -rounds 3 -plain", 3, 1, "calls-plain"},
		{"-varied -rows 1000", 5, 3, "calls-varied"},
		{"-varied -plain", 5, 3, "calls-plain-varied"},
		{"-rounds 0", 0, 0, ""},
		{"-seconds 0", 0, 0, ""},
		{"-rows (", 0, 0, ""},
		{"-unknown", 0, 0, ""},
		{"8", 0, 0, ""},
	}
	for _, test := range tests {
		opts, err := parseFlags(strings.Fields(test.args), io.Discard)
		if test.rounds == 0 {
			if err == nil {
				t.Errorf("%s: accepted", test.args)
			}
			continue
		}
		if err != nil || opts.Rounds != test.rounds || opts.Seconds != test.seconds || opts.name() != test.name {
			t.Errorf("%s: %+v, %s, %v", test.args, opts, opts.name(), err)
		}
	}
}
