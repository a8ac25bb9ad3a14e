package pipeline

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp/internal/clientconn"
)

// Config is the configuration of a Lanes. It must not be changed after Start.
type Config[R any] struct {
	// Connect returns a connection, and the function that reads responses from it:
	// see Lane.Next. That runs on a goroutine of its own and returns why it has ended,
	// io.EOF if the server has closed the connection or has announced that with a
	// response.
	Connect func(*Lane[R]) (conn *clientconn.Conn, read func() error, err error)

	// MaxPending is how many calls may wait to be sent on each connection, and how
	// many for their response there.
	MaxPending int
	// WriteSize is how many bytes of requests are collected for one write.
	WriteSize int
	// MaxBatchDelay is how long a request may wait for other requests to be sent with
	// it.
	MaxBatchDelay time.Duration
	// MaxIdle is how long a connection may be unused before it is closed.
	MaxIdle time.Duration
	// ReadTimeout limits the wait for each response, and WriteTimeout each write; 0
	// for no limit.
	ReadTimeout, WriteTimeout time.Duration
	// DrainingTime is how long responses are waited for after requests cannot be sent
	// any more.
	DrainingTime time.Duration
	// EarlyTime is how long a request may still be on its way when its response is
	// complete.
	EarlyTime time.Duration
	// MaxFailures is how many connections may end without any response before
	// nothing is sent again.
	MaxFailures int

	// ErrTimeout is the error of a call that was not sent or answered in time,
	// ErrClosed of one that may not be sent again, and ErrOverflow of one for which
	// there is no room.
	ErrTimeout, ErrClosed, ErrOverflow error
}

// Lanes is some connections to one server, and the calls that wait for them. The
// methods may be called concurrently once Start has returned.
type Lanes[R any] struct {
	conf    Config[R]
	lanes   []Lane[R]     // one for each connection
	waiting atomic.Int32  // calls that wait for room
	room    chan struct{} // has one if there may be some
	calls   sync.Pool
}

// Start makes p ready for calls, on n connections at most.
func (p *Lanes[R]) Start(n int, conf Config[R]) {
	p.conf = conf
	p.room = make(chan struct{}, 1)
	p.lanes = make([]Lane[R], n)
	for i := range p.lanes {
		l := &p.lanes[i]
		l.all, l.conf = p, &p.conf
		l.wake = make(chan struct{}, 1)
		l.window = conf.MaxPending
	}
}

// NewCall returns a call, which its caller and a lane hold.
func (p *Lanes[R]) NewCall() *Call[R] {
	call, ok := p.calls.Get().(*Call[R])
	if !ok {
		call = &Call[R]{home: &p.calls, done: make(chan struct{}, 1)}
	}
	call.holders.Store(2)
	return call
}

// Enqueue gives the call to the connection that has the fewest, or else to one that
// has room. The choice counts at once, not when the lock is acquired: otherwise all
// callers that choose meanwhile would take the same connection, and overflow it. Enqueue may
// write the call, if that is Patient.
func (p *Lanes[R]) Enqueue(call *Call[R]) error {
	best := 0
	for i := range p.lanes {
		if p.lanes[i].load.Load() < p.lanes[best].load.Load() {
			best = i
		}
	}
	for i := range p.lanes {
		lane := &p.lanes[(best+i)%len(p.lanes)]
		lane.load.Add(1)
		if lane.enqueue(call) {
			return nil
		}
		lane.load.Add(-1)
	}
	return p.conf.ErrOverflow
}

// AwaitRoom is Enqueue that waits for room, until something comes from expired.
func (p *Lanes[R]) AwaitRoom(call *Call[R], expired <-chan time.Time) error {
	p.waiting.Add(1)
	defer p.waiting.Add(-1)
	for p.Enqueue(call) != nil {
		select {
		case <-p.room:
		case <-expired:
			return p.conf.ErrTimeout
		}
	}
	// there may be room for one more
	p.signalRoom()
	return nil
}

// signalRoom wakes one caller that waits for room, since there may be some.
func (p *Lanes[R]) signalRoom() {
	if p.waiting.Load() > 0 {
		select {
		case p.room <- struct{}{}:
		default:
		}
	}
}

// Status is the state of a Lanes.
type Status struct {
	Writers  int // lanes that have a connection, or try to get one
	Load     int // calls that have been given to a lane
	Queued   int // calls that were not sent so far, and Bytes how long they are
	Bytes    int
	Sent     int // calls that wait for their response
	Waited   int // calls whose callers wait for the result
	Waiting  int // calls that wait for room
	Failures int // connections in a row that brought no response
}

// Status returns the state, summed over the lanes.
func (p *Lanes[R]) Status() (s Status) {
	s.Waiting = int(p.waiting.Load())
	for i := range p.lanes {
		l := &p.lanes[i]
		l.mu.Lock()
		if l.writer != writerAbsent {
			s.Writers++
		}
		s.Load += int(l.load.Load())
		s.Queued += l.queue.n
		s.Bytes += l.queued
		s.Sent += l.sent.n
		s.Waited += l.waited
		s.Failures += l.failures
		l.mu.Unlock()
	}
	return s
}
