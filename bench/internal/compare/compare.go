// Package compare runs the benchmarks of the bench folder in turn, compiled against this
// fasthttp and against the published one, and their net/http twins. Start with Measure.
package compare

import (
	"context"
	"fmt"
	"os"
	"regexp"

	"github.com/valyala/fasthttp/bench/internal/progress"
	"github.com/valyala/fasthttp/bench/internal/report"
	"github.com/valyala/fasthttp/bench/internal/rig"
)

// Options select the rows, and how they are measured.
type Options struct {
	Rounds    int
	Benchtime string // as go test -benchtime has it
	Rows      *regexp.Regexp
	Modules   rig.Modules
}

// Measure builds the benchmarks in dir, which is the bench folder, and runs them.
func Measure(ctx context.Context, dir string, opts Options, log *progress.Log) (r *report.Report, err error) {
	temp, err := os.MkdirTemp("", "fasthttp-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(temp)

	builds := []*build{{name: report.Ours, modfile: opts.Modules.Ours}, {name: report.Upstream, modfile: opts.Modules.Upstream}}
	for _, b := range builds {
		log.Note(fmt.Sprintf("building the benchmarks, %s (%s)", b.name, b.modfile))
		if err := b.make(ctx, dir, temp); err != nil {
			return nil, err
		}
	}
	names, err := builds[0].benchmarks(ctx)
	if err != nil {
		return nil, err
	}
	steps := plan(names, opts.Rows, builds, processors())
	if len(steps) == 0 {
		return nil, fmt.Errorf("no row matches %q", opts.Rows)
	}

	r = &report.Report{Head: rig.NewHead(nil, opts.Rounds), Benchtime: opts.Benchtime}
	for _, b := range builds {
		r.Versions[b.name] = b.version
	}
	r.Versions[report.NetHTTP] = r.Machine.Go
	s := &session{Options: opts, dir: dir, steps: steps, results: report.NewCollector(), log: log}
	if err := s.runAll(ctx); err != nil {
		return nil, err
	}
	if s.cpu != "" {
		r.Machine.CPU = s.cpu
	}
	r.Failures, r.Runs = s.failures, opts.Rounds*len(steps)
	s.results.Finish(r)
	return r, nil
}
