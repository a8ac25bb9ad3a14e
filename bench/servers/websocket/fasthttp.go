package main

import (
	"net"

	"github.com/fasthttp/websocket"
	"github.com/valyala/fasthttp"

	"github.com/valyala/fasthttp/bench/internal/serving"
)

func serveFasthttp(ln net.Listener) error {
	var upgrader websocket.FastHTTPUpgrader
	var all group[*member[*websocket.PreparedMessage]]
	return fasthttp.Serve(ln, func(ctx *fasthttp.RequestCtx) {
		handler := echo[*websocket.PreparedMessage]
		if string(ctx.Path()) == serving.GroupPath {
			handler = func(c socket[*websocket.PreparedMessage]) { broadcast(&all, c, websocket.NewPreparedMessage) }
		}
		// The upgrader answers requests that it refuses.
		_ = upgrader.Upgrade(ctx, func(c *websocket.Conn) {
			defer c.Close()
			handler(c)
		})
	})
}
