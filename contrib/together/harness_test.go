package together

import (
	"context"
	"net"
	"testing"

	"github.com/valyala/fasthttp"
	otelfasthttp "github.com/valyala/fasthttp/contrib/otel"
	"github.com/valyala/fasthttp/fasthttputil"
	"github.com/valyala/fasthttp/internal/servertest"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

func TestMain(m *testing.M) { servertest.Main(m) }

// testApp tests the spans and the metrics of an app with the routes of TestFiber3, which serves
// with the server s that it has made.
func testApp(t *testing.T, s *fasthttp.Server, serve func(ln net.Listener) error, shutdown func() error) {
	spans, metrics := tracetest.NewSpanRecorder(), otelfasthttp.NewMetrics()
	otelfasthttp.Attach(s, otelfasthttp.WithMetrics(metrics), otelfasthttp.WithTracerProvider(sdk.NewTracerProvider(sdk.WithSpanProcessor(spans))))
	ln := fasthttputil.NewInmemoryListener()
	served := make(chan error, 1)
	go func() { served <- serve(ln) }()
	client := &fasthttp.HostClient{Addr: "app", Dial: func(string) (net.Conn, error) { return ln.Dial() }}
	want := make(map[string]uint64)
	for _, tt := range []struct {
		method, path, route string
		status              int
		failed              bool // an error is recorded
	}{
		{"GET", "/", "/", 200, false},
		{"GET", "/users/7", "/users/:id", 200, false},
		{"GET", "/users/8", "/users/:id", 200, false},
		{"GET", "/fails/7", "/fails/:id", 500, true},
		{"GET", "/panics", "/panics", 500, true},
		{"GET", "/named", "/other", 200, false},
		{"POST", "/api/items/7/8", "/api/items/*", 201, false},
		{"POST", "/", "/", 500, true},
		{"PATCH", "/", "/", 403, true},
		{"GET", "/missing", "", 404, true},
		{"POST", "/missing", "", 404, true},
		{"DELETE", "/users/7", "", 405, true},
	} {
		var req fasthttp.Request
		var resp fasthttp.Response
		req.SetRequestURI("http://app" + tt.path)
		req.Header.SetMethod(tt.method)
		servertest.Must(t, client.Do(&req, &resp))
		if resp.StatusCode() != tt.status {
			t.Errorf("%s: the status is %d, want %d", tt.path, resp.StatusCode(), tt.status)
		}
		servertest.Eventually(t, "a span", func() bool { return len(spans.Ended()) == 1 })
		span := spans.Ended()[0]
		spans.Reset()
		name := tt.method
		if tt.route != "" {
			name += " " + tt.route
		}
		want[tt.route]++
		if span.Name() != name || (span.Status().Code == codes.Error) != (tt.status >= 500) || (len(span.Events()) > 0) != tt.failed {
			t.Errorf("%s: the span is %q, %v, with the events %v", tt.path, span.Name(), span.Status(), span.Events())
		}
		if tt.path == "/users/7" && tt.status == 200 && string(resp.Body()) != span.SpanContext().SpanID().String() {
			t.Errorf("the handler sees the span %s, not %v", resp.Body(), span.SpanContext().SpanID())
		}
	}
	scopes, err := metrics.Produce(context.Background())
	servertest.Must(t, err)
	got := make(map[string]uint64)
	for _, m := range scopes[0].Metrics {
		if h, ok := m.Data.(metricdata.Histogram[float64]); ok {
			for _, p := range h.DataPoints {
				route, _ := p.Attributes.Value("http.route")
				got[route.AsString()] += p.Count
			}
		}
	}
	for route, n := range want {
		if got[route] != n {
			t.Errorf("%d requests have the route %q, want %d", got[route], route, n)
		}
	}
	if len(got) != len(want) {
		t.Errorf("the routes are %v, want %v", got, want)
	}
	client.CloseIdleConnections()
	servertest.Must(t, shutdown())
	servertest.Must(t, servertest.Receive(t, "the end of the server", served))
}
