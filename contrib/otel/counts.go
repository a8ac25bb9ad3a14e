package otelfasthttp

import (
	"context"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdkscope "go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/semconv/v1.43.0/httpconv"
)

// Metrics counts requests without the help of a MeterProvider, in a small part of its time, and
// gives the SDK the results whenever a reader collects them. It is a metric.Producer:
//
//	m := otelfasthttp.NewMetrics()
//	reader := metric.NewPeriodicReader(exporter, metric.WithProducer(m))
//	provider := metric.NewMeterProvider(metric.WithReader(reader))
//	otelfasthttp.Attach(server, otelfasthttp.WithMetrics(m))
//
// The metrics have the same names, units, attributes and boundaries as with a MeterProvider. The
// differences: views do not apply to them, nor does the temporality that the reader selects; they are
// cumulative, and Delta has the other kind. Histograms have no minimum, no maximum and no exemplars.
// After 1024 sets of attributes, further requests are counted by one that has otel.metric.overflow.
//
// Several servers and clients can share a Metrics, and several readers.
type Metrics struct {
	started        time.Time
	server, client *instruments
}

// NewMetrics returns a Metrics for WithMetrics.
func NewMetrics() *Metrics {
	m := &Metrics{started: time.Now(), server: newOwnInstruments(), client: newOwnInstruments()}
	m.server.prepareKinds()
	return m
}

func newOwnInstruments() *instruments {
	in := &instruments{own: true}
	in.known.Store(&map[series]*prepared{})
	in.overflow = &prepared{set: attribute.NewSet(attribute.Bool("otel.metric.overflow", true)), series: series{status: -1}}
	return in
}

// Produce returns the requests since NewMetrics. It is a method of metric.Producer.
func (m *Metrics) Produce(context.Context) ([]metricdata.ScopeMetrics, error) {
	c := collection{temporality: metricdata.CumulativeTemporality, from: m.started, to: time.Now()}
	return c.produce(m), nil
}

// Delta returns a metric.Producer whose histograms have the requests since its last call, or since
// the call of Delta at first: for a single reader. Active requests are cumulative anyway.
func (m *Metrics) Delta() *DeltaMetrics {
	d := &DeltaMetrics{metrics: m, last: map[*prepared]totals{}, from: time.Now()}
	for _, in := range []*instruments{m.server, m.client} {
		in.each(func(p *prepared) { d.last[p] = p.totals() })
	}
	return d
}

// DeltaMetrics is a metric.Producer; see Metrics.Delta.
type DeltaMetrics struct {
	metrics *Metrics
	mu      sync.Mutex
	from    time.Time
	last    map[*prepared]totals
}

// Produce returns the requests since the last call.
func (d *DeltaMetrics) Produce(context.Context) ([]metricdata.ScopeMetrics, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := collection{temporality: metricdata.DeltaTemporality, from: d.from, to: time.Now(), last: d.last}
	d.from = c.to
	return c.produce(d.metrics), nil
}

// maxBuckets is the number of buckets of a histogram at most.
const maxBuckets = 15

// durationBounds and sizeBounds are the boundaries as integers, which take less time to compare.
var (
	durationBounds = integers(durationBoundaries, float64(time.Second))
	sizeBounds     = integers(sizeBoundaries, 1)
)

func integers(boundaries []float64, factor float64) (bounds []int64) {
	for _, b := range boundaries {
		bounds = append(bounds, int64(math.Round(b*factor)))
	}
	return bounds
}

// histogram is a histogram that several goroutines add to. Its number of values is the sum of its
// buckets.
type histogram struct {
	sum     atomic.Int64
	buckets [maxBuckets]atomic.Uint64
}

// add adds a value.
func (h *histogram) add(bounds []int64, value int64) {
	i := 0
	for i < len(bounds) && value > bounds[i] {
		i++
	}
	h.buckets[i].Add(1)
	if value != 0 {
		h.sum.Add(value)
	}
}

// cell counts the requests of a series, or a part of them. It is as large as six cache lines.
type cell struct{ duration, requestSize, responseSize histogram }

// count counts a request.
func (p *prepared) count(shard uint, took time.Duration, requestSize, responseSize int64) {
	at := &p.cells[shard%shards]
	c := at.Load()
	if c == nil {
		at.CompareAndSwap(nil, new(cell)) // another goroutine may be the first
		c = at.Load()
	}
	c.duration.add(durationBounds, int64(max(took, 0)))
	if requestSize >= 0 {
		c.requestSize.add(sizeBounds, requestSize)
	}
	if responseSize >= 0 {
		c.responseSize.add(sizeBounds, responseSize)
	}
}

// total is the content of a histogram.
type total struct {
	sum     int64
	count   uint64
	buckets [maxBuckets]uint64
}

// totals are the histograms of a series.
type totals struct{ duration, requestSize, responseSize total }

func (t *total) add(h *histogram) {
	t.sum += h.sum.Load() // before the buckets, so that a sum has its values
	for i := range h.buckets {
		n := h.buckets[i].Load()
		t.buckets[i] += n
		t.count += n
	}
}

func (t *total) subtract(other *total) {
	t.sum -= other.sum
	t.count -= other.count
	for i := range t.buckets {
		t.buckets[i] -= other.buckets[i]
	}
}

func (p *prepared) totals() (t totals) {
	for i := range p.cells {
		if c := p.cells[i].Load(); c != nil {
			t.duration.add(&c.duration)
			t.requestSize.add(&c.requestSize)
			t.responseSize.add(&c.responseSize)
		}
	}
	return t
}

// each calls f for each series.
func (in *instruments) each(f func(p *prepared)) {
	for _, p := range *in.known.Load() {
		f(p)
	}
	f(in.overflow)
}

// collection is the state of a call of Produce.
type collection struct {
	temporality metricdata.Temporality
	from, to    time.Time
	last        map[*prepared]totals // of the previous call, or nil for cumulative metrics
}

// produce returns the metrics that have values.
func (c *collection) produce(m *Metrics) []metricdata.ScopeMetrics {
	var all []metricdata.Metrics
	var (
		serverDuration httpconv.ServerRequestDuration
		serverRequest  httpconv.ServerRequestBodySize
		serverResponse httpconv.ServerResponseBodySize
		active         httpconv.ServerActiveRequests
		clientDuration httpconv.ClientRequestDuration
		clientRequest  httpconv.ClientRequestBodySize
		clientResponse httpconv.ClientResponseBodySize
	)
	all = append(all, c.histograms(m.server, serverDuration, serverRequest, serverResponse)...)
	if n := c.active(m, active); len(n.Data.(metricdata.Sum[int64]).DataPoints) > 0 {
		all = append(all, n)
	}
	all = append(all, c.histograms(m.client, clientDuration, clientRequest, clientResponse)...)
	if len(all) == 0 {
		return nil
	}
	return []metricdata.ScopeMetrics{{Scope: sdkscope.Scope{Name: ScopeName, SchemaURL: semconv.SchemaURL}, Metrics: all}}
}

// instrument is an instrument of the conventions.
type instrument interface {
	Name() string
	Description() string
	Unit() string
}

func metricOf(i instrument, data metricdata.Aggregation) metricdata.Metrics {
	return metricdata.Metrics{Name: i.Name(), Description: i.Description(), Unit: i.Unit(), Data: data}
}

// active returns the number of active requests.
func (c *collection) active(m *Metrics, i instrument) metricdata.Metrics {
	sum := metricdata.Sum[int64]{Temporality: metricdata.CumulativeTemporality}
	m.server.eachActive(func(k *activeKind, n int64) {
		sum.DataPoints = append(sum.DataPoints, metricdata.DataPoint[int64]{Attributes: k.set, StartTime: m.started, Time: c.to, Value: n})
	})
	return metricOf(i, sum)
}

// histograms returns the histograms of a server or a client that have values.
func (c *collection) histograms(in *instruments, duration, requestSize, responseSize instrument) (all []metricdata.Metrics) {
	durations := metricdata.Histogram[float64]{Temporality: c.temporality}
	requestSizes := metricdata.Histogram[int64]{Temporality: c.temporality}
	responseSizes := metricdata.Histogram[int64]{Temporality: c.temporality}
	in.each(func(p *prepared) {
		t := p.totals()
		if c.last != nil {
			now := t
			last := c.last[p]
			t.duration.subtract(&last.duration)
			t.requestSize.subtract(&last.requestSize)
			t.responseSize.subtract(&last.responseSize)
			c.last[p] = now
		}
		durations.DataPoints = appendPoint(durations.DataPoints, c, p, &t.duration, durationBoundaries, float64(t.duration.sum)/float64(time.Second))
		requestSizes.DataPoints = appendPoint(requestSizes.DataPoints, c, p, &t.requestSize, sizeBoundaries, t.requestSize.sum)
		responseSizes.DataPoints = appendPoint(responseSizes.DataPoints, c, p, &t.responseSize, sizeBoundaries, t.responseSize.sum)
	})
	if len(durations.DataPoints) > 0 {
		all = append(all, metricOf(duration, durations))
	}
	if len(requestSizes.DataPoints) > 0 {
		all = append(all, metricOf(requestSize, requestSizes))
	}
	if len(responseSizes.DataPoints) > 0 {
		all = append(all, metricOf(responseSize, responseSizes))
	}
	return all
}

// appendPoint appends the point of a series, unless it has no values.
func appendPoint[N int64 | float64](points []metricdata.HistogramDataPoint[N], c *collection, p *prepared, t *total, boundaries []float64, sum N) []metricdata.HistogramDataPoint[N] {
	if t.count == 0 {
		return points
	}
	return append(points, metricdata.HistogramDataPoint[N]{
		Attributes: p.set, StartTime: c.from, Time: c.to,
		Count: t.count, Sum: sum,
		Bounds: slices.Clone(boundaries), BucketCounts: slices.Clone(t.buckets[:len(boundaries)+1]),
	})
}
