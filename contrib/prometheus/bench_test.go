//go:build unix

package fasthttpprometheus

import (
	"io"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/accesslog"
)

// BenchmarkServer has the time of a request without a network: subtract "hook" or "none".
func BenchmarkServer(b *testing.B) {
	log := func(s *fasthttp.Server) {
		l := accesslog.New(accesslog.Options{Writer: io.Discard})
		b.Cleanup(func() { _ = l.Close() })
		l.Attach(s)
	}
	for _, bb := range []struct {
		name   string
		attach func(s *fasthttp.Server)
	}{
		{"none", func(*fasthttp.Server) {}},
		{"log", log},
		{"metrics", func(s *fasthttp.Server) { NewServer(s, Options{}) }},
		{"metrics and states", func(s *fasthttp.Server) { NewServer(s, Options{ConnStates: true}) }},
		{"log and metrics", func(s *fasthttp.Server) { log(s); NewServer(s, Options{}) }},
	} {
		b.Run(bb.name, func(b *testing.B) {
			s := &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) { ctx.SetBodyString("hello") }}
			bb.attach(s)
			serve(b, s)
		})
	}
}

// serve measures requests to s. cpu-ns/op has the time of all goroutines.
func serve(b *testing.B, s *fasthttp.Server) {
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
	net.Conn
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

func (c *loopConn) Write(p []byte) (int, error)      { return len(p), nil }
func (c *loopConn) Close() error                     { return nil }
func (c *loopConn) LocalAddr() net.Addr              { return loopAddr }
func (c *loopConn) RemoteAddr() net.Addr             { return loopAddr }
func (c *loopConn) SetDeadline(time.Time) error      { return nil }
func (c *loopConn) SetReadDeadline(time.Time) error  { return nil }
func (c *loopConn) SetWriteDeadline(time.Time) error { return nil }
