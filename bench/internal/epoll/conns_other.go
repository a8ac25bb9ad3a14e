//go:build !linux

package epoll

import (
	"errors"
	"net"
	"time"
)

// Conns needs linux.
type Conns struct{}

var errNoEpoll = errors.New("this load needs linux, for epoll")

// New returns an error.
func New(int) (*Conns, error) { return nil, errNoEpoll }

func (*Conns) Add(net.Conn) error                  { return errNoEpoll }
func (*Conns) WaitToWrite(int, bool) error         { return errNoEpoll }
func (*Conns) Wait(time.Duration) ([]Event, error) { return nil, errNoEpoll }
func (*Conns) Read(int, []byte) (int, error)       { return 0, errNoEpoll }
func (*Conns) Write(int, []byte) (int, error)      { return 0, errNoEpoll }
func (*Conns) Close()                              {}

// Deafen returns an error.
func Deafen(uintptr) error { return errNoEpoll }
