package otelfasthttp

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/metric/metricdata/metricdatatest"
	"go.opentelemetry.io/otel/trace/noop"
)

var (
	_ metric.Producer = (*Metrics)(nil)
	_ metric.Producer = (*DeltaMetrics)(nil)
)

// counted is a Metrics with a reader.
func counted() (m *Metrics, c *telemetry) {
	m = NewMetrics()
	c = collect(WithMetrics(m))
	c.reader = metric.NewManualReader(metric.WithProducer(m))
	metric.NewMeterProvider(metric.WithReader(c.reader))
	return m, c
}

// produced returns the metrics of a producer, by name.
func produced(t *testing.T, p metric.Producer) map[string]metricdata.Metrics {
	t.Helper()
	scopes, err := p.Produce(context.Background())
	servertest.Must(t, err)
	all := make(map[string]metricdata.Metrics)
	for _, scope := range scopes {
		for _, m := range scope.Metrics {
			all[m.Name] = m
		}
	}
	return all
}

func TestMetricsAreTheOnesOfAMeter(t *testing.T) {
	reader := metric.NewManualReader()
	meters := WithMeterProvider(metric.NewMeterProvider(metric.WithReader(reader)))
	m := NewMetrics()
	off := WithTracerProvider(noop.NewTracerProvider())
	for _, option := range []Option{meters, WithMetrics(m)} {
		h := Middleware(func(ctx *fasthttp.RequestCtx) {
			SetRoute(ctx, "/{size}")
			ctx.SetStatusCode(ctx.QueryArgs().GetUintOrZero("status"))
			ctx.SetBodyString(strings.Repeat("x", ctx.QueryArgs().GetUintOrZero("size")))
		}, off, option)
		for _, uri := range []string{"/?status=200&size=0", "/?status=200&size=128", "/?status=200&size=129", "/?status=503&size=5000", "/?status=404&size=70000"} {
			var ctx fasthttp.RequestCtx
			ctx.Init(&fasthttp.Request{}, nil, nil)
			ctx.Request.SetRequestURI(uri)
			ctx.Request.Header.SetMethod("POST")
			ctx.Request.SetBodyString(uri)
			h(&ctx)
		}
		client := &fasthttp.Client{Transport: fasthttp.ChainRoundTrippers(nil, Transport(off, option), func(fasthttp.RoundTripperContext) fasthttp.RoundTripper {
			return fasthttp.RoundTripFunc(func(_ context.Context, _ *fasthttp.HostClient, _ *fasthttp.Request, resp *fasthttp.Response) (bool, error) {
				resp.SetBodyString("hello")
				return false, nil
			})
		})}
		var req fasthttp.Request
		req.SetRequestURI("https://example.com/")
		servertest.Must(t, client.Do(&req, nil))
	}
	var want metricdata.ResourceMetrics
	servertest.Must(t, reader.Collect(context.Background(), &want))
	got, err := m.Produce(context.Background())
	servertest.Must(t, err)
	if len(got) != 1 || len(want.ScopeMetrics) != 1 || got[0].Scope != want.ScopeMetrics[0].Scope || len(got[0].Metrics) != 7 {
		t.Fatalf("the scopes are %v, want %v", got, want.ScopeMetrics)
	}
	order := func(a, b metricdata.Metrics) int { return strings.Compare(a.Name, b.Name) }
	slices.SortFunc(got[0].Metrics, order)
	slices.SortFunc(want.ScopeMetrics[0].Metrics, order)
	for i, one := range want.ScopeMetrics[0].Metrics {
		options := []metricdatatest.Option{metricdatatest.IgnoreTimestamp(), metricdatatest.IgnoreExemplars()}
		if strings.HasSuffix(one.Name, "duration") {
			options = append(options, metricdatatest.IgnoreValue())
		}
		metricdatatest.AssertEqual(t, withoutExtrema(one), got[0].Metrics[i], options...)
	}
}

// withoutExtrema removes the minimum and the maximum, which Metrics does not have.
func withoutExtrema(m metricdata.Metrics) metricdata.Metrics {
	switch data := m.Data.(type) {
	case metricdata.Histogram[int64]:
		for i := range data.DataPoints {
			data.DataPoints[i].Min, data.DataPoints[i].Max = metricdata.Extrema[int64]{}, metricdata.Extrema[int64]{}
		}
	case metricdata.Histogram[float64]:
		for i := range data.DataPoints {
			data.DataPoints[i].Min, data.DataPoints[i].Max = metricdata.Extrema[float64]{}, metricdata.Extrema[float64]{}
		}
	}
	return m
}

func TestMetricsOfServersReachReaders(t *testing.T) {
	everywhere(t, func(t *testing.T, start func(*fasthttp.Server) *server) {
		_, c := counted()
		s := &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
			SetRoute(ctx, "/users/{id}")
			ctx.SetBodyString("hello")
		}}
		Attach(s, c.options...)
		ts := start(s)
		for range 3 {
			if status := ts.ask(t, "POST", "/users/7", "body"); status != 200 {
				t.Fatalf("the status is %d", status)
			}
			c.next(t)
		}
		var points map[string][]point
		servertest.Eventually(t, "three requests", func() bool {
			points = c.metrics(t)
			all := points["http.server.request.duration"]
			return len(all) == 1 && all[0].count == 3
		})
		check(t, "duration", only(t, points, "http.server.request.duration").attributes, "http.request.method", "POST", "http.route", "/users/{id}", "http.response.status_code", "200")
		if p := only(t, points, "http.server.request.body.size"); p.sum != 12 || p.count != 3 {
			t.Errorf("the size of the requests is %v", p)
		}
		if p := only(t, points, "http.server.response.body.size"); p.sum != 15 || !slices.Equal(p.bounds, sizeBoundaries) {
			t.Errorf("the size of the responses is %v", p)
		}
		if p := only(t, points, "http.server.active_requests"); p.sum != 0 {
			t.Errorf("%v requests are active", p.sum)
		}
	})
}

func TestDeltaMetricsHaveWhatIsNew(t *testing.T) {
	m := NewMetrics()
	s := series{method: methodOf([]byte("GET")), status: 200}
	add := func(shard uint, took time.Duration) {
		m.server.record(context.Background(), shard, m.server.of(&s), took, 0, 10)
	}
	add(1, time.Second)
	d := m.Delta()
	if got := produced(t, d); len(got) != 0 {
		t.Errorf("before there is anything new: %v", got)
	}
	for _, n := range []int{2, 3} {
		for shard := range n {
			add(uint(shard), 3*time.Millisecond)
		}
		h := produced(t, d)["http.server.request.duration"].Data.(metricdata.Histogram[float64])
		if h.Temporality != metricdata.DeltaTemporality || len(h.DataPoints) != 1 {
			t.Fatalf("the durations are %v", h)
		}
		if p := h.DataPoints[0]; p.Count != uint64(n) || p.BucketCounts[0] != uint64(n) || p.Sum != float64(time.Duration(n)*3*time.Millisecond)/1e9 || !p.StartTime.Before(p.Time) {
			t.Errorf("the durations are %v, want %d", p, n)
		}
	}
	if got := produced(t, d); len(got) != 0 {
		t.Errorf("without anything new: %v", got)
	}
	all := produced(t, m)["http.server.request.duration"].Data.(metricdata.Histogram[float64])
	if p := all.DataPoints[0]; p.Count != 6 || p.BucketCounts[9] != 1 || all.Temporality != metricdata.CumulativeTemporality {
		t.Errorf("all durations are %v", p)
	}
}

func TestMetricsCountFromManyGoroutines(t *testing.T) {
	const each = 1000
	m := NewMetrics()
	var wait sync.WaitGroup
	for shard := range uint(2 * shards) {
		wait.Go(func() {
			for i := range each {
				s := series{status: 200 + i%3}
				m.client.record(context.Background(), shard, m.client.of(&s), time.Millisecond, -1, 1)
			}
		})
	}
	for range 10 {
		for _, metrics := range produced(t, m) {
			if h, ok := metrics.Data.(metricdata.Histogram[int64]); ok {
				for _, p := range h.DataPoints {
					if p.Sum > int64(p.Count) {
						t.Errorf("%d values have the sum %d", p.Count, p.Sum)
					}
				}
			}
		}
	}
	wait.Wait()
	h := produced(t, m)["http.client.response.body.size"].Data.(metricdata.Histogram[int64])
	n := uint64(0)
	for _, p := range h.DataPoints {
		n += p.Count
	}
	if n != 2*shards*each || len(h.DataPoints) != 3 {
		t.Errorf("%d requests of %d series", n, len(h.DataPoints))
	}
}

func TestMetricsOfTooManySeriesOverflow(t *testing.T) {
	m := NewMetrics()
	for i := range maxSeries + 5 {
		s := series{status: i}
		m.client.record(context.Background(), 0, m.client.of(&s), 0, -1, -1)
	}
	h := produced(t, m)["http.client.request.duration"].Data.(metricdata.Histogram[float64])
	if len(h.DataPoints) != maxSeries+1 {
		t.Errorf("%d series", len(h.DataPoints))
	}
	for _, p := range h.DataPoints {
		if over, _ := p.Attributes.Value("otel.metric.overflow"); over.AsBool() && p.Count != 5 {
			t.Errorf("%d requests have overflowed, want 5", p.Count)
		}
	}
}

func TestSpansOfFurtherSeriesHaveTheirNames(t *testing.T) {
	m, c := counted()
	for i := range maxSeries {
		m.server.of(&series{status: i})
	}
	h := Middleware(func(ctx *fasthttp.RequestCtx) { SetRoute(ctx, "/late") }, c.options...)
	var ctx fasthttp.RequestCtx
	ctx.Init(&fasthttp.Request{}, nil, nil)
	h(&ctx)
	if name := c.next(t).Name(); name != "GET /late" {
		t.Errorf("the name is %q", name)
	}
}

func TestCountingAllocatesNothing(t *testing.T) {
	m := NewMetrics()
	s := series{method: 3, status: 200, route: "/users/{id}"}
	if n := testing.AllocsPerRun(100, func() {
		m.server.count(1, &s, 1)
		m.server.record(context.Background(), 1, m.server.of(&s), time.Millisecond, 0, 5)
		m.server.count(1, &s, -1)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
