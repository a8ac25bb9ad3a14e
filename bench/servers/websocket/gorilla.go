package main

import (
	"net"
	"net/http"

	"github.com/gorilla/websocket"
)

func serveGorilla(ln net.Listener) error {
	var upgrader websocket.Upgrader
	var all group[*member[*websocket.PreparedMessage]]
	upgraded := func(handler func(socket[*websocket.PreparedMessage])) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			c, err := upgrader.Upgrade(w, r, nil)
			if err != nil {
				return
			}
			defer c.Close()
			handler(c)
		}
	}
	return serveHTTP(ln, upgraded(echo), upgraded(func(c socket[*websocket.PreparedMessage]) {
		broadcast(&all, c, websocket.NewPreparedMessage)
	}))
}
