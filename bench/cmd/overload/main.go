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

	"github.com/valyala/fasthttp/bench/internal/command"
	"github.com/valyala/fasthttp/bench/internal/overload"
	"github.com/valyala/fasthttp/bench/internal/progress"
	"github.com/valyala/fasthttp/bench/internal/study"
)

func main() {
	overload.Serve()
	command.Measure("overload", func(f *command.Flags) command.Run {
		var opts study.Options
		var conns int
		f.Study(&opts, 5, 3, "'computes for 2ms'")
		f.Int(&conns, "conns", 1000, 1000, "connections")
		return func(ctx context.Context, dir string, log *progress.Log) (command.Result, error) {
			r, err := study.Run(ctx, dir, overload.Kind, opts, log, func(ctx context.Context, s *study.Study) (*study.Report, error) {
				return overload.Measure(ctx, s, conns)
			})
			return command.Of(overload.Kind, r, err, "")
		}
	})
}
