package command

import (
	"io"
	"regexp"
	"strings"
	"testing"
)

func TestFlagsOfShortRuns(t *testing.T) {
	tests := []struct {
		args   string
		short  bool
		rounds int // 0 if refused
		time   string
	}{
		{"", false, 5, "1s"},
		{"-short", true, 2, "1ms"},
		{"-short -rounds 5", true, 5, "1ms"},
		{"-time 2s -short", true, 2, "2s"},
		{"-short=false", false, 5, "1s"},
		{"-rows (", false, 0, ""},
		{"-rounds 0", false, 0, ""},
		{"-rounds x", false, 0, ""},
		{"row", false, 0, ""},
	}
	for _, test := range tests {
		var rounds int
		var time string
		var rows *regexp.Regexp
		f := New("test", io.Discard)
		f.Rounds(&rounds, 5, 2)
		f.Text(&time, "time", "1s", "1ms", "how long")
		f.Rows(&rows, "Get")
		short, err := f.Parse(strings.Fields(test.args))
		if test.rounds == 0 {
			if err == nil {
				t.Errorf("%s: accepted", test.args)
			}
			continue
		}
		if err != nil || short != test.short || rounds != test.rounds || time != test.time || !rows.MatchString("") {
			t.Errorf("%s: %v, %d, %s, %v", test.args, short, rounds, time, err)
		}
	}
}
