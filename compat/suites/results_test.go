package main

import (
	"strings"
	"testing"
)

func TestResultsGoIntoTheirTable(t *testing.T) {
	list, err := readSuites("a@v1\tci\t./...\t\nb@v1\tall\t./...\tonly some\nc@v1\tall\t./...\t\n")
	if err != nil {
		t.Fatal(err)
	}
	listed, err := readDifferences("a@v1\tp TestA\tRFC 9110 §7.2: Host\na@v1\tp TestB\tRFC 9110 §7.3: port\nb@v1\tq TestC\tRFC 9110 §7.2: Host\n")
	if err != nil {
		t.Fatal(err)
	}
	a, b, c := row{suite: list[0]}, row{suite: list[1]}, row{suite: list[2]}
	a.passed, a.lost, a.neither = [2]int{10, 8}, []string{"p TestA", "p TestB"}, 3
	b.passed, b.gained, b.unsteady = [2]int{5, 6}, 1, 2
	c.skipped = "no test passes with v1.77.0: a | b"

	text := "before\n" + tableBegins + tableEnds + "after\n"
	if text, err = withResults(text, []row{c, a}, list, listed); err != nil {
		t.Fatal(err)
	}
	// A row of another run stays, and a row of an unlisted suite is removed.
	if text, err = withResults(text, []row{b}, list[:2], listed); err != nil {
		t.Fatal(err)
	}
	want := "before\n" + tableBegins + `
| suite | version | pass with v1.77.0 | pass with this tree | pass with neither | differences | remarks |
| --- | --- | --- | --- | --- | --- | --- |
| a | v1 | 10 | 8 | 3 | 2 |  |
| b | v1 | 5 | 6 | 0 | 0 | only some; 1 pass with this tree only; 2 differed once and not again |

The differences:

- ` + "`TestA`, `TestC`: RFC 9110 §7.2: Host\n- `TestB`: RFC 9110 §7.3: port\n\n" + tableEnds + "after\n"
	if text != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
	if got, want := c.markdown(), "| c | v1 | | | | | skipped: no test passes with v1.77.0: a \\| b |\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestResultsWantATable(t *testing.T) {
	for _, text := range []string{"", tableBegins, tableEnds} {
		if _, err := withResults(text, nil, nil, nil); err == nil {
			t.Errorf("%q was taken", text)
		}
	}
}

func TestPrintedRowsSayWhatIsSkipped(t *testing.T) {
	var b strings.Builder
	s := suite{module: "m", version: "v1"}
	printRows(&b, []row{{suite: s, passed: [2]int{2, 1}, lost: []string{"p TestA"}}, {suite: s, skipped: "it cannot be fetched"}})
	for _, want := range []string{"m@v1   2 ", "skipped: it cannot be fetched"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}
