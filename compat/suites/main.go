// Command suites runs the test suites of other projects that are built on
// fasthttp: once with the published v1.77.0 and once with this tree in its
// place. A test that passes with the former and not with the latter makes it
// fail.
//
//	suites [-v] [-run REGEXP] [MODULE@VERSION ...]
//
// Without arguments it runs those that CI holds this tree to. The modules come
// from the Go module proxy; they are copied to a folder that is removed in the
// end, and nothing of them is changed but their go.mod.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"time"
)

// held are the suites that CI runs.
var held = []string{
	"github.com/fasthttp/router@v1.5.4",
	"github.com/fasthttp/websocket@v1.5.12",
}

func main() {
	verbose := flag.Bool("v", false, "name every test that fails on either side, and print what it said")
	pattern := flag.String("run", "", "run only tests that match this `regexp`")
	keep := flag.String("keep", "", "leave the copies in this `folder`")
	timeout := flag.Duration("timeout", 10*time.Minute, "give each suite this long")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	list := flag.Args()
	if len(list) == 0 {
		list = held
	}
	ok, err := run(ctx, list, options{verbose: *verbose, pattern: *pattern, keep: *keep, timeout: *timeout})
	if err != nil {
		fmt.Fprintln(os.Stderr, "suites:", err)
	}
	if err != nil || !ok {
		stop()
		os.Exit(1)
	}
}

type options struct {
	verbose       bool
	pattern, keep string
	timeout       time.Duration
}

// run tells whether every test that passes with v1.77.0 passes with this tree.
func run(ctx context.Context, modules []string, o options) (bool, error) {
	root, err := filepath.Abs(filepath.Join("..", "go.mod"))
	if err != nil {
		return false, err
	}
	sides := bothSides(filepath.Dir(root))
	dir := o.keep
	if dir == "" {
		if dir, err = os.MkdirTemp("", "suites"); err != nil {
			return false, err
		}
		defer os.RemoveAll(dir)
	}
	var all counts
	for _, module := range modules {
		c, err := compareModule(ctx, module, sides, dir, o)
		if err != nil {
			return false, fmt.Errorf("%s: %w", module, err)
		}
		all.add(c)
	}
	fmt.Printf("%d suites: with v1.77.0 %d passed, %d failed; with this tree %d passed, %d failed; %d passed with v1.77.0 only\n",
		len(modules), all.passed[0], all.failed[0], all.passed[1], all.failed[1], all.lost)
	return all.lost == 0, nil
}

// counts has the figures of v1.77.0 first and of this tree second.
type counts struct {
	passed, failed [2]int
	lost           int
}

func (c *counts) add(o counts) {
	for i := range c.passed {
		c.passed[i] += o.passed[i]
		c.failed[i] += o.failed[i]
	}
	c.lost += o.lost
}

func compareModule(ctx context.Context, module string, sides [2]side, dir string, o options) (counts, error) {
	var c counts
	source, err := download(ctx, module)
	if err != nil {
		return c, err
	}
	var outcomes [2]*outcome
	for i, s := range sides {
		place := filepath.Join(dir, s.folder, filepath.FromSlash(module))
		if err := s.prepare(ctx, source, place); err != nil {
			return c, fmt.Errorf("with %s: %w", s.name, err)
		}
		if outcomes[i], err = runTests(ctx, place, o); err != nil {
			return c, fmt.Errorf("with %s: %w", s.name, err)
		}
		c.passed[i], c.failed[i] = outcomes[i].count()
		fmt.Printf("%s with %s: %d passed, %d failed\n", module, s.name, c.passed[i], c.failed[i])
	}
	for _, name := range outcomes[0].names() {
		theirs, here := outcomes[0].of(name), outcomes[1].of(name)
		if theirs == pass && here != pass && here != skip {
			c.lost++
			fmt.Printf("  passes with v1.77.0 only (%s here): %s\n%s", cmp.Or(here, "not run"), name, outcomes[1].said(name))
		} else if o.verbose && theirs == fail {
			fmt.Printf("  fails with v1.77.0 (%s here): %s\n%s", cmp.Or(here, "not run"), name, outcomes[0].said(name))
		}
	}
	return c, nil
}
