package main

import (
	_ "embed"
	"fmt"
	"regexp"
	"strings"
)

//go:embed differences.tsv
var differencesTable string

// A difference is a part of a test that passes as it is, and not on another side.
type difference struct{ side, test, reason string }

// reasons matches the kinds of reasons: a rule, a sentence of the documentation, a wording, a
// property of net/http's server only, a known failure, or why a test passes sometimes only.
var reasons = regexp.MustCompile(`^(RFC \d{4} §\d|known failure \d+: |documented: |wording: |inside: |fault: |unsteady: )`)

// unsteady reports whether the test may also pass.
func (d *difference) unsteady() bool {
	return d != nil && strings.HasPrefix(d.reason, "unsteady: ")
}

// readDifferences reads a table of tab-separated columns: the side, the test with its part,
// and the reason. Lines that start with '#' are ignored.
func readDifferences(table string) ([]*difference, error) {
	var list []*difference
	seen := map[string]bool{}
	n := 0
	for line := range strings.Lines(table) {
		n++
		line = strings.TrimSuffix(line, "\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		columns := strings.Split(line, "\t")
		if len(columns) != 3 {
			return nil, fmt.Errorf("line %d: %d columns, want side, test and reason", n, len(columns))
		}
		d := &difference{columns[0], columns[1], columns[2]}
		switch key := d.side + " " + d.test; {
		case d.side != string(byServer) && d.side != string(byHandler):
			return nil, fmt.Errorf("line %d: %q is neither %s nor %s", n, d.side, byServer, byHandler)
		case !reasons.MatchString(d.reason):
			return nil, fmt.Errorf("line %d: the reason %q is of no kind", n, d.reason)
		case seen[key]:
			return nil, fmt.Errorf("line %d: %s is there twice", n, key)
		default:
			seen[key] = true
		}
		list = append(list, d)
	}
	return list, nil
}

// of returns the differences of a side, by their tests.
func of(list []*difference, s side) map[string]*difference {
	m := map[string]*difference{}
	for _, d := range list {
		if d.side == string(s) {
			m[d.test] = d
		}
	}
	return m
}
