package gobench

import (
	"slices"
	"strings"
	"testing"
)

func TestParseReadsALog(t *testing.T) {
	const text = `goos: linux
goarch: amd64
pkg: example.com/bench
cpu: Some CPU @ 2.00GHz
BenchmarkServerGet1ReqPerConn
BenchmarkServerGet1ReqPerConn                      	  170643	      2090 ns/op	       0 B/op	       0 allocs/op
BenchmarkServerGet1ReqPerConn-16                   	  260670	       912.8 ns/op	      16 B/op	       2 allocs/op
BenchmarkHeaderRead-2   	  244924	       0.5008 ns/op	 449.26 MB/s	       3 B/op	       1 allocs/op
BenchmarkPlain	 5	 1e+06 ns/op
BenchmarkNamed/case-x	 7	 3 ns/op
    some_test.go:12: a line that was logged
BenchmarkCustom-4	 8	 5 ns/op	 9.5 cpu-ns/op	 0.25 requests/ns
PASS
ok  	example.com/bench	45.483s
`
	log, err := Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if log.CPU != "Some CPU @ 2.00GHz" {
		t.Errorf("CPU: %q", log.CPU)
	}
	want := []Result{
		{Name: "ServerGet1ReqPerConn", Procs: 1, NsPerOp: 2090},
		{Name: "ServerGet1ReqPerConn", Procs: 16, NsPerOp: 912.8, BytesPerOp: 16, AllocsPerOp: 2},
		{Name: "HeaderRead", Procs: 2, NsPerOp: 0.5008, BytesPerOp: 3, AllocsPerOp: 1},
		{Name: "Plain", Procs: 1, NsPerOp: 1e6},
		{Name: "Named/case-x", Procs: 1, NsPerOp: 3},
		{Name: "Custom", Procs: 4, NsPerOp: 5, CPUNsPerOp: 9.5},
	}
	if !slices.Equal(log.Results, want) {
		t.Errorf("got  %+v\nwant %+v", log.Results, want)
	}
}

func TestParseRefusesResultsItDoesNotUnderstand(t *testing.T) {
	for _, line := range []string{
		"BenchmarkX 10 fast ns/op",
		"BenchmarkX 10 12 ns/op 3",
		"BenchmarkX 10 3 B/op",
		"BenchmarkX 10",
		"BenchmarkX 10 " + strings.Repeat("9", 1<<16) + " ns/op",
	} {
		if log, err := Parse(strings.NewReader(line + "\n")); err == nil {
			t.Errorf("%.40q: got %+v", line, log)
		}
	}
}
