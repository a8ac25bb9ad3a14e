package fasthttpprometheus

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttpadaptor"
	"github.com/valyala/fasthttp/internal/roottest"
	"github.com/valyala/fasthttp/internal/servertest"
)

func TestMain(m *testing.M) { servertest.Main(m) }

// scrape gets the metrics of a registry from a server, and parses them.
func scrape(t testing.TB, registry *prometheus.Registry) map[string]*dto.MetricFamily {
	t.Helper()
	handler := fasthttpadaptor.NewFastHTTPHandler(promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	var ctx fasthttp.RequestCtx
	ctx.Init(&fasthttp.Request{}, nil, nil)
	ctx.Request.SetRequestURI("/metrics")
	handler(&ctx)
	if ctx.Response.StatusCode() != 200 {
		t.Fatalf("the scrape has the status %d: %s", ctx.Response.StatusCode(), ctx.Response.Body())
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(string(ctx.Response.Body())))
	servertest.Must(t, err)
	return families
}

// value returns the value of a metric, or the count of a histogram; -1 if it is not there.
func value(families map[string]*dto.MetricFamily, name string, labels ...string) float64 {
	family := families[name]
next:
	for _, m := range family.GetMetric() {
		for i := 0; i < len(labels); i += 2 {
			found := false
			for _, l := range m.GetLabel() {
				found = found || l.GetName() == labels[i] && l.GetValue() == labels[i+1]
			}
			if !found {
				continue next
			}
		}
		switch {
		case m.Gauge != nil:
			return m.Gauge.GetValue()
		case m.Counter != nil:
			return m.Counter.GetValue()
		case m.Histogram != nil:
			return float64(m.Histogram.GetSampleCount())
		}
	}
	return -1
}

// expect waits until a metric has a value.
func expect(t *testing.T, registry *prometheus.Registry, want float64, name string, labels ...string) {
	t.Helper()
	servertest.Eventually(t, fmt.Sprint(name, labels, " is ", want), func() bool {
		return value(scrape(t, registry), name, labels...) == want
	})
}

func TestServerMetrics(t *testing.T) {
	servertest.ForEachEngine(t, roottest.Prepare, func(t *testing.T, start servertest.Starter[*fasthttp.Server]) {
		entered, resume := make(chan struct{}), make(chan struct{})
		hooked := make(chan fasthttp.ConnState, 100)
		s := &fasthttp.Server{
			MaxRequestBodySize: 4,
			ConnState:          func(_ net.Conn, state fasthttp.ConnState) { hooked <- state },
			Handler: func(ctx *fasthttp.RequestCtx) {
				switch string(ctx.Path()) {
				case "/wait":
					entered <- struct{}{}
					<-resume
				case "/left":
					ctx.TimeoutErrorWithCode("left", 504)
				case "/panic":
					panic("on purpose")
				}
				ctx.SetBodyString("hello")
			},
		}
		registry := prometheus.NewPedanticRegistry()
		registry.MustRegister(NewServer(s, Options{ConnStates: true, Labels: prometheus.Labels{"server": "a"}}))
		ts := start(s)
		conn := ts.Dial()
		conn.Send("GET /wait HTTP/1.1\r\nHost: h\r\n\r\n")
		servertest.Receive(t, "the handler", entered)
		expect(t, registry, 1, "fasthttp_server_handlers_running", "server", "a")
		expect(t, registry, 1, "fasthttp_server_connections_open")
		expect(t, registry, 1, "fasthttp_server_connections", "state", "active")
		close(resume)
		expect(t, registry, 1, "fasthttp_server_request_duration_seconds", "method", "GET", "status", "200")
		expect(t, registry, 0, "fasthttp_server_handlers_running")
		expect(t, registry, 1, "fasthttp_server_connections", "state", "idle")
		expect(t, registry, 0, "fasthttp_server_connections", "state", "active")
		expect(t, registry, 1, "fasthttp_server_connections_accepted_total")
		conn.Send("BREW / HTTP/1.1\r\nHost: h\r\n\r\nGET /left HTTP/1.1\r\nHost: h\r\n\r\n")
		expect(t, registry, 1, "fasthttp_server_request_duration_seconds", "method", "other", "status", "200")
		expect(t, registry, 1, "fasthttp_server_request_duration_seconds", "method", "unknown", "status", "504")

		for request, want := range map[string][2]string{
			"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\n": {"413", "body_too_large"},
			"nonsense\r\n\r\n": {"400", "malformed"},
		} {
			ts.Dial().Send(request)
			expect(t, registry, 1, "fasthttp_server_request_duration_seconds", "status", want[0])
			expect(t, registry, 1, "fasthttp_server_requests_refused_total", "reason", want[1])
		}
		ts.Dial().Send("GET /panic HTTP/1.1\r\nHost: h\r\n\r\n")
		expect(t, registry, 1, "fasthttp_server_request_duration_seconds", "status", "500")
		expect(t, registry, 0, "fasthttp_server_handlers_running")
		if got := value(scrape(t, registry), "fasthttp_server_response_bytes_total"); got < 5 {
			t.Errorf("%v bytes were sent", got)
		}
		if got := servertest.Receive(t, "the other hook", hooked); got != fasthttp.StateNew {
			t.Errorf("the other hook got the state %v", got)
		}
		ts.Stop()
		for _, state := range []string{"new", "active", "idle"} {
			expect(t, registry, 0, "fasthttp_server_connections", "state", state)
		}
		families := scrape(t, registry)
		sum := 0.0
		for why := fasthttp.ConnEndServer; why <= fasthttp.ConnEndAborted; why++ {
			sum += value(families, "fasthttp_server_connections_ended_total", "reason", why.String())
		}
		if accepted := value(families, "fasthttp_server_connections_accepted_total"); sum != accepted {
			t.Errorf("%v of %v connections have ended", sum, accepted)
		}
		for _, m := range families["fasthttp_server_request_duration_seconds"].Metric {
			if sum := m.Histogram.GetSampleSum(); sum <= 0 || sum > time.Hour.Seconds() {
				t.Errorf("the durations of %v are %v", m.Label, sum)
			}
		}
	})
}

// TestDurationsIncludeTheBody sends the body of a request later than its head, to handlers that end
// in several ways.
func TestDurationsIncludeTheBody(t *testing.T) {
	const late = 50 * time.Millisecond
	for name, handler := range map[string]fasthttp.RequestHandler{
		"returns": func(*fasthttp.RequestCtx) {},
		"late":    func(ctx *fasthttp.RequestCtx) { ctx.TimeoutError("late") },
		"resets":  func(ctx *fasthttp.RequestCtx) { ctx.ResetUserValues() },
		"panics":  func(*fasthttp.RequestCtx) { panic("of the handler") },
		"aborts":  func(*fasthttp.RequestCtx) { panic(http.ErrAbortHandler) },
		"exits":   func(*fasthttp.RequestCtx) { runtime.Goexit() },
		"hijacks": func(ctx *fasthttp.RequestCtx) {
			ctx.HijackSetNoResponse(true)
			ctx.Hijack(func(net.Conn) {})
		},
	} {
		for _, lazy := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/lazy=%v", name, lazy), func(t *testing.T) {
				servertest.ForEachEngine(t, roottest.Prepare, func(t *testing.T, start servertest.Starter[*fasthttp.Server]) {
					head, sent := make(chan struct{}, 1), make(chan struct{}, 1)
					s := &fasthttp.Server{LazyRequestTime: lazy, Handler: handler}
					s.Trace = &fasthttp.ServerTrace{HeadReceived: func(*fasthttp.RequestCtx) { head <- struct{}{} }}
					registry := prometheus.NewPedanticRegistry()
					m := NewServer(s, Options{})
					registry.MustRegister(m)
					report := s.ResponseSent
					s.ResponseSent = func(ctx *fasthttp.RequestCtx, r fasthttp.SentResponse) {
						if report != nil {
							report(ctx, r)
						}
						sent <- struct{}{}
					}
					conn := start(s).Dial()
					conn.Send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\n")
					servertest.Receive(t, "the head", head)
					received := time.Now()
					for time.Since(received) < late {
						runtime.Gosched()
					}
					conn.Send("body")
					servertest.Receive(t, "the report", sent)
					metric := scrape(t, registry)["fasthttp_server_request_duration_seconds"].Metric[0]
					if sum := metric.Histogram.GetSampleSum(); sum < late.Seconds() {
						t.Errorf("the request took %v, and its duration is %v s", time.Since(received), sum)
					}
					for i := range m.bodies {
						if n := m.bodies[i].waiting.Load(); n != 0 {
							t.Errorf("%d times are kept", n)
						}
					}
				})
			})
		}
	}
}

// TestBodiesTakeNoMemory has times of bodies.
func TestBodiesTakeNoMemory(t *testing.T) {
	var b bodies
	id := uint64(0)
	if n := testing.AllocsPerRun(1000, func() {
		id++
		b.add(id, time.Second)
		if b.take(id-1) != 0 || b.take(id) != time.Second || b.take(id) != 0 {
			t.Error("another time")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestServerTraceOfTheProgramIsKept(t *testing.T) {
	for _, lazy := range []bool{false, true} {
		testTraceIsKept(t, lazy)
	}
}

func testTraceIsKept(t *testing.T, lazy bool) {
	called := 0
	own := &fasthttp.ServerTrace{
		HandlerBegins: func(*fasthttp.RequestCtx) { called++ },
		HandlerEnds:   func(*fasthttp.RequestCtx) { called++ },
		HeadReceived:  func(*fasthttp.RequestCtx) { called++ },
		BodyReceived:  func(*fasthttp.RequestCtx) { called++ },
		ResponseSent:  func(*fasthttp.RequestCtx, fasthttp.TracedResponse) { called++ },
		ConnAccepted:  func(uint64, net.Conn) { called++ },
		ConnEnded:     func(uint64, net.Conn, fasthttp.ConnEnd) { called++ },
	}
	s := &fasthttp.Server{Trace: own, LazyRequestTime: lazy}
	s.ResponseSent = func(*fasthttp.RequestCtx, fasthttp.SentResponse) { called++ }
	NewServer(s, Options{})
	var ctx fasthttp.RequestCtx
	ctx.Init(&fasthttp.Request{}, nil, nil)
	s.Trace.HandlerBegins(&ctx)
	s.Trace.HandlerEnds(&ctx)
	s.Trace.HeadReceived(&ctx)
	s.Trace.BodyReceived(&ctx)
	s.ResponseSent(&ctx, fasthttp.SentResponse{})
	s.Trace.ResponseSent(&ctx, fasthttp.TracedResponse{Protocol: "HTTP/1.1"})
	s.Trace.ConnAccepted(1, nil)
	s.Trace.ConnEnded(1, nil, fasthttp.ConnEndClient)
	if called != 8 || s.Trace == own {
		t.Errorf("%d hooks were called", called)
	}
}

func TestClientMetrics(t *testing.T) {
	servertest.ForEachEngine(t, roottest.Prepare, func(t *testing.T, start servertest.Starter[*fasthttp.Server]) {
		ts := start(&fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) { ctx.SetStatusCode(404) }})
		c := &fasthttp.HostClient{Addr: "h", Dial: func(string) (net.Conn, error) { return ts.Dialer() }}
		m := NewClient(c, Options{})
		c.Transport = fasthttp.ChainRoundTrippers(nil, m.Transport)
		registry := prometheus.NewPedanticRegistry()
		registry.MustRegister(m)
		var req fasthttp.Request
		req.SetRequestURI("http://h/")
		servertest.Must(t, c.Do(&req, nil))
		expect(t, registry, 1, "fasthttp_client_request_duration_seconds", "method", "GET", "status", "404")
		expect(t, registry, 1, "fasthttp_client_connections_open")
		expect(t, registry, 1, "fasthttp_client_connections_idle")
		expect(t, registry, 0, "fasthttp_client_requests_pending")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := c.DoContext(ctx, &req, nil); err == nil {
			t.Error("a canceled call has succeeded")
		}
		c.CloseIdleConnections()
		expect(t, registry, 0, "fasthttp_client_connections_open")
	})
}

func TestClientAttemptsWithoutResponseCount(t *testing.T) {
	c := &fasthttp.Client{Dial: func(string) (net.Conn, error) { return nil, io.ErrUnexpectedEOF }}
	m := NewClient(c, Options{Namespace: "app"})
	c.Transport = fasthttp.ChainRoundTrippers(nil, m.Transport)
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(m)
	var req fasthttp.Request
	req.SetRequestURI("http://h/")
	if err := c.Do(&req, nil); err == nil {
		t.Error("the call has succeeded")
	}
	if got := value(scrape(t, registry), "app_client_request_duration_seconds", "method", "GET", "status", "none"); got < 1 {
		t.Errorf("%v attempts are counted", got)
	}
}

func TestEveryClientHasMetrics(t *testing.T) {
	for _, c := range []Doer{&fasthttp.Client{}, &fasthttp.HostClient{}, &fasthttp.PipelineClient{}, &fasthttp.LBClient{}} {
		registry := prometheus.NewPedanticRegistry()
		registry.MustRegister(NewClient(c, Options{}))
		if families := scrape(t, registry); len(families) == 0 {
			t.Errorf("%T has no metrics", c)
		}
	}
}

func TestObservingAllocatesNothing(t *testing.T) {
	o := Options{}
	d := newDurations(&o, "server", "help", "none")
	d.observe(1, 1, 200, 1)
	if n := testing.AllocsPerRun(100, func() { d.observe(1, 1, 200, 1) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	for _, status := range []int{-1, 0, 99, 100, 599, 600, 1 << 30} {
		d.observe(1, methodUnknown, status, 1)
	}
}

// TestDashboardAsksForExportedMetrics compares the queries of the dashboard with a scrape.
func TestDashboardAsksForExportedMetrics(t *testing.T) {
	s := &fasthttp.Server{}
	c := &fasthttp.HostClient{}
	server, client := NewServer(s, Options{ConnStates: true}), NewClient(c, Options{})
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(server, client)
	server.durations.observe(1, 1, 200, 1)
	client.durations.observe(1, 1, 200, 1)
	server.refused.WithLabelValues("malformed").Inc()
	exported := map[string]map[string]bool{}
	for name, family := range scrape(t, registry) {
		labels := map[string]bool{"job": true, "instance": true}
		for _, l := range family.Metric[0].GetLabel() {
			labels[l.GetName()] = true
		}
		exported[name] = labels
		if family.GetType() == dto.MetricType_HISTOGRAM {
			exported[name+"_count"], exported[name+"_sum"] = labels, labels
			exported[name+"_bucket"] = map[string]bool{"le": true, "job": true, "instance": true, "method": true, "status": true}
		}
	}
	data, err := os.ReadFile("dashboard.json")
	servertest.Must(t, err)
	var dashboard any
	servertest.Must(t, json.Unmarshal(data, &dashboard))
	queries := texts(dashboard, "expr")
	if len(queries) < 10 {
		t.Fatalf("the dashboard has %d queries", len(queries))
	}
	asked := map[string]bool{}
	for _, query := range queries {
		for _, m := range metricOfQuery.FindAllStringSubmatch(query, -1) {
			labels := exported[m[1]]
			if labels == nil {
				t.Errorf("%s is not exported: %s", m[1], query)
				continue
			}
			asked[strings.TrimSuffix(strings.TrimSuffix(m[1], "_bucket"), "_count")] = true
			for _, l := range labelOfQuery.FindAllStringSubmatch(m[2], -1) {
				if !labels[l[1]] {
					t.Errorf("%s has no label %s: %s", m[1], l[1], query)
				}
			}
			for _, by := range byOfQuery.FindAllStringSubmatch(query, -1) {
				for label := range strings.SplitSeq(by[1], ",") {
					if label = strings.TrimSpace(label); !labels[label] {
						t.Errorf("%s has no label %s: %s", m[1], label, query)
					}
				}
			}
		}
		if strings.Count(query, "(") != strings.Count(query, ")") || strings.Count(query, "{") != strings.Count(query, "}") {
			t.Errorf("parentheses are missing: %s", query)
		}
	}
	for name := range exported {
		if base := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(name, "_bucket"), "_count"), "_sum"); !asked[base] {
			t.Errorf("the dashboard does not show %s", base)
		}
	}
}

var (
	metricOfQuery = regexp.MustCompile(`(fasthttp_[a-z_]+)(\{[^}]*\})?`)
	labelOfQuery  = regexp.MustCompile(`([a-z_]+)\s*(?:=~|!~|!=|=)`)
	byOfQuery     = regexp.MustCompile(`by\s*\(([^)]*)\)`)
)

// texts returns the texts below a key, however deep.
func texts(v any, key string) (found []string) {
	switch v := v.(type) {
	case map[string]any:
		for k, value := range v {
			if s, ok := value.(string); ok && k == key {
				found = append(found, s)
			}
			found = append(found, texts(value, key)...)
		}
	case []any:
		for _, value := range v {
			found = append(found, texts(value, key)...)
		}
	}
	return found
}
