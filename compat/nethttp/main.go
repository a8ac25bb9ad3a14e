// Command nethttp runs tests of package net/http with servers of this module. It takes the
// tests of the Go installation that are outside of the package and use a server, and runs them
// three times:
//
//	net/http   as they are
//	server     each http.Server serves by a fasthttp.Server, its handlers through
//	           fasthttpadaptor.NewFastHTTPHandler
//	handler    each handler is called through both adaptors, NewHTTPHandler and
//	           NewFastHTTPHandler; the servers are net/http's
//
// It fails if a test passes as it is and not in another way, unless differences.tsv has the
// reason. It also fails on a line of that file whose test passes.
//
//	nethttp [-v] [-again TIMES] [-run REGEXP] [-keep FOLDER]
//
// The tests are built with an overlay of the standard library. The overlay has the hooks that
// replace servers, and the names that net/http exports to its own tests. The Go installation
// is not changed, and this repository contains no part of it.
//
// Each test runs in a separate process, so that a test that hangs or exits affects no other.
// Parts of tests in testing/synctest bubbles also run in separate processes, since a pooled
// object must not move from one bubble to another.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

// tableVersion is the version of Go for differences.tsv.
const tableVersion = "go1.26"

type options struct {
	verbose bool
	keep    string
	again   int
	pattern *regexp.Regexp
}

func main() {
	var o options
	flag.BoolVar(&o.verbose, "v", false, "print what tests with a difference say, also those that differences.tsv has")
	flag.StringVar(&o.keep, "keep", "", "leave what is built in this `folder`")
	flag.IntVar(&o.again, "again", 3, "run tests that are not as listed this many `times` more")
	pattern := flag.String("run", ".", "run only tests whose names match this `regexp`")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var err error
	if o.pattern, err = regexp.Compile(*pattern); err == nil {
		err = run(ctx, o)
	}
	if err != nil {
		stop()
		fmt.Fprintln(os.Stderr, "nethttp:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	if version := runtime.Version(); !ofVersion(version, tableVersion) {
		fmt.Printf("skipped: differences.tsv is about the tests of %s, not %s\n", tableVersion, version)
		return nil
	}
	listed, err := readDifferences(differencesTable)
	if err != nil {
		return fmt.Errorf("differences.tsv: %w", err)
	}
	tree, err := filepath.Abs("../..")
	if err != nil {
		return err
	}
	dir := o.keep
	if dir == "" {
		if dir, err = os.MkdirTemp("", "nethttp"); err != nil {
			return err
		}
		defer os.RemoveAll(dir)
	}
	b, err := build(ctx, tree, dir)
	if err != nil {
		return err
	}
	tests := b.wireTests(o.pattern)
	if len(tests) == 0 {
		return errors.New("no test is to be run")
	}
	own := runAll(ctx, b, asIs, tests, nil, nil)
	if err := ctx.Err(); err != nil {
		return err
	}
	fmt.Printf("%d tests with %d parts pass as they are\n", len(tests), len(own.passing()))
	faults := 0
	for _, s := range []side{byServer, byHandler} {
		known := of(listed, s)
		got := runAll(ctx, b, s, tests, own, known)
		if err := ctx.Err(); err != nil {
			return err
		}
		faults += report(ctx, b, s, own, got, known, o)
	}
	if faults > 0 {
		return fmt.Errorf("%d differences from net/http are not as differences.tsv has them", faults)
	}
	return nil
}

// ofVersion reports whether a version of Go belongs to a release: go1.26 and go1.26.8 belong
// to go1.26.
func ofVersion(version, release string) bool {
	rest, ok := strings.CutPrefix(version, release)
	return ok && (rest == "" || rest[0] < '0' || rest[0] > '9')
}

// report compares the results of a side with the results of the unchanged tests, and returns
// how many differences are not as listed.
func report(ctx context.Context, b *built, s side, own, got *results, known map[string]*difference, o options) (faults int) {
	passing := own.passing()
	var odd []string // differences that are not as listed
	listed := 0
	for _, name := range passing {
		d, differs := known[name], got.of[name] != pass
		if differs != (d != nil) && !d.unsteady() {
			odd = append(odd, name)
			continue
		}
		if differs {
			listed++
			if o.verbose {
				fmt.Printf("  %s: %s (%s)\n%s", s, name, d.reason, got.said(name))
			}
		}
	}
	unsteady := 0
	for i, outcomes := range again(ctx, b, s, odd, o.again) {
		name := odd[i]
		if known[name] == nil {
			if slices.Contains(outcomes, pass) {
				unsteady++
				fmt.Printf("  %s: %s differed once and not again\n", s, name)
				continue
			}
			fmt.Printf("  %s: a difference that differences.tsv does not have: %s\n%s", s, name, got.said(name))
		} else if slices.ContainsFunc(outcomes, func(outcome string) bool { return outcome != pass }) {
			listed++
			continue
		} else {
			fmt.Printf("  %s: a difference of differences.tsv that is gone: %s\n", s, name)
		}
		faults++
	}
	for name := range known {
		if own.of[name] != pass && o.pattern.MatchString(rootOf(name)) {
			faults++
			fmt.Printf("  %s: differences.tsv has a test that does not pass as it is: %s\n", s, name)
		}
	}
	fmt.Printf("%s: of %d parts that pass as they are, %d differ as listed, %d differed once and not again, %d are not as listed\n",
		s, len(passing), listed, unsteady, faults)
	return faults
}
