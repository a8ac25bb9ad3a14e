package engine

import (
	"errors"
	"net"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// reserveDescriptor keeps a descriptor in reserve for a process that has no other left. To
// make a net.Conn of a descriptor, package net needs another one for a moment.
type reserveDescriptor struct {
	mu sync.Mutex
	fd int // -1 while there is none
}

var fdReserve = reserveDescriptor{fd: -1}

// refill opens the descriptor, unless there is one.
func (s *reserveDescriptor) refill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open()
}

// open is keep with mu held.
func (s *reserveDescriptor) open() {
	if s.fd >= 0 {
		return
	}
	if fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC); err == nil {
		s.fd = fd
	}
}

// fileConn makes a connection of package net from a descriptor, which it closes. remote
// returns the address of the peer: package net finds none if the peer has reset the
// connection.
func (s *reserveDescriptor) fileConn(fd int, remote func() net.Addr) (net.Conn, error) {
	nc, err := s.netConn(fd)
	if err == nil && nc.RemoteAddr() == nil {
		nc = NewProxiedConn(nc, &Endpoints{Remote: remote(), Local: nc.LocalAddr()})
	}
	return nc, err
}

func (s *reserveDescriptor) netConn(fd int) (net.Conn, error) {
	f := os.NewFile(uintptr(fd), "connection")
	nc, err := net.FileConn(f)
	if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.fd >= 0 {
			_ = unix.Close(s.fd)
			s.fd = -1
		}
		nc, err = net.FileConn(f)
		_ = f.Close()
		s.open()
		return nc, err
	}
	_ = f.Close()
	return nc, err
}
