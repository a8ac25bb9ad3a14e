package otelfasthttp

import (
	"context"
	"sync"
	"time"

	"github.com/valyala/fasthttp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// maxLeft limits how many requests whose context was left to their handler are remembered until
// their responses are sent.
const maxLeft = 1 << 16

// instrumentation is the tracer and the metrics of a server.
type instrumentation struct {
	*config
	*instruments
	tracer trace.Tracer
	traces bool             // tracer makes spans
	server *fasthttp.Server // or nil, with Middleware

	mu sync.Mutex
	// left has the requests whose context was left to their handler, by their number
	left map[uint64]*request
}

func newInstrumentation(opts []Option) *instrumentation {
	c := newConfig(opts)
	in := &instrumentation{config: c, left: map[uint64]*request{}}
	if c.counted != nil {
		in.instruments = c.counted.server
	} else {
		in.instruments = serverInstruments(c.meters.Meter(ScopeName, metric.WithSchemaURL(semconv.SchemaURL)))
	}
	in.tracer, in.traces = newTracer(c)
	return in
}

// requests has requests to use again.
var requests = sync.Pool{New: func() any { return new(request) }}

// release is called when nothing refers to the request any more.
func (r *request) release() {
	*r = request{}
	requests.Put(r)
}

func newTracer(c *config) (t trace.Tracer, traces bool) {
	t = c.tracers.Tracer(ScopeName, trace.WithSchemaURL(semconv.SchemaURL))
	_, none := t.(noop.Tracer)
	return t, !none
}

// request is a request being handled.
type request struct {
	in   *instrumentation
	ctx  context.Context // with the span, or nil: it is made when something asks for it
	span trace.Span      // or nil: the request is not sampled
	late late            // how to make the context
	at   time.Time       // when it was received, or zero: it is not needed
	// shard is the shard to count in, one for all requests of a connection
	shard uint

	series       series
	took         time.Duration // until the response was sent, or 0
	requestSize  int64         // of the body, or -1
	responseSize int64         // of the body that the handler has set, or -1
	head         bool          // the method is HEAD

	// A handler that is late, or that resets its request, may use the request while it ends.
	mu       sync.Mutex
	route    string
	ended    bool
	returned bool // the handler has returned
	alone    bool // no goroutine of the handler uses it
	status   int  // that the handler has set, with Middleware
	closes   bool // it ends when it is closed, with Middleware
}

// keyType is the type of requestKey. It has a size, so that its pointers differ.
type keyType struct{ _ byte }

// requestKey is the key of the user value with the request. Pointers are compared at once.
var requestKey = new(keyType)

// Attach traces and measures the requests of a server. It is called before the server is started,
// and after Server.Handler and Server.ResponseSent were set: it puts functions around them.
//
// A span begins when the request was received, and ends when its response was sent, or cut off.
// So it includes body streams, and the status is the one that was sent, also after a timeout or a
// panic. Requests that no handler has got are reported if their heads were read.
//
// Server.ResponseSent has a cost of its own: pipelined responses are written one by one.
func Attach(s *fasthttp.Server, opts ...Option) {
	in := newInstrumentation(opts)
	in.server = s
	next := s.Handler
	s.Handler = func(ctx *fasthttp.RequestCtx) {
		if in.filter != nil && !in.filter(ctx) {
			ctx.SetUserValue(requestKey, skipped)
			next(ctx)
			return
		}
		r := in.begin(ctx)
		r.share(ctx)
		defer in.handled(ctx, r)
		next(ctx)
	}
	before := s.ResponseSent
	s.ResponseSent = func(ctx *fasthttp.RequestCtx, sent fasthttp.SentResponse) {
		in.sent(ctx, sent)
		if before != nil {
			before(ctx, sent)
		}
	}
}

// share gives the handlers of a request its context.
func (r *request) share(ctx *fasthttp.RequestCtx) {
	ctx.SetUserValue(requestKey, r)
	switch {
	case r.ctx != nil:
		ctx.SetContext(r.ctx)
	case r.late.kind != lateNone:
		ctx.SetContextFunc(lateContext)
	}
}

// skipped is the value of requests that a filter leaves out.
var skipped = &request{ended: true}

// SetRoute sets the route of the request, for its span and its metrics: the pattern that it has
// matched, such as /users/{id}. It must not be the path, since each route has its own metrics.
func SetRoute(ctx *fasthttp.RequestCtx, route string) {
	if r, _ := ctx.UserValue(requestKey).(*request); r != nil && r != skipped {
		r.mu.Lock()
		r.route = route
		r.mu.Unlock()
	}
}

// begin begins a request.
func (in *instrumentation) begin(ctx *fasthttp.RequestCtx) *request {
	h := &ctx.Request.Header
	r := requests.Get().(*request)
	r.in, r.shard, r.head = in, uint(ctx.ConnID()), h.IsHead()
	if in.server == nil || in.server.LazyRequestTime {
		r.received(ctx)
	}
	r.requestSize, r.responseSize = requestSize(&ctx.Request), -1
	r.series.method = methodOf(h.Method())
	r.series.secure = ctx.ClientScheme() == "https"
	r.series.version = versionOf(ctx)
	r.ctx, r.span = in.start(ctx, r)
	in.count(r.shard, &r.series, 1)
	return r
}

// received sets the time at which the request was received, unless it is known.
func (r *request) received(ctx *fasthttp.RequestCtx) {
	if r.at.IsZero() {
		r.at = ctx.Time()
	}
}

var serverKind = trace.WithSpanKind(trace.SpanKindServer)

// versionOf returns the version of a request.
func versionOf(ctx *fasthttp.RequestCtx) version {
	h := &ctx.Request.Header
	switch {
	case ctx.IsHTTP2():
		return version2
	case string(h.Protocol()) == "HTTP/3.0":
		return version3
	case h.IsHTTP11():
		return version11
	}
	return version10
}

// start starts the span of a request, which is nil if the request is not sampled. The context is nil
// if r.late has it, or if it is ctx.Context().
func (in *instrumentation) start(ctx *fasthttp.RequestCtx, r *request) (context.Context, trace.Span) {
	var from remote
	plain := false
	if in.w3c {
		from, plain = remoteOf(&ctx.Request.Header)
	}
	parent := ctx.Context()
	named := from.id.IsValid()
	switch {
	case plain && !in.traces:
		if named {
			r.late = late{kind: lateRemote, base: parent, from: from}
		}
		return nil, nil
	case plain && in.sampler != nil && named && !from.flags.IsSampled() && !in.public:
		r.late = late{kind: lateUnsampled, base: parent, from: from}
		return nil, nil
	case !plain || in.sampler == nil:
		parent, plain = in.propagator.Extract(parent, Carrier{&ctx.Request.Header}), false
	}
	switch {
	case !in.traces:
		return parent, nil
	case in.sampler == nil:
		return in.startSpan(parent, ctx, r)
	}
	var begins *chosen
	if !plain || !named || in.public {
		d := in.decide(parent, in.public)
		if !d.sampled {
			r.late = late{kind: lateUnsampled, base: parent, root: d.root, low: d.low}
			return nil, nil
		}
		if d.root {
			begins = &chosen{low: d.low}
		}
	}
	if plain && named {
		parent = in.propagator.Extract(parent, Carrier{&ctx.Request.Header})
	}
	if begins == nil {
		return in.startSpan(parent, ctx, r)
	}
	begins.Context = parent
	defer func() { begins.over = true }()
	return in.startSpan(begins, ctx, r)
}

// startSpan starts the span of a request with the tracer.
func (in *instrumentation) startSpan(parent context.Context, ctx *fasthttp.RequestCtx, r *request) (context.Context, trace.Span) {
	space := scratches.Get().(*scratch)
	defer space.release()
	in.attributes(space, ctx, r)
	r.received(ctx)
	options := make([]trace.SpanStartOption, 0, 5)
	options = append(options, serverKind, trace.WithTimestamp(r.at), trace.WithAttributes(space.attrs...))
	if in.public {
		options = append(options, trace.WithNewRoot())
		if remote := trace.SpanContextFromContext(parent); remote.IsValid() && remote.IsRemote() {
			options = append(options, trace.WithLinks(trace.Link{SpanContext: remote}))
		}
	}
	return in.tracer.Start(parent, r.series.method.spanName(), options...)
}

// attributes sets the attributes of a new span, for samplers.
func (in *instrumentation) attributes(space *scratch, ctx *fasthttp.RequestCtx, r *request) {
	t := &space.texts
	uri := ctx.Request.URI()
	address, port := splitHost(ctx.ClientHost())
	t.add(uri.PathOriginal())
	t.add(address)
	client := ctx.ClientIP()
	if client.IsValid() {
		t.buf = client.Unmap().AppendTo(t.buf)
	}
	t.end()
	t.add(ctx.Request.Header.UserAgent())
	if query := uri.QueryString(); len(query) > 0 && in.query != nil {
		t.addString(in.query(string(query)))
	} else {
		t.end()
	}
	if r.series.method == 0 {
		t.add(ctx.Request.Header.Method())
	}
	values := t.strings()

	attrs := append(space.attrs, methodAttributes[r.series.method], schemeAttributes[scheme(r.series.secure)], versionAttributes[r.series.version], semconv.URLPath(values[0]))
	if port > 0 {
		attrs = append(attrs, semconv.ServerPort(port))
	}
	for i, name := range [...]attribute.Key{semconv.ServerAddressKey, semconv.ClientAddressKey, semconv.UserAgentOriginalKey, semconv.URLQueryKey, semconv.HTTPRequestMethodOriginalKey} {
		if value := values[i+1]; value != "" {
			attrs = append(attrs, name.String(value))
		}
	}
	space.attrs = attrs
}

// requestSize returns the size of the body of a received request, or -1 if it is not known.
func requestSize(req *fasthttp.Request) int64 {
	switch n := req.Header.ContentLength(); {
	case n >= 0:
		return int64(n)
	case n == -2:
		return 0
	case req.IsBodyStream() || len(req.Header.MultipartFormBoundary()) > 0:
		return -1
	}
	return int64(len(req.Body()))
}

// handled is called when the handler of an attached server has returned.
func (in *instrumentation) handled(ctx *fasthttp.RequestCtx, r *request) {
	resp := ctx.LastTimeoutErrorResponse()
	left := resp != nil && resp != &ctx.Response
	if resp != nil {
		r.received(ctx) // end reads the clock
	}
	if !left {
		r.alone = resp == nil
		r.look(ctx)
		if ctx.UserValue(requestKey) != any(r) {
			ctx.SetUserValue(requestKey, r) // the handler has reset the request
		}
		return
	}
	r.responseSize = int64(resp.BodySize())
	in.mu.Lock()
	full := len(in.left) >= maxLeft
	if !full {
		in.left[ctx.ID()] = r
	}
	in.mu.Unlock()
	if full {
		r.end(fasthttp.SentResponse{StatusCode: resp.StatusCode()}, r.responseSize)
	}
}

// look remembers the size and the route that the handler has set.
func (r *request) look(ctx *fasthttp.RequestCtx) {
	r.responseSize = int64(ctx.Response.BodySize())
	if r.in.route == nil {
		return
	}
	r.mu.Lock()
	known := r.route != ""
	r.mu.Unlock()
	if known {
		return
	}
	if route := r.in.config.route(ctx); route != "" {
		r.mu.Lock()
		r.route = route
		r.mu.Unlock()
	}
}

// sent is Server.ResponseSent.
func (in *instrumentation) sent(ctx *fasthttp.RequestCtx, sent fasthttp.SentResponse) {
	r, _ := ctx.UserValue(requestKey).(*request)
	mine := false
	if r == nil {
		in.mu.Lock()
		if r = in.left[ctx.ID()]; r != nil {
			delete(in.left, ctx.ID())
		}
		in.mu.Unlock()
	}
	switch {
	case r == skipped:
		return
	case r != nil:
	case ctx.Request.Header.Len() == 0:
		return // not a request
	case in.filter != nil && !in.filter(ctx):
		return
	default:
		r = in.begin(ctx)
		r.alone, mine = true, true
		r.requestSize = -1 // the body may not have been received
		r.responseSize = int64(ctx.Response.BodySize())
	}
	size := r.responseSize
	switch {
	case r.head || sent.StatusCode < 200 || sent.StatusCode == 204 || sent.StatusCode == 304:
		size = 0
	case sent.Refused != nil || sent.StatusCode >= 500 && !ctx.Response.IsBodyStream():
		// the server may have replaced the response
		size = int64(ctx.Response.BodySize())
	}
	if (size < 0 || sent.Err != nil) && size != 0 {
		size = sentOfBody(ctx, sent)
	}
	if r.alone || r.at.IsZero() {
		r.took = ctx.Duration()
	}
	r.end(sent, size)
	if mine {
		r.release() // otherwise Close does, since hooks may ask for the context
	}
}

// sentOfBody estimates how many bytes of a body have left, from the size of the response: it
// has the framing of chunks as well, or the framing of HTTP/2 and its compressed head.
func sentOfBody(ctx *fasthttp.RequestCtx, sent fasthttp.SentResponse) int64 {
	if ctx.IsHTTP2() {
		return sent.Bytes
	}
	return max(sent.Bytes-int64(len(ctx.Response.Header.Header())), 0)
}

// end ends the span, and records the metrics.
func (r *request) end(sent fasthttp.SentResponse, size int64) {
	if !r.alone {
		r.mu.Lock()
	}
	again := r.ended
	r.ended = true
	route := r.route
	if !r.alone {
		r.mu.Unlock()
	}
	if again {
		return
	}
	in := r.in
	in.count(r.shard, &r.series, -1)
	s := &r.series
	s.route, s.status = route, sent.StatusCode
	switch {
	case sent.StatusCode >= 500:
		s.failure = errorTypeOfStatus(sent.StatusCode)
	case sent.Err != nil:
		s.failure = errorType(sent.Err)
	case sent.StatusCode == 0:
		s.failure = "no_response"
	}
	p := in.of(s)
	took := r.took
	if took == 0 && !r.at.IsZero() {
		took = time.Since(r.at)
	}
	if in.own {
		p.count(r.shard, took, r.requestSize, size)
	} else {
		in.record(r.recorded(), r.shard, p, took, r.requestSize, size)
	}
	if r.span == nil {
		return
	}
	if r.span.IsRecording() {
		name := p.name
		if p == in.overflow {
			name = s.name()
		}
		r.annotate(s, name, sent, size)
	}
	r.span.End()
}

// recorded returns the context for a meter. For an unsampled request the meter would only ask for IDs.
func (r *request) recorded() context.Context {
	switch {
	case r.late.kind == lateRemote:
		return r.context()
	case r.ctx == nil || r.span == nil && r.in.traces:
		return context.Background()
	}
	return r.ctx
}

// annotate adds the attributes of the response to the span.
func (r *request) annotate(s *series, name string, sent fasthttp.SentResponse, size int64) {
	attrs := make([]attribute.KeyValue, 0, 8)
	if s.status != 0 {
		attrs = append(attrs, semconv.HTTPResponseStatusCode(s.status))
	}
	if s.route != "" {
		attrs = append(attrs, semconv.HTTPRoute(s.route))
		r.span.SetName(name)
	}
	if s.failure != "" {
		attrs = append(attrs, semconv.ErrorTypeKey.String(s.failure))
		description := ""
		if sent.Err != nil {
			description = validText(sent.Err.Error())
		}
		r.span.SetStatus(codes.Error, description)
	}
	if r.in.spanSizes {
		if r.requestSize >= 0 {
			attrs = append(attrs, semconv.HTTPRequestBodySize(int(r.requestSize)))
		}
		if size >= 0 {
			attrs = append(attrs, semconv.HTTPResponseBodySize(int(size)))
		}
		if sent.Bytes > 0 {
			attrs = append(attrs, semconv.HTTPResponseSize(int(sent.Bytes)))
		}
	}
	r.span.SetAttributes(attrs...)
}
