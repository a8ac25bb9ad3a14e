package fasthttpprometheus

import "github.com/prometheus/client_golang/prometheus"

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
