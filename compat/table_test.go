package compat

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"strings"
)

// An entry is one line of a table: the cases and fields that differ on purpose, the
// value of this module, and the rule that requires it.
type entry struct {
	id, field, value *regexp.Regexp
	reason           string
	line             string
	used             int
}

func (e *entry) covers(d difference) bool {
	return e.id.MatchString(d.id) && e.field.MatchString(d.field) && e.value.MatchString(d.got)
}

// rule matches the reasons: a line of the list of known failures, an RFC, or the
// documentation of v1.77.0 if its code differs from it.
var rule = regexp.MustCompile(`known failure \d+|RFC \d{4}|documented: `)

// readTable reads a table of tab-separated columns: a pattern for the case, a
// pattern for the field, a pattern for the value of this module, and the reason. A
// pattern is a regular expression that must match the whole text. readTable skips
// empty lines and lines that start with '#'.
func readTable(path string) ([]*entry, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var table []*entry
	n := 0
	for line := range strings.Lines(string(b)) {
		n++
		line = strings.TrimSuffix(line, "\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		e, err := parseEntry(line)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, n, err)
		}
		table = append(table, e)
	}
	return table, nil
}

func parseEntry(line string) (*entry, error) {
	columns := strings.Split(line, "\t")
	if len(columns) != 4 {
		return nil, fmt.Errorf("%d columns, want case, field, value and reason", len(columns))
	}
	e := &entry{reason: columns[3], line: line}
	if !rule.MatchString(e.reason) {
		return nil, fmt.Errorf("the reason %q names no rule", e.reason)
	}
	for i, p := range []**regexp.Regexp{&e.id, &e.field, &e.value} {
		if columns[i] == "" {
			return nil, errors.New("an empty pattern")
		}
		re, err := regexp.Compile(`^(?:` + columns[i] + `)$`)
		if err != nil {
			return nil, err
		}
		*p = re
	}
	return e, nil
}
