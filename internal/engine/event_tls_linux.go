package engine

import (
	"errors"
	"io"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/valyala/fasthttp/internal/bufpool"
	"github.com/valyala/fasthttp/internal/clock"
	"github.com/valyala/fasthttp/internal/neterr"
	"github.com/valyala/fasthttp/internal/netloop"
	"github.com/valyala/fasthttp/internal/tlswire"
)

// This file is TLS on the event engine. The tls.Conn of a connection is what the
// application sees of it. Below it is a wire of tlswire, and below that the eventConn,
// which it reads and writes without a wait while the loop drives the protocol.
// Otherwise it waits there, as for a handshake, which runs on a goroutine, or where a
// body is a stream.

var _ tlswire.Socket = (*eventConn)(nil)

// Await implements tlswire.Socket.
func (c *eventConn) Await() error {
	return neterr.Op(c, "read", c.detach(time.Time{}, time.Time{}).Await())
}

// ReadNow implements tlswire.Socket.
func (c *eventConn) ReadNow(p []byte) (int, error) {
	n, err := c.net.Read(p)
	if err != nil && err != netloop.ErrAgain {
		err = neterr.Op(c, "read", err)
	}
	return n, err
}

// WriteNow implements tlswire.Socket.
func (c *eventConn) WriteNow(p []byte) (int, error) {
	n, err := c.net.Write(p, nil)
	if err != nil && err != netloop.ErrAgain {
		err = neterr.Op(c, "write", err)
	}
	return n, err
}

// SyscallConn implements syscall.Conn, for options of the socket.
func (c *eventConn) SyscallConn() (syscall.RawConn, error) { return rawControl{c}, nil }

// rawControl is a syscall.RawConn with Control alone: a loop waits for the descriptor.
type rawControl struct{ c *eventConn }

func (r rawControl) Control(f func(fd uintptr)) error {
	err := netloop.ErrClosed
	r.c.net.Use(func(fd int) {
		err = nil
		f(uintptr(fd))
	})
	return neterr.Op(r.c, "raw-control", err)
}

func (rawControl) Read(func(fd uintptr) (done bool)) error  { return errors.ErrUnsupported }
func (rawControl) Write(func(fd uintptr) (done bool)) error { return errors.ErrUnsupported }

// beginTLS makes the connection one that speaks TLS, and returns what the application
// sees of it.
func (c *eventConn) beginTLS() net.Conn {
	if !c.isTCP {
		// a log may name it when the client has gone
		_ = c.RemoteAddr()
	}
	over := tlswire.Server(c, nil, c.group.config)
	c.tls = tlswire.ViewOf(over)
	return over
}

// helloSize is for how many bytes of a client's first message its connection waits
// without a goroutine. Most are smaller.
const helloSize = 2 << 10

// awaitHello begins the handshake as soon as there is something for it to do. Until then
// the connection has no goroutine, and the bytes that have come stay in the socket.
func (c *eventConn) awaitHello() (alive bool) {
	if !c.hasHello() {
		return true
	}
	c.beginHandshake()
	return false
}

// hasHello reports whether the first message of the client has come, or something else
// that a handshake does not wait for.
func (c *eventConn) hasHello() bool {
	b := bufpool.Get(helloSize)
	defer bufpool.Put(b)
	n, err := c.net.Peek(b.B[:helloSize])
	switch {
	case err == netloop.ErrAgain:
		return false
	case err != nil || c.net.Gone():
		return true
	}
	return n >= tlswire.FirstMessage(b.B[:n], helloSize)
}

// lacksHello reports whether the connection waits for the first message of a client. The
// caller owns the connection.
func (c *eventConn) lacksHello() bool { return c.phase == eventHello && !c.hasHello() }

// beginHandshake gives the connection to a goroutine, now or later.
func (c *eventConn) beginHandshake() {
	c.change(eventHandshake)
	c.net.SetDeadline(0)
	c.group.handshakes.begin(c)
}

// handshake performs the handshake of a connection that it owns, and leaves it to its
// loop then. It has a place of the handshakes.
func (c *eventConn) handshake() {
	line := c.group.handshakes
	placed, ended := true, false
	leave := func() {
		if placed {
			placed = false
			line.leave()
		}
	}
	defer func() {
		leave()
		if !ended {
			c.drop(recover())
		}
	}()
	until := clock.Began.Add(c.Opened + c.Set.Limits.Handshake)
	d := c.detach(until, until)
	d.Waiting = func(waits bool) {
		if waits {
			line.leave()
		} else {
			line.enter()
		}
	}
	serve, err := c.Set.Host.Handshake(&c.Conn)
	leave()
	d.Attach()
	c.extra.Load().detached.Store(nil)
	// a hook of crypto/tls may have set some
	c.ForgetDeadlines(time.Time{})
	switch {
	case err != nil:
		c.endHandshake(err)
	case serve != nil:
		c.serveElsewhere(serve)
	default:
		c.change(eventServing)
		c.net.SetDeadline(c.waitFor(waitRead, c.Set.Limits.First))
		ended = true
		// the first request is often there: this goroutine has the stack for it
		c.net.ReleaseServed()
	}
	ended = true
}

// endHandshake ends a connection whose handshake has failed. A peer that still sends
// is to learn why.
func (c *eventConn) endHandshake(why error) {
	if neterr.IsTimeout(why) {
		c.finish(false)
	} else if c.beginLinger() {
		c.net.Release()
	}
}

// serveElsewhere closes a connection after somebody else has served it. It has left its
// loop for that.
func (c *eventConn) serveElsewhere(serve func() error) {
	s := c.Set
	nc, err := c.leaveLoop()
	defer func() {
		if err == nil {
			_ = c.closeTransport(nc)
		}
		s.setState(c.NC, StateClosed)
		c.forget()
	}()
	if err != nil {
		s.Host.Logf("fasthttp: cannot hand over a connection: %v", err)
		return
	}
	_ = serve()
}

// claimHandshake is claimIdle for a connection that has an owner. A handshake may take
// a few rounds of a shutdown: there can be a request right behind it.
func (c *eventConn) claimHandshake() (closeIt func()) {
	if !c.Opening() {
		return nil
	}
	if c.looks++; c.looks < maxLooks {
		return nil
	}
	return func() { _ = c.net.Shutdown() }
}

// endLook is the search for the alert of a client that sends no more, while a handler
// runs. What belongs to the next request stays where it is, but for the byte that tells
// that it is no alert.
type endLook struct {
	mu    sync.Mutex // held while somebody looks
	first [1]byte
	found int // how much of first was read
}

// lookForEnd looks whether the client has said that it sends no more.
func (c *eventConn) lookForEnd(e *eventExtra) {
	l := &e.look
	l.mu.Lock()
	defer l.mu.Unlock()
	w := e.watch.Load()
	if w == nil || l.found > 0 {
		return
	}
	c.net.Use(func(int) {
		var next [tlswire.MaxAlert + 1]byte
		// an end of the connection itself is an event of its own
		n, _ := c.net.Peek(next[:])
		n, err := c.tls.LookForEnd(next[:n], l.first[:])
		if l.found = n; err != nil {
			(*w).PeerGone(err == io.EOF)
		}
	})
}

// endLooks waits for a look, and passes on what that has read.
func (c *eventConn) endLooks() {
	l := &c.extras().look
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.found > 0 {
		c.p.Received(copy(c.p.Space(), l.first[:l.found]), 0)
		l.found = 0
	}
	// the rest of that record is in the tls.Conn
	c.drained = c.drained && !c.tls.HasInput()
}

// expireIdle is Expire for an idle connection on which something has come: it may be a
// part of a record, which begins no request.
func (c *eventConn) expireIdle() (alive bool) {
	before := c.Requests
	alive = c.Serve(nil)
	if alive && c.p == nil && c.phase == eventServing && c.Requests == before {
		c.finish(false)
		return false
	}
	return alive
}

// farewellTime is how long a peer may take to make room for the alert that ends a
// connection.
const farewellTime = 5 * time.Second

// beginFarewell sends the alert that ends the connection in order, and closes it, or
// lingers first. A response that ends with the connection is not whole without it.
func (c *eventConn) beginFarewell(linger bool) (alive bool) {
	if c.sayGoodbye() != netloop.ErrAgain {
		return c.close(linger)
	}
	c.change(eventFarewell)
	c.lingers = linger
	c.net.SetDeadline(farewellTime)
	return true
}

// sayGoodbye sends the alert, unless there is no room for a part of a message before it.
func (c *eventConn) sayGoodbye() error {
	if c.tls.Sending() {
		return nil
	}
	return c.tls.Goodbye()
}

// farewell goes on with beginFarewell when there may be room.
func (c *eventConn) farewell() (alive bool) {
	if c.tls.Push() == netloop.ErrAgain {
		return true
	}
	return c.close(c.lingers)
}
