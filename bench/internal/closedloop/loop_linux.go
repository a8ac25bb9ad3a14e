package closedloop

import (
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"syscall"
	"time"

	"github.com/valyala/fasthttp/bench/internal/probe"
	"github.com/valyala/fasthttp/bench/internal/stats"
)

// giveUp is how long the last requests may take to be answered.
const giveUp = 10 * time.Second

// batch is how many answers are read between looks at the clock and at epoll. With a larger
// batch, an answer that arrives meanwhile would be noticed late.
const batch = 16

// pollTime is how often the loop checks the clock while no answer arrives.
const pollTime = 100 * time.Millisecond

// loop is a running load. Times are relative to its start.
type loop struct {
	Load
	poll     int // descriptor of epoll
	conns    []conn
	usual    []byte // the request for "/"
	rare     []byte // the request for Path
	begin    time.Time
	sent     int
	waiting  int // connections with an unanswered request
	answered int // requests answered between warm and end
	times    []time.Duration
}

// conn is one connection. It always has a request in progress until the end.
type conn struct {
	fd   int
	sent time.Duration
	have int // bytes in buf
	buf  [1024]byte
}

// run puts the load on the server. It gives up when over is closed.
func (l Load) run(over <-chan struct{}) (r Result, err error) {
	p := &loop{
		Load:  l,
		conns: make([]conn, l.Conns),
		usual: probe.Request(l.Addr, "/"),
		rare:  probe.Request(l.Addr, l.Path),
		times: make([]time.Duration, 0, 1<<18),
	}
	if p.poll, err = syscall.EpollCreate1(syscall.EPOLL_CLOEXEC); err != nil {
		return r, os.NewSyscallError("epoll_create1", err)
	}
	defer syscall.Close(p.poll)
	defer p.close()
	if err := p.connect(); err != nil {
		return r, err
	}
	p.begin = time.Now()
	for i := range p.conns {
		if err := p.send(&p.conns[i]); err != nil {
			return r, err
		}
	}
	if err := p.turn(over); err != nil {
		return r, err
	}
	if len(p.times) == 0 {
		return r, errors.New("no request was sent when those began that count")
	}
	return Result{
		Sent: p.sent,
		Rate: float64(p.answered) / l.Time.Seconds(),
		P50:  stats.Percentile(p.times, 50),
		P99:  stats.Percentile(p.times, 99),
	}, nil
}

// connect opens all connections.
func (p *loop) connect() error {
	addr, err := netip.ParseAddrPort(p.Addr)
	if err != nil {
		return err
	}
	to := &syscall.SockaddrInet4{Port: int(addr.Port()), Addr: addr.Addr().As4()}
	for i := range p.conns {
		p.conns[i].fd = -1
	}
	for i := range p.conns {
		fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
		if err != nil {
			return os.NewSyscallError("socket", err)
		}
		p.conns[i].fd = fd
		if err := syscall.Connect(fd, to); err != nil {
			return os.NewSyscallError("connect", err)
		}
		event := syscall.EpollEvent{Events: syscall.EPOLLIN, Fd: int32(i)}
		if err := errors.Join(
			syscall.SetsockoptInt(fd, syscall.IPPROTO_TCP, syscall.TCP_NODELAY, 1),
			// The kernel keeps no closed connection, so that the ports are free for the next
			// run.
			syscall.SetsockoptLinger(fd, syscall.SOL_SOCKET, syscall.SO_LINGER, &syscall.Linger{Onoff: 1}),
			syscall.SetNonblock(fd, true),
			syscall.EpollCtl(p.poll, syscall.EPOLL_CTL_ADD, fd, &event),
		); err != nil {
			return err
		}
	}
	return nil
}

func (p *loop) close() {
	for i := range p.conns {
		if fd := p.conns[i].fd; fd >= 0 {
			_ = syscall.Close(fd)
		}
	}
}

// turn sends a request after each answer until the time is over, and returns
// when all are answered.
func (p *loop) turn(over <-chan struct{}) error {
	var events [batch]syscall.EpollEvent
	for p.waiting > 0 {
		n, err := syscall.EpollWait(p.poll, events[:], int(pollTime/time.Millisecond))
		now := time.Since(p.begin)
		if err != nil && !errors.Is(err, syscall.EINTR) {
			return os.NewSyscallError("epoll_wait", err)
		}
		if n <= 0 {
			select {
			case <-over:
				return errors.New("ended too early")
			default:
			}
		}
		if now > p.Warm+p.Time+giveUp {
			return fmt.Errorf("%d of %d connections had no answer for %v", p.waiting, len(p.conns), giveUp)
		}
		for _, event := range events[:max(0, n)] {
			if err := p.receive(&p.conns[event.Fd], now); err != nil {
				return err
			}
		}
	}
	return nil
}

// receive reads the bytes that arrived, at the time now. If the answer is complete, it sends
// the next request.
func (p *loop) receive(c *conn, now time.Duration) error {
	n, err := syscall.Read(c.fd, c.buf[c.have:])
	switch {
	case errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EINTR):
		return nil
	case err != nil:
		return os.NewSyscallError("read", err)
	case n == 0:
		return fmt.Errorf("the server or the buffer ends after %q: %w", c.buf[:c.have], io.ErrUnexpectedEOF)
	}
	c.have += n
	whole, err := probe.Check(c.buf[:c.have])
	if err != nil || !whole {
		return err
	}
	c.have = 0
	p.waiting--
	end := p.Warm + p.Time
	if now >= p.Warm && now < end {
		p.answered++
	}
	if c.sent >= p.Warm {
		p.times = append(p.times, now-c.sent)
	}
	if now >= end {
		return nil
	}
	return p.send(c)
}

// send sends the next request.
func (p *loop) send(c *conn) error {
	request := p.usual
	if p.sent%p.Every == 0 {
		request = p.rare
	}
	p.sent++
	p.waiting++
	c.sent = time.Since(p.begin)
	n, err := syscall.Write(c.fd, request)
	if err == nil && n < len(request) {
		err = io.ErrShortWrite
	}
	return os.NewSyscallError("write", err)
}
