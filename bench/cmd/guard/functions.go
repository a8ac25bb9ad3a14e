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

// function is what a function takes of one operation, in instructions.
type function struct {
	name string
	self float64
	all  float64 // with the functions that it calls
}

// profile is the instructions of a whole run by function.
type profile map[string]*tally

// tally is what one function did.
type tally struct {
	self  int64
	calls map[string]int64 // by the name of what it called
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

// parseProfile understands what callgrind writes: "fn=" begins the lines of a function,
// each with a place in its source and a number of instructions; "cfn=" and "calls=" say
// what it calls and how often, and that the next line is of the callee. Only the first
// occurrence of a number is followed by the name in full.
//
// What callgrind counts for callees is of no use, since it does not know of goroutines
// and takes them for calls.
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
				// a function that seems to call itself has a quote and a number after its name
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

// number reads one of the words of a line.
func number(line string, word int) (int64, error) {
	words := strings.Fields(line)
	if word >= len(words) {
		return 0, fmt.Errorf("no number in %q", line)
	}
	return strconv.ParseInt(words[word], 10, 64)
}

// rare is how many operations may have one call that is left out: where goroutines
// change, callgrind sees calls that go round in circles.
const rare = 100

// less takes away from a profile what a run of fewer operations did, and the calls that
// are rare. What is left is of so many operations.
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

// perOperation returns what functions take of an operation. Instructions of a function
// belong to its callers in the proportion of their calls.
func perOperation(p profile, operations int) []function {
	calls := map[string]int64{}
	for _, t := range p {
		for callee, times := range t.calls {
			calls[callee] += times
		}
	}
	totals := map[string]float64{} // 0 as long as one is worked out
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

// show writes what the options want to know of a row that was just measured. Without
// valgrind that is nothing.
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

// showFunctions writes the functions that take the most of a row: by themselves, and
// with those that they call.
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
