package procfs

import (
	"testing"
)

func TestParseMeminfo(t *testing.T) {
	const text = "MemTotal:       1000 kB\nMemFree:         300 kB\nMemAvailable:    900 kB\nBuffers:          20 kB\n" +
		"Cached:          200 kB\nShmem:            10 kB\nSUnreclaim:       70 kB\n"
	tests := []struct {
		name, text string
		want       Memory
		ok         bool
	}{
		{"linux", text, Memory{Total: 1000 << 10, Room: 510 << 10, Slab: 70 << 10}, true},
		{"without slab", text[:len(text)-len("SUnreclaim:       70 kB\n")], Memory{}, false},
		{"another unit", text[:len(text)-len("kB\n")] + "MB\n", Memory{}, false},
		{"empty", "", Memory{}, false},
	}
	for _, test := range tests {
		got, err := ParseMeminfo(test.text)
		if (err == nil) != test.ok || got != test.want {
			t.Errorf("%s: %+v, %v", test.name, got, err)
		}
	}
}

func TestParseFileNr(t *testing.T) {
	tests := []struct {
		text string
		want int
		ok   bool
	}{
		{"1366\t0\t2466183\n", 2464817, true},
		{"1366\t0\t1000\n", 0, true},
		{"10\t0\t18446744073709551615\n", 1<<30 - 10, true},
		{"1366\t0\n", 0, false},
		{"a\t0\t1\n", 0, false},
		{"1\t0\t-1\n", 0, false},
		{"", 0, false},
	}
	for _, test := range tests {
		got, err := parseFileNr(test.text)
		if (err == nil) != test.ok || got != test.want {
			t.Errorf("%q: %d, %v", test.text, got, err)
		}
	}
}
