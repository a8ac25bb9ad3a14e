package tcp

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp/bench/internal/probe"
	"github.com/valyala/fasthttp/bench/internal/progress"
	"github.com/valyala/fasthttp/bench/internal/rig"
	"github.com/valyala/fasthttp/bench/internal/serving"
	"github.com/valyala/fasthttp/bench/internal/stats"
	"github.com/valyala/fasthttp/bench/internal/steady"
	"github.com/valyala/fasthttp/bench/internal/turns"
)

// ordinaryConns is the number of connections for the ordinary requests of a mixed load.
const ordinaryConns = 64

// disturbance is slow requests beside the ordinary ones, on separate connections.
type disturbance struct {
	name string
	path string // "" if there are none
	// share is how many ordinary requests there are for a slow one.
	share int
	takes time.Duration
}

// Computing is the name of the slow requests that keep processors busy.
const Computing = "1 request in 1000 computes 50 ms"

var disturbances = []disturbance{
	{name: "none"},
	{"1 request in 100 sleeps 1 s", serving.SleepPath, 100, serving.SleepTime},
	{Computing, serving.SpinPath, 1000, serving.SpinTime},
}

// schedule returns the schedule of slow requests: each of conns connections sends one every
// interval.
func (d disturbance) schedule(rate int) (conns int, interval time.Duration) {
	perSecond := float64(rate) / float64(d.share)
	// A connection is busy for the time of a request plus, as a margin, half of that.
	conns = max(1, int(math.Ceil(perSecond*d.takes.Seconds()*1.5)))
	return conns, time.Duration(float64(conns) / perSecond * float64(time.Second))
}

// mixedSample is one run of ordinary requests beside slow ones.
type mixedSample struct {
	p50, p99       float64 // µs, of the ordinary requests
	ordinary, slow int     // requests
}

// slowSession runs all disturbances on all servers, round after round.
type slowSession struct {
	servers []*rig.Server
	rounds  int
	seconds int
	rate    int
	log     progress.Log

	samples  map[turns.Key][]mixedSample // the load is the disturbance
	failures []string
}

// MeasureSlow measures requests beside slow ones. dir is the bench folder.
func MeasureSlow(ctx context.Context, dir string, opts Options, log progress.Log) (*SlowReport, int, error) {
	temp, err := os.MkdirTemp("", "fasthttp-bench-")
	if err != nil {
		return nil, 0, err
	}
	defer os.RemoveAll(temp)
	servers, err := opts.build(ctx, dir, temp, log)
	if err != nil {
		return nil, 0, err
	}
	s := &slowSession{servers: servers, rounds: opts.Rounds, seconds: opts.Seconds, rate: opts.Rate, log: log}
	if err := s.runAll(ctx); err != nil {
		return nil, 0, err
	}
	return s.report(), opts.Rounds * len(servers), nil
}

func (s *slowSession) runAll(ctx context.Context) error {
	s.samples = map[turns.Key][]mixedSample{}
	all := s.rounds * len(s.servers)
	s.log.Plan(all, float64(all))
	for round := range s.rounds {
		for _, server := range s.servers {
			s.log.Begin(fmt.Sprintf("round %d/%d  %s", round+1, s.rounds, server.Name))
			said, err := s.measure(ctx, server)
			if ctx.Err() != nil {
				return errors.New("interrupted")
			}
			if err != nil {
				s.failures = append(s.failures, fmt.Sprintf("round %d, %s: %v", round+1, server.Name, err))
				said = append(said, fmt.Sprintf("FAILED: %v", err))
			}
			s.log.End(1, strings.Join(said, "  "))
		}
	}
	return nil
}

// measure starts a server and runs all disturbances on it. It returns a line about each
// disturbance.
func (s *slowSession) measure(ctx context.Context, server *rig.Server) (said []string, err error) {
	process, err := server.Start(ctx, rig.Settings{Mode: serving.Mixed, Place: rig.Anywhere, Procs: rig.Anywhere.Procs()})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, process.Stop()) }()
	if err := warmUp(process.Addr, load{}); err != nil {
		return nil, fmt.Errorf("warming up: %w", err)
	}
	for _, d := range disturbances {
		got, err := mix(ctx, process.Addr, d, s.rate, time.Duration(s.seconds)*time.Second)
		if err != nil {
			return said, fmt.Errorf("slow requests: %s: %w", d.name, err)
		}
		k := turns.Key{Load: d.name, Server: server.Name}
		s.samples[k] = append(s.samples[k], got)
		said = append(said, fmt.Sprintf("p99 %.0f µs beside %s", got.p99, rig.Plural(got.slow, "slow request")))
	}
	return said, nil
}

// settleTime is how long slow requests are sent before ordinary ones are measured.
const settleTime = 200 * time.Millisecond

// mix sends ordinary requests for a time, and slow ones beside them.
func mix(ctx context.Context, addr string, d disturbance, rate int, duration time.Duration) (mixedSample, error) {
	var got mixedSample
	ctx, cancel := context.WithTimeout(ctx, settleTime+2*duration+10*time.Second)
	defer cancel()
	slowCtx, stopSlow := context.WithCancel(ctx)
	defer stopSlow()

	var slowDone atomic.Int64
	slowErr := make(chan error, 1)
	go func() {
		slowErr <- disturb(slowCtx, addr, d, rate, &slowDone)
	}()
	if !steady.Sleep(ctx, settleTime) {
		return got, errors.Join(ctx.Err(), <-slowErr)
	}
	times, err := steady.Run(ctx, steady.Load{Conns: ordinaryConns, Rate: rate, Time: duration}, func() (*probe.Conn, error) {
		return probe.Dial("", addr, "/")
	})
	stopSlow()
	if err := errors.Join(err, <-slowErr); err != nil {
		return got, err
	}
	got.slow, got.ordinary = int(slowDone.Load()), len(times)
	if d.path != "" && got.slow == 0 {
		return got, errors.New("no slow request was answered")
	}
	got.p50, got.p99 = micros(stats.Percentile(times, 50)), micros(stats.Percentile(times, 99))
	return got, nil
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
