package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// A side is the variant that the tests run with; the environment passes it to them.
type side string

const (
	asIs      side = "net/http"
	byServer  side = "server"
	byHandler side = "handler"
)

// The outcomes of a test.
const (
	pass = "pass"
	fail = "fail"
)

// The time limits of a test: with net/http the longest takes a second on an idle machine. A
// test that is expected to differ may wait forever. A test with an unexpected result is run
// again with more time.
const (
	timeout       = 10 * time.Second
	timeoutListed = 3 * time.Second
	timeoutAgain  = 20 * time.Second
)

// atOnce is how many processes run at once: most of them wait.
var atOnce = 3 * runtime.GOMAXPROCS(0)

// results has the outcomes of tests and their parts, and their output. Tests with parts are
// omitted: they fail if a part fails.
type results struct {
	of     map[string]string
	output map[string]string
}

func newResults() *results { return &results{map[string]string{}, map[string]string{}} }

// passing returns the tests that pass.
func (r *results) passing() []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(r.of)) {
		if r.of[name] == pass {
			names = append(names, name)
		}
	}
	return names
}

// parts returns the names of a test and of its parts.
func (r *results) parts(test string) []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(r.of)) {
		if rootOf(name) == test {
			names = append(names, name)
		}
	}
	return names
}

// said returns the end of the output of a test.
func (r *results) said(name string) string {
	text := cmp.Or(r.output[name], r.output[rootOf(name)])
	text = text[max(0, len(text)-3000):]
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString("    " + strings.TrimSuffix(line, "\n") + "\n")
	}
	return b.String()
}

func rootOf(name string) string {
	root, _, _ := strings.Cut(name, "/")
	return root
}

// A job is a test, or parts of it, each of which runs in a separate process, one after the
// other.
type job struct {
	test  test
	parts []string
	limit time.Duration
}

// runAll runs tests, several at once. own, if not nil, has their parts. A test runs in parts
// if a part is known to differ, or if its parts must be apart.
func runAll(ctx context.Context, b *built, s side, tests []test, own *results, known map[string]*difference) *results {
	var jobs []job
	for _, t := range tests {
		if own == nil {
			jobs = append(jobs, job{t, nil, timeout})
			continue
		}
		parts := own.parts(t.name)
		if !t.apart && !slices.ContainsFunc(parts, func(name string) bool { return known[name] != nil }) {
			jobs = append(jobs, job{t, nil, timeout})
			continue
		}
		for _, name := range parts {
			limit := timeout
			if known[name] != nil {
				limit = timeoutListed
			}
			jobs = append(jobs, job{t, []string{name}, limit})
		}
	}
	all := newResults()
	var mu sync.Mutex
	each(jobs, func(j job) {
		got, whole := newResults(), true
		if j.parts == nil {
			got, whole = runOne(ctx, b, s, j.test.name, j.limit)
			if !whole && own != nil {
				j.parts = own.parts(j.test.name)
			}
		}
		if j.parts != nil {
			got = runParts(ctx, b, s, j.parts, j.limit)
		}
		mu.Lock()
		defer mu.Unlock()
		maps.Copy(all.of, got.of)
		maps.Copy(all.output, got.output)
	})
	return all
}

// each calls a function for each element of a list, several at once.
func each[T any](list []T, do func(T)) {
	var wg sync.WaitGroup
	room := make(chan struct{}, atOnce)
	for _, x := range list {
		room <- struct{}{}
		wg.Go(func() {
			defer func() { <-room }()
			do(x)
		})
	}
	wg.Wait()
}

// runParts runs parts of a test, each in a separate process.
func runParts(ctx context.Context, b *built, s side, parts []string, limit time.Duration) *results {
	all := newResults()
	for _, name := range parts {
		got, _ := runOne(ctx, b, s, name, limit)
		all.of[name] = got.of[name]
		all.output[name] = cmp.Or(got.output[name], got.output[rootOf(name)], got.output[""])
	}
	return all
}

// again runs tests several more times, and returns the outcomes of each.
func again(ctx context.Context, b *built, s side, names []string, times int) [][]string {
	outcomes := make([][]string, len(names))
	numbers := make([]int, len(names))
	for i := range numbers {
		numbers[i] = i
	}
	each(numbers, func(i int) {
		for range times {
			got, _ := runOne(ctx, b, s, names[i], timeoutAgain)
			outcomes[i] = append(outcomes[i], got.of[names[i]])
		}
	})
	return outcomes
}

// runOne runs a test, or a part of it, in a process. It reports whether the process ended by
// itself.
func runOne(ctx context.Context, b *built, s side, name string, limit time.Duration) (got *results, whole bool) {
	parts := strings.Split(name, "/")
	for i, part := range parts {
		parts[i] = "^" + regexp.QuoteMeta(part) + "$"
	}
	cmd := exec.CommandContext(ctx, b.test2json, b.binary, "-test.v=test2json", "-test.short",
		"-test.paniconexit0", "-test.timeout="+limit.String(), "-test.run="+strings.Join(parts, "/"))
	cmd.Dir = b.dir
	cmd.Env = append(os.Environ(), "NETHTTP_REPLACED="+string(s))
	out, _ := cmd.Output() // it fails if the test fails
	return read(bytes.NewReader(out))
}

// read reads the output of test2json.
func read(r io.Reader) (got *results, whole bool) {
	got = newResults()
	whole = true
	for d := json.NewDecoder(r); ; {
		var event struct{ Action, Test, Output string }
		if err := d.Decode(&event); err != nil {
			return got.leaves(), whole && errors.Is(err, io.EOF)
		}
		switch event.Action {
		case pass, fail, "skip":
			if event.Test != "" {
				got.of[event.Test] = event.Action
			}
		case "output":
			got.output[event.Test] += event.Output
			if strings.HasPrefix(event.Output, "panic: ") || strings.HasPrefix(event.Output, "fatal error: ") {
				whole = false
			}
		}
	}
}

// leaves returns the results without tests that have parts.
func (r *results) leaves() *results {
	for name := range r.of {
		for i := range len(name) {
			if name[i] == '/' {
				delete(r.of, name[:i])
			}
		}
	}
	return r
}
