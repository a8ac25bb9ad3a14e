package main

import (
	_ "embed"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

//go:embed usual.tsv
var usualTable string

const usualHead = `# The usual results of suites with this tree: module@version, how many tests pass,
# and the tests that fail, with v1.77.0 as well or as differences.tsv has them,
# separated by "; ". "run-suites -update" writes this file.
`

// usual has the results of a suite with this tree that need no comparison with v1.77.0, since
// one has been made.
type usual struct {
	passed int
	failed []string
}

// readUsual reads a table of tab-separated columns: the suite, the number of tests that pass, and
// the tests that fail.
func readUsual(table string) (map[string]usual, error) {
	results := map[string]usual{}
	err := eachLine(table, func(columns []string) error {
		if len(columns) != 3 {
			return fmt.Errorf("%d columns, want suite, number and tests", len(columns))
		}
		passed, err := strconv.Atoi(columns[1])
		if err != nil || passed <= 0 {
			return fmt.Errorf("%q tests pass", columns[1])
		}
		if _, ok := results[columns[0]]; ok {
			return errors.New("the suite is there twice")
		}
		u := usual{passed: passed}
		if columns[2] != "" {
			u.failed = strings.Split(columns[2], "; ")
		}
		results[columns[0]] = u
		return nil
	})
	return results, err
}

// allows reports whether as many tests pass as usually, and none fails that does not fail
// usually. A test that is gone is noticed by the number.
func (u usual) allows(o *outcome) bool {
	passed, _ := o.count()
	return passed >= u.passed && !slices.ContainsFunc(o.failing(), func(name string) bool { return !slices.Contains(u.failed, name) })
}

// writeUsual adds the results of rows to a table, in the order of the list.
func writeUsual(path string, results map[string]usual, rows []row, list []suite) error {
	for _, r := range rows {
		if r.here != nil && r.skipped == "" {
			passed, _ := r.here.count()
			results[r.String()] = usual{passed, r.here.failing()}
		}
	}
	var b strings.Builder
	b.WriteString(usualHead)
	for _, s := range list {
		if u, ok := results[s.String()]; ok {
			fmt.Fprintf(&b, "%s\t%d\t%s\n", s, u.passed, strings.Join(u.failed, "; "))
		}
	}
	return os.WriteFile(path, []byte(b.String()), 0o644)
}
