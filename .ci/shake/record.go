//go:build unix

package main

import (
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// fault is a test that failed in one run.
type fault struct {
	name string
	why  string // the output of the test
}

// record holds the faults of all runs.
type record struct {
	mu     sync.Mutex
	runs   int
	faults map[string][]found // by package and test
	total  int

	log     io.Writer // gets each fault at once, unless it is nil
	verbose bool      // shows all output of failed tests
}

// found is a fault, and the kind of its run.
type found struct {
	kind string
	why  string
}

func (r *record) add(k kind, faults []fault) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.runs++
	if r.faults == nil {
		r.faults = make(map[string][]found)
	}
	for _, f := range faults {
		if hasChild(faults, f.name) {
			// its subtest has the reason
			continue
		}
		name := k.pkg + " " + f.name
		why := withParents(faults, f)
		r.faults[name] = append(r.faults[name], found{k.String(), why})
		r.total++
		if r.log != nil {
			_, _ = fmt.Fprintf(r.log, "FAILED %s with %v\n%s", name, k, indented(why, r.verbose))
		}
	}
}

// withParents returns the output of a test and of its parents: a subtest may have failed
// because of them.
func withParents(faults []fault, f fault) string {
	why := f.why
	for _, parent := range faults {
		if strings.HasPrefix(f.name, parent.name+"/") {
			why += parent.why
		}
	}
	return why
}

// hasChild reports whether a subtest of the named test is among the faults.
func hasChild(faults []fault, name string) bool {
	return slices.ContainsFunc(faults, func(f fault) bool { return strings.HasPrefix(f.name, name+"/") })
}

func (r *record) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.total
}

// shownLines is how many of the first lines of a failed test's output are shown, and how many
// of the later lines that match reason.
const shownLines = 12

// reason matches the line of a test's error, and the first line of a panic or a data race. The
// lines of stacks also have file names, but no colon after the number.
var reason = regexp.MustCompile(`\.go:\d+: |^\s*(panic:|fatal error:|WARNING: DATA RACE|--- FAIL:)`)

// write lists the failed tests, in descending order of their failures.
func (r *record) write(w io.Writer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	names := slices.SortedFunc(maps.Keys(r.faults), func(a, b string) int {
		if d := len(r.faults[b]) - len(r.faults[a]); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	for _, name := range names {
		all := r.faults[name]
		fmt.Fprintf(w, "\nFAILED %s: %d times\n", name, len(all))
		kinds := make(map[string]int)
		for _, f := range all {
			kinds[f.kind]++
		}
		for _, k := range slices.Sorted(maps.Keys(kinds)) {
			fmt.Fprintf(w, "  %d times with %s\n", kinds[k], k)
		}
		_, _ = io.WriteString(w, indented(all[0].why, r.verbose))
	}
	fmt.Fprintf(w, "\n%d runs, %d tests failed\n", r.runs, len(names))
}

// indented returns the first lines of a test's output and the later ones with the reason of the
// failure, or all lines.
func indented(text string, all bool) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if len(lines) > shownLines && !all {
		rest := lines[shownLines:]
		lines = lines[:shownLines:shownLines]
		hidden := 0
		for _, line := range rest {
			if reason.MatchString(line) && len(lines) < 2*shownLines {
				lines = append(lines, line)
			} else {
				hidden++
			}
		}
		if hidden > 0 {
			lines = append(lines, fmt.Sprintf("... and %d more lines, see -v", hidden))
		}
	}
	return "    " + strings.Join(lines, "\n    ") + "\n"
}
