// Command tcp measures servers over loopback sockets: this fasthttp with its
// event engine and with its portable one, the published fasthttp, and net/http.
// The load comes from wrk. It is run in the bench folder, on linux:
//
//	go run ./cmd/tcp          # requests a second, processor time, latency
//	go run ./cmd/tcp -slow    # what slow handlers do to the requests beside them
//
// The tables go to standard output, and with every sample to the files tcp.md
// and tcp.json, or tcp-slow.md and tcp-slow.json, in the results folder. The
// exit code is 1 if anything failed, and 2 if the command line is wrong. A goal
// that is not met is no failure.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/valyala/fasthttp/bench/internal/command"
	"github.com/valyala/fasthttp/bench/internal/progress"
	"github.com/valyala/fasthttp/bench/internal/rig"
	"github.com/valyala/fasthttp/bench/internal/tcp"
)

type options struct {
	tcp.Options
	slow bool
	out  string
}

func main() { command.Main("tcp", parseFlags, run) }

func parseFlags(args []string, help io.Writer) (options, error) {
	var opts options
	flags := command.New("tcp", help)
	flags.Rounds(&opts.Rounds, 3, 1)
	flags.Int(&opts.Seconds, "seconds", 5, 1, "how long a run takes")
	flags.BoolVar(&opts.Pin, "pin", true, "keep the server on one core and wrk on another, if there are two and taskset")
	flags.BoolVar(&opts.slow, "slow", false, "measure requests beside slow ones instead; nothing is pinned then")
	flags.IntVar(&opts.Rate, "rate", 2000, "with -slow: ordinary requests a second")
	flags.Rows(&opts.Rows, "'^512 ' or pipelined")
	flags.Modules(&opts.Modules)
	flags.Out(&opts.out)
	if _, err := flags.Parse(args); err != nil {
		return opts, err
	}
	if opts.Rounds < 1 || opts.Seconds < 1 {
		return opts, errors.New("-rounds and -seconds must be at least 1")
	}
	if opts.Rate < tcp.LeastRate || opts.Rate > tcp.MostRate {
		return opts, fmt.Errorf("-rate must be from %d to %d", tcp.LeastRate, tcp.MostRate)
	}
	return opts, nil
}

func run(ctx context.Context, opts options, out, log io.Writer) error {
	dir, err := rig.BenchDir(ctx)
	if err != nil {
		return err
	}
	lines := progress.NewLines(log)
	if opts.slow {
		r, runs, err := tcp.MeasureSlow(ctx, dir, opts.Options, lines)
		if err != nil {
			return err
		}
		if err := rig.WriteResults(out, dir, opts.out, "tcp-slow", r.Markdown(), r); err != nil {
			return err
		}
		return command.Failed(len(r.Failures), runs)
	}
	r, runs, err := tcp.Measure(ctx, dir, opts.Options, lines)
	if err != nil {
		return err
	}
	if err := rig.WriteResults(out, dir, opts.out, "tcp", r.Markdown(), r); err != nil {
		return err
	}
	return command.Failed(len(r.Failures), runs)
}
