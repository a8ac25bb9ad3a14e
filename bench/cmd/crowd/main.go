// Command crowd fills the machine with idle connections: first to processes of this fasthttp,
// with its event engine, that share a port as the children of package prefork do, and then to
// processes of the published fasthttp. It opens as many as descriptors and memory allow, and
// sends one request over each. It is run in the bench folder, on linux:
//
//	go run ./cmd/crowd                # as many as fit
//	go run ./cmd/crowd -conns 50000   # or this many, if they fit
//
// The table goes to standard output and to the files crowd.md and crowd.json in the results
// folder. The exit code is 1 if anything failed, and 2 if the command line is wrong. It is no
// failure to open fewer connections than -conns requests if the machine has no room for more.
package main

import (
	"context"
	"errors"
	"io"

	"github.com/valyala/fasthttp/bench/internal/command"
	"github.com/valyala/fasthttp/bench/internal/idle"
	"github.com/valyala/fasthttp/bench/internal/progress"
	"github.com/valyala/fasthttp/bench/internal/rig"
)

type options struct {
	idle.FillOptions
	out string
}

func main() {
	idle.Crowd()
	command.Main("crowd", parseFlags, run)
}

func parseFlags(args []string, help io.Writer) (options, error) {
	var opts options
	flags := command.New("crowd", help)
	flags.Int(&opts.Conns, "conns", 0, 20_000, "connections to all processes together; 0 for as many as descriptors and memory allow")
	flags.Modules(&opts.Modules)
	flags.Out(&opts.out)
	if _, err := flags.Parse(args); err != nil {
		return opts, err
	}
	if opts.Conns < 0 {
		return opts, errors.New("-conns must not be negative")
	}
	return opts, nil
}

func run(ctx context.Context, opts options, out, log io.Writer) error {
	dir, err := rig.BenchDir(ctx)
	if err != nil {
		return err
	}
	r, err := idle.Fill(ctx, dir, opts.FillOptions, progress.NewLines(log))
	if err != nil {
		return err
	}
	if err := rig.WriteResults(out, dir, opts.out, "crowd", r.Markdown(), r); err != nil {
		return err
	}
	return command.Failed(r.Failed())
}
