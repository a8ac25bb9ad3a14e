package main

import (
	_ "embed"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// The lists are separate files beside this one, readable without Go.
var (
	//go:embed suites.tsv
	suitesTable string
	//go:embed differences.tsv
	differencesTable string
)

// A suite has the tests of one version of a module.
type suite struct {
	module, version string
	// with is a folder of this tree with a module that replaces the one of its name on this
	// side only, or "".
	with string
	// quick is set if CI runs it.
	quick bool
	// args are flags of go test, followed by the packages to test.
	args []string
	// needs are modules that its go.mod must name.
	needs []string
	note  string
}

// fetched returns the module with its version.
func (s suite) fetched() string { return s.module + "@" + s.version }

func (s suite) String() string { return s.module + "@" + s.release() }

// release returns the version, and the folder of the replaced module.
func (s suite) release() string {
	if s.with == "" {
		return s.version
	}
	return s.version + separator + s.with
}

// separator separates a version and a folder.
const separator = " with "

// readSuites reads a table of tab-separated columns: the module with its version, which a folder
// of this tree may follow, as in "m@v1.0.0 with contrib/x", "ci" or
// "all" for when it is run, the arguments of go test, and a note for the table of results.
// Lines that start with '#' are ignored.
func readSuites(table string) ([]suite, error) {
	var list []suite
	err := eachLine(table, func(columns []string) error {
		if len(columns) != 4 {
			return fmt.Errorf("%d columns, want module, when, arguments and note", len(columns))
		}
		s, err := parseSuite(columns[0])
		if err != nil {
			return err
		}
		switch columns[1] {
		case "ci":
			s.quick = true
		case "all":
		default:
			return fmt.Errorf("%q is neither ci nor all", columns[1])
		}
		s.args, s.note = nil, columns[3]
		for _, arg := range strings.Fields(columns[2]) {
			if module, ok := strings.CutPrefix(arg, "+"); ok {
				s.needs = append(s.needs, module)
			} else {
				s.args = append(s.args, arg)
			}
		}
		if len(s.args) == 0 {
			return errors.New("no packages")
		}
		list = append(list, s)
		return nil
	})
	return list, err
}

func parseSuite(name string) (suite, error) {
	fetched, with, replaces := strings.Cut(name, separator)
	module, version, ok := strings.Cut(fetched, "@")
	if !ok || module == "" || version == "" || replaces && with == "" {
		return suite{}, fmt.Errorf("%q is no MODULE@VERSION", name)
	}
	return suite{module: module, version: version, with: with, args: []string{"./..."}}, nil
}

// choose returns the suites named by the arguments of the command: without arguments the
// suites that CI runs, for "all" the whole list, for a module its suites, and for a version
// that suite, even if it is not in the list.
func choose(list []suite, args []string) ([]suite, error) {
	var chosen []suite
	if len(args) == 0 {
		for _, s := range list {
			if s.quick {
				chosen = append(chosen, s)
			}
		}
		return chosen, nil
	}
	for _, arg := range args {
		before := len(chosen)
		for _, s := range list {
			if arg == "all" || arg == s.module || arg == s.String() {
				chosen = append(chosen, s)
			}
		}
		if len(chosen) > before {
			continue
		}
		s, err := parseSuite(arg)
		if err != nil {
			return nil, fmt.Errorf("%w, nor is it in suites.tsv", err)
		}
		chosen = append(chosen, s)
	}
	return chosen, nil
}

// A difference is a test that passes with v1.77.0 only, for a reason.
type difference struct {
	suite, test, reason string
	found               bool
}

// rule matches the rule that a reason must name.
var rule = regexp.MustCompile(`known failure \d+|RFC \d{4} §\d|documented: `)

// readDifferences reads a table of tab-separated columns: the module with its
// version, the package and the test, and the reason.
func readDifferences(table string) ([]*difference, error) {
	var list []*difference
	seen := map[string]bool{}
	err := eachLine(table, func(columns []string) error {
		if len(columns) != 3 {
			return fmt.Errorf("%d columns, want module, test and reason", len(columns))
		}
		d := &difference{suite: columns[0], test: columns[1], reason: columns[2]}
		if _, err := parseSuite(d.suite); err != nil {
			return err
		}
		if !strings.Contains(d.test, " ") {
			return fmt.Errorf("%q is no package and test", d.test)
		}
		if !rule.MatchString(d.reason) {
			return fmt.Errorf("the reason %q names no rule", d.reason)
		}
		if key := d.suite + " " + d.test; seen[key] {
			return fmt.Errorf("%s stands here twice", key)
		} else {
			seen[key] = true
		}
		list = append(list, d)
		return nil
	})
	return list, err
}

// settle compares the list with the tests that a suite has lost. It marks the entries that
// were lost, and returns the lost tests that are not in the list, and the entries that were
// not lost.
func settle(list []*difference, s suite, lost []string) (unlisted []string, gone []*difference) {
	known := map[string]*difference{}
	for _, d := range list {
		if d.suite == s.String() {
			known[d.test] = d
			gone = append(gone, d)
		}
	}
	for _, test := range lost {
		if d := known[test]; d != nil {
			d.found = true
		} else {
			unlisted = append(unlisted, test)
		}
	}
	left := gone[:0]
	for _, d := range gone {
		if !d.found {
			left = append(left, d)
		}
	}
	return unlisted, left
}

func eachLine(table string, do func(columns []string) error) error {
	n := 0
	for line := range strings.Lines(table) {
		n++
		line = strings.TrimSuffix(line, "\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if err := do(strings.Split(line, "\t")); err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
	}
	return nil
}
