package websocket_test

import (
	"fmt"
	"log"
	"net"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttputil"
	"github.com/valyala/fasthttp/websocket"
)

// A chat: each message is sent to all sockets in the room. On Linux, an idle socket has no
// goroutine.
func ExampleUpgrader_Serve() {
	var upgrader websocket.Upgrader
	var room websocket.Group
	handler := &websocket.Handler{
		OnOpen: func(s *websocket.Socket) {
			room.Join(s)
			_ = s.Send(websocket.TextMessage, []byte("welcome, "+s.Data().(string)))
		},
		OnMessage: func(s *websocket.Socket, m websocket.Message) {
			text := fmt.Appendf(nil, "%s: %s", s.Data(), m.Data)
			room.Broadcast(websocket.Message{Type: m.Type, Data: text}, func(slow *websocket.Socket) {
				_ = slow.Close(websocket.CloseTryAgainLater, "too slow")
			})
		},
		MaxMessage: 4 << 10,
	}
	server := &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
		name := string(ctx.QueryArgs().Peek("name"))
		if err := upgrader.Serve(ctx, handler, name); err != nil {
			// the client gets a refusal
			log.Print(err)
		}
	}}
	ln := fasthttputil.NewInmemoryListener()
	go func() { _ = server.Serve(ln) }()

	dialer := websocket.Dialer{NetDial: func(network, addr string) (net.Conn, error) { return ln.Dial() }}
	c, _, err := dialer.Dial("ws://example.com/?name=ann", nil)
	if err != nil {
		log.Fatal(err)
	}
	_, p, err := c.ReadMessage()
	fmt.Printf("%s %v\n", p, err)
	if err := c.WriteMessage(websocket.TextMessage, []byte("hello")); err != nil {
		log.Fatal(err)
	}
	_, p, err = c.ReadMessage()
	fmt.Printf("%s %v\n", p, err)
	fmt.Println(c.Close())
	fmt.Println(server.Shutdown())
	// Output:
	// welcome, ann <nil>
	// ann: hello <nil>
	// <nil>
	// <nil>
}
