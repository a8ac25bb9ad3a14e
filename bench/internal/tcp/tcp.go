// Package tcp measures servers over loopback sockets: this fasthttp with its event engine and
// with its portable one, the published fasthttp, net/http, and a loop in C that shows the cost
// of the system calls alone. Start with Measure and MeasureSlow.
package tcp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"time"

	"github.com/valyala/fasthttp/bench/internal/progress"
	"github.com/valyala/fasthttp/bench/internal/rig"
)

// Options select what to measure.
type Options struct {
	Rounds  int
	Seconds int // that a run takes
	Pin     bool
	Rows    *regexp.Regexp
	Varied  bool // send varying requests; not for MeasureSlow
	TLS     bool // speak TLS; not for MeasureSlow, and not with Varied
	Rate    int  // ordinary requests a second, for MeasureSlow
	// Others builds more servers, if it is set, and names the ones that it cannot build. Then there
	// are loads of all kinds: varied requests, TLS, handlers that wait.
	Others  func(ctx context.Context, dir, temp string) (servers []*rig.Server, missing []string)
	Modules rig.Modules
}

// The bounds of Rate. With fewer requests a run would have hardly any slow one; with more, the
// requests that compute would keep a processor busy alone.
const (
	LeastRate = 200
	MostRate  = 10_000
)

// ErrNoWrk is returned if the load generator is not installed.
var ErrNoWrk = errors.New("the load generator wrk is not installed; on Debian and Ubuntu: sudo apt-get install wrk")

// Measure builds the servers in dir, which is the bench folder, and measures them. The report
// has the failed runs; runs is the number of all runs.
func Measure(ctx context.Context, dir string, opts Options, log progress.Log) (r *Report, runs int, err error) {
	limit, err := rig.RaiseFileLimit()
	if err != nil {
		return nil, 0, err
	}
	wrkProgram, err := exec.LookPath("wrk")
	if err != nil {
		return nil, 0, ErrNoWrk
	}
	temp, err := os.MkdirTemp("", "fasthttp-bench-")
	if err != nil {
		return nil, 0, err
	}
	defer os.RemoveAll(temp)
	servers, err := opts.build(ctx, dir, temp, log)
	if err != nil {
		return nil, 0, err
	}
	var missing []string
	var identity *rig.Identity
	other := func() (*rig.Server, error) { return rig.BuildFloor(ctx, dir, temp) }
	if opts.TLS || opts.Others != nil {
		if identity, err = rig.NewIdentity(temp); err != nil {
			return nil, 0, err
		}
	}
	if opts.TLS {
		other = func() (*rig.Server, error) { return rig.NewNginx(ctx, temp, rig.HelloSite()) }
		loop, err := rig.BuildTLSLoop(ctx, dir, temp)
		if err != nil {
			return nil, 0, err
		}
		servers = append(servers, loop)
	}
	if server, err := other(); err != nil {
		missing = append(missing, err.Error())
		log.Note("measuring without it: " + err.Error())
	} else {
		servers = append(servers, server)
	}

	if opts.Others != nil {
		others, without := opts.Others(ctx, dir, temp)
		servers, missing = append(servers, others...), append(missing, without...)
		for _, what := range without {
			log.Note("measuring without it: " + what)
		}
	}

	serverPlace, clientPlace := rig.Anywhere, rig.Anywhere
	if opts.Pin {
		if serverPlace, clientPlace, err = rig.Separate(); err != nil {
			missing = append(missing, "nothing is pinned: "+err.Error())
			log.Note("nothing is pinned: " + err.Error())
		}
	}
	log.Note(fmt.Sprintf("servers: %v; wrk: %v", serverPlace, clientPlace))
	s := &session{
		servers:  servers,
		rounds:   opts.Rounds,
		seconds:  opts.Seconds,
		place:    serverPlace,
		generate: generator{program: wrkProgram, place: clientPlace, seconds: opts.Seconds, temp: temp},
		identity: identity,
		limit:    limit,
		log:      log,
	}
	for _, l := range opts.loads() {
		if opts.Rows.MatchString(l.name) {
			s.loads = append(s.loads, l)
		}
	}
	if len(s.loads) == 0 {
		return nil, 0, fmt.Errorf("no row matches %q", opts.Rows)
	}
	if err := s.runAll(ctx); err != nil {
		return nil, 0, err
	}
	r = s.report()
	r.Missing = missing
	return r, s.runs(), nil
}

// loads returns the loads among which Rows selects.
func (o Options) loads() []load {
	switch {
	case o.Others != nil:
		return peerLoads()
	case o.TLS:
		return tlsLoads()
	case o.Varied:
		return variedLoads()
	}
	return loads
}

// build builds the servers that are written in Go.
func (o Options) build(ctx context.Context, dir, temp string, log progress.Log) ([]*rig.Server, error) {
	log.Note(fmt.Sprintf("building the servers (%s, %s)", o.Modules.Ours, o.Modules.Upstream))
	return rig.Build(ctx, dir, temp, o.Modules)
}

// micros converts a time to µs, the unit of the figures.
func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
