package otelfasthttp_test

import (
	"log"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/valyala/fasthttp"
	otelfasthttp "github.com/valyala/fasthttp/contrib/otel"
)

var (
	exporter metric.Exporter
	spans    sdktrace.SpanExporter
)

func handler(ctx *fasthttp.RequestCtx) { ctx.WriteString("hello") }

// A server and a client with the providers of package otel.
func ExampleAttach() {
	otel.SetTextMapPropagator(propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{}))

	server := &fasthttp.Server{Handler: handler}
	otelfasthttp.Attach(server)

	client := &fasthttp.Client{Transport: fasthttp.ChainRoundTrippers(nil, otelfasthttp.Transport())}

	go func() {
		_, _, err := client.Get(nil, "http://localhost:8081/")
		log.Print(err)
	}()
	log.Fatal(server.ListenAndServe(":8080"))
}

// A server whose requests are counted and sampled by this package.
func ExampleWithMetrics() {
	server := &fasthttp.Server{Handler: handler}

	metrics := otelfasthttp.NewMetrics()
	reader := metric.NewPeriodicReader(exporter, metric.WithProducer(metrics))
	provider := metric.NewMeterProvider(metric.WithReader(reader))

	batcher := otelfasthttp.NewSpanBatcher(spans, otelfasthttp.SpanBatcherOptions{})
	traces := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(batcher)) // without WithSampler

	otelfasthttp.Attach(server, otelfasthttp.WithMetrics(metrics),
		otelfasthttp.WithTracerProvider(traces), otelfasthttp.WithSampleRatio(0.01))

	otel.SetMeterProvider(provider)
	log.Fatal(server.ListenAndServe(":8080"))
}
