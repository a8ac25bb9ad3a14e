// Command tcp measures servers over loopback sockets: this fasthttp with its
// event engine and with its portable one, the published fasthttp, and net/http.
// It is run in the bench folder, on linux:
//
//	go run ./cmd/tcp          # requests a second, processor time, latency; with wrk
//	go run ./cmd/tcp -varied  # the same with requests of which no two in a row are alike
//	go run ./cmd/tcp -tls     # the same over TLS 1.3, with connections that are kept
//	go run ./cmd/tcp -handshakes  # new connections over TLS 1.3
//	go run ./cmd/tcp -flood   # established ones while others do not finish their handshakes
//	go run ./cmd/tcp -slow    # what slow handlers do to the requests beside them
//	go run ./cmd/tcp -wait    # handlers that all wait a little
//	go run ./cmd/tcp -wait -only 'sleep300us|mix' -conns 64 -procs 1 -servers event,portable
//
// The tables go to standard output, and with every sample to the files tcp.md
// and tcp.json, tcp-varied.md and tcp-varied.json, and so on, in the results folder. The exit code is 1 if anything failed, and 2 if the
// command line is wrong. A goal that is not met is no failure.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/valyala/fasthttp/bench/internal/closedloop"
	"github.com/valyala/fasthttp/bench/internal/command"
	"github.com/valyala/fasthttp/bench/internal/progress"
	"github.com/valyala/fasthttp/bench/internal/rig"
	"github.com/valyala/fasthttp/bench/internal/tcp"
	"github.com/valyala/fasthttp/bench/internal/tlsload"
)

// what says which of the measurements is asked for.
type what string

const (
	loads   what = "tcp" // as wrk makes them
	varied  what = "tcp-varied"
	overTLS what = "tcp-tls"
	shakes  what = "tcp-handshakes"
	flood   what = "tcp-flood"
	slow    what = "tcp-slow"
	wait    what = "tcp-wait"
)

type options struct {
	tcp.Options
	what what
	wait tcp.WaitOptions
	out  string
}

func main() {
	closedloop.Main()
	tlsload.Main()
	command.Main("tcp", parseFlags, run)
}

func parseFlags(args []string, help io.Writer) (options, error) {
	var opts options
	flags := command.New("tcp", help)
	flags.Rounds(&opts.Rounds, 3, 1)
	flags.Int(&opts.Seconds, "seconds", 5, 1, "how long a run takes; not with -wait")
	flags.BoolVar(&opts.Pin, "pin", true, "keep the server on one core and the load on another, if there are two and taskset")
	flags.BoolVar(&opts.Varied, "varied", false, "send the requests of browsers, programs and bots in turn instead of one again and again")
	flags.BoolVar(&opts.TLS, "tls", false, "speak TLS 1.3")
	shaking := flags.Bool("handshakes", false, "measure new connections over TLS 1.3 instead")
	flooding := flags.Bool("flood", false, "measure connections over TLS 1.3 beside floods of handshakes instead")
	besideSlow := flags.Bool("slow", false, "measure requests beside slow ones instead; nothing is pinned then")
	flags.IntVar(&opts.Rate, "rate", 2000, "with -slow: ordinary requests a second")
	flags.Rows(&opts.Rows, "'^512 ' or pipelined")
	waiting := flags.Bool("wait", false, "measure handlers that wait instead; servers are pinned only with GOMAXPROCS 1 then")
	flags.Duration(&opts.wait.Time, "time", time.Second, 300*time.Millisecond, "with -wait: how long a run takes")
	flags.Matching(&opts.wait.Only, "only", "with -wait: only the handlers", "'sleep300us|mix'")
	conns := flags.String("conns", list(tcp.WaitConns()), "with -wait: numbers of connections")
	procs := flags.String("procs", "1,"+allProcs, "with -wait: values of GOMAXPROCS; "+allProcs+" for all processors")
	servers := flags.String("servers", strings.Join(serverNames(), ","), "with -wait: the servers to compare")
	flags.Modules(&opts.Modules)
	flags.Out(&opts.out)
	if _, err := flags.Parse(args); err != nil {
		return opts, err
	}
	if opts.Rounds < 1 || opts.Seconds < 1 || opts.wait.Time <= 0 {
		return opts, errors.New("-rounds and -seconds must be at least 1, and -time more than 0")
	}
	if opts.Rate < tcp.LeastRate || opts.Rate > tcp.MostRate {
		return opts, fmt.Errorf("-rate must be from %d to %d", tcp.LeastRate, tcp.MostRate)
	}
	opts.what = loads
	for _, other := range []struct {
		asked bool
		what  what
	}{{opts.Varied, varied}, {opts.TLS, overTLS}, {*shaking, shakes}, {*flooding, flood}, {*besideSlow, slow}, {*waiting, wait}} {
		switch {
		case !other.asked:
		case opts.what != loads:
			return opts, fmt.Errorf("%s and %s are two measurements", opts.what, other.what)
		default:
			opts.what = other.what
		}
	}
	opts.wait.Rounds, opts.wait.Pin, opts.wait.Modules = opts.Rounds, opts.Pin, opts.Modules
	return opts, opts.choose(*conns, *procs, *servers)
}

// choose understands the lists of what to measure with -wait.
func (o *options) choose(conns, procs, servers string) (err error) {
	if o.wait.Conns, err = numbers(conns); err != nil {
		return fmt.Errorf("-conns: %w", err)
	}
	all := strconv.Itoa(runtime.NumCPU())
	if o.wait.Procs, err = numbers(strings.ReplaceAll(procs, allProcs, all)); err != nil {
		return fmt.Errorf("-procs: %w", err)
	}
	for name := range strings.SplitSeq(servers, ",") {
		i := slices.Index(serverNames(), name)
		if i < 0 {
			return fmt.Errorf("-servers: there is no %q, but %s", name, strings.Join(serverNames(), ", "))
		}
		o.wait.Servers = append(o.wait.Servers, tcp.WaitServers[i])
	}
	return nil
}

// allProcs stands for the number of all processors.
const allProcs = "all"

// serverNames are what the command line calls tcp.WaitServers.
func serverNames() []string { return []string{"event", "portable", "upstream", "nethttp"} }

func list(numbers []int) string {
	var all []string
	for _, n := range numbers {
		all = append(all, strconv.Itoa(n))
	}
	return strings.Join(all, ",")
}

// numbers understands a list of positive numbers, of which equal ones count
// once.
func numbers(list string) ([]int, error) {
	var all []int
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

// result is a report of any of the measurements.
type result interface{ Markdown() string }

func run(ctx context.Context, opts options, out, log io.Writer) error {
	dir, err := rig.BenchDir(ctx)
	if err != nil {
		return err
	}
	r, failed, runs, err := measure(ctx, dir, opts, progress.NewLines(log))
	if err != nil {
		return err
	}
	if err := rig.WriteResults(out, dir, opts.out, string(opts.what), r.Markdown(), r); err != nil {
		return err
	}
	return command.Failed(failed, runs)
}

// measure returns how many of all runs failed as well.
func measure(ctx context.Context, dir string, opts options, log progress.Log) (r result, failed, runs int, err error) {
	switch opts.what {
	case slow:
		r, runs, err := tcp.MeasureSlow(ctx, dir, opts.Options, log)
		if err != nil {
			return nil, 0, 0, err
		}
		return r, len(r.Failures), runs, nil
	case shakes:
		r, runs, err := tcp.MeasureHandshakes(ctx, dir, opts.Options, log)
		if err != nil {
			return nil, 0, 0, err
		}
		return r, len(r.Failures), runs, nil
	case flood:
		r, runs, err := tcp.MeasureFlood(ctx, dir, opts.Options, log)
		if err != nil {
			return nil, 0, 0, err
		}
		return r, len(r.Failures), runs, nil
	case wait:
		r, runs, err := tcp.MeasureWait(ctx, dir, opts.wait, log)
		if err != nil {
			return nil, 0, 0, err
		}
		return r, len(r.Failures), runs, nil
	}
	all, runs, err := tcp.Measure(ctx, dir, opts.Options, log)
	if err != nil {
		return nil, 0, 0, err
	}
	return all, len(all.Failures), runs, nil
}
