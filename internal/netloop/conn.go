//go:build linux

package netloop

import (
	"io"
	"os"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/valyala/fasthttp/internal/rawsys"
)

// inputEvents is what every connection is watched for, all the time and
// edge-triggered. One that had no room for output is watched for allEvents from
// then on: as there is room at first, each would have an event for nothing.
const (
	inputEvents = syscall.EPOLLIN | syscall.EPOLLPRI | syscall.EPOLLRDHUP | epollET
	allEvents   = inputEvents | syscall.EPOLLOUT
)

// syscall.EPOLLET is negative there, where Events is unsigned.
const epollET = 1 << 31

// Handler serves a connection. Its methods are called by one goroutine at a
// time, the owner of the connection, and may block.
type Handler interface {
	// Serve does what can be done now that the connection is readable or
	// writable or at its end. It reads until ErrAgain, or it will not hear of
	// what it left. It returns false where it has closed the connection or
	// given it away: the connection is not touched any more then.
	Serve(p *Poller) bool
	// Expire is called when the deadline has passed while nobody owned the
	// connection. Its result means what that of Serve does.
	Expire() bool
	// PeerGone is called when the peer has ended its side of a connection that is
	// watched, whoever owns it. It must return at once.
	PeerGone()
}

// Conn is a connection on a loop, without any buffer.
//
// It is made to be used again for another descriptor, on another loop, while
// others still hold a pointer to it. Who does, and why that is safe:
//
//   - The owner may do everything. There is one at a time: see the states.
//   - The table of descriptors has it until Close or Forget. A poller that has
//     looked it up may come late, when it is closed or another connection: an
//     event carries the generation that it is for. One that slips through takes
//     the ownership as any other would, and is a false alarm.
//   - The wheel has it while planned is not 0, and takes the ownership under its
//     own lock. Close takes it out of the wheel.
//   - Anybody else goes through Use, which holds up Close, and Init too.
//
// So Init may run once Close or Forget has returned.
type Conn struct {
	handler  Handler
	loop     *Loop
	detached atomic.Pointer[signals]

	// next and link are its place in a slot of the wheel, guarded by its mu
	next     *Conn
	link     **Conn
	deadline atomic.Uint64 // tick at which Expire is due; 0 for none
	planned  atomic.Uint64 // tick at which the wheel looks; 0 for never

	fd         int32
	generation atomic.Uint32
	state      atomic.Uint32
	flags      atomic.Uint32
}

// generations tells one use of a descriptor from the next.
var generations atomic.Uint32

// The states of a connection: who owns it.
const (
	stateIdle uint32 = iota // nobody
	stateBusy               // a goroutine
	stateNews               // a goroutine, and there was an event since it looked
	stateClosed
)

const (
	flagOutput  uint32 = 1 << iota // bytes wait to be written
	flagGone                       // the peer has ended its side, or all
	flagClosed                     // the descriptor is closed, or will be in a moment
	flagWatched                    // PeerGone is to be called
	flagUrgent                     // urgent data has come, which splits what is read
	// flagUser and the bits above it count those who use the descriptor
	// without being the owner
	flagUser uint32 = 1 << 8
)

// Init makes c the connection with the nonblocking descriptor fd. It may have
// been another one before. Nobody can acquire it until it is on a loop.
func (c *Conn) Init(fd int, h Handler) {
	c.state.Store(stateClosed)
	c.fd, c.handler = int32(fd), h
	c.generation.Store(generations.Add(1))
	c.deadline.Store(0)
	// somebody may be in Use, about to find out that the connection is closed
	for old := c.flags.Load(); old >= flagUser || !c.flags.CompareAndSwap(old, 0); old = c.flags.Load() {
		runtime.Gosched()
	}
}

// FD returns the descriptor.
func (c *Conn) FD() int { return int(c.fd) }

// ErrAgain says that nothing can be read or written at the moment.
var ErrAgain error = syscall.EAGAIN

// Read reads what is there. It returns io.EOF at the end of the stream.
func (c *Conn) Read(p []byte) (int, error) { return c.receive(p, false) }

// Peek is Read that leaves what it has read to be read again.
func (c *Conn) Peek(p []byte) (int, error) { return c.receive(p, true) }

// receive chooses the system call by a flag: a function value could not be
// inlined, and every Read would pay for one more call.
func (c *Conn) receive(p []byte, peek bool) (n int, err error) {
	for {
		var errno syscall.Errno
		if peek {
			n, errno = rawsys.Peek(int(c.fd), p)
		} else {
			n, errno = rawsys.Recv(int(c.fd), p)
		}
		switch {
		case n > 0:
			return n, nil
		case errno == 0:
			return 0, io.EOF
		case errno == syscall.EAGAIN:
			return 0, ErrAgain
		case errno != syscall.EINTR:
			return 0, os.NewSyscallError("read", errno)
		}
	}
}

// Urgent reports whether urgent data has come. A Read ends before such data and
// leaves what lies behind it: that it fills only a part of its buffer does not
// mean any more that it has taken all there was.
func (c *Conn) Urgent() bool { return c.has(flagUrgent) }

// writeAtOnce is how much is written by one system call: copying takes its time,
// and the garbage collector may be waiting for it to end.
const writeAtOnce = 256 << 10

// Write writes as much of head, and then of body, as there is room for, and
// returns ErrAgain where that is not all. Serve is called then when there is room
// again.
func (c *Conn) Write(head, body []byte) (n int, err error) {
	for n < len(head)+len(body) {
		var k int
		var errno syscall.Errno
		if n < len(head) {
			k, errno = c.writeParts(head[n:], body)
		} else {
			k, errno = rawsys.Send(int(c.fd), someOf(body[n-len(head):]))
		}
		switch {
		case k > 0:
			n += k
		case errno == syscall.EINTR:
		case errno == syscall.EAGAIN:
			c.Again()
			return n, ErrAgain
		default:
			return n, os.NewSyscallError("write", errno)
		}
	}
	c.unset(flagOutput)
	return n, nil
}

func someOf(p []byte) []byte { return p[:min(len(p), writeAtOnce)] }

// writeParts writes two parts with one system call: the peer gets them together.
func (c *Conn) writeParts(head, body []byte) (n int, errno syscall.Errno) {
	if len(body) == 0 {
		return rawsys.Send(int(c.fd), someOf(head))
	}
	return rawsys.SendBoth(int(c.fd), head, someOf(body))
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

// Closed reports whether the owner has closed the connection or given it away.
func (c *Conn) Closed() bool { return c.has(flagClosed) }

// Watch makes PeerGone of the Handler be called when the peer ends its side of the
// connection, and reports whether it has done so already.
func (c *Conn) Watch() (gone bool) {
	c.set(flagWatched)
	return c.Gone() && c.hungUp()
}

// hungUp asks the system whether the peer has ended its side. An event may have
// been for a connection that had the descriptor before.
func (c *Conn) hungUp() (gone bool) { return c.ends() != 0 }

// Cut reports whether nothing reaches the peer any more: it has reset the
// connection. One that has only ended its side may still read.
func (c *Conn) Cut() bool { return c.ends()&(unix.POLLHUP|unix.POLLERR) != 0 }

// ends returns what the system says of the ends of the connection.
func (c *Conn) ends() (events int16) {
	c.Use(func(fd int) {
		poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}}
		if n, err := unix.Poll(poll, 0); n > 0 && err == nil {
			events = poll[0].Revents
		}
	})
	return events
}

// Use calls f with the descriptor unless that is closed, which it will not be
// before f returns. Anybody may call it; f must not wait.
func (c *Conn) Use(f func(fd int)) {
	defer c.flags.Add(^(flagUser - 1))
	if c.flags.Add(flagUser)&flagClosed == 0 {
		f(int(c.fd))
	}
}

// Unwatch ends what Watch began.
func (c *Conn) Unwatch() { c.unset(flagWatched) }

// ready takes in events.
func (c *Conn) ready(p *Poller, events uint32) {
	if events&syscall.EPOLLPRI != 0 {
		c.set(flagUrgent)
	}
	if events&(syscall.EPOLLRDHUP|syscall.EPOLLHUP|syscall.EPOLLERR) != 0 {
		c.set(flagGone)
		if c.has(flagWatched) && c.hungUp() {
			c.handler.PeerGone()
		}
	} else if events&syscall.EPOLLIN == 0 && !c.has(flagOutput) && c.detached.Load() == nil {
		return
	}
	if s := c.detached.Load(); s != nil {
		s.notify(events)
	}
	if c.acquire() {
		c.run(p)
	}
}

// acquire makes the caller the owner, or leaves word with the one there is.
func (c *Conn) acquire() bool {
	for {
		switch c.state.Load() {
		case stateIdle:
			if c.state.CompareAndSwap(stateIdle, stateBusy) {
				return true
			}
		case stateBusy:
			if c.state.CompareAndSwap(stateBusy, stateNews) {
				return false
			}
		default:
			return false
		}
	}
}

// run serves the connection, which the caller owns, until there is no news.
func (c *Conn) run(p *Poller) {
	for c.handler.Serve(p) {
		if c.release() {
			return
		}
		// a peer that floods makes news all the time
		runtime.Gosched()
	}
}

// release gives the ownership up, unless there is news.
func (c *Conn) release() bool {
	if c.state.CompareAndSwap(stateBusy, stateIdle) {
		return true
	}
	c.state.Store(stateBusy)
	return false
}

// TryAcquire makes the caller the owner if there is none. Then it must call
// Close.
func (c *Conn) TryAcquire() bool {
	return c.state.CompareAndSwap(stateIdle, stateBusy)
}

// Close closes the connection, which the caller owns. With reset the peer is
// told that it was cut off.
func (c *Conn) Close(reset bool) {
	c.leave()
	if reset {
		resetOnClose(int(c.fd))
	}
	// the scheduler takes ordinary calls that last for long, as this one does,
	// for some that block, and has other threads step in
	_ = rawsys.CloseSocket(int(c.fd))
}

// leave ends what others have to do with the connection.
func (c *Conn) leave() {
	c.state.Store(stateClosed)
	conns.put(int(c.fd), nil)
	c.shutGate()
	c.deadline.Store(0)
	if c.planned.Load() != 0 {
		c.loop.wheel.forget(c)
	}
}

func resetOnClose(fd int) {
	_ = syscall.SetsockoptLinger(fd, syscall.SOL_SOCKET, syscall.SO_LINGER, &syscall.Linger{Onoff: 1})
}

// shutGate waits for those who use the descriptor, and keeps others off.
func (c *Conn) shutGate() {
	c.set(flagClosed)
	for c.flags.Load() >= flagUser {
		runtime.Gosched()
	}
}

// Shutdown ends the connection for both sides. Anybody may call it; the owner
// finds out by reading or writing, and closes the descriptor.
func (c *Conn) Shutdown() error {
	err := ErrClosed
	c.Use(func(fd int) { err = os.NewSyscallError("shutdown", syscall.Shutdown(fd, syscall.SHUT_RDWR)) })
	return err
}

// Forget takes the connection, which the caller owns, off its loop, and leaves
// the descriptor to the caller.
func (c *Conn) Forget() (fd int) {
	c.leave()
	_ = rawsys.Control(c.loop.set.fd, syscall.EPOLL_CTL_DEL, int(c.fd), &syscall.EpollEvent{})
	return int(c.fd)
}

// Release gives up the ownership that TryAcquire gave. Nothing is known of the
// connection afterwards.
func (c *Conn) Release() {
	if !c.release() {
		go c.run(&Poller{})
	}
}

// Again makes Serve be called once more, as soon as there is room for output and
// behind the other connections that are ready: for an owner that found no room,
// or that has had its share and leaves bytes behind.
func (c *Conn) Again() {
	c.set(flagOutput)
	c.watchOutput()
}

// watchOutput has an event come when there is room for output, or at once if
// there is.
func (c *Conn) watchOutput() {
	_ = c.control(syscall.EPOLL_CTL_MOD, allEvents)
}

// control changes what the connection is watched for.
func (c *Conn) control(op int, events uint32) syscall.Errno {
	ev := syscall.EpollEvent{Events: events, Fd: c.fd, Pad: int32(c.generation.Load())}
	return rawsys.Control(c.loop.set.fd, op, int(c.fd), &ev)
}

// find returns the connection that an event is for, or nil if it is closed.
func find(ev syscall.EpollEvent) *Conn {
	c := conns.get(int(ev.Fd))
	if c == nil || c.generation.Load() != uint32(ev.Pad) {
		return nil
	}
	return c
}

// SetDeadline makes Expire be called after d, with the resolution of a tick,
// unless the connection is owned then; 0 stands for never. A negative d is a
// deadline that has passed: it stays the one that it was, however often it is set
// again. Only the owner calls it.
func (c *Conn) SetDeadline(d time.Duration) {
	if d == 0 {
		if c.deadline.Load() != 0 {
			c.deadline.Store(0)
		}
		return
	}
	at := tickAfter(d)
	c.deadline.Store(at)
	if planned := c.planned.Load(); planned == 0 || at < planned {
		c.loop.wheel.plan(c)
	}
}
