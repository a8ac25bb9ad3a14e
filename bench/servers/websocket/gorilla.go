package main

import (
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"github.com/valyala/fasthttp/bench/internal/serving"
)

func init() {
	add(library{name: "gorilla/websocket", module: "github.com/gorilla/websocket", place: 30, serve: serveGorilla})
}

// gorillaMember is a socket of the group. The library allows one writer.
type gorillaMember struct {
	writing sync.Mutex
	*websocket.Conn
}

func (m *gorillaMember) send(message *websocket.PreparedMessage) {
	m.writing.Lock()
	defer m.writing.Unlock()
	_ = m.SetWriteDeadline(time.Now().Add(serving.GroupWriteTime))
	if m.WritePreparedMessage(message) != nil {
		_ = m.Close()
	}
}

func serveGorilla(ln net.Listener) error {
	var upgrader websocket.Upgrader
	var all group[*gorillaMember]
	return serveHTTP(ln, func(w http.ResponseWriter, r *http.Request) {
		c, err := upgrader.Upgrade(w, r, nil)
		if err != nil {
			return
		}
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
	}, func(w http.ResponseWriter, r *http.Request) {
		c, err := upgrader.Upgrade(w, r, nil)
		if err != nil {
			return
		}
		defer c.Close()
		m := &gorillaMember{Conn: c}
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
			all.each(func(m *gorillaMember) { m.send(message) })
		}
	})
}
