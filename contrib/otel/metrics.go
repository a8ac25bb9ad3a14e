package otelfasthttp

import (
	"context"
	"maps"
	"reflect"
	"sync"
	"sync/atomic"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/semconv/v1.43.0/httpconv"
)

// The boundaries of buckets: the ones advised by the conventions for times, in seconds, and one for
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

// prepared has the attributes and the name of a series.
type prepared struct {
	options []metric.RecordOption
	name    string // of spans
}

// active is the number of active requests with a method and a scheme. It is a counter of this
// package, which the meter reads: one of the meter takes longer to change than a request.
type active struct {
	n       atomic.Int64
	seen    atomic.Bool
	options []metric.ObserveOption
}

// instruments are the metrics of a server or a client.
type instruments struct {
	duration     metric.Float64Histogram
	requestSize  metric.Int64Histogram
	responseSize metric.Int64Histogram
	active       [len(methods)][len(schemeAttributes)]active // of a server
	known        atomic.Pointer[map[series]*prepared]
	mu           sync.Mutex // to change known
}

// shared has the instruments of servers by their meters: the SDK keeps only one of several values
// that an observable counter has for the same attributes.
var shared struct {
	sync.Mutex
	of map[metric.Meter]*instruments
}

// serverInstruments returns the instruments of all servers with a meter.
func serverInstruments(m metric.Meter) *instruments {
	if !reflect.TypeOf(m).Comparable() {
		return newServerInstruments(m)
	}
	shared.Lock()
	defer shared.Unlock()
	in := shared.of[m]
	if in == nil {
		if shared.of == nil {
			shared.of = make(map[metric.Meter]*instruments)
		}
		in = newServerInstruments(m)
		shared.of[m] = in
	}
	return in
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
	in.duration, in.requestSize, in.responseSize = duration.Inst(), requestSize.Inst(), responseSize.Inst()
	for i := range in.active {
		for j := range in.active[i] {
			in.active[i][j].options = []metric.ObserveOption{metric.WithAttributeSet(attribute.NewSet(methodAttributes[i], schemeAttributes[j]))}
		}
	}
	_, err = httpconv.NewServerActiveRequestsObservable(m, metric.WithInt64Callback(in.observeActive))
	handle(err)
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

// observeActive reports the active requests.
func (in *instruments) observeActive(_ context.Context, o metric.Int64Observer) error {
	for i := range in.active {
		for j := range in.active[i] {
			if a := &in.active[i][j]; a.seen.Load() {
				o.Observe(a.n.Load(), a.options...)
			}
		}
	}
	return nil
}

// count adds to the number of active requests.
func (in *instruments) count(s *series, change int64) {
	a := &in.active[s.method][scheme(s.secure)]
	a.n.Add(change)
	if !a.seen.Load() {
		a.seen.Store(true)
	}
}

// of returns the attributes and the name of a series.
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
	if requestSize >= 0 && in.requestSize.Enabled(ctx) {
		in.requestSize.Record(ctx, requestSize, p.options...)
	}
	if responseSize >= 0 && in.responseSize.Enabled(ctx) {
		in.responseSize.Record(ctx, responseSize, p.options...)
	}
}
