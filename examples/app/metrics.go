package main

import (
	"fmt"
	"io"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// bounds are the upper bounds of the buckets in which durations are counted.
var bounds = [...]time.Duration{
	time.Millisecond, 5 * time.Millisecond, 25 * time.Millisecond, 100 * time.Millisecond, time.Second, 10 * time.Second,
}

// metrics counts responses, and has the gauges of the rest of the service. It writes the text
// format of Prometheus.
type metrics struct {
	gauges  []gauge
	all     sync.Map // label -> *atomic.Uint64
	buckets [len(bounds) + 1]atomic.Uint64
	nanos   atomic.Int64
	bytes   atomic.Int64
}

// label distinguishes responses. It has no values that clients choose freely: otherwise the
// number of labels would be unlimited.
type label struct {
	path   string // a key of routes, or "other"
	status int
}

// gauge is a number, read when the metrics are requested.
type gauge struct {
	name, help string
	value      func() int
}

func newMetrics(a *app) *metrics {
	return &metrics{gauges: []gauge{
		{"http_connections", "Open connections.", func() int { return int(a.public.GetOpenConnectionsCount()) }},
		{"http_connections_rejected", "Connections that were one too many.", func() int { return int(a.public.GetRejectedConnectionsCount()) }},
		{"http_handlers", "Handlers that run.", func() int { return len(a.slots) }},
		{"app_notes", "Notes in the store.", a.store.Count},
		{"app_sessions", "Sessions.", a.sessions.count},
		{"app_subscribers", "Streams of events.", a.events.Len},
		{"go_goroutines", "Goroutines.", runtime.NumGoroutine},
	}}
}

func (m *metrics) count(l label, taken time.Duration, bytes int64) {
	n, ok := m.all.Load(l)
	if !ok {
		n, _ = m.all.LoadOrStore(l, new(atomic.Uint64))
	}
	n.(*atomic.Uint64).Add(1)
	m.bytes.Add(bytes)
	if l.path == "/api/events" {
		// the duration of a stream does not measure the speed of the service
		return
	}
	bucket := 0
	for bucket < len(bounds) && taken > bounds[bucket] {
		bucket++
	}
	m.buckets[bucket].Add(1)
	m.nanos.Add(int64(taken))
}

func (m *metrics) write(w io.Writer) {
	head := func(name, kind, help string) {
		fmt.Fprintf(w, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
	}
	head("http_requests_total", "counter", "Responses by path and status; the status is 0 if none was sent.")
	m.all.Range(func(key, value any) bool {
		l := key.(label)
		fmt.Fprintf(w, "http_requests_total{path=%q,status=\"%d\"} %d\n", l.path, l.status, value.(*atomic.Uint64).Load())
		return true
	})
	head("http_response_bytes_total", "counter", "Bytes of responses.")
	fmt.Fprintf(w, "http_response_bytes_total %d\n", m.bytes.Load())

	head("http_request_duration_seconds", "histogram", "Time from the request to the end of the response.")
	total := uint64(0)
	for i := range m.buckets {
		total += m.buckets[i].Load()
		bound := "+Inf"
		if i < len(bounds) {
			bound = strconv.FormatFloat(bounds[i].Seconds(), 'g', -1, 64)
		}
		fmt.Fprintf(w, "http_request_duration_seconds_bucket{le=%q} %d\n", bound, total)
	}
	fmt.Fprintf(w, "http_request_duration_seconds_sum %g\n", time.Duration(m.nanos.Load()).Seconds())
	fmt.Fprintf(w, "http_request_duration_seconds_count %d\n", total)

	for _, g := range m.gauges {
		head(g.name, "gauge", g.help)
		fmt.Fprintf(w, "%s %d\n", g.name, g.value())
	}
}
