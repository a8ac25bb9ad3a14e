package compare

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/valyala/fasthttp/bench/internal/gobench"
	"github.com/valyala/fasthttp/bench/internal/progress"
	"github.com/valyala/fasthttp/bench/internal/report"
)

// session runs all steps, round after round.
type session struct {
	Options
	dir      string
	steps    []step
	results  *report.Collector
	failures []string
	cpu      string // as the benchmarks print it
	log      *progress.Log
}

// runAll records a failed run and continues; it stops only when ctx ends. The weight of a step
// is the number of its runs.
func (s *session) runAll(ctx context.Context) error {
	weight := 0.0
	for _, step := range s.steps {
		weight += step.weight()
	}
	s.log.Plan(s.Rounds*len(s.steps), float64(s.Rounds)*weight)
	for round := range s.Rounds {
		for _, step := range s.steps {
			s.log.Begin(fmt.Sprintf("round %d/%d  %s  %s", round+1, s.Rounds, step.row, step.build))
			results, err := s.runStep(ctx, step)
			if ctx.Err() != nil {
				return errors.New("interrupted")
			}
			if err != nil {
				s.failures = append(s.failures, fmt.Sprintf("round %d, %s, %s: %v", round+1, step.row, step.build, err))
				s.log.End(step.weight(), fmt.Sprintf("FAILED: %v", err))
				continue
			}
			var said []string
			for _, result := range results {
				s.results.Add(step.build, result)
				said = append(said, fmt.Sprintf("%s ns/op on %d", report.FormatNs(result.NsPerOp), result.Procs))
			}
			if len(said) > len(step.procs) {
				said = []string{fmt.Sprintf("%d rows", len(said))}
			}
			s.log.End(step.weight(), strings.Join(said, "  "))
		}
	}
	return nil
}

func (s step) weight() float64 { return float64(len(s.procs)) }

// runStep returns the results of a step, or an error. There is one result for each GOMAXPROCS
// and each part of the benchmark.
func (s *session) runStep(ctx context.Context, step step) ([]gobench.Result, error) {
	text, err := step.command(ctx, s.dir, s.Benchtime).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, tail(text))
	}
	log, err := gobench.Parse(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	if log.CPU != "" {
		s.cpu = log.CPU
	}
	seen := map[string]int{}
	for _, result := range log.Results {
		name, _, _ := strings.Cut(result.Name, "/")
		if name != step.benchmark || !slices.Contains(step.procs, result.Procs) {
			return nil, fmt.Errorf("a result of %s on %d, want %s on %d", result.Name, result.Procs, step.benchmark, step.procs)
		}
		seen[result.Name]++
	}
	if len(seen) == 0 {
		return nil, fmt.Errorf("no results: %s", tail(text))
	}
	for name, n := range seen {
		if n != len(step.procs) {
			return nil, fmt.Errorf("%d results of %s, want %d: %s", n, name, len(step.procs), tail(text))
		}
	}
	return log.Results, nil
}

// tail returns the end of the output of a failed run.
func tail(text []byte) string {
	const lines = 12
	all := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
