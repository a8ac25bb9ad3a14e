package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/valyala/fasthttp/bench/internal/markdown"
)

// Markdown returns the comparison as Markdown: one table per group of rows and GOMAXPROCS.
func (r *Report) Markdown() string {
	var b strings.Builder
	r.WriteHead(&b, "Benchmark comparison", []string{Ours, Upstream, NetHTTP}, r.Benchtime+" each")
	b.WriteString("\nTimes are medians in ns/op, ± the median absolute deviation. A ratio over 1 means that ours is\n" +
		"faster; it is in parentheses where the two ranges of samples overlap, so that the difference\n" +
		"may be chance. CPU ratios compare processor time, which other programs on the machine disturb less.\n")
	r.WriteTables(&b, "##")
	markdown.WriteFailures(&b, r.Failures)
	return b.String()
}

// WriteHead writes the title and the head, with the versions of some builds or servers; each of more
// is another line of it.
func (h *Head) WriteHead(b *strings.Builder, title string, of []string, more ...string) {
	fmt.Fprintf(b, "# %s\n\n", title)
	for _, name := range of {
		if version := h.Versions[name]; version != "" {
			fmt.Fprintf(b, "- %s: %s\n", name, version)
		}
	}
	fmt.Fprintf(b, "- machine: %s\n- Go: %s\n", h.Machine, h.Machine.Go)
	fmt.Fprintf(b, "- date: %s, %s\n", h.Date, markdown.Plural(h.Rounds, "round"))
	for _, line := range more {
		fmt.Fprintf(b, "- %s\n", line)
	}
}

// String describes the machine.
func (m Machine) String() string {
	return fmt.Sprintf("%s, %s, %s/%s, kernel %s", m.CPU, markdown.Plural(m.Cores, "core"), m.OS, m.Arch, m.Kernel)
}

// WriteTables writes the tables of some groups, or of all if none is named. level is the
// Markdown prefix of the headings.
func (r *Report) WriteTables(b *strings.Builder, level string, titles ...string) {
	for _, g := range groups(r.Rows) {
		if len(titles) == 0 || slices.Contains(titles, g.title) {
			g.writeMarkdown(b, level)
		}
	}
}

func (g group) writeMarkdown(b *strings.Builder, level string) {
	fmt.Fprintf(b, "\n%s %s, GOMAXPROCS %d\n", level, g.title, g.procs)
	builds := []string{Ours}
	if !lacksUpstream(g.title) {
		builds = append(builds, Upstream)
	}
	if g.has(NetHTTP) {
		builds = append(builds, NetHTTP)
	}
	table := markdown.Table{Header: append([]string{"row"}, builds...)}
	for _, build := range builds[1:] {
		table.Header = append(table.Header, build+" ÷ ours")
	}
	for _, build := range builds[1:] {
		table.Header = append(table.Header, "CPU: "+build+" ÷ ours")
	}
	slashed := strings.Join(builds, " / ")
	table.Header = append(table.Header, "B/op: "+slashed, "allocs/op: "+slashed)

	for _, row := range g.rows {
		cells := []string{row.Name}
		for _, build := range builds {
			cells = append(cells, timeCell(row.Builds[build]))
		}
		for _, other := range builds[1:] {
			cells = append(cells, row.ratioCell(other, row.Ratios, clockTime))
		}
		for _, other := range builds[1:] {
			cells = append(cells, row.ratioCell(other, row.CPURatios, cpuTime))
		}
		var bytes, allocs []string
		for _, build := range builds {
			m := row.Builds[build]
			bytes = append(bytes, countCell(m, bytesPerOp))
			allocs = append(allocs, countCell(m, allocsPerOp))
		}
		table.Rows = append(table.Rows, append(cells, strings.Join(bytes, " / "), strings.Join(allocs, " / ")))
	}

	mean := g.mean()
	cells := append([]string{"**geometric mean**"}, make([]string, len(builds))...)
	for _, ratios := range []map[string]float64{mean.Ratios, mean.CPURatios} {
		for _, other := range builds[1:] {
			cell := markdown.None
			if ratio, ok := ratios[other]; ok {
				cell = fmt.Sprintf("**%.2f**", ratio)
			}
			cells = append(cells, cell)
		}
	}
	table.Rows = append(table.Rows, append(cells, "", ""))
	table.Write(b)
}

func (g group) has(build string) bool {
	for _, row := range g.rows {
		if row.Builds[build] != nil {
			return true
		}
	}
	return false
}

func timeCell(m *Measurement) string {
	if m == nil {
		return markdown.None
	}
	return fmt.Sprintf("%s ±%.0f%%", FormatNs(m.NsPerOp.Median), 100*m.NsPerOp.Spread())
}

func (row *Row) ratioCell(other string, ratios map[string]float64, of quantity) string {
	ratio, ok := ratios[other]
	switch {
	case !ok:
		return markdown.None
	case of(row.Builds[Ours]).Overlaps(of(row.Builds[other])):
		return fmt.Sprintf("(%.2f)", ratio)
	}
	return fmt.Sprintf("%.2f", ratio)
}

func countCell(m *Measurement, of quantity) string {
	if m == nil {
		return markdown.None
	}
	return fmt.Sprintf("%.0f", of(m).Median)
}

// FormatNs formats short times with three digits and others as whole nanoseconds.
func FormatNs(ns float64) string {
	switch {
	case ns < 10:
		return fmt.Sprintf("%.2f", ns)
	case ns < 100:
		return fmt.Sprintf("%.1f", ns)
	}
	return fmt.Sprintf("%.0f", ns)
}
