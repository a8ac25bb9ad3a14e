package engine

import (
	"errors"
	"net"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/valyala/fasthttp/internal/lockorder"
	"github.com/valyala/fasthttp/internal/netio"
	"github.com/valyala/fasthttp/internal/netloop"
	"github.com/valyala/fasthttp/internal/rawsys"
	"github.com/valyala/fasthttp/internal/tlswire"
)

// This file makes a connection of the event engine a net.Conn, and lets it wait while a
// protocol works with streams.

// eventExtra is the state that only some connections need.
type eventExtra struct {
	detached atomic.Pointer[netloop.Detached]

	tls       *tlswire.View // set from the start if it is a TLS connection
	lingering lingering     // in eventLingering

	probe alertProbe

	mu            lockorder.Mutex[lockorder.EventExtra]
	watch         Watcher // of the request being handled, or nil
	local, remote net.Addr
	proxied       *Endpoints     // the addresses from a PROXY header, or nil
	appDeadlines  [2]appDeadline // for reading, and for writing

	// hasAppDeadline is set if own has a deadline. Code that sets a deadline stores ruled before it
	// reads waits; code that begins a wait does the reverse. So one of them sees the other.
	hasAppDeadline atomic.Bool
	waitingFor     atomic.Uint32 // the wait while the connection has no owner: a waitKind
}

// appDeadline is a deadline of the application, which replaces the server's.
type appDeadline struct {
	until time.Time
	set   bool
}

// waitKind is the reason why a connection without an owner waits.
type waitKind uint32

const (
	waitNone  waitKind = iota // it has an owner
	waitRead                  // for a request, or for the rest of one
	waitWrite                 // for room
)

// limit sets the deadline of a wait that begins: until, unless the application has set
// another one.
func (c *eventConn) limit(kind waitKind, until time.Time) {
	c.net.SetDeadline(c.waitFor(kind, untilTimeout(until)))
}

// untilTimeout returns the time left until a deadline, which may have passed; 0 means no
// deadline.
func untilTimeout(until time.Time) time.Duration {
	if until.IsZero() {
		return 0
	}
	if left := time.Until(until); left != 0 {
		return left
	}
	return -1
}

// waitFor is called before the connection is left to its loop. It returns how long the
// connection may wait: the timeout, unless the application has set a deadline.
func (c *eventConn) waitFor(kind waitKind, timeout time.Duration) time.Duration {
	if e := c.extra.Load(); e != nil && e.beginWait(kind) {
		if own := e.appDeadlineFor(kind); own.set {
			return untilTimeout(own.until)
		}
	}
	return timeout
}

// beginWait is called before the connection is left to its loop. It reports whether the
// application may have set a deadline.
func (e *eventExtra) beginWait(kind waitKind) (ruled bool) {
	e.waitingFor.Store(uint32(kind))
	return e.hasAppDeadline.Load()
}

func (e *eventExtra) appDeadlineFor(kind waitKind) appDeadline {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.appDeadlines[kind-waitRead]
}

// keepWaiting leaves the connection to its loop after an event that has changed nothing. The wait
// and its deadline continue.
func (c *eventConn) keepWaiting(kind waitKind) {
	if e := c.extra.Load(); e != nil && e.beginWait(kind) {
		if own := e.appDeadlineFor(kind); own.set {
			c.net.SetDeadline(untilTimeout(own.until))
		}
	}
}

// markOwned makes the caller the owner of the connection.
func (c *eventConn) markOwned() {
	if e := c.extra.Load(); e != nil {
		e.waitingFor.Store(uint32(waitNone))
	}
}

// setAppDeadline stores a deadline of the application. The owner applies it when it leaves the
// connection to its loop. Without an owner, it applies at once.
func (c *eventConn) setAppDeadline(kind waitKind, t time.Time) error {
	if c.net.Closed() {
		return netloop.ErrClosed
	}
	e := c.extras()
	d := e.storeAppDeadline(kind, t)
	switch {
	case d != nil && kind == waitRead:
		return d.SetReadDeadline(t)
	case d != nil:
		return d.SetWriteDeadline(t)
	}
	for e.waitingFor.Load() == uint32(kind) {
		if c.net.TryAcquire() {
			c.net.SetDeadline(untilTimeout(t))
			c.net.Release()
			break
		}
		// the owner is about to release it, or has just acquired it
		runtime.Gosched()
	}
	return nil
}

// storeAppDeadline stores a deadline of the application. It returns the connection in blocking mode, or
// nil if it is not in blocking mode.
func (e *eventExtra) storeAppDeadline(kind waitKind, t time.Time) *netloop.Detached {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.appDeadlines[kind-waitRead] = appDeadline{t, true}
	e.hasAppDeadline.Store(true)
	return e.detached.Load()
}

// LimitReads implements Link.
func (c *eventConn) LimitReads(until time.Time) {
	c.replaceAppDeadline(waitRead, until)
}

// replaceAppDeadline replaces a deadline of the application by one of the server. It does nothing
// if the application has set none and nothing waits in Read or Write.
func (c *eventConn) replaceAppDeadline(kind waitKind, until time.Time) {
	e := c.extra.Load()
	if e == nil || !e.hasAppDeadline.Load() && e.detached.Load() == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.appDeadlines[kind-waitRead] = appDeadline{}
	e.hasAppDeadline.Store(e.appDeadlines[0].set || e.appDeadlines[1].set)
	switch d := e.detached.Load(); {
	case d == nil:
	case kind == waitRead:
		_ = d.SetReadDeadline(until)
	default:
		_ = d.SetWriteDeadline(until)
	}
}

// LimitWrites implements Link.
func (c *eventConn) LimitWrites(until time.Time) {
	c.replaceAppDeadline(waitWrite, until)
}

// ForgetDeadlines implements Link.
func (c *eventConn) ForgetDeadlines(time.Time) {
	e := c.extra.Load()
	if e == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if d := e.detached.Load(); d != nil {
		if e.appDeadlines[0].set {
			_ = d.SetReadDeadline(time.Time{})
		}
		if e.appDeadlines[1].set {
			_ = d.SetWriteDeadline(time.Time{})
		}
	}
	e.appDeadlines = [2]appDeadline{}
	e.hasAppDeadline.Store(false)
}

// Blocking implements Link.
func (c *eventConn) Blocking(readUntil, writeUntil time.Time) net.Conn {
	c.detach(readUntil, writeUntil)
	if c.overTLS {
		return c.tls()
	}
	return c
}

func (e *eventExtra) setWatch(w Watcher) {
	e.mu.Lock()
	e.watch = w
	e.mu.Unlock()
}

func (e *eventExtra) watching() Watcher {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.watch
}

// Watch implements Link.
func (c *eventConn) Watch(w Watcher, mayRead bool) {
	c.extras().setWatch(w)
	if c.net.Watch() {
		w.PeerGone(!c.net.WasReset())
	} else if c.overTLS && mayRead {
		c.net.WatchInput()
		c.PeerSent()
	}
}

// Unwatch implements Link.
func (c *eventConn) Unwatch() (unlimited bool) {
	c.net.Unwatch()
	c.extras().setWatch(nil)
	if c.overTLS {
		c.finishProbe()
	}
	return false
}

// Interrupt implements Link.
func (c *eventConn) Interrupt() {
	if d := c.detached(); d != nil {
		_ = d.SetReadDeadline(PastDeadline)
	}
}

// SendsFiles implements Link.
func (c *eventConn) SendsFiles() bool { return !c.overTLS }

// PeerGone implements netloop.Handler.
func (c *eventConn) PeerGone() {
	if e := c.extra.Load(); e != nil {
		if w := e.watching(); w != nil {
			w.PeerGone(!c.net.WasReset())
		}
	}
}

// PeerSent implements netloop.Handler.
func (c *eventConn) PeerSent() {
	if e := c.extra.Load(); e != nil {
		c.probeForAlert(e)
	}
}

func (c *eventConn) extras() *eventExtra {
	if e := c.extra.Load(); e != nil {
		return e
	}
	c.extra.CompareAndSwap(nil, new(eventExtra))
	return c.extra.Load()
}

// detached returns the connection in blocking mode, or nil if it is not in blocking mode.
func (c *eventConn) detached() *netloop.Detached {
	e := c.extra.Load()
	if e == nil {
		return nil
	}
	return e.detached.Load()
}

// detach puts the connection into blocking mode, in which Read and Write wait, until the
// current request is answered. It has these deadlines, unless the application has set
// others.
func (c *eventConn) detach(readUntil, writeUntil time.Time) *netloop.Detached {
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
	if own := e.appDeadlines[0]; own.set {
		readUntil = own.until
	}
	if !readUntil.IsZero() {
		_ = d.SetReadDeadline(readUntil)
	}
	if own := e.appDeadlines[1]; own.set {
		writeUntil = own.until
	}
	if !writeUntil.IsZero() {
		_ = d.SetWriteDeadline(writeUntil)
	}
	e.detached.Store(d)
	return d
}

// Read implements net.Conn.
func (c *eventConn) Read(p []byte) (int, error) {
	n, err := c.detach(time.Time{}, time.Time{}).Read(p)
	if err != nil {
		err = netio.Op(c, "read", err)
	}
	return n, err
}

// Write implements net.Conn.
func (c *eventConn) Write(p []byte) (int, error) {
	n, err := c.detach(time.Time{}, time.Time{}).Write(p)
	if err != nil {
		err = netio.Op(c, "write", err)
	}
	return n, err
}

// Close implements net.Conn: it ends the connection in both directions. The owner closes
// the descriptor.
func (c *eventConn) Close() error { return netio.Op(c, "close", c.net.Shutdown()) }

// SetDeadline implements net.Conn.
func (c *eventConn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// SetReadDeadline implements net.Conn.
func (c *eventConn) SetReadDeadline(t time.Time) error {
	return netio.Op(c, "set", c.setAppDeadline(waitRead, t))
}

// SetWriteDeadline implements net.Conn.
func (c *eventConn) SetWriteDeadline(t time.Time) error {
	return netio.Op(c, "set", c.setAppDeadline(waitWrite, t))
}

// RemoteAddr implements net.Conn.
func (c *eventConn) RemoteAddr() net.Addr {
	e := c.extras()
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.remote == nil {
		if c.peer.Known() {
			e.remote = c.peer.TCP()
		} else {
			e.remote = c.address(unix.Getpeername)
		}
	}
	return e.remote
}

// LocalAddr implements net.Conn.
func (c *eventConn) LocalAddr() net.Addr {
	e := c.extras()
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.local == nil {
		e.local = c.address(unix.Getsockname)
	}
	return e.local
}

func (c *eventConn) address(name func(fd int) (unix.Sockaddr, error)) net.Addr {
	var sa unix.Sockaddr
	c.net.Use(func(fd int) {
		// there is no address then
		sa, _ = name(fd)
	})
	if a := rawsys.AddressIn(sa); a.Known() {
		return a.TCP()
	}
	if sa, ok := sa.(*unix.SockaddrUnix); ok {
		return &net.UnixAddr{Name: sa.Name, Net: "unix"}
	}
	if c.isTCP {
		return NoAddr
	}
	return &net.UnixAddr{Net: "unix"}
}

// This file is the part of the event engine for Conn.Concurrent protocols.

// Wake implements Link. If the connection has an owner, the owner serves it once more.
func (c *eventConn) Wake() {
	if !c.net.Acquire() {
		return
	}
	if c.p == nil || c.phase > eventYielded {
		c.net.Release()
		return
	}
	c.markOwned()
	if c.driveProtected(nil, false) {
		c.net.ReleaseServed()
	}
}

// Push implements Link. If the connection has an owner, the owner serves it once more.
func (c *eventConn) Push() (over bool) {
	if !c.net.Acquire() {
		return true
	}
	over = c.push()
	// another goroutine serves the events that arrived meanwhile
	c.net.Release()
	return over
}

// push is Push for the owner.
func (c *eventConn) push() (over bool) {
	if c.p == nil || c.phase != eventServing {
		// the loop continues when there is room, or the connection ends
		return true
	}
	if c.detached() != nil {
		return false
	}
	for range ioBudget {
		if head, _, _ := c.p.Output(); len(head) == 0 {
			return true
		}
		switch c.flush() {
		case nil:
		case netloop.ErrAgain:
			c.awaitWritable()
			return true
		default:
			return false
		}
	}
	return false
}

// work makes a protocol serve its requests, after the connection has lost its owner. It
// then returns false.
func (c *eventConn) work() (owned bool) {
	w, ok := c.p.(Worker)
	if !ok || c.net.Pending() || !w.HasWork() {
		return true
	}
	c.net.Release()
	w.Work()
	return false
}
