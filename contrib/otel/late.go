package otelfasthttp

import (
	"context"
	"sync/atomic"

	"github.com/valyala/fasthttp"
	"go.opentelemetry.io/otel/trace"
)

// late is the context of a request that has no span. Few handlers ask for it, so it is made then.
type late struct {
	kind lateKind
	root bool            // an unsampled request begins a trace
	low  uint64          // the second half of the ID of that
	from remote          // the parent that the request names, unless base has it
	base context.Context // to derive the context from
	made atomic.Pointer[context.Context]
}

type lateKind uint8

const (
	lateNone      lateKind = iota
	lateUnsampled          // an *unsampled
	lateRemote             // a context with the parent, for there are no traces
)

// lateContext returns the context of a request. It is for SetContextFunc.
func lateContext(ctx *fasthttp.RequestCtx) context.Context {
	r, _ := ctx.UserValue(requestKey).(*request)
	if r == nil || r.late.kind == lateNone {
		return nil
	}
	return r.context()
}

// context returns the context that late describes. Several goroutines may call it.
func (r *request) context() context.Context {
	l := &r.late
	if c := l.made.Load(); c != nil {
		return *c
	}
	var c context.Context
	if l.kind == lateRemote {
		c = trace.ContextWithRemoteSpanContext(l.base, trace.NewSpanContext(trace.SpanContextConfig{TraceID: l.from.id, SpanID: l.from.span, TraceFlags: l.from.flags}))
	} else {
		c = &unsampled{Context: l.base, provider: r.in.tracers, low: l.low, root: l.root, from: l.from}
	}
	if !l.made.CompareAndSwap(nil, &c) {
		return *l.made.Load()
	}
	return c
}
