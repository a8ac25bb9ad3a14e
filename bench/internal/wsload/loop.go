package wsload

import (
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/valyala/fasthttp/bench/internal/cputime"
	"github.com/valyala/fasthttp/bench/internal/epoll"
	"github.com/valyala/fasthttp/bench/internal/stats"
)

const (
	// batch is how many sockets are read between looks at the clock.
	batch = 64
	// bufSize is how many bytes are read at once.
	bufSize = 256 << 10
	// pollTime is how often the loop checks whether it must end while nothing arrives.
	pollTime = 100 * time.Millisecond
	// giveUp is how long a server may send nothing while it owes an answer.
	giveUp = time.Minute
)

// conn is one socket.
type conn struct {
	in    answers
	sent  int // messages
	got   int
	out   []byte          // what the socket has not taken yet
	times []time.Duration // when the messages in flight were sent, at their numbers modulo Depth
}

// loop is a load with its open sockets. Times are relative to begin.
type loop struct {
	Load
	over    <-chan struct{}
	texts   *texts
	sockets *epoll.Conns
	conns   []conn
	held    []net.Conn // idle sockets, or the one that does not read
	buf     []byte
	begin   time.Time

	waiting int             // messages that have yet to arrive
	sentAt  []time.Duration // of the messages of a broadcast
	end     time.Duration   // when to send no more messages
	counts  bool
	latest  time.Duration // when the last bytes arrived
	times   []time.Duration
}

// open opens the sockets and sends the messages that do not count. It gives up when over is
// closed.
func (l Load) open(over <-chan struct{}) (p *loop, err error) {
	if err := l.valid(); err != nil {
		return nil, err
	}
	p = &loop{
		Load: l, over: over, texts: newTexts(l), buf: make([]byte, bufSize),
		conns: make([]conn, l.Conns), begin: time.Now(), times: make([]time.Duration, 0, 1<<20),
	}
	if p.sockets, err = epoll.New(batch); err != nil {
		return nil, err
	}
	if err = p.connect(); err == nil && l.Kind != Idle {
		err = p.run(l.Warm)
	}
	return p, err
}

func (p *loop) connect() error {
	for i := range p.conns {
		nc, err := p.dial(nil)
		switch {
		case err != nil:
			return fmt.Errorf("socket %d: %w", i, err)
		case p.Kind == Idle:
			p.held = append(p.held, nc)
			err = exchange(nc, p.texts.from(0, 1), p.texts.payloads[0], nil, message)
		default:
			p.conns[i].times = make([]time.Duration, max(1, p.Depth))
			err = p.sockets.Add(nc)
		}
		if err != nil {
			return fmt.Errorf("socket %d: %w", i, err)
		}
		if p.ended() {
			return errEnded
		}
	}
	if !p.Deaf {
		return nil
	}
	nc, err := p.dial(epoll.Deafen)
	if err == nil {
		p.held = append(p.held, nc)
	}
	return err
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
	if p.Kind == Idle {
		return r, errors.New("idle sockets send no more messages")
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
// message, or one on each Echo socket.
func (p *loop) run(d time.Duration) error {
	start := time.Since(p.begin)
	p.end, p.latest = start+d, start
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
	events, err := p.sockets.Wait(pause)
	if err != nil {
		return err
	}
	now := time.Since(p.begin)
	if len(events) == 0 {
		if p.ended() {
			return errEnded
		}
		if p.waiting > 0 && now-p.latest > giveUp {
			return fmt.Errorf("%d messages are missing, and nothing arrived for %v", p.waiting, giveUp)
		}
		return nil
	}
	p.latest = now
	for _, event := range events {
		if event.Writable {
			if err := p.write(event.Conn, nil); err != nil {
				return err
			}
		}
		if event.Readable {
			if err := p.receive(event.Conn, now); err != nil {
				return fmt.Errorf("socket %d: %w", event.Conn, err)
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
	n, err := p.sockets.Read(i, p.buf)
	if err != nil {
		return err
	}
	returned := 0
	for in := p.buf[:n]; len(in) > 0; {
		read, done, err := c.in.next(in, p.texts.payloads[c.got%variants], nil)
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
			return errors.New("a pong has no ping")
		case ping:
			if err := p.write(i, appendFrame(nil, finBit|opPong, c.in.control, uint32(now))); err != nil {
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
	}
	return p.write(i, out)
}

// broadcast sends the next message of the first socket to all.
func (p *loop) broadcast() error {
	out := p.texts.from(len(p.sentAt), 1)
	p.sentAt = append(p.sentAt, time.Since(p.begin))
	p.waiting += len(p.conns)
	return p.write(0, out)
}

// write writes what the socket has not taken yet and more, as far as the socket takes it.
func (p *loop) write(i int, more []byte) error {
	c := &p.conns[i]
	waits := len(c.out) > 0
	if waits {
		c.out = append(c.out[:len(c.out):len(c.out)], more...)
	} else {
		c.out = more
	}
	if len(c.out) > 0 {
		n, err := p.sockets.Write(i, c.out)
		if err != nil {
			return err
		}
		c.out = c.out[n:]
	}
	if left := len(c.out) > 0; left != waits {
		return p.sockets.WaitToWrite(i, left)
	}
	return nil
}
