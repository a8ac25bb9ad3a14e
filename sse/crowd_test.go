package sse_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
	"github.com/valyala/fasthttp/sse"
)

// A topic with a crowd of pushed streams, one of whose clients reads nothing: all others get each
// event, and a shutdown ends all of them. Connections in memory need no descriptors; there are fewer
// over TCP.
func TestSlowPushedStreamHoldsUpNoneOfACrowd(t *testing.T) {
	t.Parallel()
	for _, e := range servertest.Engines {
		if e.TLS {
			continue
		}
		n := servertest.Heavy(1000)
		if !e.Sockets && !testing.Short() {
			n = servertest.Heavy(10_000)
		}
		t.Run(fmt.Sprint(e.Name, "/", n), func(t *testing.T) {
			t.Parallel()
			testCrowd(t, e, n)
		})
	}
}

func testCrowd(t *testing.T, e servertest.Engine, n int) {
	var topic sse.Topic
	streams := make(chan *sse.Stream, n)
	ts := servertest.Start(t, e, &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
		sse.Options{Heartbeat: -1, WriteTimeout: -1}.Open(ctx, sse.Handler{OnOpen: func(s *sse.Stream) {
			topic.Join(s)
			streams <- s
		}})
	}}, prepare)
	got, ends := make(chan string, n), make(chan error, n)
	read := func(c *servertest.Conn) {
		resp, err := http.ReadResponse(c.R, nil)
		for d := (*sse.Decoder)(nil); err == nil; {
			if d == nil {
				d = sse.NewDecoder(resp.Body)
			}
			var e sse.Event
			if e, err = d.Next(); err == nil {
				got <- string(e.Data[:min(len(e.Data), 10)])
			}
		}
		ends <- err
	}
	open := func() (*servertest.Conn, *sse.Stream) {
		c := ts.Dial()
		c.Get("/")
		return c, servertest.Receive(t, "a stream", streams)
	}
	slow, jammed := open()
	for err := error(nil); err == nil; {
		if err = jammed.Send(sse.Event{Data: repeated(50_000)}); err != nil && !errors.Is(err, sse.ErrSlow) {
			t.Fatal(err)
		}
	}
	for range n - 1 {
		c, _ := open()
		go read(c)
	}
	const events = 5
	for i := range events {
		servertest.Must(t, topic.Publish(data(fmt.Sprint("event ", i))))
		for range n - 1 {
			if text := servertest.Receive(t, "an event", got); text != fmt.Sprint("event ", i) {
				t.Fatalf("got %q instead of event %d", text, i)
			}
		}
	}
	// the system may have taken more for the slow client since then
	if dropped, left := topic.Dropped(), topic.Len(); dropped > events || left != n {
		t.Errorf("%d events were dropped, %d streams are left", dropped, left)
	}
	done := make(chan error, 1)
	go func() { done <- ts.S.Shutdown() }()
	for range n - 1 {
		if err := servertest.Receive(t, "the end of a stream", ends); err != io.EOF {
			t.Fatalf("a stream ends with %v", err)
		}
	}
	go func() {
		for range got {
		}
	}()
	read(slow)
	close(got)
	if err := servertest.Receive(t, "the end of the slow stream", ends); err != io.EOF {
		t.Errorf("the slow stream ends with %v", err)
	}
	servertest.Must(t, servertest.Receive(t, "the end of Shutdown", done))
	// a stream may leave after its client has seen its end
	servertest.Eventually(t, "an empty topic", func() bool { return topic.Len() == 0 })
}

// Sending to a pushed stream allocates nothing, but the portable engine needs another goroutine for
// it.
func TestPushedSendingAllocatesNothing(t *testing.T) {
	if servertest.RaceDetector {
		t.Skip("pools drop some of their values with the race detector")
	}
	for _, e := range servertest.Engines {
		if !e.Sockets || e.TLS {
			continue // the client of TLS allocates
		}
		t.Run(e.Name, func(t *testing.T) {
			s, streams, _ := opening(sse.Options{Heartbeat: -1})
			ts := servertest.Start(t, e, s, prepare)
			c := ts.Dial()
			c.Get("/")
			stream := servertest.Receive(t, "the stream", streams)
			event := sse.Event{ID: "1", Name: "n", Data: []byte("some\ndata")}
			arrived := make(chan struct{})
			go func() {
				resp, err := http.ReadResponse(c.R, nil)
				for b := make([]byte, 1024); err == nil; {
					if _, err = resp.Body.Read(b); err == nil {
						arrived <- struct{}{}
					}
				}
				close(arrived)
			}()
			for name, send := range map[string]func() error{
				"Send":    func() error { return stream.Send(event) },
				"Comment": func() error { return stream.Comment("text") },
			} {
				allocs := testing.AllocsPerRun(200, func() {
					if err := send(); err != nil {
						t.Error(err)
					}
					if _, ok := <-arrived; !ok {
						t.Fatal("the response has ended")
					}
				})
				if allocs > 1 || allocs > 0 && e.Kind == servertest.Event {
					t.Errorf("%s allocates %v times", name, allocs)
				}
			}
			stream.Close()
			servertest.Receive(t, "the end of the response", arrived)
		})
	}
}
