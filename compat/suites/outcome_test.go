package main

import (
	"strings"
	"testing"
)

func TestOutcomeTellsTestsFromPackages(t *testing.T) {
	o, err := readOutcome(strings.NewReader(`
{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestB","Output":"why it failed\n"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"fail","Package":"p","Test":"TestB"}
{"Action":"skip","Package":"p","Test":"TestC"}
{"Action":"fail","Package":"p"}
{"Action":"pass","Package":"q"}
{"Action":"skip","Package":"r"}
{"Action":"build-output","ImportPath":"s","Output":"does not build\n"}
{"Action":"build-fail","ImportPath":"s"}
`))
	if err != nil {
		t.Fatal(err)
	}
	if passed, failed := o.count(); passed != 1 || failed != 1 {
		t.Errorf("%d passed, %d failed", passed, failed)
	}
	if got := strings.Join(o.names(), ","); got != "p,p TestA,p TestB,p TestC" {
		t.Errorf("names %q", got)
	}
	if s := o.said("p TestB"); s != "    why it failed\n" {
		t.Errorf("TestB said %q", s)
	}
	// The output of a test that did not run is that its package does not build.
	if s := o.said("s TestX"); s != "    does not build\n" {
		t.Errorf("the test of a package that does not build said %q", s)
	}
}

func TestOutcomeRefusesWhatIsNoReport(t *testing.T) {
	if _, err := readOutcome(strings.NewReader("go: something is wrong\n")); err == nil {
		t.Error("text was taken for a report")
	}
}

func TestOutcomeNamesWhatPasses(t *testing.T) {
	o := &outcome{results: map[string]string{"p": fail, "q": pass, "p TestA": pass, "p TestB": fail, "p TestC": skip, "p TestA/part": pass}}
	passing := o.passing()
	for name, want := range map[string]bool{"p": false, "q": false, "p TestA": true, "p TestB": false, "p TestC": false, "p TestA/part": true} {
		if passing[name] != want {
			t.Errorf("%s passes: %t, want %t", name, passing[name], want)
		}
	}
}

func TestBuildErrorIsTheFirstOfTheCompiler(t *testing.T) {
	for _, c := range []struct{ name, report, want string }{
		{"a compiler's", `{"Action":"build-output","ImportPath":"s","Output":"# s\n"}
{"Action":"build-output","ImportPath":"s","Output":"./a.go:3:2: undefined: x\n"}
{"Action":"build-output","ImportPath":"s","Output":"./b.go:1:2: undefined: y\n"}`, ": ./a.go:3:2: undefined: x"},
		{"a package that is not there", `{"Action":"build-output","ImportPath":"s","Output":"s.go:7:2: no required module provides package z\n"}`,
			": s.go:7:2: no required module provides package z"},
		{"what a test says is none", `{"Action":"output","Package":"p","Test":"TestA","Output":"a.go:7: wrong\n"}`, ""},
	} {
		o, err := readOutcome(strings.NewReader(c.report))
		if err != nil {
			t.Fatal(err)
		}
		if got := o.buildError(); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}
