// Command h2 measures servers of HTTP/2 over loopback sockets: this fasthttp with its event
// engine and with its portable one, net/http, and nghttpd, h2o and nginx as far as they are
// installed. h2load generates the load. It is run in the bench folder, on linux:
//
//	go run ./cmd/h2          # by prior knowledge
//	go run ./cmd/h2 -tls     # over TLS 1.3
//	go run ./cmd/h2 -short   # a quick look
//
// The tables go to standard output, and with every sample to the files h2.md and h2.json, or
// h2-tls.md and h2-tls.json, in the results folder. The exit code is 1 if anything failed, and
// 2 if the command line is wrong. A missed goal is no failure.
package main

import (
	"context"
	"errors"
	"io"

	"github.com/valyala/fasthttp/bench/internal/command"
	"github.com/valyala/fasthttp/bench/internal/h2load"
	"github.com/valyala/fasthttp/bench/internal/progress"
	"github.com/valyala/fasthttp/bench/internal/rig"
)

type options struct {
	h2load.Options
	out string
}

func main() { command.Main("h2", parseFlags, run) }

func parseFlags(args []string, help io.Writer) (options, error) {
	var opts options
	flags := command.New("h2", help)
	flags.Rounds(&opts.Rounds, 5, 1)
	flags.Int(&opts.Seconds, "seconds", 4, 1, "how long a run takes")
	flags.BoolVar(&opts.Pin, "pin", true, "keep the server on one core and h2load on another, if there are two and taskset")
	flags.BoolVar(&opts.TLS, "tls", false, "speak TLS 1.3")
	flags.Rows(&opts.Rows, "'100 streams'")
	flags.Modules(&opts.Modules)
	flags.Out(&opts.out)
	if _, err := flags.Parse(args); err != nil {
		return opts, err
	}
	if opts.Rounds < 1 || opts.Seconds < 1 {
		return opts, errors.New("-rounds and -seconds must be at least 1")
	}
	return opts, nil
}

func run(ctx context.Context, opts options, out, log io.Writer) error {
	dir, err := rig.BenchDir(ctx)
	if err != nil {
		return err
	}
	r, runs, err := h2load.Measure(ctx, dir, opts.Options, progress.NewLines(log))
	if err != nil {
		return err
	}
	name := "h2"
	if opts.TLS {
		name = "h2-tls"
	}
	if err := rig.WriteResults(out, dir, opts.out, name, r.Markdown(), r); err != nil {
		return err
	}
	return command.Failed(len(r.Failures), runs)
}
