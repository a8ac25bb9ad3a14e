//go:build linux

package netloop

import (
	"encoding/binary"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/valyala/fasthttp/internal/rawsys"
)

// watched is a descriptor that Go's poller watches.
type watched struct {
	fd   int
	file *os.File
	raw  syscall.RawConn
}

// watch takes over fd, which does not block. It closes fd if it fails.
func watch(fd int, name string) (w watched, err error) {
	w = watched{fd: fd, file: os.NewFile(uintptr(fd), name)}
	if w.raw, err = w.file.SyscallConn(); err != nil {
		_ = w.file.Close()
	}
	return w, err
}

// line is where the poller that has the seat waits until it is its turn.
//
// Go's scheduler asks the system what has become ready only if no goroutine can
// run. A poller that fetched events for as long as there are some would begin
// request after request, while those that were begun wait to be answered: their
// goroutines would be many, and what they wait for would not be asked for. So
// it goes the way of everybody who waits for a descriptor: it makes one ready,
// and is called when those have run that could, and those that were ready
// before it.
type line struct{ watched }

func newLine() (line, error) {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return line{}, os.NewSyscallError("eventfd", err)
	}
	w, err := watch(fd, "eventfd")
	return line{w}, err
}

// one is what is added to the descriptor's count.
var one = binary.NativeEndian.AppendUint64(nil, 1)

// join makes the descriptor ready. Nobody needs to read what it writes: Go's
// poller is told of each write.
func (q line) join() { _, _ = syscall.Write(q.fd, one) }

// ticker wakes Go's scheduler while handlers wait and nothing else happens.
//
// The scheduler waits for a whole number of milliseconds, so a handler that
// sleeps for 100 µs goes on after more than 1 ms where nothing else wakes the
// process. With a ticker it is late by the distance of two ticks at most. It
// ticks only if handlers are expected to wait, several of them do, and the last
// one was begun within the last millisecond: then a tick is cheap, since it is
// shared, and above a millisecond the scheduler is exact enough.
type ticker struct {
	fd int
	// next is when it ticks, on the clock. Whoever has the seat uses it.
	next time.Duration
}

// ticks are the times since the last handler was begun. They are close enough
// for those that wait for less than a millisecond, and the last one is where the
// scheduler would end a wait of one.
var ticks = [...]time.Duration{
	100 * time.Microsecond, 200 * time.Microsecond, 350 * time.Microsecond,
	550 * time.Microsecond, 800 * time.Microsecond, 1100 * time.Microsecond,
}

// tickFor is how many handlers must be under way.
const tickFor = 4

// newTicker returns a ticker whose ticks are events of an epoll set.
func newTicker(set int) (ticker, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK)
	if err != nil {
		return ticker{}, os.NewSyscallError("timerfd_create", err)
	}
	ev := syscall.EpollEvent{Events: syscall.EPOLLIN | unix.EPOLLET, Fd: int32(fd)}
	if errno := rawsys.Control(set, syscall.EPOLL_CTL_ADD, fd, &ev); errno != 0 {
		_ = syscall.Close(fd)
		return ticker{}, os.NewSyscallError("epoll_ctl", errno)
	}
	return ticker{fd: fd}, nil
}

// set sees to it that there is a tick, if there is to be one, for handlers the
// last of which was begun at begun.
func (t *ticker) set(begun, now time.Duration) {
	age := now - begun
	for _, tick := range ticks {
		if age >= tick {
			continue
		}
		if at := begun + tick; t.next <= now || t.next > at {
			t.next = at
			var spec unix.ItimerSpec
			spec.Value.Nsec = int64(at - now)
			_ = unix.TimerfdSettime(t.fd, 0, &spec, nil)
		}
		return
	}
}

// without drops a tick from events, and returns how many are left.
func (t *ticker) without(events []syscall.EpollEvent) int {
	for i, ev := range events {
		if int(ev.Fd) == t.fd {
			copy(events[i:], events[i+1:])
			return len(events) - 1
		}
	}
	return len(events)
}
