// Package tcplisten makes TCP listeners with options of the system that net.Listen
// does not offer: several listeners on one address, connections that are accepted only
// when there is data to read, data in the first packet, and the length of the queue of
// connections that wait to be accepted.
//
// Start with Config. Package reuseport is simpler, for servers that run as several
// processes.
package tcplisten

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"syscall"
)

// Config holds the options of a listener. The zero value makes listeners like those
// of net.Listen, without multipath TCP.
//
// If the system does not support an option, NewListener returns an *OptionError. It
// never ignores an option.
type Config struct {
	// ReusePort sets SO_REUSEPORT: several listeners, of one process or of several
	// processes of the same user, can share an address. Linux and FreeBSD distribute
	// the connections among them. All of them must set this option.
	ReusePort bool

	// DeferAccept sets TCP_DEFER_ACCEPT, of Linux: a connection is accepted only
	// when the client has sent data, or after a second. It is for protocols in which
	// the client sends first, such as HTTP and TLS.
	DeferAccept bool

	// FastOpen sets TCP_FASTOPEN, of Linux: a client that has connected before may
	// send its request in the first packet (RFC 7413). Such a packet can arrive
	// twice, so the option is for requests that may be repeated.
	FastOpen bool

	// Backlog is how many connections may wait to be accepted. The system has a
	// limit, too, net.core.somaxconn on Linux, which is the default if Backlog is 0
	// or less.
	Backlog int
}

// OptionError is the error of an option of Config that could not be set. If the system does
// not have the option at all, errors.Is matches it with errors.ErrUnsupported.
type OptionError struct {
	Option string // the system's name of the option, such as "SO_REUSEPORT"
	Err    error  // the error of the system
}

// Error implements error.
func (e *OptionError) Error() string {
	return fmt.Sprintf("tcplisten: cannot set %s on %s: %v", e.Option, runtime.GOOS, e.Err)
}

// Unwrap returns e.Err.
func (e *OptionError) Unwrap() error { return e.Err }

// NewListener listens on addr, which is of the form "host:port" as for
// net.Listen. The network is "tcp4", "tcp6", or "tcp" for both; others are an error.
// NewListener may be called any number of times.
//
// The result is a *net.TCPListener. The error is an *OptionError if an option cannot
// be set, a net.UnknownNetworkError, or an error of package net.
func (cfg *Config) NewListener(network, addr string) (net.Listener, error) {
	switch network {
	case "tcp", "tcp4", "tcp6":
	default:
		return nil, net.UnknownNetworkError(network)
	}
	lc := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		return controlFD(c, cfg.setOptions)
	}}
	// not all options can be combined with multipath TCP
	lc.SetMultipathTCP(false)
	ln, err := lc.Listen(context.Background(), network, addr)
	if err != nil {
		// the text of package net does not name the option
		if option, ok := errors.AsType[*OptionError](err); ok {
			return nil, option
		}
		// programs compare the texts of address errors
		if op, ok := errors.AsType[*net.OpError](err); ok && op.Addr == nil {
			return nil, op.Err
		}
		return nil, fmt.Errorf("tcplisten: %w", err)
	}
	if cfg.Backlog > 0 {
		if err := cfg.shorten(ln.(*net.TCPListener)); err != nil {
			_ = ln.Close()
			return nil, err
		}
	}
	return ln, nil
}

// shorten sets the length of the queue of a listener. Package net has made the listener
// with the longest queue that the system allows.
func (cfg *Config) shorten(ln *net.TCPListener) error {
	c, err := ln.SyscallConn()
	if err != nil {
		return fmt.Errorf("tcplisten: %w", err)
	}
	return controlFD(c, func(fd uintptr) error { return optionError("the backlog", setBacklog(fd, cfg.Backlog)) })
}

// setOptions sets the options that must be set before a socket listens.
func (cfg *Config) setOptions(fd uintptr) error {
	options := []struct {
		wanted bool
		name   string
		set    func(fd uintptr) error
	}{
		{cfg.ReusePort, "SO_REUSEPORT", setReusePort},
		{cfg.DeferAccept, "TCP_DEFER_ACCEPT", setDeferAccept},
		{cfg.FastOpen, "TCP_FASTOPEN", setFastOpen},
	}
	for _, o := range options {
		if !o.wanted {
			continue
		}
		if err := optionError(o.name, o.set(fd)); err != nil {
			return err
		}
	}
	return nil
}

func optionError(name string, err error) error {
	if err == nil {
		return nil
	}
	return &OptionError{Option: name, Err: err}
}

func controlFD(c syscall.RawConn, f func(fd uintptr) error) error {
	var failed error
	if err := c.Control(func(fd uintptr) { failed = f(fd) }); err != nil {
		return fmt.Errorf("tcplisten: %w", err)
	}
	return failed
}
