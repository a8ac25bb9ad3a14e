package netio

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
)

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
