package main

import (
	"io"
	"strings"
	"testing"
	"time"
)

func TestFlags(t *testing.T) {
	tests := []struct {
		args   string
		rounds int // 0 if refused
		lasts  time.Duration
	}{
		{"", 5, 3 * time.Second},
		{"-short", 1, time.Second},
		{"-short -lasts 2s", 1, 2 * time.Second},
		{"-rounds 0", 0, 0},
		{"-conns 0", 0, 0},
		{"-lasts 0s", 0, 0},
		{"8", 0, 0},
	}
	for _, test := range tests {
		opts, err := parseFlags(strings.Fields(test.args), io.Discard)
		if test.rounds == 0 {
			if err == nil {
				t.Errorf("%s: accepted", test.args)
			}
			continue
		}
		if err != nil || opts.Rounds != test.rounds || opts.Lasts != test.lasts || opts.Conns != 1000 || opts.out != "results" {
			t.Errorf("%s: %+v, %v", test.args, opts, err)
		}
	}
}
