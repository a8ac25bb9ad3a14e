package otelfasthttp

import (
	"context"
	"encoding/binary"
	"math"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

var _ sdk.IDGenerator = IDs{}

// run calls a handler with a request that has the given fields.
func run(h fasthttp.RequestHandler, fields ...string) {
	var ctx fasthttp.RequestCtx
	ctx.Init(&fasthttp.Request{}, nil, nil)
	for i := 0; i < len(fields); i += 2 {
		ctx.Request.Header.Set(fields[i], fields[i+1])
	}
	h(&ctx)
}

func TestSampleRatioFollowsTheParent(t *testing.T) {
	const unsampledParent = "00-" + parentTrace + "-" + parentSpan + "-00"
	for _, tt := range []struct {
		ratio   float64
		parent  string
		public  bool
		sampled bool
		of      bool // the trace of the parent
		plain   bool // the request has no tracestate
	}{
		{0, "", false, false, false, false},
		{0, "", false, false, false, true},
		{1, "", false, true, false, false},
		{1, "", false, true, false, true},
		{0, traceparent, false, true, true, false},
		{0, traceparent, false, true, true, true},
		{1, unsampledParent, false, false, true, false},
		{1, unsampledParent, false, false, true, true},
		{0, unsampledParent, false, false, true, false},
		{0, unsampledParent, false, false, true, true},
		{0, traceparent, true, false, false, false},
		{0, traceparent, true, false, false, true},
		{1, unsampledParent, true, true, false, false},
		{1, unsampledParent, true, true, false, true},
		{1, "nonsense", false, true, false, false},
		{1, "nonsense", false, true, false, true},
	} {
		options := []Option{WithSampleRatio(tt.ratio)}
		if tt.public {
			options = append(options, WithPublicEndpoint())
		}
		c := collect(options...)
		var seen, child trace.SpanContext
		h := Middleware(func(ctx *fasthttp.RequestCtx) {
			span := trace.SpanFromContext(ctx)
			seen = span.SpanContext()
			if again := trace.SpanContextFromContext(ctx.Context()); !again.Equal(seen) {
				t.Errorf("%+v: the span is %v, and then %v", tt, seen, again)
			}
			_, inner := span.TracerProvider().Tracer("inner").Start(ctx, "inner")
			child = inner.SpanContext()
			inner.End()
		}, append(c.options, options...)...)
		state := ""
		if !tt.plain {
			state = "vendor=1"
		}
		run(h, "traceparent", tt.parent, "tracestate", state)
		if seen.IsSampled() != tt.sampled || !seen.IsValid() || seen.IsRemote() {
			t.Errorf("%+v: the handler sees %v", tt, seen)
		}
		if (seen.TraceID().String() == parentTrace) != tt.of || seen.SpanID().String() == parentSpan || (seen.TraceState().String() == "vendor=1") != (tt.of && !tt.plain) {
			t.Errorf("%+v: the handler sees %v", tt, seen)
		}
		if child.IsSampled() != tt.sampled || child.TraceID() != seen.TraceID() || child.SpanID() == seen.SpanID() {
			t.Errorf("%+v: a child is %v of %v", tt, child, seen)
		}
		want := 0
		if tt.sampled {
			want = 2
		}
		if n := len(c.spans.Ended()); n != want {
			t.Errorf("%+v: %d spans", tt, n)
		}
		if p := only(t, c.metrics(t), "http.server.request.duration"); p.count != 1 {
			t.Errorf("%+v: the duration is %v", tt, p)
		}
	}
}

func TestSampleRatioIsTheShareOfTraces(t *testing.T) {
	const requests, ratio = 2000, .25
	c := collect(WithSampleRatio(ratio))
	of := sdk.TraceIDRatioBased(ratio)
	h := Middleware(func(ctx *fasthttp.RequestCtx) {
		sc := trace.SpanContextFromContext(ctx)
		decision := of.ShouldSample(sdk.SamplingParameters{ParentContext: context.Background(), TraceID: sc.TraceID()}).Decision
		if (decision == sdk.RecordAndSample) != sc.IsSampled() {
			t.Fatalf("another service decides otherwise about %v", sc)
		}
	}, append(c.options, WithTracerProvider(sdk.NewTracerProvider(sdk.WithSpanProcessor(c.spans), sdk.WithIDGenerator(IDs{}))))...)
	for range requests {
		run(h)
	}
	n := float64(len(c.spans.Ended()))
	// eight standard deviations
	if limit := 8 * math.Sqrt(requests*ratio*(1-ratio)); math.Abs(n-requests*ratio) > limit {
		t.Errorf("%v of %d are sampled", n, requests)
	}
}

func TestIDsAreValidAndBelongToOneTrace(t *testing.T) {
	c := &chosen{Context: context.Background(), low: 7}
	id, span := IDs{}.NewIDs(c)
	if binary.BigEndian.Uint64(id[8:]) != 7 || !id.IsValid() || !span.IsValid() || !(IDs{}).NewSpanID(c, id).IsValid() {
		t.Errorf("the IDs are %v and %v", id, span)
	}
	c.over = true
	if id, _ = (IDs{}).NewIDs(c); binary.BigEndian.Uint64(id[8:]) == 7 {
		t.Errorf("another trace has the ID %v", id)
	}
}

func TestClientsPropagateThatACallIsNotSampled(t *testing.T) {
	c := collect(WithSampleRatio(0))
	got := ""
	client := &fasthttp.Client{Transport: fasthttp.ChainRoundTrippers(nil, Transport(c.options...), func(fasthttp.RoundTripperContext) fasthttp.RoundTripper {
		return fasthttp.RoundTripFunc(func(_ context.Context, _ *fasthttp.HostClient, req *fasthttp.Request, _ *fasthttp.Response) (bool, error) {
			got = string(req.Header.Peek("traceparent"))
			return false, nil
		})
	})}
	call := func(ctx context.Context) {
		var req fasthttp.Request
		req.SetRequestURI("http://example.com/")
		servertest.Must(t, client.DoContext(ctx, &req, nil))
	}
	h := Middleware(func(ctx *fasthttp.RequestCtx) {
		call(ctx)
		sc := trace.SpanContextFromContext(ctx)
		if want := "00-" + sc.TraceID().String() + "-" + sc.SpanID().String() + "-00"; got != want {
			t.Errorf("the call has the traceparent %q, want %q", got, want)
		}
	}, c.options...)
	run(h)
	call(context.Background())
	if n := len(got); n != len(traceparent) || got[n-2:] != "00" {
		t.Errorf("a call without a parent has the traceparent %q", got)
	}
	if n := len(c.spans.Ended()); n != 0 {
		t.Errorf("%d spans", n)
	}
	remote := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled})
	call(trace.ContextWithRemoteSpanContext(t.Context(), remote))
	if span := c.next(t); span.SpanContext().TraceID() != (trace.TraceID{1}) {
		t.Errorf("the span is %v", span.SpanContext())
	}
	if p := only(t, c.metrics(t), "http.client.request.duration"); p.count != 3 {
		t.Errorf("the duration is %v", p)
	}
}

func TestWhatIsDerivedFromAnUnsampledRequestStays(t *testing.T) {
	c := collect(WithSampleRatio(0))
	var kept []context.Context
	s := &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
		derived, cancel := context.WithCancel(ctx.Context())
		defer cancel()
		kept = append(kept, trace.ContextWithSpanContext(context.Background(), trace.SpanContextFromContext(derived)), context.WithoutCancel(ctx.Context()))
	}}
	Attach(s, c.options...)
	var ctx fasthttp.RequestCtx
	for range 2 {
		ctx.Init(&fasthttp.Request{}, nil, nil)
		s.Handler(&ctx)
		s.ResponseSent(&ctx, fasthttp.SentResponse{StatusCode: 200})
	}
	ids := make(map[trace.SpanID]bool)
	for i, one := range kept {
		sc := trace.SpanContextFromContext(one)
		if !sc.IsValid() || ids[sc.SpanID()] != (i%2 == 1) {
			t.Errorf("context %d has the span %v", i, sc)
		}
		ids[sc.SpanID()] = true
	}
}

func TestUnsampledRequestAllocatesNothing(t *testing.T) {
	if servertest.RaceDetector {
		t.Skip("the race detector drops what is pooled")
	}
	s := &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) { SetRoute(ctx, "/users/{id}") }}
	reader := metric.NewManualReader()
	Attach(s, WithMetrics(NewMetrics()), WithSampleRatio(0), WithMeterProvider(metric.NewMeterProvider(metric.WithReader(reader))),
		WithTracerProvider(sdk.NewTracerProvider(sdk.WithSpanProcessor(tracetest.NewSpanRecorder()))),
		WithPropagator(propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{})))
	var ctx fasthttp.RequestCtx
	ctx.Init(&fasthttp.Request{}, nil, nil)
	for _, parent := range []string{"", traceparent[:53] + "00"} {
		ctx.Request.Header.Set("traceparent", parent)
		if n := testing.AllocsPerRun(100, func() {
			s.Handler(&ctx)
			s.ResponseSent(&ctx, fasthttp.SentResponse{StatusCode: 200})
			ctx.ResetUserValues()
		}); n > 0 {
			t.Errorf("%v allocations with the parent %q", n, parent)
		}
	}
}

func TestSampleRatioWithoutTracesKeepsTheParent(t *testing.T) {
	c := collect(WithSampleRatio(0))
	h := Middleware(func(ctx *fasthttp.RequestCtx) {
		if got := trace.SpanContextFromContext(ctx).SpanID().String(); got != parentSpan {
			t.Errorf("the handler sees the span %q", got)
		}
	}, append(c.options, WithTracerProvider(noop.NewTracerProvider()))...)
	run(h, "traceparent", traceparent)
}

// TestParentWithoutTracesIsReadIfItIsNeeded compares the context of a handler with the propagator's.
func TestParentWithoutTracesIsReadIfItIsNeeded(t *testing.T) {
	metrics := NewMetrics()
	p := propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{})
	for _, fields := range [][]string{
		{"traceparent", traceparent}, {"traceparent", traceparent[:53] + "00"}, {"traceparent", traceparent, "tracestate", "vendor=1"},
		{"traceparent", traceparent, "baggage", "a=b"}, {"baggage", "a=b"}, {"traceparent", "nonsense"}, {},
	} {
		var want, wanted baggageAndSpan
		asked := false
		handle := func(ctx *fasthttp.RequestCtx) {
			if !asked {
				return
			}
			want = contentOf(p.Extract(context.Background(), Carrier{&ctx.Request.Header}))
			ctx.Request.Header.Set("traceparent", traceparent[:36]+"1111111111111111-01")
			if wanted = contentOf(ctx); wanted != contentOf(ctx.Context()) {
				t.Errorf("%q: the context has %v, ctx %v", fields, contentOf(ctx.Context()), wanted)
			}
		}
		s := &fasthttp.Server{Handler: handle}
		Attach(s, WithMetrics(metrics), WithPropagator(p), WithTracerProvider(noop.NewTracerProvider()))
		var ctx fasthttp.RequestCtx
		serve := func() {
			s.Handler(&ctx)
			if s.ResponseSent(&ctx, fasthttp.SentResponse{StatusCode: 200}); asked && contentOf(&ctx) != wanted {
				t.Errorf("%q: a later hook finds %v", fields, contentOf(&ctx))
			}
			ctx.ResetUserValues()
		}
		ctx.Init(&fasthttp.Request{}, nil, nil)
		for i := 0; i < len(fields); i += 2 {
			ctx.Request.Header.Set(fields[i], fields[i+1])
		}
		if n := testing.AllocsPerRun(100, serve); n > 0 && len(fields) == 2 && len(fields[1]) == len(traceparent) && !servertest.RaceDetector {
			t.Errorf("%q: %v allocations", fields, n)
		}
		asked = true
		serve()
		if want != wanted {
			t.Errorf("%q: the handler sees %v, the propagator %v", fields, wanted, want)
		}
	}
}

// baggageAndSpan are the values that a propagator adds to a context.
type baggageAndSpan struct {
	baggage, state  string
	trace           trace.TraceID
	span            trace.SpanID
	flags           trace.TraceFlags
	remote, isValid bool
}

func contentOf(ctx context.Context) baggageAndSpan {
	sc := trace.SpanContextFromContext(ctx)
	return baggageAndSpan{baggage.FromContext(ctx).String(), sc.TraceState().String(), sc.TraceID(), sc.SpanID(), sc.TraceFlags(), sc.IsRemote(), sc.IsValid()}
}

// TestExemplarsNameTheRemoteParent has a meter that keeps the trace of a sampled measurement.
func TestExemplarsNameTheRemoteParent(t *testing.T) {
	c := collect(WithTracerProvider(noop.NewTracerProvider()))
	h := Middleware(func(*fasthttp.RequestCtx) {}, append(c.options, WithTracerProvider(noop.NewTracerProvider()))...)
	run(h, "traceparent", traceparent)
	var rm metricdata.ResourceMetrics
	servertest.Must(t, c.reader.Collect(t.Context(), &rm))
	found := false
	for _, m := range rm.ScopeMetrics[0].Metrics {
		if h, ok := m.Data.(metricdata.Histogram[float64]); ok {
			for _, e := range h.DataPoints[0].Exemplars {
				found = found || trace.TraceID(e.TraceID).String() == parentTrace
			}
		}
	}
	if !found {
		t.Error("no exemplar has the trace of the parent")
	}
}

func TestVersionOfRequests(t *testing.T) {
	for protocol, want := range map[string]string{"HTTP/1.0": "1.0", "HTTP/1.1": "1.1", "HTTP/3.0": "3"} {
		c := collect()
		h := Middleware(func(*fasthttp.RequestCtx) {}, c.options...)
		var ctx fasthttp.RequestCtx
		ctx.Init(&fasthttp.Request{}, nil, nil)
		ctx.Request.Header.SetProtocol(protocol)
		h(&ctx)
		check(t, protocol, attributesOf(c.next(t).Attributes()), "network.protocol.version", want)
		check(t, protocol, only(t, c.metrics(t), "http.server.request.duration").attributes, "network.protocol.version", want)
	}
	var s series
	var resp fasthttp.Response
	resp.Header.SetProtocol([]byte("HTTP/3.0"))
	if s.ended(nil, &resp); s.version != version3 {
		t.Errorf("a call has the version %v", versionAttributes[s.version])
	}
}

func TestParentsAreReadAsThePropagatorDoes(t *testing.T) {
	both := propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{})
	for _, tt := range []struct {
		p    propagation.TextMapPropagator
		want bool
	}{
		{propagation.TraceContext{}, true},
		{propagation.Baggage{}, false},
		{both, true},
		{propagation.NewCompositeTextMapPropagator(both, propagation.Baggage{}), true},
		{propagation.NewCompositeTextMapPropagator(propagation.Baggage{}), false},
		{propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, other{both}), false},
		{other{both}, false},
	} {
		if got := readsW3C(tt.p); got != tt.want {
			t.Errorf("%T %v: %v", tt.p, tt.p, got)
		}
	}
	valid := 0
	for _, text := range []string{
		traceparent, traceparent[:53] + "00", traceparent[:53] + "02", traceparent[:53] + "03", traceparent[:53] + "04", "",
		"00-" + parentTrace + "-0000000000000000-01", "00-00000000000000000000000000000000-" + parentSpan + "-01",
		"01" + traceparent[2:], traceparent + "-more", traceparent[:54], "ff" + traceparent[2:], "00-0AF7651916cd43dd8448eb211c80319c-" + parentSpan + "-01",
		"00-gaf7651916cd43dd8448eb211c80319c-" + parentSpan + "-01", "00_" + traceparent[3:], " " + traceparent,
	} {
		var req fasthttp.Request
		req.Header.Set("traceparent", text)
		want := trace.SpanContextFromContext(both.Extract(context.Background(), Carrier{&req.Header}))
		got, plain := remoteOf(&req.Header)
		if plain && (got.id != want.TraceID() || got.span != want.SpanID() || got.flags != want.TraceFlags()) {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
		if plain && got.id.IsValid() {
			valid++
		}
	}
	if valid < 4 {
		t.Errorf("%d parents were read", valid)
	}
}

// other is a propagator of another package.
type other struct{ propagation.TextMapPropagator }
