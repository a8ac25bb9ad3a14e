package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/valyala/fasthttp/bench/internal/gobench"
	"github.com/valyala/fasthttp/bench/internal/report"
)

// session runs all steps, round after round.
type session struct {
	rounds   int
	steps    []step
	run      func(context.Context, step) ([]byte, error)
	results  *report.Collector
	failures []string
	cpu      string // as the benchmarks print it
	progress io.Writer
}

// runAll goes on after a failed run, which it remembers, and stops only when
// ctx ends.
func (s *session) runAll(ctx context.Context) error {
	clock := newCountdown(s.steps, s.rounds)
	total := s.rounds * len(s.steps)
	done := 0
	for round := range s.rounds {
		for _, step := range s.steps {
			done++
			fmt.Fprintf(s.progress, "[%*d/%d] round %d/%d  %s  %s", len(fmt.Sprint(total)), done, total, round+1, s.rounds, step.row, step.build)
			begin := time.Now()
			results, err := s.runStep(ctx, step)
			if err := ctx.Err(); err != nil {
				fmt.Fprintln(s.progress)
				return errors.New("interrupted")
			}
			clock.add(step, time.Since(begin))
			if err != nil {
				s.failures = append(s.failures, fmt.Sprintf("round %d, %s, %s: %v", round+1, step.row, step.build, err))
				fmt.Fprintf(s.progress, "  FAILED: %v", err)
			}
			for _, result := range results {
				s.results.Add(step.build, result)
				fmt.Fprintf(s.progress, "  %s ns/op on %d", report.FormatNs(result.NsPerOp), result.Procs)
			}
			fmt.Fprintf(s.progress, "  (%v left)\n", clock.left().Round(time.Second))
		}
	}
	return nil
}

// runStep returns one result for each GOMAXPROCS of the step, or an error.
func (s *session) runStep(ctx context.Context, step step) ([]gobench.Result, error) {
	text, err := s.run(ctx, step)
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
	if len(log.Results) != len(step.procs) {
		return nil, fmt.Errorf("%d results, want %d: %s", len(log.Results), len(step.procs), tail(text))
	}
	for i, result := range log.Results {
		if result.Name != step.benchmark || result.Procs != step.procs[i] {
			return nil, fmt.Errorf("a result of %s on %d, want %s on %d", result.Name, result.Procs, step.benchmark, step.procs[i])
		}
	}
	return log.Results, nil
}

// tail shortens what a failed run printed to its last words.
func tail(text []byte) string {
	const lines = 12
	all := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// countdown estimates how long the rest will take. A step weighs as much as it
// has runs; how long a run takes is the mean of those before.
type countdown struct {
	weightLeft, weightDone int
	spent                  time.Duration
}

func newCountdown(steps []step, rounds int) *countdown {
	c := new(countdown)
	for _, step := range steps {
		c.weightLeft += rounds * len(step.procs)
	}
	return c
}

func (c *countdown) add(s step, took time.Duration) {
	c.weightLeft -= len(s.procs)
	c.weightDone += len(s.procs)
	c.spent += took
}

func (c *countdown) left() time.Duration {
	if c.weightDone == 0 {
		return 0
	}
	return time.Duration(float64(c.spent) / float64(c.weightDone) * float64(c.weightLeft))
}
