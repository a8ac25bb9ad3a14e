package otelfasthttp

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/roottest"
	"github.com/valyala/fasthttp/internal/servertest"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

func TestMain(m *testing.M) { servertest.Main(m) }

// server is a running server, with a client of net/http that speaks one version of HTTP.
type server struct {
	*servertest.Running[*fasthttp.Server]
	http2  bool
	client *http.Client
}

// everywhere runs a test with both versions of HTTP, on both engines, with TLS and without.
func everywhere(t *testing.T, test func(t *testing.T, start func(s *fasthttp.Server) *server)) {
	t.Parallel()
	for _, e := range servertest.Engines {
		if !e.Sockets {
			continue
		}
		for version, http2 := range map[string]bool{"HTTP1": false, "HTTP2": true} {
			t.Run(e.Name+"/"+version, func(t *testing.T) {
				t.Parallel()
				test(t, func(s *fasthttp.Server) *server { return start(t, e, http2, s) })
			})
		}
	}
}

func start(t testing.TB, e servertest.Engine, http2 bool, s *fasthttp.Server) *server {
	t.Helper()
	s.Protocols.SetHTTP1(true)
	s.Protocols.SetHTTP2(true)
	s.Protocols.SetUnencryptedHTTP2(true)
	ts := &server{Running: servertest.Start(t, e, s, roottest.Prepare), http2: http2}
	var p http.Protocols
	switch {
	case !http2:
		p.SetHTTP1(true)
	case e.TLS:
		p.SetHTTP2(true)
	default:
		p.SetUnencryptedHTTP2(true)
	}
	tr := &http.Transport{Protocols: &p, TLSClientConfig: servertest.TrustCertificate(), DisableCompression: true}
	t.Cleanup(tr.CloseIdleConnections)
	ts.client = &http.Client{Transport: tr, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return ts
}

// ask sends a request, and returns the status; 0 if there is no response, or it is cut off.
func (s *server) ask(t *testing.T, method, path, body string, fields ...string) int {
	t.Helper()
	scheme := "http://"
	if s.Engine.TLS {
		scheme = "https://"
	}
	req, err := http.NewRequestWithContext(t.Context(), method, scheme+s.Listener.Addr().String()+path, strings.NewReader(body))
	servertest.Must(t, err)
	for i := 0; i < len(fields); i += 2 {
		req.Header.Set(fields[i], fields[i+1])
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return 0
	}
	return resp.StatusCode
}

// telemetry collects the reports of a server or a client.
type telemetry struct {
	spans   *tracetest.SpanRecorder
	reader  *metric.ManualReader
	options []Option
}

func collect(opts ...Option) *telemetry {
	c := &telemetry{spans: tracetest.NewSpanRecorder(), reader: metric.NewManualReader()}
	c.options = append([]Option{
		WithTracerProvider(trace.NewTracerProvider(trace.WithSpanProcessor(c.spans))),
		WithMeterProvider(metric.NewMeterProvider(metric.WithReader(c.reader))),
		WithPropagator(propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{})),
	}, opts...)
	return c
}

// next waits for a span, which must be the only one since the last call.
func (c *telemetry) next(t *testing.T) trace.ReadOnlySpan {
	t.Helper()
	var ended []trace.ReadOnlySpan
	servertest.Eventually(t, "a span", func() bool {
		ended = c.spans.Ended()
		return len(ended) > 0
	})
	c.spans.Reset()
	if len(ended) != 1 {
		t.Fatalf("%d spans ended, want one", len(ended))
	}
	return ended[0]
}

// attributes returns the attributes of a span as texts.
func attributesOf(all []attribute.KeyValue) map[string]string {
	texts := make(map[string]string)
	for _, a := range all {
		texts[string(a.Key)] = a.Value.String()
	}
	return texts
}

// check compares attributes: each name is followed by its value, or by "-" if there must be none.
func check(t *testing.T, what string, got map[string]string, want ...string) {
	t.Helper()
	for i := 0; i < len(want); i += 2 {
		value, ok := got[want[i]]
		if !ok {
			value = "-"
		}
		if value != want[i+1] {
			t.Errorf("%s: %s is %q, want %q", what, want[i], value, want[i+1])
		}
	}
}

// point is a value of a metric.
type point struct {
	attributes map[string]string
	count      uint64
	sum        float64
	bounds     []float64
}

// metrics returns the values of all metrics, by name.
func (c *telemetry) metrics(t *testing.T) map[string][]point {
	t.Helper()
	var all metricdata.ResourceMetrics
	servertest.Must(t, c.reader.Collect(context.Background(), &all))
	points := make(map[string][]point)
	for _, scope := range all.ScopeMetrics {
		if scope.Scope.Name != ScopeName {
			t.Errorf("the scope is %q", scope.Scope.Name)
		}
		for _, m := range scope.Metrics {
			switch data := m.Data.(type) {
			case metricdata.Histogram[float64]:
				for _, p := range data.DataPoints {
					points[m.Name] = append(points[m.Name], point{attributesOf(p.Attributes.ToSlice()), p.Count, p.Sum, p.Bounds})
				}
			case metricdata.Histogram[int64]:
				for _, p := range data.DataPoints {
					points[m.Name] = append(points[m.Name], point{attributesOf(p.Attributes.ToSlice()), p.Count, float64(p.Sum), p.Bounds})
				}
			case metricdata.Sum[int64]:
				for _, p := range data.DataPoints {
					points[m.Name] = append(points[m.Name], point{attributes: attributesOf(p.Attributes.ToSlice()), sum: float64(p.Value)})
				}
			}
		}
	}
	return points
}

// only returns the single value of a metric.
func only(t *testing.T, points map[string][]point, name string) point {
	t.Helper()
	if len(points[name]) != 1 {
		t.Fatalf("%s has the values %v, want one", name, points[name])
	}
	return points[name][0]
}
