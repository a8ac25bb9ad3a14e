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

	"github.com/valyala/fasthttp/bench/internal/command"
	"github.com/valyala/fasthttp/bench/internal/idle"
	"github.com/valyala/fasthttp/bench/internal/progress"
)

func main() {
	idle.Crowd()
	command.Measure("crowd", func(f *command.Flags) command.Run {
		var opts idle.FillOptions
		f.Number(&opts.Conns, "conns", 0, 20_000, 0, "connections to all processes together; 0 for as many as descriptors and memory allow")
		f.Modules(&opts.Modules)
		return func(ctx context.Context, dir string, log *progress.Log) (command.Result, error) {
			r, err := idle.Fill(ctx, dir, opts, log)
			if err != nil {
				return command.Result{}, err
			}
			return command.Result{Name: "crowd", Markdown: r.Markdown(), Value: r, Head: r.Head}, nil
		}
	})
}
