package fasthttpprometheus

import (
	"math"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/valyala/fasthttp/internal/servertest"
)

// TestDurationsAreThoseOfAHistogram compares a scrape with the histograms of package prometheus.
func TestDurationsAreThoseOfAHistogram(t *testing.T) {
	many := make([]float64, mostBuckets)
	for i := range many {
		many[i] = float64(i) / 1000
	}
	for name, o := range map[string]Options{
		"usual":    {},
		"labels":   {Labels: prometheus.Labels{"server": "a"}, Namespace: "app"},
		"one":      {Buckets: []float64{.3}},
		"infinite": {Buckets: []float64{0, 1e-9, 2.5e-9, .1, .7, 1e12, math.Inf(1)}},
		"most":     {Buckets: many[:mostBuckets-1]},
		"many":     {Buckets: many},
		"native":   {NativeHistogramBucketFactor: 1.1},
		"default":  {Buckets: []float64{}},
	} {
		d := newDurations(&o, "server", "help", "none")
		if own := d.all == nil; own == (name == "many" || name == "native" || name == "default") {
			t.Errorf("%s: counts by itself: %t", name, own)
		}
		opts := prometheus.HistogramOpts{Name: o.name("server", "request_duration_seconds"), Help: "help", ConstLabels: o.Labels, Buckets: o.Buckets}
		if o.Buckets == nil {
			opts.Buckets = usualBuckets
		}
		oracle := prometheus.NewHistogramVec(opts, []string{"method", "status"})
		var all sync.WaitGroup
		for _, b := range append([]float64{0, 1e-9, 7, 100}, d.buckets...) {
			for _, more := range []time.Duration{-1, 0, 1} {
				took := time.Duration(nanoseconds(min(b, 1e9))) + more
				for i := range 3 {
					all.Go(func() {
						d.observe(uint64(i)*7, methodOf([]byte("GET")), 200+i, took)
						oracle.WithLabelValues("GET", []string{"200", "201", "202"}[i]).Observe(took.Seconds())
					})
				}
			}
		}
		all.Wait()
		mine, other := prometheus.NewPedanticRegistry(), prometheus.NewPedanticRegistry()
		mine.MustRegister(d)
		other.MustRegister(oracle)
		got, want := contents(t, mine), contents(t, other)
		if len(got) != 3 || len(got) != len(want) {
			t.Fatalf("%s: %d series, want %d", name, len(got), len(want))
		}
		for labels, w := range want {
			g := got[labels]
			if math.Abs(g.sum-w.sum) > 1e-9*math.Abs(w.sum) || g.count != w.count || !reflect.DeepEqual(g.below, w.below) || !g.created {
				t.Errorf("%s: %s has %+v, want %+v", name, labels, g, w)
			}
		}
	}
}

// content is the content of a histogram.
type content struct {
	sum     float64
	count   uint64
	below   map[float64]uint64
	created bool
}

// contents returns the histograms of a registry, by their labels.
func contents(t *testing.T, registry *prometheus.Registry) map[string]content {
	t.Helper()
	families, err := registry.Gather()
	servertest.Must(t, err)
	all := make(map[string]content)
	for _, family := range families {
		for _, m := range family.GetMetric() {
			labels := family.GetName() + family.GetHelp()
			for _, l := range m.GetLabel() {
				labels += "," + l.GetName() + "=" + l.GetValue()
			}
			h := m.GetHistogram()
			c := content{h.GetSampleSum(), h.GetSampleCount(), make(map[float64]uint64), h.GetCreatedTimestamp().IsValid()}
			for _, b := range h.GetBucket() {
				c.below[b.GetUpperBound()] = b.GetCumulativeCount()
			}
			all[labels] = c
		}
	}
	return all
}

// TestWrongBucketsPanic has boundaries that do not increase.
func TestWrongBucketsPanic(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("boundaries that do not increase are accepted")
		}
	}()
	newDurations(&Options{Buckets: []float64{2, 1}}, "server", "help", "none")
}
