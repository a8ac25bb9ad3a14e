package closedloop

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/valyala/fasthttp/bench/internal/epoll"
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
	sockets  *epoll.Conns
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
	if p.sockets, err = epoll.New(batch); err != nil {
		return r, err
	}
	defer p.sockets.Close()
	if err := p.sockets.Dial(l.Addr, l.Conns); err != nil {
		return r, err
	}
	p.begin = time.Now()
	for i := range p.conns {
		if err := p.send(i); err != nil {
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

// turn sends a request after each answer until the time is over, and returns
// when all are answered.
func (p *loop) turn(over <-chan struct{}) error {
	for p.waiting > 0 {
		events, err := p.sockets.Wait(pollTime)
		if err != nil {
			return err
		}
		now := time.Since(p.begin)
		if len(events) == 0 {
			select {
			case <-over:
				return errors.New("ended too early")
			default:
			}
		}
		if now > p.Warm+p.Time+giveUp {
			return fmt.Errorf("%d of %d connections had no answer for %v", p.waiting, len(p.conns), giveUp)
		}
		for _, event := range events {
			if err := p.receive(event.Conn, now); err != nil {
				return err
			}
		}
	}
	return nil
}

// receive reads the bytes that arrived, at the time now. If the answer is complete, it sends
// the next request.
func (p *loop) receive(i int, now time.Duration) error {
	c := &p.conns[i]
	n, err := p.sockets.Read(i, c.buf[c.have:])
	if err != nil {
		return fmt.Errorf("the server or the buffer ends after %q: %w", c.buf[:c.have], err)
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
	return p.send(i)
}

// send sends the next request.
func (p *loop) send(i int) error {
	request := p.usual
	if p.sent%p.Every == 0 {
		request = p.rare
	}
	p.sent++
	p.waiting++
	p.conns[i].sent = time.Since(p.begin)
	n, err := p.sockets.Write(i, request)
	if err == nil && n < len(request) {
		err = io.ErrShortWrite
	}
	return err
}
