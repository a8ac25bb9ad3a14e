//go:build unix

package netio

import (
	"net"
	"testing"

	"golang.org/x/sys/unix"
)

func TestCopiedSocketAcceptsConnections(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	own := ln.(*net.TCPListener)
	f, err := CopySocket(own)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFD, 0); err != nil || flags&unix.FD_CLOEXEC == 0 {
		t.Errorf("processes inherit the copy unasked: %#x, %v", flags, err)
	}
	copied, err := net.FileListener(f)
	if err != nil {
		t.Fatal(err)
	}
	defer copied.Close()
	_ = ln.Close()
	client, err := net.Dial("tcp", copied.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	server, err := copied.Accept()
	if err != nil {
		t.Fatal(err)
	}
	_ = server.Close()
	if _, err := CopySocket(own); err == nil {
		t.Error("a closed listener has a socket")
	}
}
