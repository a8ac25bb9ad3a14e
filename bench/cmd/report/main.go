// Command report makes the measurements of all other commands, and writes the performance pages
// with their charts. It is run in the bench folder:
//
//	go run ./cmd/report            # about two and a half hours; nothing else may run
//	go run ./cmd/report -short     # about ten minutes, for a quick look
//	go run ./cmd/report -parts tcp,idle    # these anew, the others as they were
//	go run ./cmd/report -parts none        # only write the page anew
//
// The pages are docs/performance.md and docs/performance-rows.md, their charts are in docs/img; every sample is in
// results/report.json. For a missed goal, notes.md beside this file has an explanation under
// the name of the goal; it becomes part of the page. The exit code is 1 if anything failed,
// and 2 if the command line is wrong. A missed goal is no failure.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/valyala/fasthttp/bench/internal/calls"
	"github.com/valyala/fasthttp/bench/internal/closedloop"
	"github.com/valyala/fasthttp/bench/internal/command"
	"github.com/valyala/fasthttp/bench/internal/idle"
	"github.com/valyala/fasthttp/bench/internal/progress"
	"github.com/valyala/fasthttp/bench/internal/rig"
	"github.com/valyala/fasthttp/bench/internal/tlsload"
	"github.com/valyala/fasthttp/bench/internal/wsload"
)

type options struct {
	rounds    int
	benchtime string
	seconds   int
	conns     int // of the part fill
	rows      *regexp.Regexp
	parts     []string // by their names
	modules   rig.Modules
	out, docs string
	short     bool
}

func main() {
	idle.Crowd()
	closedloop.Main()
	tlsload.Main()
	calls.Main()
	wsload.Main()
	command.Main("report", parseFlags, run)
}

func parseFlags(args []string, help io.Writer) (options, error) {
	var opts options
	flags := command.New("report", help)
	flags.Rounds(&opts.rounds, 7, 1)
	flags.Text(&opts.benchtime, "benchtime", "200ms", "20ms", "how long each benchmark runs")
	flags.Int(&opts.seconds, "seconds", 4, 1, "how long each load over sockets lasts")
	flags.Number(&opts.conns, "conns", 0, 20_000, 0, "connections that the part fill opens; 0 for as many as fit")
	flags.Rows(&opts.rows, "ServerGet; for benchmarks only")
	flags.Modules(&opts.modules)
	flags.Out(&opts.out)
	flags.StringVar(&opts.docs, "docs", "../docs", "folder to write the pages to, and their charts to the folder img in it")
	names := partNames()
	list := flags.String("parts", "all", "what to measure: all, none, or some of "+strings.Join(names, ",")+"; the others are as they were")
	var err error
	if opts.short, err = flags.Parse(args); err != nil {
		return opts, err
	}
	switch *list {
	case "all":
		opts.parts = names
	case "none":
	default:
		opts.parts = strings.Split(*list, ",")
		for _, name := range opts.parts {
			if !slices.Contains(names, name) {
				return opts, fmt.Errorf("there is no part %q, but %s", name, strings.Join(names, ", "))
			}
		}
	}
	return opts, nil
}

func run(ctx context.Context, opts options, out, log io.Writer) error {
	dir, err := rig.BenchDir(ctx)
	if err != nil {
		return err
	}
	file := filepath.Join(rig.In(dir, opts.out), "report.json")
	all := new(results)
	if len(opts.parts) < len(partNames()) {
		// there may be no earlier run
		if err := rig.ReadJSON(file, all); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := measure(ctx, dir, opts, all, progress.New(log)); err != nil {
		return err
	}
	if all.empty() {
		// a page without figures must not replace a page with figures
		return errors.Join(errors.New("there is nothing to write"), errors.New(strings.Join(all.failures(), "\n")))
	}
	text, err := os.ReadFile(filepath.Join(dir, "cmd", "report", "notes.md"))
	if err != nil {
		return err
	}
	p := page{results: all, goals: goals(all), notes: parseNotes(string(text))}
	if err := p.write(rig.In(dir, opts.docs)); err != nil {
		return err
	}
	if err := rig.WriteJSON(file, all); err != nil {
		return err
	}
	fmt.Fprint(out, p.summary())
	if n := len(all.failures()); n > 0 {
		return fmt.Errorf("%d runs or parts failed; they are on the page", n)
	}
	return nil
}
