// Command tcp measures servers over loopback sockets: this fasthttp with its
// event engine and with its portable one, the published fasthttp, and net/http.
// It is run in the bench folder, on linux:
//
//	go run ./cmd/tcp          # requests a second, processor time, latency; with wrk
//	go run ./cmd/tcp -varied  # the same with varying requests
//	go run ./cmd/tcp -tls     # the same over TLS 1.3, with connections that are kept
//	go run ./cmd/tcp -handshakes  # new connections over TLS 1.3
//	go run ./cmd/tcp -flood   # established ones while others do not finish their handshakes
//	go run ./cmd/tcp -slow    # requests beside slow ones
//	go run ./cmd/tcp -wait    # handlers that all wait a little
//	go run ./cmd/tcp -wait -rows '(sleep300us|mix), 64 .*PROCS 1$'
//
// The tables go to standard output, and with every sample to the files tcp.md and tcp.json,
// tcp-varied.md and tcp-varied.json, and so on, in the results folder. The exit code is 1 if
// anything failed, and 2 if the command line is wrong. A missed goal is no failure.
package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/valyala/fasthttp/bench/internal/closedloop"
	"github.com/valyala/fasthttp/bench/internal/command"
	"github.com/valyala/fasthttp/bench/internal/progress"
	"github.com/valyala/fasthttp/bench/internal/study"
	"github.com/valyala/fasthttp/bench/internal/tcp"
	"github.com/valyala/fasthttp/bench/internal/tlsload"
)

func main() {
	closedloop.Main()
	tlsload.Main()
	command.Measure("tcp", define)
}

// measurement is one of the measurements.
type measurement struct {
	asked   *bool
	kind    *study.Kind
	measure study.Measurer
}

func define(f *command.Flags) command.Run {
	var opts study.Options
	var lasts time.Duration
	f.Study(&opts, 3, 5, "'^512 ' or pipelined")
	f.BoolVar(&opts.TLS, "tls", false, "speak TLS 1.3")
	all := []measurement{
		{f.Bool("varied", false, "send the requests of browsers, programs and bots in turn instead of one again and again"), tcp.Varied, tcp.MeasureVaried},
		{&opts.TLS, tcp.OverTLS, tcp.Measure},
		{f.Bool("handshakes", false, "measure new connections over TLS 1.3 instead"), tcp.Handshakes, tcp.MeasureHandshakes},
		{f.Bool("flood", false, "measure connections over TLS 1.3 beside floods of handshakes instead"), tcp.Flood, tcp.MeasureFlood},
		{f.Bool("slow", false, "measure requests beside slow ones instead; nothing is pinned then"), tcp.Slow, tcp.MeasureSlow},
		{
			f.Bool("wait", false, "measure handlers that wait instead; servers are pinned only with GOMAXPROCS 1 then"), tcp.Wait,
			func(ctx context.Context, s *study.Study) (*study.Report, error) {
				return tcp.MeasureWait(ctx, s, lasts)
			},
		},
	}
	f.Duration(&lasts, "time", time.Second, 300*time.Millisecond, "with -wait: how long a run takes")
	chosen := measurement{nil, tcp.Repeated, tcp.Measure}
	f.Check(func() error {
		if lasts <= 0 {
			return errors.New("-time must be more than 0")
		}
		for _, m := range all {
			switch {
			case !*m.asked:
			case chosen.asked != nil:
				return fmt.Errorf("%s and %s are two measurements", chosen.kind.Name, m.kind.Name)
			default:
				chosen = m
			}
		}
		return nil
	})
	return func(ctx context.Context, dir string, log *progress.Log) (command.Result, error) {
		r, err := study.Run(ctx, dir, chosen.kind, opts, log, chosen.measure)
		return command.Of(chosen.kind, r, err, "")
	}
}
