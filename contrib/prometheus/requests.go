package fasthttpprometheus

import (
	"strconv"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// Options has the settings of a Server or a Client. The zero value is ready for use.
type Options struct {
	// Namespace is the first part of the names of metrics, fasthttp if it is empty.
	Namespace string

	// Labels are labels that all metrics get: one that names the server or client, if the
	// program has several.
	Labels prometheus.Labels

	// Buckets are the boundaries of the buckets of durations, in seconds; from 0.5 milliseconds to
	// 10 seconds if they are nil.
	Buckets []float64

	// NativeHistogramBucketFactor, if it is greater than 1, also makes durations native
	// histograms, as in prometheus.HistogramOpts.
	NativeHistogramBucketFactor float64

	// ConnStates adds the number of connections of a server in each state. Each change of a state
	// costs a look-up then, and connections must be comparable, as pointers are.
	ConnStates bool
}

// maxNativeBuckets limits the memory of a native histogram.
const maxNativeBuckets = 160

var usualBuckets = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}

func (o *Options) name(subsystem, name string) string {
	namespace := o.Namespace
	if namespace == "" {
		namespace = "fasthttp"
	}
	return prometheus.BuildFQName(namespace, subsystem, name)
}

func (o *Options) desc(subsystem, name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(o.name(subsystem, name), help, labels, o.Labels)
}

// Methods and statuses, as labels.
var methods = [...]string{"other", "CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "QUERY", "TRACE", "unknown"}

const (
	methodUnknown = len(methods) - 1
	firstStatus   = 100
	statuses      = 500
)

func methodOf(name []byte) int {
	for i := 1; i < methodUnknown; i++ {
		if methods[i] == string(name) {
			return i
		}
	}
	return 0
}

// durations is a histogram by method and status, whose parts are found without a look-up.
type durations struct {
	all   *prometheus.HistogramVec
	none  string // the status of requests that have none
	known [len(methods)][1 + statuses]atomic.Pointer[prometheus.Observer]
}

func newDurations(o *Options, subsystem, help, none string) *durations {
	opts := prometheus.HistogramOpts{
		Name: o.name(subsystem, "request_duration_seconds"), Help: help, ConstLabels: o.Labels, Buckets: o.Buckets,
		NativeHistogramBucketFactor: o.NativeHistogramBucketFactor,
	}
	if opts.Buckets == nil {
		opts.Buckets = usualBuckets
	}
	if o.NativeHistogramBucketFactor > 1 {
		opts.NativeHistogramMaxBucketNumber = maxNativeBuckets
	}
	return &durations{all: prometheus.NewHistogramVec(opts, []string{"method", "status"}), none: none}
}

// observe adds a request. Statuses outside of 100 to 599 count as none.
func (d *durations) observe(method, status int, seconds float64) {
	at := status - firstStatus + 1
	if at < 1 || at > statuses {
		at = 0
	}
	known := &d.known[method][at]
	o := known.Load()
	if o == nil {
		label := d.none
		if at > 0 {
			label = strconv.Itoa(status)
		}
		made := d.all.WithLabelValues(methods[method], label)
		o = &made
		known.Store(o)
	}
	(*o).Observe(seconds)
}
