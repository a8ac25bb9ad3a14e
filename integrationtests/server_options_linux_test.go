package integrationtests

import (
	"fmt"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// socketOptions are options of a server's socket: TCP_NODELAY, and after how many seconds of
// silence the system probes the peer, 0 for never.
type socketOptions struct{ noDelay, probes int }

// optionsOf returns the options of the socket of this process that is connected from the port
// local to the port remote. They are negative if there is no such socket.
func optionsOf(local, remote int) socketOptions {
	port := func(a syscall.Sockaddr, err error) int {
		if in, ok := a.(*syscall.SockaddrInet4); ok && err == nil {
			return in.Port
		}
		return -1
	}
	for fd := range 1 << 12 {
		if port(syscall.Getsockname(fd)) == local && port(syscall.Getpeername(fd)) == remote {
			get := func(level, option int) int {
				n, err := syscall.GetsockoptInt(fd, level, option)
				if err != nil {
					return -1
				}
				return n
			}
			o := socketOptions{noDelay: get(syscall.IPPROTO_TCP, syscall.TCP_NODELAY)}
			if get(syscall.SOL_SOCKET, syscall.SO_KEEPALIVE) != 0 {
				o.probes = get(syscall.IPPROTO_TCP, syscall.TCP_KEEPIDLE)
				if between := get(syscall.IPPROTO_TCP, syscall.TCP_KEEPINTVL); between != o.probes {
					o.probes = -1
				}
			}
			return o
		}
	}
	return socketOptions{-1, -1}
}

// optionsFor returns a handler that reports the options of its connection.
func optionsFor(got chan<- socketOptions) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		got <- optionsOf(ctx.LocalAddr().(*net.TCPAddr).Port, ctx.RemoteAddr().(*net.TCPAddr).Port)
	}
}

// A connection opened before the server began to serve has the same options as later ones:
// without TCP_NODELAY, each piece of a streamed response may wait for 40 ms.
func TestConnectionsInTheQueueGetTheirOptions(t *testing.T) {
	for _, engine := range []fasthttp.Engine{fasthttp.EnginePortable, fasthttp.EngineEvent} {
		ln, err := net.Listen("tcp4", "127.0.0.1:0")
		servertest.Must(t, err)
		early, err := net.Dial("tcp4", ln.Addr().String())
		servertest.Must(t, err)
		got := make(chan socketOptions, 1)
		s := &fasthttp.Server{Engine: engine, Handler: optionsFor(got)}
		_, err = early.Write([]byte("GET / HTTP/1.1\r\nHost: a\r\n\r\n"))
		servertest.Must(t, err)
		served := make(chan error, 1)
		go func() { served <- s.Serve(ln) }()
		if got, want := servertest.Receive(t, "the options", got), (socketOptions{1, 15}); got != want {
			t.Errorf("engine %v: got %v, want %v", engine, got, want)
		}
		_ = early.Close()
		servertest.Must(t, s.Shutdown())
		servertest.Must(t, servertest.Receive(t, "return of Serve", served))
	}
}

// Without probes, a server without IdleTimeout would keep the connections of clients that
// have vanished.
func TestServersProbeTheirPeers(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		on     bool
		period time.Duration
		want   int
	}{
		{false, 0, 15},
		{true, 0, 15},
		{true, time.Minute, 60},
		{false, time.Minute, 15},
		{true, 1, 1},
		{true, 100 * time.Hour, 32767},
		{true, -1, 0},
		{false, -1, 0},
	} {
		for _, e := range servertest.OfEachKind(t, servertest.SocketEngines) {
			t.Run(fmt.Sprintf("%s %v %v", e.Name, test.on, test.period), func(t *testing.T) {
				got := make(chan socketOptions, 1)
				s := &fasthttp.Server{Handler: optionsFor(got), TCPKeepalive: test.on, TCPKeepalivePeriod: test.period}
				answer := s.Handler
				s.Handler = func(ctx *fasthttp.RequestCtx) {
					answer(ctx)
					ctx.Hijack(func(nc net.Conn) {
						got <- optionsOf(nc.LocalAddr().(*net.TCPAddr).Port, nc.RemoteAddr().(*net.TCPAddr).Port)
					})
				}
				ts := startServer(t, e, s)
				c := ts.Dial()
				c.Get("/")
				for _, when := range []string{"in the handler", "hijacked"} {
					if got, want := servertest.Receive(t, "the options", got), (socketOptions{1, test.want}); got != want {
						t.Errorf("%s: got %v, want %v", when, got, want)
					}
				}
			})
		}
	}
}

// The listeners of ListenAndServe have the default of package net, too.
func TestOwnListenersProbeTheirPeers(t *testing.T) {
	t.Parallel()
	for _, engine := range []fasthttp.Engine{fasthttp.EnginePortable, fasthttp.EngineEvent} {
		for period, want := range map[time.Duration]int{0: 15, -1: 0} {
			// no other test listens at this address, and could get the port meanwhile
			ln, err := net.Listen("tcp4", "127.0.0.77:0")
			servertest.Must(t, err)
			addr := ln.Addr().String()
			servertest.Must(t, ln.Close())
			got := make(chan socketOptions, 1)
			s := &fasthttp.Server{Engine: engine, TCPKeepalivePeriod: period, Handler: optionsFor(got)}
			served := make(chan error, 1)
			go func() { served <- s.ListenAndServe(addr) }()
			c := servertest.DialOnceServed(t, addr)
			c.Get("/")
			if got, want := servertest.Receive(t, "the options", got), (socketOptions{1, want}); got != want {
				t.Errorf("engine %v, period %v: got %v, want %v", engine, period, got, want)
			}
			_ = c.Close()
			servertest.ShutDown(t, s)
			servertest.Must(t, servertest.Receive(t, "return of ListenAndServe", served))
		}
	}
}
