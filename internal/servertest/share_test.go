package servertest

import (
	"fmt"
	"slices"
	"testing"
)

func TestShares(t *testing.T) {
	for text, want := range map[string]share{"": {}, "0/8": {0, 8}, "3/8": {3, 8}, "7/8": {7, 8}, "30/8": {30, 8}, "0/1": {0, 1}} {
		if got, err := parseShare(text); err != nil || got != want {
			t.Errorf("%q is %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"3", "/", "3/", "/8", "3/0", "-1/8", "3/-8", "a/8", "3/8/2", " 3/8", "99999999999/8"} {
		if got, err := parseShare(text); err == nil {
			t.Errorf("%q is %v, want an error", text, got)
		}
	}
}

// If there are enough rows, all shares together take each of them equally often, and no share
// is empty.
func TestSharesTakeEachRow(t *testing.T) {
	for _, table := range []string{"TestA", "TestB/portable/tcp"} {
		for of := 1; of <= 9; of++ {
			for rows := 1; rows <= 40; rows++ {
				taken := make([]int, rows)
				for number := 5 * of; number < 6*of; number++ {
					some := 0
					for row := range rows {
						if (share{number, of}).takes(table, row, rows) {
							taken[row]++
							some++
						}
					}
					if most := (rows + of - 1) / of; some == 0 || some > most {
						t.Errorf("share %d/%d takes %d of %d rows", number, of, some, rows)
					}
				}
				if slices.Min(taken) == 0 || rows >= of && slices.Max(taken) != 1 {
					t.Errorf("the shares of %d take the rows %v times", of, taken)
				}
			}
		}
	}
}

func TestRunWithoutAShareTakesEverything(t *testing.T) {
	for row := range 20 {
		if !(share{}).takes("TestA", row, 20) {
			t.Errorf("row %d is left out", row)
		}
	}
	if got := (share{}).engines("TestA", Engines); len(got) != len(Engines) {
		t.Errorf("%d engines of %d", len(got), len(Engines))
	}
}

func TestSocketEnginesAreThoseWithSockets(t *testing.T) {
	for i, e := range Engines {
		if e.Sockets != (i < len(SocketEngines)) {
			t.Errorf("engine %d is %+v", i, e)
		}
	}
}

// Each share has an engine of each kind, 8 of them have all engines, and in 24 each of their
// parts meets each engine.
func TestSharesTakeEachEngine(t *testing.T) {
	for _, engines := range [][]Engine{Engines, SocketEngines, TLSEngines} {
		met := make(map[string]bool)
		for number := range 24 {
			s := share{number, 8}
			kept := s.engines("TestA", engines)
			if len(kept) != 2 || kept[0].Kind != Portable || kept[1].Kind != Event {
				t.Fatalf("share %d has the engines %+v", number, kept)
			}
			for _, e := range kept {
				met[e.Name] = true
				met[fmt.Sprint(e.Name, number%8)] = true
			}
			if number == 7 {
				for _, e := range engines {
					if !met[e.Name] {
						t.Errorf("8 shares do without %s", e.Name)
					}
				}
			}
		}
		if want := len(engines) * (1 + 8); len(met) != want {
			t.Errorf("%d engines and pairs, want %d", len(met), want)
		}
	}
}

func TestSomeOfTheRows(t *testing.T) {
	rows := []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}
	some := Some(t, rows)
	if own := ownShare(); own.of == 0 && !slices.Equal(some, rows) {
		t.Errorf("without a share %v", some)
	}
	for _, row := range rows {
		if Takes(t, row, len(rows)) != slices.Contains(some, row) {
			t.Errorf("row %d: %v", row, some)
		}
	}
	if got := len(OfEachKind(t, Engines)); got < 2 {
		t.Errorf("%d engines", got)
	}
}
