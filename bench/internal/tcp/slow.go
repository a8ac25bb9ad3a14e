package tcp

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp/bench/internal/probe"
	"github.com/valyala/fasthttp/bench/internal/rig"
	"github.com/valyala/fasthttp/bench/internal/serving"
	"github.com/valyala/fasthttp/bench/internal/stats"
	"github.com/valyala/fasthttp/bench/internal/steady"
	"github.com/valyala/fasthttp/bench/internal/study"
)

// The ordinary requests of a mixed load: connections, and requests a second. With fewer requests a
// run would have hardly any slow one; with many more, the requests that compute would keep a
// processor busy alone.
const (
	ordinaryConns = 64
	ordinaryRate  = 2000
)

// disturbance is slow requests beside the ordinary ones, on separate connections.
type disturbance struct {
	name string
	path string // "" if there are none
	// share is how many ordinary requests there are for a slow one.
	share int
	takes time.Duration
}

// The names of the slow requests.
const (
	sleeps    = "1 request in 100 sleeps 1 s"
	Computing = "1 request in 1000 computes 50 ms" // keeps processors busy
)

// disturbances are the rows. The first has no slow requests; the others are compared with it.
var disturbances = []disturbance{
	{name: "none"},
	{sleeps, serving.SleepPath, 100, serving.SleepTime},
	{Computing, serving.SpinPath, 1000, serving.SpinTime},
}

func (d disturbance) Row() study.Row { return study.Row{Name: d.name} }

// schedule returns the schedule of slow requests: each of conns connections sends one every
// interval.
func (d disturbance) schedule(rate int) (conns int, interval time.Duration) {
	perSecond := float64(rate) / float64(d.share)
	// A connection is busy for the time of a request plus, as a margin, half of that.
	conns = max(1, int(math.Ceil(perSecond*d.takes.Seconds()*1.5)))
	return conns, time.Duration(float64(conns) / perSecond * float64(time.Second))
}

// slowFigure is how many slow requests were answered.
const slowFigure = "slow answered"

// Slow is the kind of requests beside slow ones.
var Slow = &study.Kind{
	Name: "tcp-slow", Title: "Requests beside slow ones", Client: "load", One: new("slow requests"), Goals: SlowGoals, Unpinned: true,
	Note: fmt.Sprintf("Latencies are those of the ordinary requests, over %d connections. A request that computes keeps a processor busy: with\n"+
		"one or two of them in the machine, the ratio to the same server without slow requests is about the scheduler as much as\n"+
		"about the server.\n", ordinaryConns),
	Columns: []study.Column{
		{Figure: slowFigure, Sum: true},
		{Figure: study.P50, Spread: true},
		{Figure: study.P99, Spread: true},
		{Figure: study.P99, Title: "p99 ÷ without", ToRow: true},
		{Figure: study.P99, Title: "p99 ÷ net/http", To: rig.NetHTTP},
	},
}

// The goals for the p99 of ordinary requests on the event engine beside slow ones: the factor by
// which it may grow, and its share of net/http's beside handlers that compute. There its growth
// depends on the scheduler as much as on the server, so the goal is to be about as good as
// net/http.
const (
	slowMost        = 2
	slowNetHTTPMost = 1.5
)

// SlowGoals judges the event engine beside slow requests. The report may be nil.
func SlowGoals(r *study.Report) []study.Goal {
	all := []study.Goal{
		{ID: "slow-sleep", Text: fmt.Sprintf("p99 of others at most %d× where 1 request in 100 sleeps for 1 s", slowMost)},
		{ID: "slow-spin", Text: fmt.Sprintf("p99 of others at most %d× where 1 request in 1000 computes for 50 ms", slowMost)},
	}
	for i, name := range []string{sleeps, Computing} {
		grown := func(server string) rig.Ratio {
			return rig.NewRatio(r.Named(name).Get(server, study.P99), r.Named(disturbances[0].name).Get(server, study.P99))
		}
		ratio := grown(rig.Event)
		all[i].Judge(ratio, ratio.Value <= slowMost, "%.2f×", ratio.Value)
		if upstream := grown(rig.Upstream); upstream.Value > 0 && ratio.Value > 0 {
			all[i].Figure += fmt.Sprintf(" (upstream: %.2f×)", upstream.Value)
		}
	}
	g := study.Goal{ID: "slow-spin-nethttp", Text: fmt.Sprintf("p99 of others at most %.1f of net/http's where 1 request in 1000 computes for 50 ms", slowNetHTTPMost)}
	row := r.Named(Computing)
	ratio := row.Ratio(study.P99, rig.Event, rig.NetHTTP)
	g.Judge(ratio, ratio.Value <= slowNetHTTPMost, "%.2f (%.0f µs of %.0f µs)",
		ratio.Value, row.Get(rig.Event, study.P99).Median, row.Get(rig.NetHTTP, study.P99).Median)
	return append(all, g)
}

// MeasureSlow measures requests beside slow ones. Nothing is pinned, since a request that
// computes takes a core.
func MeasureSlow(ctx context.Context, s *study.Study) (*study.Report, error) {
	if err := s.Build(ctx); err != nil {
		return nil, err
	}
	return study.Measure(ctx, s, disturbances, func(ctx context.Context, d disturbance, server *rig.Server) (study.Figures, error) {
		return s.With(ctx, server, rig.Settings{Mode: serving.Mixed}, func(process *rig.Process) (study.Figures, error) {
			if err := warmUp(process.Addr, load{}); err != nil {
				return nil, fmt.Errorf("warming up: %w", err)
			}
			return mix(ctx, process.Addr, d, ordinaryRate, time.Duration(s.Seconds)*time.Second)
		})
	})
}

// settleTime is how long slow requests are sent before ordinary ones are measured.
const settleTime = 200 * time.Millisecond

// mix sends ordinary requests for a time, and slow ones beside them.
func mix(ctx context.Context, addr string, d disturbance, rate int, duration time.Duration) (study.Figures, error) {
	ctx, cancel := context.WithTimeout(ctx, settleTime+2*duration+10*time.Second)
	defer cancel()
	slowCtx, stopSlow := context.WithCancel(ctx)
	defer stopSlow()

	var slow atomic.Int64
	slowErr := make(chan error, 1)
	go func() { slowErr <- disturb(slowCtx, addr, d, rate, &slow) }()
	if !steady.Sleep(ctx, settleTime) {
		return nil, errors.Join(ctx.Err(), <-slowErr)
	}
	times, err := steady.Run(ctx, steady.Load{Conns: ordinaryConns, Rate: rate, Time: duration}, func() (*probe.Conn, error) {
		return probe.Dial("", addr, "/")
	})
	stopSlow()
	if err := errors.Join(err, <-slowErr); err != nil {
		return nil, err
	}
	if d.path != "" && slow.Load() == 0 {
		return nil, errors.New("no slow request was answered")
	}
	return study.Figures{
		study.P50: study.Micros(stats.Percentile(times, 50)), study.P99: study.Micros(stats.Percentile(times, 99)), slowFigure: float64(slow.Load()),
	}, nil
}

// disturb sends slow requests until ctx ends, and counts the responses.
func disturb(ctx context.Context, addr string, d disturbance, rate int, answered *atomic.Int64) error {
	if d.path == "" {
		return nil
	}
	conns, interval := d.schedule(rate)
	return steady.Each(conns, func(i int) error {
		conn, err := probe.Dial("", addr, d.path)
		if err != nil {
			return err
		}
		defer conn.Close()
		// The first slow request is sent at once, so that even a short run has one.
		next := time.Now().Add(interval * time.Duration(i) / time.Duration(conns))
		for steady.Sleep(ctx, time.Until(next)) {
			if err := conn.Get(); err != nil {
				return err
			}
			answered.Add(1)
			next = next.Add(interval)
		}
		return nil
	})
}
