package procfs

import (
	"slices"
	"testing"
	"time"
)

func TestParseStat(t *testing.T) {
	const tail = " S 1 4242 4242 0 -1 4194560 9001 0 3 0 250 75 11 12 20 0 7 0 123456 1271934976 2048 18446744073709551615 1 1\n"
	tests := []struct {
		name, text string
		want       time.Duration
		ok         bool
	}{
		{"plain", "4242 (server)" + tail, 3250 * time.Millisecond, true},
		{"space in the name", "4242 (my server)" + tail, 3250 * time.Millisecond, true},
		{"parentheses in the name", "4242 (a) S 1 (b)" + tail, 3250 * time.Millisecond, true},
		{"fresh process", "1 (x) R 0 0 0 0 0 0 0 0 0 0 0 0", 0, true},
		{"no system time", "1 (x) R 0 0 0 0 0 0 0 0 0 0 7", 0, false},
		{"no name", "1 x R 0 0 0 0 0 0 0 0 0 0 7 7", 0, false},
		{"no number", "1 (x) R 0 0 0 0 0 0 0 0 0 0 7 -7", 0, false},
		{"empty", "", 0, false},
	}
	for _, test := range tests {
		got, err := ParseStat(test.text)
		if (err == nil) != test.ok || got != test.want {
			t.Errorf("%s: %v, %v", test.name, got, err)
		}
	}
}

func TestParseResident(t *testing.T) {
	tests := []struct {
		name, text string
		want       int64
		ok         bool
	}{
		{"linux", "Name:\tserver\nVmHWM:\t    9000 kB\nVmRSS:\t    8632 kB\nRssAnon:\t    3276 kB\n", 8632 << 10, true},
		{"last line without an end", "VmRSS:\t1 kB", 1 << 10, true},
		{"a kernel thread", "Name:\tkworker\n", 0, false},
		{"another unit", "VmRSS:\t1 MB\n", 0, false},
		{"no number", "VmRSS:\tmany kB\n", 0, false},
		{"negative", "VmRSS:\t-1 kB\n", 0, false},
	}
	for _, test := range tests {
		got, err := ParseResident(test.text)
		if (err == nil) != test.ok || got != test.want {
			t.Errorf("%s: %v, %v", test.name, got, err)
		}
	}
}

func TestParseCPUList(t *testing.T) {
	tests := []struct {
		text string
		want []int // nil if refused
	}{
		{"0", []int{0}},
		{"0-3\n", []int{0, 1, 2, 3}},
		{"8,0-1,10-11", []int{0, 1, 8, 10, 11}},
		{"0-1,1-2", []int{0, 1, 2}},
		{"", nil},
		{"3-1", nil},
		{"0-", nil},
		{"-1", nil},
		{"a", nil},
		{"0-4000000000", nil},
	}
	for _, test := range tests {
		got, err := ParseCPUList(test.text)
		if (err == nil) != (test.want != nil) || !slices.Equal(got, test.want) {
			t.Errorf("%q: %v, %v", test.text, got, err)
		}
	}
}
