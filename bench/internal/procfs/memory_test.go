package procfs

import (
	"os"
	"runtime"
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

func TestAdministratorsMayOpenAnyNumberOfFiles(t *testing.T) {
	tests := []struct {
		status      string
		limited, ok bool
	}{
		{"CapEff:\t000001ffffffffff\n", false, true},
		{"CapEff:\t0000000000200000\n", false, true},
		{"CapEff:\t000001ffffdfffff\n", true, true},
		{"CapEff:\t0000000000000000\n", true, true},
		{"CapEff:\tall\n", false, false},
		{"Name:\tserver\n", false, false},
	}
	for _, test := range tests {
		limited, err := parseLimited(test.status)
		if (err == nil) != test.ok || limited != test.limited {
			t.Errorf("%q: %v, %v", test.status, limited, err)
		}
	}
}

func TestMemoryOfThisMachine(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only linux has /proc as it is read here")
	}
	if m, err := MachineMemory(); err != nil || m.Room < 1<<20 || m.Room > m.Total || m.Slab < 1<<20 || m.Slab > m.Total {
		t.Errorf("%+v, %v", m, err)
	}
	if left, _, err := FilesLeft(); err != nil || left < 1 {
		t.Errorf("%d files left, %v", left, err)
	}
}

func TestThreadTime(t *testing.T) {
	if used, err := ThreadTime(os.Getpid()); runtime.GOOS == "linux" && (used <= 0 || err != nil) {
		t.Errorf("this process has used %v, %v", used, err)
	}
	if _, err := ThreadTime(-1); err == nil {
		t.Error("a process that cannot exist has a time")
	}
}
