package otelfasthttp

import (
	"context"
	"maps"
	"sync"
	"sync/atomic"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/semconv/v1.43.0/httpconv"
)

// The boundaries of buckets: those that the conventions advise for times, in seconds, and one for
// each factor of about eight for sizes.
var (
	durationBoundaries = []float64{0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10}
	sizeBoundaries     = []float64{0, 128, 1 << 10, 8 << 10, 64 << 10, 512 << 10, 4 << 20, 32 << 20, 256 << 20, 2 << 30}
)

// maxSeries is how many sets of attributes are kept. Further ones are made for each request.
const maxSeries = 1024

// series are the attributes of metrics.
type series struct {
	method  method
	version version
	secure  bool
	status  int
	route   string // of a server
	address string // of a client
	port    int    // of a client
	failure string // error.type
}

// prepared has what belongs to a series.
type prepared struct {
	options []metric.RecordOption
	name    string // of spans
}

// instruments are the metrics of a server or a client.
type instruments struct {
	duration      metric.Float64Histogram
	requestSize   metric.Int64Histogram
	responseSize  metric.Int64Histogram
	active        metric.Int64UpDownCounter // of a server
	activeOptions [len(methods)][len(schemeAttributes)][]metric.AddOption
	known         atomic.Pointer[map[series]*prepared]
	mu            sync.Mutex // to change known
}

func newServerInstruments(m metric.Meter) *instruments {
	in := new(instruments)
	in.known.Store(&map[series]*prepared{})
	duration, err := httpconv.NewServerRequestDuration(m, metric.WithExplicitBucketBoundaries(durationBoundaries...))
	handle(err)
	requestSize, err := httpconv.NewServerRequestBodySize(m, metric.WithExplicitBucketBoundaries(sizeBoundaries...))
	handle(err)
	responseSize, err := httpconv.NewServerResponseBodySize(m, metric.WithExplicitBucketBoundaries(sizeBoundaries...))
	handle(err)
	active, err := httpconv.NewServerActiveRequests(m)
	handle(err)
	in.duration, in.requestSize, in.responseSize, in.active = duration.Inst(), requestSize.Inst(), responseSize.Inst(), active.Inst()
	for i := range in.activeOptions {
		for j := range in.activeOptions[i] {
			in.activeOptions[i][j] = []metric.AddOption{metric.WithAttributeSet(attribute.NewSet(methodAttributes[i], schemeAttributes[j]))}
		}
	}
	return in
}

func newClientInstruments(m metric.Meter) *instruments {
	in := new(instruments)
	in.known.Store(&map[series]*prepared{})
	duration, err := httpconv.NewClientRequestDuration(m, metric.WithExplicitBucketBoundaries(durationBoundaries...))
	handle(err)
	requestSize, err := httpconv.NewClientRequestBodySize(m, metric.WithExplicitBucketBoundaries(sizeBoundaries...))
	handle(err)
	responseSize, err := httpconv.NewClientResponseBodySize(m, metric.WithExplicitBucketBoundaries(sizeBoundaries...))
	handle(err)
	in.duration, in.requestSize, in.responseSize = duration.Inst(), requestSize.Inst(), responseSize.Inst()
	return in
}

// handle reports an error of an instrument, which does nothing then.
func handle(err error) {
	if err != nil {
		otel.Handle(err)
	}
}

// of returns what belongs to a series.
func (in *instruments) of(s series) *prepared {
	known := *in.known.Load()
	if p := known[s]; p != nil {
		return p
	}
	p := prepare(s)
	if len(known) >= maxSeries {
		return p
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	changed := maps.Clone(*in.known.Load())
	changed[s] = p
	in.known.Store(&changed)
	return p
}

func prepare(s series) *prepared {
	attrs := make([]attribute.KeyValue, 0, 8)
	attrs = append(attrs, methodAttributes[s.method], schemeAttributes[scheme(s.secure)])
	if s.version != versionUnknown {
		attrs = append(attrs, versionAttributes[s.version])
	}
	if s.status != 0 {
		attrs = append(attrs, semconv.HTTPResponseStatusCode(s.status))
	}
	if s.failure != "" {
		attrs = append(attrs, semconv.ErrorTypeKey.String(s.failure))
	}
	if s.address != "" {
		attrs = append(attrs, semconv.ServerAddress(s.address), semconv.ServerPort(s.port))
	}
	name := s.method.spanName()
	if s.route != "" {
		attrs = append(attrs, semconv.HTTPRoute(s.route))
		name += " " + s.route
	}
	return &prepared{[]metric.RecordOption{metric.WithAttributeSet(attribute.NewSet(attrs...))}, name}
}

// record records a request. Sizes below 0 are unknown.
func (in *instruments) record(ctx context.Context, p *prepared, seconds float64, requestSize, responseSize int64) {
	in.duration.Record(ctx, seconds, p.options...)
	if requestSize >= 0 {
		in.requestSize.Record(ctx, requestSize, p.options...)
	}
	if responseSize >= 0 {
		in.responseSize.Record(ctx, responseSize, p.options...)
	}
}
