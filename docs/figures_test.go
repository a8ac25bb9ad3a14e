package docs

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// figures are the tables of performance.md and performance-rows.md, which a program writes.
type figures struct {
	t *testing.T
	// tables has the lines of the first table below each heading of performance-rows.md, which
	// begins with its number signs
	tables map[string][][]string
}

func readFigures(t *testing.T) figures {
	t.Helper()
	f := figures{t, map[string][][]string{}}
	heading, ended := "", false
	for line := range strings.SplitSeq(read(t, "performance-rows.md"), "\n") {
		switch {
		case strings.HasPrefix(line, "#"):
			heading, ended = line, len(f.tables[line]) > 0
		case strings.HasPrefix(line, "|") && !ended:
			f.tables[heading] = append(f.tables[heading], cells(line))
		case len(f.tables[heading]) > 0:
			ended = true
		}
	}
	return f
}

// decision returns a figure of performance.md.
func (f figures) decision(what, server string) string {
	f.t.Helper()
	columns := []string{"What", "this", "v1.77.0", "net/http", "best other", "Command, in `bench`"}
	for _, row := range rows(f.t, "performance.md", columns...) {
		if row[0] == what {
			return row[slices.Index(columns, server)]
		}
	}
	f.t.Errorf("performance.md has no row %q", what)
	return "0"
}

// cell returns a cell of performance-rows.md.
func (f figures) cell(heading, row, column string) string {
	f.t.Helper()
	table := f.tables[heading]
	if len(table) > 0 {
		at := slices.Index(table[0], column)
		for _, line := range table {
			if strings.Trim(line[0], "*") == row && at >= 0 {
				return strings.Trim(line[at], "*")
			}
		}
	}
	f.t.Errorf("performance-rows.md has no %q, %q, %q", heading, row, column)
	return "0"
}

// value returns the number at the beginning of a cell.
func (f figures) value(cell string) float64 {
	f.t.Helper()
	number, _, _ := strings.Cut(strings.Trim(cell, "()"), " ")
	v, err := strconv.ParseFloat(strings.ReplaceAll(number, ",", ""), 64)
	if err != nil {
		f.t.Error(err)
	}
	return v
}

const (
	event    = "ours, event engine"
	cpu      = "CPU µs/request"
	idleSize = "memory of an idle connection, bytes"
	smallest = "size of a small program, bytes"
	at512    = "processor time of a request, 512 connections, µs"
)

// ratio returns how many times as much of a column a server takes as this one.
func (f figures) ratio(heading, server, column string) float64 {
	f.t.Helper()
	return f.value(f.cell(heading, server, column)) / f.value(f.cell(heading, event, column))
}

// megabytes returns a size of performance.md.
func (f figures) megabytes(server string) float64 {
	f.t.Helper()
	return f.value(f.decision(smallest, server)) / 1e6
}

// means returns the least and the greatest of the means of servers in memory.
func (f figures) means(column string) (least, greatest float64) {
	f.t.Helper()
	least = math.Inf(1)
	for _, requests := range []string{"varied", "repeated"} {
		for procs := 1; procs <= 2; procs++ {
			v := f.value(f.cell(fmt.Sprintf("#### Servers, %s requests, GOMAXPROCS %d", requests, procs), "geometric mean", column))
			least, greatest = min(least, v), max(greatest, v)
		}
	}
	return least, greatest
}

// TestFiguresInSentencesAreMeasured checks the figures in the text of README.md, faq.md and
// why-fast.md.
func TestFiguresInSentencesAreMeasured(t *testing.T) {
	f := readFigures(t)
	if third := f.value(f.decision(at512, "this")) / f.value(f.decision(at512, "net/http")); math.Abs(third-1./3) > 0.04 {
		t.Errorf("a request over 512 connections takes %.2f of net/http's time, not a third", third)
	}
	const one, varied, h2 = "#### 1 connection, varied requests", "#### Servers, varied requests, GOMAXPROCS 1", "#### 64 connections x 10 streams"
	const busy = "#### 64 connections, varied requests"
	waiting := f.cell("## Goals", "Handlers that wait: requests/s at least 0.95 of the best other server's, in each row", "measured")
	waits := fmt.Sprintf("%.0f µs", f.value(f.cell(one, event, "p50 µs")))
	than := fmt.Sprintf("%.0f.", f.value(f.cell(one, "upstream", "p50 µs")))
	bytes := strings.Split(f.cell(varied, "ServerGetVaried100ReqPerConn10KClients", "B/op: ours / upstream / net/http"), " / ")
	get := func(server string) string {
		return fmt.Sprintf("%.0f ns", f.value(f.cell(varied, "ServerGetVariedOnePerRead", server)))
	}
	least, greatest := f.means("net/http ÷ ours")
	leastOld, greatestOld := f.means("upstream ÷ ours")
	for _, sentence := range []struct {
		file, text string
	}{
		{"../README.md", fmt.Sprintf("a request over 512 connections takes a third of the processor time, and an idle connection %s bytes instead of %s;", f.decision(idleSize, "this"), f.decision(idleSize, "net/http"))},
		{"../README.md", fmt.Sprintf("in %s instead of %s", waits, than)},
		{"../README.md", fmt.Sprintf("a program that is %.1f MB larger", f.megabytes("this")-f.megabytes("v1.77.0"))},
		{"../README.md", fmt.Sprintf("up to %s B for a GET with 10,000 clients", bytes[1])},
		{"faq.md", fmt.Sprintf("an idle connection takes %s bytes instead of %s, and a request over 512 connections a third of the processor time", f.decision(idleSize, "this"), f.decision(idleSize, "net/http"))},
		{"why-fast.md", fmt.Sprintf("A small request over 64 connections takes the server %.1f µs of processor time.", f.value(f.cell(busy, event, cpu)))},
		{"why-fast.md", fmt.Sprintf("it takes %s bytes instead of %s, or %s with net/http.", f.decision(idleSize, "this"), f.decision(idleSize, "v1.77.0"), f.decision(idleSize, "net/http"))},
		{"why-fast.md", fmt.Sprintf("%.1f times the speed of v1.77.0 with 64, %.1f with 512, %.1f with 4096.",
			f.ratio(busy, "upstream", cpu), f.ratio("#### 512 connections, varied requests", "upstream", cpu), f.ratio("#### 4096 connections, varied requests", "upstream", cpu))},
		{"why-fast.md", fmt.Sprintf("takes %s here, %s with v1.77.0, and %s with net/http.", get("ours"), get("upstream"), get("net/http"))},
		{"why-fast.md", fmt.Sprintf("It takes %.2f of the processor time of h2o,", 1/f.ratio(h2, "h2o", cpu))},
		{"why-fast.md", fmt.Sprintf("%.0f to %.0f times net/http, by the mean of all rows; %.1f to %.1f times v1.77.0", least, greatest, leastOld, greatestOld)},
		{"why-fast.md", fmt.Sprintf("waking it is most of the time: %s for a response instead of %s", waits, than)},
		{"why-fast.md", fmt.Sprintf("a gain of %.0f %% where the processor is relieved by %.0f %%.",
			100*(f.value(f.cell(busy, event, "requests/s ÷ upstream"))-1), 100*(1-f.value(f.cell(busy, event, "CPU ÷ upstream"))))},
		{"why-fast.md", fmt.Sprintf("[All %s](performance-rows.md#handlers-that-wait) are at least 0.95 of the best other server's rate.", strings.TrimPrefix(waiting, "42 of "))},
		{"why-fast.md", fmt.Sprintf("A handshake is %.0f µs", math.Round(f.value(f.cell("#### full handshakes", event, "CPU µs/handshake"))/10)*10)},
		{"why-fast.md", fmt.Sprintf("an idle connection takes %.0f KB.", f.value(f.cell("## Idle connections", "ours, portable engine", "resident bytes/connection"))/1000)},
		{"why-fast.md", fmt.Sprintf("%.1f MB instead of %.1f for a small one", f.megabytes("this"), f.megabytes("v1.77.0"))},
	} {
		if text := strings.Join(strings.Fields(read(t, sentence.file)), " "); !strings.Contains(text, sentence.text) {
			t.Errorf("%s does not have: %s", sentence.file, sentence.text)
		}
	}
}

// TestRatiosOverSocketsAreMeasured checks the table of ratios in why-fast.md.
func TestRatiosOverSocketsAreMeasured(t *testing.T) {
	f := readFigures(t)
	headings := map[string]string{
		"64 connections, closed after 10 requests": "#### 64 connections, churn: closed after 10 requests, varied requests",
		"64 connections, TLS":                      "### 64 connections, TLS",
		"a new TLS connection":                     "#### full handshakes",
	}
	for _, row := range rows(t, "why-fast.md", "", "v1.77.0 ÷ this", "net/http ÷ this") {
		heading, column := headings[row[0]], cpu
		switch heading {
		case "":
			heading = "#### " + row[0] + ", varied requests"
		case "#### full handshakes":
			column = "CPU µs/handshake"
		}
		for i, server := range []string{"upstream", "net/http"} {
			if want := fmt.Sprintf("%.2f", f.ratio(heading, server, column)); row[i+1] != want {
				t.Errorf("%s: %s is %s, not %s", row[0], server, row[i+1], want)
			}
		}
	}
}
