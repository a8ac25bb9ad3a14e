// Package overload measures the effect of Server.MaxQueueTime: how long the served requests of an
// overloaded server take, with and without it. Start with Measure.
package overload

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/bench/internal/cputime"
	"github.com/valyala/fasthttp/bench/internal/rig"
	"github.com/valyala/fasthttp/bench/internal/study"
)

// work is the work of a handler for a request: it waits, and then computes.
type work struct{ waits, computes time.Duration }

func (w work) String() string {
	if w.waits == 0 {
		return fmt.Sprintf("computes for %v", w.computes)
	}
	return fmt.Sprintf("waits for %v, computes for %v", w.waits, w.computes)
}

var works = []work{
	{0, 20 * time.Microsecond},
	{0, 200 * time.Microsecond},
	{0, 2 * time.Millisecond},
	{2 * time.Millisecond, 200 * time.Microsecond},
}

func (w work) Row() study.Row { return study.Row{Name: "the handler " + w.String()} }

// IsFor implements study.Picky. Handlers are limited only if they wait.
func (w work) IsFor(of *rig.Server) bool { return of.Name != limited || w.waits > 0 }

const (
	// usual is the part of its capacity at which a server is not overloaded.
	usual = 0.7
	// over is the load of an overloaded server, in multiples of its capacity.
	over = 2
	// serverWord makes the program a server: see Serve.
	serverWord = "overloaded"
)

// The loads, which take the place of servers.
const (
	normal  = "normal load"
	without = "overload"
	with    = "overload, MaxQueueTime"
	limited = "overload, MaxQueueTime, few handlers"
)

// The figures of a load.
const (
	offered  = "offered/s"
	served   = "served/s"
	refusals = "refused %" // of all requests
	unsents  = "unsent %"  // all connections were busy
)

// Kind is the kind of these measurements.
var Kind = &study.Kind{
	Name: "overload", Title: "Overload", Client: "client", Measured: "load",
	Note: "The client sends requests at random times, whether responses have come or not, over as many connections as\n" +
		"needed. Normal is 0.7 of the capacity of the server, and overload 2 times of it. MaxQueueTime is the 99th percentile\n" +
		"of the normal load. The ratios compare the 99th percentiles of served requests with the normal load.\n" +
		"The time that a handler waits for a processor after it has begun is not measured by the server: with handlers\n" +
		"that wait first, as in the last table, requests begin at once and are late all the same. There the last line\n" +
		"has a server that also refuses requests while so many handlers run that they compute for a quarter of MaxQueueTime.\n",
	Columns: []study.Column{
		{Figure: offered},
		{Figure: served},
		{Figure: refusals, Digits: 1},
		{Figure: unsents, Digits: 1},
		{Figure: study.P50},
		{Figure: study.P99, Spread: true},
		{Figure: study.P99, Title: "p99 ÷ normal", To: normal},
	},
}

// Measure measures all kinds of work over a number of connections. The program must have called
// Serve.
func Measure(ctx context.Context, s *study.Study, conns int) (*study.Report, error) {
	for _, name := range []string{normal, without, with, limited} {
		s.Servers = append(s.Servers, &rig.Server{Name: name})
	}
	turns := calibrate()
	var capacity float64    // of this round, in requests a second
	var limit time.Duration // the 99th percentile of the normal load
	return study.Measure(ctx, s, works, func(ctx context.Context, w work, kind *rig.Server) (study.Figures, error) {
		job := server{Waits: w.waits, Turns: int(turns * float64(w.computes))}
		run := func(rate float64, conns int) (study.Figures, error) {
			return loadServer(ctx, s.Place, job, rate, conns, time.Duration(s.Seconds)*time.Second)
		}
		if kind.Name == normal {
			capacity = 0
			most, err := run(0, 64)
			if err != nil {
				return nil, err
			}
			got, err := run(usual*most[served], conns)
			if err == nil {
				capacity, limit = most[served], time.Duration(got[study.P99]*float64(time.Microsecond))
			}
			return got, err
		}
		if capacity == 0 {
			return nil, errors.New("the normal load failed")
		}
		if kind.Name != without {
			job.Limit = limit
		}
		if kind.Name == limited {
			// as many as compute for a quarter of the limit together
			job.Handlers = max(int(limit/w.computes/4), 1)
		}
		return run(over*capacity, conns)
	})
}

// loadServer starts a server for one load.
func loadServer(ctx context.Context, at rig.Place, job server, rate float64, conns int, lasts time.Duration) (study.Figures, error) {
	child, err := rig.StartSelf(ctx, at, serverWord, []string{"GOMAXPROCS=1"}, job)
	if err != nil {
		return nil, err
	}
	defer child.Stop()
	var addr netip.AddrPort
	if err := child.Hear(ctx, "server", &addr); err != nil {
		return nil, err
	}
	c, err := dial(addr.String(), conns)
	if err != nil {
		return nil, err
	}
	defer c.sockets.Close()
	if _, err := c.load(rate, lasts/4); err != nil {
		return nil, err
	}
	return c.load(rate, lasts)
}

// server is the job of a server: how long its handler waits, in how many turns it computes, and
// the limits.
type server struct {
	Waits    time.Duration
	Turns    int
	Limit    time.Duration
	Handlers int
}

// Serve makes the program a server if it was started as one by Measure, and then does not return.
func Serve() {
	rig.AnswerAs(serverWord, func(_ context.Context, job server) (addr netip.AddrPort, err error) {
		ln, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			return addr, err
		}
		s := &fasthttp.Server{
			Logger: silent{},
			Handler: func(ctx *fasthttp.RequestCtx) {
				if job.Waits > 0 {
					time.Sleep(job.Waits)
				}
				_, _ = fmt.Fprint(ctx, compute(job.Turns)&1)
			},
		}
		if job.Handlers > 0 {
			s.Handler = atOnce(job.Handlers, s.Handler)
		}
		if job.Limit > 0 {
			// v1.77.0 has no such limit
			limited, ok := any(s).(interface{ SetMaxQueueTime(time.Duration) })
			if !ok {
				return addr, errors.New("the server cannot limit the time in its queue")
			}
			limited.SetMaxQueueTime(job.Limit)
		}
		go s.Serve(ln)
		return ln.Addr().(*net.TCPAddr).AddrPort(), nil
	})
}

// atOnce returns a handler that calls next for n requests at the same time, and refuses others.
func atOnce(n int, next fasthttp.RequestHandler) fasthttp.RequestHandler {
	running := make(chan struct{}, n)
	return func(ctx *fasthttp.RequestCtx) {
		select {
		case running <- struct{}{}:
			defer func() { <-running }()
			next(ctx)
		default:
			ctx.Error("busy", fasthttp.StatusServiceUnavailable)
			ctx.Response.Header.Set(fasthttp.HeaderRetryAfter, "1")
		}
	}
}

type silent struct{}

func (silent) Printf(string, ...any) {}

// compute computes something in turns.
func compute(turns int) uint64 {
	x := uint64(turns)*2 + 1
	for range turns {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	return x
}

// calibrate returns how many turns of compute take a nanosecond.
func calibrate() float64 {
	const turns = 20_000_000
	var sum uint64
	sum += compute(turns)
	began := cputime.Used()
	sum += compute(turns)
	took := cputime.Used() - began
	if sum == 0 {
		return 1
	}
	return turns / float64(took)
}
