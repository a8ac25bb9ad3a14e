package compat

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"strings"
)

// An entry is one line of a table: the cases and fields that differ on
// purpose, what this module must say there, and which rule makes it so.
type entry struct {
	id, field, value *regexp.Regexp
	reason           string
	line             string
	used             int
}

func (e *entry) covers(d difference) bool {
	return e.id.MatchString(d.id) && e.field.MatchString(d.field) && e.value.MatchString(d.got)
}

// rule is what a reason has to name: a line of the list of known failures, an
// RFC, or the documentation of v1.77.0 itself if its code does otherwise.
var rule = regexp.MustCompile(`known failure \d+|RFC \d{4}|documented: `)

// readTable reads a table of tab-separated columns: a pattern for the case, a
// pattern for the field, a pattern for the value that this module prints, and
// the reason. Patterns are regular expressions that have to match the whole
// text. Empty lines and lines that start with '#' are left out.
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
