package main

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

func TestUsualResultsAllow(t *testing.T) {
	u := usual{2, []string{"p TestC"}}
	for _, tt := range []struct {
		name    string
		results map[string]string
		want    bool
	}{
		{"the same", map[string]string{"p TestA": pass, "p TestB": pass, "p TestC": fail}, true},
		{"all pass", map[string]string{"p TestA": pass, "p TestB": pass, "p TestC": pass}, true},
		{"another fails", map[string]string{"p TestA": pass, "p TestB": fail, "p TestC": pass}, false},
		{"one more fails", map[string]string{"p TestA": pass, "p TestB": pass, "p TestD": fail}, false},
		{"one is gone", map[string]string{"p TestA": pass, "p TestC": fail}, false},
		{"one is skipped", map[string]string{"p TestA": pass, "p TestB": skip, "p TestC": fail}, false},
		{"a package does not build", map[string]string{"p TestA": pass, "p TestB": pass, "q": fail}, false},
		{"a package fails with a test", map[string]string{"p TestA": pass, "p TestB": pass, "p TestC": fail, "p": fail}, true},
	} {
		if got := u.allows(&outcome{results: tt.results}); got != tt.want {
			t.Errorf("%s: allowed is %t", tt.name, got)
		}
	}
}

func TestUsualTableIsReadAndWritten(t *testing.T) {
	results, err := readUsual(usualTable)
	if err != nil {
		t.Fatal(err)
	}
	list, err := readSuites(suitesTable)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range list {
		if _, ok := results[s.String()]; s.quick && !ok {
			t.Errorf("no usual results of %s: CI compares it with v1.77.0 each time", s)
		}
	}
	file := filepath.Join(t.TempDir(), "usual.tsv")
	rows := []row{{suite: list[0], here: &outcome{results: map[string]string{"p TestA": pass, "p TestC": fail, "p TestB": fail}}}}
	if err := writeUsual(file, results, rows, list); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	again, err := readUsual(string(text))
	if err != nil {
		t.Fatal(err)
	}
	if want := (usual{1, []string{"p TestB", "p TestC"}}); !reflect.DeepEqual(again[list[0].String()], want) {
		t.Errorf("written %v, want %v", again[list[0].String()], want)
	}
	delete(again, list[0].String())
	delete(results, list[0].String())
	if !reflect.DeepEqual(again, results) {
		t.Errorf("read %v again, want %v", again, results)
	}
	for _, table := range []string{"m@v1.0.0\t1\n", "m@v1.0.0\tmany\t\n", "m@v1.0.0\t0\t\n", "m@v1.0.0\t1\t\nm@v1.0.0\t2\t\n"} {
		if _, err := readUsual(table); err == nil {
			t.Errorf("%q is accepted", table)
		}
	}
}
