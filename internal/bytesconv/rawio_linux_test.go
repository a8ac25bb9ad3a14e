package bytesconv

import (
	"os"
	"path/filepath"
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
	if errno := RawControl(set, syscall.EPOLL_CTL_ADD, pair[0], &ev); errno != 0 {
		t.Fatal(errno)
	}
	if errno := RawControl(set, syscall.EPOLL_CTL_ADD, pair[0], &ev); errno != syscall.EEXIST {
		t.Errorf("adding the same again: %v", errno)
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
	if errno := RawClose(pair[1]); errno != 0 {
		t.Errorf("close: %v", errno)
	}
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

func TestRawSendfileSendsFromTheOffset(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, []byte("0123456789"), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := syscall.Open(name, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(file)
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(pair[0])
	defer syscall.Close(pair[1])
	offset := int64(3)
	if n, errno := RawSendfile(pair[0], file, &offset, 4); n != 4 || errno != 0 || offset != 7 {
		t.Errorf("sendfile: %d, %v, then at %d", n, errno, offset)
	}
	buf := make([]byte, 10)
	if n, errno := RawRead(pair[1], buf); n != 4 || errno != 0 || string(buf[:n]) != "3456" {
		t.Errorf("read: %d, %v, %q", n, errno, buf[:n])
	}
	offset = 10
	if n, errno := RawSendfile(pair[0], file, &offset, 4); n != 0 || errno != 0 {
		t.Errorf("sendfile at the end: %d, %v", n, errno)
	}
	if n, errno := RawSendfile(-1, file, &offset, 4); n > 0 || errno != syscall.EBADF {
		t.Errorf("sendfile to nothing: %d, %v", n, errno)
	}
	if n := testing.AllocsPerRun(100, func() { _ = IsInMemory(file, 9) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
