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

	"github.com/valyala/fasthttp/bench/internal/command"
	"github.com/valyala/fasthttp/bench/internal/progress"
	"github.com/valyala/fasthttp/bench/internal/study"
	"github.com/valyala/fasthttp/bench/internal/ws"
	"github.com/valyala/fasthttp/bench/internal/wsload"
)

func main() {
	wsload.Main()
	command.Measure("ws", func(f *command.Flags) command.Run {
		var opts ws.Options
		var usual study.Options
		f.Study(&usual, 5, 3, "'64 sockets'")
		f.Int(&opts.Conns, "conns", 10_000, 10_000, "sockets of the rows with many; fewer if descriptors do not suffice")
		f.Matching(&opts.Servers, "servers", "measure only the servers", "'gws|C epoll'")
		return func(ctx context.Context, dir string, log *progress.Log) (command.Result, error) {
			r, err := study.Run(ctx, dir, ws.Kind, usual, log, opts.Measure)
			return command.Of(ws.Kind, r, err, "")
		}
	})
}
