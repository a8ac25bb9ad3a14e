package main

import (
	"bufio"
	"net"
	"sync"
	"time"

	"github.com/gobwas/ws"
	"github.com/gobwas/ws/wsutil"

	"github.com/valyala/fasthttp/bench/internal/serving"
)

// gobwasConn reads with a buffer, as the library itself does not.
type gobwasConn struct {
	net.Conn
	in      *bufio.Reader
	writing sync.Mutex
}

// Read reads from the buffer.
func (c *gobwasConn) Read(p []byte) (int, error) { return c.in.Read(p) }

// send writes a whole frame.
func (c *gobwasConn) send(frame []byte) {
	c.writing.Lock()
	defer c.writing.Unlock()
	_ = c.SetWriteDeadline(time.Now().Add(serving.GroupWriteTime))
	if _, err := c.Write(frame); err != nil {
		_ = c.Close()
	}
}

func serveGobwas(ln net.Listener) error {
	all := new(group[*gobwasConn])
	for {
		nc, err := ln.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer nc.Close()
			var path string
			upgrader := ws.Upgrader{OnRequest: func(uri []byte) error {
				path = string(uri)
				return nil
			}}
			if _, err := upgrader.Upgrade(nc); err != nil {
				return
			}
			c := &gobwasConn{Conn: nc, in: bufio.NewReader(nc)}
			if path == serving.GroupPath {
				all.join(c)
				defer all.leave(c)
				broadcastGobwas(c, all)
				return
			}
			echoGobwas(c)
		}()
	}
}

func echoGobwas(c *gobwasConn) {
	for {
		p, op, err := wsutil.ReadClientData(c)
		if err != nil {
			return
		}
		if err := wsutil.WriteServerMessage(c, op, p); err != nil {
			return
		}
	}
}

func broadcastGobwas(c *gobwasConn, all *group[*gobwasConn]) {
	for {
		p, op, err := wsutil.ReadClientData(c)
		if err != nil {
			return
		}
		frame, err := ws.CompileFrame(ws.NewFrame(op, true, p))
		if err != nil {
			return
		}
		all.each(func(m *gobwasConn) { m.send(frame) })
	}
}
