package fasthttp

import (
	"errors"
	"net"
	"syscall"
	"time"

	"github.com/valyala/fasthttp/internal/netloop"
)

// What follows makes a connection of the event engine a net.Conn, and one that
// waits where an exchange works with streams.

// blocking implements link.
func (c *eventConn) blocking() net.Conn {
	c.detach()
	return c
}

// readsUntil implements link.
func (c *eventConn) readsUntil(timeout time.Duration) {
	c.limit, c.limitOf = timeout, uint32(c.requests)+1
	if d := c.detached(); d != nil {
		_ = d.SetReadDeadline(time.Now().Add(timeout))
	}
}

// writesUntil implements link.
func (c *eventConn) writesUntil(timeout time.Duration) {
	if timeout > 0 {
		_ = c.detach().SetWriteDeadline(time.Now().Add(timeout))
	} else if d := c.detached(); d != nil {
		_ = d.SetWriteDeadline(c.writeDeadline())
	}
}

// watch implements link.
func (c *eventConn) watch(w *watch) {
	c.extras().watch.Store(w)
	if c.net.Watch() {
		w.end()
	}
}

// unwatch implements link.
func (c *eventConn) unwatch() {
	c.net.Unwatch()
	c.extras().watch.Store(nil)
}

// PeerGone implements netloop.Handler.
func (c *eventConn) PeerGone() {
	if e := c.extra.Load(); e != nil {
		if w := e.watch.Load(); w != nil {
			w.end()
		}
	}
}

func (c *eventConn) extras() *eventExtra {
	if e := c.extra.Load(); e != nil {
		return e
	}
	c.extra.CompareAndSwap(nil, new(eventExtra))
	return c.extra.Load()
}

// detached returns the connection in the mode that waits, or nil where it is
// not in it.
func (c *eventConn) detached() *netloop.Detached {
	e := c.extra.Load()
	if e == nil {
		return nil
	}
	return e.detached.Load()
}

// detach makes the connection one whose Read and Write wait, until the current
// request was answered.
func (c *eventConn) detach() *netloop.Detached {
	e := c.extras()
	if d := e.detached.Load(); d != nil {
		return d
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if d := e.detached.Load(); d != nil {
		return d
	}
	d := c.net.Detach()
	read := e.readUntil
	if c.limitOf == uint32(c.requests)+1 {
		read = time.Now().Add(c.limit)
	} else if c.s.ReadTimeout > 0 {
		read = time.Now().Add(c.s.ReadTimeout)
	}
	if !read.IsZero() {
		_ = d.SetReadDeadline(read)
	}
	if !e.writeUntil.IsZero() {
		_ = d.SetWriteDeadline(e.writeUntil)
	}
	e.detached.Store(d)
	return d
}

// Read implements net.Conn.
func (c *eventConn) Read(p []byte) (int, error) { return c.detach().Read(p) }

// Write implements net.Conn.
func (c *eventConn) Write(p []byte) (int, error) { return c.detach().Write(p) }

// Close implements net.Conn: it ends the connection for both sides. The
// descriptor is closed by its owner.
func (c *eventConn) Close() error { return c.net.Shutdown() }

// SetDeadline implements net.Conn.
func (c *eventConn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// SetReadDeadline implements net.Conn.
func (c *eventConn) SetReadDeadline(t time.Time) error {
	e := c.extras()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.readUntil = t
	if d := e.detached.Load(); d != nil {
		return d.SetReadDeadline(t)
	}
	return nil
}

// SetWriteDeadline implements net.Conn.
func (c *eventConn) SetWriteDeadline(t time.Time) error {
	e := c.extras()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.writeUntil = t
	if d := e.detached.Load(); d != nil {
		return d.SetWriteDeadline(t)
	}
	return nil
}

// RemoteAddr implements net.Conn.
func (c *eventConn) RemoteAddr() net.Addr {
	e := c.extras()
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.remote == nil {
		e.remote = c.address(syscall.Getpeername)
	}
	return e.remote
}

// LocalAddr implements net.Conn.
func (c *eventConn) LocalAddr() net.Addr {
	e := c.extras()
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.local == nil {
		e.local = c.address(syscall.Getsockname)
	}
	return e.local
}

func (c *eventConn) address(name func(fd int) (syscall.Sockaddr, error)) net.Addr {
	var sa syscall.Sockaddr
	c.net.Use(func(fd int) {
		// there is no address then
		sa, _ = name(fd)
	})
	switch sa := sa.(type) {
	case *syscall.SockaddrInet4:
		return &net.TCPAddr{IP: append(net.IP(nil), sa.Addr[:]...), Port: sa.Port}
	case *syscall.SockaddrInet6:
		addr := &net.TCPAddr{IP: append(net.IP(nil), sa.Addr[:]...), Port: sa.Port}
		if sa.ZoneId != 0 {
			if i, err := net.InterfaceByIndex(int(sa.ZoneId)); err == nil {
				addr.Zone = i.Name
			}
		}
		return addr
	case *syscall.SockaddrUnix:
		return &net.UnixAddr{Name: sa.Name, Net: "unix"}
	}
	if c.isTCP {
		return zeroTCPAddr
	}
	return &net.UnixAddr{Net: "unix"}
}
