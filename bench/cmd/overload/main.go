// Command overload measures how long the requests take that an overloaded server serves, with and
// without Server.MaxQueueTime. It is run in the bench folder, on linux:
//
//	go run ./cmd/overload          # about five minutes
//	go run ./cmd/overload -short   # a quick look
//
// The table goes to standard output and to the files overload.md and overload.json in the results
// folder. The exit code is 1 if anything failed, and 2 if the command line is wrong.
package main

import (
	"context"
	"time"

	"github.com/valyala/fasthttp/bench/internal/command"
	"github.com/valyala/fasthttp/bench/internal/overload"
	"github.com/valyala/fasthttp/bench/internal/progress"
)

func main() {
	overload.Serve()
	command.Measure("overload", func(f *command.Flags) command.Run {
		var opts overload.Options
		f.Rounds(&opts.Rounds, 5, 1)
		f.Duration(&opts.Lasts, "lasts", 3*time.Second, time.Second, "duration of each load")
		f.Int(&opts.Conns, "conns", 1000, 1000, "connections")
		return func(ctx context.Context, _ string, log progress.Log) (command.Result, error) {
			r, err := overload.Run(ctx, opts, log)
			if err != nil {
				return command.Result{}, err
			}
			failed, runs := r.Failed()
			return command.Result{Name: "overload", Markdown: r.Markdown(), Value: r, Failed: failed, Runs: runs}, nil
		}
	})
}
