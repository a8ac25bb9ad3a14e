package sse_test

import (
	"errors"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
	"github.com/valyala/fasthttp/sse"
)

// A client that does not read takes less than a huge event, so that the rest of it waits. The second
// huge event still fits, since less than hugeBuffer waits; a third one does not.
const (
	hugeEvent  = 8 << 20
	hugeBuffer = hugeEvent + 1000
)

// Events that several goroutines send at once do not exceed the buffer together.
func TestConcurrentEventsOfAPushedStreamFillItsBufferOnce(t *testing.T) {
	const senders = 4
	everywhere(t, func(t *testing.T, start starter) {
		ways := map[string]func(s *sse.Stream, topic *sse.Topic, e sse.Event) error{
			"Send":    func(s *sse.Stream, _ *sse.Topic, e sse.Event) error { return s.Send(e) },
			"Publish": func(_ *sse.Stream, topic *sse.Topic, e sse.Event) error { return topic.Publish(e) },
		}
		for name, send := range ways {
			s, streams, ends := opening(sse.Options{Buffer: hugeBuffer, WriteTimeout: -1, Heartbeat: -1})
			ts := start(s)
			o := ts.open(t, "/")
			stream := servertest.Receive(t, "the stream", streams)
			huge := sse.Event{Data: repeated(hugeEvent)}
			servertest.Must(t, stream.Send(huge))
			begin, results := make(chan struct{}), make(chan error, senders)
			for range senders {
				topic := new(sse.Topic) // each has a lock of its own
				topic.Join(stream)
				go func() {
					<-begin
					results <- send(stream, topic, huge)
				}()
			}
			close(begin)
			for range senders {
				if err := servertest.Receive(t, "the result", results); err != nil && err != sse.ErrSlow {
					t.Errorf("%s returns %v", name, err)
				}
			}
			if dropped := stream.Dropped(); dropped != senders-1 {
				t.Errorf("%s: %d of %d events were dropped, want all but one", name, dropped, senders)
			}
			o.cancel()
			_ = o.Body.Close()
			if err := servertest.Receive(t, "the end", ends); err == nil {
				t.Errorf("%s: the stream of a client that has left ends without an error", name)
			}
		}
	})
}

// An event for a connection that has failed is not one for a slow client, even if the buffer is full.
func TestPushedStreamWithAFullBufferWhoseConnectionHasFailed(t *testing.T) {
	everywhere(t, func(t *testing.T, start starter) {
		for _, slow := range []sse.Slow{sse.SlowWaits, sse.SlowDrops, sse.SlowEnds} {
			topic, results, ends := new(sse.Topic), make(chan error, 4), make(chan error, 1)
			ts := start(&fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
				calm(sse.Options{Slow: slow, WriteTimeout: -1, Heartbeat: -1}).Open(ctx, sse.Handler{
					// the stream ends after OnOpen only
					OnOpen: func(s *sse.Stream) {
						topic.Join(s)
						results <- s.Send(sse.Event{Data: repeated(hugeEvent)})
						sse.Abort(s)
						results <- topic.Publish(data("a"))
						results <- s.Send(data("b"))
						results <- s.Comment("c")
						if n := s.Dropped(); n > 0 {
							t.Errorf("%d: %d events were dropped", slow, n)
						}
					},
					OnClose: func(_ *sse.Stream, err error) { ends <- err },
				})
			}})
			o := ts.open(t, "/")
			for i := range cap(results) {
				err := servertest.Receive(t, "the result", results)
				if errors.Is(err, sse.ErrSlow) || errors.Is(err, sse.ErrEnded) != (i > 1) {
					t.Errorf("%d: call %d returns %v", slow, i, err)
				}
			}
			if err := servertest.Receive(t, "the end", ends); err == nil || errors.Is(err, sse.ErrSlow) {
				t.Errorf("%d: the stream ends with %v", slow, err)
			}
			if n, ended := topic.Dropped(), topic.Ended(); n > 0 || ended > 0 {
				t.Errorf("%d: the topic has dropped %d events, and ended %d streams", slow, n, ended)
			}
			o.cancel()
			_ = o.Body.Close()
		}
	})
}
