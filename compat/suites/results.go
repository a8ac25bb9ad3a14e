package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
)

func printRows(w io.Writer, rows []row) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "suite\tv1.77.0\tthis tree\tneither\tdifferences\t")
	for _, r := range rows {
		if r.skipped != "" {
			fmt.Fprintf(t, "%s\t-\t-\t-\t-\tskipped: %s\n", r.suite, r.skipped)
			continue
		}
		if r.asUsual {
			fmt.Fprintf(t, "%s\t-\t%d\t-\t-\tas usual\n", r.suite, r.passed[1])
			continue
		}
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t%s\n", r.suite, r.passed[0], r.passed[1], r.neither, len(r.lost), strings.Join(r.remarks(), "; "))
	}
	t.Flush()
}

// remarks returns remarks about a row besides its figures.
func (r row) remarks() []string {
	var remarks []string
	if r.note != "" {
		remarks = append(remarks, r.note)
	}
	if r.gained > 0 {
		remarks = append(remarks, fmt.Sprintf("%d pass with this tree only", r.gained))
	}
	if r.unsteady > 0 {
		remarks = append(remarks, fmt.Sprintf("%d differed once and not again", r.unsteady))
	}
	return remarks
}

// The table of results is between these lines of README.md.
const (
	tableBegins = "<!-- run-suites -update writes what follows -->\n"
	tableEnds   = "<!-- run-suites -update ends here -->\n"
)

func updateReadme(path string, rows []row, list []suite, listed []*difference) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	text, err := withResults(string(b), rows, list, listed)
	if err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644)
}

// withResults returns a text with the rows in its table. Rows of other suites are kept as long
// as the suites are in the list.
func withResults(text string, rows []row, list []suite, listed []*difference) (string, error) {
	before, rest, ok := strings.Cut(text, tableBegins)
	old, after, ends := strings.Cut(rest, tableEnds)
	if !ok || !ends {
		return "", fmt.Errorf("no line %q or %q", strings.TrimSpace(tableBegins), strings.TrimSpace(tableEnds))
	}
	lines := map[string]string{}
	for line := range strings.Lines(old) {
		if cells := strings.Split(line, " | "); len(cells) > 2 {
			lines[strings.TrimPrefix(cells[0], "| ")+"@"+cells[1]] = line
		}
	}
	for _, r := range rows {
		lines[r.String()] = r.markdown()
	}
	var b strings.Builder
	b.WriteString(before + tableBegins + "\n")
	b.WriteString("| suite | version | pass with v1.77.0 | pass with this tree | pass with neither | differences | remarks |\n")
	b.WriteString("| --- | --- | --- | --- | --- | --- | --- |\n")
	for _, s := range list {
		b.WriteString(lines[s.String()])
	}
	b.WriteString("\n" + reasons(listed) + tableEnds + after)
	return b.String(), nil
}

func (r row) markdown() string {
	if r.skipped != "" {
		return fmt.Sprintf("| %s | %s | | | | | skipped: %s |\n", r.module, r.release(), cell(r.skipped))
	}
	return fmt.Sprintf("| %s | %s | %d | %d | %d | %d | %s |\n", r.module, r.release(),
		r.passed[0], r.passed[1], r.neither, len(r.lost), cell(strings.Join(r.remarks(), "; ")))
}

func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

// reasons lists the reasons of all differences, each with its tests.
func reasons(listed []*difference) string {
	var order []string
	tests := map[string][]string{}
	for _, d := range listed {
		if !slices.Contains(order, d.reason) {
			order = append(order, d.reason)
		}
		_, test, _ := strings.Cut(d.test, " ")
		if test = "`" + test + "`"; !slices.Contains(tests[d.reason], test) {
			tests[d.reason] = append(tests[d.reason], test)
		}
	}
	if len(order) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("The differences:\n\n")
	for _, reason := range order {
		fmt.Fprintf(&b, "- %s: %s\n", strings.Join(tests[reason], ", "), reason)
	}
	return b.String() + "\n"
}
