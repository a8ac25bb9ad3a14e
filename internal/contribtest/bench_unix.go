//go:build unix

// Package contribtest has helpers for the benchmarks of the modules in contrib.
package contribtest

import (
	"io"
	"net"
	"syscall"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/accesslog"
	"github.com/valyala/fasthttp/internal/servertest"
)

// Log makes a server write an access log, which is discarded.
func Log(b *testing.B) func(s *fasthttp.Server) {
	return func(s *fasthttp.Server) {
		l := accesslog.New(accesslog.Options{Writer: io.Discard})
		b.Cleanup(func() { _ = l.Close() })
		l.Attach(s)
	}
}

// Serve measures requests to s, without a network. cpu-ns/op has the time of all goroutines.
func Serve(b *testing.B, s *fasthttp.Server) {
	c := &loopConn{request: []byte("GET /users/7?name=x HTTP/1.1\r\nHost: example.com\r\nUser-Agent: Mozilla/5.0 (X11; Linux x86_64)\r\nAccept: */*\r\n\r\n"), left: b.N}
	b.ReportAllocs()
	before := used(b)
	_ = s.ServeConn(c)
	b.ReportMetric(float64(used(b)-before)/float64(b.N), "cpu-ns/op")
}

// used returns the processor time of the process, in nanoseconds.
func used(b *testing.B) int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}

// loopConn is a connection that sends the same request again and again.
type loopConn struct {
	servertest.FakeConn
	request []byte
	left    int
}

var loopAddr = &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1)}

func (c *loopConn) Read(p []byte) (int, error) {
	if c.left == 0 {
		return 0, io.EOF
	}
	c.left--
	return copy(p, c.request), nil
}

func (c *loopConn) Write(p []byte) (int, error) { return len(p), nil }
func (c *loopConn) RemoteAddr() net.Addr        { return loopAddr }
