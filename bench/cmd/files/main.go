// Command files measures servers of files over loopback sockets: this fasthttp with its event
// engine and with its portable one, the published fasthttp, and nginx. wrk generates the load.
// It is run in the bench folder, on linux:
//
//	go run ./cmd/files
//	go run ./cmd/files -tls    # large files, encrypted
//
// The tables go to standard output, and with every sample to the files files.md and files.json, or
// files-tls.md and files-tls.json, in the results folder. The exit code is 1 if anything failed,
// and 2 if the command line is wrong. A missed goal is no failure.
package main

import (
	"context"
	"errors"
	"io"

	"github.com/valyala/fasthttp/bench/internal/command"
	"github.com/valyala/fasthttp/bench/internal/files"
	"github.com/valyala/fasthttp/bench/internal/progress"
	"github.com/valyala/fasthttp/bench/internal/rig"
)

type options struct {
	files.Options
	out string
}

func main() { command.Main("files", parseFlags, run) }

func parseFlags(args []string, help io.Writer) (options, error) {
	var opts options
	flags := command.New("files", help)
	flags.Rounds(&opts.Rounds, 3, 1)
	flags.Int(&opts.Seconds, "seconds", 5, 1, "how long a run takes")
	flags.BoolVar(&opts.Pin, "pin", true, "keep the server on one core and wrk on another, if there are two and taskset")
	flags.BoolVar(&opts.TLS, "tls", false, "measure large files over TLS 1.3 instead")
	flags.Rows(&opts.Rows, "'MiB' or 304")
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
	r, runs, err := files.Measure(ctx, dir, opts.Options, progress.NewLines(log))
	if err != nil {
		return err
	}
	name := "files"
	if opts.TLS {
		name = "files-tls"
	}
	if err := rig.WriteResults(out, dir, opts.out, name, r.Markdown(), r); err != nil {
		return err
	}
	return command.Failed(len(r.Failures), runs)
}
