package bytesconv

import (
	"syscall"
	"testing"
)

func TestRawCallsDoWhatTheirNamesSay(t *testing.T) {
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(pair[0])
	set, err := syscall.EpollCreate1(0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(set)
	ev := syscall.EpollEvent{Events: syscall.EPOLLIN, Fd: int32(pair[0])}
	if err := syscall.EpollCtl(set, syscall.EPOLL_CTL_ADD, pair[0], &ev); err != nil {
		t.Fatal(err)
	}
	events := make([]syscall.EpollEvent, 4)
	buf := make([]byte, 10)
	if n, errno := RawPoll(set, events); n != 0 || errno != 0 {
		t.Errorf("poll of nothing: %d, %v", n, errno)
	}
	if n, errno := RawRead(pair[0], buf); n >= 0 || errno != syscall.EAGAIN {
		t.Errorf("read of nothing: %d, %v", n, errno)
	}
	if n, errno := RawWrite(pair[1], []byte("hello")); n != 5 || errno != 0 {
		t.Errorf("write: %d, %v", n, errno)
	}
	if n, errno := RawPoll(set, events); n != 1 || errno != 0 || events[0].Fd != int32(pair[0]) || events[0].Events != syscall.EPOLLIN {
		t.Errorf("poll: %d, %v, %v", n, errno, events[0])
	}
	if n, errno := RawRead(pair[0], buf); n != 5 || errno != 0 || string(buf[:n]) != "hello" {
		t.Errorf("read: %d, %v, %q", n, errno, buf)
	}
	_ = syscall.Close(pair[1])
	if n, errno := RawRead(pair[0], buf); n != 0 || errno != 0 {
		t.Errorf("read at the end: %d, %v", n, errno)
	}
	if _, errno := RawWrite(pair[1], buf); errno != syscall.EBADF {
		t.Errorf("write to a closed descriptor: %v", errno)
	}
	if n := testing.AllocsPerRun(100, func() {
		_, _ = RawRead(pair[0], buf)
		_, _ = RawPoll(set, events)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
