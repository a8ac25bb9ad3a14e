//go:build unix

package otelfasthttp

import (
	"context"
	"io"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/accesslog"
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
	log := func(s *fasthttp.Server) {
		l := accesslog.New(accesslog.Options{Writer: io.Discard})
		b.Cleanup(func() { _ = l.Close() })
		l.Attach(s)
	}
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
			serve(b, s)
		})
	}
}

// serve measures requests to s. cpu-ns/op has the time of all goroutines.
func serve(b *testing.B, s *fasthttp.Server) {
	c := &loopConn{request: []byte("GET /users/7?name=x HTTP/1.1\r\nHost: example.com\r\nUser-Agent: Mozilla/5.0 (X11; Linux x86_64)\r\nAccept: */*\r\n\r\n"), left: b.N}
	b.ReportAllocs()
	before := used(b)
	_ = s.ServeConn(c)
	b.ReportMetric(float64(used(b)-before)/float64(b.N), "cpu-ns/op")
}

// used returns the processor time of the process, in nanoseconds.
func used(b *testing.B) int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}

// loopConn is a connection that sends the same request again and again.
type loopConn struct {
	net.Conn
	request []byte
	left    int
}

var loopAddr = &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1)}

func (c *loopConn) Read(p []byte) (int, error) {
	if c.left == 0 {
		return 0, io.EOF
	}
	c.left--
	return copy(p, c.request), nil
}

func (c *loopConn) Write(p []byte) (int, error)      { return len(p), nil }
func (c *loopConn) Close() error                     { return nil }
func (c *loopConn) LocalAddr() net.Addr              { return loopAddr }
func (c *loopConn) RemoteAddr() net.Addr             { return loopAddr }
func (c *loopConn) SetDeadline(time.Time) error      { return nil }
func (c *loopConn) SetReadDeadline(time.Time) error  { return nil }
func (c *loopConn) SetWriteDeadline(time.Time) error { return nil }
