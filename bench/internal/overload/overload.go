// Package overload measures the effect of Server.MaxQueueTime: how long the served requests of an
// overloaded server take, with and without it. Start with Run.
package overload

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/bench/internal/cputime"
	"github.com/valyala/fasthttp/bench/internal/progress"
	"github.com/valyala/fasthttp/bench/internal/rig"
	"github.com/valyala/fasthttp/bench/internal/stats"
)

// Options are the settings of a session.
type Options struct {
	Rounds int
	Lasts  time.Duration // of one load
	Conns  int
}

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

const (
	// normal is the part of its capacity at which a server is not overloaded.
	normal = 0.7
	// over is the load of an overloaded server, in multiples of its capacity.
	over = 2
	// serverWord makes the program a server: see Serve.
	serverWord = "overloaded"
)

// Result has the figures of one load.
type Result struct {
	Offered  float64 // requests per second
	Served   float64 // responses 200 per second
	Refused  float64 // responses 503, as a part of all requests
	Unsent   float64 // requests for which all connections were busy, as a part
	P50, P99 time.Duration
}

// Row has the figures of one kind of work, as medians of all rounds, and the ratios of the 99th
// percentiles of the times of served requests to the one of the normal load.
type Row struct {
	Work                    string
	Capacity                float64 // requests per second
	Limit                   time.Duration
	Normal, Without, With   Result
	WithoutRatio, WithRatio float64

	// Handlers is how many handlers that wait could run at once in the load of Handled, which had
	// the same Limit; 0 if the handler does not wait.
	Handlers     int
	Handled      Result
	HandledRatio float64
}

// Report has the figures of a session.
type Report struct {
	rig.Head
	Rows     []Row
	Failures []string
}

// Failed returns how many kinds of work failed, and how many there are.
func (r *Report) Failed() (n, all int) { return len(r.Failures), len(works) }

// Run measures.
func Run(ctx context.Context, opts Options, log progress.Log) (*Report, error) {
	r := &Report{Head: rig.NewHead(nil, opts.Rounds)}
	place, _, err := rig.Separate()
	if err != nil {
		place = rig.Anywhere
	}
	turns := calibrate()
	for _, w := range works {
		row, err := measure(ctx, place, w, turns, opts)
		if err != nil {
			r.Failures = append(r.Failures, fmt.Sprintf("%v: %v", w, err))
			continue
		}
		log.Note(fmt.Sprintf("%v: p99 %.1f times the normal one without, %.2f with", w, row.WithoutRatio, row.WithRatio))
		r.Rows = append(r.Rows, row)
	}
	return r, ctx.Err()
}

// measure measures one kind of work.
func measure(ctx context.Context, at rig.Place, w work, turns float64, opts Options) (Row, error) {
	row := Row{Work: w.String()}
	var capacities, limits, handlers []float64
	var loads [4][]Result
	for range opts.Rounds {
		run := func(bounds bounds, rate float64, conns int) (Result, error) {
			return loadServer(ctx, at, w, turns, bounds, rate, conns, opts)
		}
		most, err := run(bounds{}, 0, 64)
		if err != nil {
			return row, err
		}
		usual, err := run(bounds{}, normal*most.Served, opts.Conns)
		if err != nil {
			return row, err
		}
		without, err := run(bounds{}, over*most.Served, opts.Conns)
		if err != nil {
			return row, err
		}
		with, err := run(bounds{wait: usual.P99}, over*most.Served, opts.Conns)
		if err != nil {
			return row, err
		}
		results := []Result{usual, without, with}
		if w.waits > 0 {
			// as many as compute for a quarter of the limit together
			at := bounds{wait: usual.P99, handlers: max(int(usual.P99/w.computes/4), 1)}
			handled, err := run(at, over*most.Served, opts.Conns)
			if err != nil {
				return row, err
			}
			results, handlers = append(results, handled), append(handlers, float64(at.handlers))
		}
		capacities, limits = append(capacities, most.Served), append(limits, float64(usual.P99))
		for i, result := range results {
			loads[i] = append(loads[i], result)
		}
	}
	if w.waits > 0 {
		row.Handlers, row.Handled, row.HandledRatio = int(stats.Median(handlers)), median(loads[3]), ratio(loads[3], loads[0])
	}
	row.Capacity, row.Limit = stats.Median(capacities), time.Duration(stats.Median(limits))
	row.Normal, row.Without, row.With = median(loads[0]), median(loads[1]), median(loads[2])
	row.WithoutRatio = ratio(loads[1], loads[0])
	row.WithRatio = ratio(loads[2], loads[0])
	return row, nil
}

// median returns the medians of the figures.
func median(all []Result) Result {
	of := func(figure func(r Result) float64) float64 {
		var samples []float64
		for _, r := range all {
			samples = append(samples, figure(r))
		}
		return stats.Median(samples)
	}
	return Result{
		Offered: of(func(r Result) float64 { return r.Offered }),
		Served:  of(func(r Result) float64 { return r.Served }),
		Refused: of(func(r Result) float64 { return r.Refused }),
		Unsent:  of(func(r Result) float64 { return r.Unsent }),
		P50:     time.Duration(of(func(r Result) float64 { return float64(r.P50) })),
		P99:     time.Duration(of(func(r Result) float64 { return float64(r.P99) })),
	}
}

// ratio returns the median of the rounds' ratios.
func ratio(a, b []Result) float64 {
	var ratios []float64
	for i := range a {
		ratios = append(ratios, stats.Ratio(float64(a[i].P99), float64(b[i].P99)))
	}
	return stats.Median(ratios)
}

// bounds are the limits of a server, or 0.
type bounds struct {
	wait     time.Duration // MaxQueueTime
	handlers int           // that run at once
}

// loadServer starts a server for one load.
func loadServer(ctx context.Context, at rig.Place, w work, turns float64, limit bounds, rate float64, conns int, opts Options) (r Result, err error) {
	line, err := rig.SelfCommand(at, serverWord, server{w.waits, int(turns * float64(w.computes)), limit.wait, limit.handlers})
	if err != nil {
		return r, err
	}
	child, err := rig.StartChild(ctx, []string{"GOMAXPROCS=1"}, line)
	if err != nil {
		return r, err
	}
	defer child.Stop()
	var addr netip.AddrPort
	if err := child.Hear(ctx, "server", &addr); err != nil {
		return r, err
	}
	c, err := dial(addr, conns)
	if err != nil {
		return r, err
	}
	defer c.close()
	if _, err := c.load(rate, opts.Lasts/4); err != nil {
		return r, err
	}
	return c.load(rate, opts.Lasts)
}

// server is the job of a server: how long its handler waits, in how many turns it computes, and
// the limits.
type server struct {
	Waits    time.Duration
	Turns    int
	Limit    time.Duration
	Handlers int
}

// Serve makes the program a server if it was started as one by Run, and then does not return.
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

// Note explains the table.
const Note = "The client sends requests at random times, whether responses have come or not, over as many connections as\n" +
	"needed. Normal is 0.7 of the capacity of the server, and overload 2 times of it. MaxQueueTime is the 99th percentile\n" +
	"of the normal load. The ratios compare the 99th percentiles of served requests with the normal load.\n" +
	"The time that a handler waits for a processor after it has begun is not measured by the server: with handlers\n" +
	"that wait first, as in the last row, requests begin at once and are late all the same. For these the last column\n" +
	"has a server that also refuses requests while so many handlers run that they compute for a quarter of MaxQueueTime.\n"

// Markdown returns the report as Markdown.
func (r *Report) Markdown() string {
	var b strings.Builder
	r.WriteMarkdown(&b, "Overload")
	b.WriteString("\n" + Note)
	table := rig.Table{Header: []string{"the handler", "capacity/s", "p99 normal", "served/s, p99 without", "served/s, p99 with", "refused with", "ratio without", "ratio with", "ratio with, and a limit of handlers"}}
	for _, row := range r.Rows {
		table.Rows = append(table.Rows, []string{
			row.Work, fmt.Sprintf("%.0f", row.Capacity), rounded(row.Normal.P99),
			fmt.Sprintf("%.0f, %s", row.Without.Served, rounded(row.Without.P99)),
			fmt.Sprintf("%.0f, %s", row.With.Served, rounded(row.With.P99)),
			fmt.Sprintf("%.0f %%", 100*row.With.Refused),
			fmt.Sprintf("%.1f", row.WithoutRatio), fmt.Sprintf("%.2f", row.WithRatio), row.handled(),
		})
	}
	table.Write(&b)
	rig.WriteFailures(&b, r.Failures)
	return b.String()
}

// handled returns the figures of a limited number of handlers.
func (r *Row) handled() string {
	if r.Handlers == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f (%d handlers, %.0f/s)", r.HandledRatio, r.Handlers, r.Handled.Served)
}

func rounded(d time.Duration) string { return d.Round(10 * time.Microsecond).String() }

// parse returns the status of a response, and reports whether all of it is there.
func parse(data []byte) (status int, whole bool) {
	head, body, whole := bytes.Cut(data, []byte("\r\n\r\n"))
	if !whole || len(head) < len("HTTP/1.1 200") {
		return 0, false
	}
	status, _ = strconv.Atoi(string(head[len("HTTP/1.1 "):len("HTTP/1.1 200")]))
	_, length, _ := bytes.Cut(head, []byte("\r\nContent-Length: "))
	length, _, _ = bytes.Cut(length, []byte("\r\n"))
	size, err := strconv.Atoi(string(length))
	return status, err == nil && len(body) >= size
}
