package study

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/valyala/fasthttp/bench/internal/markdown"
	"github.com/valyala/fasthttp/bench/internal/report"
	"github.com/valyala/fasthttp/bench/internal/rig"
	"github.com/valyala/fasthttp/bench/internal/stats"
)

// Names of figures that most measurements have.
const (
	Rate = "requests/s"
	CPUs = "CPU µs/request"
	P50  = "p50 µs"
	P99  = "p99 µs"
)

// Report has the figures of a measurement.
type Report struct {
	report.Head
	Seconds     int      `json:"seconds"`
	ServerPlace string   `json:"server_place"`
	ClientPlace string   `json:"client_place"`
	Procs       int      `json:"gomaxprocs"` // of the servers
	TLS         bool     `json:"tls,omitempty"`
	Servers     []string `json:"servers"` // in the order of the tables
	Rows        []*Row   `json:"rows"`
	// Missing lists the servers and tools that were not installed.
	Missing []string `json:"missing,omitempty"`
}

// Row has the figures of all servers under one load.
type Row struct {
	Name  string `json:"name"`
	Kind  string `json:"kind,omitempty"`
	Conns int    `json:"connections,omitempty"`
	Procs int    `json:"gomaxprocs,omitempty"` // if rows differ in it
	// Again is set if the row was measured again, since it had missed a goal.
	Again   bool           `json:"again,omitempty"`
	Servers []*Measurement `json:"measurements"`
}

// Measurement has the figures of one server by their names.
type Measurement struct {
	Server  string                   `json:"server"`
	Figures map[string]stats.Summary `json:"figures"`
}

// Find returns the first chosen row, or nil. The report may be nil.
func (r *Report) Find(chosen func(*Row) bool) *Row {
	if r == nil {
		return nil
	}
	if i := slices.IndexFunc(r.Rows, chosen); i >= 0 {
		return r.Rows[i]
	}
	return nil
}

// Named returns the row with a name, or nil.
func (r *Report) Named(name string) *Row {
	return r.Find(func(row *Row) bool { return row.Name == name })
}

// Of returns the measurement of a server, or nil. The row may be nil.
func (row *Row) Of(server string) *Measurement {
	if row != nil {
		for _, m := range row.Servers {
			if m.Server == server {
				return m
			}
		}
	}
	return nil
}

// Get returns a figure of a server, or one without samples.
func (row *Row) Get(server, figure string) stats.Summary {
	if m := row.Of(server); m != nil {
		return m.Figures[figure]
	}
	return stats.Summary{}
}

// Ratio returns the ratio of a figure of two servers, which is 0 if one of them has none.
func (row *Row) Ratio(figure, of, by string) rig.Ratio {
	return rig.NewRatio(row.Get(of, figure), row.Get(by, figure))
}

// NoWorse reports whether a ratio is at most 1, or may be so by chance: half of all equal figures
// would miss a goal of 1.
func NoWorse(r rig.Ratio) bool { return r.Value <= 1 || r.Overlaps }

// Goal is a goal of the project. Its id is its heading in the notes of cmd/report.
type Goal struct {
	ID, Text string
	Figure   string // the measured figure; "" if not measured
	Met      bool
	// Evidence is the explanation in the figures themselves for a missed goal.
	Evidence string
}

// Judge sets the figure from a ratio, if there is one.
func (g *Goal) Judge(r rig.Ratio, met bool, format string, args ...any) {
	if r.Value > 0 {
		g.Met, g.Figure = met, fmt.Sprintf(format, args...)
	}
}

// Verdict returns the verdict for the page.
func (g Goal) Verdict() string {
	if g.Figure == "" {
		return "not measured"
	}
	return rig.Met(g.Met)
}

// WriteGoals writes a table of goals.
func WriteGoals(b *strings.Builder, goals []Goal) {
	b.WriteString("\n| goal | measured | |\n|---|---|---|\n")
	for _, g := range goals {
		fmt.Fprintf(b, "| %s | %s | %s |\n", g.Text, cmp.Or(g.Figure, markdown.None), g.Verdict())
	}
}

// Column is a column of a table: a figure, or its ratio to another one.
type Column struct {
	Title  string // "" for the name of the figure
	Figure string
	Digits int
	Spread bool // with the median absolute deviation
	Least  bool // of all rounds, instead of the median
	Sum    bool // of all rounds
	Share  float64
	// To makes the column a ratio to the figure of another server, and From one of that
	// server's to the figure. ToRow makes it a ratio to the figure of the same server in the
	// first row.
	To, From string
	ToRow    bool
}

func (c Column) title() string { return cmp.Or(c.Title, c.Figure) }

// isFigure reports whether the column has a figure itself.
func (c Column) isFigure() bool {
	return c.To == "" && c.From == "" && !c.ToRow && !c.Least
}

func (c Column) cell(r *Report, row *Row, m *Measurement) string {
	switch {
	case c.ToRow:
		if row == r.Rows[0] {
			return markdown.None
		}
		return rig.NewRatio(m.Figures[c.Figure], r.Rows[0].Get(m.Server, c.Figure)).String()
	case c.To != "" || c.From != "":
		if m.Server == c.To || m.Server == c.From {
			return markdown.None
		}
		if c.From != "" {
			return row.Ratio(c.Figure, c.From, m.Server).String()
		}
		return row.Ratio(c.Figure, m.Server, c.To).String()
	}
	s, ok := m.Figures[c.Figure]
	switch {
	case !ok:
		return markdown.None
	case c.Least:
		return fmt.Sprintf("%.*f", c.Digits, s.Min)
	case c.Sum:
		sum := 0.0
		for _, v := range s.Samples {
			sum += v
		}
		return fmt.Sprintf("%.*f", c.Digits, sum)
	case c.Share > 0:
		return fmt.Sprintf("%.*f MiB", c.Digits, s.Median*c.Share)
	case c.Spread:
		return fmt.Sprintf("%.*f ±%.0f%%", c.Digits, s.Median, 100*s.Spread())
	}
	return fmt.Sprintf("%.*f", c.Digits, s.Median)
}

// Kind describes the report of a measurement.
type Kind struct {
	Name     string // of the files with the results
	Title    string
	Client   string // the name of the load
	Measured string // "" if servers are measured
	Note     string // explains the figures
	Columns  []Column
	// Idle are the columns of rows of kind IdleRow, if they have others.
	Idle []Column
	// One writes one table for all rows instead of one for each; it is the title of
	// the rows' column, and "" if there is only one row.
	One *string
	// More returns more lines of the head; it may be nil.
	More func(*Report) []string
	// Tables writes the tables if they are none of these; it may be nil.
	Tables func(b *strings.Builder, r *Report, level string)
	// Overview has the servers of a table with one figure of all rows, and their names.
	Overview []string
	Goals    func(*Report) []Goal
	TLS      bool // in any case, of some rows at least
	Unpinned bool // in any case
}

// IdleRow is the kind of rows with the columns of Kind.Idle.
const IdleRow = "idle"

func (k *Kind) columns(row *Row) []Column {
	if row.Kind == IdleRow && k.Idle != nil {
		return k.Idle
	}
	return k.Columns
}

// Markdown returns the whole report.
func (k *Kind) Markdown(r *Report) string {
	var b strings.Builder
	title := k.Title
	if r.TLS {
		title += ", with TLS"
	}
	more := []string{
		fmt.Sprintf("%s each", markdown.Plural(r.Seconds, "second")),
		fmt.Sprintf("servers: %s, GOMAXPROCS %d; %s: %s", r.ServerPlace, r.Procs, k.Client, r.ClientPlace),
	}
	if k.More != nil {
		more = append(more, k.More(r)...)
	}
	r.WriteHead(&b, title, rig.Usual, append(more, r.Missing...)...)
	b.WriteString("\n" + k.Note)
	b.WriteString("Figures are medians, ± the median absolute deviation. A ratio is in parentheses if the ranges of samples overlap, so that\n" +
		"the difference may be chance.\n")
	if len(k.Overview) > 0 {
		k.writeOverview(&b, r)
	}
	k.WriteTables(&b, r, "##")
	if k.Goals != nil {
		goals := slices.DeleteFunc(k.Goals(r), func(g Goal) bool { return g.Figure == "" })
		if len(goals) > 0 {
			b.WriteString("\n## Goals of the event engine\n")
			WriteGoals(&b, goals)
		}
	}
	markdown.WriteFailures(&b, r.Failures)
	return b.String()
}

// writeOverview writes the processor times of all rows, or the bytes of idle ones.
func (k *Kind) writeOverview(b *strings.Builder, r *Report) {
	servers := slices.DeleteFunc(slices.Clone(r.Servers), func(name string) bool { return !slices.Contains(k.Overview, name) && len(k.Overview) > 1 })
	b.WriteString("\n## All rows\n")
	table := markdown.Table{Header: append([]string{"row"}, servers...)}
	for _, row := range r.Rows {
		first := k.columns(row)[0]
		if row.Kind != IdleRow {
			first = k.Columns[1]
		}
		cells := []string{row.Name}
		for _, name := range servers {
			text := markdown.None
			if m := row.Of(name); m != nil {
				text = fmt.Sprintf("%.*f", first.Digits, m.Figures[first.Figure].Median)
			}
			cells = append(cells, text)
		}
		table.Rows = append(table.Rows, cells)
	}
	table.Write(b)
}

// WriteTables writes the table of all rows, or one for each, each under a heading; level is the
// Markdown prefix of the heading.
func (k *Kind) WriteTables(b *strings.Builder, r *Report, level string) {
	switch {
	case k.Tables != nil:
		k.Tables(b, r, level)
		return
	case k.One != nil:
		k.writeOne(b, r)
		return
	}
	for _, row := range r.Rows {
		name := row.Name
		if row.Conns > 0 && !strings.Contains(name, "connection") && !strings.Contains(name, "socket") {
			name += ", " + markdown.Plural(row.Conns, "connection")
		}
		fmt.Fprintf(b, "\n%s %s\n", level, name)
		table := markdown.Table{Header: k.header(row, cmp.Or(k.Measured, "server"))}
		for _, m := range row.Servers {
			table.Rows = append(table.Rows, append([]string{m.Server}, k.cells(r, row, m)...))
		}
		table.Write(b)
	}
}

// writeOne writes a line for each server and row.
func (k *Kind) writeOne(b *strings.Builder, r *Report) {
	if len(r.Rows) == 0 {
		return
	}
	first := []string{"server"}
	if *k.One != "" {
		first = append(first, *k.One)
	}
	table := markdown.Table{Header: k.header(r.Rows[0], first...)}
	for _, server := range r.Servers {
		for _, row := range r.Rows {
			m := row.Of(server)
			if m == nil {
				continue
			}
			line := []string{server}
			if *k.One != "" {
				line = append(line, row.Name)
			}
			table.Rows = append(table.Rows, append(line, k.cells(r, row, m)...))
		}
	}
	table.Write(b)
}

func (k *Kind) header(row *Row, first ...string) []string {
	for _, c := range k.columns(row) {
		first = append(first, c.title())
	}
	return first
}

func (k *Kind) cells(r *Report, row *Row, m *Measurement) (cells []string) {
	for _, c := range k.columns(row) {
		cells = append(cells, c.cell(r, row, m))
	}
	return cells
}

// Rounds returns the ratios of a figure of two servers in single rounds, or of the medians if a
// round failed. Other programs on the machine disturb these ratios less than the figures.
func (row *Row) Rounds(figure, of, by string) []float64 {
	a, b := row.Get(of, figure), row.Get(by, figure)
	if len(a.Samples) != len(b.Samples) {
		return []float64{stats.Ratio(a.Median, b.Median)}
	}
	var all []float64
	for i, v := range a.Samples {
		all = append(all, stats.Ratio(v, b.Samples[i]))
	}
	return all
}
