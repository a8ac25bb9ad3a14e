package engine

import (
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/valyala/fasthttp/internal/servertest"
)

// probingHost is a linesHost whose peers are probed. It reports TCP_NODELAY of connections.
type probingHost struct {
	linesHost
	period  time.Duration
	noDelay chan int
}

func (h *probingHost) Keepalive() time.Duration { return h.period }

func (h *probingHost) AcquireProtocol(c *Conn, l Link, p Protocol) Protocol {
	if c.Requests > 0 {
		return h.linesHost.AcquireProtocol(c, l, p)
	}
	raw, err := c.NC.(syscall.Conn).SyscallConn()
	if err == nil {
		err = raw.Control(func(fd uintptr) {
			n, _ := syscall.GetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_NODELAY)
			h.noDelay <- n
		})
	}
	if err != nil {
		h.noDelay <- -1
	}
	return h.linesHost.AcquireProtocol(c, l, p)
}

// TestListenerWithoutOptions makes the system refuse an option of the listener, as old
// kernels do with Multipath TCP. Connections must then get their options one by one.
func TestListenerWithoutOptions(t *testing.T) {
	const tooLong = 100 * time.Hour // for a period of probes
	for _, test := range []struct {
		period time.Duration
		want   int
	}{{0, 0}, {time.Minute, 0}, {tooLong, 1}} {
		t.Run(test.period.String(), func(t *testing.T) {
			ln, err := net.Listen("tcp4", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			h := &probingHost{period: test.period, noDelay: make(chan int, 1)}
			s := &Set{Host: h}
			s.Renew()
			serve(t, s, ln, "event")
			ask := func() int {
				nc, err := net.Dial("tcp4", ln.Addr().String())
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = nc.Close() }()
				if _, err := nc.Write([]byte("a\n")); err != nil {
					t.Fatal(err)
				}
				return servertest.Receive(t, "the option", h.noDelay)
			}
			if got := ask(); got <= 0 {
				t.Errorf("TCP_NODELAY is %d", got)
			}
			raw, err := ln.(*net.TCPListener).SyscallConn()
			if err == nil {
				err = raw.Control(func(fd uintptr) {
					_ = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_NODELAY, 0)
				})
			}
			if err != nil {
				t.Fatal(err)
			}
			if test.want == 0 {
				// connections get their options one by one until the queue was seen empty
				servertest.Eventually(t, "a connection that inherits its options", func() bool { return ask() == 0 })
			} else if got := ask(); got != test.want {
				t.Errorf("TCP_NODELAY is %d without that of the listener, want %d", got, test.want)
			}
		})
	}
}
