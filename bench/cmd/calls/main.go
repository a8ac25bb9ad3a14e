// Command calls measures clients over loopback sockets: the processor time that a call costs
// the calling process, with HTTP/2 and HTTP/1.1 of this fasthttp and with HTTP/2 of net/http,
// for 1, 100 and 1000 concurrent callers. It is run in the bench folder, on linux:
//
//	go run ./cmd/calls           # over TLS 1.3
//	go run ./cmd/calls -plain    # without TLS, HTTP/2 by prior knowledge
//	go run ./cmd/calls -varied   # varying calls
//	go run ./cmd/calls -short    # a quick look
//
// The tables go to standard output, and with every sample to the files calls.md and
// calls.json, calls-plain.md and calls-plain.json, and so on, in the results folder. The exit
// code is 1 if anything failed, and 2 if the command line is wrong. A missed goal is no
// failure.
package main

import (
	"context"
	"errors"
	"io"

	"github.com/valyala/fasthttp/bench/internal/calls"
	"github.com/valyala/fasthttp/bench/internal/command"
	"github.com/valyala/fasthttp/bench/internal/progress"
	"github.com/valyala/fasthttp/bench/internal/rig"
)

type options struct {
	calls.Options
	out string
}

func main() {
	calls.Main()
	command.Main("calls", parseFlags, run)
}

func parseFlags(args []string, help io.Writer) (options, error) {
	var opts options
	flags := command.New("calls", help)
	flags.Rounds(&opts.Rounds, 5, 1)
	flags.Int(&opts.Seconds, "seconds", 3, 1, "how long a run takes")
	flags.BoolVar(&opts.Pin, "pin", true, "keep the server on one core and the callers on another, if there are two and taskset")
	flags.BoolVar(&opts.Plain, "plain", false, "do without TLS")
	flags.BoolVar(&opts.Varied, "varied", false, "make calls of which no two in a row are alike, instead of one again and again")
	flags.Rows(&opts.Rows, "'100 callers'")
	flags.Out(&opts.out)
	if _, err := flags.Parse(args); err != nil {
		return opts, err
	}
	if opts.Rounds < 1 || opts.Seconds < 1 {
		return opts, errors.New("-rounds and -seconds must be at least 1")
	}
	return opts, nil
}

// name is the name of the files with the results.
func (o options) name() string {
	name := "calls"
	if o.Plain {
		name += "-plain"
	}
	if o.Varied {
		name += "-varied"
	}
	return name
}

func run(ctx context.Context, opts options, out, log io.Writer) error {
	dir, err := rig.BenchDir(ctx)
	if err != nil {
		return err
	}
	r, runs, err := calls.Measure(ctx, dir, opts.Options, progress.NewLines(log))
	if err != nil {
		return err
	}
	if err := rig.WriteResults(out, dir, opts.out, opts.name(), r.Markdown(), r); err != nil {
		return err
	}
	return command.Failed(len(r.Failures), runs)
}
