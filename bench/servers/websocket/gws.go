package main

import (
	"bytes"
	"net"
	"net/http"

	"github.com/lxzan/gws"
)

// gwsEcho returns each message.
type gwsEcho struct{ gws.BuiltinEventHandler }

func (gwsEcho) OnPing(c *gws.Conn, payload []byte) { _ = c.WritePong(payload) }

func (gwsEcho) OnMessage(c *gws.Conn, m *gws.Message) {
	defer m.Close()
	_ = c.WriteMessage(m.Opcode, m.Bytes())
}

// gwsGroup sends each message to all its sockets. The library has a queue for each of them.
type gwsGroup struct {
	gwsEcho
	all *group[*gws.Conn]
}

func (g gwsGroup) OnOpen(c *gws.Conn) { g.all.join(c) }

func (g gwsGroup) OnClose(c *gws.Conn, _ error) { g.all.leave(c) }

func (g gwsGroup) OnMessage(_ *gws.Conn, m *gws.Message) {
	defer m.Close()
	// The queues may have the message when m is already closed.
	b := gws.NewBroadcaster(m.Opcode, bytes.Clone(m.Bytes()))
	defer b.Close()
	g.all.each(func(c *gws.Conn) { _ = b.Broadcast(c) })
}

func serveGWS(ln net.Listener) error {
	handler := func(events gws.Event) http.HandlerFunc {
		upgrader := gws.NewUpgrader(events, &gws.ServerOption{})
		return func(w http.ResponseWriter, r *http.Request) {
			c, err := upgrader.Upgrade(w, r)
			if err != nil {
				return
			}
			// The handler returns, so that the request can be collected.
			go c.ReadLoop()
		}
	}
	return serveHTTP(ln, handler(gwsEcho{}), handler(gwsGroup{all: new(group[*gws.Conn])}))
}
