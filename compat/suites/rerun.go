package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// reruns runs tests again, alternately with both sides. A package is compiled once for each
// side, and a test is run once for all its parts.
type reruns struct {
	places   [2]string
	times    int
	timeout  time.Duration
	dir      string
	packages map[string][2]testBinary
	done     map[string][2][]*outcome
}

// A testBinary has the test binary of a package, and the folder in which to run it. It has no
// file if the package does not build.
type testBinary struct{ file, dir string }

func newReruns(places [2]string, times int, timeout time.Duration) *reruns {
	return &reruns{places: places, times: times, timeout: timeout, packages: map[string][2]testBinary{}, done: map[string][2][]*outcome{}}
}

func (r *reruns) remove() {
	if r.dir != "" {
		os.RemoveAll(r.dir)
	}
}

// alone runs a test alone, and returns its results, and its output when it failed with this
// tree.
func (r *reruns) alone(ctx context.Context, name string) ([2][]string, string, error) {
	pkg, test := root(name)
	return r.run(ctx, name, pkg, "^"+test+"$")
}

// whole returns the results of a test when all of its package is run.
func (r *reruns) whole(ctx context.Context, name string) ([2][]string, string, error) {
	pkg, _ := root(name)
	return r.run(ctx, name, pkg, "")
}

func (r *reruns) run(ctx context.Context, name, pkg, pattern string) (results [2][]string, said string, err error) {
	binaries, ok := r.packages[pkg]
	if !ok {
		if binaries, err = r.compile(ctx, pkg); err != nil {
			return results, "", err
		}
		r.packages[pkg] = binaries
	}
	key := pkg + " " + pattern
	outcomes, ok := r.done[key]
	if !ok {
		for range r.times {
			for i, b := range binaries {
				o, err := b.run(ctx, pkg, pattern, r.timeout)
				if err != nil {
					return results, "", err
				}
				outcomes[i] = append(outcomes[i], o)
			}
		}
		r.done[key] = outcomes
	}
	for i := range outcomes {
		for _, o := range outcomes[i] {
			results[i] = append(results[i], o.of(name))
			if i == 1 && o.of(name) != pass {
				said = o.said(name)
			}
		}
	}
	return results, said, nil
}

func (r *reruns) compile(ctx context.Context, pkg string) (binaries [2]testBinary, err error) {
	if r.dir == "" {
		if r.dir, err = os.MkdirTemp("", "reruns"); err != nil {
			return binaries, err
		}
	}
	for i, place := range r.places {
		out, _, err := output(goCommand(ctx, place, "list", "-f", "{{.Dir}}", pkg))
		if err != nil {
			return binaries, err
		}
		file := filepath.Join(r.dir, fmt.Sprintf("%d-%d.test", len(r.packages), i))
		if err := goTool(ctx, place, "test", "-c", "-vet=off", "-o", file, pkg); err != nil {
			if ctx.Err() != nil {
				return binaries, err
			}
			file = ""
		}
		binaries[i] = testBinary{file, strings.TrimSpace(string(out))}
	}
	return binaries, nil
}

func (b testBinary) run(ctx context.Context, pkg, pattern string, timeout time.Duration) (*outcome, error) {
	if b.file == "" {
		return &outcome{}, nil
	}
	cmd := goCommand(ctx, b.dir, "tool", "test2json", "-p", pkg, b.file, "-test.v=test2json",
		"-test.paniconexit0", "-test.timeout="+timeout.String(), "-test.run="+pattern)
	out, _, err := output(cmd)
	if err != nil {
		return nil, err
	}
	return readOutcome(bytes.NewReader(out))
}
