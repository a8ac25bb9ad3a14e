package fasthttpprometheus

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/valyala/fasthttp"
)

// Doer is a client: *fasthttp.Client, *fasthttp.HostClient, *fasthttp.PipelineClient or
// *fasthttp.LBClient. A Client has metrics for whichever of the methods ConnsCount, IdleConnsCount
// and PendingRequests that it has.
type Doer interface {
	Do(req *fasthttp.Request, resp *fasthttp.Response) error
}

// Client has the metrics of a client. It is a prometheus.Collector.
type Client struct {
	durations *durations
	gauges    []gauge
}

// gauge is a value that a client knows.
type gauge struct {
	desc *prometheus.Desc
	read func() int
}

var _ prometheus.Collector = (*Client)(nil)

// place is where to count: usually there is one for each processor.
type place struct{ shard uint64 }

var (
	places    = sync.Pool{New: func() any { return &place{nextPlace.Add(1)} }}
	nextPlace atomic.Uint64
)

// NewClient returns the metrics of a client. It has durations if Transport is a part of the
// client's transport.
func NewClient(c Doer, o Options) *Client {
	m := &Client{durations: newDurations(&o, "client", "Time of an attempt at a call.", "none")}
	if c, ok := c.(interface{ ConnsCount() int }); ok {
		m.gauges = append(m.gauges, gauge{o.desc("client", "connections_open", "Open connections."), c.ConnsCount})
	}
	if c, ok := c.(interface{ IdleConnsCount() int }); ok {
		m.gauges = append(m.gauges, gauge{o.desc("client", "connections_idle", "Open connections that no call uses."), c.IdleConnsCount})
	}
	if c, ok := c.(interface{ PendingRequests() int }); ok {
		m.gauges = append(m.gauges, gauge{o.desc("client", "requests_pending", "Calls that have begun and not ended."), c.PendingRequests})
	}
	return m
}

// Transport is a function for fasthttp.ChainRoundTrippers, which measures the attempts of calls.
// An attempt without a response has the status "none". With StreamResponseBody an attempt ends
// when the head of the response was received.
func (m *Client) Transport(next fasthttp.RoundTripperContext) fasthttp.RoundTripper {
	return fasthttp.RoundTripFunc(func(ctx context.Context, hc *fasthttp.HostClient, req *fasthttp.Request, resp *fasthttp.Response) (retry bool, err error) {
		at, method, status := time.Now(), methodOf(req.Header.Method()), 0
		retry, err = next.RoundTripContext(ctx, hc, req, resp)
		if err == nil {
			status = resp.StatusCode()
		}
		took := time.Since(at)
		p := places.Get().(*place)
		m.durations.observe(p.shard, method, status, took)
		places.Put(p)
		return retry, err
	})
}

// Describe describes the metrics.
func (m *Client) Describe(descs chan<- *prometheus.Desc) {
	m.durations.Describe(descs)
	for _, g := range m.gauges {
		descs <- g.desc
	}
}

// Collect collects the metrics.
func (m *Client) Collect(metrics chan<- prometheus.Metric) {
	m.durations.Collect(metrics)
	for _, g := range m.gauges {
		metrics <- prometheus.MustNewConstMetric(g.desc, prometheus.GaugeValue, float64(g.read()))
	}
}
