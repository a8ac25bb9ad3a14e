//go:build linux

package netloop

import (
	"io"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/valyala/fasthttp/internal/rawsys"
)

// inputEvents are the events for which every connection is registered, all the time and
// edge-triggered. A connection that had no room for output is registered for allEvents from
// then on. It is not from the start: as there is room at first, each connection would cause
// a useless event.
const (
	inputEvents = syscall.EPOLLIN | syscall.EPOLLPRI | syscall.EPOLLRDHUP | epollET
	allEvents   = inputEvents | syscall.EPOLLOUT
)

// epollET is syscall.EPOLLET, which is negative while the field Events is unsigned.
const epollET = 1 << 31

// Handler serves a connection. Only the owner of the connection, which is one goroutine,
// calls Serve and Expire. They may block.
type Handler interface {
	// Serve is called when the connection has become readable or writable, or has ended. It
	// must read until ErrAgain: it is not called again for bytes that it has left unread.
	// It returns false if it has closed the connection or handed it over; the caller then
	// no longer uses the connection. p is nil if the calling goroutine is no poller.
	Serve(p *Poller) bool
	// Expire is called when the deadline has passed while the connection had no owner. Its
	// result means the same as for Serve.
	Expire() bool
	// PeerGone is called when the peer has ended its side of a connection for which Watch
	// was called, even while the connection has an owner. It must return at once.
	PeerGone()
	// PeerSent is called when bytes have arrived on a connection for which WatchInput was
	// called, even while the connection has an owner. It must return at once.
	PeerSent()
}

// Conn is a connection on a loop, without any buffer.
//
// A Conn can be reused for another descriptor, on another loop, while other goroutines still
// hold a pointer to it. That is safe for each of them:
//
//   - The owner may do everything. There is at most one: see the states.
//   - The table of descriptors holds the Conn until Close or Remove. A poller may look it up
//     and continue only after it was closed or reused. So an event carries the generation
//     for which it is. An event that still passes this check acquires the connection, and is
//     a false alarm.
//   - The wheel holds the Conn while planned is not 0, and acquires it under its own lock.
//     Close removes it from the wheel.
//   - All other goroutines call Use. Close and Init wait until they are done.
//
// So Init may be called once Close or Remove has returned.
type Conn struct {
	handler  Handler
	loop     *Loop
	detached atomic.Pointer[signals]

	// next and prevNext, the pointer that points to this Conn, are its place in the list of
	// a slot of the wheel. The mu of the wheel guards them
	next      *Conn
	prevNext  **Conn
	deadline  atomic.Uint64 // tick at which Expire is due; 0 for none
	wheelTick atomic.Uint64 // tick at which the wheel checks the Conn; 0 for never

	fd         int32
	generation atomic.Uint32
	state      atomic.Uint32
	flags      atomic.Uint32
}

// generations is the last generation in use. Each use of a descriptor has its own.
var generations atomic.Uint32

// The states of a connection: whether it has an owner.
const (
	stateIdle    uint32 = iota // it has no owner
	stateBusy                  // it has an owner
	statePending               // it has an owner, which must serve it once more
	stateClosed
)

const (
	flagOutput       uint32 = 1 << iota // bytes wait to be written
	flagGone                            // the peer has ended its side, or both sides
	flagClosed                          // the descriptor is closed, or Close is about to close it
	flagWatched                         // PeerGone is to be called
	flagUrgent                          // urgent data has arrived, which splits reads
	flagWatchedInput                    // PeerSent is to be called
	flagYielded                         // Serve is to be called again although nothing waits to be written
	// flagUser and the bits above it count the running calls of Use
	flagUser uint32 = 1 << 8
)

// Init makes c the connection with the nonblocking descriptor fd. c may have been another
// connection before. It cannot be acquired until it is on a loop.
func (c *Conn) Init(fd int, h Handler) {
	c.state.Store(stateClosed)
	c.fd, c.handler = int32(fd), h
	c.generation.Store(generations.Add(1))
	c.deadline.Store(0)
	// a call of Use may be about to find out that the connection is closed
	for old := c.flags.Load(); old >= flagUser || !c.flags.CompareAndSwap(old, 0); old = c.flags.Load() {
		runtime.Gosched()
	}
}

// Group returns the Group to which the connection was added.
func (c *Conn) Group() *Group { return c.loop.group }

// FD returns the descriptor.
func (c *Conn) FD() int { return int(c.fd) }

// ErrAgain means that nothing can be read or written at the moment.
var ErrAgain error = syscall.EAGAIN

// Read reads the bytes that have arrived. It returns ErrAgain if there are none,
// and io.EOF at the end of the stream.
func (c *Conn) Read(p []byte) (n int, err error) {
	for err == nil {
		k, errno := rawsys.Recv(int(c.fd), p)
		if k > 0 {
			return k, nil
		}
		err = readFailed(errno)
	}
	return 0, err
}

// Peek is like Read, but leaves the bytes in the socket: they can be read again.
func (c *Conn) Peek(p []byte) (n int, err error) {
	for err == nil {
		k, errno := rawsys.Peek(int(c.fd), p)
		if k > 0 {
			return k, nil
		}
		err = readFailed(errno)
	}
	return 0, err
}

// readFailed returns the error of Read after a call of the system that has read nothing, or nil
// if it must try again.
func readFailed(errno syscall.Errno) error {
	switch errno {
	case 0:
		return io.EOF
	case syscall.EAGAIN:
		return ErrAgain
	case syscall.EINTR:
		return nil
	}
	return os.NewSyscallError("read", errno)
}

// MayHaveMore reports whether there may be more to read although a Read has filled only a part
// of its buffer: a Read ends before urgent data even if there are bytes after it, and only
// another Read sees the end of the stream.
func (c *Conn) MayHaveMore() bool { return c.has(flagUrgent | flagGone) }

// writeAtOnce limits the bytes of one write call: copying takes time, and the garbage
// collector may be waiting for the call to end.
const writeAtOnce = 256 << 10

// Write writes as much of head, and then of body, as there is room for. If more is left,
// it returns ErrAgain, and the loop calls Serve when there is room again.
func (c *Conn) Write(head, body []byte) (n int, err error) {
	for n < len(head)+len(body) {
		var k int
		var errno syscall.Errno
		switch {
		case n >= len(head):
			k, errno = rawsys.Send(int(c.fd), clip(body[n-len(head):]))
		case len(body) == 0:
			k, errno = rawsys.Send(int(c.fd), clip(head[n:]))
		default:
			// with one system call one packet can hold both
			k, errno = rawsys.SendBoth(int(c.fd), head[n:], clip(body))
		}
		if k > 0 {
			n += k
		} else if err = c.writeFailed(errno); err != nil {
			return n, err
		}
	}
	c.unset(flagOutput)
	return n, nil
}

func clip(p []byte) []byte { return p[:min(len(p), writeAtOnce)] }

// writeFailed returns the error of Write after an error of the system, or nil if it must
// try again.
func (c *Conn) writeFailed(errno syscall.Errno) error {
	switch errno {
	case syscall.EINTR:
		return nil
	case syscall.EAGAIN:
		c.awaitRoom()
		return ErrAgain
	}
	return os.NewSyscallError("write", errno)
}

func (c *Conn) has(f uint32) bool { return c.flags.Load()&f != 0 }

func (c *Conn) set(f uint32) { c.flags.Or(f) }

func (c *Conn) unset(f uint32) {
	if c.has(f) {
		c.flags.And(^f)
	}
}

// Gone reports whether the peer has ended its side of the connection.
func (c *Conn) Gone() bool { return c.has(flagGone) }

// Closed reports whether the owner has closed the connection or handed it over.
func (c *Conn) Closed() bool { return c.has(flagClosed) }

// Watch makes the loop call PeerGone of the Handler when the peer ends its side of
// the connection. It reports whether the peer has done so already.
func (c *Conn) Watch() (gone bool) {
	c.set(flagWatched)
	return c.Gone() && c.hungUp()
}

// hungUp asks the system whether the peer has ended its side. flagGone is not
// enough: the event may have been for an earlier connection with this descriptor.
func (c *Conn) hungUp() (gone bool) { return c.hangupEvents() != 0 }

// WasReset reports whether the peer has reset the connection, so that nothing reaches
// it any more. A peer that has only ended its own side may still read.
func (c *Conn) WasReset() bool { return c.hangupEvents()&(unix.POLLHUP|unix.POLLERR) != 0 }

// hangupEvents asks the system which sides of the connection have ended.
func (c *Conn) hangupEvents() (events int16) {
	c.Use(func(fd int) {
		poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}}
		if n, err := unix.Poll(poll, 0); n > 0 && err == nil {
			events = poll[0].Revents
		}
	})
	return events
}

// Use calls f with the descriptor, unless the descriptor is closed. It is not closed before
// f returns. Any goroutine may call Use; f must not block.
func (c *Conn) Use(f func(fd int)) {
	defer c.flags.Add(^(flagUser - 1))
	if c.flags.Add(flagUser)&flagClosed == 0 {
		f(int(c.fd))
	}
}

// WatchInput makes the loop call PeerSent of the Handler when bytes arrive. Bytes that have
// already arrived cause no call.
func (c *Conn) WatchInput() { c.set(flagWatchedInput) }

// Unwatch undoes Watch and WatchInput.
func (c *Conn) Unwatch() { c.unset(flagWatched | flagWatchedInput) }

// ready handles events of the connection: it sets flags, wakes the goroutines that
// wait for a detached connection, and serves the connection if it has no owner.
func (c *Conn) ready(p *Poller, events uint32) {
	if events&syscall.EPOLLPRI != 0 {
		c.set(flagUrgent)
	}
	if events&(syscall.EPOLLRDHUP|syscall.EPOLLHUP|syscall.EPOLLERR) != 0 {
		c.set(flagGone)
		if c.has(flagWatched) && c.hungUp() {
			c.handler.PeerGone()
		}
	} else if events&syscall.EPOLLIN == 0 && !c.has(flagOutput|flagYielded) && c.detached.Load() == nil {
		return
	}
	if c.has(flagYielded) {
		// Serve is called now, or the owner calls it
		c.unset(flagYielded)
	}
	if s := c.detached.Load(); s != nil {
		s.notify(events)
	}
	if events&syscall.EPOLLIN != 0 && c.has(flagWatchedInput) {
		// only now: it may need a lock that the woken goroutines hold
		c.handler.PeerSent()
	}
	if c.Acquire() {
		c.run(p)
	}
}

// Acquire makes the caller the owner and returns true. If there is an owner, Acquire makes
// the owner serve the connection once more, and returns false. An owner must call Close,
// Remove or Release.
func (c *Conn) Acquire() bool {
	for {
		switch c.state.Load() {
		case stateIdle:
			if c.state.CompareAndSwap(stateIdle, stateBusy) {
				return true
			}
		case stateBusy:
			if c.state.CompareAndSwap(stateBusy, statePending) {
				return false
			}
		default:
			return false
		}
	}
}

// run serves the connection, which the caller owns, until no event is pending.
func (c *Conn) run(p *Poller) {
	for c.handler.Serve(p) {
		if c.release() {
			return
		}
		// a peer that sends without a break causes events all the time
		runtime.Gosched()
	}
}

// release gives up the ownership and returns true, unless an event is pending.
func (c *Conn) release() bool {
	if c.state.CompareAndSwap(stateBusy, stateIdle) {
		return true
	}
	c.state.Store(stateBusy)
	return false
}

// TryAcquire is Acquire that leaves an existing owner alone.
func (c *Conn) TryAcquire() bool {
	return c.state.CompareAndSwap(stateIdle, stateBusy)
}

// Close closes the connection, which the caller owns. If reset is set, the peer
// gets a TCP reset.
func (c *Conn) Close(reset bool) {
	c.unregister()
	if reset {
		resetOnClose(int(c.fd))
	}
	// an ordinary system call that lasts for long, as this one does, counts as
	// blocked for the scheduler, which then starts another thread
	_ = rawsys.CloseSocket(int(c.fd))
}

// unregister removes the connection from the table and the wheel, and waits for the
// running calls of Use.
func (c *Conn) unregister() {
	c.state.Store(stateClosed)
	conns.put(int(c.fd), nil)
	c.waitForUsers()
	c.deadline.Store(0)
	if c.wheelTick.Load() != 0 {
		c.loop.wheel.remove(c)
	}
}

func resetOnClose(fd int) {
	_ = syscall.SetsockoptLinger(fd, syscall.SOL_SOCKET, syscall.SO_LINGER, &syscall.Linger{Onoff: 1})
}

// waitForUsers makes further calls of Use do nothing, and waits for the running ones.
func (c *Conn) waitForUsers() {
	c.set(flagClosed)
	for c.flags.Load() >= flagUser {
		runtime.Gosched()
	}
}

// Shutdown ends the connection for both sides. Any goroutine may call it. The owner
// notices when it reads or writes, and closes the descriptor.
func (c *Conn) Shutdown() error {
	err := ErrClosed
	c.Use(func(fd int) { err = os.NewSyscallError("shutdown", syscall.Shutdown(fd, syscall.SHUT_RDWR)) })
	return err
}

// Remove removes the connection, which the caller owns, from its loop. The caller must
// close the descriptor.
func (c *Conn) Remove() (fd int) {
	c.unregister()
	_ = rawsys.Control(c.loop.set.fd, syscall.EPOLL_CTL_DEL, int(c.fd), &syscall.EpollEvent{})
	return int(c.fd)
}

// Release gives up the ownership. The caller must not use the connection
// afterwards: it may be closed at any time.
func (c *Conn) Release() {
	if !c.release() {
		go c.run(&Poller{})
	}
}

// ReleaseServed is Release for an owner that itself serves events that arrived meanwhile.
func (c *Conn) ReleaseServed() {
	if !c.release() {
		c.run(nil)
	}
}

// Pending reports whether the owner must serve the connection once more.
func (c *Conn) Pending() bool { return c.state.Load() == statePending }

// ServeAgain makes the loop call Serve once more when there is room for output, after the
// other connections that are ready. An owner calls it if it stops before it has read or written
// everything so that others are served. Writes of another owner do not replace that call.
func (c *Conn) ServeAgain() {
	c.set(flagYielded)
	c.registerOutput()
}

// awaitRoom makes the loop call Serve once more when there is room for the output that waits,
// after a write that found none. While output waits, the system then sends that event without
// another call of registerOutput, which would also repeat the event of input that is still
// unread, at once and without end.
func (c *Conn) awaitRoom() {
	if !c.has(flagOutput) {
		c.set(flagOutput)
		c.registerOutput()
	}
}

// registerOutput makes the system send an event when there is room for output, or
// at once if there is.
func (c *Conn) registerOutput() {
	_ = c.control(syscall.EPOLL_CTL_MOD, allEvents)
}

// control changes the events for which the connection is registered.
func (c *Conn) control(op int, events uint32) syscall.Errno {
	ev := syscall.EpollEvent{Events: events, Fd: c.fd, Pad: int32(c.generation.Load())}
	return rawsys.Control(c.loop.set.fd, op, int(c.fd), &ev)
}

// find returns the connection that an event is for, or nil if it is closed.
func find(ev syscall.EpollEvent) *Conn {
	if slot := conns.slot(int(ev.Fd)); slot != nil {
		if c := slot.Load(); c != nil && c.generation.Load() == uint32(ev.Pad) {
			return c
		}
	}
	return nil
}

// tick is the resolution of deadlines. Ticks are counted from the start of the
// process in 64 bits, which do not wrap.
const tick = 10 * time.Millisecond

// tickOf returns the current tick. It is never 0, which means none.
func tickOf(now time.Duration) uint64 { return uint64(now/tick) + 1 }

// SetDeadline makes the loop call Expire after d, with the resolution of a tick. If the
// connection has an owner then, the loop tries again a little later. A d of 0 means no
// deadline. A negative d is a deadline that passed -d ago: setting it again does not delay
// Expire. Only the owner may call SetDeadline.
func (c *Conn) SetDeadline(d time.Duration) {
	if d == 0 {
		if c.deadline.Load() != 0 {
			c.deadline.Store(0)
		}
		return
	}
	now := c.loop.now()
	at := tickOf(max(now+d, 0)) // has passed, if d is negative
	if d > 0 {
		// the first tick at least d after now
		at = tickOf(now) + uint64((min(d, 1<<62)+tick-1)/tick) + 1
	}
	c.deadline.Store(at)
	if planned := c.wheelTick.Load(); planned == 0 || at < planned {
		c.loop.wheel.schedule(c)
	}
}

// conns maps descriptors to connections. Descriptors are small numbers that the
// system reuses, so a table of pages is enough.
var conns table

const (
	pageBits = 10
	pageSize = 1 << pageBits
)

type page [pageSize]atomic.Pointer[Conn]

// table grows with the highest descriptor that it has seen. Its pages never move, so that
// looking up a connection takes no lock.
type table struct {
	pages   atomic.Pointer[[]*page]
	growing sync.Mutex
}

func (t *table) put(fd int, c *Conn) {
	slot := t.slot(fd)
	for slot == nil {
		t.grow(fd)
		slot = t.slot(fd)
	}
	slot.Store(c)
}

// slot returns the place of the connection with the descriptor fd, or nil if the table has none.
func (t *table) slot(fd int) *atomic.Pointer[Conn] {
	pages := t.pages.Load()
	if n := fd >> pageBits; pages != nil && n < len(*pages) && (*pages)[n] != nil {
		return &(*pages)[n][fd&(pageSize-1)]
	}
	return nil
}

// grow allocates the page of fd. It replaces the list of pages, since readers may
// hold the old one.
func (t *table) grow(fd int) {
	t.growing.Lock()
	defer t.growing.Unlock()
	var old []*page
	if pages := t.pages.Load(); pages != nil {
		old = *pages
	}
	n := fd >> pageBits
	pages := make([]*page, max(len(old), n+1))
	copy(pages, old)
	if pages[n] == nil {
		pages[n] = new(page)
	}
	t.pages.Store(&pages)
}
