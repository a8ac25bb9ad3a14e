//go:build !race

package sse_test

import (
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/valyala/fasthttp/internal/servertest"
	"github.com/valyala/fasthttp/sse"
)

// TestCostOfIdlePushedStreams measures streams of a topic on the event engine, which have received
// events: they have no goroutine, and little memory; and sending allocates nothing for each stream.
// The race detector needs memory of its own.
func TestCostOfIdlePushedStreams(t *testing.T) {
	servertest.Apart(t, measureIdleStreams)
}

func measureIdleStreams(t *testing.T) {
	const streams, most = 1000, 900
	ln, dial := servertest.ListenTCP(t)
	topic := &sse.Topic{}
	// a heartbeat during the measurement would allocate, and be among the events
	s := openingTopic(sse.Options{Heartbeat: servertest.Never}, topic)
	prepare(s, servertest.Engines[1])
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	clients := make([]int, 0, 3*streams) // of the clients only descriptors remain
	piece := ""
	open := func(n int) {
		for range n {
			nc, err := dial()
			servertest.Must(t, err)
			c := servertest.NewConn(t, nc)
			c.Get("/")
			for line := ""; line != "\r\n"; {
				line, err = c.R.ReadString('\n')
				servertest.Must(t, err)
			}
			clients = append(clients, servertest.Bare(t, nc))
		}
		await(t, topic, len(clients))
		servertest.Must(t, topic.Publish(sse.Event{Data: []byte("hello")}))
		piece += "d\r\ndata: hello\n\n\r\n"
	}
	open(1)
	goroutines := runtime.NumGoroutine()
	open(streams)
	least := servertest.LeastHeap(t, streams/4, most, open)
	t.Logf("%d bytes for each idle stream", least)
	if least > most {
		t.Errorf("an idle stream needs %d bytes, more than %d", least, most)
	}
	servertest.Eventually(t, "no goroutine for each stream", func() bool { return runtime.NumGoroutine() <= goroutines+20 })
	// a broadcast allocates for the event alone
	event := sse.Event{Data: []byte("hello")}
	if n := testing.AllocsPerRun(20, func() { servertest.Must(t, topic.Publish(event)) }); n > 50 {
		t.Errorf("%v allocations for an event to %d streams", n, len(clients))
	}
	// the first client has got everything
	got := make([]byte, len(piece))
	_ = syscall.SetNonblock(clients[0], false)
	for n := 0; n < len(got); {
		k, err := syscall.Read(clients[0], got[n:])
		if servertest.Must(t, err); k <= 0 {
			t.Fatal("the stream has ended")
		}
		n += k
	}
	if !strings.HasPrefix(string(got), piece) {
		t.Errorf("got %q", got)
	}
	for _, fd := range clients {
		_ = syscall.Close(fd)
	}
	await(t, topic, 0)
	servertest.Must(t, s.Shutdown())
	servertest.Must(t, servertest.Receive(t, "the end of Serve", served))
}
