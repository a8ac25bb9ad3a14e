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

	"github.com/valyala/fasthttp/bench/internal/command"
	"github.com/valyala/fasthttp/bench/internal/idle"
	"github.com/valyala/fasthttp/bench/internal/progress"
	"github.com/valyala/fasthttp/bench/internal/study"
)

func main() {
	idle.Crowd()
	command.Measure("idle", func(f *command.Flags) command.Run {
		opts := idle.Options{Speaks: idle.HTTP1}
		var usual study.Options
		f.Number(&opts.Conns, "conns", 0, 2000, 0, "connections for each server process; 0 for as many as its descriptors allow, up to 50000")
		f.Int(&opts.Procs, "procs", 1, 1, "server processes; more than one listen on the same port, with SO_REUSEPORT")
		overTLS := f.Bool("tls", false, fmt.Sprintf("speak TLS 1.3, over %d connections unless -conns says something else", idle.TLSConns))
		http2 := f.Bool("http2", false, "speak HTTP/2 without TLS")
		f.Rounds(&usual.Rounds, 3, 1)
		f.Modules(&usual.Modules)
		f.Check(func() error {
			switch {
			case *overTLS && *http2:
				return errors.New("-tls and -http2 are two measurements")
			case *overTLS:
				opts.Speaks = idle.TLS
			case *http2:
				opts.Speaks = idle.HTTP2
			}
			if opts.Procs > idle.MostProcs || opts.Conns > idle.MostConns {
				return fmt.Errorf("at most -procs %d and -conns %d", idle.MostProcs, idle.MostConns)
			}
			return nil
		})
		return func(ctx context.Context, dir string, log *progress.Log) (command.Result, error) {
			kind := idle.Kind(opts.Speaks)
			r, err := study.Run(ctx, dir, kind, usual, log, opts.Measure)
			suffix := ""
			if opts.Procs > 1 {
				suffix = fmt.Sprintf("-%d", opts.Procs)
			}
			return command.Of(kind, r, err, suffix)
		}
	})
}
