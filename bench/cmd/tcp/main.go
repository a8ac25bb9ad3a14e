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
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"syscall"
	"time"

	"github.com/valyala/fasthttp/bench/internal/rig"
)

type options struct {
	rounds  int
	seconds int
	pin     bool
	rows    *regexp.Regexp
	slow    bool
	rate    int
	modules rig.Modules
	out     string
}

func main() {
	opts, err := parseFlags(os.Args[1:], os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "tcp:", err)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err = run(ctx, opts, os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "tcp:", err)
		os.Exit(1)
	}
}

// The bounds of -rate. With fewer requests there would be hardly any slow one
// in a run; with more, those that compute would keep a processor busy alone.
const (
	leastRate = 200
	mostRate  = 10_000
)

func parseFlags(args []string, help io.Writer) (options, error) {
	var opts options
	flags := flag.NewFlagSet("tcp", flag.ContinueOnError)
	flags.SetOutput(help)
	flags.IntVar(&opts.rounds, "rounds", 3, "how often each row is run with each server")
	flags.IntVar(&opts.seconds, "seconds", 5, "how long a run takes")
	flags.BoolVar(&opts.pin, "pin", true, "keep the server on one core and wrk on another, if there are two and taskset")
	flags.BoolVar(&opts.slow, "slow", false, "measure requests beside slow ones instead; nothing is pinned then")
	flags.IntVar(&opts.rate, "rate", 2000, "with -slow: ordinary requests a second")
	flags.StringVar(&opts.modules.Ours, "ours", "go.mod", "module file to build ours with")
	flags.StringVar(&opts.modules.Upstream, "upstream", "go.upstream.mod", "module file to build upstream with")
	flags.StringVar(&opts.out, "out", "results", "folder to write the results to")
	rows := flags.String("rows", "", "regular expression: run only the rows whose names match, such as '^512 ' or pipelined")
	short := flags.Bool("short", false, "have a quick look: 1 round of 1 second, unless -rounds or -seconds are given")
	if err := flags.Parse(args); err != nil {
		return opts, err
	}
	if flags.NArg() > 0 {
		return opts, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	given := map[string]bool{}
	flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	if *short && !given["rounds"] {
		opts.rounds = 1
	}
	if *short && !given["seconds"] {
		opts.seconds = 1
	}
	if opts.rounds < 1 || opts.seconds < 1 {
		return opts, errors.New("-rounds and -seconds must be at least 1")
	}
	if opts.rate < leastRate || opts.rate > mostRate {
		return opts, fmt.Errorf("-rate must be from %d to %d", leastRate, mostRate)
	}
	var err error
	opts.rows, err = regexp.Compile(*rows)
	return opts, err
}

// run builds, measures and reports.
func run(ctx context.Context, opts options, out, progress io.Writer) error {
	limit, err := rig.RaiseFileLimit()
	if err != nil {
		return err
	}
	wrkProgram := ""
	if !opts.slow {
		if wrkProgram, err = exec.LookPath("wrk"); err != nil {
			return errors.New("the load generator wrk is not installed; on Debian and Ubuntu: sudo apt-get install wrk")
		}
	}
	dir, err := rig.BenchDir(ctx)
	if err != nil {
		return err
	}
	temp, err := os.MkdirTemp("", "fasthttp-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	fmt.Fprintf(progress, "building the servers (%s, %s)\n", opts.modules.Ours, opts.modules.Upstream)
	servers, err := rig.Build(ctx, dir, temp, opts.modules)
	if err != nil {
		return err
	}
	if opts.slow {
		return runSlow(ctx, opts, servers, dir, out, progress)
	}
	if floor, err := rig.BuildFloor(ctx, dir, temp); err != nil {
		fmt.Fprintln(progress, "measuring without it:", err)
	} else {
		servers = append(servers, floor)
	}

	serverPlace, clientPlace := rig.Anywhere, rig.Anywhere
	if opts.pin {
		if serverPlace, clientPlace, err = rig.Separate(); err != nil {
			fmt.Fprintln(progress, "nothing is pinned:", err)
		}
	}
	fmt.Fprintf(progress, "servers: %v; wrk: %v\n", serverPlace, clientPlace)
	s := &session{
		servers:  servers,
		rounds:   opts.rounds,
		seconds:  opts.seconds,
		place:    serverPlace,
		generate: generator{program: wrkProgram, place: clientPlace, seconds: opts.seconds, temp: temp},
		limit:    limit,
		progress: progress,
	}
	for _, l := range loads {
		if opts.rows.MatchString(l.name) {
			s.loads = append(s.loads, l)
		}
	}
	if len(s.loads) == 0 {
		return fmt.Errorf("no row matches %q", opts.rows)
	}
	if err := s.runAll(ctx); err != nil {
		return err
	}
	r := s.report()
	if err := rig.WriteResults(out, dir, opts.out, "tcp", r.markdown(), r); err != nil {
		return err
	}
	return failed(len(r.Failures), opts.rounds*len(s.loads)*len(servers))
}

// failed is the error of a session in which n of all runs went wrong.
func failed(n, all int) error {
	if n == 0 {
		return nil
	}
	return fmt.Errorf("%d of %d runs failed", n, all)
}

// micros is a time in µs, as figures are given in.
func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
