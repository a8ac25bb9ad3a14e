package otelfasthttp

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttputil"
	"github.com/valyala/fasthttp/internal/servertest"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

func TestClientAndServerShareATrace(t *testing.T) {
	everywhere(t, func(t *testing.T, start func(*fasthttp.Server) *server) {
		ts, served := attached(t, start, &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
			ctx.Error("not here", 404)
		}})
		c := collect(WithSpanSizes())
		client := &fasthttp.Client{Transport: fasthttp.ChainRoundTrippers(nil, Transport(c.options...)), TLSConfig: servertest.TrustCertificate()}
		t.Cleanup(client.CloseIdleConnections)
		scheme, version := "http", "1.1"
		if ts.Engine.TLS {
			scheme = "https"
		}
		if ts.http2 {
			version = "2"
			client.Protocols.SetHTTP1(ts.Engine.TLS)
			client.Protocols.SetHTTP2(ts.Engine.TLS)
			client.Protocols.SetUnencryptedHTTP2(!ts.Engine.TLS)
		}
		url := scheme + "://" + ts.Listener.Addr().String() + "/x"
		req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
		defer fasthttp.ReleaseRequest(req)
		defer fasthttp.ReleaseResponse(resp)
		req.SetRequestURI(url + "?token=1")
		req.Header.SetMethod("PUT")
		req.Header.Set("tracestate", "mine=1")
		req.SetBodyString("text")
		ctx := trace.ContextWithSpanContext(t.Context(), trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled}))
		servertest.Must(t, client.DoContext(ctx, req, resp))

		span, of := c.next(t), served.next(t)
		if of.Parent().SpanID() != span.SpanContext().SpanID() || span.Parent().SpanID() != (trace.SpanID{2}) || of.SpanContext().TraceID() != (trace.TraceID{1}) {
			t.Errorf("the spans are %v below %v and %v below %v", span.SpanContext(), span.Parent(), of.SpanContext(), of.Parent())
		}
		if span.Name() != "PUT" || span.SpanKind() != trace.SpanKindClient || span.Status().Code != codes.Error || of.Status().Code != codes.Unset {
			t.Errorf("the span is %q, %v, %v; of the server %v", span.Name(), span.SpanKind(), span.Status(), of.Status())
		}
		host, port := splitHost([]byte(ts.Listener.Addr().String()))
		check(t, "span", attributesOf(span.Attributes()), "http.request.method", "PUT", "http.response.status_code", "404", "error.type", "404",
			"url.full", url+"?token=REDACTED", "server.address", string(host), "network.protocol.version", version,
			"http.request.body.size", "4", "http.response.body.size", "8")
		if got := string(req.Header.Peek("traceparent")) + string(req.Header.Peek("tracestate")); got != "mine=1" {
			t.Errorf("the request keeps %q", got)
		}
		points := c.metrics(t)
		duration := only(t, points, "http.client.request.duration")
		check(t, "duration", duration.attributes, "http.request.method", "PUT", "http.response.status_code", "404", "error.type", "404",
			"server.address", string(host), "network.protocol.version", version, "url.scheme", scheme, "url.full", "-")
		if port == 0 || duration.attributes["server.port"] == "" {
			t.Errorf("the attributes are %v", duration.attributes)
		}
		if p := only(t, points, "http.client.request.body.size"); p.sum != 4 {
			t.Errorf("the size of the request is %v", p.sum)
		}
		if p := only(t, points, "http.client.response.body.size"); p.sum != 8 {
			t.Errorf("the size of the response is %v", p.sum)
		}
	})
}

func TestClientSpanOfFailedAttempt(t *testing.T) {
	broken := errors.New("the network is down")
	c := collect()
	calls := 0
	next := func(fasthttp.RoundTripperContext) fasthttp.RoundTripper {
		return fasthttp.RoundTripFunc(func(ctx context.Context, _ *fasthttp.HostClient, req *fasthttp.Request, _ *fasthttp.Response) (bool, error) {
			calls++
			if len(req.Header.PeekAll("traceparent")) != 1 {
				t.Errorf("attempt %d has the fields %q", calls, req.Header.PeekAll("traceparent"))
			}
			return calls == 1, broken
		})
	}
	client := &fasthttp.Client{Transport: fasthttp.ChainRoundTrippers(nil, Transport(c.options...), next)}
	var req fasthttp.Request
	req.SetRequestURI("http://example.com/")
	if err := client.Do(&req, nil); !errors.Is(err, broken) {
		t.Errorf("the error is %v", err)
	}
	spans := c.spans.Ended()
	if len(spans) != calls || calls < 2 {
		t.Fatalf("%d attempts have %d spans", calls, len(spans))
	}
	for _, span := range spans {
		if span.Status().Code != codes.Error || span.Status().Description != broken.Error() {
			t.Errorf("the status is %v", span.Status())
		}
		check(t, "span", attributesOf(span.Attributes()), "error.type", errorType(broken), "http.response.status_code", "-", "server.port", "80", "url.full", "http://example.com/")
	}
	check(t, "duration", only(t, c.metrics(t), "http.client.request.duration").attributes, "error.type", errorType(broken), "http.response.status_code", "-")
}

// The path of a URI is kept decoded: as a part of url.full it would name something else.
func TestClientSpanHasTheURLThatIsSent(t *testing.T) {
	for _, tt := range []struct {
		uri, page, want string
		options         []Option
	}{
		{uri: "http://example.com/a%20b%3Fc/d?x=1", want: "http://example.com/a%20b%3Fc/d?x=1"},
		{uri: "http://example.com/%C3%A4?token=a", want: "http://example.com/%C3%A4?token=REDACTED"},
		{uri: "http://example.com/?token=a", page: "2", want: "http://example.com/?token=REDACTED&page=2"},
		{uri: "http://example.com/%3F?x=1", want: "http://example.com/%3F", options: []Option{WithQuery(nil)}},
		{uri: "http://me:secret@example.com", want: "http://example.com/"},
		{uri: "http://example.com/?", want: "http://example.com/"},
	} {
		c := collect(tt.options...)
		sent := ""
		next := func(fasthttp.RoundTripperContext) fasthttp.RoundTripper {
			return fasthttp.RoundTripFunc(func(_ context.Context, _ *fasthttp.HostClient, req *fasthttp.Request, _ *fasthttp.Response) (bool, error) {
				sent = string(req.URI().RequestURI())
				return false, nil
			})
		}
		client := &fasthttp.Client{Transport: fasthttp.ChainRoundTrippers(nil, Transport(c.options...), next)}
		var req fasthttp.Request
		req.SetRequestURI(tt.uri)
		if tt.page != "" {
			req.URI().QueryArgs().Set("page", tt.page)
		}
		servertest.Must(t, client.Do(&req, nil))
		check(t, tt.uri, attributesOf(c.next(t).Attributes()), "url.full", tt.want)
		if want, _, _ := strings.Cut(tt.want, "?"); !strings.HasPrefix("http://example.com"+sent, want) {
			t.Errorf("%s: %s was sent", tt.uri, sent)
		}
	}
}

func TestClientSpanHasAValidDescription(t *testing.T) {
	c := collect()
	broken := errors.New("no \xff")
	next := func(fasthttp.RoundTripperContext) fasthttp.RoundTripper {
		return fasthttp.RoundTripFunc(func(context.Context, *fasthttp.HostClient, *fasthttp.Request, *fasthttp.Response) (bool, error) {
			return false, broken
		})
	}
	client := &fasthttp.Client{Transport: fasthttp.ChainRoundTrippers(nil, Transport(c.options...), next)}
	var req fasthttp.Request
	req.SetRequestURI("http://example.com/")
	if err := client.Do(&req, nil); !errors.Is(err, broken) {
		t.Errorf("the error is %v", err)
	}
	if status := c.next(t).Status(); status.Description != "no \uFFFD" {
		t.Errorf("the status is %q", status.Description)
	}
}

func TestClientStreamsStayReadable(t *testing.T) {
	ln := fasthttputil.NewInmemoryListener()
	s := &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) { ctx.SetBodyString("streamed") }}
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	c := collect()
	client := &fasthttp.HostClient{Addr: "in.memory", Dial: func(string) (net.Conn, error) { return ln.Dial() }, StreamResponseBody: true, Transport: fasthttp.ChainRoundTrippers(nil, Transport(c.options...))}
	var req fasthttp.Request
	var resp fasthttp.Response
	req.SetRequestURI("http://in.memory/")
	servertest.Must(t, client.DoContext(t.Context(), &req, &resp))
	c.next(t)
	if got := string(resp.Body()); got != "streamed" {
		t.Errorf("the body is %q", got)
	}
	if p := only(t, c.metrics(t), "http.client.response.body.size"); p.sum != 8 {
		t.Errorf("the size is %v", p.sum)
	}
	client.CloseIdleConnections()
	servertest.Must(t, s.Shutdown())
	servertest.Must(t, servertest.Receive(t, "the end of the server", served))
}
