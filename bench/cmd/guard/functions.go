package main

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
)

// function is the share of a function in one operation, in instructions.
type function struct {
	name string
	self float64
	all  float64 // with the functions that it calls
}

// profile holds the instructions of a whole run, by function.
type profile map[string]*tally

// tally holds the instructions and calls of one function.
type tally struct {
	self  int64
	calls map[string]int64 // how often it has called other functions, by their names
}

func (p profile) of(name string) *tally {
	if p[name] == nil {
		p[name] = &tally{calls: map[string]int64{}}
	}
	return p[name]
}

func readProfile(file string) (profile, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	p, err := parseProfile(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return p, nil
}

// parseProfile parses the output of callgrind. "fn=" starts the lines of a function, each with
// a place in its source and a number of instructions. "cfn=" and "calls=" have a function that
// it calls, and how often; the line after them belongs to the callee. A name is a number, which
// the full name follows only at its first occurrence.
//
// The instructions that callgrind counts for callees are useless, since it takes switches
// between goroutines for calls.
func parseProfile(r io.Reader) (profile, error) {
	p := profile{}
	names := map[string]string{}
	var in *tally
	callee, called := "", false
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		key, value, _ := strings.Cut(line, "=")
		switch {
		case key == "fn" || key == "cfn":
			id, full, ok := strings.Cut(value, " ")
			if ok {
				// a function that seems to call itself has a number after a quote
				names[id], _, _ = strings.Cut(full, "'")
			}
			if callee = names[id]; key == "fn" {
				in = p.of(callee)
			}
		case key == "calls" && in != nil:
			n, err := number(value, 0)
			if err != nil {
				return nil, err
			}
			in.calls[callee] += n
			called = true
		case line == "" || in == nil || !strings.ContainsRune("+-*0123456789", rune(line[0])):
		case called:
			called = false
		default:
			n, err := number(line, 1)
			if err != nil {
				return nil, err
			}
			in.self += n
		}
	}
	return p, lines.Err()
}

// number parses one word of a line as a number.
func number(line string, word int) (int64, error) {
	words := strings.Fields(line)
	if word >= len(words) {
		return 0, fmt.Errorf("no number in %q", line)
	}
	return strconv.ParseInt(words[word], 10, 64)
}

// rare is the number of operations that a call must occur in once, on average, or it is
// ignored: if goroutines switch, callgrind sees calls in circles.
const rare = 100

// less subtracts the profile of a run of fewer operations, and removes rare calls. The result
// is the profile of this number of operations.
func (p profile) less(few profile, operations int) {
	for name, t := range p {
		before := few.of(name)
		t.self -= before.self
		for callee := range t.calls {
			t.calls[callee] -= before.calls[callee]
			if t.calls[callee] < int64(operations)/rare {
				t.calls[callee] = 0
			}
		}
	}
}

// perOperation returns the shares of functions in an operation. The instructions of a function
// also belong to its callers, in proportion to their calls.
func perOperation(p profile, operations int) []function {
	calls := map[string]int64{}
	for _, t := range p {
		for callee, times := range t.calls {
			calls[callee] += times
		}
	}
	totals := map[string]float64{} // 0 while one is being computed
	var total func(name string) float64
	total = func(name string) float64 {
		if n, ok := totals[name]; ok {
			return n
		}
		totals[name] = 0
		n := float64(p[name].self)
		for callee, times := range p[name].calls {
			if times > 0 && p[callee] != nil {
				n += total(callee) * float64(times) / float64(calls[callee])
			}
		}
		totals[name] = n
		return n
	}
	var all []function
	for name, t := range p {
		all = append(all, function{name: name, self: float64(t.self) / float64(operations), all: total(name) / float64(operations)})
	}
	return all
}

// show writes the details of a row, just measured, for which the options ask. Without valgrind
// it writes nothing.
func (m *meter) show(row workload, opts options, out io.Writer) error {
	if m.valgrind == "" {
		return nil
	}
	if opts.phases {
		if err := m.showPhases(row, out); err != nil {
			return err
		}
	}
	if opts.top > 0 {
		return m.showFunctions(row, opts.top, out)
	}
	return nil
}

// showFunctions writes the functions with the largest shares in a row: their own, and with
// their callees.
func (m *meter) showFunctions(row workload, top int, out io.Writer) error {
	all, err := m.functions(row)
	if err != nil {
		return err
	}
	for _, list := range []struct {
		title string
		of    func(function) float64
	}{
		{"by itself", func(f function) float64 { return f.self }},
		{"with what it calls", func(f function) float64 { return f.all }},
	} {
		slices.SortFunc(all, func(a, b function) int {
			return cmp.Or(cmp.Compare(list.of(b), list.of(a)), cmp.Compare(a.name, b.name))
		})
		fmt.Fprintf(out, "  %s:\n", list.title)
		for _, f := range all[:min(top, len(all))] {
			if list.of(f) >= 1 {
				fmt.Fprintf(out, "  %8.0f  %s\n", list.of(f), strings.ReplaceAll(f.name, "github.com/valyala/", ""))
			}
		}
	}
	return nil
}
