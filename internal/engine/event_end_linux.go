package engine

import (
	"syscall"
	"time"

	"github.com/valyala/fasthttp/internal/bufpool"
	"github.com/valyala/fasthttp/internal/clock"
	"github.com/valyala/fasthttp/internal/netloop"
)

// end closes the connection.
func (c *eventConn) end(cache *protocolCache, linger bool) bool {
	c.endsBecause(c.returnProtocol(cache))
	switch {
	case c.IsAborted():
		c.finish(true)
		return false
	case c.overTLS:
		return c.beginCloseNotify(linger)
	}
	return c.close(linger)
}

// close closes the connection, or lingers first.
func (c *eventConn) close(linger bool) (alive bool) {
	if linger {
		return c.beginLinger()
	}
	c.finish(false)
	return false
}

// closeDetached ends a connection whose protocol was left to a late handler that may still be
// reading from it.
func (c *eventConn) closeDetached() bool {
	p := c.p
	c.p = nil
	_, _ = c.Set.Host.ReleaseProtocol(p, false)
	if c.IsAborted() {
		c.finish(true)
		return false
	}
	_ = c.detach(time.Time{}, time.Time{}).SetReadDeadline(PastDeadline)
	if c.overTLS {
		return c.beginCloseNotify(true)
	}
	return c.beginLinger()
}

// beginLinger ends the sending side of the connection. Bytes that the peer still sends are
// discarded as they arrive: closing right away would make the system reset the connection,
// and the peer could lose the response (RFC 9112 section 9.6).
func (c *eventConn) beginLinger() bool {
	var err error = syscall.ENOTCONN
	c.net.Use(func(fd int) { err = syscall.Shutdown(fd, syscall.SHUT_WR) })
	if err != nil {
		c.finish(false)
		return false
	}
	c.change(eventLingering)
	c.extras().lingering = beginLingering(c.lingerSize())
	c.net.SetDeadline(LingerTime)
	return c.linger()
}

// linger discards the bytes that have arrived. It returns false if the connection was
// closed.
func (c *eventConn) linger() bool {
	l := &c.extras().lingering
	if l.remaining <= 0 {
		return true
	}
	rest := bufpool.Get(lingerRead)
	defer bufpool.Put(rest)
	before := l.size
	for range ioBudget {
		n, err := c.net.Read(rest.B[:cap(rest.B)])
		if err == netloop.ErrAgain {
			return l.size == before || c.awaitLinger(l)
		}
		if err != nil {
			c.finish(false)
			return false
		}
		if l.discarded(n); l.remaining <= 0 {
			// a peer that reads can still receive the response: it cannot send for long,
			// since nothing reads its bytes
			c.net.SetDeadline(LingerTime)
			return true
		}
	}
	if !c.awaitLinger(l) {
		return false
	}
	c.net.ServeAgain()
	return true
}

// awaitLinger waits for more bytes, or closes the connection.
func (c *eventConn) awaitLinger(l *lingering) bool {
	wait := l.wait(clock.Monotonic())
	if wait == 0 {
		c.finish(false)
		return false
	}
	c.net.SetDeadline(wait)
	return true
}

// finish closes the descriptor and removes the connection from the Set, once: a hook can
// end the goroutine in between, and the cleanup after that calls finish again.
func (c *eventConn) finish(reset bool) {
	if c.phase == eventEnded {
		return
	}
	c.change(eventEnded)
	defer c.unregister()
	c.markOwned()
	c.recordAddresses()
	if c.overTLS && !reset {
		c.writeCloseNotify()
	}
	if d := c.detached(); d != nil {
		// a goroutine of the application may wait in Read or Write
		d.Abandon(reset)
	} else {
		c.net.Close(reset)
	}
	c.setState(StateClosed)
}

// recordAddresses is called before the descriptor is closed or handed over: a hook may ask
// for them afterwards.
func (c *eventConn) recordAddresses() {
	if c.Set.TracksState {
		_, _ = c.LocalAddr(), c.RemoteAddr()
	}
}

// unregister removes the connection from the Set.
func (c *eventConn) unregister() {
	s, g := c.Set, c.group()
	s.unregister(&c.Conn)
	g.release()
	if c.HasEscaped() || c.overTLS {
		// hooks of crypto/tls have seen it, too
		return
	}
	c.NC, c.Set, c.p = nil, nil, nil
	c.extra.Store(nil)
	c.phase, c.drained, c.stepsFirst = eventServing, false, false
	eventConns.Put(c)
}
