package fasthttp

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
)

func TestCommonErrorsAreNotLogged(t *testing.T) {
	for _, test := range []struct {
		err    error
		common bool
	}{
		{io.EOF, true},
		{syscall.ECONNRESET, true},
		{syscall.EPIPE, true},
		{syscall.ETIMEDOUT, true},
		{syscall.EHOSTUNREACH, true},
		{syscall.ENETUNREACH, true},
		{os.ErrDeadlineExceeded, true},
		{syscall.EBADF, false},
		{errors.New("another"), false},
	} {
		err := &net.OpError{Op: "read", Err: os.NewSyscallError("read", test.err)}
		if got := isCommon(err); got != test.common {
			t.Errorf("%v: got %v", err, got)
		}
	}
}
