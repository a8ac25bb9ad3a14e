package main

import (
	"context"
	"net"
	"net/http"

	"github.com/coder/websocket"

	"github.com/valyala/fasthttp/bench/internal/serving"
)

func serveCoder(ln net.Listener) error {
	var all group[*websocket.Conn]
	ctx := context.Background()
	accept := func(w http.ResponseWriter, r *http.Request) (*websocket.Conn, error) {
		c, err := websocket.Accept(w, r, nil)
		if err == nil {
			c.SetReadLimit(mostSize)
		}
		return c, err
	}
	return serveHTTP(ln, func(w http.ResponseWriter, r *http.Request) {
		c, err := accept(w, r)
		if err != nil {
			return
		}
		defer c.CloseNow()
		for {
			kind, p, err := c.Read(ctx)
			if err != nil {
				return
			}
			if err := c.Write(ctx, kind, p); err != nil {
				return
			}
		}
	}, func(w http.ResponseWriter, r *http.Request) {
		c, err := accept(w, r)
		if err != nil {
			return
		}
		defer c.CloseNow()
		all.join(c)
		defer all.leave(c)
		for {
			kind, p, err := c.Read(ctx)
			if err != nil {
				return
			}
			all.each(func(m *websocket.Conn) {
				ctx, cancel := context.WithTimeout(ctx, serving.GroupWriteTime)
				defer cancel()
				// A write that fails closes the socket.
				_ = m.Write(ctx, kind, p)
			})
		}
	})
}
