package sse_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttputil"
	"github.com/valyala/fasthttp/internal/servertest"
	"github.com/valyala/fasthttp/sse"
)

// openInMemory returns the response to a GET, with one of the versions of HTTP.
func openInMemory(t *testing.T, over2 bool, dial func() *servertest.Conn) *opened {
	t.Helper()
	tr := &http.Transport{
		Protocols:   new(http.Protocols),
		DialContext: func(context.Context, string, string) (net.Conn, error) { return dial().Conn, nil },
	}
	tr.Protocols.SetHTTP1(!over2)
	tr.Protocols.SetUnencryptedHTTP2(over2)
	t.Cleanup(tr.CloseIdleConnections)
	req, err := http.NewRequestWithContext(t.Context(), "GET", "http://a/", nil)
	servertest.Must(t, err)
	resp, err := tr.RoundTrip(req)
	servertest.Must(t, err)
	t.Cleanup(func() { _ = resp.Body.Close() })
	return newOpened(t, resp)
}

// overTime runs a test in a bubble, with both versions of HTTP.
func overTime(t *testing.T, s func() *fasthttp.Server, test func(t *testing.T, open func() *opened)) {
	for _, over2 := range []bool{false, true} {
		t.Run(map[bool]string{false: "HTTP1", true: "HTTP2"}[over2], func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				server := s()
				if over2 {
					server.Protocols.SetUnencryptedHTTP2(true)
				} else {
					server.Protocols.SetHTTP1(true)
				}
				dial, _ := inMemory(t, server)
				test(t, func() *opened { return openInMemory(t, over2, dial) })
			})
		})
	}
}

// A quiet stream has a comment now and then, but not soon after an event. It lasts longer than
// any timeout of the server, since each piece has its own time.
func TestQuietStreamsHaveHeartbeats(t *testing.T) {
	var send chan string
	overTime(t, func() *fasthttp.Server {
		send = make(chan string)
		return &fasthttp.Server{WriteTimeout: time.Second, Handler: func(ctx *fasthttp.RequestCtx) {
			sse.Serve(ctx, func(s *sse.Stream) {
				for text := range send {
					servertest.Must(t, s.Send(data(text)))
				}
			})
		}}
	}, func(t *testing.T, open func() *opened) {
		o := open()
		began := time.Now()
		after := func(want time.Duration) {
			t.Helper()
			if got := time.Since(began); got != want {
				t.Errorf("after %v, want %v", got, want)
			}
		}
		for i := range 100 {
			o.want(":\n")
			after(time.Duration(i+1) * sse.DefaultHeartbeat)
		}
		began = time.Now()
		for range 10 {
			time.Sleep(sse.DefaultHeartbeat - time.Second) // bubble: within inBubble
			send <- "a"
			o.want("data: a\n\n")
		}
		after(10 * (sse.DefaultHeartbeat - time.Second))
		o.want(":\n")
		after(11*sse.DefaultHeartbeat - 10*time.Second)
		close(send)
		o.wantEnd()
	})
}

func TestHeartbeatsCanBeOff(t *testing.T) {
	overTime(t, func() *fasthttp.Server {
		return serving(sse.Options{Heartbeat: -1}, func(s *sse.Stream) {
			time.Sleep(time.Hour) // bubble: within overTime
			_ = s.Send(data("a"))
		})
	}, func(t *testing.T, open func() *opened) {
		o := open()
		o.want("data: a\n\n")
		o.wantEnd()
	})
}

// The time of a piece begins when it is sent, not when the stream begins.
func TestSlowClientsAreLeftAfterTheTimeOfAPiece(t *testing.T) {
	const limit = 10 * time.Second
	var took chan time.Duration
	overTime(t, func() *fasthttp.Server {
		took = make(chan time.Duration, 1)
		return serving(sse.Options{Heartbeat: -1, WriteTimeout: limit, Buffer: 1}, func(s *sse.Stream) {
			servertest.Must(t, s.Send(data("a")))
			time.Sleep(time.Hour) // bubble: within overTime
			began, err := time.Now(), error(nil)
			for err == nil {
				err = s.Send(sse.Event{Data: repeated(100_000)})
			}
			if !errors.Is(err, sse.ErrEnded) {
				t.Errorf("Send returns %v", err)
			}
			took <- time.Since(began)
		})
	}, func(t *testing.T, open func() *opened) {
		o := open()
		o.want("data: a\n\n")
		time.Sleep(time.Hour) // bubble: within overTime
		// HTTP/2 checks the time once a second
		if got := servertest.Receive(t, "the end of the stream", took); got < limit || got > limit+2*time.Second {
			t.Errorf("the stream has ended after %v", got)
		}
	})
}

// The time between two requests doubles while they fail, and a random part is added.
func TestSourceWaitsLongerAfterEachFailure(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var answered atomic.Int32
		_, ln := inMemory(t, &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
			sse.Serve(ctx, func(s *sse.Stream) {
				switch answered.Add(1) {
				case 4:
					_ = s.Send(sse.Event{Retry: time.Minute, Data: []byte("a")})
				case 5:
					_ = s.Send(sse.Event{Retry: time.Nanosecond, Data: []byte("b")})
				}
			})
		}})
		var waits []time.Duration
		ctx, cancel := context.WithCancel(t.Context())
		var last time.Time
		s := sse.Source{URL: "http://a/", Client: memoryClient(t, ln), Retry: time.Second, MaxRetry: 5 * time.Second}
		s.Disconnected = func(_ error, wait time.Duration) {
			if len(waits) > 0 {
				if got := time.Since(last); got != waits[len(waits)-1] {
					t.Errorf("it has waited for %v, and not for %v", got, waits[len(waits)-1])
				}
			}
			last = time.Now()
			if waits = append(waits, wait); len(waits) == 12 {
				cancel()
			}
		}
		if err := s.Read(ctx, func(sse.Event) error { return nil }); err != context.Canceled {
			t.Errorf("Read returns %v", err)
		}
		ms := time.Millisecond
		for i, want := range []time.Duration{1000, 2000, 4000, 60_000, 100, 100 * 2, 400, 800, 1600, 3200, 5000, 5000} {
			if want *= ms; waits[i] < want || waits[i] > want+want/2 {
				t.Errorf("wait %d is %v, want %v and up to a half more", i, waits[i], want)
			}
		}
		if slices.Equal(waits[10:11], waits[11:]) {
			t.Errorf("no part of %v is random", waits)
		}
	})
}

func TestSourceLeavesIdleConnections(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var answered atomic.Int32
		_, ln := inMemory(t, &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
			if answered.Add(1) == 1 {
				// no response for a while
				time.Sleep(time.Minute) // bubble: within inBubble
			}
			sse.Options{Heartbeat: time.Minute}.Serve(ctx, func(s *sse.Stream) {
				time.Sleep(10 * time.Second) // bubble: within inBubble
				_ = s.Send(data("a"))
				<-s.Done()
			})
		}})
		var idle []time.Duration
		began := time.Now()
		ctx, cancel := context.WithCancel(t.Context())
		s := sse.Source{URL: "http://a/", Client: memoryClient(t, ln), IdleTimeout: 20 * time.Second}
		s.Disconnected = func(reason error, wait time.Duration) {
			if !strings.Contains(fmt.Sprint(reason), "idle") {
				t.Errorf("the reason is %v", reason)
			}
			if idle = append(idle, time.Since(began)); len(idle) == 3 {
				cancel()
			}
			began = time.Now().Add(wait)
		}
		if err := s.Read(ctx, func(sse.Event) error { return nil }); err != context.Canceled {
			t.Errorf("Read returns %v", err)
		}
		for i, want := range []time.Duration{20 * time.Second, 30 * time.Second, 30 * time.Second} {
			if idle[i] != want {
				t.Errorf("connection %d has lasted for %v", i, idle[i])
			}
		}
	})
}

// The time without any byte begins anew with the response.
func TestResponseEndsTheIdleTime(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		_, ln := inMemory(t, &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
			time.Sleep(15 * time.Second) // bubble: within inBubble
			sse.Options{Heartbeat: -1}.Serve(ctx, func(s *sse.Stream) {
				time.Sleep(15 * time.Second) // bubble: within inBubble
				_ = s.Send(data("a"))
				<-s.Done()
			})
		}})
		s := sse.Source{URL: "http://a/", Client: memoryClient(t, ln), IdleTimeout: 20 * time.Second, MaxFailures: 1}
		if err := s.Read(t.Context(), func(sse.Event) error { return errEnough }); err != errEnough {
			t.Errorf("Read returns %v", err)
		}
	})
}

// A connection is not idle because the function takes its time for an event.
func TestSourceIsNotIdleWhileItsFunctionRuns(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		_, ln := inMemory(t, &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
			sse.Options{Heartbeat: -1}.Serve(ctx, func(s *sse.Stream) {
				_ = s.Send(data("a"))
				_ = s.Send(data("b"))
				<-s.Done()
			})
		}})
		s := sse.Source{URL: "http://a/", Client: memoryClient(t, ln), IdleTimeout: 20 * time.Second}
		s.Disconnected = func(reason error, _ time.Duration) { t.Errorf("the connection has ended: %v", reason) }
		enough, got := errors.New("enough"), ""
		err := s.Read(t.Context(), func(e sse.Event) error {
			if got += string(e.Data); len(got) == 2 {
				return enough
			}
			time.Sleep(time.Minute) // bubble: within inBubble
			return nil
		})
		if err != enough || got != "ab" {
			t.Errorf("Read returns %v after %q", err, got)
		}
	})
}

// A server that is down for a while is found again.
func TestSourceDialsAgain(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		down := true
		_, ln := inMemory(t, serving(sse.Options{}, func(s *sse.Stream) { _ = s.Send(data("a")) }))
		client := memoryClient(t, ln)
		client.DialContext = dialUnless(&down, ln)
		s := sse.Source{URL: "http://a/", Client: client}
		s.Disconnected = func(reason error, _ time.Duration) {
			if !errors.Is(reason, errDown) {
				t.Errorf("the reason is %v", reason)
			}
			down = time.Since(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)) < time.Minute
		}
		if got, err := collect(t, &s, 1); err != errEnough || len(got) != 1 {
			t.Errorf("%q, %v", got, err)
		}
		client.CloseIdleConnections()
		down = true
		s.MaxFailures, s.Disconnected = 3, nil
		if _, err := collect(t, &s, 1); !errors.Is(err, errDown) {
			t.Errorf("after three failures: %v", err)
		}
	})
}

var errDown = errors.New("the server is down")

// dialUnless connects to a listener, or fails.
func dialUnless(down *bool, ln *fasthttputil.InmemoryListener) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return func(context.Context, string, string) (net.Conn, error) {
		if *down {
			return nil, errDown
		}
		return ln.Dial()
	}
}
