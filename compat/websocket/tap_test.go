package websocket

import (
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/valyala/fasthttp/compat/internal/process"
)

// tap passes connections on to a server, and counts their bytes.
type tap struct {
	ln       net.Listener
	out      string
	sent     atomic.Int64 // by the client
	received atomic.Int64 // by the client
	done     sync.WaitGroup
}

// newTap starts a tap, which the end of the test stops.
func newTap(t *testing.T, out string) *tap {
	t.Helper()
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	tp := &tap{ln: ln, out: out}
	tp.done.Go(tp.accept)
	t.Cleanup(func() {
		_ = ln.Close()
		tp.done.Wait()
	})
	return tp
}

func (tp *tap) addr() string { return tp.ln.Addr().String() }

func (tp *tap) accept() {
	for {
		in, err := tp.ln.Accept()
		if err != nil {
			return
		}
		out, err := net.DialTimeout("tcp4", tp.out, process.Patience)
		if err != nil {
			_ = in.Close()
			continue
		}
		tp.done.Go(func() {
			var both sync.WaitGroup
			both.Go(func() { pass(out, in, &tp.sent) })
			both.Go(func() { pass(in, out, &tp.received) })
			both.Wait()
			_ = in.Close()
			_ = out.Close()
		})
	}
}

// pass copies until one side ends, and ends the other.
func pass(dst, src net.Conn, n *atomic.Int64) {
	b := make([]byte, 1<<15)
	for {
		size, err := src.Read(b)
		n.Add(int64(size))
		if _, failed := dst.Write(b[:size]); failed != nil {
			_ = src.Close()
			return
		}
		if err != nil {
			break
		}
	}
	if c, ok := dst.(interface{ CloseWrite() error }); ok {
		_ = c.CloseWrite()
	}
}
