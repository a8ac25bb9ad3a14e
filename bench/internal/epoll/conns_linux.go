package epoll

import (
	"errors"
	"io"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Conns are connections, which have the numbers from 0 on.
type Conns struct {
	set    int
	fds    []int
	events []unix.EpollEvent
	ready  []Event
}

// New returns a set without connections. Wait reports at most batch events at once.
func New(batch int) (*Conns, error) {
	set, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	return &Conns{set: set, events: make([]unix.EpollEvent, batch)}, nil
}

// Add takes over a connection of package dial. Package net no longer waits for it.
func (c *Conns) Add(nc net.Conn) error {
	defer nc.Close()
	raw, err := nc.(*net.TCPConn).SyscallConn()
	if err != nil {
		return err
	}
	fd := -1
	if failed := raw.Control(func(from uintptr) { fd, err = unix.FcntlInt(from, unix.F_DUPFD_CLOEXEC, 0) }); failed != nil {
		return failed
	}
	if err != nil {
		return os.NewSyscallError("fcntl", err)
	}
	c.fds = append(c.fds, fd)
	return c.watch(unix.EPOLL_CTL_ADD, len(c.fds)-1, unix.EPOLLIN)
}

func (c *Conns) watch(how, i int, events uint32) error {
	return os.NewSyscallError("epoll_ctl", unix.EpollCtl(c.set, how, c.fds[i], &unix.EpollEvent{Events: events, Fd: int32(i)}))
}

// WaitToWrite sets whether Wait reports that a connection can be written to.
func (c *Conns) WaitToWrite(i int, wanted bool) error {
	if wanted {
		return c.watch(unix.EPOLL_CTL_MOD, i, unix.EPOLLIN|unix.EPOLLOUT)
	}
	return c.watch(unix.EPOLL_CTL_MOD, i, unix.EPOLLIN)
}

// Wait waits for events. The next call overwrites them.
func (c *Conns) Wait(most time.Duration) ([]Event, error) {
	n, err := unix.EpollWait(c.set, c.events, int((most+time.Millisecond-1)/time.Millisecond))
	if err != nil && err != unix.EINTR {
		return nil, os.NewSyscallError("epoll_wait", err)
	}
	c.ready = c.ready[:0]
	for _, e := range c.events[:max(0, n)] {
		c.ready = append(c.ready, Event{
			Conn: int(e.Fd), Readable: e.Events&^unix.EPOLLOUT != 0, Writable: e.Events&unix.EPOLLOUT != 0,
		})
	}
	return c.ready, nil
}

// Read reads what has arrived, which may be nothing. The end is an error.
func (c *Conns) Read(i int, p []byte) (int, error) {
	n, err := unix.Read(c.fds[i], p)
	if n == 0 && err == nil {
		return 0, io.ErrUnexpectedEOF
	}
	return done("read", n, err)
}

// Write writes as much as the kernel takes, which may be nothing.
func (c *Conns) Write(i int, p []byte) (int, error) {
	n, err := unix.Write(c.fds[i], p)
	return done("write", n, err)
}

func done(what string, n int, err error) (int, error) {
	if err == unix.EAGAIN || err == unix.EINTR {
		err = nil
	}
	return max(0, n), os.NewSyscallError(what, err)
}

// Close closes all connections.
func (c *Conns) Close() {
	for _, fd := range append(c.fds, c.set) {
		_ = unix.Close(fd)
	}
}

// Deafen prepares the socket of a client that will not read: the size of its packets makes the
// kernel of the server give it a small buffer, too.
func Deafen(fd uintptr) error {
	const segment, buffer = 536, 4 << 10
	return errors.Join(
		unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_MAXSEG, segment),
		unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF, buffer))
}
