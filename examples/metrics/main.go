// Command metrics counts and times its requests, and serves the metrics on /metrics in
// the text format of Prometheus.
//
// There are few metrics, so the program needs no library for them. If there are many,
// use the library of Prometheus, whose promhttp.Handler can be served with
// fasthttpadaptor.NewFastHTTPHandler.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/valyala/fasthttp"
)

func main() {
	addr := flag.String("addr", ":8080", "the TCP address to listen on")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *addr, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// run serves addr until ctx ends.
func run(ctx context.Context, addr string, stdout io.Writer) error {
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	m := new(metrics)
	server := &fasthttp.Server{
		Handler:      m.measure(serve),
		Name:         "metrics",
		ReadTimeout:  10 * time.Second,
		WriteTimeout: 10 * time.Second,
		IdleTimeout:  time.Minute,
	}
	m.server = server
	fmt.Fprintf(stdout, "metrics listens on %s\n", ln.Addr())
	return server.Run(ctx, ln)
}

// serve is an example of a handler.
func serve(ctx *fasthttp.RequestCtx) {
	if string(ctx.Path()) != "/" {
		ctx.NotFound()
		return
	}
	ctx.WriteString("Hello, world!\n")
}

// bounds are the upper bounds of the buckets in which durations are counted.
var bounds = [...]time.Duration{
	100 * time.Microsecond, time.Millisecond, 10 * time.Millisecond, 100 * time.Millisecond, time.Second, 10 * time.Second,
}

// metrics are the metrics. Counting takes no lock, except for a new pair of method and
// status.
type metrics struct {
	server   *fasthttp.Server
	requests sync.Map // label -> *atomic.Uint64
	inFlight atomic.Int64
	classes  [len(bounds) + 1]atomic.Uint64
	nanos    atomic.Int64
}

// label distinguishes requests. It does not contain values that clients choose freely, such as
// paths: otherwise the number of labels would be unlimited.
type label struct {
	method string
	status int
}

// methods are the methods that are counted by name.
var methods = map[string]bool{
	"GET": true, "HEAD": true, "POST": true, "PUT": true, "PATCH": true, "DELETE": true, "OPTIONS": true,
}

// measure counts the requests to h, and serves the metrics. A public server serves them on a
// separate address, as the example app does: only operators should see them.
func (m *metrics) measure(h fasthttp.RequestHandler) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		if string(ctx.Path()) == "/metrics" {
			ctx.SetContentType("text/plain; version=0.0.4; charset=utf-8")
			m.write(ctx)
			return
		}
		m.inFlight.Add(1)
		start := time.Now()
		status := fasthttp.StatusInternalServerError
		// also if h panics
		defer func() {
			m.inFlight.Add(-1)
			m.count(string(ctx.Method()), status, time.Since(start))
		}()
		h(ctx)
		status = ctx.Response.StatusCode()
	}
}

func (m *metrics) count(method string, status int, taken time.Duration) {
	if !methods[method] {
		method = "other"
	}
	n, ok := m.requests.Load(label{method, status})
	if !ok {
		n, _ = m.requests.LoadOrStore(label{method, status}, new(atomic.Uint64))
	}
	n.(*atomic.Uint64).Add(1)
	class := 0
	for class < len(bounds) && taken > bounds[class] {
		class++
	}
	m.classes[class].Add(1)
	m.nanos.Add(int64(taken))
}

// write writes the metrics.
func (m *metrics) write(w io.Writer) {
	head := func(name, kind, help string) {
		fmt.Fprintf(w, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
	}
	head("http_requests_total", "counter", "Requests by method and status.")
	m.requests.Range(func(key, value any) bool {
		l := key.(label)
		fmt.Fprintf(w, "http_requests_total{method=%q,status=\"%d\"} %d\n", l.method, l.status, value.(*atomic.Uint64).Load())
		return true
	})

	head("http_request_duration_seconds", "histogram", "Time that handlers took.")
	total := uint64(0)
	for i := range m.classes {
		total += m.classes[i].Load()
		bound := "+Inf"
		if i < len(bounds) {
			bound = strconv.FormatFloat(bounds[i].Seconds(), 'g', -1, 64)
		}
		fmt.Fprintf(w, "http_request_duration_seconds_bucket{le=%q} %d\n", bound, total)
	}
	fmt.Fprintf(w, "http_request_duration_seconds_sum %g\n", time.Duration(m.nanos.Load()).Seconds())
	fmt.Fprintf(w, "http_request_duration_seconds_count %d\n", total)

	head("http_requests_in_flight", "gauge", "Requests that are being answered.")
	fmt.Fprintf(w, "http_requests_in_flight %d\n", m.inFlight.Load())
	if m.server != nil {
		head("http_connections", "gauge", "Open connections.")
		fmt.Fprintf(w, "http_connections %d\n", m.server.GetOpenConnectionsCount())
		head("http_connections_rejected_total", "counter", "Connections that were one too many.")
		fmt.Fprintf(w, "http_connections_rejected_total %d\n", m.server.GetRejectedConnectionsCount())
	}
	head("go_goroutines", "gauge", "Goroutines.")
	fmt.Fprintf(w, "go_goroutines %d\n", runtime.NumGoroutine())
}
