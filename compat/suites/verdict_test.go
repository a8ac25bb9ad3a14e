package main

import (
	"slices"
	"strings"
	"testing"
)

func TestJudge(t *testing.T) {
	for _, c := range []struct {
		name, theirs, here string
		want               verdict
	}{
		{"fails here only", "pass pass pass", "fail fail fail", lost},
		{"fails here now and then", "pass pass pass", "pass fail pass", lost},
		{"is skipped here", "pass pass pass", "skip skip skip", lost},
		{"does not run here", "pass pass pass", "- - -", lost},
		{"passes here only", "fail fail fail", "pass pass pass", gained},
		{"fails with v1.77.0 now and then", "pass fail pass", "fail fail fail", unsteady},
		{"fails there now and then, and passes here", "pass fail pass", "pass pass pass", unsteady},
		{"passes with both", "pass pass pass", "pass pass pass", unsteady},
		{"fails with both", "fail fail fail", "fail fail fail", unsteady},
		{"was not run again", "", "", unsteady},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := judge(strings.Fields(c.theirs), strings.Fields(c.here)); got != c.want {
				t.Errorf("got %d, want %d", got, c.want)
			}
		})
	}
}

func TestFirstFailureCounts(t *testing.T) {
	again, here := []string{pass, pass, pass}, []string{pass, fail, pass}
	for first, want := range map[string]verdict{pass: lost, skip: lost, "": lost, fail: unsteady} {
		if got := judge(withFirst(first, again), here); got != want {
			t.Errorf("after %q: got %d, want %d", first, got, want)
		}
	}
	if got := judge(withFirst(fail, []string{fail, fail}), []string{pass, pass}); got != gained {
		t.Errorf("a test that never passes there is %d", got)
	}
}

func TestDiffering(t *testing.T) {
	theirs := &outcome{results: map[string]string{
		"p": fail, "p TestA": pass, "p TestB": fail, "p TestC": pass, "p TestD": pass, "p TestE": skip, "p TestF": fail,
	}}
	here := &outcome{results: map[string]string{
		"p": pass, "p TestA": pass, "p TestB": pass, "p TestC": skip, "p TestE": fail, "p TestF": fail, "p TestG": pass,
	}}
	want := []string{"p TestB", "p TestC", "p TestD", "p TestG"}
	if got := differing(theirs, here); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestLeavesAreTheParts(t *testing.T) {
	names := []string{"p TestA", "p TestA/one", "p TestA/one/x", "p TestA/two", "p TestAB", "q TestA"}
	want := []string{"p TestA/one/x", "p TestA/two", "p TestAB", "q TestA"}
	if got := leaves(names); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestRoot(t *testing.T) {
	for name, want := range map[string]string{
		"m/p TestA":              "m/p|TestA",
		"m/p TestA/a_part/of it": "m/p|TestA",
	} {
		if pkg, test := root(name); pkg+"|"+test != want {
			t.Errorf("%s: got %s|%s, want %s", name, pkg, test, want)
		}
	}
}
