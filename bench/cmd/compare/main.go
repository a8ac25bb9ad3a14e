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

	"github.com/valyala/fasthttp/bench/internal/command"
	"github.com/valyala/fasthttp/bench/internal/compare"
	"github.com/valyala/fasthttp/bench/internal/progress"
)

func main() {
	command.Measure("compare", func(f *command.Flags) command.Run {
		var opts compare.Options
		f.Rounds(&opts.Rounds, 5, 3)
		f.Text(&opts.Benchtime, "benchtime", "500ms", "100ms", "how long a run takes: a duration, or a number of operations as in 100000x")
		f.Rows(&opts.Rows, "ServerGet or ^Args")
		f.Modules(&opts.Modules)
		return func(ctx context.Context, dir string, log *progress.Log) (command.Result, error) {
			r, err := compare.Measure(ctx, dir, opts, log)
			if err != nil {
				return command.Result{}, err
			}
			return command.Result{Name: "compare", Markdown: r.Markdown(), Value: r, Head: r.Head}, nil
		}
	})
}
