//go:build !race

package websocket_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
	"github.com/valyala/fasthttp/internal/ws"
	"github.com/valyala/fasthttp/websocket"
)

// TestMemoryOfIdleSockets measures sockets of the event engine with data and with a timer, which
// have sent and received messages. The race detector needs memory of its own.
func TestMemoryOfIdleSockets(t *testing.T) {
	for _, compressed := range []bool{false, true} {
		name := "plain"
		if compressed {
			name = "compressed"
		}
		t.Run(name, func(t *testing.T) { servertest.Apart(t, func(t *testing.T) { measureIdleSockets(t, compressed) }) })
	}
}

func measureIdleSockets(t *testing.T, compressed bool) {
	const sockets, most = 400, 450
	type user struct{ id int }
	ln, dial := servertest.ListenTCP(t)
	u := &websocket.Upgrader{EnableCompression: compressed, Compression: websocket.Compression{Threshold: -1}}
	h := &websocket.Handler{PingInterval: time.Hour, OnMessage: echoMessage}
	s := &fasthttp.Server{Engine: fasthttp.EngineEvent, Logger: &servertest.Log{}}
	opened := 0
	s.Handler = func(ctx *fasthttp.RequestCtx) {
		opened++
		if err := u.Serve(ctx, h, &user{opened}); err != nil {
			t.Errorf("Serve: %v", err)
		}
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	request := socketRequest("/")
	message := socketFrame(ws.Text, "hello")
	if compressed {
		request = socketRequest("/", "Sec-WebSocket-Extensions: permessage-deflate")
		message = packedFrame(ws.Text, packed([]byte("hello")), true)
	}
	// of the clients only descriptors remain
	var clients []int
	open := func(n int) {
		for range n {
			nc, err := dial()
			servertest.Must(t, err)
			c := servertest.NewConn(t, nc)
			c.Send(request)
			if resp := c.Next("GET"); resp.StatusCode != 101 || (resp.Header.Get("Sec-WebSocket-Extensions") != "") != compressed {
				t.Fatalf("got %d %v", resp.StatusCode, resp.Header)
			}
			c.Send(string(message))
			first, err := c.R.ReadByte()
			if err != nil || (first == 0xc1) != compressed {
				t.Fatalf("a frame begins with %x, %v", first, err)
			}
			clients = append(clients, servertest.Bare(t, nc))
		}
	}
	clients = make([]int, 0, 3*sockets)
	open(sockets)
	least := servertest.LeastHeap(t, sockets/4, most, open)
	t.Logf("%d bytes for each idle socket", least)
	if least > most {
		t.Errorf("an idle socket needs %d bytes, more than %d", least, most)
	}
	for _, fd := range clients {
		_ = syscall.Close(fd)
	}
	servertest.Must(t, s.Shutdown())
	servertest.Must(t, servertest.Receive(t, "the end of Serve", served))
}
