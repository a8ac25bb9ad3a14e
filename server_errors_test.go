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
		err          error
		common, read bool
	}{
		{io.EOF, true, true},
		{syscall.ECONNRESET, true, true},
		{syscall.EPIPE, true, true},
		{syscall.ETIMEDOUT, true, true},
		{syscall.EHOSTUNREACH, false, true},
		{syscall.ENETUNREACH, false, true},
		{os.ErrDeadlineExceeded, true, true},
		{syscall.EBADF, false, false},
		{errors.New("another"), false, false},
	} {
		err := &net.OpError{Op: "read", Err: os.NewSyscallError("read", test.err)}
		if got, read := isCommon(err), isCommonRead(err); got != test.common || read != test.read {
			t.Errorf("%v: got %v, and %v for reads", err, got, read)
		}
	}
}
