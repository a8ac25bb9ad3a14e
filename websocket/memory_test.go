package websocket

import (
	"runtime"
	"testing"

	"github.com/valyala/fasthttp/internal/servertest"
)

// TestMemoryOfWaitingConns measures connections of a server that wait for a message, by
// goroutines.
func TestMemoryOfWaitingConns(t *testing.T) {
	if underRace {
		t.Skip("the race detector needs memory of its own")
	}
	servertest.Apart(t, func(t *testing.T) {
		const conns, most = 500, 5632
		entered := make(chan struct{}, conns)
		s := servertest.Start(t, servertest.Engines[1], serving(&Upgrader{ReleaseContext: true}, func(c *Conn) {
			entered <- struct{}{}
			echo(c)
		}), prepare)
		var clients []*servertest.Conn
		open := func(n int) {
			for range n {
				c := s.Dial()
				c.Send(opening())
				c.Next("GET")
				// an application that has used its connection
				c.Send("\x81\x85\x00\x00\x00\x00hello")
				if _, err := c.R.Discard(7); err != nil {
					t.Fatal(err)
				}
				servertest.Receive(t, "the handler", entered)
				clients = append(clients, c)
			}
		}
		used := func() uint64 {
			runtime.GC()
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			return m.HeapAlloc + m.StackInuse
		}
		// the clients need memory, too
		var pairs []*servertest.Conn
		open(100)
		before := used()
		open(conns)
		both := used() - before
		before = used()
		ln, dial := servertest.ListenTCP(t)
		defer ln.Close()
		for range conns {
			nc, err := dial()
			servertest.Must(t, err)
			pairs = append(pairs, servertest.NewConn(t, nc))
			accepted, err := ln.Accept()
			servertest.Must(t, err)
			defer accepted.Close()
		}
		clientsOnly := used() - before
		each := (int64(both) - int64(clientsOnly)) / conns
		t.Logf("%d bytes for each waiting connection, besides its socket", each)
		if each > most {
			t.Errorf("a waiting connection needs %d bytes, more than %d", each, most)
		}
		for _, c := range append(clients, pairs...) {
			_ = c.Close()
		}
	})
}
