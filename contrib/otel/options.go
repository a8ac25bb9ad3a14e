package otelfasthttp

import (
	"github.com/valyala/fasthttp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// ScopeName is the name of the tracer and of the meter.
const ScopeName = "github.com/valyala/fasthttp/contrib/otel"

// Option is a setting of Attach, Middleware and Transport.
type Option func(*config)

type config struct {
	tracers    trace.TracerProvider
	meters     metric.MeterProvider
	propagator propagation.TextMapPropagator
	filter     func(*fasthttp.RequestCtx) bool
	route      func(*fasthttp.RequestCtx) string
	query      func(string) string
	public     bool
	spanSizes  bool
	counted    *Metrics
	sampler    *ratioSampler
	w3c        bool // propagator reads the fields of W3C alone
}

func newConfig(opts []Option) *config {
	c := &config{query: RedactQuery}
	for _, set := range opts {
		set(c)
	}
	if c.tracers == nil {
		c.tracers = otel.GetTracerProvider()
	}
	if c.meters == nil {
		c.meters = otel.GetMeterProvider()
	}
	if c.propagator == nil {
		c.propagator = otel.GetTextMapPropagator()
	}
	c.w3c = readsW3C(c.propagator)
	return c
}

// WithTracerProvider sets the provider of the tracer. The one of package noop turns traces off:
// then no attributes of spans are made.
func WithTracerProvider(p trace.TracerProvider) Option {
	return func(c *config) { c.tracers = p }
}

// WithMeterProvider sets the provider of the meter. A view of it may drop metrics that are not
// needed, such as sizes: then they cost nothing. If a program sets the provider of package
// otel, it does so before it uses this package.
func WithMeterProvider(p metric.MeterProvider) Option {
	return func(c *config) { c.meters = p }
}

// WithMetrics makes m count the requests, instead of a MeterProvider, which takes longer. See
// Metrics for the differences.
func WithMetrics(m *Metrics) Option {
	return func(c *config) { c.counted = m }
}

// WithSampleRatio decides which requests are sampled before the tracer is asked, which takes
// longer. If the request names a parent, or the context of a call has one, the decision is the
// parent's. Otherwise it is by the trace ID, as in TraceIDRatioBased of the SDK: a
// share of ratio is sampled.
//
// The tracer learns nothing of an unsampled request: it has no span, and neither samplers
// nor processors see it. Its context has a span context, so that other spans and calls know the
// decision: the trace ID and the trace state of the parent, or a random trace ID, a random span
// ID, and the flags without the one for sampled. The IDs are made when they are needed first.
//
// A sampled request goes to the tracer, whose sampler should agree: as the one of the SDK does
// by default, and any ParentBased(AlwaysSample()). If that is a ratio as well, the share is the product of both.
// The tracer gives it another trace ID unless its provider has IDs. Only services that decide by trace IDs,
// and not by the parent, need that.
func WithSampleRatio(ratio float64) Option {
	return func(c *config) { c.sampler = newSampler(ratio) }
}

// WithPropagator sets the propagator, which reads the parent of a span from requests, and writes it
// to requests. The one of package otel does neither until the program sets it.
func WithPropagator(p propagation.TextMapPropagator) Option {
	return func(c *config) { c.propagator = p }
}

// WithFilter leaves out the requests for which f returns false, such as probes. It has an effect
// on servers.
func WithFilter(f func(ctx *fasthttp.RequestCtx) bool) Option {
	return func(c *config) { c.filter = f }
}

// WithRoute sets how to find the route of a request: the pattern that it has matched, such as
// /users/{id}, and "" if there is none. It must not be the path, since each route has its own
// metrics. f is called after the handler has returned, and not after a TimeoutError method was
// called. SetRoute takes precedence over it.
func WithRoute(f func(ctx *fasthttp.RequestCtx) string) Option {
	return func(c *config) { c.route = f }
}

// WithQuery sets a function that gets the query of a request before it becomes an attribute;
// RedactQuery by default. With nil, queries are left out.
func WithQuery(redact func(query string) string) Option {
	return func(c *config) { c.query = redact }
}

// WithPublicEndpoint makes each span of a server a root, which has a link to the span that the
// client names, since clients of the public can name any.
func WithPublicEndpoint() Option {
	return func(c *config) { c.public = true }
}

// WithSpanSizes adds the sizes of bodies and responses to spans. Metrics have the sizes of
// bodies without it.
func WithSpanSizes() Option {
	return func(c *config) { c.spanSizes = true }
}
