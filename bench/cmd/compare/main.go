// Command compare measures this fasthttp, the published one and net/http with the same
// benchmarks, in turn, and compares the medians. It is run in the bench folder:
//
//	go run ./cmd/compare
//
// The table goes to standard output, and with every sample to the files
// compare.md and compare.json in the results folder. The exit code is 1 if
// anything failed, and 2 if the command line is wrong.
package main

import (
	"context"
	"fmt"
	"io"

	"github.com/valyala/fasthttp/bench/internal/command"
	"github.com/valyala/fasthttp/bench/internal/compare"
	"github.com/valyala/fasthttp/bench/internal/progress"
	"github.com/valyala/fasthttp/bench/internal/rig"
)

// leastRounds is how many rounds a comparison needs for meaningful medians. Only -short allows
// fewer.
const leastRounds = 5

type options struct {
	compare.Options
	out string
}

func main() { command.Main("compare", parseFlags, run) }

func parseFlags(args []string, help io.Writer) (options, error) {
	var opts options
	flags := command.New("compare", help)
	flags.Rounds(&opts.Rounds, leastRounds, 3)
	flags.Text(&opts.Benchtime, "benchtime", "500ms", "100ms", "how long a run takes: a duration, or a number of operations as in 100000x")
	flags.Rows(&opts.Rows, "ServerGet or ^Args")
	flags.Modules(&opts.Modules)
	flags.Out(&opts.out)
	short, err := flags.Parse(args)
	if err != nil {
		return opts, err
	}
	if opts.Rounds < 1 || !short && opts.Rounds < leastRounds {
		return opts, fmt.Errorf("-rounds must be at least %d, or at least 1 with -short", leastRounds)
	}
	return opts, nil
}

func run(ctx context.Context, opts options, out, log io.Writer) error {
	dir, err := rig.BenchDir(ctx)
	if err != nil {
		return err
	}
	r, runs, err := compare.Measure(ctx, dir, opts.Options, progress.NewLines(log))
	if err != nil {
		return err
	}
	if err := rig.WriteResults(out, dir, opts.out, "compare", r.Markdown(), r); err != nil {
		return err
	}
	return command.Failed(len(r.Failures), runs)
}
