package wsload

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"syscall"
	"time"
)

// The key of RFC 6455 1.3 and its answer.
const (
	key    = "dGhlIHNhbXBsZSBub25jZQ=="
	accept = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
)

// Of a deaf socket: the size of its packets makes the kernel of the server give it a small
// buffer, too.
const (
	deafSegment = 536
	deafBuffer  = 4 << 10
)

// dialer opens sockets.
type dialer struct {
	to      *syscall.SockaddrInet4
	request []byte
	// joins makes each socket wait until the server reads from it: then it belongs to its group
	joins bool
}

func newDialer(addr, path string) (*dialer, error) {
	parsed, err := netip.ParseAddrPort(addr)
	if err != nil {
		return nil, err
	}
	if !parsed.Addr().Is4() {
		return nil, fmt.Errorf("%s is not an address of IPv4", addr)
	}
	return &dialer{
		to: &syscall.SockaddrInet4{Port: int(parsed.Port()), Addr: parsed.Addr().As4()},
		request: fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: %s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"+
			"Sec-WebSocket-Key: %s\r\nSec-WebSocket-Version: 13\r\n\r\n", path, addr, key),
	}, nil
}

// dial connects and performs the opening handshake. The descriptor is then non-blocking.
func (d *dialer) dial(deaf bool) (fd int, err error) {
	fd, err = syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, os.NewSyscallError("socket", err)
	}
	if err := d.prepare(fd, deaf); err != nil {
		_ = syscall.Close(fd)
		return -1, err
	}
	return fd, nil
}

func (d *dialer) prepare(fd int, deaf bool) error {
	if deaf {
		if err := errors.Join(
			os.NewSyscallError("TCP_MAXSEG", syscall.SetsockoptInt(fd, syscall.IPPROTO_TCP, syscall.TCP_MAXSEG, deafSegment)),
			os.NewSyscallError("SO_RCVBUF", syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_RCVBUF, deafBuffer)),
		); err != nil {
			return err
		}
	}
	limit := syscall.NsecToTimeval(int64(giveUp))
	if err := errors.Join(
		syscall.SetsockoptInt(fd, syscall.IPPROTO_TCP, syscall.TCP_NODELAY, 1),
		// The kernel keeps no closed connection, so that the ports are free for the next run.
		syscall.SetsockoptLinger(fd, syscall.SOL_SOCKET, syscall.SO_LINGER, &syscall.Linger{Onoff: 1}),
		syscall.SetsockoptTimeval(fd, syscall.SOL_SOCKET, syscall.SO_RCVTIMEO, &limit),
	); err != nil {
		return os.NewSyscallError("setsockopt", err)
	}
	if err := syscall.Connect(fd, d.to); err != nil {
		return os.NewSyscallError("connect", err)
	}
	if n, err := syscall.Write(fd, d.request); err != nil || n < len(d.request) {
		return fmt.Errorf("the request was written up to byte %d: %w", n, err)
	}
	if err := d.confirm(fd); err != nil {
		return err
	}
	if d.joins {
		if err := d.join(fd); err != nil {
			return err
		}
	}
	return os.NewSyscallError("fcntl", syscall.SetNonblock(fd, true))
}

// confirm reads the response to the handshake.
func (d *dialer) confirm(fd int) error {
	var buf [2048]byte
	have := 0
	for {
		n, err := syscall.Read(fd, buf[have:])
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, syscall.EAGAIN):
			return fmt.Errorf("the handshake had no answer for %v", giveUp)
		case err != nil:
			return os.NewSyscallError("read", err)
		case n == 0:
			return fmt.Errorf("the server or the buffer ends after %q: %w", buf[:have], io.ErrUnexpectedEOF)
		}
		have += n
		head, rest, whole := bytes.Cut(buf[:have], []byte("\r\n\r\n"))
		if !whole {
			continue
		}
		if !bytes.HasPrefix(head, []byte("HTTP/1.1 101 ")) || !bytes.Contains(head, []byte(accept)) || len(rest) > 0 {
			return fmt.Errorf("the server does not switch protocols: %q", buf[:have])
		}
		return nil
	}
}

// join sends a ping and waits for the pong.
func (d *dialer) join(fd int) error {
	word := []byte("joined?")
	frame := appendFrame(nil, finBit|opPing, word, 1)
	if n, err := syscall.Write(fd, frame); err != nil || n < len(frame) {
		return fmt.Errorf("a ping was written up to byte %d: %w", n, err)
	}
	var in answers
	var buf [64]byte
	for {
		n, err := syscall.Read(fd, buf[:])
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, syscall.EAGAIN):
			return fmt.Errorf("a ping had no answer for %v", giveUp)
		case err != nil:
			return os.NewSyscallError("read", err)
		case n == 0:
			return io.ErrUnexpectedEOF
		}
		switch read, done, err := in.next(buf[:n], nil, word); {
		case err != nil:
			return err
		case done == pong && read == n:
			return nil
		case done != nothing:
			return fmt.Errorf("something else than a pong arrived: %q", buf[:n])
		}
	}
}

// giveUp is how long a server may send nothing while it owes an answer.
const giveUp = time.Minute
