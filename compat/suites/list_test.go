package main

import (
	"os"
	"slices"
	"strings"
	"testing"
)

func TestListsOfTheRepositoryAreSound(t *testing.T) {
	suites, err := readSuites(suitesTable)
	if err != nil {
		t.Fatal("suites.tsv:", err)
	}
	differences, err := readDifferences(differencesTable)
	if err != nil {
		t.Fatal("differences.tsv:", err)
	}
	names := map[string]bool{}
	for _, s := range suites {
		if names[s.String()] {
			t.Errorf("suites.tsv has %s twice", s)
		}
		names[s.String()] = true
	}
	for _, d := range differences {
		if !names[d.suite] {
			t.Errorf("differences.tsv speaks of %s, which suites.tsv does not have", d.suite)
		}
	}
}

func TestReadmeHoldsTheReasonsOfAllDifferences(t *testing.T) {
	b, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	listed, err := readDifferences(differencesTable)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(b), reasons(listed)) {
		t.Error("compat/README.md has other differences than differences.tsv: run-suites -update writes them")
	}
}

func TestReadSuites(t *testing.T) {
	for _, c := range []struct{ name, table, want, err string }{
		{"a line", "m/x@v1.0.0\tci\t./a ./b\tthe rest needs redis\n", "m/x@v1.0.0 true [./a ./b] the rest needs redis", ""},
		{"flags and a module that it needs", "m@v1\tall\t-skip=TestA +n@v2 ./...\t\n", "m@v1 false [-skip=TestA ./...] +n@v2", ""},
		{"a module in the place of another", "m@v1 with contrib/x\tci\t./...\t\n", "m@v1 with contrib/x true [./...] ", ""},
		{"no folder", "m@v1 with \tci\t./...\t\n", "", `line 1: "m@v1 with " is no MODULE@VERSION`},
		{"comments and empty lines", "# words\n\nm@v1\tall\t./...\t\n", "m@v1 false [./...] ", ""},
		{"too few columns", "m@v1\tall\t./...\n", "", "line 1: 3 columns, want module, when, arguments and note"},
		{"no version", "#\nm\tall\t./...\t\n", "", `line 2: "m" is no MODULE@VERSION`},
		{"no module", "@v1\tall\t./...\t\n", "", `line 1: "@v1" is no MODULE@VERSION`},
		{"another time", "m@v1\tnever\t./...\t\n", "", `line 1: "never" is neither ci nor all`},
		{"no packages", "m@v1\tall\t \t\n", "", "line 1: no packages"},
	} {
		t.Run(c.name, func(t *testing.T) {
			list, err := readSuites(c.table)
			if text(err) != c.err {
				t.Fatalf("error %v, want %q", err, c.err)
			}
			if c.err == "" && describe(list[0]) != c.want {
				t.Errorf("got %q, want %q", describe(list[0]), c.want)
			}
		})
	}
}

func describe(s suite) string {
	quick := map[bool]string{true: "true", false: "false"}[s.quick]
	needs := ""
	for _, module := range s.needs {
		needs += "+" + module
	}
	return s.String() + " " + quick + " [" + strings.Join(s.args, " ") + "] " + needs + s.note
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestChoose(t *testing.T) {
	list, err := readSuites("a@v1\tci\t./...\t\nb@v1\tall\t./x\t\nb@v2\tall\t./x\t\n")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, args, want, err string }{
		{"nothing is what CI runs", "", "a@v1", ""},
		{"all", "all", "a@v1,b@v1,b@v2", ""},
		{"a module is all its versions", "b", "b@v1,b@v2", ""},
		{"a version", "b@v2", "b@v2", ""},
		{"a version that is not in the list", "b@v3 a", "b@v3,a@v1", ""},
		{"no such module", "c", "", `"c" is no MODULE@VERSION, nor is it in suites.tsv`},
	} {
		t.Run(c.name, func(t *testing.T) {
			chosen, err := choose(list, strings.Fields(c.args))
			if text(err) != c.err {
				t.Fatalf("error %v, want %q", err, c.err)
			}
			var names []string
			for _, s := range chosen {
				names = append(names, s.String())
			}
			if got := strings.Join(names, ","); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestReadDifferences(t *testing.T) {
	for _, c := range []struct{ name, table, err string }{
		{"an RFC", "m@v1\tp TestA/part\tRFC 9110 §7.2: Host comes first\n", ""},
		{"a known failure", "# words\nm@v1\tp TestA\tknown failure 35\n", ""},
		{"no test", "m@v1\tp\tRFC 9110 §7.2\n", `line 1: "p" is no package and test`},
		{"no version", "m\tp TestA\tRFC 9110 §7.2\n", `line 1: "m" is no MODULE@VERSION`},
		{"no rule", "m@v1\tp TestA\tit is better so\n", `line 1: the reason "it is better so" names no rule`},
		{"an RFC without a section", "m@v1\tp TestA\tRFC 9110\n", `line 1: the reason "RFC 9110" names no rule`},
		{"two columns", "m@v1\tp TestA\n", "line 1: 2 columns, want module, test and reason"},
		{"twice", "m@v1\tp TestA\tRFC 9110 §7.2\nm@v1\tp TestA\tRFC 9110 §7.3\n", "line 2: m@v1 p TestA stands here twice"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := readDifferences(c.table); text(err) != c.err {
				t.Errorf("error %v, want %q", err, c.err)
			}
		})
	}
}

func TestSettle(t *testing.T) {
	const table = "m@v1\tp TestA\tRFC 9110 §7.2\nm@v1\tp TestB\tRFC 9110 §7.2\nm@v2\tp TestC\tRFC 9110 §7.2\n"
	for _, c := range []struct {
		name, lost, unlisted, gone string
	}{
		{"as listed", "p TestA,p TestB", "", ""},
		{"one more", "p TestA,p TestB,p TestD", "p TestD", ""},
		{"one is gone", "p TestB", "", "p TestA"},
		{"that of another version does not count", "p TestA,p TestB,p TestC", "p TestC", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			list, err := readDifferences(table)
			if err != nil {
				t.Fatal(err)
			}
			unlisted, left := settle(list, suite{module: "m", version: "v1"}, strings.Split(c.lost, ","))
			var gone []string
			for _, d := range left {
				gone = append(gone, d.test)
			}
			if got := strings.Join(unlisted, ","); got != c.unlisted {
				t.Errorf("unlisted %q, want %q", got, c.unlisted)
			}
			if got := strings.Join(gone, ","); got != c.gone {
				t.Errorf("gone %q, want %q", got, c.gone)
			}
		})
	}
}

func TestReportCounts(t *testing.T) {
	s := suite{module: "m", version: "v1"}
	listed := []*difference{{suite: "m@v1", test: "p TestA"}}
	for _, c := range []struct {
		name string
		row  row
		o    options
		want int
	}{
		{"as listed", row{suite: s, lost: []string{"p TestA"}}, options{}, 0},
		{"one that is not listed, and one that is gone", row{suite: s, lost: []string{"p TestB"}}, options{}, 2},
		{"gone", row{suite: s}, options{}, 1},
		{"only some tests ran", row{suite: s}, options{pattern: "TestC"}, 0},
		{"nothing ran", row{suite: s, skipped: "it cannot be fetched"}, options{}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			listed[0].found = false
			if got := report(c.row, slices.Clone(listed), c.o); got != c.want {
				t.Errorf("%d, want %d", got, c.want)
			}
		})
	}
}

func TestConclude(t *testing.T) {
	ran, skipped := row{}, row{skipped: "it cannot be fetched"}
	for _, c := range []struct {
		name   string
		rows   []row
		faults int
		fails  bool
	}{
		{"all is as listed", []row{ran}, 0, false},
		{"some are skipped", []row{skipped, ran}, 0, false},
		{"a difference", []row{ran}, 1, true},
		{"all are skipped", []row{skipped, skipped}, 0, true},
		{"nothing was asked for", nil, 0, true},
	} {
		if err := conclude(c.rows, c.faults); (err != nil) != c.fails {
			t.Errorf("%s: error %v", c.name, err)
		}
	}
}
