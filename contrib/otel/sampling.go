package otelfasthttp

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"sync/atomic"

	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// ratioSampler decides which requests are sampled.
type ratioSampler struct {
	all   bool
	bound uint64 // of trace IDs, as in TraceIDRatioBased of the SDK
}

func newSampler(ratio float64) *ratioSampler {
	switch {
	case ratio >= 1:
		return &ratioSampler{all: true}
	case ratio > 0:
		return &ratioSampler{bound: uint64(ratio * (1 << 63))}
	}
	return new(ratioSampler)
}

// samples reports whether a new trace is sampled. low is the second half of its ID.
func (s *ratioSampler) samples(low uint64) bool { return s.all || low>>1 < s.bound }

// chosen is the context of a span that begins a sampled trace.
type chosen struct {
	context.Context
	low  uint64 // the second half of the trace ID
	over bool   // the span has begun: further traces have other IDs
}

// chosenKey is the key for which a context of this package returns the second half of a new trace ID.
type chosenKey struct{}

func (c *chosen) Value(key any) any {
	if !c.over && key == (chosenKey{}) {
		return c.low
	}
	return c.Context.Value(key)
}

// IDs is an IDGenerator of the SDK, for sdk/trace.WithIDGenerator: it gives a trace the ID by which
// WithSampleRatio has decided. Other IDs are random.
type IDs struct{}

// NewIDs returns the IDs of a trace and of its first span.
func (IDs) NewIDs(ctx context.Context) (t trace.TraceID, s trace.SpanID) {
	low, ok := ctx.Value(chosenKey{}).(uint64)
	if !ok {
		low = rand.Uint64()
	}
	return newTraceID(low), newSpanID()
}

// NewSpanID returns the ID of a span.
func (IDs) NewSpanID(context.Context, trace.TraceID) trace.SpanID { return newSpanID() }

func newTraceID(low uint64) (id trace.TraceID) {
	binary.BigEndian.PutUint64(id[8:], low)
	for high := uint64(0); high == 0; {
		high = rand.Uint64()
		binary.BigEndian.PutUint64(id[:8], high)
	}
	return id
}

func newSpanID() (id trace.SpanID) {
	for !id.IsValid() {
		binary.BigEndian.PutUint64(id[:], rand.Uint64())
	}
	return id
}

// unsampled is the context of an unsampled request or call. It is never reused, since contexts
// derived from it may outlive the request.
type unsampled struct {
	context.Context // with the parent
	provider        trace.TracerProvider
	low             uint64 // the second half of the trace ID, if there is no parent
	root            bool   // there is no parent, or it does not count
	from            remote // the parent, if the context does not have it
	span            atomic.Pointer[unsampledSpan]
}

// unsampledSpan is a span that records nothing.
type unsampledSpan struct {
	noop.Span
	context  trace.SpanContext
	provider trace.TracerProvider
}

func (s *unsampledSpan) SpanContext() trace.SpanContext       { return s.context }
func (s *unsampledSpan) TracerProvider() trace.TracerProvider { return s.provider }

// spanKey is the key by which package trace asks a context for its span.
var spanKey = func() any {
	var p keyProbe
	trace.SpanFromContext(&p)
	return p.key
}()

// keyProbe is a context that remembers the key that it was asked for.
type keyProbe struct {
	context.Context
	key any
}

func (p *keyProbe) Value(key any) any {
	p.key = key
	return nil
}

func (u *unsampled) Value(key any) any {
	if key == spanKey {
		return u.current()
	}
	return u.Context.Value(key)
}

// AfterFunc lets package context derive contexts without a goroutine for each.
func (u *unsampled) AfterFunc(f func()) (stop func() bool) {
	if parent, ok := u.Context.(interface{ AfterFunc(f func()) func() bool }); ok {
		return parent.AfterFunc(f)
	}
	return context.AfterFunc(u.Context, f)
}

// current returns the span, which it makes at first.
func (u *unsampled) current() *unsampledSpan {
	if s := u.span.Load(); s != nil {
		return s
	}
	c := trace.SpanContextConfig{SpanID: newSpanID()}
	switch {
	case u.root:
		c.TraceID = newTraceID(u.low)
	case u.from.id.IsValid():
		c.TraceID, c.TraceFlags = u.from.id, u.from.flags.WithSampled(false)
	default:
		parent := trace.SpanContextFromContext(u.Context)
		c.TraceID, c.TraceState, c.TraceFlags = parent.TraceID(), parent.TraceState(), parent.TraceFlags().WithSampled(false)
	}
	s := &unsampledSpan{context: trace.NewSpanContext(c), provider: u.provider}
	if !u.span.CompareAndSwap(nil, s) {
		s = u.span.Load()
	}
	return s
}

// decision is whether a request or a call is sampled.
type decision struct {
	sampled bool
	root    bool   // it begins a trace
	low     uint64 // the second half of the ID of that
}

// decide decides about a request or a call with the parent in ctx. With isRoot that does not count.
func (c *config) decide(ctx context.Context, isRoot bool) decision {
	if span, ok := ctx.Value(spanKey).(trace.Span); ok && !isRoot {
		if parent := span.SpanContext(); parent.IsValid() {
			return decision{sampled: parent.IsSampled()}
		}
	}
	low := rand.Uint64()
	return decision{c.sampler.samples(low), true, low}
}
