package sse_test

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
	"github.com/valyala/fasthttp/sse"
)

// data is an event with data alone.
func data(text string) sse.Event { return sse.Event{Data: []byte(text)} }

// calm makes options that are not set for a machine that may stand still: no comment comes between
// events, and no client is left.
func calm(o sse.Options) sse.Options {
	o.Heartbeat = cmp.Or(o.Heartbeat, servertest.Never)
	o.WriteTimeout = cmp.Or(o.WriteTimeout, servertest.Never)
	return o
}

// serving is a server whose handler calls Options.Serve.
func serving(o sse.Options, f func(s *sse.Stream)) *fasthttp.Server {
	o = calm(o)
	return &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) { o.Serve(ctx, f) }}
}

func TestEventsAreSentOneByOne(t *testing.T) {
	everywhere(t, func(t *testing.T, start starter) {
		seen := make(chan struct{})
		ts := start(serving(sse.Options{Retry: time.Second}, func(s *sse.Stream) {
			for i := range 3 {
				servertest.Must(t, s.Send(sse.Event{ID: fmt.Sprint(i), Name: "count", Data: []byte("a\r\nb")}))
				// the client has received it before the next one is sent
				servertest.Receive(t, "the client", seen)
			}
			servertest.Must(t, s.Comment("the\nend"))
		}))
		o := ts.open(t, "/")
		for name, want := range map[string]string{
			"Content-Type": "text/event-stream", "Cache-Control": "no-cache, no-transform", "X-Accel-Buffering": "no", "Content-Length": "",
		} {
			if got := o.Header.Get(name); got != want {
				t.Errorf("%s is %q, want %q", name, got, want)
			}
		}
		if o.StatusCode != 200 {
			t.Errorf("the status is %d", o.StatusCode)
		}
		o.want("retry: 1000\n\n")
		for i := range 3 {
			o.want(fmt.Sprintf("id: %d\nevent: count\ndata: a\ndata: b\n\n", i))
			seen <- struct{}{}
		}
		o.want(": the\n: end\n\n")
		o.wantEnd()
	})
}

// The head arrives before the first event.
func TestStreamsOpenAtOnce(t *testing.T) {
	everywhere(t, func(t *testing.T, start starter) {
		for _, compress := range []bool{false, true} {
			opened := make(chan struct{})
			s := serving(sse.Options{}, func(s *sse.Stream) {
				servertest.Receive(t, "the client", opened)
				_ = s.Send(data("a"))
			})
			if compress {
				s.Handler = compressed(s.Handler)
			}
			o := start(s).open(t, "/")
			close(opened)
			o.want("data: a\n\n")
			o.wantEnd()
		}
	})
}

// compressed is a handler that permits the encoding of its stream.
func compressed(h fasthttp.RequestHandler) fasthttp.RequestHandler {
	return fasthttp.CompressHandler(func(ctx *fasthttp.RequestCtx) {
		ctx.Response.Header.Set("Cache-Control", "no-cache")
		h(ctx)
	})
}

func TestCompressedStreamsAreFlushed(t *testing.T) {
	everywhere(t, func(t *testing.T, start starter) {
		seen := make(chan struct{})
		events := func(s *sse.Stream) {
			for i := range 3 {
				_ = s.Send(data(fmt.Sprint(i)))
				servertest.Receive(t, "the client", seen)
			}
		}
		for name, c := range map[string]struct {
			wrap     func(h fasthttp.RequestHandler) fasthttp.RequestHandler
			encoding string
		}{
			"by default":   {fasthttp.CompressHandler, ""},
			"if it may be": {compressed, "gzip"},
		} {
			s := serving(sse.Options{}, events)
			s.Handler = c.wrap(s.Handler)
			o := start(s).open(t, "/", "Accept-Encoding", "gzip")
			if got := o.Header.Get("Content-Encoding"); got != c.encoding {
				t.Errorf("%s: the encoding is %q", name, got)
			}
			for i := range 3 {
				if i == 0 && c.encoding != "" {
					decoder, err := gzip.NewReader(o.r)
					servertest.Must(t, err)
					o.r = bufio.NewReader(decoder)
				}
				o.want(fmt.Sprintf("data: %d\n\n", i))
				seen <- struct{}{}
			}
			o.wantEnd()
		}
	})
}

func TestStreamsLearnThatTheClientHasGone(t *testing.T) {
	everywhere(t, func(t *testing.T, start starter) {
		left := make(chan error, 1)
		ts := start(serving(sse.Options{}, func(s *sse.Stream) {
			_ = s.Send(data("a"))
			<-s.Done()
			if s.Context().Err() == nil {
				t.Error("the context has not ended")
			}
			left <- s.Send(data("b"))
		}))
		o := ts.open(t, "/")
		o.want("data: a\n\n")
		// nothing is sent, so only the end of the connection or of the stream shows that
		o.cancel()
		_ = o.Body.Close()
		ts.Client.CloseIdleConnections()
		if err := servertest.Receive(t, "the end of the stream", left); !errors.Is(err, sse.ErrEnded) {
			t.Errorf("Send returns %v", err)
		}
	})
}

func TestShutdownEndsStreams(t *testing.T) {
	quiet := sse.Options{Heartbeat: -1}
	everywhere(t, func(t *testing.T, start starter) {
		var topic sse.Topic
		left := make(chan error, 1)
		ignored := make(chan struct{})
		defer close(ignored)
		ts := start(&fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
			switch string(ctx.Path()) {
			case "/topic":
				quiet.Serve(ctx, topic.Serve)
			case "/ignores":
				quiet.Serve(ctx, func(s *sse.Stream) {
					_ = s.Send(data("a"))
					<-ignored
				})
			default:
				quiet.Serve(ctx, func(s *sse.Stream) {
					_ = s.Send(data("a"))
					<-s.Done()
					left <- s.Send(data("b"))
				})
			}
		}})
		all := []*opened{ts.open(t, "/"), ts.open(t, "/topic"), ts.open(t, "/ignores")}
		servertest.Eventually(t, "the stream in the topic", func() bool { return topic.Len() == 1 })
		servertest.Must(t, topic.Publish(data("a")))
		for _, o := range all {
			o.want("data: a\n\n")
		}
		stopped := make(chan error, 1)
		go func() { stopped <- ts.S.Shutdown() }()
		for _, o := range all {
			o.wantEnd()
		}
		if err := servertest.Receive(t, "the end of the stream", left); !errors.Is(err, sse.ErrEnded) {
			t.Errorf("Send returns %v", err)
		}
		ts.Client.CloseIdleConnections()
		servertest.Must(t, servertest.Receive(t, "the end of Shutdown", stopped))
		servertest.Eventually(t, "an empty topic", func() bool { return topic.Len() == 0 })
	})
}

// A client that does not read is left after WriteTimeout, although the limit of the server is
// far away, and one that reads stays longer than the limit of the server.
func TestClientsThatDoNotReadAreLeft(t *testing.T) {
	everywhere(t, func(t *testing.T, start starter) {
		servertest.Doubling(t, func(limit time.Duration) error {
			left, opened := make(chan error, 1), make(chan struct{})
			s := serving(sse.Options{WriteTimeout: limit, Heartbeat: -1}, func(s *sse.Stream) {
				err := s.Send(data("a"))
				servertest.Receive(t, "the client", opened)
				for err == nil {
					err = s.Send(sse.Event{Data: repeated(10_000)})
				}
				left <- err
			})
			s.WriteTimeout = servertest.Never
			o := start(s).open(t, "/")
			// it is late for a machine that stands still
			first, err := o.r.ReadString('a')
			close(opened)
			if left := servertest.Receive(t, "the end of the stream", left); !errors.Is(left, sse.ErrEnded) {
				t.Errorf("Send returns %v", left)
			}
			if err != nil {
				return fmt.Errorf("the client gets %q, %w", first, err)
			}
			return nil
		})
	})
}

func TestSlowClientsLoseEventsOrEnd(t *testing.T) {
	const buffer = 10_000
	for _, slow := range []sse.Slow{sse.SlowDrops, sse.SlowEnds} {
		t.Run(map[sse.Slow]string{sse.SlowDrops: "drops", sse.SlowEnds: "ends"}[slow], func(t *testing.T) {
			everywhere(t, func(t *testing.T, start starter) {
				gone := make(chan struct{})
				sent := make(chan int, 1)
				ts := start(serving(sse.Options{Slow: slow, Buffer: buffer, WriteTimeout: -1}, func(s *sse.Stream) {
					n := 0
					for ; ; n++ {
						err := s.Send(sse.Event{Data: repeated(buffer)})
						if err == nil {
							continue
						}
						if !errors.Is(err, sse.ErrSlow) {
							t.Errorf("Send returns %v", err)
						}
						break
					}
					sent <- n
					if slow == sse.SlowEnds {
						<-s.Done()
						if err := s.Send(data("more")); !errors.Is(err, sse.ErrSlow) || !errors.Is(err, sse.ErrEnded) {
							t.Errorf("after the end, Send returns %v", err)
						}
						return
					}
					servertest.Receive(t, "the client", gone)
					if s.Dropped() != 1 {
						t.Errorf("%d events were dropped", s.Dropped())
					}
					servertest.Eventually(t, "room", func() bool { return s.Send(data("end")) == nil })
				}))
				o := ts.open(t, "/")
				n := servertest.Receive(t, "a full buffer", sent)
				close(gone)
				// the events that were accepted arrive
				event := "data: " + string(repeated(buffer)) + "\n\n"
				for range n {
					o.want(event)
				}
				if slow == sse.SlowDrops {
					o.want("data: end\n\n")
				}
				o.wantEnd()
			})
		})
	}
}

// With one goroutine for each of several senders, events stay whole.
func TestSendersDoNotMixEvents(t *testing.T) {
	everywhere(t, func(t *testing.T, start starter) {
		const senders, events = 8, 50
		ts := start(serving(sse.Options{Buffer: 1000}, func(s *sse.Stream) {
			var wg sync.WaitGroup
			for i := range senders {
				wg.Go(func() {
					for range events {
						servertest.Must(t, s.Send(sse.Event{ID: fmt.Sprint(i), Data: repeated(100 * i)}))
					}
				})
			}
			wg.Wait()
		}))
		o := ts.open(t, "/")
		d := sse.NewDecoder(o.r)
		counts := [senders]int{}
		for {
			e, err := d.Next()
			if err != nil {
				if err != io.EOF {
					t.Error(err)
				}
				break
			}
			var i int
			if _, err := fmt.Sscan(e.ID, &i); err != nil || string(e.Data) != string(repeated(100*i)) {
				t.Fatalf("%+v, %v", e, err)
			}
			counts[i]++
		}
		for i, n := range counts {
			if n != events {
				t.Errorf("%d events of sender %d", n, i)
			}
		}
	})
}

func TestPanicsAbortTheResponse(t *testing.T) {
	everywhere(t, func(t *testing.T, start starter) {
		ts := start(serving(sse.Options{}, func(s *sse.Stream) {
			_ = s.Send(data("a"))
			panic("it is broken")
		}))
		o := ts.open(t, "/")
		o.want("data: a\n\n")
		if _, err := io.ReadAll(o.r); err == nil {
			t.Error("the response looks whole")
		}
		ts.Log.WaitFor(t, "it is broken")
		ts.Log.WaitFor(t, "stream_test.go")
	})
}

func TestFunctionIsCalledOnlyIfTheStreamIsSent(t *testing.T) {
	everywhere(t, func(t *testing.T, start starter) {
		s := serving(sse.Options{}, func(*sse.Stream) { t.Error("the function was called") })
		serve := s.Handler
		s.Handler = func(ctx *fasthttp.RequestCtx) {
			serve(ctx)
			if string(ctx.Path()) == "/replaced" {
				ctx.Error("replaced", 503)
			}
		}
		ts := start(s)
		resp, err := ts.Client.Head(ts.URL("/"))
		servertest.Must(t, err)
		if resp.Header.Get("Content-Type") != "text/event-stream" {
			t.Errorf("%v", resp.Header)
		}
		o := ts.open(t, "/replaced")
		o.want("replaced")
		o.wantEnd()
	})
}

// The stream of a handler that has a limited time is sent after that time.
func TestStreamsMayFollowATimeoutHandler(t *testing.T) {
	everywhere(t, func(t *testing.T, start starter) {
		left := make(chan struct{}, 1)
		s := serving(sse.Options{}, func(s *sse.Stream) {
			_ = s.Send(data(s.LastEventID()))
			<-s.Done()
			left <- struct{}{}
		})
		s.Handler = fasthttp.TimeoutHandler(s.Handler, servertest.Never, "late")
		ts := start(s)
		o := ts.open(t, "/", "Last-Event-ID", "41")
		o.want("data: 41\n\n")
		o.cancel()
		_ = o.Body.Close()
		ts.Client.CloseIdleConnections()
		servertest.Receive(t, "the end of the stream", left)
	})
}

func TestOldClientsGetAStreamWithoutChunks(t *testing.T) {
	ts := servertest.Start(t, servertest.MemoryEngine, serving(sse.Options{}, func(s *sse.Stream) { _ = s.Send(data("a")) }), prepare)
	c := ts.Dial()
	c.Send("GET / HTTP/1.0\r\n\r\n")
	resp := c.Next("GET")
	if resp.Content != "data: a\n\n" || len(resp.TransferEncoding) > 0 {
		t.Errorf("%+v", resp)
	}
	c.ExpectEnd()
}

// A handler can be tested without a server.
func TestHandlersCanBeCalledWithoutAServer(t *testing.T) {
	var ctx fasthttp.RequestCtx
	ctx.Init(&fasthttp.Request{}, nil, nil)
	sse.Serve(&ctx, func(s *sse.Stream) {
		_ = s.Send(data("a"))
		_ = s.Send(data("b"))
	})
	if got := string(ctx.Response.Body()); got != "data: a\n\ndata: b\n\n" {
		t.Errorf("got %q", got)
	}
}

// quiet discards the output of the body of a response.
type quiet struct{ wrote chan int }

func (q quiet) Write(p []byte) (int, error) {
	q.wrote <- len(p)
	return len(p), nil
}

func TestSendingAllocatesNothing(t *testing.T) {
	if servertest.RaceDetector {
		t.Skip("pools drop some of their values with the race detector")
	}
	var ctx fasthttp.RequestCtx
	ctx.Init(&fasthttp.Request{}, nil, nil)
	var topic sse.Topic
	event := sse.Event{ID: "1", Name: "n", Data: []byte("some\ndata")}
	out := quiet{make(chan int)}
	done := make(chan struct{})
	sse.Options{Heartbeat: -1}.Serve(&ctx, func(s *sse.Stream) {
		defer close(done)
		topic.Keep = 10
		topic.Join(s)
		for name, send := range map[string]func() error{
			"Send":    func() error { return s.Send(event) },
			"Comment": func() error { return s.Comment("some\ntext") },
			"Publish": func() error { return topic.Publish(event) },
		} {
			allocs := testing.AllocsPerRun(200, func() {
				if err := send(); err != nil {
					t.Error(err)
				}
				<-out.wrote
			})
			if allocs != 0 {
				t.Errorf("%s allocates %v times", name, allocs)
			}
		}
	})
	servertest.Must(t, ctx.Response.BodyWriteTo(out))
	servertest.Receive(t, "the end of the function", done)
}

// TestEventsOfAnySizeArrive sends events that are larger than all buffers.
func TestEventsOfAnySizeArrive(t *testing.T) {
	everywhere(t, func(t *testing.T, start starter) {
		const size = 1_000_000
		ts := start(serving(sse.Options{Buffer: 10}, func(s *sse.Stream) {
			for range 3 {
				servertest.Must(t, s.Send(sse.Event{Data: repeated(size)}))
			}
		}))
		o := ts.open(t, "/")
		want := "data: " + strings.Repeat("0123456789", size/10) + "\n\n"
		for range 3 {
			o.want(want)
		}
		o.wantEnd()
	})
}
