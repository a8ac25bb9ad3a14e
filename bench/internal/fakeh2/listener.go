package fakeh2

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
)

// Listener hands out the connections of a set of clients. Drive runs a server on it.
type Listener struct {
	cfg      Config
	first    message // of each connection
	messages []message
	all      []*Conn

	conns chan net.Conn
	over  chan struct{} // has an element when all clients have their responses, or on failure
	busy  atomic.Int64  // clients that still wait for responses

	closing atomic.Bool
	once    sync.Once
	closed  chan struct{}

	mu  sync.Mutex
	err error
}

// apart is the distance, in messages, between the starting points of successive clients.
const apart = 89

// New returns a Listener with clients configured by cfg.
func New(cfg Config) (*Listener, error) {
	if len(cfg.Messages) == 0 || cfg.Requests < 1 || cfg.Clients < 1 || cfg.Streams < 1 || cfg.Body == "" {
		return nil, errors.New("fakeh2: no messages, no content, or counts that are not positive")
	}
	if cfg.Streams > slots/2 {
		return nil, fmt.Errorf("fakeh2: more than %d streams", slots/2)
	}
	l := &Listener{cfg: cfg, conns: make(chan net.Conn, cfg.Clients), over: make(chan struct{}, 1), closed: make(chan struct{})}
	var err error
	if l.first, l.messages, err = encode(cfg.Messages); err != nil {
		return nil, err
	}
	for i := range cfg.Clients {
		c := newConn(l, i*apart%len(l.messages))
		l.all = append(l.all, c)
		l.conns <- c
	}
	return l, nil
}

// Accept returns the connections of all clients, and net.ErrClosed after Close.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case <-l.closed:
		return nil, net.ErrClosed
	case c := <-l.conns:
		return c, nil
	}
}

// Addr returns a made-up address.
func (l *Listener) Addr() net.Addr { return serverAddr }

// Close ends Accept and all connections.
func (l *Listener) Close() error {
	l.once.Do(func() {
		l.closing.Store(true)
		close(l.closed)
		for _, c := range l.all {
			c.end()
		}
	})
	return nil
}

// fail makes Drive return err, unless it is about to return.
func (l *Listener) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil && !l.closing.Load() {
		l.err = err
		l.finish()
	}
}

func (l *Listener) finish() {
	select {
	case l.over <- struct{}{}:
	default:
	}
}

// give makes clients send requests, and waits for their responses.
func (l *Listener) give(requests int) error {
	n := len(l.all)
	l.busy.Store(int64(min(n, requests)))
	for i, c := range l.all {
		if share := (requests + n - 1 - i) / n; share > 0 {
			c.take(share)
		}
	}
	<-l.over
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// done counts a client that has all its responses.
func (l *Listener) done() {
	if l.busy.Add(-1) == 0 {
		l.finish()
	}
}

var errServeReturned = errors.New("fakeh2: Serve returned before all requests were answered")

// Drive runs serve on the listener and calls start and stop around the measured time: from the
// first request to the last response, without the first request of each connection.
func (l *Listener) Drive(serve func(net.Listener) error, start, stop func()) error {
	served := make(chan struct{})
	go func() {
		defer close(served)
		l.fail(errors.Join(errServeReturned, serve(l)))
	}()
	err := l.give(len(l.all))
	if err == nil {
		start()
		err = l.give(l.cfg.Requests)
		stop()
	}
	_ = l.Close()
	<-served
	if err != nil {
		return err
	}
	for _, c := range l.all {
		<-c.gone
		if c.bodies != c.answered {
			return fmt.Errorf("fakeh2: %d contents in %d responses", c.bodies, c.answered)
		}
	}
	return nil
}
