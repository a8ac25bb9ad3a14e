package tcplisten

import (
	"fmt"
	"net"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func TestOptionsAreSet(t *testing.T) {
	tests := []struct {
		name          string
		cfg           Config
		level, option int
	}{
		{"SO_REUSEPORT", Config{ReusePort: true}, unix.SOL_SOCKET, unix.SO_REUSEPORT},
		{"TCP_DEFER_ACCEPT", Config{DeferAccept: true}, unix.IPPROTO_TCP, unix.TCP_DEFER_ACCEPT},
		{"TCP_FASTOPEN", Config{FastOpen: true}, unix.IPPROTO_TCP, unix.TCP_FASTOPEN},
	}
	for i, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			ln := listen(t, &test.cfg, "tcp4", "127.0.0.1:0")
			for j, other := range tests {
				if got := option(t, ln, other.level, other.option) != 0; got != (i == j) {
					t.Errorf("%s is set: %v", other.name, got)
				}
			}
			exchange(t, ln)
		})
	}
}

// The system reports the length of the queue of a listener as its number of
// unacknowledged bytes.
func TestBacklogIsThatOfTheConfig(t *testing.T) {
	ln := listen(t, &Config{Backlog: 7}, "tcp4", "127.0.0.1:0")
	var info *unix.TCPInfo
	control(t, ln, func(fd int) (err error) {
		info, err = unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
		return err
	})
	if info.Sacked != 7 {
		t.Errorf("the queue has room for %d connections, want 7", info.Sacked)
	}
	exchange(t, ln)
}

func TestListenersShareAnAddress(t *testing.T) {
	cfg := &Config{ReusePort: true}
	first := listen(t, cfg, "tcp4", "127.0.0.1:0")
	second := listen(t, cfg, "tcp4", first.Addr().String())
	_ = first.Close()
	exchange(t, second)
}

func TestOptionErrorSaysWhatIsMissing(t *testing.T) {
	err := optionError("SO_REUSEPORT", syscall.ENOPROTOOPT)
	if text := err.Error(); !strings.Contains(text, "SO_REUSEPORT") || !strings.Contains(text, "linux") ||
		!strings.Contains(text, syscall.ENOPROTOOPT.Error()) {
		t.Errorf("the error says only %q", text)
	}
}

func option(t *testing.T, ln net.Listener, level, name int) (value int) {
	t.Helper()
	control(t, ln, func(fd int) (err error) {
		value, err = unix.GetsockoptInt(fd, level, name)
		return err
	})
	return value
}

func control(t *testing.T, ln net.Listener, f func(fd int) error) {
	t.Helper()
	c, err := ln.(*net.TCPListener).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if err := controlFD(c, func(fd uintptr) error { return f(int(fd)) }); err != nil {
		t.Fatal(fmt.Errorf("reading an option: %w", err))
	}
}
