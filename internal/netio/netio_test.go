package netio

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
)

// lazy returns no bytes in its first reads, then the bytes of r.
type lazy struct {
	empty int
	r     func(p []byte) (int, error)
}

func (l *lazy) Read(p []byte) (int, error) {
	if l.empty--; l.empty >= 0 {
		return 0, nil
	}
	return l.r(p)
}

func TestSomeWaitsForAByteOrAnError(t *testing.T) {
	for _, c := range []struct {
		empty, n int
		err      error
	}{
		{0, 1, nil}, {0, 3, io.EOF}, {0, 0, io.EOF}, {maxEmpty - 1, 2, nil}, {maxEmpty - 1, 0, io.ErrUnexpectedEOF},
	} {
		n, err := Some(&lazy{c.empty, func([]byte) (int, error) { return c.n, c.err }}, make([]byte, 8))
		if n != c.n || err != c.err {
			t.Errorf("after %d empty reads: %d, %v, want %d, %v", c.empty, n, err, c.n, c.err)
		}
	}
}

func TestSomeGivesUp(t *testing.T) {
	n, err := Some(&lazy{maxEmpty, func([]byte) (int, error) { return 1, nil }}, make([]byte, 8))
	if n != 0 || err != io.ErrNoProgress {
		t.Errorf("got %d, %v", n, err)
	}
}

type ends struct{ local, remote net.Addr }

func (e ends) LocalAddr() net.Addr  { return e.local }
func (e ends) RemoteAddr() net.Addr { return e.remote }

func TestOp(t *testing.T) {
	here, there := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1}, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 2}
	c := ends{here, there}
	for _, err := range []error{nil, io.EOF} {
		if got := Op(c, "read", err); got != err {
			t.Errorf("%v became %v", err, got)
		}
	}
	for _, tc := range []struct {
		err     error
		text    string
		timeout bool
	}{
		{syscall.ECONNRESET, "read tcp 127.0.0.1:1->127.0.0.1:2: read: connection reset by peer", false},
		{os.NewSyscallError("recv", syscall.ECONNRESET), "read tcp 127.0.0.1:1->127.0.0.1:2: recv: connection reset by peer", false},
		{os.ErrDeadlineExceeded, "read tcp 127.0.0.1:1->127.0.0.1:2: i/o timeout", true},
		{net.ErrClosed, "read tcp 127.0.0.1:1->127.0.0.1:2: use of closed network connection", false},
	} {
		got := Op(c, "read", tc.err)
		told, ok := got.(*net.OpError)
		if !ok || got.Error() != tc.text || told.Timeout() != tc.timeout || !errors.Is(got, errors.Unwrap(got)) {
			t.Errorf("%v became %T %v", tc.err, got, got)
		}
		if again := Op(c, "read", got); again != got {
			t.Errorf("%v became %v", got, again)
		}
	}
	if got := Op(ends{}, "write", net.ErrClosed).Error(); got != "write: use of closed network connection" {
		t.Errorf("without addresses: %s", got)
	}
}
