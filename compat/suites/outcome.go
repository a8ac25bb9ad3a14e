package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// The results of go test for a test, or for a package, with an empty name.
const (
	pass = "pass"
	fail = "fail"
	skip = "skip"
)

// An outcome has the result of each test of a suite, by its package and name.
type outcome struct {
	results map[string]string
	output  map[string]*strings.Builder
}

// runTests runs the tests of the packages in args. A test that fails is no error. vet is
// disabled, since its checks may be newer than the code.
func runTests(ctx context.Context, dir string, timeout time.Duration, pattern string, args []string) (*outcome, error) {
	flags := []string{"test", "-json", "-count=1", "-vet=off", "-timeout=" + timeout.String()}
	if pattern != "" {
		flags = append(flags, "-run="+pattern)
	}
	cmd := goCommand(ctx, dir, append(flags, args...)...)
	out, stderr, err := output(cmd)
	if err != nil {
		return nil, err
	}
	o, err := readOutcome(bytes.NewReader(out))
	if err != nil {
		return nil, err
	}
	if len(o.results) == 0 {
		return nil, errors.New(strings.TrimSuffix("no test ran: "+firstLine(stderr), ": "))
	}
	return o, nil
}

// output returns the output of a command. It is no error if the command fails.
func output(cmd *exec.Cmd) (stdout []byte, stderr string, err error) {
	var b bytes.Buffer
	cmd.Stderr = &b
	stdout, err = cmd.Output()
	if _, failed := errors.AsType[*exec.ExitError](err); failed {
		err = nil
	}
	return stdout, b.String(), err
}

// readOutcome reads the output of go test -json.
func readOutcome(r io.Reader) (*outcome, error) {
	o := &outcome{results: map[string]string{}, output: map[string]*strings.Builder{}}
	for d := json.NewDecoder(r); ; {
		var event struct{ Action, Package, ImportPath, Test, Output string }
		if err := d.Decode(&event); errors.Is(err, io.EOF) {
			return o, nil
		} else if err != nil {
			return nil, err
		}
		name := event.Package + event.ImportPath
		if event.Test != "" {
			name += " " + event.Test
		}
		switch event.Action {
		case pass, fail, skip:
			// A package without a test passes or is skipped, which is no test.
			if event.Test != "" || event.Action == fail {
				o.results[name] = event.Action
			}
		case "output", "build-output":
			b := o.output[name]
			if b == nil {
				b = &strings.Builder{}
				o.output[name] = b
			}
			b.WriteString(event.Output)
		}
	}
}

func (o *outcome) names() []string { return slices.Sorted(maps.Keys(o.results)) }

// passing returns the tests that pass.
func (o *outcome) passing() map[string]bool {
	passing := map[string]bool{}
	for name, result := range o.results {
		if isTest(name) && result == pass {
			passing[name] = true
		}
	}
	return passing
}

// buildError returns the first error of the compiler, after a colon, if there is one.
func (o *outcome) buildError() string {
	for _, name := range slices.Sorted(maps.Keys(o.output)) {
		for line := range strings.Lines(o.output[name].String()) {
			if !isTest(name) && !strings.HasPrefix(line, "#") && strings.Contains(line, ".go:") {
				return ": " + firstLine(line)
			}
		}
	}
	return ""
}

func (o *outcome) of(name string) string { return o.results[name] }

// count ignores packages: they fail if one of their tests fails.
func (o *outcome) count() (passed, failed int) {
	for name, result := range o.results {
		switch {
		case result == pass:
			passed++
		case result == fail && isTest(name):
			failed++
		}
	}
	return passed, failed
}

// failing returns the tests that fail, and the packages that fail without such a test, as one
// that does not build.
func (o *outcome) failing() []string {
	var names, packages []string
	for _, name := range o.names() {
		if o.results[name] != fail {
			continue
		}
		if !isTest(name) {
			packages = append(packages, name)
			continue
		}
		names = append(names, name)
	}
	for _, pkg := range packages {
		if !slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, pkg+" ") }) {
			names = append(names, pkg)
		}
	}
	return names
}

// said returns the end of the output of a test, or of its package if the test was not reached.
func (o *outcome) said(name string) string {
	b := o.output[name]
	if b == nil {
		pkg, _, _ := strings.Cut(name, " ")
		b = o.output[pkg]
	}
	if b == nil {
		return ""
	}
	return tail(b.String())
}

func tail(s string) string {
	s = s[max(0, len(s)-3000):]
	var b strings.Builder
	for line := range strings.Lines(s) {
		b.WriteString("    " + line)
	}
	return strings.TrimSuffix(b.String(), "\n") + "\n"
}
