package websocket_test

import (
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttputil"
	"github.com/valyala/fasthttp/websocket"
)

// serveInMemory serves a handler in memory, and returns a Dialer for it.
func serveInMemory(h fasthttp.RequestHandler) (dialer *websocket.Dialer, stop func()) {
	ln := fasthttputil.NewInmemoryListener()
	server := &fasthttp.Server{Handler: h}
	served := make(chan error, 1)
	go func() { served <- server.Serve(ln) }()
	dialer = &websocket.Dialer{NetDial: func(network, addr string) (net.Conn, error) { return ln.Dial() }}
	return dialer, func() {
		if err := errors.Join(server.Shutdown(), <-served); err != nil {
			log.Fatal(err)
		}
	}
}

// receive returns the next message of a connection.
func receive(c *websocket.Conn) string {
	_, p, err := c.ReadMessage()
	if err != nil {
		log.Fatal(err)
	}
	return string(p)
}

// Pages of another origin may connect only if a pattern matches it.
func ExampleUpgrader_Upgrade() {
	upgrader := websocket.Upgrader{
		OriginPatterns: []string{"https://*.example.org"},
		ReadLimit:      64 << 10,
		PingInterval:   30 * time.Second,
	}
	dialer, stop := serveInMemory(func(ctx *fasthttp.RequestCtx) {
		err := upgrader.Upgrade(ctx, func(c *websocket.Conn) {
			_ = c.WriteMessage(websocket.TextMessage, []byte("hello"))
		})
		if err != nil {
			fmt.Println(errors.Is(err, websocket.ErrOrigin))
		}
	})
	defer stop()
	for _, origin := range []string{"https://app.example.org", "https://evil.example"} {
		c, resp, err := dialer.Dial("ws://example.com/", http.Header{"Origin": {origin}})
		fmt.Println(resp.StatusCode)
		if err != nil {
			continue
		}
		fmt.Println(receive(c))
		_ = c.Close()
	}
	// Output:
	// 101
	// hello
	// true
	// 403
}

// A client sends and receives JSON.
func ExampleDialer_Dial() {
	var upgrader websocket.Upgrader
	inMemory, stop := serveInMemory(func(ctx *fasthttp.RequestCtx) {
		_ = upgrader.Upgrade(ctx, func(c *websocket.Conn) {
			var numbers []int
			for c.ReadJSON(&numbers) == nil {
				sum := 0
				for _, n := range numbers {
					sum += n
				}
				_ = c.WriteJSON(map[string]int{"sum": sum})
			}
		})
	})
	defer stop()

	dialer := websocket.Dialer{
		NetDial:          inMemory.NetDial, // by default, TCP
		HandshakeTimeout: 10 * time.Second,
		PingInterval:     30 * time.Second,
	}
	c, _, err := dialer.Dial("ws://example.com/sums", nil)
	if err != nil {
		log.Fatal(err)
	}
	if err := c.WriteJSON([]int{1, 2, 3}); err != nil {
		log.Fatal(err)
	}
	var answer struct{ Sum int }
	err = c.ReadJSON(&answer)
	fmt.Println(answer.Sum, err)
	fmt.Println(c.Close())
	// Output:
	// 6 <nil>
	// <nil>
}

// A message is encoded once, and sent to all members. A slow one is disconnected.
func ExampleGroup_Broadcast() {
	var upgrader websocket.Upgrader
	var group websocket.Group
	handler := &websocket.Handler{
		OnOpen: func(s *websocket.Socket) {
			group.Join(s)
			_ = s.Send(websocket.TextMessage, []byte("welcome"))
		},
	}
	dialer, stop := serveInMemory(func(ctx *fasthttp.RequestCtx) { _ = upgrader.Serve(ctx, handler, nil) })
	defer stop()
	var members []*websocket.Conn
	for range 2 {
		c, _, err := dialer.Dial("ws://example.com/", nil)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(receive(c))
		members = append(members, c)
	}
	news := websocket.Message{Type: websocket.TextMessage, Data: []byte("news")}
	sent, skipped := group.Broadcast(news, func(slow *websocket.Socket) {
		_ = slow.Close(websocket.CloseTryAgainLater, "too slow")
	})
	fmt.Println(sent, skipped)
	for _, c := range members {
		fmt.Println(receive(c))
		_ = c.Close()
	}
	// Output:
	// welcome
	// welcome
	// 2 0
	// news
	// news
}
