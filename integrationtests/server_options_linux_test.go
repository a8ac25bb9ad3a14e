package integrationtests

import (
	"net"
	"syscall"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// noDelayOf returns TCP_NODELAY of the socket of this process that is connected from the
// port local to the port remote, or -1.
func noDelayOf(local, remote int) int {
	port := func(a syscall.Sockaddr, err error) int {
		if in, ok := a.(*syscall.SockaddrInet4); ok && err == nil {
			return in.Port
		}
		return -1
	}
	for fd := range 1 << 12 {
		if port(syscall.Getsockname(fd)) == local && port(syscall.Getpeername(fd)) == remote {
			if n, err := syscall.GetsockoptInt(fd, syscall.IPPROTO_TCP, syscall.TCP_NODELAY); err == nil {
				return n
			}
		}
	}
	return -1
}

// A connection that was there before the server began to serve has the options of those
// that come later: without TCP_NODELAY, each piece of a streamed response may wait for 40 ms.
func TestConnectionsInTheQueueGetTheirOptions(t *testing.T) {
	for _, engine := range []fasthttp.Engine{fasthttp.EnginePortable, fasthttp.EngineEvent} {
		ln, err := net.Listen("tcp4", "127.0.0.1:0")
		servertest.Must(t, err)
		early, err := net.Dial("tcp4", ln.Addr().String())
		servertest.Must(t, err)
		local, remote := ln.Addr().(*net.TCPAddr).Port, early.LocalAddr().(*net.TCPAddr).Port
		noDelay := make(chan int, 1)
		s := &fasthttp.Server{Engine: engine, Handler: func(*fasthttp.RequestCtx) { noDelay <- noDelayOf(local, remote) }}
		_, err = early.Write([]byte("GET / HTTP/1.1\r\nHost: a\r\n\r\n"))
		servertest.Must(t, err)
		served := make(chan error, 1)
		go func() { served <- s.Serve(ln) }()
		if got := <-noDelay; got <= 0 {
			t.Errorf("engine %v: TCP_NODELAY is %d", engine, got)
		}
		_ = early.Close()
		servertest.Must(t, s.Shutdown())
		servertest.Must(t, <-served)
	}
}
