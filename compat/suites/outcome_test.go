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
	// A test that did not run because its package does not build says so.
	if s := o.said("s TestX"); s != "    does not build\n" {
		t.Errorf("the test of a package that does not build said %q", s)
	}
}

func TestOutcomeRefusesWhatIsNoReport(t *testing.T) {
	if _, err := readOutcome(strings.NewReader("go: something is wrong\n")); err == nil {
		t.Error("text was taken for a report")
	}
}
