package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/valyala/fasthttp/bench/internal/rig"
)

func TestCostIsHeldToItsBound(t *testing.T) {
	bound := cost{Instructions: 1000, Allocations: 1, Bytes: 100}
	tests := []struct {
		name string
		got  cost
		want string // part of the error; "" if there is none
	}{
		{"equal", bound, ""},
		{"cheaper", cost{900, 0, 0}, ""},
		{"within the margin", cost{1079, 1.01, 120}, ""},
		{"more instructions", cost{1081, 1, 100}, "1081 instructions are 8.1% more than 1000"},
		{"not counted", cost{0, 1, 100}, ""},
		{"more allocations", cost{1000, 1.03, 100}, "1.03 allocations"},
		{"more bytes", cost{1000, 1, 125}, "125.0 bytes"},
	}
	for _, test := range tests {
		err := test.got.within(bound, 8)
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
	}
	if err := (cost{Instructions: 1e6}).within(cost{}, 8); err != nil {
		t.Errorf("without a bound for instructions: %v", err)
	}
}

func TestBoundsAreStored(t *testing.T) {
	file := filepath.Join(t.TempDir(), "bounds.json")
	bounds, err := readBounds(file)
	if err != nil || len(bounds) != 0 {
		t.Fatalf("without a file: %v, %v", bounds, err)
	}
	bounds.store("go1.99 linux/amd64", map[string]cost{"A": {100, 1, 16}, "B": {200, 0, 0}})
	bounds.store("go1.99 linux/amd64", map[string]cost{"A": {0, 2, 32}})
	if err := rig.WriteJSON(file, bounds); err != nil {
		t.Fatal(err)
	}
	bounds, err = readBounds(file)
	if err != nil {
		t.Fatal(err)
	}
	rows := bounds["go1.99 linux/amd64"]
	if a, b := (cost{100, 2, 32}), (cost{200, 0, 0}); rows["A"] != a || rows["B"] != b {
		t.Errorf("got %v", rows)
	}
}

// TestStoredBoundsAreOfRowsThatExist checks the file that the command compares with.
func TestStoredBoundsAreOfRowsThatExist(t *testing.T) {
	bounds, err := readBounds("bounds.json")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{sizeRow: true}
	for _, row := range rows {
		known[row.name] = true
	}
	for platform, stored := range bounds {
		for name, c := range stored {
			if !known[name] || c.Instructions <= 0 && name != sizeRow {
				t.Errorf("%s: %s: %+v", platform, name, c)
			}
		}
	}
}

func TestNumberOfInstructionsIsFound(t *testing.T) {
	n, err := parseCollected("==12== Events    : Ir\n==12== Collected : 89618515\n==12== \nPASS\n")
	if err != nil || n != 89618515 {
		t.Errorf("%d, %v", n, err)
	}
	if _, err := parseCollected("valgrind: fatal"); err == nil {
		t.Error("no number was found missing")
	}
}

func TestProfileIsReadByFunction(t *testing.T) {
	run := func(parse, copied, calls string) profile {
		t.Helper()
		p, err := parseProfile(strings.NewReader("version: 1\npositions: line\nevents: Ir\nsummary: 9\n\n" +
			"fl=(1) a.go\nfn=(1) serve\n10 7\n+3 3\ncfn=(2) parse\ncalls=" + calls + " 20\n* 999\n" +
			"fn=(2)\n20 " + parse + "\ncfi=(2) b.go\ncfn=(3) memmove\ncalls=" + calls + " 5\n-1 999\n" +
			"fn=(4) write\n30 50\ncfn=(3)\ncalls=" + calls + " 5\n* 999\n\n" +
			"fn=(3)\n* " + copied + "\nfn=(5) serve'2\n* 90\ntotals: 9\n"))
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	many := run("500", "240", "11")
	many.less(run("100", "40", "1"), 10)
	got := map[string]function{}
	for _, f := range perOperation(many, 10) {
		got[f.name] = f
	}
	for _, want := range []function{{"parse", 40, 50}, {"memmove", 20, 20}, {"write", 0, 10}, {"serve", 0, 50}} {
		if got[want.name] != want {
			t.Errorf("got %v, want %v", got[want.name], want)
		}
	}
	for _, text := range []string{"fn=(1) a\n10\n", "fn=(1) a\n10 x\n", "fn=(1) a\ncalls=x 3\n"} {
		if _, err := parseProfile(strings.NewReader(text)); err == nil {
			t.Errorf("%q was understood", text)
		}
	}
}
