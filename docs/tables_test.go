package docs

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// rows returns the rows of the tables in a document that have the columns.
func rows(t *testing.T, name string, columns ...string) [][]string {
	t.Helper()
	var found [][]string
	inside := false
	previous := ""
	for line := range strings.SplitSeq(read(t, name), "\n") {
		isRow := strings.HasPrefix(line, "|")
		switch {
		case !isRow:
			inside = false
		case !strings.HasPrefix(previous, "|"):
			inside = slices.Equal(cells(line), columns)
		case inside && !strings.HasPrefix(line, "| ---"):
			found = append(found, cells(line))
		}
		previous = line
	}
	if len(found) == 0 {
		t.Fatalf("%s has no table with the columns %q", name, columns)
	}
	return found
}

// TestDifferencesAreAllTold checks that migrating.md has exactly the reasons that
// the tables in compat/intended have.
func TestDifferencesAreAllTold(t *testing.T) {
	wanted := map[string]string{}
	tables, err := filepath.Glob("../compat/intended/*.tsv")
	if err != nil || len(tables) == 0 {
		t.Fatalf("no tables of differences: %v", err)
	}
	for _, name := range tables {
		for line := range strings.SplitSeq(read(t, name), "\n") {
			columns := strings.Split(line, "\t")
			if len(columns) != 4 || columns[3] == "reason" {
				continue
			}
			for _, reason := range reasons(t, columns[3]) {
				wanted[reason] = filepath.Base(name) + ": " + columns[3]
			}
		}
	}
	told := map[string]bool{}
	for _, row := range rows(t, "migrating.md", "What", "v1.77.0", "This module", "Reason") {
		for reason := range strings.SplitSeq(row[3], "; ") {
			told[strings.Replace(reason, "§", "section ", 1)] = true
		}
	}
	for _, row := range rows(t, "migrating.md", "Documented", "Note") {
		told["documented: "+row[0]] = true
	}
	for reason, from := range wanted {
		if !told[reason] {
			t.Errorf("migrating.md does not have %q, which is in %s", reason, from)
		}
	}
	for _, reason := range slices.Sorted(maps.Keys(told)) {
		if wanted[reason] == "" {
			t.Errorf("migrating.md has %q, which no table in compat/intended has", reason)
		}
	}
	t.Logf("%d reasons", len(wanted))
}

var (
	failure = regexp.MustCompile(`^known failure \d+`)
	section = regexp.MustCompile(`^(RFC \d+) sections? ([^:]*)`)
	number  = regexp.MustCompile(`\d[\d.]*`)
)

// reasons returns the start of a reason: one or more numbers of known failures or
// sections of RFCs. If the reason is that something is documented, it returns all of
// it.
func reasons(t *testing.T, text string) []string {
	t.Helper()
	if m := failure.FindString(text); m != "" {
		return []string{m}
	}
	if m := section.FindStringSubmatch(text); m != nil {
		var all []string
		for _, n := range number.FindAllString(m[2], -1) {
			all = append(all, m[1]+" section "+n)
		}
		return all
	}
	if strings.HasPrefix(text, "documented as an unsigned number") {
		return []string{"documented: as an unsigned number"}
	}
	if strings.HasPrefix(text, "documented: ") {
		return []string{text}
	}
	t.Errorf("the reason %q has no form that is known", text)
	return nil
}

// anchors returns the names under which links reach the headings of a document.
func anchors(t *testing.T, name string) map[string]bool {
	t.Helper()
	heading := regexp.MustCompile(`(?m)^#+ (.*)$`)
	left := regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	found := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(read(t, name), -1) {
		found["#"+strings.ReplaceAll(left.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-")] = true
	}
	return found
}

// TestLinksLeadSomewhere checks links to files of this repository, and to headings in its
// documents.
func TestLinksLeadSomewhere(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#]*)(#[^)]*)?\)`)
	links := 0
	for _, name := range allDocuments(t) {
		for _, m := range link.FindAllStringSubmatch(read(t, name), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			links++
			target := name
			if m[1] != "" {
				target = filepath.Join(filepath.Dir(name), m[1])
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: the link to %s leads nowhere", name, m[1])
			} else if m[2] != "" && !anchors(t, target)[m[2]] {
				t.Errorf("%s: %s has no heading %s", name, target, m[2])
			}
		}
	}
	if links < 10 {
		t.Errorf("only %d links found", links)
	}
}

// TestFilesThatAreNamedAreThere checks that the file names between backquotes in
// architecture.md exist. They are relative to the root. A star matches any text.
func TestFilesThatAreNamedAreThere(t *testing.T) {
	name := regexp.MustCompile("`([a-z0-9_*/]+\\.go|[a-z0-9/]+/)`")
	found := name.FindAllStringSubmatch(read(t, "architecture.md"), -1)
	if len(found) < 40 {
		t.Errorf("only %d names found", len(found))
	}
	for _, m := range found {
		if there, err := filepath.Glob(filepath.Join("..", m[1])); err != nil || len(there) == 0 {
			t.Errorf("architecture.md names %s, which does not exist", m[1])
		}
	}
}

// TestEveryExampleIsInTheREADME checks that the table of examples in README.md has all
// programs, and that each has a test.
func TestEveryExampleIsInTheREADME(t *testing.T) {
	readme := read(t, "../README.md")
	programs, err := filepath.Glob("../examples/*")
	if err != nil || len(programs) < 10 {
		t.Fatalf("there are %d examples, %v", len(programs), err)
	}
	for _, dir := range programs {
		name := filepath.Base(dir)
		if !strings.Contains(readme, "\n| ["+name+"](examples/"+name+"/") {
			t.Errorf("README.md has no row for examples/%s", name)
		}
		if tests, err := filepath.Glob(dir + "/*_test.go"); err != nil || len(tests) == 0 {
			t.Errorf("examples/%s has no test", name)
		}
	}
}
