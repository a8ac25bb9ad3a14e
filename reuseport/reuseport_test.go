package reuseport

import (
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/valyala/fasthttp/internal/servertest"
)

func TestListenersShareAnAddress(t *testing.T) {
	for _, test := range []struct{ network, addr string }{
		{"tcp", "127.0.0.1:0"},
		{"tcp4", "127.0.0.1:0"},
		{"tcp6", "[::1]:0"},
	} {
		t.Run(test.network, func(t *testing.T) {
			if test.network == "tcp6" {
				needsIPv6(t)
			}
			first := listen(t, test.network, test.addr)
			second := listen(t, test.network, first.Addr().String())
			// each connection is served, whichever listener the system chooses
			served := make(chan struct{}, 2)
			for _, ln := range []net.Listener{first, second} {
				go echo(ln, served)
			}
			for range 10 {
				roundTrip(t, first.Addr())
			}
			_ = first.Close()
			servertest.Receive(t, "the end of Serve", served)
			for range 10 {
				roundTrip(t, second.Addr())
			}
		})
	}
}

func TestListenRefusesOtherNetworks(t *testing.T) {
	for _, network := range []string{"", "udp4", "unix"} {
		if ln, err := Listen(network, "127.0.0.1:0"); err == nil {
			_ = ln.Close()
			t.Errorf("%q was accepted", network)
		}
	}
}

func TestListenFailsWhereTheAddressIsTaken(t *testing.T) {
	other, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	ln, err := Listen("tcp4", other.Addr().String())
	if err == nil {
		_ = ln.Close()
		t.Fatal("the address of a listener without the option was shared")
	}
	if _, ok := errors.AsType[*ErrNoReusePort](err); ok {
		t.Errorf("the error says that the system cannot share addresses: %v", err)
	}
}

func TestErrNoReusePortKeepsItsCause(t *testing.T) {
	var err error = &ErrNoReusePort{syscall.ENOPROTOOPT}
	if !errors.Is(err, syscall.ENOPROTOOPT) {
		t.Errorf("%v does not wrap its cause", err)
	}
}

func needsIPv6(t *testing.T) {
	t.Helper()
	ln, err := net.Listen("tcp6", "[::1]:0")
	if err != nil {
		t.Skipf("this system has no IPv6: %v", err)
	}
	_ = ln.Close()
}

func listen(t *testing.T, network, addr string) net.Listener {
	t.Helper()
	ln, err := Listen(network, addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	return ln
}

func echo(ln net.Listener, done chan<- struct{}) {
	defer func() { done <- struct{}{} }()
	for {
		c, err := ln.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			_, _ = io.Copy(c, c)
		}()
	}
}

func roundTrip(t *testing.T, addr net.Addr) {
	t.Helper()
	c, err := net.Dial(addr.Network(), addr.String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	if _, err := io.WriteString(c, "ping"); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 4)
	if _, err := io.ReadFull(c, buf); err != nil || string(buf) != "ping" {
		t.Fatalf("got %q, %v", buf, err)
	}
}

func TestZeroErrNoReusePortHasAText(t *testing.T) {
	if (&ErrNoReusePort{}).Error() == "" {
		t.Error("no text")
	}
}
