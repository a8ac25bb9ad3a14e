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
//	go run ./cmd/tcp -wait -only 'sleep300us|mix' -conns 64 -procs 1 -servers event,portable
//
// The tables go to standard output, and with every sample to the files tcp.md and tcp.json,
// tcp-varied.md and tcp-varied.json, and so on, in the results folder. The exit code is 1 if
// anything failed, and 2 if the command line is wrong. A missed goal is no failure.
package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
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
	measure func(context.Context, string, tcp.Options, progress.Log) (*study.Report, error)
}

func define(f *command.Flags) command.Run {
	var opts tcp.Options
	var wait tcp.WaitOptions
	f.Study(&opts.Options, 3, 5, "'^512 ' or pipelined")
	f.BoolVar(&opts.Varied, "varied", false, "send the requests of browsers, programs and bots in turn instead of one again and again")
	f.BoolVar(&opts.TLS, "tls", false, "speak TLS 1.3")
	all := []measurement{
		{&opts.Varied, tcp.Varied, tcp.Measure},
		{&opts.TLS, tcp.OverTLS, tcp.Measure},
		{f.Bool("handshakes", false, "measure new connections over TLS 1.3 instead"), tcp.Handshakes, tcp.MeasureHandshakes},
		{f.Bool("flood", false, "measure connections over TLS 1.3 beside floods of handshakes instead"), tcp.Flood, tcp.MeasureFlood},
		{f.Bool("slow", false, "measure requests beside slow ones instead; nothing is pinned then"), tcp.Slow, tcp.MeasureSlow},
		{
			f.Bool("wait", false, "measure handlers that wait instead; servers are pinned only with GOMAXPROCS 1 then"), tcp.Wait,
			func(ctx context.Context, dir string, opts tcp.Options, log progress.Log) (*study.Report, error) {
				wait.Options = opts.Options
				return tcp.MeasureWait(ctx, dir, wait, log)
			},
		},
	}
	f.IntVar(&opts.Rate, "rate", 2000, "with -slow: ordinary requests a second")
	f.Duration(&wait.Time, "time", time.Second, 300*time.Millisecond, "with -wait: how long a run takes")
	f.Matching(&wait.Only, "only", "with -wait: only the handlers", "'sleep300us|mix'")
	conns := f.String("conns", "16,64,512", "with -wait: numbers of connections")
	procs := f.String("procs", "1,all", "with -wait: values of GOMAXPROCS; all for all processors")
	servers := f.String("servers", strings.Join(serverNames, ","), "with -wait: the servers to compare")
	chosen := measurement{nil, tcp.Repeated, tcp.Measure}
	f.Check(func() error {
		if opts.Rate < tcp.LeastRate || opts.Rate > tcp.MostRate || wait.Time <= 0 {
			return fmt.Errorf("-rate must be from %d to %d, and -time more than 0", tcp.LeastRate, tcp.MostRate)
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
		var errs [3]error
		wait.Conns, errs[0] = numbers(*conns)
		wait.GoProcs, errs[1] = numbers(strings.ReplaceAll(*procs, "all", strconv.Itoa(runtime.NumCPU())))
		wait.Servers, errs[2] = named(*servers)
		return errors.Join(errs[:]...)
	})
	return func(ctx context.Context, dir string, log progress.Log) (command.Result, error) {
		r, err := chosen.measure(ctx, dir, opts, log)
		return command.Of(chosen.kind, r, err)
	}
}

// serverNames are the names of tcp.WaitServers on the command line.
var serverNames = []string{"event", "portable", "upstream", "nethttp"}

func named(list string) (servers []string, err error) {
	for name := range strings.SplitSeq(list, ",") {
		i := slices.Index(serverNames, name)
		if i < 0 {
			return nil, fmt.Errorf("there is no server %q, but %s", name, strings.Join(serverNames, ", "))
		}
		servers = append(servers, tcp.WaitServers[i])
	}
	return servers, nil
}

// numbers parses a list of positive numbers and drops duplicates.
func numbers(list string) (all []int, err error) {
	for text := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("%q is no positive number", text)
		}
		if !slices.Contains(all, n) {
			all = append(all, n)
		}
	}
	return all, nil
}
