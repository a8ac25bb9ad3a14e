// Package turns runs loads on servers, round after round.
package turns

import (
	"context"
	"errors"
	"fmt"

	"github.com/valyala/fasthttp/bench/internal/progress"
)

// Key identifies the load and the server of samples.
type Key struct{ Load, Server string }

// Plan is the plan of a session.
type Plan struct {
	Rounds         int
	Loads, Servers []string
	// Skip reports whether the load, an index as in Run, is not for the server; nil
	// means never.
	Skip func(load, server int) bool
	Log  progress.Log
}

// Run measures every load on every server in each round; measure is called with the indices of
// their names. The servers take turns, so that other work of the machine affects all of them
// equally. A failed run is logged and recorded; only the end of ctx ends Run early.
func Run[S fmt.Stringer](ctx context.Context, p Plan, measure func(load, server int) (S, error)) (samples map[Key][]S, failures []string, err error) {
	samples = map[Key][]S{}
	all := p.Rounds * p.Runs()
	p.Log.Plan(all, float64(all))
	for round := range p.Rounds {
		for i, load := range p.Loads {
			for k, server := range p.Servers {
				if p.skips(i, k) {
					continue
				}
				p.Log.Begin(fmt.Sprintf("round %d/%d  %s  %s", round+1, p.Rounds, load, server))
				got, err := measure(i, k)
				if ctx.Err() != nil {
					return nil, nil, errors.New("interrupted")
				}
				if err != nil {
					failures = append(failures, fmt.Sprintf("round %d, %s, %s: %v", round+1, load, server, err))
					p.Log.End(1, fmt.Sprintf("FAILED: %v", err))
					continue
				}
				key := Key{load, server}
				samples[key] = append(samples[key], got)
				p.Log.End(1, got.String())
			}
		}
	}
	return samples, failures, nil
}

func (p Plan) skips(load, server int) bool { return p.Skip != nil && p.Skip(load, server) }

// Runs returns the number of runs in a round.
func (p Plan) Runs() (n int) {
	for i := range p.Loads {
		for k := range p.Servers {
			if !p.skips(i, k) {
				n++
			}
		}
	}
	return n
}
