// Package epoll has connections that one thread waits for, as loads have them: that leaves a
// server more processor time than a goroutine for each connection. It needs linux. Start with
// New.
package epoll

import "github.com/valyala/fasthttp/bench/internal/dial"

// Event is what happened to a connection.
type Event struct {
	Conn int // its number
	// Readable is set if bytes or the end have arrived, and Writable if a full buffer has room again.
	Readable, Writable bool
}

// Dial connects to a server n times, and adds the connections.
func (c *Conns) Dial(addr string, n int) error {
	for range n {
		nc, err := dial.TCP("", addr, nil)
		if err == nil {
			err = c.Add(nc)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
