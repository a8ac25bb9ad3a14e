package main

import (
	"net"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/websocket"

	"github.com/valyala/fasthttp/bench/internal/serving"
)

// ours returns the ways to use this module's package websocket.
func ours() (all []library) {
	for _, l := range []struct {
		name    string
		handler func() fasthttp.RequestHandler
	}{
		{"ours, callbacks", callbacks},
		{"ours, Conn", func() fasthttp.RequestHandler { return conns(&websocket.Upgrader{}, echoAppending) }},
		{"ours, Conn as gorilla's", func() fasthttp.RequestHandler { return conns(&websocket.Upgrader{}, echoAsGorilla) }},
		{"ours, Conn without the context", func() fasthttp.RequestHandler {
			return conns(&websocket.Upgrader{ReleaseContext: true}, echoAppending)
		}},
	} {
		all = append(all, library{
			name: l.name, module: "github.com/valyala/fasthttp",
			serve: func(ln net.Listener) error { return fasthttp.Serve(ln, l.handler()) },
			serveTLS: func(ln net.Listener, cert, key string) error {
				return fasthttp.ServeTLS(ln, cert, key, l.handler())
			},
		})
	}
	return all
}

// callbacks has no goroutine for a socket.
func callbacks() fasthttp.RequestHandler {
	var upgrader websocket.Upgrader
	var all websocket.Group
	echoes := &websocket.Handler{OnMessage: func(s *websocket.Socket, m websocket.Message) {
		if s.Send(m.Type, m.Data) != nil {
			s.Abort()
		}
	}}
	broadcast := &websocket.Handler{
		OnOpen:    func(s *websocket.Socket) { all.Join(s) },
		OnMessage: func(_ *websocket.Socket, m websocket.Message) { all.Broadcast(m, (*websocket.Socket).Abort) },
	}
	return func(ctx *fasthttp.RequestCtx) {
		handler := echoes
		if string(ctx.Path()) == serving.GroupPath {
			handler = broadcast
		}
		// Serve answers requests that it refuses.
		_ = upgrader.Serve(ctx, handler, nil)
	}
}

// conns has a goroutine for each socket.
func conns(upgrader *websocket.Upgrader, echo func(*websocket.Conn)) fasthttp.RequestHandler {
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
	return func(ctx *fasthttp.RequestCtx) {
		handler := echo
		if string(ctx.Path()) == serving.GroupPath {
			handler = broadcast
		}
		// Upgrade answers requests that it refuses.
		_ = upgrader.Upgrade(ctx, handler)
	}
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
func echoAsGorilla(c *websocket.Conn) { echo[*websocket.PreparedMessage](c) }
