package websocket_test

import (
	"fmt"
	"log"
	"net"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttputil"
	"github.com/valyala/fasthttp/websocket"
)

// A server that sends all messages back, and a client.
func Example() {
	upgrader := websocket.Upgrader{
		OriginPatterns: []string{"*.example.com"},
	}
	server := &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
		err := upgrader.Upgrade(ctx, func(c *websocket.Conn) {
			for {
				messageType, p, err := c.ReadMessage()
				if err != nil {
					if websocket.IsUnexpectedCloseError(err, websocket.CloseNormalClosure, websocket.CloseGoingAway) {
						log.Print(err)
					}
					return
				}
				if err := c.WriteMessage(messageType, p); err != nil {
					return
				}
			}
		})
		if err != nil {
			// the client gets a refusal
			log.Print(err)
		}
	}}
	ln := fasthttputil.NewInmemoryListener()
	go func() { _ = server.Serve(ln) }()

	dialer := websocket.Dialer{
		// to this server in memory; by default, to the host of the URL
		NetDial: func(network, addr string) (net.Conn, error) { return ln.Dial() },
	}
	c, _, err := dialer.Dial("ws://example.com/echo", nil)
	if err != nil {
		log.Fatal(err)
	}
	if err := c.WriteMessage(websocket.TextMessage, []byte("hello")); err != nil {
		log.Fatal(err)
	}
	_, p, err := c.ReadMessage()
	fmt.Printf("%s %v\n", p, err)
	fmt.Println(c.Close())
	fmt.Println(server.Shutdown())
	// Output:
	// hello <nil>
	// <nil>
	// <nil>
}
