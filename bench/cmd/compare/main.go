// Command compare measures this fasthttp, the published one and net/http by the
// same benchmarks, in turn, and puts the medians side by side. It is run in the
// bench folder:
//
//	go run ./cmd/compare
//
// The table goes to standard output, and with every sample to the files
// compare.md and compare.json in the results folder. The exit code is 1 if
// anything failed, and 2 if the command line is wrong.
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
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/valyala/fasthttp/bench/internal/report"
)

// leastRounds is how many rounds a comparison needs before its medians are
// worth anything. Only -short allows fewer.
const leastRounds = 5

type options struct {
	rounds         int
	benchtime      string
	rows           *regexp.Regexp
	ours, upstream string
	out            string
}

func main() {
	opts, err := parseFlags(os.Args[1:], os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err = compare(ctx, opts, os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}

func parseFlags(args []string, help io.Writer) (options, error) {
	var opts options
	flags := flag.NewFlagSet("compare", flag.ContinueOnError)
	flags.SetOutput(help)
	flags.IntVar(&opts.rounds, "rounds", leastRounds, "how often each row is run in each build")
	flags.StringVar(&opts.benchtime, "benchtime", "500ms", "how long a run takes: a duration, or a number of operations as in 100000x")
	flags.StringVar(&opts.ours, "ours", "go.mod", "module file to build ours with; go.upstream.mod shows how far two equal builds differ")
	flags.StringVar(&opts.upstream, "upstream", "go.upstream.mod", "module file to build upstream with")
	flags.StringVar(&opts.out, "out", "results", "folder to write compare.md and compare.json to")
	rows := flags.String("rows", "", "regular expression: run only the rows whose names match, such as ServerGet or ^Args")
	short := flags.Bool("short", false, "have a quick look: 3 rounds of 100ms, unless -rounds or -benchtime are given")
	if err := flags.Parse(args); err != nil {
		return opts, err
	}
	if flags.NArg() > 0 {
		return opts, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	given := map[string]bool{}
	flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	if *short && !given["rounds"] {
		opts.rounds = 3
	}
	if *short && !given["benchtime"] {
		opts.benchtime = "100ms"
	}
	if opts.rounds < 1 || !*short && opts.rounds < leastRounds {
		return opts, fmt.Errorf("-rounds must be at least %d, or at least 1 with -short", leastRounds)
	}
	var err error
	opts.rows, err = regexp.Compile(*rows)
	return opts, err
}

// compare builds, runs and reports.
func compare(ctx context.Context, opts options, out, progress io.Writer) error {
	dir, err := moduleDir(ctx)
	if err != nil {
		return err
	}
	temp, err := os.MkdirTemp("", "fasthttp-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)

	builds := []*build{{name: report.Ours, modfile: opts.ours}, {name: report.Upstream, modfile: opts.upstream}}
	for _, b := range builds {
		fmt.Fprintf(progress, "building %s (%s)\n", b.name, b.modfile)
		if err := b.make(ctx, dir, temp); err != nil {
			return err
		}
	}
	names, err := builds[0].benchmarks(ctx)
	if err != nil {
		return err
	}
	steps := plan(names, opts.rows, builds, processors())
	if len(steps) == 0 {
		return fmt.Errorf("no row matches %q", opts.rows)
	}

	r := &report.Report{
		Machine:   machine(),
		Versions:  map[string]string{},
		Date:      time.Now().UTC().Format("2006-01-02 15:04 MST"),
		Rounds:    opts.rounds,
		Benchtime: opts.benchtime,
	}
	for _, b := range builds {
		r.Versions[b.name] = b.version
	}
	r.Versions[report.NetHTTP] = r.Machine.Go
	s := &session{
		rounds: opts.rounds,
		steps:  steps,
		run: func(ctx context.Context, s step) ([]byte, error) {
			return s.command(ctx, dir, opts.benchtime).CombinedOutput()
		},
		results:  report.NewCollector(),
		progress: progress,
	}
	if err := s.runAll(ctx); err != nil {
		return err
	}
	if s.cpu != "" {
		r.Machine.CPU = s.cpu
	}
	r.Failures = s.failures
	s.results.Finish(r)

	folder := opts.out
	if !filepath.IsAbs(folder) {
		folder = filepath.Join(dir, folder)
	}
	if err := write(r, folder, out); err != nil {
		return err
	}
	if n := len(r.Failures); n > 0 {
		return fmt.Errorf("%d of %d runs failed", n, opts.rounds*len(steps))
	}
	return nil
}

func write(r *report.Report, folder string, out io.Writer) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	var markdown, json strings.Builder
	if err := errors.Join(r.WriteMarkdown(&markdown), r.WriteJSON(&json)); err != nil {
		return err
	}
	_, err := io.WriteString(out, markdown.String())
	return errors.Join(err,
		os.WriteFile(filepath.Join(folder, "compare.md"), []byte(markdown.String()), 0o644),
		os.WriteFile(filepath.Join(folder, "compare.json"), []byte(json.String()), 0o644))
}

// moduleDir returns the bench folder, which is the module that the command was
// started in.
func moduleDir(ctx context.Context) (string, error) {
	text, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Path}} {{.Dir}}").Output()
	if err != nil {
		return "", fmt.Errorf("asking for the module: %w", withStderr(err))
	}
	path, dir, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
	if path != benchModule {
		return "", fmt.Errorf("this is module %s: run compare in the bench folder", path)
	}
	return dir, nil
}

// withStderr adds what a command said to the error it ended with.
func withStderr(err error) error {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && len(exit.Stderr) > 0 {
		return fmt.Errorf("%w: %s", err, strings.TrimSpace(string(exit.Stderr)))
	}
	return err
}
