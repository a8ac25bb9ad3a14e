package fasthttpprometheus

import (
	"math"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

const (
	// shards is how many places count at the same time. It is a power of two.
	shards = 16
	// mostBuckets is how many buckets a histogram of this package can have, with the last one, which
	// has no boundary. A part of it is as large as two cache lines then.
	mostBuckets = 15
)

// durations is a histogram by method and status, whose parts are found without a look-up. It is a
// prometheus.Collector. The histograms of package prometheus count at one place, which moves from
// processor to processor: here each connection has one of several.
type durations struct {
	desc    *prometheus.Desc
	all     *prometheus.HistogramVec // for native histograms and many buckets, or nil
	none    string                   // the status of requests that have none
	buckets []float64
	bounds  []int64 // the boundaries of buckets, in nanoseconds
	known   [len(methods)][1 + statuses]atomic.Pointer[series]
	mu      sync.Mutex // to change known and made
	made    []*series
}

// series is a histogram of durations.
type series struct {
	labels   []string
	created  time.Time
	observer prometheus.Observer // of durations.all, or nil
	cells    [shards]atomic.Pointer[cell]
}

// cell is a part of a histogram.
type cell struct {
	sum     atomic.Int64 // in nanoseconds
	buckets [mostBuckets]atomic.Uint64
}

func newDurations(o *Options, subsystem, help, none string) *durations {
	opts := prometheus.HistogramOpts{
		Name: o.name(subsystem, "request_duration_seconds"), Help: help, ConstLabels: o.Labels, Buckets: o.Buckets,
		NativeHistogramBucketFactor: o.NativeHistogramBucketFactor,
	}
	if opts.Buckets == nil {
		opts.Buckets = usualBuckets
	}
	labels := []string{"method", "status"}
	d := &durations{none: none, desc: o.desc(subsystem, "request_duration_seconds", help, labels...)}
	if o.NativeHistogramBucketFactor > 1 {
		opts.NativeHistogramMaxBucketNumber = maxNativeBuckets
	}
	_ = prometheus.NewHistogram(opts) // panics if a setting is wrong
	if d.buckets = slices.Clone(opts.Buckets); len(d.buckets) > 0 && math.IsInf(d.buckets[len(d.buckets)-1], 1) {
		d.buckets = d.buckets[:len(d.buckets)-1]
	}
	if o.NativeHistogramBucketFactor > 1 || len(d.buckets) >= mostBuckets || len(d.buckets) == 0 {
		d.all = prometheus.NewHistogramVec(opts, labels)
		return d
	}
	for _, b := range d.buckets {
		d.bounds = append(d.bounds, nanoseconds(b))
	}
	return d
}

// nanoseconds returns the largest number of nanoseconds that is not more than a number of seconds.
func nanoseconds(seconds float64) int64 {
	n := seconds * float64(time.Second)
	if near := math.Round(n); math.Abs(n-near) < 1e-3 {
		n = near // the product is not exact
	}
	if n >= math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(math.Floor(max(n, math.MinInt64)))
}

// observe adds a request. Statuses outside of 100 to 599 count as none.
func (d *durations) observe(shard uint64, method, status int, took time.Duration) {
	at := status - firstStatus + 1
	if at < 1 || at > statuses {
		at = 0
	}
	s := d.known[method][at].Load()
	if s == nil {
		s = d.add(method, at)
	}
	if s.observer != nil {
		s.observer.Observe(took.Seconds())
		return
	}
	place := &s.cells[shard%shards]
	c := place.Load()
	if c == nil {
		place.CompareAndSwap(nil, new(cell)) // another goroutine may be the first
		c = place.Load()
	}
	i, value := 0, int64(took)
	for i < len(d.bounds) && value > d.bounds[i] {
		i++
	}
	c.buckets[i].Add(1)
	if value != 0 {
		c.sum.Add(value)
	}
}

// add adds a series.
func (d *durations) add(method, at int) *series {
	d.mu.Lock()
	defer d.mu.Unlock()
	known := &d.known[method][at]
	if s := known.Load(); s != nil {
		return s
	}
	status := d.none
	if at > 0 {
		status = strconv.Itoa(at + firstStatus - 1)
	}
	s := &series{labels: []string{methods[method], status}, created: time.Now()}
	if d.all != nil {
		s.observer = d.all.WithLabelValues(s.labels...)
	}
	d.made = append(d.made, s)
	known.Store(s)
	return s
}

// Describe describes the histogram.
func (d *durations) Describe(descs chan<- *prometheus.Desc) { descs <- d.desc }

// Collect collects the histogram.
func (d *durations) Collect(metrics chan<- prometheus.Metric) {
	if d.all != nil {
		d.all.Collect(metrics)
		return
	}
	d.mu.Lock()
	made := slices.Clone(d.made)
	d.mu.Unlock()
	for _, s := range made {
		var sum int64
		var counts [mostBuckets]uint64
		for i := range s.cells {
			if c := s.cells[i].Load(); c != nil {
				sum += c.sum.Load() // before the buckets, so that a sum has its values
				for j := range c.buckets {
					counts[j] += c.buckets[j].Load()
				}
			}
		}
		below := make(map[float64]uint64, len(d.buckets))
		count := uint64(0)
		for i, n := range counts {
			if count += n; i < len(d.buckets) {
				below[d.buckets[i]] = count
			}
		}
		metrics <- prometheus.MustNewConstHistogramWithCreatedTimestamp(d.desc, count, float64(sum)/float64(time.Second), below, s.created, s.labels...)
	}
}
