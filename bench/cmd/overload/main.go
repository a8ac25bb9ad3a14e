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
	"errors"
	"io"
	"time"

	"github.com/valyala/fasthttp/bench/internal/command"
	"github.com/valyala/fasthttp/bench/internal/overload"
	"github.com/valyala/fasthttp/bench/internal/progress"
	"github.com/valyala/fasthttp/bench/internal/rig"
)

type options struct {
	overload.Options
	out string
}

func main() {
	overload.Serve()
	command.Main("overload", parseFlags, run)
}

func parseFlags(args []string, help io.Writer) (options, error) {
	var opts options
	flags := command.New("overload", help)
	flags.Rounds(&opts.Rounds, 5, 1)
	flags.Duration(&opts.Lasts, "lasts", 3*time.Second, time.Second, "duration of each load")
	flags.Int(&opts.Conns, "conns", 1000, 1000, "connections")
	flags.Out(&opts.out)
	if _, err := flags.Parse(args); err != nil {
		return opts, err
	}
	if opts.Conns < 1 || opts.Rounds < 1 || opts.Lasts <= 0 {
		return opts, errors.New("-conns, -rounds and -lasts must be positive")
	}
	return opts, nil
}

func run(ctx context.Context, opts options, out, log io.Writer) error {
	dir, err := rig.BenchDir(ctx)
	if err != nil {
		return err
	}
	r, err := overload.Run(ctx, opts.Options, progress.NewLines(log))
	if err != nil {
		return err
	}
	if err := rig.WriteResults(out, dir, opts.out, "overload", r.Markdown(), r); err != nil {
		return err
	}
	return command.Failed(r.Failed())
}
