package accesslog_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/accesslog"
	"github.com/valyala/fasthttp/internal/servertest"
)

// served calls the handler and the hook of a server with a log, without a connection.
func served(l *accesslog.Log, h fasthttp.RequestHandler) func(ctx *fasthttp.RequestCtx, sent fasthttp.SentResponse) {
	s := &fasthttp.Server{Handler: h}
	l.Attach(s)
	return func(ctx *fasthttp.RequestCtx, sent fasthttp.SentResponse) {
		s.Handler(ctx)
		s.ResponseSent(ctx, sent)
	}
}

// newCtx returns a context of a GET.
func newCtx(target, agent string) *fasthttp.RequestCtx {
	var req fasthttp.Request
	req.SetRequestURI(target)
	req.Header.SetUserAgent(agent)
	req.Header.SetReferer("https://example.com/a?b=c")
	req.Header.Set("X-Id", "0123456789")
	ctx := new(fasthttp.RequestCtx)
	ctx.Init(&req, &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 80}, nil)
	return ctx
}

func nothing(*fasthttp.RequestCtx) {}

var sent = fasthttp.SentResponse{StatusCode: 200, Bytes: 100}

// gatedWriter waits with each Write.
type gatedWriter struct {
	entered, leave chan struct{}
	lines          atomic.Int64
}

func (w *gatedWriter) Write(p []byte) (int, error) {
	w.entered <- struct{}{}
	<-w.leave
	w.lines.Add(int64(bytes.Count(p, []byte("\n"))))
	return len(p), nil
}

// TestSlowWriterDelaysNoRequest has a Writer that takes nothing until the queue is full.
func TestSlowWriterDelaysNoRequest(t *testing.T) {
	for _, tc := range []struct {
		name, agent string
		kept        int
	}{{"entries", "a", 10}, {"texts", strings.Repeat("a", accesslog.MaxValue), 1}} {
		t.Run(tc.name, func(t *testing.T) {
			servertest.Bubble(t, func(t *testing.T) {
				w := &gatedWriter{entered: make(chan struct{}), leave: make(chan struct{})}
				var reports output
				l := accesslog.New(accesslog.Options{Writer: w, Queue: 10, Logger: slog.New(slog.NewTextHandler(&reports, nil))})
				serve := served(l, nothing)
				ctx := newCtx("/", tc.agent)
				serve(ctx, sent)
				<-w.entered // the first entry is being written
				for range 30 {
					serve(ctx, sent)
				}
				if got := l.Dropped(); got != uint64(30-tc.kept) {
					t.Errorf("%d entries were dropped, want %d", got, 30-tc.kept)
				}
				timed, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				if err := l.Flush(timed); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("Flush returns %v", err)
				}
				go func() {
					w.leave <- struct{}{}
					<-w.entered
					w.leave <- struct{}{}
				}()
				servertest.Must(t, l.Close())
				if got := w.lines.Load(); got != int64(1+tc.kept) {
					t.Errorf("%d lines were written", got)
				}
				if lines := reports.take(); len(lines) != 1 && len(lines) != 2 || !strings.Contains(lines[0], "level=WARN msg=\"accesslog: entries were dropped\" entries=") {
					t.Errorf("reported %q", lines)
				}
			})
		})
	}
}

// failing is a Writer that fails until works is set.
type failing struct {
	output
	works bool
}

func (f *failing) Write(p []byte) (int, error) {
	if !f.works {
		return 0, io.ErrShortWrite
	}
	return f.output.Write(p)
}

// TestFailuresAreReportedOnceInAWhile has a Writer that fails.
func TestFailuresAreReportedOnceInAWhile(t *testing.T) {
	servertest.Bubble(t, func(t *testing.T) {
		var w failing
		var reports output
		l := accesslog.New(accesslog.Options{Writer: &w, Logger: slog.New(slog.NewTextHandler(&reports, nil))})
		serve := served(l, nothing)
		for range 5 {
			serve(newCtx("/", ""), sent)
			servertest.Must(t, l.Flush(t.Context()))
		}
		synctest.Wait()
		lines := reports.take()
		if len(lines) != 1 || !strings.Contains(lines[0], "entries=1 error=\"short write\"") {
			t.Errorf("reported %q", lines)
		}
		time.Sleep(time.Minute) // bubble: within synctest.Test
		w.works = true
		serve(newCtx("/", ""), sent)
		servertest.Must(t, l.Close())
		lines = reports.take()
		if len(lines) != 1 || !strings.Contains(lines[0], "entries=4 error=\"short write\"") {
			t.Errorf("reported %q", lines)
		}
		if l.Dropped() != 5 || len(w.take()) != 1 {
			t.Errorf("%d entries were dropped", l.Dropped())
		}
	})
}

// failingHandler is a slog.Handler that fails.
type failingHandler struct{ slog.Handler }

func (failingHandler) Handle(context.Context, slog.Record) error { return io.ErrShortWrite }

// TestAnyHandlerGetsRecords has handlers that ignore or refuse records.
func TestAnyHandlerGetsRecords(t *testing.T) {
	var out output
	l := accesslog.New(accesslog.Options{Handler: slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelError})})
	serve := served(l, nothing)
	serve(newCtx("/a", ""), sent)
	serve(newCtx("/b", "a b\xff"), fasthttp.SentResponse{StatusCode: 500})
	servertest.Must(t, l.Close())
	lines := out.take()
	if len(lines) != 1 || !strings.Contains(lines[0], `level=ERROR msg=request client=192.0.2.1 method=GET target=/b protocol=HTTP/1.1 status=500 bytes=0 `) || !strings.Contains(lines[0], `user_agent="a b\\xff"`) {
		t.Errorf("got %q", lines)
	}
	l = accesslog.New(accesslog.Options{Handler: failingHandler{slog.NewTextHandler(io.Discard, nil)}, Logger: slog.New(slog.DiscardHandler)})
	serve = served(l, nothing)
	serve(newCtx("/a", ""), sent)
	servertest.Must(t, l.Close())
	if n := l.Dropped(); n != 1 {
		t.Errorf("%d entries were dropped", n)
	}
}

// panicking is a Writer, a slog.Handler, and an error, all of which panic.
type panicking struct{ slog.Handler }

func (panicking) Write([]byte) (int, error)                 { panic("no disk") }
func (panicking) Handle(context.Context, slog.Record) error { panic("no network") }
func (panicking) Error() string                             { panic("no text") }

// TestPanicsAreReported has code of the application that panics on the goroutine of the log.
func TestPanicsAreReported(t *testing.T) {
	for name, test := range map[string]struct {
		options accesslog.Options
		sent    fasthttp.SentResponse
		reason  string
	}{
		"Writer":  {accesslog.Options{Writer: panicking{}}, sent, "panic: no disk"},
		"Handler": {accesslog.Options{Handler: panicking{slog.NewTextHandler(io.Discard, nil)}}, fasthttp.SentResponse{StatusCode: 500}, "panic: no network"},
		"error":   {accesslog.Options{Format: accesslog.JSON, Writer: io.Discard}, fasthttp.SentResponse{StatusCode: 200, Err: panicking{}}, "panic: no text"},
	} {
		t.Run(name, func(t *testing.T) {
			var reports output
			test.options.Logger = slog.New(slog.NewTextHandler(&reports, nil))
			l := accesslog.New(test.options)
			serve := served(l, nothing)
			for range 2 {
				serve(newCtx("/", ""), test.sent)
				servertest.Must(t, l.Flush(t.Context()))
			}
			servertest.Must(t, l.Close())
			if lines := reports.take(); len(lines) == 0 || !strings.Contains(lines[0], test.reason) {
				t.Errorf("reported %q", lines)
			}
			if n := l.Dropped(); n != 2 {
				t.Errorf("%d entries were dropped", n)
			}
		})
	}
	t.Run("Logger", func(t *testing.T) {
		l := accesslog.New(accesslog.Options{Writer: panicking{}, Logger: slog.New(panicking{slog.NewTextHandler(io.Discard, nil)})})
		served(l, nothing)(newCtx("/", ""), sent)
		servertest.Must(t, l.Close())
		if n := l.Dropped(); n != 1 {
			t.Errorf("%d entries were dropped", n)
		}
	})
}

// TestLongValuesAreCut checks the limit of a value.
func TestLongValuesAreCut(t *testing.T) {
	var out output
	l := accesslog.New(accesslog.Options{Writer: &out})
	serve := served(l, nothing)
	serve(newCtx("/"+strings.Repeat("a", accesslog.MaxValue-1), strings.Repeat("b", accesslog.MaxValue+1)), sent)
	servertest.Must(t, l.Close())
	line := out.take()[0]
	if !strings.Contains(line, "/"+strings.Repeat("a", accesslog.MaxValue-1)+" ") || !strings.HasSuffix(line, ` "`+strings.Repeat("b", accesslog.MaxValue-3)+"...\"\n") {
		t.Errorf("got %q", line)
	}
}

// loopConn is a connection with a peer that repeats a request, and reads all responses. It
// allocates nothing.
type loopConn struct {
	net.Conn // nil
	request  string
	left     int
	rest     string
}

var loopAddr = &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1)}

func (c *loopConn) Read(p []byte) (int, error) {
	if c.rest == "" {
		if c.left == 0 {
			return 0, io.EOF
		}
		c.left--
		c.rest = c.request
	}
	n := copy(p, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

func (*loopConn) Write(p []byte) (int, error)      { return len(p), nil }
func (*loopConn) Close() error                     { return nil }
func (*loopConn) LocalAddr() net.Addr              { return loopAddr }
func (*loopConn) RemoteAddr() net.Addr             { return loopAddr }
func (*loopConn) SetDeadline(time.Time) error      { return nil }
func (*loopConn) SetReadDeadline(time.Time) error  { return nil }
func (*loopConn) SetWriteDeadline(time.Time) error { return nil }

// TestTextFormatsAllocateNothing counts the allocations of requests in a server with a log,
// including the ones of the goroutine that writes it.
func TestTextFormatsAllocateNothing(t *testing.T) {
	if servertest.RaceDetector {
		t.Skip("the pools forget things under the race detector")
	}
	for name, o := range map[string]accesslog.Options{
		"combined": {},
		"common":   {Format: accesslog.Common},
		"id":       {IDField: "X-Id"},
		"sampled":  {Sample: 10},
	} {
		t.Run(name, func(t *testing.T) {
			o.Writer = io.Discard
			l := accesslog.New(o)
			defer l.Close()
			s := &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) { ctx.Response.Header.Set("X-Id", "0123456789") }}
			l.Attach(s)
			c := &loopConn{request: servertest.Get("/path?a=b&token=d&next=%2Fa%3Fb%3Dc", "User-Agent: a \"test\"", "Referer: https://example.com/?a=b")}
			const requests = 1000
			serve := func() {
				c.left = requests
				_ = s.ServeConn(c)
				if err := l.Flush(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			serve() // fills the pools
			least := testing.AllocsPerRun(5, serve)
			for range 5 {
				// a garbage collection may empty the pools during a run
				least = min(least, testing.AllocsPerRun(5, serve))
			}
			if least > requests/50 {
				t.Errorf("%v allocations for %d requests", least, requests)
			}
		})
	}
}

// BenchmarkEntry measures requests with a log, on the goroutines of the request and of the log
// together. The difference to "hook", a server with an empty Server.ResponseSent, is the cost
// of an entry.
func BenchmarkEntry(b *testing.B) {
	for _, bench := range []struct {
		name string
		o    *accesslog.Options
	}{{"hook", nil}, {"common", &accesslog.Options{Format: accesslog.Common}}, {"combined", &accesslog.Options{}}, {"json", &accesslog.Options{Format: accesslog.JSON}}} {
		b.Run(bench.name, func(b *testing.B) {
			s := &fasthttp.Server{Handler: nothing, ResponseSent: func(*fasthttp.RequestCtx, fasthttp.SentResponse) {}}
			if o := bench.o; o != nil {
				o.Writer = io.Discard
				l := accesslog.New(*o)
				l.Attach(s)
				hook, n := s.ResponseSent, 0
				s.ResponseSent = func(ctx *fasthttp.RequestCtx, sent fasthttp.SentResponse) {
					hook(ctx, sent)
					if n++; n%1000 == 0 {
						_ = l.Flush(context.Background()) // none is dropped
					}
				}
				defer func() { _ = l.Close() }()
			}
			c := &loopConn{request: servertest.Get("/path?a=b&token=d", "User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0", "Referer: https://example.com/")}
			b.ReportAllocs()
			c.left = b.N
			_ = s.ServeConn(c)
		})
	}
}
