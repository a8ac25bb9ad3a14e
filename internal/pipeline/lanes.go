package pipeline

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp/internal/clientconn"
)

// Config is the configuration of a Pool. It must not be changed after Start.
type Config[R any] struct {
	// Connect returns a connection, and the function that reads responses from it: see
	// ConnQueue.Next. read runs on a separate goroutine and returns why it has ended. It returns
	// io.EOF if the server has closed the connection or has announced with a response that
	// it will.
	Connect func(*ConnQueue[R]) (conn *clientconn.Conn, read func() error, err error)

	// MaxPending limits the calls on each connection twice: for those waiting to be sent, and
	// for those waiting for their response.
	MaxPending int
	// WriteSize is the number of bytes of requests collected for one write.
	WriteSize int
	// MaxBatchDelay is how long a request may wait for other requests to be sent with it.
	MaxBatchDelay time.Duration
	// MaxIdle is how long a connection may be unused before it is closed.
	MaxIdle time.Duration
	// ReadTimeout limits the wait for each response, and WriteTimeout each write; 0 means no
	// limit.
	ReadTimeout, WriteTimeout time.Duration
	// DrainingTime is how long the lane waits for responses after requests cannot be sent
	// any more.
	DrainingTime time.Duration
	// EarlyTime is how long the writing of a request may continue after its response is
	// complete.
	EarlyTime time.Duration
	// MaxFailures is the number of consecutive connections without any response after which
	// nothing is resent.
	MaxFailures int

	// ErrTimeout is the error of a call that was not sent or answered in time, ErrClosed of
	// one that must not be resent, and ErrOverflow of one for which there is no room.
	ErrTimeout, ErrClosed, ErrOverflow error
}

// Pool is a set of connections to one server, and the calls that wait for them. The methods
// may be called concurrently after Start has returned.
type Pool[R any] struct {
	conf    Config[R]
	queues  []ConnQueue[R] // one for each connection
	waiting atomic.Int32   // calls waiting for room
	room    chan struct{}  // holds a value if there may be room
	calls   sync.Pool

	// overtaken counts the calls waiting for room that others, which came later, have left without
	// any several times. While there are such calls, later ones do not try before they are woken.
	overtaken atomic.Int32
}

// Start prepares p for calls, on at most n connections.
func (p *Pool[R]) Start(n int, conf Config[R]) {
	p.conf = conf
	p.room = make(chan struct{}, 1)
	p.queues = make([]ConnQueue[R], n)
	for i := range p.queues {
		l := &p.queues[i]
		l.pool, l.conf = p, &p.conf
		l.wake = make(chan struct{}, 1)
		l.window = conf.MaxPending
	}
}

// NewCall returns a call with two holders, its caller and a lane.
func (p *Pool[R]) NewCall() *Call[R] {
	call, ok := p.calls.Get().(*Call[R])
	if !ok {
		call = &Call[R]{home: &p.calls, done: make(chan struct{}, 1)}
	}
	call.holders.Store(2)
	return call
}

// Enqueue adds the call to the connection with the fewest calls, or else to one that has
// room. The choice counts at once, not when the lock is acquired: otherwise all callers that
// choose meanwhile would take the same connection, and overflow it. Enqueue may write the
// call itself if it is Patient.
func (p *Pool[R]) Enqueue(call *Call[R]) error {
	best := 0
	for i := range p.queues {
		if p.queues[i].load.Load() < p.queues[best].load.Load() {
			best = i
		}
	}
	for i := range p.queues {
		lane := &p.queues[(best+i)%len(p.queues)]
		lane.load.Add(1)
		if lane.enqueue(call) {
			return nil
		}
		lane.load.Add(-1)
	}
	return p.conf.ErrOverflow
}

// mayBeOvertaken is how often others may take the room for which a call was woken.
const mayBeOvertaken = 3

// ErrCanceled is the error of a call that was canceled while it waited for room.
var ErrCanceled = errors.New("pipeline: canceled")

// AwaitRoom is like Enqueue, but waits for room until expired delivers a value or canceled is
// closed.
func (p *Pool[R]) AwaitRoom(call *Call[R], expired <-chan time.Time, canceled <-chan struct{}) error {
	p.waiting.Add(1)
	defer p.waiting.Add(-1)
	for waits := 0; waits == 0 && p.overtaken.Load() > 0 || p.Enqueue(call) != nil; waits++ {
		if waits == mayBeOvertaken {
			p.overtaken.Add(1)
			defer p.overtaken.Add(-1)
		}
		select {
		case <-p.room:
		case <-expired:
			return p.conf.ErrTimeout
		case <-canceled:
			return ErrCanceled
		}
	}
	// there may be room for one more
	p.signalRoom()
	return nil
}

// signalRoom wakes one caller that waits for room, since there may be some.
func (p *Pool[R]) signalRoom() {
	if p.waiting.Load() > 0 {
		select {
		case p.room <- struct{}{}:
		default:
		}
	}
}

// Status is the state of a Pool.
type Status struct {
	Writers  int // lanes that have a connection, or try to get one
	Load     int // calls in lanes
	Queued   int // calls that were not sent so far, and Bytes their total size
	Bytes    int
	Sent     int // calls waiting for their response
	Waited   int // calls whose callers wait for the result
	Waiting  int // calls waiting for room
	Failures int // consecutive connections without a response
}

// Status returns the state, summed over the lanes.
func (p *Pool[R]) Status() (s Status) {
	s.Waiting = int(p.waiting.Load())
	for i := range p.queues {
		l := &p.queues[i]
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
