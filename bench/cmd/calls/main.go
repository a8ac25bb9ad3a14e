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

	"github.com/valyala/fasthttp/bench/internal/calls"
	"github.com/valyala/fasthttp/bench/internal/command"
	"github.com/valyala/fasthttp/bench/internal/progress"
)

func main() {
	calls.Main()
	command.Measure("calls", func(f *command.Flags) command.Run {
		var opts calls.Options
		f.Study(&opts.Options, 5, 3, "'100 callers'")
		plain := f.Bool("plain", false, "do without TLS")
		f.BoolVar(&opts.Varied, "varied", false, "make calls of which no two in a row are alike, instead of one again and again")
		return func(ctx context.Context, dir string, log progress.Log) (command.Result, error) {
			opts.TLS = !*plain
			r, err := calls.Measure(ctx, dir, opts, log)
			return command.Of(calls.Kind, r, err, command.Suffix{Wanted: *plain, Name: "plain"}, command.Suffix{Wanted: opts.Varied, Name: "varied"})
		}
	})
}
