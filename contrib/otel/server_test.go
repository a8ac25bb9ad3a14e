package otelfasthttp

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/roottest"
	"github.com/valyala/fasthttp/internal/servertest"
	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

const (
	parentTrace = "0af7651916cd43dd8448eb211c80319c"
	parentSpan  = "b7ad6b7169203331"
	traceparent = "00-" + parentTrace + "-" + parentSpan + "-01"
)

// attached starts a server with telemetry.
func attached(t *testing.T, start func(*fasthttp.Server) *server, s *fasthttp.Server, opts ...Option) (*server, *telemetry) {
	c := collect(opts...)
	Attach(s, c.options...)
	return start(s), c
}

func TestServerSpanHasTheAttributesOfTheConventions(t *testing.T) {
	everywhere(t, func(t *testing.T, start func(*fasthttp.Server) *server) {
		seen := make(chan string, 1)
		ts, c := attached(t, start, &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
			SetRoute(ctx, "/users/{id}")
			span := trace.SpanFromContext(ctx)
			seen <- span.SpanContext().TraceID().String() + " " + baggage.FromContext(ctx.Context()).Member("who").Value()
			ctx.SetBodyString("hello")
		}}, WithSpanSizes())
		host, port, _ := net.SplitHostPort(ts.Listener.Addr().String())
		if status := ts.ask(t, "POST", "/users/7?name=x&token=abc", "body", "traceparent", traceparent, "tracestate", "vendor=1", "baggage", "who=me", "User-Agent", "tester"); status != 200 {
			t.Fatalf("the status is %d", status)
		}
		if got := servertest.Receive(t, "what the handler sees", seen); got != parentTrace+" me" {
			t.Errorf("the handler sees %q", got)
		}
		span := c.next(t)
		if span.Name() != "POST /users/{id}" || span.SpanKind() != trace.SpanKindServer || span.Status().Code != codes.Unset {
			t.Errorf("the span is %q, %v, %v", span.Name(), span.SpanKind(), span.Status())
		}
		if p := span.Parent(); p.SpanID().String() != parentSpan || p.TraceState().String() != "vendor=1" || !p.IsRemote() {
			t.Errorf("the parent is %v", p)
		}
		scheme, version := "http", "1.1"
		if ts.Engine.TLS {
			scheme = "https"
		}
		if ts.http2 {
			version = "2"
		}
		check(t, "span", attributesOf(span.Attributes()),
			"http.request.method", "POST", "http.response.status_code", "200", "http.route", "/users/{id}",
			"url.path", "/users/7", "url.query", "name=x&token=REDACTED", "url.scheme", scheme,
			"server.address", host, "server.port", port, "client.address", "127.0.0.1",
			"network.protocol.version", version, "user_agent.original", "tester", "error.type", "-",
			"http.request.body.size", "4", "http.response.body.size", "5", "http.request.method_original", "-")
		if !span.StartTime().Before(span.EndTime()) || span.EndTime().Sub(span.StartTime()) > time.Hour {
			t.Errorf("the span lasts from %v to %v", span.StartTime(), span.EndTime())
		}
		points := c.metrics(t)
		duration := only(t, points, "http.server.request.duration")
		check(t, "duration", duration.attributes, "http.request.method", "POST", "http.route", "/users/{id}",
			"http.response.status_code", "200", "url.scheme", scheme, "network.protocol.version", version, "url.path", "-", "error.type", "-")
		if duration.count != 1 || duration.sum <= 0 || !slices.Equal(duration.bounds, durationBoundaries) {
			t.Errorf("the duration is %v", duration)
		}
		if p := only(t, points, "http.server.request.body.size"); p.sum != 4 {
			t.Errorf("the size of the request is %v", p)
		}
		if p := only(t, points, "http.server.response.body.size"); p.sum != 5 {
			t.Errorf("the size of the response is %v", p)
		}
		active := only(t, points, "http.server.active_requests")
		check(t, "active", active.attributes, "http.request.method", "POST", "url.scheme", scheme, "http.response.status_code", "-")
		if active.sum != 0 {
			t.Errorf("%v requests are active", active.sum)
		}
	})
}

// piece is a body stream that waits in the middle.
type piece struct {
	io.Reader
	begun, resume chan struct{}
	err           error
	n             int
}

func (p *piece) Read(b []byte) (int, error) {
	p.n++
	switch p.n {
	case 1:
		return copy(b, "begin"), nil
	case 2:
		close(p.begun)
		<-p.resume
		return copy(b, "-end"), p.err
	}
	return 0, io.EOF
}

func TestServerSpanIncludesTheStream(t *testing.T) {
	everywhere(t, func(t *testing.T, start func(*fasthttp.Server) *server) {
		p := &piece{begun: make(chan struct{}), resume: make(chan struct{})}
		ts, c := attached(t, start, &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
			ctx.SetBodyStream(p, 9)
		}})
		status := make(chan int, 1)
		go func() { status <- ts.ask(t, "GET", "/", "") }()
		servertest.Receive(t, "the middle of the stream", p.begun)
		if ended := c.spans.Ended(); len(ended) != 0 {
			t.Error("the span has ended before the stream")
		}
		if p := only(t, c.metrics(t), "http.server.active_requests"); p.sum != 1 {
			t.Errorf("%v requests are active, want 1", p.sum)
		}
		close(p.resume)
		if got := servertest.Receive(t, "the response", status); got != 200 {
			t.Errorf("the status is %d", got)
		}
		check(t, "span", attributesOf(c.next(t).Attributes()), "http.response.status_code", "200", "error.type", "-")
		if p := only(t, c.metrics(t), "http.server.response.body.size"); p.sum != 9 {
			t.Errorf("the size is %v", p.sum)
		}
	})
}

func TestServerSpanOfCutOffResponseIsAnError(t *testing.T) {
	everywhere(t, func(t *testing.T, start func(*fasthttp.Server) *server) {
		p := &piece{begun: make(chan struct{}), resume: make(chan struct{}), err: errors.New("the disk has failed")}
		close(p.resume)
		ts, c := attached(t, start, &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
			ctx.SetBodyStream(p, 100)
		}})
		ts.ask(t, "GET", "/", "")
		span := c.next(t)
		if span.Status().Code != codes.Error || !strings.Contains(span.Status().Description, "disk") {
			t.Errorf("the span has the status %v", span.Status())
		}
		check(t, "span", attributesOf(span.Attributes()), "http.response.status_code", "200", "error.type", errorType(p.err))
		points := c.metrics(t)
		check(t, "duration", only(t, points, "http.server.request.duration").attributes, "error.type", errorType(p.err))
		if p := only(t, points, "http.server.response.body.size"); p.sum >= 100 {
			t.Errorf("the size is %v", p.sum)
		}
	})
}

func TestServerSpanHasTheStatusThatWasSent(t *testing.T) {
	everywhere(t, func(t *testing.T, start func(*fasthttp.Server) *server) {
		release := make(chan struct{})
		late := make(chan struct{}, 1)
		left := func(ctx *fasthttp.RequestCtx) {
			<-release
			SetRoute(ctx, "/late")
			late <- struct{}{}
		}
		handlers := map[string]fasthttp.RequestHandler{
			"/missing":  func(ctx *fasthttp.RequestCtx) { ctx.Error("nothing here", 404) },
			"/fails":    func(ctx *fasthttp.RequestCtx) { ctx.Error("broken", 503) },
			"/panics":   func(*fasthttp.RequestCtx) { panic("on purpose") },
			"/aborts":   func(*fasthttp.RequestCtx) { panic(http.ErrAbortHandler) },
			"/timeout":  fasthttp.TimeoutHandler(left, time.Nanosecond, "too late"),
			"/left":     func(ctx *fasthttp.RequestCtx) { go left(ctx); ctx.TimeoutErrorWithCode("left", 504) },
			"/resets":   func(ctx *fasthttp.RequestCtx) { ctx.Request.Reset(); ctx.SetStatusCode(202) },
			"/nothing":  func(ctx *fasthttp.RequestCtx) { ctx.SetStatusCode(204) },
			"/continue": func(ctx *fasthttp.RequestCtx) { ctx.SetBodyString("text") },
		}
		ts, c := attached(t, start, &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
			handlers[string(ctx.Path())](ctx)
		}})
		// net/http would send another GET after a connection that was cut off
		for _, tt := range []struct {
			method, path, status, failure string
			code                          codes.Code
			waits                         bool
		}{
			{"GET", "/missing", "404", "-", codes.Unset, false},
			{"GET", "/fails", "503", "503", codes.Error, false},
			{"GET", "/timeout", "408", "-", codes.Unset, true},
			{"GET", "/left", "504", "504", codes.Error, true},
			{"GET", "/resets", "202", "-", codes.Unset, false},
			{"GET", "/nothing", "204", "-", codes.Unset, false},
			{"HEAD", "/continue", "200", "-", codes.Unset, false},
			{"POST", "/aborts", "-", "", codes.Error, false},
			{"GET", "/panics", "", "", codes.Error, false},
		} {
			ts.ask(t, tt.method, tt.path, "")
			span := c.next(t)
			if span.Status().Code != tt.code {
				t.Errorf("%s: the span has the status %v", tt.path, span.Status())
			}
			got := attributesOf(span.Attributes())
			if tt.status != "" {
				check(t, tt.path, got, "http.response.status_code", tt.status)
			}
			if tt.failure == "" && got["error.type"] == "" {
				t.Errorf("%s: no error.type", tt.path)
			} else if tt.failure != "" {
				check(t, tt.path, got, "error.type", tt.failure)
			}
			check(t, tt.path, got, "url.path", tt.path, "http.request.method", tt.method)
			if tt.waits {
				release <- struct{}{}
				servertest.Receive(t, "the end of a late handler", late)
			}
		}
		for _, p := range c.metrics(t)["http.server.active_requests"] {
			if p.sum != 0 {
				t.Errorf("%v requests are active: %v", p.sum, p.attributes)
			}
		}
		for _, p := range c.metrics(t)["http.server.response.body.size"] {
			if p.attributes["http.request.method"] == "HEAD" && p.sum != 0 {
				t.Errorf("the response to HEAD has the size %v", p.sum)
			}
		}
	})
}

func TestServerReportsRefusedRequests(t *testing.T) {
	everywhere(t, func(t *testing.T, start func(*fasthttp.Server) *server) {
		ts, c := attached(t, start, &fasthttp.Server{MaxRequestBodySize: 4, Handler: func(ctx *fasthttp.RequestCtx) { t.Error("the handler was called") }})
		ts.ask(t, "POST", "/big", "more than four", "traceparent", traceparent)
		span := c.next(t)
		check(t, "span", attributesOf(span.Attributes()), "http.response.status_code", "413", "url.path", "/big", "error.type", "-")
		if span.Parent().SpanID().String() != parentSpan {
			t.Errorf("the parent is %v", span.Parent())
		}
		check(t, "duration", only(t, c.metrics(t), "http.server.request.duration").attributes, "http.response.status_code", "413")
	})
}

func TestServerAttributesAreBoundedAndValid(t *testing.T) {
	servertest.ForEachEngine(t, roottest.Prepare, func(t *testing.T, start servertest.Starter[*fasthttp.Server]) {
		c := collect()
		s := &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {}}
		Attach(s, c.options...)
		conn := start(s).Dial()
		conn.Send("BREW /a?\xff=1 HTTP/1.1\r\nHost: [::1]:80\r\nUser-Agent: \xff\xfe\r\n\r\n")
		got := attributesOf(c.next(t).Attributes())
		check(t, "span", got, "http.request.method", "_OTHER", "http.request.method_original", "BREW", "server.address", "::1", "server.port", "80", "user_agent.original", "\uFFFD")
		if !strings.Contains(got["url.path"]+got["url.query"], "/a") {
			t.Errorf("the attributes are %v", got)
		}
		check(t, "duration", only(t, c.metrics(t), "http.server.request.duration").attributes, "http.request.method", "_OTHER")
	})
}

// Texts of errors may have bytes that a client has sent.
func TestServerSpanHasValidTextsOfErrors(t *testing.T) {
	c := collect()
	s := &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
		for _, text := range []string{"no \xff", "ok"} {
			broken := errors.New(text)
			if err := Next(ctx, func() error { return broken }, func() string { return "/" }); err != broken {
				t.Errorf("the error is %v", err)
			}
		}
	}}
	Attach(s, c.options...)
	var ctx fasthttp.RequestCtx
	ctx.Init(&fasthttp.Request{}, nil, nil)
	s.Handler(&ctx)
	s.ResponseSent(&ctx, fasthttp.SentResponse{StatusCode: 200, Err: errors.New("cut off \xff")})
	span := c.next(t)
	if status := span.Status(); status.Description != "cut off \uFFFD" {
		t.Errorf("the status is %q", status.Description)
	}
	events := span.Events()
	if len(events) != 2 {
		t.Fatalf("%d events", len(events))
	}
	for i, want := range []string{"no \uFFFD", "ok"} {
		check(t, "event", attributesOf(events[i].Attributes), "exception.message", want, "exception.type", "*errors.errorString")
		if events[i].Name != "exception" {
			t.Errorf("the event is %q", events[i].Name)
		}
	}
}

func TestServerOptions(t *testing.T) {
	everywhere(t, func(t *testing.T, start func(*fasthttp.Server) *server) {
		ts, c := attached(t, start, &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) { ctx.SetUserValue("route", "/r") }},
			WithPublicEndpoint(), WithQuery(nil),
			WithFilter(func(ctx *fasthttp.RequestCtx) bool { return string(ctx.Path()) != "/healthz" }),
			WithRoute(func(ctx *fasthttp.RequestCtx) string { route, _ := ctx.UserValue("route").(string); return route }))
		ts.ask(t, "GET", "/healthz", "")
		ts.ask(t, "GET", "/?secret=1", "", "traceparent", traceparent)
		span := c.next(t)
		if span.Parent().IsValid() || len(span.Links()) != 1 || span.Links()[0].SpanContext.SpanID().String() != parentSpan {
			t.Errorf("the parent is %v, with the links %v", span.Parent(), span.Links())
		}
		if span.Name() != "GET /r" {
			t.Errorf("the name is %q", span.Name())
		}
		check(t, "span", attributesOf(span.Attributes()), "url.query", "-", "http.route", "/r")
	})
}

func TestMiddlewareEndsWithTheHandlerOrTheStream(t *testing.T) {
	everywhere(t, func(t *testing.T, start func(*fasthttp.Server) *server) {
		p := &piece{begun: make(chan struct{}), resume: make(chan struct{})}
		c := collect()
		ts := start(&fasthttp.Server{Handler: Middleware(func(ctx *fasthttp.RequestCtx) {
			SetRoute(ctx, "/m")
			switch string(ctx.Path()) {
			case "/stream":
				ctx.SetBodyStream(p, 9)
			case "/panics":
				panic("on purpose")
			case "/left":
				ctx.TimeoutErrorWithCode("left", 504)
			default:
				ctx.Error("no", 404)
			}
		}, c.options...)})
		for path, want := range map[string]string{"/": "404", "/panics": "500", "/left": "504"} {
			ts.ask(t, "GET", path, "")
			check(t, path, attributesOf(c.next(t).Attributes()), "http.response.status_code", want, "http.route", "/m")
		}
		status := make(chan int, 1)
		go func() { status <- ts.ask(t, "GET", "/stream", "") }()
		servertest.Receive(t, "the middle of the stream", p.begun)
		if len(c.spans.Ended()) != 0 {
			t.Error("the span has ended before the stream")
		}
		close(p.resume)
		servertest.Receive(t, "the response", status)
		check(t, "stream", attributesOf(c.next(t).Attributes()), "http.response.status_code", "200")
		for _, p := range c.metrics(t)["http.server.active_requests"] {
			if p.sum != 0 {
				t.Errorf("%v requests are active", p.sum)
			}
		}
	})
}

func TestAttachKeepsTheOtherHook(t *testing.T) {
	called := 0
	s := &fasthttp.Server{Handler: func(*fasthttp.RequestCtx) {}, ResponseSent: func(*fasthttp.RequestCtx, fasthttp.SentResponse) { called++ }}
	Attach(s, collect().options...)
	var ctx fasthttp.RequestCtx
	ctx.Init(&fasthttp.Request{}, nil, nil)
	s.Handler(&ctx)
	s.ResponseSent(&ctx, fasthttp.SentResponse{StatusCode: 200})
	if called != 1 {
		t.Errorf("the other hook was called %d times", called)
	}
}

func TestWithoutTracesThereAreMetricsAndTheParent(t *testing.T) {
	c := collect()
	seen := ""
	h := Middleware(func(ctx *fasthttp.RequestCtx) {
		seen = trace.SpanContextFromContext(ctx.Context()).SpanID().String()
	}, append(c.options, WithTracerProvider(noop.NewTracerProvider()))...)
	var ctx fasthttp.RequestCtx
	ctx.Init(&fasthttp.Request{}, nil, nil)
	ctx.Request.Header.Set("traceparent", traceparent)
	h(&ctx)
	if seen != parentSpan {
		t.Errorf("the handler sees the span %q", seen)
	}
	if p := only(t, c.metrics(t), "http.server.request.duration"); p.count != 1 {
		t.Errorf("the duration is %v", p)
	}
}

func TestSamplersGetTheAttributes(t *testing.T) {
	var got map[string]string
	h := Middleware(func(*fasthttp.RequestCtx) {}, append(collect().options, WithTracerProvider(sdk.NewTracerProvider(sdk.WithSampler(sampler(func(p sdk.SamplingParameters) {
		got = attributesOf(p.Attributes)
	})))))...)
	var ctx fasthttp.RequestCtx
	ctx.Init(&fasthttp.Request{}, nil, nil)
	ctx.Request.SetRequestURI("/path?q=1")
	h(&ctx)
	check(t, "sampler", got, "url.path", "/path", "url.query", "q=1", "http.request.method", "GET")
}

type sampler func(p sdk.SamplingParameters)

func (s sampler) ShouldSample(p sdk.SamplingParameters) sdk.SamplingResult {
	s(p)
	return sdk.SamplingResult{Decision: sdk.Drop}
}
func (s sampler) Description() string { return "a test" }

func TestSeriesAreBounded(t *testing.T) {
	c := newConfig(collect().options)
	in := newServerInstruments(c.meters.Meter(ScopeName))
	for i := range 2 * maxSeries {
		in.of(&series{status: i})
	}
	if n := len(*in.known.Load()); n != maxSeries {
		t.Errorf("%d series are kept", n)
	}
	if p := in.of(&series{status: 2*maxSeries + 1}); len(p.options) == 0 {
		t.Error("a further series has no attributes")
	}
	in.record(context.Background(), 0, in.of(&series{}), time.Second, -1, -1)
}

func TestActiveRequestsOfSeveralServersAreOneSum(t *testing.T) {
	c := collect()
	one := &fasthttp.Server{Handler: func(*fasthttp.RequestCtx) {
		two := Middleware(func(*fasthttp.RequestCtx) {
			for range 2 {
				if p := only(t, c.metrics(t), "http.server.active_requests"); p.sum != 2 {
					t.Errorf("%v requests are active, want 2", p.sum)
				}
			}
		}, c.options...)
		var ctx fasthttp.RequestCtx
		ctx.Init(&fasthttp.Request{}, nil, nil)
		two(&ctx)
	}}
	Attach(one, c.options...)
	var ctx fasthttp.RequestCtx
	ctx.Init(&fasthttp.Request{}, nil, nil)
	one.Handler(&ctx)
	one.ResponseSent(&ctx, fasthttp.SentResponse{StatusCode: 200})
	if p := only(t, c.metrics(t), "http.server.active_requests"); p.sum != 0 {
		t.Errorf("%v requests are active", p.sum)
	}
}
