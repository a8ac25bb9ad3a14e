// Command idle measures the resources that a server holds for a connection that waits for its
// next request: this fasthttp with its event engine and with its portable one, the published
// fasthttp, and net/http. It is run in the bench folder, on linux:
//
//	go run ./cmd/idle              # as many connections as descriptors allow
//	go run ./cmd/idle -tls         # over TLS
//	go run ./cmd/idle -http2       # of HTTP/2 without TLS, which the published fasthttp lacks
//	go run ./cmd/idle -procs 8     # the same with 8 processes that share a port
//
// The table goes to standard output, and with every sample to the files idle.md and idle.json,
// idle-tls.md and idle-tls.json, and so on, in the results folder. The exit code is 1 if
// anything failed, and 2 if the command line is wrong. A missed goal is no failure.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/valyala/fasthttp/bench/internal/command"
	"github.com/valyala/fasthttp/bench/internal/idle"
	"github.com/valyala/fasthttp/bench/internal/progress"
	"github.com/valyala/fasthttp/bench/internal/rig"
)

type options struct {
	idle.Options
	out string
}

func main() {
	idle.Crowd()
	command.Main("idle", parseFlags, run)
}

func parseFlags(args []string, help io.Writer) (options, error) {
	var opts options
	flags := command.New("idle", help)
	flags.Int(&opts.Conns, "conns", 0, 2000, "connections for each server process; 0 for as many as its descriptors allow, up to 50000")
	flags.IntVar(&opts.Procs, "procs", 1, "server processes; more than one listen on the same port, with SO_REUSEPORT")
	overTLS := flags.Bool("tls", false, fmt.Sprintf("speak TLS 1.3, over %d connections unless -conns says something else", idle.TLSConns))
	http2 := flags.Bool("http2", false, "speak HTTP/2 without TLS")
	flags.Rounds(&opts.Rounds, 3, 1)
	flags.Modules(&opts.Modules)
	flags.Out(&opts.out)
	if _, err := flags.Parse(args); err != nil {
		return opts, err
	}
	opts.Speaks = idle.HTTP1
	switch {
	case *overTLS && *http2:
		return opts, errors.New("-tls and -http2 are two measurements")
	case *overTLS:
		opts.Speaks = idle.TLS
	case *http2:
		opts.Speaks = idle.HTTP2
	}
	if opts.Rounds < 1 {
		return opts, errors.New("-rounds must be at least 1")
	}
	if opts.Procs < 1 || opts.Procs > idle.MostProcs {
		return opts, fmt.Errorf("-procs must be from 1 to %d", idle.MostProcs)
	}
	if opts.Conns < 0 || opts.Conns > idle.MostConns {
		return opts, fmt.Errorf("-conns must be from 0 to %d", idle.MostConns)
	}
	return opts, nil
}

func run(ctx context.Context, opts options, out, log io.Writer) error {
	dir, err := rig.BenchDir(ctx)
	if err != nil {
		return err
	}
	r, runs, err := idle.Measure(ctx, dir, opts.Options, progress.NewLines(log))
	if err != nil {
		return err
	}
	name := "idle"
	if opts.Speaks != idle.HTTP1 {
		name += "-" + string(opts.Speaks)
	}
	if opts.Procs > 1 {
		name = fmt.Sprintf("%s-%d", name, opts.Procs)
	}
	if err := rig.WriteResults(out, dir, opts.out, name, r.Markdown(), r); err != nil {
		return err
	}
	return command.Failed(len(r.Failures), runs)
}
