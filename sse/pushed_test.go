package sse_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
	"github.com/valyala/fasthttp/sse"
)

// opening is a server whose handler opens streams, and the streams and their ends.
func opening(o sse.Options) (s *fasthttp.Server, streams <-chan *sse.Stream, ends <-chan error) {
	o = calm(o)
	opened, closed := make(chan *sse.Stream, 100), make(chan error, 100)
	return &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
		o.Open(ctx, sse.Handler{
			OnOpen:  func(s *sse.Stream) { opened <- s },
			OnClose: func(_ *sse.Stream, err error) { closed <- err },
		})
	}}, opened, closed
}

// openingTopic is a server of a topic without goroutines.
func openingTopic(o sse.Options, topic *sse.Topic) *fasthttp.Server {
	o = calm(o)
	return &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) { topic.Open(ctx, o) }}
}

func TestPushedEventsAreSentOneByOne(t *testing.T) {
	everywhere(t, func(t *testing.T, start starter) {
		s, streams, ends := opening(sse.Options{Retry: time.Second})
		ts := start(s)
		o := ts.open(t, "/", "Last-Event-ID", "7")
		for name, want := range map[string]string{
			"Content-Type": "text/event-stream", "Cache-Control": "no-cache, no-transform", "X-Accel-Buffering": "no", "Content-Length": "",
		} {
			if got := o.Header.Get(name); got != want {
				t.Errorf("%s is %q, want %q", name, got, want)
			}
		}
		o.want("retry: 1000\n\n")
		stream := servertest.Receive(t, "the stream", streams)
		if id := stream.LastEventID(); id != "7" {
			t.Errorf("the last ID is %q", id)
		}
		for i := range 3 {
			servertest.Must(t, stream.Send(sse.Event{ID: fmt.Sprint(i), Name: "count", Data: []byte("a\r\nb")}))
			o.want(fmt.Sprintf("id: %d\nevent: count\ndata: a\ndata: b\n\n", i))
		}
		if err := stream.Send(sse.Event{ID: "a\nb"}); !errors.Is(err, sse.ErrInvalidEvent) {
			t.Errorf("Send returns %v", err)
		}
		servertest.Must(t, stream.Comment("the\nend"))
		if stream.Context().Err() != nil {
			t.Error("the context has ended")
		}
		stream.Close()
		stream.Close()
		o.want(": the\n: end\n\n")
		o.wantEnd()
		servertest.Must(t, servertest.Receive(t, "the end", ends))
		servertest.Receive(t, "the end of the context", stream.Done())
		if err := stream.Send(data("late")); !errors.Is(err, sse.ErrEnded) {
			t.Errorf("Send returns %v", err)
		}
	})
}

func TestPushedStreamsLearnWhyTheyEnd(t *testing.T) {
	everywhere(t, func(t *testing.T, start starter) {
		s, streams, ends := opening(sse.Options{})
		ts := start(s)
		o := ts.open(t, "/")
		stream := servertest.Receive(t, "the stream", streams)
		o.cancel()
		_ = o.Body.Close()
		if err := servertest.Receive(t, "the end", ends); err == nil || errors.Is(err, context.Canceled) {
			t.Errorf("a stream that the client has left ends with %v", err)
		}
		if err := stream.Send(data("late")); !errors.Is(err, sse.ErrEnded) {
			t.Errorf("Send returns %v", err)
		}
		o = ts.open(t, "/")
		servertest.Receive(t, "the stream", streams)
		servertest.Must(t, ts.S.Shutdown())
		o.wantEnd()
		if err := servertest.Receive(t, "the end", ends); !errors.Is(err, context.Canceled) {
			t.Errorf("a stream ends at a shutdown with %v", err)
		}
	})
}

func TestTopicReachesAllPushedStreams(t *testing.T) {
	everywhere(t, func(t *testing.T, start starter) {
		topic, other := sse.Topic{}, sse.Topic{}
		streams := make(chan *sse.Stream, 10)
		ts := start(&fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
			if string(ctx.Path()) == "/goroutine" {
				calm(sse.Options{}).Serve(ctx, topic.Serve)
				return
			}
			calm(sse.Options{}).Open(ctx, sse.Handler{OnOpen: func(s *sse.Stream) {
				topic.Join(s)
				topic.Join(s)
				other.Join(s)
				streams <- s
			}})
		}})
		var all []*opened
		for range 5 {
			all = append(all, ts.open(t, "/"))
		}
		all = append(all, ts.open(t, "/goroutine"))
		await(t, &topic, 6)
		await(t, &other, 5)
		for i := range 3 {
			servertest.Must(t, topic.Publish(data(fmt.Sprint(i))))
		}
		for _, o := range all {
			o.want("data: 0\n\ndata: 1\n\ndata: 2\n\n")
		}
		all[0].cancel()
		_ = all[0].Body.Close()
		await(t, &topic, 5)
		await(t, &other, 4)
		for range 5 {
			other.Leave(servertest.Receive(t, "a stream", streams))
		}
		await(t, &other, 0)
		servertest.Must(t, other.Publish(data("not for them")))
		servertest.Must(t, topic.Publish(data("last")))
		topic.Close()
		for _, o := range all[1:] {
			o.want("data: last\n\n")
			o.wantEnd()
		}
		late := ts.open(t, "/")
		late.wantEnd()
	})
}

func TestTopicSendsPushedStreamsWhatWasMissed(t *testing.T) {
	everywhere(t, func(t *testing.T, start starter) {
		topic := sse.Topic{Keep: 3}
		ts := start(openingTopic(sse.Options{Buffer: 1}, &topic))
		for i := range 5 {
			servertest.Must(t, topic.Publish(sse.Event{ID: fmt.Sprint(i), Data: repeated(10)}))
		}
		for id, want := range map[string]string{
			"2": "id: 3\ndata: 0123456789\n\nid: 4\ndata: 0123456789\n\ndata: end\n\n",
			"4": "data: end\n\n",
			"0": "data: end\n\n",
		} {
			o := ts.open(t, "/", "Last-Event-ID", id)
			await(t, &topic, 1)
			// what was missed may still wait
			servertest.Eventually(t, "room", func() bool {
				before := topic.Dropped()
				servertest.Must(t, topic.Publish(data("end")))
				return topic.Dropped() == before
			})
			o.want(want)
			o.cancel()
			_ = o.Body.Close()
			await(t, &topic, 0)
		}
	})
}

// What was missed is sent even if the buffer is full when the stream joins the topic.
func TestTopicSendsWhatWasMissedAfterALargeEvent(t *testing.T) {
	everywhere(t, func(t *testing.T, start starter) {
		topic := sse.Topic{Keep: 3}
		for i := range 3 {
			servertest.Must(t, topic.Publish(sse.Event{ID: fmt.Sprint(i), Data: []byte("x")}))
		}
		for _, slow := range []sse.Slow{sse.SlowDrops, sse.SlowEnds} {
			state, missed := data(string(repeated(10<<20))), make(chan bool, 1)
			ts := start(&fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
				calm(sse.Options{Slow: slow}).Open(ctx, sse.Handler{OnOpen: func(s *sse.Stream) {
					servertest.Must(t, s.Send(state))
					missed <- topic.Join(s)
				}})
			}})
			o := ts.open(t, "/", "Last-Event-ID", "0")
			if servertest.Receive(t, "the stream", missed) {
				t.Fatal("events were missed")
			}
			o.want("data: " + string(state.Data) + "\n\n")
			o.want("id: 1\ndata: x\n\nid: 2\ndata: x\n\n")
			o.cancel()
			_ = o.Body.Close()
			await(t, &topic, 0)
		}
	})
}

func TestSlowPushedStreamLosesEventsOrEnds(t *testing.T) {
	everywhere(t, func(t *testing.T, start starter) {
		for _, slow := range []sse.Slow{sse.SlowDrops, sse.SlowEnds} {
			s, streams, ends := opening(sse.Options{Slow: slow, WriteTimeout: -1, Heartbeat: -1})
			ts := start(s)
			o := ts.open(t, "/")
			stream := servertest.Receive(t, "the stream", streams)
			err := error(nil)
			for range 100_000 {
				if err = stream.Send(sse.Event{Data: repeated(50_000)}); err != nil {
					break
				}
			}
			if !errors.Is(err, sse.ErrSlow) || errors.Is(err, sse.ErrEnded) != (slow == sse.SlowEnds) {
				t.Errorf("Send returns %v", err)
			}
			if slow == sse.SlowDrops {
				if stream.Dropped() == 0 {
					t.Error("nothing was dropped")
				}
				stream.Close()
			}
			// what was accepted arrives
			if _, err := io.Copy(io.Discard, o.r); err != nil {
				t.Error(err)
			}
			err = servertest.Receive(t, "the end", ends)
			if errors.Is(err, sse.ErrSlow) != (slow == sse.SlowEnds) || slow == sse.SlowDrops && err != nil {
				t.Errorf("the stream has ended with %v", err)
			}
		}
	})
}

func TestQuietPushedStreamsHaveHeartbeats(t *testing.T) {
	everywhere(t, func(t *testing.T, start starter) {
		s, _, _ := opening(sse.Options{Heartbeat: 20 * time.Millisecond})
		ts := start(s)
		began := time.Now() // a client may be late, and find several comments
		o := ts.open(t, "/")
		for range 5 {
			o.want(":\n")
		}
		if took := time.Since(began); took < 50*time.Millisecond {
			t.Errorf("5 comments after %v", took)
		}
	})
}

func TestPushedStreamThatIsNotSent(t *testing.T) {
	s, streams, ends := opening(sse.Options{})
	ts := servertest.Start(t, servertest.MemoryEngine, s, prepare)
	c := ts.Dial()
	c.Send("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n")
	c.Next("HEAD")
	if err := servertest.Receive(t, "the end", ends); err != fasthttp.ErrPushNotSent {
		t.Errorf("the stream has ended with %v", err)
	}
	if len(streams) > 0 {
		t.Error("OnOpen was called")
	}
}
