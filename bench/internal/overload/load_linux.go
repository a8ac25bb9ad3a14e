package overload

import (
	"errors"
	"math/rand/v2"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"

	"github.com/valyala/fasthttp/bench/internal/stats"
)

// The client is one goroutine that never waits: it sends each request when it is due, however
// many responses are missing, as the many clients of a public service do.

// client has connections to the server.
type client struct {
	set   int
	conns map[int32]*conn
	idle  []*conn
	to    unix.SockaddrInet4
}

// conn is a connection with one request at a time.
type conn struct {
	fd   int
	due  time.Time // of the request
	data []byte    // of the response
}

// dial opens n connections.
func dial(addr netip.AddrPort, n int) (*client, error) {
	set, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, err
	}
	c := &client{set: set, conns: map[int32]*conn{}, to: unix.SockaddrInet4{Port: int(addr.Port()), Addr: addr.Addr().As4()}}
	for range n {
		if err := c.open(); err != nil {
			c.close()
			return nil, err
		}
	}
	return c, nil
}

func (c *client) open() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	if err := unix.Connect(fd, &c.to); err != nil {
		_ = unix.Close(fd)
		return err
	}
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
	_ = unix.SetNonblock(fd, true)
	x := &conn{fd: fd}
	c.conns[int32(fd)] = x
	c.idle = append(c.idle, x)
	return unix.EpollCtl(c.set, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)})
}

func (c *client) close() {
	for _, x := range c.conns {
		_ = unix.Close(x.fd)
	}
	_ = unix.Close(c.set)
}

// load sends rate requests per second, at random times, for this long. A rate of 0 means as many
// as the connections allow.
func (c *client) load(rate float64, lasts time.Duration) (Result, error) {
	begin := time.Now()
	end := begin.Add(lasts)
	due := begin
	var sent, refused, unsent int
	var times []time.Duration
	for {
		now := time.Now()
		if now.After(end) && (len(c.idle) == len(c.conns) || now.After(end.Add(10*time.Second))) {
			break
		}
		for now.Before(end) && !due.After(now) {
			if len(c.idle) == 0 {
				if rate == 0 {
					break
				}
				unsent++
			} else if err := c.send(due, rate == 0); err != nil {
				return Result{}, err
			}
			sent++
			if rate > 0 {
				due = due.Add(time.Duration(rand.ExpFloat64() / rate * float64(time.Second)))
			}
		}
		err := c.receive(func(took time.Duration, status int) {
			if status != 200 {
				refused++
			} else {
				times = append(times, took)
			}
		})
		if err != nil {
			return Result{}, err
		}
	}
	if sent == 0 || len(c.idle) < len(c.conns) {
		return Result{}, errors.New("some requests got no response")
	}
	return Result{
		Offered: float64(sent) / lasts.Seconds(), Served: float64(len(times)) / lasts.Seconds(),
		Refused: float64(refused) / float64(sent), Unsent: float64(unsent) / float64(sent),
		P50: stats.Percentile(times, 50), P99: stats.Percentile(times, 99),
	}, nil
}

var request = []byte("GET /work HTTP/1.1\r\nHost: overload\r\n\r\n")

// send sends a request over an idle connection.
func (c *client) send(due time.Time, closed bool) error {
	x := c.idle[len(c.idle)-1]
	c.idle = c.idle[:len(c.idle)-1]
	if x.due, x.data = due, x.data[:0]; closed {
		x.due = time.Now()
	}
	_, err := unix.Write(x.fd, request)
	return err
}

// receive takes the responses that have arrived.
func (c *client) receive(got func(took time.Duration, status int)) error {
	var events [256]unix.EpollEvent
	n, err := unix.EpollWait(c.set, events[:], 0)
	if err != nil && err != unix.EINTR {
		return err
	}
	for _, ev := range events[:max(n, 0)] {
		x := c.conns[ev.Fd]
		var buf [4096]byte
		n, err := unix.Read(x.fd, buf[:])
		if err == unix.EAGAIN || err == unix.EINTR {
			continue
		}
		if n <= 0 {
			return errors.New("the server has closed a connection")
		}
		x.data = append(x.data, buf[:n]...)
		if status, whole := parse(x.data); whole {
			got(time.Since(x.due), status)
			c.idle = append(c.idle, x)
		}
	}
	return nil
}
