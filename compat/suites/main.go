// Command suites runs the test suites of other projects that are built on fasthttp: once with
// the published v1.77.0 and once with this tree in its place. It fails if a test passes with
// the former and not with the latter, unless differences.tsv has the rule that requires the
// difference. It also fails on a line of that file whose difference no longer exists.
//
//	suites [-v] [-usual] [-run REGEXP] [-update] [all | MODULE | MODULE@VERSION ...]
//
// Without arguments it runs the suites that CI runs, with "all" the suites of suites.tsv. It
// downloads the modules from the Go module proxy and copies them to a temporary folder; only
// their go.mod is changed. A suite is skipped and reported if it cannot be fetched, or if none
// of its tests passes with v1.77.0.
//
// The results with v1.77.0 are always the same, but for tests that sometimes fail. So with -usual
// a suite runs with this tree alone, and is compared if a test fails, or is missing, that does not
// in usual.tsv.
//
// Differing tests are run again, each alone and several times with both, since many suites
// have tests that sometimes fail.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"time"
)

type options struct {
	verbose, update, usual bool
	pattern, keep          string
	timeout                time.Duration
	again                  int
}

func main() {
	var o options
	flag.BoolVar(&o.verbose, "v", false, "name every test that fails on either side, and print what it said")
	flag.BoolVar(&o.update, "update", false, "write the results into README.md and usual.tsv")
	flag.BoolVar(&o.usual, "usual", false, "run a suite with v1.77.0 only if its results with this tree are not as usual.tsv has them")
	flag.StringVar(&o.pattern, "run", "", "run only tests that match this `regexp`")
	flag.StringVar(&o.keep, "keep", "", "leave the copies in this `folder`")
	flag.DurationVar(&o.timeout, "timeout", 10*time.Minute, "give each package this long")
	flag.IntVar(&o.again, "again", 3, "run tests that differ this many `times` more")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, flag.Args(), o); err != nil {
		stop()
		fmt.Fprintln(os.Stderr, "suites:", err)
		os.Exit(1)
	}
}

// run fails if a test that passes with v1.77.0 does not pass with this tree,
// and differences.tsv does not have it.
func run(ctx context.Context, args []string, o options) error {
	list, err := readSuites(suitesTable)
	if err != nil {
		return fmt.Errorf("suites.tsv: %w", err)
	}
	listed, err := readDifferences(differencesTable)
	if err != nil {
		return fmt.Errorf("differences.tsv: %w", err)
	}
	known, err := readUsual(usualTable)
	if err != nil {
		return fmt.Errorf("usual.tsv: %w", err)
	}
	chosen, err := choose(list, args)
	if err != nil {
		return err
	}
	tree, err := filepath.Abs("..")
	if err != nil {
		return err
	}
	dir := o.keep
	if dir == "" {
		if dir, err = os.MkdirTemp("", "suites"); err != nil {
			return err
		}
		defer os.RemoveAll(dir)
	}
	c := &comparer{sides: bothSides(tree), dir: dir, options: o}
	if o.usual {
		c.usual = known
	}
	var rows []row
	var faults int
	var failed error
	for _, s := range chosen {
		r, err := c.compare(ctx, s)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", s, err))
			continue
		}
		faults += report(r, listed, o)
		rows = append(rows, r)
		if o.update {
			if err := updateReadme("README.md", rows, list, listed); err != nil {
				return err
			}
			if err := writeUsual(filepath.Join("suites", "usual.tsv"), known, rows, list); err != nil {
				return err
			}
		}
	}
	fmt.Println()
	printRows(os.Stdout, rows)
	return errors.Join(failed, conclude(rows, faults))
}

// report prints the differences of a row that are not in the list, and the listed ones that
// the row does not have. It returns the number of both.
func report(r row, listed []*difference, o options) int {
	unlisted, gone := settle(listed, r.suite, r.lost)
	for _, test := range unlisted {
		fmt.Printf("  a difference that differences.tsv does not have: %s\n%s", test, r.said[test])
	}
	// A part of a suite has no results for the rest, and nothing was lost or gained without a comparison.
	if r.skipped != "" || r.asUsual || o.pattern != "" {
		return len(unlisted)
	}
	for _, d := range gone {
		fmt.Printf("  a difference of differences.tsv that is gone: %s\n", d.test)
	}
	return len(unlisted) + len(gone)
}

func conclude(rows []row, faults int) error {
	if faults > 0 {
		return fmt.Errorf("%d differences from v1.77.0 are not as differences.tsv has them", faults)
	}
	for _, r := range rows {
		if r.skipped == "" {
			return nil
		}
	}
	return errors.New("no suite ran")
}
