//go:build unix

package main

import (
	"slices"
	"strings"
	"testing"
)

func TestFailedAndHungTestsAreFound(t *testing.T) {
	for name, c := range map[string]struct {
		events string
		want   []string
	}{
		"all pass": {`{"Action":"run","Test":"TestA"}{"Action":"pass","Test":"TestA"}{"Action":"pass"}`, nil},
		"one fails": {`{"Action":"run","Test":"TestA"}{"Action":"output","Test":"TestA","Output":"late\n"}
			{"Action":"fail","Test":"TestA"}{"Action":"run","Test":"TestB"}{"Action":"skip","Test":"TestB"}{"Action":"fail"}`, []string{"TestA: late\n"}},
		"one hangs": {`{"Action":"run","Test":"TestA"}{"Action":"output","Output":"panic: timed out\n"}{"Action":"fail"}`,
			[]string{"TestA: did not end\npanic: timed out\n"}},
		"the binary fails": {`{"Action":"output","Output":"exit status 66\n"}{"Action":"fail"}`, []string{"(binary): exit status 66\n"}},
	} {
		faults, err := read(strings.NewReader(c.events))
		var got []string
		for _, f := range faults {
			got = append(got, f.name+": "+f.why)
		}
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, %v, want %q", name, got, err, c.want)
		}
	}
	if _, err := read(strings.NewReader(`{"Action":`)); err == nil {
		t.Error("output that ends in the middle is no error")
	}
}

func TestRecordNamesEachTestWithCountAndReason(t *testing.T) {
	var told strings.Builder
	r := record{log: &told}
	k := kind{pkg: "./a", procs: 2}
	r.add(k, []fault{{"TestA/sub", "the reason\n"}, {"TestA", "of its subtest"}})
	k.race = true
	r.add(k, []fault{{"TestA/sub", "another"}, {"TestB", strings.Repeat("line\n", 100)}})
	r.add(k, nil)
	if n := strings.Count(told.String(), "FAILED "); n != 3 || !strings.Contains(told.String(), "FAILED ./a TestB with ./a, GOMAXPROCS=2, race\n    line\n") {
		t.Errorf("%d faults are told at once:\n%s", n, told.String())
	}
	var out strings.Builder
	r.write(&out)
	for _, want := range []string{
		"FAILED ./a TestA/sub: 2 times\n  1 times with ./a, GOMAXPROCS=2\n  1 times with ./a, GOMAXPROCS=2, race\n    the reason\n    of its subtest\n",
		"FAILED ./a TestB: 1 times\n", "... and 88 more lines", "3 runs, 2 tests failed\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, out.String())
		}
	}
	if strings.Index(out.String(), "TestA/sub") > strings.Index(out.String(), "TestB") {
		t.Error("the test that failed most is not the first")
	}
	if r.count() != 3 {
		t.Errorf("%d faults are counted, want 3", r.count())
	}
}

func TestReasonsAreShownHoweverManyLinesComeBefore(t *testing.T) {
	text := strings.Repeat("line\n", 100) + "    a_test.go:12: got 1\n\t/a_test.go:9 +0x1d\n--- FAIL: TestA/sub (1.00s)\npanic: it hangs\nend\n"
	want := strings.Repeat("    line\n", shownLines) + "        a_test.go:12: got 1\n    --- FAIL: TestA/sub (1.00s)\n    panic: it hangs\n    ... and 90 more lines, see -v\n"
	if got := indented(text, false); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := indented(strings.Repeat("a_test.go:1: wrong\n", 100), false); strings.Count(got, "wrong") != 2*shownLines {
		t.Errorf("%d reasons are shown, want %d", strings.Count(got, "wrong"), 2*shownLines)
	}
}
