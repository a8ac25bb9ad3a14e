package main

import (
	"net"
	"sync"
	"time"

	"github.com/fasthttp/websocket"
	"github.com/valyala/fasthttp"

	"github.com/valyala/fasthttp/bench/internal/serving"
)

func init() {
	add(library{name: "fasthttp/websocket", module: "github.com/fasthttp/websocket", place: 20, serve: serveFasthttp})
}

// fasthttpMember is a socket of the group. The library allows one writer.
type fasthttpMember struct {
	writing sync.Mutex
	*websocket.Conn
}

func (m *fasthttpMember) send(message *websocket.PreparedMessage) {
	m.writing.Lock()
	defer m.writing.Unlock()
	_ = m.SetWriteDeadline(time.Now().Add(serving.GroupWriteTime))
	if m.WritePreparedMessage(message) != nil {
		_ = m.Close()
	}
}

func serveFasthttp(ln net.Listener) error {
	var upgrader websocket.FastHTTPUpgrader
	var all group[*fasthttpMember]
	echo := func(c *websocket.Conn) {
		defer c.Close()
		for {
			kind, p, err := c.ReadMessage()
			if err != nil {
				return
			}
			if err := c.WriteMessage(kind, p); err != nil {
				return
			}
		}
	}
	broadcast := func(c *websocket.Conn) {
		defer c.Close()
		m := &fasthttpMember{Conn: c}
		all.join(m)
		defer all.leave(m)
		for {
			kind, p, err := c.ReadMessage()
			if err != nil {
				return
			}
			message, err := websocket.NewPreparedMessage(kind, p)
			if err != nil {
				return
			}
			all.each(func(m *fasthttpMember) { m.send(message) })
		}
	}
	return fasthttp.Serve(ln, func(ctx *fasthttp.RequestCtx) {
		handler := echo
		if string(ctx.Path()) == serving.GroupPath {
			handler = broadcast
		}
		// The upgrader answers requests that it refuses.
		_ = upgrader.Upgrade(ctx, handler)
	})
}
