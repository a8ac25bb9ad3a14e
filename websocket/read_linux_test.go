package websocket

import (
	"bytes"
	"net"
	"os"
	"syscall"
	"testing"

	"github.com/valyala/fasthttp/internal/servertest"
	"github.com/valyala/fasthttp/internal/ws"
)

// unixPair returns the two ends of a connection to which a write gets all bytes at once.
func unixPair(t *testing.T) (a, b net.Conn) {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	servertest.Must(t, err)
	var ends [2]net.Conn
	for i, fd := range fds {
		f := os.NewFile(uintptr(fd), "end")
		nc, err := net.FileConn(f)
		servertest.Must(t, err)
		_ = f.Close()
		t.Cleanup(func() { _ = nc.Close() })
		ends[i] = nc
	}
	return ends[0], ends[1]
}

// A Conn reads messages of 64 KiB with one read each, until little arrives again. Neither the wait
// for the next message nor the first bytes of it hold the buffer for that.
func TestConnReadsMuchAtOnce(t *testing.T) {
	peer, own := unixPair(t)
	c := newConn(own, ws.Server, agreement{}, options{compression: &Compression{}}, nil)
	reads, held := 0, 0
	tryRead := c.tryRead
	c.tryRead = func(fd uintptr) bool {
		if reads++; c.in != nil {
			held = max(held, cap(c.in.B))
		}
		return tryRead(fd)
	}
	frame := func(size int) []byte {
		h := ws.Head{Opcode: ws.Binary, Fin: true, Masked: true, Key: 0x12345678}
		return ws.AppendFrame(nil, h, bytes.Repeat([]byte{byte(size)}, size))
	}
	send := func(p []byte) {
		t.Helper()
		_, err := peer.Write(p)
		servertest.Must(t, err)
	}
	buf := make([]byte, 0, 128<<10)
	receive := func(size int) {
		t.Helper()
		reads = 0
		_, p, err := c.AppendMessage(buf)
		if err != nil || !bytes.Equal(p, bytes.Repeat([]byte{byte(size)}, size)) {
			t.Fatalf("received %d bytes, %v, want %d", len(p), err, size)
		}
	}
	const large = 64 << 10
	for i, tt := range []struct{ size, reads int }{
		{125, 1}, {large, 0}, {large, 1}, {large, 1}, {5000, 1}, {large, 1}, {125, 1}, {125, 1},
	} {
		send(frame(tt.size))
		receive(tt.size)
		if tt.reads > 0 && reads != tt.reads {
			t.Errorf("%d: %d bytes were read with %d reads, want %d", i, tt.size, reads, tt.reads)
		}
		if c.in != nil {
			t.Errorf("%d: a Conn that waits has a buffer", i)
		}
	}
	if c.much {
		t.Error("a Conn to which little arrives reads into a large buffer")
	}
	for _, ahead := range []int{1, 3, 13} {
		send(frame(large))
		receive(large)
		next := frame(large)
		send(append(frame(large), next[:ahead]...))
		receive(large)
		send(next[ahead:])
		held = 0
		receive(large)
		if held == 0 || held > 2*readSize {
			t.Errorf("%d bytes wait in a buffer of %d", ahead, held)
		}
	}
}
