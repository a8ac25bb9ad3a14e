package main

import (
	"net"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/websocket"

	"github.com/valyala/fasthttp/bench/internal/serving"
)

func init() {
	const module = "github.com/valyala/fasthttp"
	add(library{name: "ours, callbacks", module: module, place: 1, serve: serveCallbacks})
	add(library{name: "ours, Conn", module: module, place: 2, serve: func(ln net.Listener) error {
		return serveConns(ln, echoAppending)
	}})
	add(library{name: "ours, Conn as gorilla's", module: module, place: 3, serve: func(ln net.Listener) error {
		return serveConns(ln, echoAsGorilla)
	}})
}

// serveCallbacks has no goroutine for a socket.
func serveCallbacks(ln net.Listener) error {
	var upgrader websocket.Upgrader
	var all websocket.Group
	echo := &websocket.Handler{OnMessage: func(s *websocket.Socket, m websocket.Message) {
		if s.Send(m.Type, m.Data) != nil {
			s.Abort()
		}
	}}
	broadcast := &websocket.Handler{
		OnOpen:    func(s *websocket.Socket) { all.Join(s) },
		OnMessage: func(_ *websocket.Socket, m websocket.Message) { all.Broadcast(m, (*websocket.Socket).Abort) },
	}
	return fasthttp.Serve(ln, func(ctx *fasthttp.RequestCtx) {
		handler := echo
		if string(ctx.Path()) == serving.GroupPath {
			handler = broadcast
		}
		// Serve answers requests that it refuses.
		_ = upgrader.Serve(ctx, handler, nil)
	})
}

// serveConns has a goroutine for each socket.
func serveConns(ln net.Listener, echo func(*websocket.Conn)) error {
	var upgrader websocket.Upgrader
	var all group[*websocket.Conn]
	broadcast := func(c *websocket.Conn) {
		all.join(c)
		defer all.leave(c)
		for {
			kind, p, err := c.ReadMessage()
			if err != nil {
				return
			}
			message, err := websocket.NewPreparedMessage(kind, p)
			if err != nil {
				return
			}
			all.each(func(c *websocket.Conn) {
				_ = c.SetWriteDeadline(time.Now().Add(serving.GroupWriteTime))
				if c.WritePreparedMessage(message) != nil {
					_ = c.CloseNow()
				}
			})
		}
	}
	return fasthttp.Serve(ln, func(ctx *fasthttp.RequestCtx) {
		handler := echo
		if string(ctx.Path()) == serving.GroupPath {
			handler = broadcast
		}
		// Upgrade answers requests that it refuses.
		_ = upgrader.Upgrade(ctx, handler)
	})
}

// echoAppending reads into a buffer of its own.
func echoAppending(c *websocket.Conn) {
	var buf []byte
	for {
		kind, p, err := c.AppendMessage(buf[:0])
		if err != nil {
			return
		}
		if err := c.WriteMessage(kind, p); err != nil {
			return
		}
		buf = p
	}
}

// echoAsGorilla makes the calls of a program that was written for gorilla/websocket.
func echoAsGorilla(c *websocket.Conn) {
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
