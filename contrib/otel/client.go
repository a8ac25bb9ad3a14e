package otelfasthttp

import (
	"bytes"
	"context"
	"time"

	"github.com/valyala/fasthttp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
)

// Transport returns a function for fasthttp.ChainRoundTrippers that traces and measures each
// attempt of a call: retries and redirects have spans of their own, with the span in the context
// of the call (Client.DoContext) as their parent. The request names the span while the attempt
// lasts; afterwards it has the fields that the caller has set.
//
// A span ends when the response was received. With StreamResponseBody it ends after the head.
func Transport(opts ...Option) func(next fasthttp.RoundTripperContext) fasthttp.RoundTripper {
	t := &tracing{config: newConfig(opts)}
	if t.counted != nil {
		t.instruments = t.counted.client
	} else {
		t.instruments = newClientInstruments(t.meters.Meter(ScopeName, metric.WithSchemaURL(semconv.SchemaURL)))
	}
	t.tracer, t.traces = newTracer(t.config)
	t.fields = t.propagator.Fields()
	return func(next fasthttp.RoundTripperContext) fasthttp.RoundTripper {
		return fasthttp.RoundTripFunc(func(ctx context.Context, hc *fasthttp.HostClient, req *fasthttp.Request, resp *fasthttp.Response) (retry bool, err error) {
			return t.attempt(ctx, next, hc, req, resp)
		})
	}
}

// tracing is the tracer and the metrics of a client.
type tracing struct {
	*config
	*instruments
	tracer trace.Tracer
	traces bool     // tracer makes spans
	fields []string // that propagator writes
}

var clientKind = trace.WithSpanKind(trace.SpanKindClient)

// attempt makes an attempt.
func (t *tracing) attempt(ctx context.Context, next fasthttp.RoundTripperContext, hc *fasthttp.HostClient, req *fasthttp.Request, resp *fasthttp.Response) (retry bool, err error) {
	at := time.Now()
	s := series{method: methodOf(req.Header.Method()), secure: hc.IsTLS}
	sent := requestSizeToSend(req)
	ctx, span, shard := t.start(ctx, &s, req)
	// if next panics, the span is ended as well
	returned := false
	defer func() {
		if !returned && span != nil {
			span.SetStatus(codes.Error, "panic")
			span.End()
		}
	}()
	carrier, fields := Carrier{&req.Header}, written{names: t.fields}
	fields.save(carrier)
	t.propagator.Inject(ctx, carrier)
	retry, err = next.RoundTripContext(ctx, hc, req, resp)
	returned = true
	fields.restore(carrier)
	received := s.ended(err, resp)
	t.record(ctx, shard, t.of(&s), time.Since(at), sent, received)
	if span != nil {
		t.end(span, &s, err, sent, received)
	}
	return retry, err
}

// start starts the span of an attempt, which is nil if the call is not sampled, and sets the address
// in s. shard is the shard to count in.
func (t *tracing) start(ctx context.Context, s *series, req *fasthttp.Request) (spanned context.Context, span trace.Span, shard uint) {
	space := scratches.Get().(*scratch)
	defer space.release()
	shard = space.shard
	var begins *chosen
	spans := t.traces
	if spans && t.sampler != nil {
		switch parent := trace.SpanContextFromContext(ctx); {
		case !parent.IsValid():
			if d := t.decide(ctx, true); d.sampled {
				begins = &chosen{Context: ctx, low: d.low}
			} else {
				spanned = &unsampled{Context: ctx, provider: t.tracers, low: d.low, root: true}
			}
		case !parent.IsSampled():
			spanned = ctx
		}
		spans = spanned == nil
	}
	t.attributes(space, s, req, spans)
	switch {
	case spanned != nil:
		return spanned, nil, shard
	case !spans:
		spanned, span = t.tracer.Start(ctx, "")
		return spanned, span, shard
	case begins != nil:
		ctx = begins
		defer func() { begins.over = true }()
	}
	spanned, span = t.tracer.Start(ctx, s.method.spanName(), clientKind, trace.WithAttributes(space.attrs...))
	return spanned, span, shard
}

// attributes sets the address in s, and the attributes of a new span if there is one.
func (t *tracing) attributes(space *scratch, s *series, req *fasthttp.Request, spans bool) {
	texts := &space.texts
	uri := req.URI()
	address, port := splitHost(uri.Host())
	if port == 0 {
		port = 80
		if s.secure {
			port = 443
		}
	}
	texts.add(address)
	if spans {
		texts.buf = append(texts.buf, uri.Scheme()...)
		texts.buf = append(texts.buf, "://"...)
		texts.buf = append(texts.buf, uri.Host()...)
		path, query, _ := bytes.Cut(uri.RequestURI(), []byte("?"))
		texts.buf = append(texts.buf, path...)
		if len(query) > 0 && t.query != nil {
			texts.buf = append(texts.buf, '?')
			texts.buf = append(texts.buf, t.query(string(query))...)
		}
		texts.end()
		if s.method == 0 {
			texts.add(req.Header.Method())
		}
	}
	values := texts.strings()
	s.address, s.port = values[0], port
	if !spans {
		return
	}
	attrs := append(space.attrs, methodAttributes[s.method], semconv.URLFull(values[1]), semconv.ServerAddress(s.address), semconv.ServerPort(port))
	if s.method == 0 {
		attrs = append(attrs, semconv.HTTPRequestMethodOriginal(values[2]))
	}
	space.attrs = attrs
}

// requestSizeToSend returns the size of the body of a request, or -1 if it is not known.
func requestSizeToSend(req *fasthttp.Request) int64 {
	switch {
	case req.IsBodyStream():
		return int64(max(req.Header.ContentLength(), -1))
	case len(req.Header.MultipartFormBoundary()) > 0:
		return -1 // the form may not be encoded yet
	}
	return int64(len(req.Body()))
}

// ended sets the status, the version and the failure of the attempt, and returns the size of the body
// of the response, or -1 if it is not known.
func (s *series) ended(err error, resp *fasthttp.Response) (received int64) {
	if err != nil {
		s.failure = errorType(err)
		return -1
	}
	s.status = resp.StatusCode()
	if s.status >= 400 {
		s.failure = errorTypeOfStatus(s.status)
	}
	switch string(resp.Header.Protocol()) {
	case "HTTP/3.0":
		s.version = version3
	case "HTTP/2.0":
		s.version = version2
	case "HTTP/1.0":
		s.version = version10
	default:
		s.version = version11
	}
	switch {
	case resp.SkipBody:
		return 0
	case resp.IsBodyStream():
		return int64(max(resp.Header.ContentLength(), -1))
	}
	return int64(resp.BodySize())
}

// end ends the span.
func (t *tracing) end(span trace.Span, s *series, err error, sent, received int64) {
	if span.IsRecording() {
		attrs := make([]attribute.KeyValue, 0, 6)
		if s.status != 0 {
			attrs = append(attrs, semconv.HTTPResponseStatusCode(s.status), versionAttributes[s.version])
		}
		if s.failure != "" {
			attrs = append(attrs, semconv.ErrorTypeKey.String(s.failure))
			description := ""
			if err != nil {
				description = validText(err.Error())
			}
			span.SetStatus(codes.Error, description)
		}
		if t.spanSizes {
			if sent >= 0 {
				attrs = append(attrs, semconv.HTTPRequestBodySize(int(sent)))
			}
			if received >= 0 {
				attrs = append(attrs, semconv.HTTPResponseBodySize(int(received)))
			}
		}
		span.SetAttributes(attrs...)
	}
	span.End()
}
