package rawsys

import (
	"io"
	"net"
	"syscall"
	"testing"

	"github.com/valyala/fasthttp/internal/servertest"
	"golang.org/x/sys/unix"
)

// sockets returns the two ends of a stream in blocking mode. No caller gives such a
// socket to an event loop, but a program can clear O_NONBLOCK later.
func sockets(t *testing.T) [2]int {
	t.Helper()
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

func TestCallsDoWhatTheirNamesSay(t *testing.T) {
	pair := sockets(t)
	defer syscall.Close(pair[0])
	set, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(set)
	ev := syscall.EpollEvent{Events: syscall.EPOLLIN, Fd: int32(pair[0])}
	if errno := Control(set, syscall.EPOLL_CTL_ADD, pair[0], &ev); errno != 0 {
		t.Fatal(errno)
	}
	if errno := Control(set, syscall.EPOLL_CTL_ADD, pair[0], &ev); errno != syscall.EEXIST {
		t.Errorf("adding the same again: %v", errno)
	}
	events := make([]syscall.EpollEvent, 4)
	buf := make([]byte, 20)
	if n, errno := Poll(set, events); n != 0 || errno != 0 {
		t.Errorf("poll of nothing: %d, %v", n, errno)
	}
	if ready, errno := Ready(pair[0], unix.POLLIN); ready || errno != 0 {
		t.Errorf("ready before anything was sent: %t, %v", ready, errno)
	}
	if n, errno := Send(pair[1], []byte("hello")); n != 5 || errno != 0 {
		t.Errorf("send: %d, %v", n, errno)
	}
	if ready, errno := Ready(pair[0], unix.POLLIN); !ready || errno != 0 {
		t.Errorf("ready after the first send: %t, %v", ready, errno)
	}
	if n, errno := Peek(pair[0], buf[:2]); n != 2 || errno != 0 || string(buf[:2]) != "he" {
		t.Errorf("peek: %d, %v, %q", n, errno, buf[:2])
	}
	if n, errno := SendBoth(pair[1], []byte(", the"), []byte("re")); n != 7 || errno != 0 {
		t.Errorf("send of two parts: %d, %v", n, errno)
	}
	if n, errno := Poll(set, events); n != 1 || errno != 0 || events[0].Fd != int32(pair[0]) || events[0].Events != syscall.EPOLLIN {
		t.Errorf("poll: %d, %v, %v", n, errno, events[0])
	}
	if n, errno := Recv(pair[0], buf); n != 12 || errno != 0 || string(buf[:n]) != "hello, there" {
		t.Errorf("receive: %d, %v, %q", n, errno, buf)
	}
	if errno := CloseSocket(pair[1]); errno != 0 {
		t.Errorf("close: %v", errno)
	}
	if n, errno := Recv(pair[0], buf); n != 0 || errno != 0 {
		t.Errorf("receive at the end: %d, %v", n, errno)
	}
	if ready, errno := Ready(pair[0], unix.POLLIN); !ready || errno != 0 {
		t.Errorf("ready at the end: %t, %v", ready, errno)
	}
	if _, errno := Send(pair[1], buf); errno != syscall.EBADF {
		t.Errorf("send to a closed descriptor: %v", errno)
	}
	if errno := CloseSocket(pair[1]); errno != syscall.EBADF {
		t.Errorf("close of a closed descriptor: %v", errno)
	}
}

// If one of these calls waited, the test would not end.
func TestCallsDoNotWaitForBlockingSockets(t *testing.T) {
	pair := sockets(t)
	defer syscall.Close(pair[0])
	defer syscall.Close(pair[1])
	if n, errno := Recv(pair[0], make([]byte, 10)); n > 0 || errno != syscall.EAGAIN {
		t.Errorf("receive of nothing: %d, %v", n, errno)
	}
	if n, errno := Peek(pair[0], make([]byte, 10)); n > 0 || errno != syscall.EAGAIN {
		t.Errorf("peek at nothing: %d, %v", n, errno)
	}
	big := make([]byte, 1<<20)
	var errno syscall.Errno
	for sent := 0; errno == 0 && sent < 100<<20; sent += len(big) {
		_, errno = Send(pair[0], big)
	}
	if errno != syscall.EAGAIN {
		t.Errorf("send without room: %v", errno)
	}
	if n, errno := SendBoth(pair[0], big, big); n > 0 || errno != syscall.EAGAIN {
		t.Errorf("send of two parts without room: %d, %v", n, errno)
	}
}

// Closing a socket that lingers waits for its peer, even with O_NONBLOCK. The
// scheduler must know about that wait: other goroutines must run meanwhile.
func TestClosingASocketThatLingersStopsNobody(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	nc, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	accepted, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	file, err := accepted.(*net.TCPConn).File()
	if err != nil {
		t.Fatal(err)
	}
	_ = accepted.Close()
	fd, err := syscall.Dup(int(file.Fd()))
	_ = file.Close()
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.SetsockoptLinger(fd, syscall.SOL_SOCKET, syscall.SO_LINGER, &syscall.Linger{Onoff: 1, Linger: 1}); err != nil {
		t.Fatal(err)
	}
	// more than fits into the buffers before the peer reads
	if err := syscall.SetNonblock(fd, true); err != nil {
		t.Fatal(err)
	}
	for {
		if _, errno := Send(fd, make([]byte, 1<<20)); errno != 0 {
			break
		}
	}
	closed := make(chan struct{})
	go func() {
		CloseSocket(fd)
		close(closed)
	}()
	// the peer reads only while the other end is being closed, so both must run at
	// the same time, whatever the number of processors
	if n, _ := io.Copy(io.Discard, nc); n == 0 {
		t.Error("nothing has come")
	}
	servertest.Receive(t, "the end of Close", closed)
}

func TestSetNonblock(t *testing.T) {
	pair := sockets(t)
	defer syscall.Close(pair[0])
	defer syscall.Close(pair[1])
	flags := func() int {
		flags, err := unix.FcntlInt(uintptr(pair[0]), unix.F_GETFL, 0)
		if err != nil {
			t.Fatal(err)
		}
		return flags
	}
	before := flags()
	for range 2 {
		if errno := SetNonblock(pair[0]); errno != 0 {
			t.Fatal(errno)
		}
		if got := flags(); got != before|syscall.O_NONBLOCK {
			t.Errorf("flags %#x, before %#x", got, before)
		}
	}
	if errno := SetNonblock(-1); errno != syscall.EBADF {
		t.Errorf("of no descriptor: %v", errno)
	}
}

// Each signal is an event for an edge-triggered poll of the descriptor, even if the
// signal before was not read.
func TestEventIsReadyAfterEachSignal(t *testing.T) {
	e, err := NewEvent()
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(e.FD())
	set, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(set)
	ev := syscall.EpollEvent{Events: syscall.EPOLLIN | unix.EPOLLET, Fd: int32(e.FD())}
	if errno := Control(set, syscall.EPOLL_CTL_ADD, e.FD(), &ev); errno != 0 {
		t.Fatal(errno)
	}
	events := make([]syscall.EpollEvent, 2)
	for range 3 {
		if n, _ := Poll(set, events); n != 0 {
			t.Fatal("ready before the signal")
		}
		e.Signal()
		if n, _ := Poll(set, events); n != 1 {
			t.Fatal("not ready after the signal")
		}
	}
}
