package wsload

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/valyala/fasthttp/bench/internal/cputime"
	"github.com/valyala/fasthttp/bench/internal/stats"
)

const (
	// batch is how many sockets are read between looks at the clock.
	batch = 64
	// bufSize is how many bytes are read at once.
	bufSize = 256 << 10
	// pollTime is how often the loop checks whether it must end while nothing arrives.
	pollTime = 100 * time.Millisecond
)

// conn is one socket.
type conn struct {
	fd    int
	in    answers
	sent  int // messages
	got   int
	pongs int
	out   []byte          // what the socket has not taken yet
	times []time.Duration // when the messages in flight were sent, at their numbers modulo Depth
}

// loop is a load with its open sockets. Times are relative to begin.
type loop struct {
	Load
	over  <-chan struct{}
	texts *texts
	poll  int // descriptor of epoll
	conns []conn
	deaf  int        // descriptor, or -1
	tls   []net.Conn // instead of conns
	buf   []byte
	begin time.Time

	waiting int             // events that have yet to arrive
	sentAt  []time.Duration // of the messages of a broadcast
	end     time.Duration   // when to send no more messages
	counts  bool
	latest  time.Duration // when the last bytes arrived
	times   []time.Duration
}

// open opens the sockets and sends the messages that do not count. It gives up when over is
// closed.
func (l Load) open(over <-chan struct{}) (*loop, error) {
	if err := l.valid(); err != nil {
		return nil, err
	}
	if l.Kind == Idle {
		l.Depth = 1
	}
	p := &loop{
		Load: l, over: over, texts: newTexts(l), poll: -1, deaf: -1, buf: make([]byte, bufSize),
		conns: make([]conn, l.Conns), begin: time.Now(), times: make([]time.Duration, 0, 1<<20),
	}
	for i := range p.conns {
		p.conns[i].fd = -1
	}
	if p.TLS {
		if err := p.connectTLS(); err != nil {
			p.close()
			return nil, err
		}
		return p, nil
	}
	if err := p.connect(); err != nil {
		p.close()
		return nil, err
	}
	if err := p.run(l.Warm); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

func (p *loop) connect() (err error) {
	if p.poll, err = syscall.EpollCreate1(syscall.EPOLL_CLOEXEC); err != nil {
		return os.NewSyscallError("epoll_create1", err)
	}
	d, err := newDialer(p.Addr, p.path())
	if err != nil {
		return err
	}
	d.joins = p.Kind == Broadcast
	for i := range p.conns {
		c := &p.conns[i]
		if c.fd, err = d.dial(false); err != nil {
			return err
		}
		c.times = make([]time.Duration, max(1, p.Depth))
		if err := p.watch(syscall.EPOLL_CTL_ADD, i, syscall.EPOLLIN); err != nil {
			return err
		}
		if p.ended() {
			return errEnded
		}
	}
	if p.Deaf {
		p.deaf, err = d.dial(true)
	}
	return err
}

func (p *loop) watch(how, i int, events uint32) error {
	event := syscall.EpollEvent{Events: events, Fd: int32(i)}
	return os.NewSyscallError("epoll_ctl", syscall.EpollCtl(p.poll, how, p.conns[i].fd, &event))
}

func (p *loop) close() {
	for i := range p.conns {
		if fd := p.conns[i].fd; fd >= 0 {
			_ = syscall.Close(fd)
		}
	}
	for _, fd := range []int{p.deaf, p.poll} {
		if fd >= 0 {
			_ = syscall.Close(fd)
		}
	}
	for _, nc := range p.tls {
		_ = nc.Close()
	}
}

func (p *loop) ended() bool {
	select {
	case <-p.over:
		return true
	default:
		return false
	}
}

// measure sends the messages that count.
func (p *loop) measure() (r Result, err error) {
	if p.TLS {
		return r, errors.New("sockets over TLS send no more messages")
	}
	p.counts = true
	defer func() { p.counts = false }()
	p.times = p.times[:0]
	begin, used := time.Now(), cputime.Used()
	if err := p.run(p.Time); err != nil {
		return r, err
	}
	r = Result{Messages: len(p.times), Took: time.Since(begin), CPU: cputime.Used() - used}
	if len(p.times) == 0 {
		return r, errors.New("no message arrived")
	}
	r.P50, r.P99, r.Longest = stats.Percentile(p.times, 50), stats.Percentile(p.times, 99), stats.Percentile(p.times, 100)
	return r, nil
}

// run sends messages for d, and returns when all answers have arrived. In any case there is one
// message, or one on each Echo or Idle socket.
func (p *loop) run(d time.Duration) error {
	start := time.Since(p.begin)
	p.end, p.latest = start+d, start
	if p.Kind == Idle {
		p.end = start
	}
	if p.Kind == Broadcast {
		if err := p.broadcast(); err != nil {
			return err
		}
	} else {
		for i := range p.conns {
			if err := p.send(i, p.Depth); err != nil {
				return err
			}
		}
	}
	interval := time.Duration(0)
	if p.Rate > 0 {
		interval = time.Second / time.Duration(p.Rate)
	}
	next := start + interval
	for {
		now := time.Since(p.begin)
		timed := interval > 0 && next < p.end
		if p.waiting == 0 && !timed {
			return nil
		}
		pause := pollTime
		if timed {
			if now >= next {
				if err := p.broadcast(); err != nil {
					return err
				}
				next += interval
				continue
			}
			pause = min(pause, next-now)
		}
		if err := p.wait(pause); err != nil {
			return err
		}
	}
}

// wait waits for bytes and handles them.
func (p *loop) wait(pause time.Duration) error {
	var events [batch]syscall.EpollEvent
	n, err := syscall.EpollWait(p.poll, events[:], int((pause+time.Millisecond-1)/time.Millisecond))
	if err != nil && !errors.Is(err, syscall.EINTR) {
		return os.NewSyscallError("epoll_wait", err)
	}
	now := time.Since(p.begin)
	if n <= 0 {
		if p.ended() {
			return errEnded
		}
		if p.waiting > 0 && now-p.latest > giveUp {
			return fmt.Errorf("%d answers are missing, and nothing arrived for %v", p.waiting, giveUp)
		}
		return nil
	}
	p.latest = now
	for _, event := range events[:n] {
		i := int(event.Fd)
		if event.Events&syscall.EPOLLOUT != 0 {
			if err := p.write(i); err != nil {
				return err
			}
		}
		if event.Events&^syscall.EPOLLOUT != 0 {
			if err := p.receive(i, now); err != nil {
				return fmt.Errorf("socket %d: %w", i, err)
			}
		}
	}
	if p.Kind == Broadcast && p.Rate == 0 && p.waiting == 0 && now < p.end {
		return p.broadcast()
	}
	return nil
}

// receive reads the bytes that arrived at the time now, and sends as many messages as have returned.
func (p *loop) receive(i int, now time.Duration) error {
	c := &p.conns[i]
	n, err := syscall.Read(c.fd, p.buf)
	switch {
	case errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EINTR):
		return nil
	case err != nil:
		return os.NewSyscallError("read", err)
	case n == 0:
		return io.ErrUnexpectedEOF
	}
	returned := 0
	for in := p.buf[:n]; len(in) > 0; {
		read, done, err := c.in.next(in, p.texts.payloads[c.got%variants], p.texts.pings[c.pongs%variants])
		if err != nil {
			return err
		}
		in = in[read:]
		switch done {
		case message:
			if err := p.arrived(c, now); err != nil {
				return err
			}
			returned++
		case pong:
			if c.pongs++; c.pongs > c.sent || !p.Ping {
				return errors.New("a pong has no ping")
			}
			p.waiting--
		case ping:
			if err := p.write(i, appendFrame(nil, finBit|opPong, c.in.control, uint32(now))...); err != nil {
				return err
			}
		}
	}
	if returned > 0 && p.Kind == Echo && now < p.end {
		return p.send(i, returned)
	}
	return nil
}

// arrived counts the next message of a socket.
func (p *loop) arrived(c *conn, now time.Duration) error {
	var sent time.Duration
	if p.Kind == Broadcast {
		if c.got >= len(p.sentAt) {
			return errors.New("a message arrived that was not sent")
		}
		sent = p.sentAt[c.got]
	} else {
		if c.got >= c.sent {
			return errors.New("a message arrived that was not sent")
		}
		sent = c.times[c.got%len(c.times)]
	}
	c.got++
	p.waiting--
	if p.counts {
		// It may have arrived while this batch was handled, in which it was sent.
		p.times = append(p.times, max(0, now-sent))
	}
	return nil
}

// send sends the next n messages of a socket.
func (p *loop) send(i, n int) error {
	c := &p.conns[i]
	now := time.Since(p.begin)
	out := p.texts.from(c.sent, n)
	for range n {
		c.times[c.sent%len(c.times)] = now
		c.sent++
		p.waiting++
		if p.Ping {
			p.waiting++
		}
	}
	if !p.Bytes {
		return p.write(i, out...)
	}
	for j := range out {
		if err := p.write(i, out[j:j+1]...); err != nil {
			return err
		}
	}
	return nil
}

// broadcast sends the next message of the first socket to all.
func (p *loop) broadcast() error {
	out := p.texts.from(len(p.sentAt), 1)
	p.sentAt = append(p.sentAt, time.Since(p.begin))
	p.waiting += len(p.conns)
	return p.write(0, out...)
}

// write writes what the socket has not taken yet and more, as far as the socket takes it.
func (p *loop) write(i int, more ...byte) error {
	c := &p.conns[i]
	waits := len(c.out) > 0
	if waits {
		c.out = append(c.out[:len(c.out):len(c.out)], more...)
	} else {
		c.out = more
	}
	if len(c.out) > 0 {
		n, err := syscall.Write(c.fd, c.out)
		if err != nil && !errors.Is(err, syscall.EAGAIN) && !errors.Is(err, syscall.EINTR) {
			return os.NewSyscallError("write", err)
		}
		c.out = c.out[max(0, n):]
	}
	switch {
	case len(c.out) == 0:
		c.out = nil
		if waits {
			return p.watch(syscall.EPOLL_CTL_MOD, i, syscall.EPOLLIN)
		}
	case !waits:
		return p.watch(syscall.EPOLL_CTL_MOD, i, syscall.EPOLLIN|syscall.EPOLLOUT)
	}
	return nil
}
