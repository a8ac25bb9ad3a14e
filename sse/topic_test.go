package sse_test

import (
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
	"github.com/valyala/fasthttp/sse"
)

// serve makes a server of a topic.
func serve(o sse.Options, topic *sse.Topic) *fasthttp.Server { return serving(o, topic.Serve) }

// await waits until the topic has n streams.
func await(t *testing.T, topic *sse.Topic, n int) {
	t.Helper()
	servertest.Eventually(t, fmt.Sprintf("%d streams in the topic", n), func() bool { return topic.Len() == n })
}

func TestTopicReachesAllStreams(t *testing.T) {
	everywhere(t, func(t *testing.T, start starter) {
		var topic sse.Topic
		ts := start(serve(sse.Options{}, &topic))
		var all []*opened
		for range 5 {
			all = append(all, ts.open(t, "/"))
		}
		await(t, &topic, 5)
		for i := range 3 {
			servertest.Must(t, topic.Publish(data(fmt.Sprint(i))))
		}
		for _, o := range all {
			o.want("data: 0\n\ndata: 1\n\ndata: 2\n\n")
		}
		all[0].cancel()
		_ = all[0].Body.Close()
		await(t, &topic, 4)
		servertest.Must(t, topic.Publish(data("last")))
		topic.Close()
		for _, o := range all[1:] {
			o.want("data: last\n\n")
			o.wantEnd()
		}
		if err := topic.Publish(data("none")); !errors.Is(err, sse.ErrEnded) {
			t.Errorf("Publish to a closed topic returns %v", err)
		}
		late := ts.open(t, "/")
		late.wantEnd()
	})
}

// One client of a crowd does not read. The others get all events.
func TestSlowStreamHoldsUpNone(t *testing.T) {
	t.Parallel()
	for _, slow := range []sse.Slow{sse.SlowWaits, sse.SlowDrops, sse.SlowEnds} {
		t.Run(fmt.Sprint(slow), func(t *testing.T) {
			t.Parallel()
			testSlowStream(t, slow)
		})
	}
}

func testSlowStream(t *testing.T, slow sse.Slow) {
	var topic sse.Topic
	const buffer, events = 4000, 30
	streams := servertest.Heavy(1000)
	if slow != sse.SlowWaits {
		// the ways differ in the slow stream alone
		streams /= 4
	}
	ts := servertest.Start(t, servertest.MemoryEngine, serve(sse.Options{Slow: slow, Buffer: buffer, WriteTimeout: -1}, &topic), prepare)
	var all []*servertest.Conn
	for range streams {
		c := ts.Dial()
		c.Get("/")
		all = append(all, c)
	}
	await(t, &topic, streams)
	event := sse.Event{Data: repeated(10 * buffer)}
	read := func(c *servertest.Conn, got chan<- int) {
		resp, err := http.ReadResponse(c.R, nil)
		if err != nil {
			return
		}
		d := sse.NewDecoder(resp.Body)
		n := 0
		for range events {
			if e, err := d.Next(); err != nil || len(e.Data) != len(event.Data) {
				break
			}
			n++
			got <- n
		}
	}
	// each event is sent when the others have the one before
	got := make(chan int, streams)
	for _, c := range all[1:] {
		go read(c, got)
	}
	for i := range events {
		servertest.Must(t, topic.Publish(event))
		for range streams - 1 {
			if n := servertest.Receive(t, "an event", got); n != i+1 {
				t.Fatalf("event %d instead of %d", n, i+1)
			}
		}
	}
	dropped, ended, left := topic.Dropped(), topic.Ended(), topic.Len()
	switch {
	case slow == sse.SlowEnds:
		if dropped != 0 || ended != 1 || left != streams-1 {
			t.Errorf("%d events were dropped, %d streams have ended, %d are left", dropped, ended, left)
		}
	case dropped == 0 || dropped >= events || ended != 0 || left != streams:
		t.Errorf("%d events were dropped, %d streams have ended, %d are left", dropped, ended, left)
	}
	topic.Close()
	// the slow one gets what it was sent
	first := make(chan int, events)
	read(all[0], first)
	if n := len(first); n == 0 || n == events || slow != sse.SlowEnds && n != events-int(dropped) {
		t.Errorf("the slow client has got %d events, %d were dropped", n, dropped)
	}
}

// The streams of a client share a connection with HTTP/2. It does not read one of them.
func TestSlowStreamHoldsUpNoneOfItsConnection(t *testing.T) {
	everywhere(t, func(t *testing.T, start starter) {
		var topic sse.Topic
		const size, others = 100_000, 4
		ts := start(serve(sse.Options{Buffer: 1000, WriteTimeout: -1}, &topic))
		ts.Client.Transport.(*http.Transport).HTTP2 = &http.HTTP2Config{MaxReceiveBufferPerStream: 64 << 10}
		slow := ts.open(t, "/")
		var all []*opened
		for range others {
			all = append(all, ts.open(t, "/"))
		}
		await(t, &topic, 1+others)
		published := 0
		text := "data: " + string(repeated(size)) + "\n\n"
		for ; topic.Dropped() == 0; published++ {
			servertest.Must(t, topic.Publish(sse.Event{Data: repeated(size)}))
			for _, o := range all {
				o.want(text)
			}
		}
		topic.Close()
		for _, o := range all {
			o.wantEnd()
		}
		// the slow one has lost the last event alone
		for range published - 1 {
			slow.want(text)
		}
		slow.wantEnd()
	})
}

func TestTopicSendsWhatWasMissed(t *testing.T) {
	everywhere(t, func(t *testing.T, start starter) {
		topic := sse.Topic{Keep: 3}
		missed := make(chan bool, 1)
		ts := start(serving(sse.Options{Buffer: 1}, func(s *sse.Stream) {
			missed <- topic.Join(s)
			// a second time, it changes nothing
			topic.Join(s)
			<-s.Done()
		}))
		for i := 1; i <= 5; i++ {
			servertest.Must(t, topic.Publish(sse.Event{ID: fmt.Sprint(i), Data: []byte("x")}))
			// events without an ID are not kept
			servertest.Must(t, topic.Publish(data("other")))
		}
		text := func(from int) (all string) {
			for ; from <= 6; from++ {
				all += fmt.Sprintf("id: %d\ndata: x\n\n", from)
			}
			return all
		}
		var all []*opened
		for i, c := range []struct {
			last   string
			from   int
			missed bool
		}{{"", 6, false}, {"3", 4, false}, {"4", 5, false}, {"5", 6, false}, {"2", 6, true}, {"unknown", 6, true}} {
			o := ts.open(t, "/", "Last-Event-ID", c.last)
			if got := servertest.Receive(t, "the stream", missed); got != c.missed {
				t.Errorf("%q: missed is %v", c.last, got)
			}
			// the events before the one published to all
			o.want(text(c.from)[:len(text(c.from))-len(text(6))])
			all = append(all, o)
			await(t, &topic, i+1)
		}
		servertest.Must(t, topic.Publish(sse.Event{ID: "6", Data: []byte("x")}))
		for _, o := range all {
			o.want(text(6))
		}
		topic.Close()
		for _, o := range all {
			o.wantEnd()
		}
	})
}

func TestStreamsThatLeaveGetNothing(t *testing.T) {
	var ctx fasthttp.RequestCtx
	ctx.Init(&fasthttp.Request{}, nil, nil)
	var topic sse.Topic
	var ended *sse.Stream
	sse.Serve(&ctx, func(s *sse.Stream) {
		ended = s
		topic.Join(s)
		servertest.Must(t, topic.Publish(data("a")))
		topic.Leave(s)
		topic.Leave(s)
		servertest.Must(t, topic.Publish(data("b")))
		servertest.Must(t, s.Send(data("c")))
	})
	if got := string(ctx.Response.Body()); got != "data: a\n\ndata: c\n\n" {
		t.Errorf("got %q", got)
	}
	servertest.Receive(t, "the end of the stream", ended.Done())
	topic.Join(ended)
	if n := topic.Len(); n != 0 {
		t.Errorf("%d streams are in the topic", n)
	}
}

// TestStreamsThatLeaveKeepNothing has a stream that joins and leaves a topic again and again.
func TestStreamsThatLeaveKeepNothing(t *testing.T) {
	var ctx fasthttp.RequestCtx
	ctx.Init(&fasthttp.Request{}, nil, nil)
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	sse.Serve(&ctx, func(s *sse.Stream) {
		var topic sse.Topic
		before := heap()
		for range 50_000 {
			topic.Join(s)
			topic.Leave(s)
		}
		if after := heap(); after > before+2<<20 {
			t.Errorf("the heap has grown from %d to %d bytes", before, after)
		}
	})
	_ = ctx.Response.Body()
}
