package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A comparer runs suites with both sides: v1.77.0 first, this tree second.
type comparer struct {
	sides [2]side
	dir   string
	// usual has the suites that need no comparison if their results here are the usual ones.
	usual map[string]usual
	options
}

// A row is the result of a suite.
type row struct {
	suite
	// skipped is the reason why nothing was compared, or "".
	skipped string
	// asUsual is set if the results with this tree are the usual ones, and were not compared.
	asUsual bool
	// here has the first results with this tree.
	here *outcome
	// passed is how many tests pass with v1.77.0, and with this tree.
	passed [2]int
	// neither is how many tests pass with neither.
	neither int
	// lost are the tests that pass with v1.77.0 only, and said is their output.
	lost []string
	said map[string]string
	// gained and unsteady are how many tests pass with this tree only, or only sometimes.
	gained, unsteady int
}

func (c *comparer) compare(ctx context.Context, s suite) (row, error) {
	r := row{suite: s, said: map[string]string{}}
	source, err := download(ctx, s.fetched())
	if err != nil {
		return c.skip(ctx, r, "cannot be fetched: "+firstLine(err.Error()))
	}
	var places [2]string
	var outcomes [2]*outcome
	for i, side := range c.sides {
		places[i] = filepath.Join(c.dir, side.folder, filepath.FromSlash(strings.ReplaceAll(s.String(), separator, "+")))
		if c.keep == "" {
			defer os.RemoveAll(places[i])
		}
	}
	if u, ok := c.usual[s.String()]; ok {
		if outcomes[1], err = c.runSide(ctx, 1, s, source, places[1]); err != nil {
			return r, fmt.Errorf("with %s: %w", c.sides[1].name, err)
		}
		if u.allows(outcomes[1]) {
			r.asUsual = true
			r.passed[1], _ = outcomes[1].count()
			return r, nil
		}
	}
	if outcomes[0], err = c.runSide(ctx, 0, s, source, places[0]); err != nil {
		return c.skip(ctx, r, "does not run with v1.77.0: "+firstLine(err.Error()))
	}
	if passed, _ := outcomes[0].count(); passed == 0 {
		return c.skip(ctx, r, "no test passes with v1.77.0"+outcomes[0].buildError())
	}
	if outcomes[1] == nil {
		if outcomes[1], err = c.runSide(ctx, 1, s, source, places[1]); err != nil {
			return r, fmt.Errorf("with %s: %w", c.sides[1].name, err)
		}
	}
	r.here = outcomes[1]
	final := settled{outcomes[0].passing(), outcomes[1].passing()}
	if err := c.judgeAll(ctx, &r, places, outcomes, final); err != nil {
		return r, err
	}
	for _, name := range union(outcomes[0], outcomes[1]) {
		if !isTest(name) {
			continue
		}
		theirs, here := final[0][name], final[1][name]
		if theirs {
			r.passed[0]++
		}
		if here {
			r.passed[1]++
		}
		if !theirs && !here && (outcomes[0].of(name) == fail || outcomes[1].of(name) == fail) {
			r.neither++
			if c.verbose {
				fmt.Printf("  fails with v1.77.0 (%s here): %s\n%s", cmp.Or(outcomes[1].of(name), "not run"), name, outcomes[0].said(name))
			}
		}
	}
	return r, nil
}

// runSide prepares a copy of a suite in a place, and runs its tests with one side.
func (c *comparer) runSide(ctx context.Context, i int, s suite, source, place string) (*outcome, error) {
	side := c.sides[i]
	if err := side.prepare(ctx, s, source, place); err != nil {
		return nil, err
	}
	o, err := runTests(ctx, place, c.timeout, c.pattern, s.args)
	if err != nil {
		return nil, err
	}
	passed, failed := o.count()
	fmt.Printf("%s with %s: %d passed, %d failed\n", s, side.name, passed, failed)
	return o, nil
}

func (c *comparer) skip(ctx context.Context, r row, reason string) (row, error) {
	r.skipped = reason
	fmt.Printf("%s is skipped: %s\n", r.suite, reason)
	return r, ctx.Err()
}

// settled has, for both sides, the tests that pass.
type settled [2]map[string]bool

// judgeAll runs differing tests again, and adds the verdicts to the row and to final.
func (c *comparer) judgeAll(ctx context.Context, r *row, places [2]string, outcomes [2]*outcome, final settled) error {
	runs := newReruns(places, c.again, c.timeout)
	defer runs.remove()
	for _, name := range differing(outcomes[0], outcomes[1]) {
		results, said, err := runs.alone(ctx, name)
		if err != nil {
			return err
		}
		if outcomes[0].of(name) == pass && !slices.Contains(results[0], pass) {
			// It depends on state that earlier tests leave.
			if results, said, err = runs.whole(ctx, name); err != nil {
				return err
			}
		}
		for i := range final {
			final[i][name] = all(results[i], pass)
		}
		fmt.Printf("  %s: %s with v1.77.0, %s here; again: %s, %s\n", name,
			cmp.Or(outcomes[0].of(name), "not run"), cmp.Or(outcomes[1].of(name), "not run"), tally(results[0]), tally(results[1]))
		switch judge(withFirst(outcomes[0].of(name), results[0]), results[1]) {
		case lost:
			r.lost = append(r.lost, name)
			r.said[name] = said
		case gained:
			r.gained++
		case unsteady:
			r.unsteady++
		}
	}
	r.lost = leaves(r.lost)
	return nil
}

func tally(results []string) string {
	n := 0
	for _, r := range results {
		if r == pass {
			n++
		}
	}
	return fmt.Sprintf("%d of %d pass", n, len(results))
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	// Errors of the go command are long, and begin with the important part.
	return s[:min(len(s), 200)]
}
