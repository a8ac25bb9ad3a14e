// Program cost measures how much more a request costs with an access log, contrib/prometheus and
// contrib/otel: the processor time of the process, in nanoseconds a request, as medians of rounds in
// which all rows take their turn. Each row is compared with the row "none" of its round.
//
//	go run ./cost
//	go run ./cost -tcp
//
// With -tcp requests come from a client of this process over TCP sockets; without it, from memory.
// Exporters discard their input.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"runtime"
	"slices"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/accesslog"
	otelfasthttp "github.com/valyala/fasthttp/contrib/otel"
	fasthttpprometheus "github.com/valyala/fasthttp/contrib/prometheus"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/metric"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

var (
	rounds   = flag.Int("rounds", 15, "rounds")
	requests = flag.Int("requests", 50000, "requests of a row in a round")
	overTCP  = flag.Bool("tcp", false, "send the requests over TCP")
	parent   = flag.Bool("parent", false, "requests name a parent span that is not sampled")
	only     = flag.String("row", "", "measure this row alone, for a profiler")
)

// discard is an exporter of spans.
type discard struct{}

func (discard) ExportSpans(context.Context, []sdk.ReadOnlySpan) error { return nil }
func (discard) Shutdown(context.Context) error                        { return nil }

// row is a set of things that are on.
type row struct {
	name   string
	attach []func(s *fasthttp.Server) (flush func())
}

var propagator = otelfasthttp.WithPropagator(propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{}))

// pauses are called between requests from memory, which arrive faster than from any network.
var pauses []func()

func log(s *fasthttp.Server) (flush func()) {
	l := accesslog.New(accesslog.Options{Writer: io.Discard})
	l.Attach(s)
	pauses = append(pauses, func() { check(l.Flush(context.Background())) })
	return func() {
		check(l.Close())
		if n := l.Dropped(); n > 0 {
			check(fmt.Errorf("%d entries were dropped", n))
		}
	}
}

func prom(s *fasthttp.Server) (flush func()) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(fasthttpprometheus.NewServer(s, fasthttpprometheus.Options{}))
	return func() {
		_, err := registry.Gather()
		check(err)
	}
}

// withOtel attaches contrib/otel. Batches of spans are exported.
func withOtel(s *fasthttp.Server, sampler sdk.Sampler, batcher sdk.TracerProviderOption, reader *metric.ManualReader, opts ...otelfasthttp.Option) (flush func()) {
	var tracers *sdk.TracerProvider
	opts = append(opts, propagator, otelfasthttp.WithMeterProvider(metric.NewMeterProvider(metric.WithReader(reader))))
	if sampler == nil {
		opts = append(opts, otelfasthttp.WithTracerProvider(noop.NewTracerProvider()))
	} else {
		tracers = sdk.NewTracerProvider(batcher, sdk.WithSampler(sampler))
		opts = append(opts, otelfasthttp.WithTracerProvider(tracers))
	}
	otelfasthttp.Attach(s, opts...)
	return func() {
		if tracers != nil {
			check(tracers.Shutdown(context.Background()))
		}
	}
}

func metrics(s *fasthttp.Server) (flush func()) {
	m := otelfasthttp.NewMetrics()
	return withOtel(s, nil, nil, metric.NewManualReader(metric.WithProducer(m)), otelfasthttp.WithMetrics(m))
}

func otel(s *fasthttp.Server) (flush func()) {
	m := otelfasthttp.NewMetrics()
	return withOtel(s, sdk.ParentBased(sdk.AlwaysSample()), sdk.WithSpanProcessor(otelfasthttp.NewSpanBatcher(discard{}, otelfasthttp.SpanBatcherOptions{})), metric.NewManualReader(metric.WithProducer(m)), otelfasthttp.WithMetrics(m), otelfasthttp.WithSampleRatio(.01))
}

func sdkMetrics(s *fasthttp.Server) (flush func()) {
	return withOtel(s, nil, nil, metric.NewManualReader())
}

func sdkOtel(s *fasthttp.Server) (flush func()) {
	return withOtel(s, sdk.ParentBased(sdk.TraceIDRatioBased(.01)), sdk.WithBatcher(discard{}), metric.NewManualReader())
}

func all(s *fasthttp.Server) (flush func()) {
	return withOtel(s, sdk.AlwaysSample(), sdk.WithBatcher(discard{}), metric.NewManualReader())
}

func allBatched(s *fasthttp.Server) (flush func()) {
	m := otelfasthttp.NewMetrics()
	return withOtel(s, sdk.AlwaysSample(), sdk.WithSpanProcessor(otelfasthttp.NewSpanBatcher(discard{}, otelfasthttp.SpanBatcherOptions{})), metric.NewManualReader(metric.WithProducer(m)), otelfasthttp.WithMetrics(m))
}

type attaches = []func(*fasthttp.Server) (flush func())

var rows = []row{
	{"none", nil},
	{"access log", attaches{log}},
	{"prometheus", attaches{prom}},
	{"access log and prometheus", attaches{log, prom}},
	{"otel: metrics", attaches{metrics}},
	{"otel: metrics, 1 % of traces", attaches{otel}},
	{"access log, prometheus, otel: metrics, 1 % of traces", attaches{log, prom, otel}},
	{"otel: metrics, all traces", attaches{allBatched}},
	{"otel: metrics of a MeterProvider", attaches{sdkMetrics}},
	{"otel: metrics and 1 % of traces by the SDK", attaches{sdkOtel}},
	{"otel: metrics and all traces by the SDK", attaches{all}},
}

func main() {
	flag.Parse()
	slog.SetLogLoggerLevel(slog.LevelError)
	if *only != "" {
		rows = slices.DeleteFunc(rows, func(r row) bool { return r.name != *only })
	}
	took := make([][]float64, len(rows))
	for round := range *rounds {
		for i := range rows {
			i = (i + round) % len(rows)
			took[i] = append(took[i], measure(rows[i]))
		}
	}
	out := tabwriter.NewWriter(os.Stdout, 0, 8, 2, ' ', 0)
	for i, r := range rows {
		if i == 0 {
			fmt.Fprintf(out, "%s\t%.0f ns\n", r.name, median(took[i]))
			continue
		}
		more, ratios := make([]float64, *rounds), make([]float64, *rounds)
		for round := range *rounds {
			more[round] = took[i][round] - took[0][round]
			ratios[round] = took[i][round] / took[0][round]
		}
		fmt.Fprintf(out, "%s\t+%.0f ns\tx %.2f\n", r.name, median(more), median(ratios))
	}
	check(out.Flush())
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

// measure returns the processor time of a request.
func measure(r row) float64 {
	s := &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
		otelfasthttp.SetRoute(ctx, "/users/{id}")
		ctx.SetBodyString("hello")
	}}
	var flushes []func()
	pauses = nil
	for _, attach := range r.attach {
		flushes = append(flushes, attach(s))
	}
	serve := inMemory
	if *overTCP {
		serve = overSockets
	}
	runtime.GC()
	var before, after time.Duration
	serve(s, func() { before = used() }, func() {
		for _, flush := range flushes {
			flush()
		}
		after = used()
	})
	return float64(after-before) / float64(*requests)
}

func request() []byte {
	text := "GET /users/7?name=x HTTP/1.1\r\nHost: example.com\r\nUser-Agent: Mozilla/5.0 (X11; Linux x86_64)\r\nAccept: */*\r\n"
	if *parent {
		text += "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00\r\n"
	}
	return []byte(text + "\r\n")
}

func inMemory(s *fasthttp.Server, begin, end func()) {
	begin()
	_ = s.ServeConn(&memory{request: request(), left: *requests})
	end()
}

// overSockets has a client with several connections, each with one request at a time.
func overSockets(s *fasthttp.Server, begin, end func()) {
	const conns = 8
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	check(err)
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	ended := make(chan error, conns)
	begin()
	for range conns {
		go func() { ended <- exchange(ln.Addr(), *requests/conns) }()
	}
	for range conns {
		check(<-ended)
	}
	end()
	check(s.Shutdown())
	check(<-served)
}

// exchange sends requests on a connection.
func exchange(addr net.Addr, n int) error {
	conn, err := net.Dial("tcp4", addr.String())
	if err != nil {
		return err
	}
	defer conn.Close()
	send, buf := request(), make([]byte, 4096)
	for range n {
		if _, err := conn.Write(send); err != nil {
			return err
		}
		// the response is small: it arrives as a whole
		if _, err := conn.Read(buf); err != nil {
			return err
		}
	}
	return nil
}

// used returns the processor time of the process.
func used() time.Duration {
	var u syscall.Rusage
	check(syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// memory is a connection that sends the same request again and again.
type memory struct {
	net.Conn
	request []byte
	left    int
}

var memoryAddr = &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1)}

func (c *memory) Read(p []byte) (int, error) {
	if c.left == 0 {
		return 0, io.EOF
	}
	if c.left--; c.left%1024 == 0 {
		for _, pause := range pauses {
			pause()
		}
	}
	return copy(p, c.request), nil
}

func (c *memory) Write(p []byte) (int, error)      { return len(p), nil }
func (c *memory) Close() error                     { return nil }
func (c *memory) LocalAddr() net.Addr              { return memoryAddr }
func (c *memory) RemoteAddr() net.Addr             { return memoryAddr }
func (c *memory) SetDeadline(time.Time) error      { return nil }
func (c *memory) SetReadDeadline(time.Time) error  { return nil }
func (c *memory) SetWriteDeadline(time.Time) error { return nil }
