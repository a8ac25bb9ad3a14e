// Command guard compares the costs of a request with stored bounds: the instructions
// that the processor executes for it, and its allocations. It does the same for the size
// of a small program, which grows at once if the server needs another library. Unlike
// times, these hardly depend on the other load of the machine, so a CI run shows a loss of a
// few percent. Run it in the bench folder:
//
//	go run ./cmd/guard                     # compare with the bounds
//	go run ./cmd/guard -update             # measure, and store the results
//	go run ./cmd/guard -rows X -top 20     # also show the most expensive functions
//	go run ./cmd/guard -rows X -phases     # also show the parts of the work
//
// valgrind counts the instructions; without it they are omitted, and the output notes that.
// There are bounds for each version of Go and each architecture; if they are missing, the
// output notes that, and nothing fails. The exit code is 1 if a bound is exceeded, and 2 if the
// command line is wrong.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/valyala/fasthttp/bench/internal/binsize"
	"github.com/valyala/fasthttp/bench/internal/command"
	"github.com/valyala/fasthttp/bench/internal/rig"
)

type options struct {
	rows   *regexp.Regexp
	margin float64
	update bool
	phases bool
	top    int
	rig.Modules
}

func main() { command.Main("guard", parseFlags, run) }

func parseFlags(args []string, help io.Writer) (options, error) {
	var opts options
	flags := command.New("guard", help)
	flags.Rows(&opts.rows, "Server")
	flags.Float64Var(&opts.margin, "margin", 8, "how many percent more than what is stored are let through")
	flags.BoolVar(&opts.update, "update", false, "store what is measured")
	flags.IntVar(&opts.top, "top", 0, "show so many functions that take the most of our instructions")
	flags.BoolVar(&opts.phases, "phases", false, "show what the parts of the work for a request take of our instructions")
	flags.Modules(&opts.Modules)
	if _, err := flags.Parse(args); err != nil {
		return opts, err
	}
	if opts.margin < 0 || opts.margin > 100 {
		return opts, errors.New("-margin must be from 0 to 100")
	}
	if opts.top < 0 {
		return opts, errors.New("-top must be 0 or more")
	}
	return opts, nil
}

func run(ctx context.Context, opts options, out, _ io.Writer) error {
	dir, err := rig.BenchDir(ctx)
	if err != nil {
		return err
	}
	temp, err := os.MkdirTemp("", "fasthttp-guard-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	m, err := newMeter(ctx, dir, temp, opts.Ours)
	if err != nil {
		return err
	}
	if m.valgrind == "" {
		fmt.Fprintln(out, "instructions are not counted: there is no valgrind; on Debian and Ubuntu: sudo apt-get install valgrind")
	}
	return guard(ctx, opts, m, dir, out)
}

// guard compares ours with the bounds, or stores them.
func guard(ctx context.Context, opts options, m *meter, dir string, out io.Writer) error {
	file := filepath.Join(dir, "cmd", "guard", "bounds.json")
	bounds, err := readBounds(file)
	if err != nil {
		return err
	}
	key := platform()
	stored := bounds[key]
	if stored == nil && !opts.update {
		fmt.Fprintf(out, "there are no bounds for %s: -update stores what is measured\n", key)
	}
	got := map[string]cost{}
	var exceeded []error
	judge := func(name string, c cost) string {
		bound, ok := stored[name]
		if !ok || opts.update {
			return ""
		}
		if err := c.within(bound, opts.margin); err != nil {
			exceeded = append(exceeded, fmt.Errorf("%s: %w", name, err))
			return "EXCEEDED: " + err.Error()
		}
		return "ok"
	}
	for row, measured := range m.measureAll(ctx, chosen(opts.rows)) {
		c, err := measured()
		if err != nil {
			return err
		}
		got[row.name] = c
		fmt.Fprintf(out, "%-30s %7.0f instructions  %5.2f allocations  %7.1f bytes  %s\n", row.name, c.Instructions, c.Allocations, c.Bytes, judge(row.name, c))
		if err := m.show(row, opts, out); err != nil {
			return err
		}
	}
	if opts.rows.MatchString(sizeRow) {
		size, err := binsize.Size(ctx, dir, "go.mod")
		if err != nil {
			return err
		}
		c := cost{Bytes: float64(size)}
		got[sizeRow] = c
		fmt.Fprintf(out, "%-30s %d bytes  %s\n", sizeRow, size, judge(sizeRow, c))
	}
	if opts.update {
		bounds.store(key, got)
		return rig.WriteJSON(file, bounds)
	}
	return errors.Join(exceeded...)
}

// chosen returns the rows whose names match.
func chosen(names *regexp.Regexp) []workload {
	return slices.DeleteFunc(slices.Clone(rows), func(w workload) bool { return !names.MatchString(w.name) })
}
