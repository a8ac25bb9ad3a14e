//go:build linux && !race && (amd64 || arm64)

package rawsys

import (
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func TestCallsAllocateNothing(t *testing.T) {
	pair := sockets(t)
	defer syscall.Close(pair[0])
	defer syscall.Close(pair[1])
	buf, head, body := make([]byte, 20), []byte("head"), []byte("body")
	events := make([]syscall.EpollEvent, 4)
	event, err := NewEvent()
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(event.FD())
	n := testing.AllocsPerRun(100, func() {
		_, _ = Send(pair[0], head)
		_, _ = SendBoth(pair[0], head, body)
		_, _ = Ready(pair[1], unix.POLLIN)
		_, _ = Peek(pair[1], buf)
		_, _ = Recv(pair[1], buf)
		_, _ = Poll(pair[0], events)
		_ = SetNonblock(pair[0])
		event.Signal()
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}
