//go:build unix

package otelfasthttp

import (
	"context"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/contribtest"
	"go.opentelemetry.io/otel/sdk/metric"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// discard is an exporter.
type discard struct{}

func (discard) ExportSpans(context.Context, []sdk.ReadOnlySpan) error { return nil }
func (discard) Shutdown(context.Context) error                        { return nil }

// BenchmarkServer has the time of a request without a network: subtract "hook" or "none".
func BenchmarkServer(b *testing.B) {
	meters := WithMeterProvider(metric.NewMeterProvider(metric.WithReader(metric.NewManualReader())))
	off := WithTracerProvider(noop.NewTracerProvider())
	tracers := func(s sdk.Sampler) Option {
		return WithTracerProvider(sdk.NewTracerProvider(sdk.WithBatcher(discard{}), sdk.WithSampler(s)))
	}
	log := contribtest.Log(b)
	for _, bb := range []struct {
		name   string
		attach func(s *fasthttp.Server)
	}{
		{"none", func(*fasthttp.Server) {}},
		{"hook", func(s *fasthttp.Server) { s.ResponseSent = func(*fasthttp.RequestCtx, fasthttp.SentResponse) {} }},
		{"log", log},
		{"metrics", func(s *fasthttp.Server) { Attach(s, off, meters) }},
		{"sampled 1 percent", func(s *fasthttp.Server) { Attach(s, tracers(sdk.TraceIDRatioBased(.01)), meters) }},
		{"sampled all", func(s *fasthttp.Server) { Attach(s, tracers(sdk.AlwaysSample()), meters) }},
		{"log and metrics", func(s *fasthttp.Server) { log(s); Attach(s, off, meters) }},
		{"log, metrics and sampled 1 percent", func(s *fasthttp.Server) {
			log(s)
			Attach(s, tracers(sdk.TraceIDRatioBased(.01)), meters)
		}},
	} {
		b.Run(bb.name, func(b *testing.B) {
			s := &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
				SetRoute(ctx, "/users/{id}")
				ctx.SetBodyString("hello")
			}}
			bb.attach(s)
			contribtest.Serve(b, s)
		})
	}
}
