// Command websocket is a chat: each message of a client of /chat is sent to all its clients,
// and / is a page for it. These connections have callbacks, and no goroutine while nothing
// happens. /echo sends each message back, by a goroutine for each connection.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/websocket"
)

func main() {
	addr := flag.String("addr", ":8080", "the TCP address to listen on")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *addr, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// run serves addr until ctx ends.
func run(ctx context.Context, addr string, stdout io.Writer) error {
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	c := newChat()
	server := &fasthttp.Server{
		Handler:      c.serve,
		Name:         "websocket",
		ReadTimeout:  10 * time.Second,
		WriteTimeout: 10 * time.Second,
		IdleTimeout:  time.Minute,
	}
	fmt.Fprintf(stdout, "websocket listens on %s\n", ln.Addr())
	// at its end it closes all connections, with the code CloseGoingAway
	return server.Run(ctx, ln)
}

const page = `<!doctype html>
<title>chat</title>
<form onsubmit="socket.send(text.value); text.value = ''; return false"><input id="text" autofocus> <button>send</button></form>
<ul id="list"></ul>
<script>
const socket = new WebSocket(location.href.replace(/^http/, 'ws') + 'chat')
socket.onmessage = e => {
	const item = document.createElement('li')
	item.textContent = e.data
	list.prepend(item)
}
</script>
`

const (
	// maxMessage is the largest size of a message in bytes. A larger one ends the
	// connection.
	maxMessage = 4 << 10
	// maxQueue is how many bytes may wait for a slow member. A member for which more would
	// wait is disconnected.
	maxQueue = 64 << 10
	// pingEvery is after how long a silent peer gets a ping, which keeps the connection alive.
	// patience is how long it may take to answer, and to receive a message.
	pingEvery = 20 * time.Second
	patience  = 40 * time.Second
)

// chat is a room, and all that its connections need.
type chat struct {
	upgrader websocket.Upgrader
	room     websocket.Group
	member   websocket.Handler
}

func newChat() *chat {
	c := new(chat)
	// pages of other origins must not connect, which is the default: browsers would send the
	// cookies of the user
	c.upgrader = websocket.Upgrader{ReadLimit: maxMessage, PingInterval: pingEvery, PongTimeout: patience}
	c.member = websocket.Handler{
		OnOpen:       func(s *websocket.Socket) { c.room.Join(s) },
		OnMessage:    c.say,
		MaxQueue:     maxQueue,
		WriteTimeout: patience,
	}
	return c
}

func (c *chat) serve(ctx *fasthttp.RequestCtx) {
	switch string(ctx.Path()) {
	case "/":
		ctx.Success("text/html; charset=utf-8", []byte(page))
	case "/chat":
		// after an error the response is a refusal
		_ = c.upgrader.Serve(ctx, &c.member, nil)
	case "/echo":
		_ = c.upgrader.Upgrade(ctx, echo)
	default:
		ctx.NotFound()
	}
}

// say sends a message of a member to all members. A socket leaves the room when it ends.
func (c *chat) say(s *websocket.Socket, m websocket.Message) {
	if m.Type != websocket.TextMessage {
		_ = s.Close(websocket.CloseUnsupportedData, "this chat is for text")
		return
	}
	c.room.Broadcast(m, func(slow *websocket.Socket) {
		// the others do not wait for it
		c.room.Leave(slow)
		_ = slow.Close(websocket.CloseTryAgainLater, "too slow")
	})
}

// echo sends each message back. The connection is closed when echo returns.
func echo(c *websocket.Conn) {
	for {
		messageType, p, err := c.ReadMessage()
		if err != nil {
			return
		}
		if c.SetWriteDeadline(time.Now().Add(patience)) != nil || c.WriteMessage(messageType, p) != nil {
			return
		}
	}
}
