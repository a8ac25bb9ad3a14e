// Command idle measures what a server holds for a connection that waits for its
// next request: this fasthttp with its event engine and with its portable one,
// the published fasthttp, and net/http. It is run in the bench folder, on linux:
//
//	go run ./cmd/idle              # as many connections as descriptors allow
//	go run ./cmd/idle -procs 8     # the same with 8 processes that share a port
//
// The table goes to standard output, and with every sample to the files idle.md
// and idle.json, or idle-8.md and idle-8.json, in the results folder. The exit
// code is 1 if anything failed, and 2 if the command line is wrong. A goal that
// is not met is no failure.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/valyala/fasthttp/bench/internal/rig"
)

type options struct {
	conns   int // of each server process; 0 for as many as possible
	procs   int
	rounds  int
	modules rig.Modules
	out     string
}

// The bounds of -procs and -conns: what a machine can be expected to bear.
const (
	mostProcs = 64
	mostConns = 150_000
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == crowdWord {
		if err := crowdMain(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, "idle:", err)
			os.Exit(1)
		}
		return
	}
	opts, err := parseFlags(os.Args[1:], os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "idle:", err)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err = run(ctx, opts, os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "idle:", err)
		os.Exit(1)
	}
}

func parseFlags(args []string, help io.Writer) (options, error) {
	var opts options
	flags := flag.NewFlagSet("idle", flag.ContinueOnError)
	flags.SetOutput(help)
	flags.IntVar(&opts.conns, "conns", 0, "connections for each server process; 0 for as many as its descriptors allow, up to 50000")
	flags.IntVar(&opts.procs, "procs", 1, "server processes; more than one listen on the same port, with SO_REUSEPORT")
	flags.IntVar(&opts.rounds, "rounds", 3, "how often each server is measured")
	flags.StringVar(&opts.modules.Ours, "ours", "go.mod", "module file to build ours with")
	flags.StringVar(&opts.modules.Upstream, "upstream", "go.upstream.mod", "module file to build upstream with")
	flags.StringVar(&opts.out, "out", "results", "folder to write the results to")
	short := flags.Bool("short", false, "have a quick look: 1 round of 2000 connections, unless -rounds or -conns are given")
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
	if *short && !given["conns"] {
		opts.conns = 2000
	}
	if opts.rounds < 1 {
		return opts, errors.New("-rounds must be at least 1")
	}
	if opts.procs < 1 || opts.procs > mostProcs {
		return opts, fmt.Errorf("-procs must be from 1 to %d", mostProcs)
	}
	if opts.conns < 0 || opts.conns > mostConns {
		return opts, fmt.Errorf("-conns must be from 0 to %d", mostConns)
	}
	return opts, nil
}

// run builds, measures and reports.
func run(ctx context.Context, opts options, out, progress io.Writer) error {
	limit, err := rig.RaiseFileLimit()
	if err != nil {
		return err
	}
	if opts.conns, err = connsFor(opts.conns, opts.procs, limit); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
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
	s := &session{
		servers:  servers,
		conns:    opts.conns,
		procs:    opts.procs,
		rounds:   opts.rounds,
		crowds:   crowds(opts.conns*opts.procs, limit),
		self:     self,
		progress: progress,
	}
	if err := s.runAll(ctx); err != nil {
		return err
	}
	r := s.report()
	name := "idle"
	if opts.procs > 1 {
		name = fmt.Sprintf("idle-%d", opts.procs)
	}
	if err := rig.WriteResults(out, dir, opts.out, name, r.markdown(), r); err != nil {
		return err
	}
	if n := len(r.Failures); n > 0 {
		return fmt.Errorf("%d of %d runs failed", n, opts.rounds*len(servers))
	}
	return nil
}

const (
	// usualConns is enough for figures that no longer depend on the number.
	usualConns = 50_000
	// spareFiles is what a server needs besides its connections.
	spareFiles = 1000
)

// connsFor returns how many connections each server process is to have, where
// asked for says how many, or 0, and a process may have limit files open.
func connsFor(asked, procs, limit int) (int, error) {
	most := limit - spareFiles
	if procs > 1 {
		// The kernel spreads connections by chance: some processes have more
		// than others.
		most = min(most, limit/10*9)
	}
	if most < 1 {
		return 0, fmt.Errorf("a process may have only %d files open", limit)
	}
	if asked > most {
		return 0, fmt.Errorf("a process may have only %d files open: at most -conns %d", limit, most)
	}
	if asked > 0 {
		return asked, nil
	}
	return min(most, usualConns), nil
}
