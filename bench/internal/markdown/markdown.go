// Package markdown writes the parts of reports. Start with Table.
package markdown

import (
	"fmt"
	"strings"
)

// None marks a missing figure.
const None = "–"

// Table is written as Markdown. Its first column is text, the others numbers.
type Table struct {
	Header []string
	Rows   [][]string
}

// Write writes the table with an empty line before it.
func (t *Table) Write(b *strings.Builder) {
	b.WriteByte('\n')
	writeCells(b, t.Header)
	b.WriteString("|---|" + strings.Repeat("---:|", len(t.Header)-1) + "\n")
	for _, row := range t.Rows {
		writeCells(b, row)
	}
}

func writeCells(b *strings.Builder, cells []string) {
	b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
}

// WriteFailures writes the list of failures, if there are any.
func WriteFailures(b *strings.Builder, failures []string) {
	if len(failures) == 0 {
		return
	}
	b.WriteString("\n## Failures\n\n")
	for _, failure := range failures {
		fmt.Fprintf(b, "- %s\n", strings.Join(strings.Fields(failure), " "))
	}
}

// Plural returns n and the noun, in the plural if needed.
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
