package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"math"
	"math/bits"
	"net"
	"runtime"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/sse"
)

// monitor counts the events of a server, and shows the counts to browsers.
type monitor struct {
	server *fasthttp.Server
	topic  sse.Topic

	accepted, ended atomic.Uint64 // connections
	begun           atomic.Int64  // handlers that run
	classes         [6]atomic.Uint64
	queued          atomic.Uint64 // requests refused because of Server.MaxQueueTime
	refused         atomic.Uint64 // requests and connections refused for other reasons
	bytes           atomic.Int64
	times           histogram

	mu     sync.Mutex
	latest []request // the latest ones, newest first
}

// request is a request as the page shows it.
type request struct {
	ID       uint64  `json:"id"`
	Method   string  `json:"method"`
	Path     string  `json:"path"`
	Status   int     `json:"status"`
	Protocol string  `json:"protocol"`
	Millis   float64 `json:"ms"`
}

// snapshot is the data of an event. All counts are totals: the page computes rates.
type snapshot struct {
	Time        int64      `json:"time"` // in Unix milliseconds
	Statuses    [6]uint64  `json:"statuses"`
	Queued      uint64     `json:"queued"`
	Refused     uint64     `json:"refused"`
	Bytes       int64      `json:"bytes"`
	Running     int64      `json:"running"` // handlers
	Open        int32      `json:"open"`    // connections
	Accepted    uint64     `json:"accepted"`
	Ended       uint64     `json:"ended"`
	Loops       int        `json:"loops"`
	Wait        float64    `json:"wait"` // 99th percentile for a processor, in milliseconds
	Goroutines  int        `json:"goroutines"`
	Percentiles [3]float64 `json:"percentiles"` // 50, 90 and 99 of the last interval, in milliseconds
	Latest      []request  `json:"latest"`
}

const (
	// interval is the time between two events.
	interval = time.Second
	// shown is how many of the latest requests an event has.
	shown = 12
	// maxPath is how much of a path is shown.
	maxPath = 60
)

// newMonitor adds hooks to a server, which must not be in use.
func newMonitor(s *fasthttp.Server) *monitor {
	m := &monitor{server: s}
	s.Trace = &fasthttp.ServerTrace{
		ConnAccepted:  func(uint64, net.Conn) { m.accepted.Add(1) },
		ConnEnded:     func(uint64, net.Conn, fasthttp.ConnEnd) { m.ended.Add(1) },
		HandlerBegins: func(*fasthttp.RequestCtx) { m.begun.Add(1) },
		HandlerEnds:   func(*fasthttp.RequestCtx) { m.begun.Add(-1) },
		ResponseSent:  m.sent,
	}
	return m
}

// sent is called after each response.
func (m *monitor) sent(ctx *fasthttp.RequestCtx, sent fasthttp.TracedResponse) {
	m.classes[min(sent.StatusCode/100, 5)].Add(1)
	m.bytes.Add(sent.Bytes)
	switch {
	case errors.Is(sent.Refused, fasthttp.ErrQueueTime):
		m.queued.Add(1)
	case sent.Refused != nil:
		m.refused.Add(1)
	}
	took := sent.Receiving + sent.Handling + sent.Sending
	m.times.add(took)

	path := ctx.Path()
	r := request{
		ID: ctx.ID(), Method: string(ctx.Method()), Path: string(path[:min(len(path), maxPath)]),
		Status: sent.StatusCode, Protocol: sent.Protocol, Millis: millis(took),
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.latest) < shown {
		m.latest = append(m.latest, r)
	}
	copy(m.latest[1:], m.latest)
	m.latest[0] = r
}

// publish sends an event in each interval, until ctx ends.
func (m *monitor) publish(ctx context.Context) {
	defer m.topic.Close()
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	var times, scheduled distribution
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			// Publish fails only for invalid events
			_ = m.topic.Publish(sse.Event{Data: m.snapshot(&times, &scheduled)})
		}
	}
}

// snapshot returns the data of an event. times and scheduled come from the last one,
// which it continues.
func (m *monitor) snapshot(times, scheduled *distribution) []byte {
	now, waits := m.times.read(), schedulerWaits()
	fresh := now.since(*times)
	s := snapshot{
		Time:        time.Now().UnixMilli(),
		Queued:      m.queued.Load(),
		Refused:     m.refused.Load(),
		Bytes:       m.bytes.Load(),
		Running:     m.begun.Load(),
		Open:        m.server.GetOpenConnectionsCount(),
		Accepted:    m.accepted.Load(),
		Ended:       m.ended.Load(),
		Loops:       runtime.GOMAXPROCS(0),
		Wait:        waits.since(*scheduled).percentile(99),
		Goroutines:  runtime.NumGoroutine(),
		Percentiles: [3]float64{fresh.percentile(50), fresh.percentile(90), fresh.percentile(99)},
		Latest:      []request{},
	}
	for i := range m.classes {
		s.Statuses[i] = m.classes[i].Load()
	}
	m.mu.Lock()
	s.Latest = append(s.Latest, m.latest...)
	m.mu.Unlock()
	*times, *scheduled = now, waits
	data, err := json.Marshal(s)
	if err != nil {
		// there is no value that cannot be encoded
		panic(err)
	}
	return data
}

//go:embed page.html
var page []byte

// serve serves the page and its events.
func (m *monitor) serve(ctx *fasthttp.RequestCtx) {
	switch path := string(ctx.Path()); {
	case !ctx.IsGet():
		ctx.Error("Method not allowed", fasthttp.StatusMethodNotAllowed)
		ctx.Response.Header.Set("Allow", "GET")
	case path == "/":
		ctx.Response.Header.Set("Content-Security-Policy", "default-src 'self' 'unsafe-inline'")
		ctx.Success("text/html; charset=utf-8", page)
	case path == "/events":
		m.topic.Open(ctx, sse.Options{})
	default:
		ctx.NotFound()
	}
}

// histogram counts times. Each power of two has four buckets, so that a percentile is right to
// a fifth.
type histogram [256]atomic.Uint64

func (h *histogram) add(d time.Duration) {
	n := uint64(max(d, 4))
	power := bits.Len64(n) - 3
	h[power*4+int(n>>power)-4].Add(1)
}

// read returns the counts.
func (h *histogram) read() distribution {
	var d distribution
	for i := range h {
		d.counts = append(d.counts, h[i].Load())
		d.bounds = append(d.bounds, float64(uint64(i%4+5)<<(i/4)))
	}
	return d
}

// distribution has the counts of buckets, and their upper bounds in nanoseconds.
type distribution struct {
	counts []uint64
	bounds []float64
}

// since returns the counts since earlier.
func (d distribution) since(earlier distribution) distribution {
	fresh := distribution{bounds: d.bounds}
	for i, n := range d.counts {
		if i < len(earlier.counts) {
			n -= earlier.counts[i]
		}
		fresh.counts = append(fresh.counts, n)
	}
	return fresh
}

// percentile returns the time in milliseconds that p of 100 do not exceed, or 0 if nothing was
// counted.
func (d distribution) percentile(p float64) float64 {
	var all, sum uint64
	for _, n := range d.counts {
		all += n
	}
	for i, n := range d.counts {
		if sum += n; n > 0 && float64(sum) >= p/100*float64(all) {
			return millis(time.Duration(d.bounds[i]))
		}
	}
	return 0
}

// schedulerWaits returns how long goroutines that could run have waited for a processor.
func schedulerWaits() (d distribution) {
	sample := []metrics.Sample{{Name: "/sched/latencies:seconds"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindFloat64Histogram {
		return d
	}
	h := sample[0].Value.Float64Histogram()
	d.counts = append(d.counts, h.Counts...)
	for i := range h.Counts {
		bound := h.Buckets[i+1]
		if math.IsInf(bound, 1) {
			bound = h.Buckets[i]
		}
		d.bounds = append(d.bounds, bound*1e9)
	}
	return d
}

func millis(d time.Duration) float64 {
	return math.Round(float64(d)/float64(time.Microsecond)) / 1000
}
