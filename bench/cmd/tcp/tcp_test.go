package main

import (
	"io"
	"strings"
	"testing"
)

func TestFlags(t *testing.T) {
	tests := []struct {
		args            string
		rounds, seconds int // 0 if refused
		pin             bool
	}{
		{"", 3, 5, true},
		{"-rounds 5 -seconds 10 -pin=false", 5, 10, false},
		{"-short", 1, 1, true},
		{"-short -rounds 2", 2, 1, true},
		{"-short -seconds 2", 1, 2, true},
		{"-slow -rate 1000", 3, 5, true},
		{"-rounds 0", 0, 0, false},
		{"-seconds 0", 0, 0, false},
		{"-rate 20", 0, 0, false},
		{"-rate 20000", 0, 0, false},
		{"-rows (", 0, 0, false},
		{"-unknown", 0, 0, false},
		{"64", 0, 0, false},
	}
	for _, test := range tests {
		opts, err := parseFlags(strings.Fields(test.args), io.Discard)
		if test.rounds == 0 {
			if err == nil {
				t.Errorf("%s: accepted", test.args)
			}
			continue
		}
		if err != nil || opts.Rounds != test.rounds || opts.Seconds != test.seconds || opts.Pin != test.pin {
			t.Errorf("%s: %+v, %v", test.args, opts, err)
		}
	}
}
