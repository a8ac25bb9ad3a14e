package servertest

import (
	"fmt"
	"os"
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
	data, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	var rows [][]string
	inside := false
	for line := range strings.SplitSeq(string(data), "\n") {
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
