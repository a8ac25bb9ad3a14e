package engine

import (
	"io"
	"net"
	"os"

	"golang.org/x/sys/unix"

	"github.com/valyala/fasthttp/internal/bufpool"
	"github.com/valyala/fasthttp/internal/clock"
	"github.com/valyala/fasthttp/internal/netloop"
	"github.com/valyala/fasthttp/internal/proxied"
)

// This file is the PROXY protocol on the event engine. An incomplete header stays in the
// socket, so a connection that waits for one needs no memory for it.

// AwaitsHeader reports whether the header has not arrived yet.
func (c *eventConn) AwaitsHeader() bool { return c.phase == eventHeader }

// readHeader reads the header from the connection. taken is false if the header is
// incomplete. It is also false if the connection was closed or handed over; alive is then
// false, too.
func (c *eventConn) readHeader() (taken, alive bool) {
	b := bufpool.Get(proxied.MaxSize)
	defer bufpool.Put(b)
	h, size, err := c.peekHeader(b.B[:proxied.MaxSize])
	if err == netloop.ErrAgain {
		return false, true
	}
	if err == nil {
		// all of it is there, and only the owner reads
		_, err = c.net.Read(b.B[:size])
	}
	if err != nil {
		c.Set.Host.HeaderFailed(&c.Conn, err)
		c.endsBecause(err)
		c.finish(false)
		return false, false
	}
	next, timeout := eventServing, c.Set.Limits.First
	if c.overTLS {
		next, timeout = eventHello, c.Set.Limits.Handshake
	}
	c.change(next)
	if ends := EndpointsOf(h); ends != nil {
		e := c.extras()
		e.mu.Lock()
		e.remote, e.local, e.proxied = ends.Remote, ends.Local, ends
		e.mu.Unlock()
	}
	if err := c.Set.Host.AdmitClient(&c.Conn); err != nil {
		c.refuseClient(err)
		return false, false
	}
	c.Opened = clock.Monotonic()
	c.net.SetDeadline(timeout)
	return true, true
}

// peekHeader parses the header without consuming it. The error is netloop.ErrAgain while
// more of it may arrive.
func (c *eventConn) peekHeader(b []byte) (h proxied.Header, size int, err error) {
	n, err := c.net.Peek(b)
	if err != nil {
		return h, 0, err
	}
	if size, err = proxied.Size(b[:n]); err != nil {
		return h, 0, err
	}
	if size > n {
		if c.net.Gone() && c.has(unix.POLLRDHUP) {
			return h, 0, io.ErrUnexpectedEOF
		}
		return h, 0, netloop.ErrAgain
	}
	h, err = proxied.Parse(b[:size])
	return h, size, err
}

// expireHeader is Expire for a connection that waits for its header. The header may have
// arrived in time, while the loop was busy.
func (c *eventConn) expireHeader() (alive bool) {
	taken, alive := c.readHeader()
	switch {
	case taken:
		return c.Serve(nil)
	case alive:
		c.Set.Host.HeaderFailed(&c.Conn, os.ErrDeadlineExceeded)
		c.finish(false)
	}
	return false
}

// awaitingHeader reports whether the connection waits for a header, or for the rest of
// one. The caller owns the connection.
func (c *eventConn) awaitingHeader() bool {
	if c.phase != eventHeader {
		return false
	}
	b := bufpool.Get(proxied.MaxSize)
	defer bufpool.Put(b)
	_, _, err := c.peekHeader(b.B[:proxied.MaxSize])
	return err == netloop.ErrAgain
}

// refuseClient sends a response on a connection of a client that has too many of them.
func (c *eventConn) refuseClient(why error) {
	s := c.Set
	c.setState(StateClosed)
	if nc, err := c.removeFromSet(); err == nil {
		go s.Host.Refuse(nc, why)
	}
}

// removeFromSet gives the connection up. It returns it as a connection of package net, or as a TLS
// connection over one.
func (c *eventConn) removeFromSet() (net.Conn, error) {
	nc, err := c.removeFromLoop()
	c.unregister()
	return nc, err
}

// removeFromLoop is leave for a connection that remains in the Set.
func (c *eventConn) removeFromLoop() (net.Conn, error) {
	c.recordAddresses()
	fd := c.net.Remove()
	c.change(eventEnded)
	nc, err := fdReserve.fileConn(fd, c.RemoteAddr)
	if err != nil {
		return nil, err
	}
	// package net has set its own options
	c.Set.Host.Prepare(nc)
	if e := c.extra.Load(); e != nil && e.proxied != nil {
		nc = NewProxiedConn(nc, e.proxied)
	}
	if c.overTLS {
		c.tls().Move(nc)
		nc = c.NC
	}
	return nc, nil
}
