package otelfasthttp

import (
	"encoding/hex"
	"reflect"

	"github.com/valyala/fasthttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// readsW3C reports whether a propagator reads traceparent and no fields beyond the ones of
// TraceContext and Baggage.
func readsW3C(p propagation.TextMapPropagator) bool {
	parents, others := countW3C(p)
	return parents > 0 && others == 0
}

// countW3C returns how many parts of a propagator are TraceContext, and how many are unknown.
func countW3C(p propagation.TextMapPropagator) (parents, others int) {
	switch p.(type) {
	case propagation.TraceContext:
		return 1, 0
	case propagation.Baggage:
		return 0, 0
	}
	// a composite propagator is a slice
	v := reflect.ValueOf(p)
	if v.Kind() != reflect.Slice || v.Type().PkgPath() != reflect.TypeFor[propagation.TraceContext]().PkgPath() {
		return 0, 1
	}
	for i := range v.Len() {
		part, _ := v.Index(i).Interface().(propagation.TextMapPropagator)
		if part == nil {
			return 0, 1
		}
		more, unknown := countW3C(part)
		parents, others = parents+more, others+unknown
	}
	return parents, others
}

// remote is the parent that a request names. Its trace ID is invalid if there is none.
type remote struct {
	id    trace.TraceID
	span  trace.SpanID
	flags trace.TraceFlags
}

// remoteOf returns the parent that a request names, or false if the propagator must read it, since
// there is more than a traceparent of version 0, or an invalid one.
func remoteOf(h *fasthttp.RequestHeader) (r remote, plain bool) {
	if len(h.Peek("baggage")) > 0 {
		return r, false
	}
	text := h.Peek("traceparent")
	if len(text) == 0 {
		return r, true
	}
	if len(h.Peek("tracestate")) > 0 || len(text) != 55 || string(text[:3]) != "00-" || text[35] != '-' || text[52] != '-' {
		return r, false
	}
	for _, c := range text {
		if 'A' <= c && c <= 'F' {
			return r, false
		}
	}
	var flags [1]byte
	for _, part := range [...]struct{ to, from []byte }{{r.id[:], text[3:35]}, {r.span[:], text[36:52]}, {flags[:], text[53:]}} {
		if _, err := hex.Decode(part.to, part.from); err != nil {
			return remote{}, false
		}
	}
	r.flags = trace.TraceFlags(flags[0])
	if !r.id.IsValid() || !r.span.IsValid() || r.flags&^(trace.FlagsSampled|trace.FlagsRandom) != 0 {
		return remote{}, false
	}
	return r, true
}
