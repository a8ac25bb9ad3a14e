package main

import (
	"io"
	"strings"
	"testing"
)

func TestFlags(t *testing.T) {
	tests := []struct {
		args      string
		rounds    int // 0 if refused
		benchtime string
	}{
		{"", 5, "500ms"},
		{"-rounds 9 -benchtime 1s", 9, "1s"},
		{"-rounds 4", 0, ""},
		{"-short", 3, "100ms"},
		{"-short -rounds 1", 1, "100ms"},
		{"-short -rounds 0", 0, ""},
		{"-short -benchtime 20x", 3, "20x"},
		{"-rows (", 0, ""},
		{"-unknown", 0, ""},
		{"ServerGet", 0, ""},
	}
	for _, test := range tests {
		opts, err := parseFlags(strings.Fields(test.args), io.Discard)
		if test.rounds == 0 {
			if err == nil {
				t.Errorf("%s: accepted", test.args)
			}
			continue
		}
		if err != nil || opts.Rounds != test.rounds || opts.Benchtime != test.benchtime {
			t.Errorf("%s: %+v, %v", test.args, opts, err)
		}
	}
}
