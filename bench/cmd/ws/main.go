// Command ws measures WebSocket servers over loopback sockets: libraries on fasthttp, on net/http
// and on plain sockets, and a loop in C that checks nothing. It is run in the bench folder, on
// linux:
//
//	go run ./cmd/ws                            # everything
//	go run ./cmd/ws -rows 'echo|idle'          # only these rows
//	go run ./cmd/ws -servers 'fasthttp|C epoll' # only these servers
//	go run ./cmd/ws -short                     # a quick look
//
// The tables go to standard output, and with every sample to the files ws.md and ws.json in the
// results folder. The exit code is 1 if anything failed, and 2 if the command line is wrong.
package main

import (
	"context"
	"errors"
	"io"

	"github.com/valyala/fasthttp/bench/internal/command"
	"github.com/valyala/fasthttp/bench/internal/progress"
	"github.com/valyala/fasthttp/bench/internal/rig"
	"github.com/valyala/fasthttp/bench/internal/ws"
	"github.com/valyala/fasthttp/bench/internal/wsload"
)

type options struct {
	ws.Options
	out string
}

func main() {
	wsload.Main()
	command.Main("ws", parseFlags, run)
}

func parseFlags(args []string, help io.Writer) (options, error) {
	var opts options
	flags := command.New("ws", help)
	flags.Rounds(&opts.Rounds, 5, 1)
	flags.Int(&opts.Seconds, "seconds", 3, 1, "how long a run takes")
	flags.IntVar(&opts.Conns, "conns", 10_000, "sockets of the rows with many; fewer if descriptors do not suffice")
	flags.BoolVar(&opts.Pin, "pin", true, "keep the server on one core and the load on another, if there are two and taskset")
	flags.Rows(&opts.Rows, "'64 sockets'")
	flags.Matching(&opts.Servers, "servers", "measure only the servers", "'gws|C epoll'")
	flags.Out(&opts.out)
	if _, err := flags.Parse(args); err != nil {
		return opts, err
	}
	if opts.Rounds < 1 || opts.Seconds < 1 || opts.Conns < 1 {
		return opts, errors.New("-rounds, -seconds and -conns must be at least 1")
	}
	return opts, nil
}

func run(ctx context.Context, opts options, out, log io.Writer) error {
	dir, err := rig.BenchDir(ctx)
	if err != nil {
		return err
	}
	r, runs, err := ws.Measure(ctx, dir, opts.Options, progress.NewLines(log))
	if err != nil {
		return err
	}
	if err := rig.WriteResults(out, dir, opts.out, "ws", r.Markdown(), r); err != nil {
		return err
	}
	return command.Failed(len(r.Failures), runs)
}
