package servertest

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Size is a number of bytes.
type Size int64

// String returns the size in the largest unit that fits.
func (n Size) String() string {
	switch {
	case n >= 1<<20 && n%(1<<20) == 0:
		return strconv.FormatInt(int64(n>>20), 10) + " MiB"
	case n >= 1<<10 && n%(1<<10) == 0:
		return strconv.FormatInt(int64(n>>10), 10) + " KiB"
	}
	return strconv.FormatInt(int64(n), 10) + " bytes"
}

// CheckLimits compares tables of limits with the code: their first column, which has the title,
// is the limit, and the second one its default. A limit without a default is nil in the map, and
// "none" in the document.
func CheckLimits(t *testing.T, document, title string, limits map[string]any) {
	t.Helper()
	for _, row := range TableRows(t, document, title) {
		what, documented := row[0], row[1]
		limit, known := limits[what]
		if !known {
			t.Errorf("%q is not compared with anything", what)
			continue
		}
		delete(limits, what)
		want := "none"
		switch limit := limit.(type) {
		case nil:
		case time.Duration:
			want = limit.String()
		default:
			want = fmt.Sprint(limit)
		}
		if documented != want {
			t.Errorf("%s: %s is documented, it is %s", what, documented, want)
		}
	}
	for what := range limits {
		t.Errorf("%q is not in %s", what, document)
	}
}

// TableRows returns the rows of the tables of a document whose first column has the title.
func TableRows(t *testing.T, document, title string) [][]string {
	t.Helper()
	var rows [][]string
	inside := false
	for line := range strings.SplitSeq(readFile(t, document), "\n") {
		if !strings.HasPrefix(line, "| ") {
			inside = false
			continue
		}
		cells := strings.Split(strings.Trim(line, "| "), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		switch {
		case cells[0] == title:
			inside = true
		case inside && !strings.HasPrefix(cells[0], "---"):
			rows = append(rows, cells)
		}
	}
	if len(rows) == 0 {
		t.Fatalf("%s has no table of which the first column is %s", document, title)
	}
	return rows
}

// CheckSnippets checks that each block of Go code in a document is in one of the Go files, where the
// compiler checks it. White space within a line does not count, and neither does indentation. A block
// is indented by four spaces and ends at an empty line; those that begin with a command do not count.
func CheckSnippets(t *testing.T, document string, files ...string) {
	t.Helper()
	var sources strings.Builder
	for _, name := range files {
		for line := range strings.Lines(readFile(t, name)) {
			sources.WriteString(oneSpace(line))
		}
	}
	var block strings.Builder
	blocks := 0
	for line := range strings.Lines(readFile(t, document) + "\n") {
		if strings.HasPrefix(line, "    ") {
			block.WriteString(oneSpace(line))
			continue
		}
		if code := block.String(); code != "" && !command.MatchString(code) {
			blocks++
			if !strings.Contains(sources.String(), code) {
				t.Errorf("%s: this is in none of %q:\n%s", document, files, code)
			}
		}
		block.Reset()
	}
	if blocks == 0 {
		t.Errorf("%s has no block of Go code", document)
	}
}

var command = regexp.MustCompile(`^(?:go [a-z]+ |cd )`)

// oneSpace returns a line with single spaces instead of white space, and a line feed at its end.
func oneSpace(line string) string { return strings.Join(strings.Fields(line), " ") + "\n" }

func readFile(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	Must(t, err)
	return string(data)
}
