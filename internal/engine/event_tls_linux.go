package engine

import (
	"errors"
	"io"
	"net"
	"syscall"
	"time"

	"github.com/valyala/fasthttp/internal/bufpool"
	"github.com/valyala/fasthttp/internal/clock"
	"github.com/valyala/fasthttp/internal/lockorder"
	"github.com/valyala/fasthttp/internal/netio"
	"github.com/valyala/fasthttp/internal/netloop"
	"github.com/valyala/fasthttp/internal/tlswire"
)

// This file is TLS on the event engine. The application sees the tls.Conn of a connection.
// Below the tls.Conn is a wire of tlswire, and below that the eventConn. The wire reads and
// writes the eventConn without waiting while the loop drives the protocol. Otherwise it
// waits there: during a handshake, which runs on a goroutine, or if a body is a stream.

var _ tlswire.Socket = (*eventConn)(nil)

// Await implements tlswire.Socket.
func (c *eventConn) Await() error {
	return netio.Op(c, "read", c.detach(time.Time{}, time.Time{}).Await())
}

// ReadNow implements tlswire.Socket.
func (c *eventConn) ReadNow(p []byte) (int, error) {
	n, err := c.net.Read(p)
	if err != nil && err != netloop.ErrAgain {
		err = netio.Op(c, "read", err)
	}
	return n, err
}

// WriteNow implements tlswire.Socket.
func (c *eventConn) WriteNow(p []byte) (int, error) {
	n, err := c.net.Write(p, nil)
	if err != nil && err != netloop.ErrAgain {
		err = netio.Op(c, "write", err)
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
	return netio.Op(r.c, "raw-control", err)
}

func (rawControl) Read(func(fd uintptr) (done bool)) error  { return errors.ErrUnsupported }
func (rawControl) Write(func(fd uintptr) (done bool)) error { return errors.ErrUnsupported }

// beginTLS makes the connection use TLS, and returns the connection that the application
// sees.
func (c *eventConn) beginTLS(layer tlswire.Layer) net.Conn {
	if !c.isTCP {
		// a log may name it when the client has gone
		_ = c.RemoteAddr()
	}
	over := layer(c, nil)
	c.overTLS = true
	c.extras().tls, _ = tlswire.ViewOf(over)
	return over
}

// helloSize is the largest part of a client's first message with which its connection waits
// for the rest without a goroutine. Most of these messages are smaller.
const helloSize = 2 << 10

// awaitHello begins the handshake as soon as there is something for it to do. Until then
// the connection has no goroutine, and the bytes that have arrived stay in the socket.
func (c *eventConn) awaitHello() (alive bool) {
	if !c.hasHello() {
		return true
	}
	c.beginHandshake()
	return false
}

// hasHello reports whether the first message of the client has arrived, or something else
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

// awaitingClientHello reports whether the connection waits for the first message of a client. The
// caller owns the connection.
func (c *eventConn) awaitingClientHello() bool { return c.phase == eventHello && !c.hasHello() }

// beginHandshake gives the connection to a goroutine, at once or when there is a place.
func (c *eventConn) beginHandshake() {
	c.change(eventHandshake)
	c.net.SetDeadline(0)
	c.group().handshakes.begin(c)
}

// handshake performs the handshake of a connection that it owns, and then leaves it to its
// loop. It holds a place of the handshakes.
func (c *eventConn) handshake() {
	line := c.group().handshakes
	placed, ended := true, false
	leave := func() {
		if placed {
			placed = false
			line.release()
		}
	}
	defer func() {
		leave()
		if !ended {
			c.abortProtocol(recover())
		}
	}()
	until := clock.Began.Add(c.Opened + c.Set.Limits.Handshake)
	d := c.detach(until, until)
	d.Waiting = func(waits bool) {
		if waits {
			line.release()
		} else {
			line.acquire()
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
		c.failHandshake(err)
	case serve != nil:
		c.serveExternally(serve)
	default:
		c.change(eventServing)
		c.net.SetDeadline(c.waitFor(waitRead, c.Set.Limits.First))
		ended = true
		// the first request has often arrived: this goroutine has the stack for it
		c.net.ReleaseServed()
	}
	ended = true
}

// failHandshake ends a connection whose handshake has failed. A peer that still sends must
// receive the reason.
func (c *eventConn) failHandshake(why error) {
	c.endsBecause(why)
	if netio.IsTimeout(why) {
		c.finish(false)
	} else if c.beginLinger() {
		c.net.Release()
	}
}

// serveExternally calls serve, which serves the connection instead of the engine, and closes
// the connection afterwards. The connection has left its loop for that.
func (c *eventConn) serveExternally(serve func() error) {
	s := c.Set
	nc, err := c.removeFromLoop()
	defer func() {
		if err == nil {
			_ = c.closeTransport(nc)
		}
		c.setState(StateClosed)
		c.unregister()
	}()
	if err != nil {
		s.Host.Logf("fasthttp: cannot hand over a connection: %v", err)
		return
	}
	_ = serve()
}

// claimHandshake is claimIdle for a connection that has an owner. A handshake may take a
// few rounds of a shutdown: a request may follow it at once.
func (c *eventConn) claimHandshake() (closeIt func()) {
	if !c.Opening() {
		return nil
	}
	if c.shutdownProbes++; c.shutdownProbes < maxShutdownProbes {
		return nil
	}
	return func() { _ = c.net.Shutdown() }
}

// alertProbe looks for the alert of a client that ends its sending side while a handler runs.
// Bytes of the next request stay in the socket, except the byte that shows that it is no
// alert.
type alertProbe struct {
	mu    lockorder.Mutex[lockorder.AlertProbe] // held during a look
	first [1]byte
	found int // how many bytes of first were read
}

// probeForAlert looks for the alert with which the client ends its sending side.
func (c *eventConn) probeForAlert(e *eventExtra) {
	l := &e.probe
	l.mu.Lock()
	defer l.mu.Unlock()
	w := e.watching()
	if w == nil || l.found > 0 {
		return
	}
	c.net.Use(func(int) {
		var next [tlswire.MaxAlert + 1]byte
		// an end of the connection itself is an event of its own
		n, _ := c.net.Peek(next[:])
		n, err := c.tls().ProbeCloseNotify(next[:n], l.first[:])
		if l.found = n; err != nil {
			w.PeerGone(err == io.EOF)
		}
	})
}

// finishProbe waits for a running look, and passes on the bytes that it has read.
func (c *eventConn) finishProbe() {
	l := &c.extras().probe
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.found > 0 {
		c.p.Received(copy(c.p.ReadBuffer(), l.first[:l.found]), Arrival{})
		l.found = 0
	}
	// the rest of that record is in the tls.Conn
	c.drained = c.drained && !c.tls().HasInput()
}

// expireIdle is Expire for an idle connection on which something has arrived: it may be a
// part of a record, which begins no request.
func (c *eventConn) expireIdle() (alive bool) {
	before := c.Requests
	alive = c.Serve(nil)
	if alive && c.p == nil && c.phase == eventServing && c.Requests == before {
		c.SetEnd(EndTimeout)
		c.finish(false)
		return false
	}
	return alive
}

// closeNotifyTimeout is how long a peer may take to make room for the alert that ends a
// connection.
const closeNotifyTimeout = 5 * time.Second

// beginCloseNotify sends the closing alert of TLS, and closes the connection, or lingers
// first. A response that ends with the connection is incomplete without the alert.
func (c *eventConn) beginCloseNotify(linger bool) (alive bool) {
	if c.writeCloseNotify() != netloop.ErrAgain {
		return c.close(linger)
	}
	c.change(eventCloseNotify)
	c.lingersAfterAlert = linger
	c.net.SetDeadline(closeNotifyTimeout)
	return true
}

// writeCloseNotify sends the alert, unless there is no room for a part of a message before it.
func (c *eventConn) writeCloseNotify() error {
	if c.tls().Sending() {
		return nil
	}
	return c.tls().Goodbye()
}

// sendCloseNotify continues beginCloseNotify when there may be room.
func (c *eventConn) sendCloseNotify() (alive bool) {
	if c.tls().Push() == netloop.ErrAgain {
		return true
	}
	return c.close(c.lingersAfterAlert)
}
