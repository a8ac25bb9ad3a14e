package otelfasthttp

import (
	"context"
	"maps"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

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

const (
	// maxSeries is how many sets of attributes are kept. Further ones are made for each request.
	maxSeries = 1024
	// shards is how many places count at the same time. It is a power of two.
	shards = 16
	// recents is how many series are found without a map. It is a power of two.
	recents = 64
)

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

// recent returns an index that differs for series of the same program, usually.
func (s *series) recent() uint {
	at := uint(s.status)*7 + uint(s.method)*5 + uint(s.port) + uint(len(s.address))
	if n := len(s.route); n > 0 {
		at += uint(n)*11 + uint(s.route[n-1])*3 + uint(s.route[n/2])*13
	}
	return at % recents
}

// name returns the name of a span.
func (s *series) name() string {
	if s.route == "" {
		return s.method.spanName()
	}
	return s.method.spanName() + " " + s.route
}

// prepared has the attributes and the name of a series.
type prepared struct {
	series  series
	options []metric.RecordOption // for a meter
	name    string                // of spans
	set     attribute.Set         // for Metrics, as cells
	cells   [shards]atomic.Pointer[cell]
}

// activeKind is a kind of active requests: their method and their scheme.
type activeKind struct {
	set     attribute.Set
	options []metric.ObserveOption
	seen    atomic.Bool
}

// activeCounts are numbers of active requests. They are counters of this package, which a meter
// reads: one of the meter takes longer to change than a request.
type activeCounts struct {
	n [len(methods)][len(schemeAttributes)]atomic.Int64
	_ [64]byte // other processors change the next ones
}

// instruments are the metrics of a server or a client.
type instruments struct {
	own          bool // they are a part of Metrics, and the next three are nil
	duration     metric.Float64Histogram
	requestSize  metric.Int64Histogram
	responseSize metric.Int64Histogram
	kinds        [len(methods)][len(schemeAttributes)]activeKind // of a server
	active       [shards]activeCounts
	recent       [recents]atomic.Pointer[prepared]
	known        atomic.Pointer[map[series]*prepared]
	mu           sync.Mutex // to change known
	overflow     *prepared  // for Metrics, of further series
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
	in.prepareKinds()
	_, err = httpconv.NewServerActiveRequestsObservable(m, metric.WithInt64Callback(in.observeActive))
	handle(err)
	return in
}

// prepareKinds makes the attributes of active requests.
func (in *instruments) prepareKinds() {
	for i := range in.kinds {
		for j := range in.kinds[i] {
			k := &in.kinds[i][j]
			k.set = attribute.NewSet(methodAttributes[i], schemeAttributes[j])
			k.options = []metric.ObserveOption{metric.WithAttributeSet(k.set)}
		}
	}
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
	in.eachActive(func(k *activeKind, n int64) { o.Observe(n, k.options...) })
	return nil
}

// eachActive calls f for each kind of active requests that has occurred.
func (in *instruments) eachActive(f func(k *activeKind, n int64)) {
	for i := range in.kinds {
		for j := range in.kinds[i] {
			k := &in.kinds[i][j]
			if !k.seen.Load() {
				continue
			}
			n := int64(0)
			for shard := range in.active {
				n += in.active[shard].n[i][j].Load()
			}
			f(k, n)
		}
	}
}

// count adds to the number of active requests.
func (in *instruments) count(shard uint, s *series, change int64) {
	i, j := s.method, scheme(s.secure)
	in.active[shard%shards].n[i][j].Add(change)
	if k := &in.kinds[i][j]; !k.seen.Load() {
		k.seen.Store(true)
	}
}

// of returns the attributes and the name of a series.
func (in *instruments) of(s *series) *prepared {
	recent := &in.recent[s.recent()]
	p := recent.Load()
	if p != nil && p.series == *s {
		return p
	}
	known := *in.known.Load()
	switch p = known[*s]; {
	case p != nil:
	case len(known) < maxSeries:
		p = in.add(s)
	case in.own:
		return in.overflow
	default:
		return in.prepare(*s)
	}
	recent.Store(p)
	return p
}

// add adds a series, unless there are too many of them by now.
func (in *instruments) add(s *series) *prepared {
	in.mu.Lock()
	defer in.mu.Unlock()
	known := *in.known.Load()
	if p := known[*s]; p != nil {
		return p
	}
	if in.own && len(known) >= maxSeries {
		return in.overflow
	}
	p := in.prepare(*s)
	if len(known) < maxSeries {
		changed := maps.Clone(known)
		changed[*s] = p
		in.known.Store(&changed)
	}
	return p
}

func (in *instruments) prepare(s series) *prepared {
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
	if s.route != "" {
		attrs = append(attrs, semconv.HTTPRoute(s.route))
	}
	p := &prepared{series: s, set: attribute.NewSet(attrs...), name: s.name()}
	if !in.own {
		p.options = []metric.RecordOption{metric.WithAttributeSet(p.set)}
	}
	return p
}

// record records a request. Sizes below 0 are unknown.
func (in *instruments) record(ctx context.Context, shard uint, p *prepared, took time.Duration, requestSize, responseSize int64) {
	if in.own {
		p.count(shard, took, requestSize, responseSize)
		return
	}
	in.duration.Record(ctx, took.Seconds(), p.options...)
	if requestSize >= 0 && in.requestSize.Enabled(ctx) {
		in.requestSize.Record(ctx, requestSize, p.options...)
	}
	if responseSize >= 0 && in.responseSize.Enabled(ctx) {
		in.responseSize.Record(ctx, responseSize, p.options...)
	}
}
