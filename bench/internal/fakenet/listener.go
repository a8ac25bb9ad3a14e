package fakenet

import (
	"errors"
	"fmt"
	"net"
	"sync"
)

// Listener hands out the connections of a set of clients. It is a net.Listener
// for the server; Ready, Start, Wait and Stop are for the benchmark that drives
// it, in this order:
//
//	ln, err := fakenet.New(cfg)
//	go server.Serve(ln)
//	ln.Ready()
//	b.ResetTimer()
//	ln.Start()
//	err = ln.Wait()
//	b.StopTimer()
//	err = ln.Stop()
type Listener struct {
	cfg   Config
	cycle cycle
	want  expectation
	all   []*Conn

	finished chan struct{} // closed once every request is answered, or on failure

	mu       sync.Mutex
	changed  sync.Cond // wakes Accept and Stop
	idle     []*Conn   // clients that are not connected
	line     line      // clients that wait for a turn
	turns    int       // free turns
	toGive   int       // requests not yet assigned to a client
	batch    int       // the most requests in a turn
	answered int
	total    int           // requests of the warm-up and of the run
	quiet    chan struct{} // closed once all clients wait and no requests are left to give, or on failure
	closed   bool
	err      error
}

// apart is the distance, in texts, between the starting points of successive clients. It is
// prime and more than a batch, so that few clients send the same text at once.
const apart = 89

// New returns a Listener with clients configured by cfg.
func New(cfg Config) (*Listener, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	l := &Listener{
		cfg:      cfg,
		cycle:    newCycle(cfg.Texts),
		want:     expectation{contentType: cfg.ContentType, body: cfg.Body},
		all:      make([]*Conn, cfg.Clients),
		quiet:    make(chan struct{}),
		finished: make(chan struct{}),
		idle:     make([]*Conn, cfg.Clients),
		turns:    cfg.Turns,
		total:    cfg.Requests,
	}
	if cfg.WarmUp {
		l.total += cfg.Clients
	}
	l.changed.L = &l.mu
	conns := make([]Conn, cfg.Clients)
	for i := range conns {
		c := &conns[i]
		c.ln = l
		c.next = i * apart % len(cfg.Texts)
		c.wake = make(chan struct{}, 1)
		l.all[i] = c
	}
	copy(l.idle, l.all)
	return l, nil
}

// Accept connects one client. It blocks while all clients are connected, and returns
// net.ErrClosed after Close.
func (l *Listener) Accept() (net.Conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for !l.closed && len(l.idle) == 0 {
		l.changed.Wait()
	}
	if l.closed {
		return nil, net.ErrClosed
	}
	last := len(l.idle) - 1
	c := l.idle[last]
	l.idle = l.idle[:last]
	c.connect()
	return c, nil
}

// Addr returns the same made-up TCP address for every Listener.
func (l *Listener) Addr() net.Addr { return serverAddr }

// Close ends Accept, and ends every connection that waits for its turn. It may
// be called more than once.
func (l *Listener) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closeLocked()
	return nil
}

func (l *Listener) closeLocked() {
	if l.closed {
		return
	}
	l.closed = true
	for _, c := range l.all {
		c.rouse()
	}
	l.changed.Broadcast()
}

// Ready waits until the server has accepted every client and reads from all of
// them, and runs the warm-up if there is one.
func (l *Listener) Ready() {
	<-l.quiet
	if !l.cfg.WarmUp {
		return
	}
	l.mu.Lock()
	quiet := l.quiet
	if l.err == nil {
		quiet = make(chan struct{})
		l.quiet = quiet
		// All clients are in the queue, so each gets one turn.
		l.give(l.cfg.Clients, 1)
	}
	l.mu.Unlock()
	<-quiet
}

// Start gives out the first turns.
func (l *Listener) Start() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.give(l.cfg.Requests, l.cfg.Batch)
}

func (l *Listener) give(requests, batch int) {
	l.toGive, l.batch = requests, batch
	l.deal()
}

// Wait returns when every request is answered, or with an error as soon as the server makes a
// mistake.
func (l *Listener) Wait() error {
	<-l.finished
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// Stop closes the listener, waits until the server has closed all connections, and checks the
// first response in full.
func (l *Listener) Stop() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closeLocked()
	for l.err == nil && len(l.idle) < len(l.all) {
		l.changed.Wait()
	}
	if l.err != nil {
		return l.err
	}
	return l.want.checkSample()
}

// Fail makes Wait return err, unless the listener is closed or failed before.
func (l *Listener) Fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.fail(err)
	}
}

func (l *Listener) fail(err error) {
	if l.err != nil {
		return
	}
	l.err = err
	l.closeLocked()
	closeOnce(l.quiet)
	closeOnce(l.finished)
}

// queue adds an idle client to the end of the line. Its turn, if it had one, is passed to the
// first client of the line.
func (l *Listener) queue(c *Conn) {
	c.inLine = true
	l.line.push(c)
	if c.hasTurn {
		c.hasTurn = false
		l.turns++
	}
	l.deal()
	if l.toGive == 0 && l.line.len == len(l.all) {
		closeOnce(l.quiet)
	}
}

// deal hands free turns to the clients at the head of the line.
func (l *Listener) deal() {
	for l.turns > 0 && l.toGive > 0 && l.line.len > 0 {
		c := l.line.pop()
		n := min(l.batch, c.rest, l.toGive)
		l.toGive -= n
		l.turns--
		c.take(n)
	}
}

// count adds the answers that a client got since it was last counted.
func (l *Listener) count(c *Conn) {
	answered := int(c.answered.Load())
	l.answered += answered - c.counted
	c.counted = answered
	if l.answered == l.total {
		closeOnce(l.finished)
	}
}

// hangUp releases the connection of a client that the server has closed. The client keeps its
// turn until it is in the line with its next connection: otherwise other clients would use up
// the turns while it is not connected, and the number of open connections would fall if Accept
// is slow.
func (l *Listener) hangUp(c *Conn) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !c.open {
		return net.ErrClosed
	}
	c.open = false
	l.count(c)
	if !l.closed {
		switch {
		case c.counted != c.asked:
			l.fail(fmt.Errorf("fakenet: connection closed after %d responses to %d requests", c.counted, c.asked))
		case !c.last:
			l.fail(fmt.Errorf("fakenet: connection closed with %d requests still to come", c.rest))
		}
	}
	l.idle = append(l.idle, c)
	l.changed.Signal()
	return nil
}

var errServeReturned = errors.New("fakenet: Serve returned before all requests were answered")

// Drive runs serve on the listener and calls start and stop around the measured time: from the
// first turn to the last response.
func (l *Listener) Drive(serve func(net.Listener) error, start, stop func()) error {
	served := make(chan struct{})
	go func() {
		defer close(served)
		if err := serve(l); err != nil {
			l.Fail(fmt.Errorf("%w: %w", errServeReturned, err))
			return
		}
		l.Fail(errServeReturned)
	}()
	l.Ready()
	start()
	l.Start()
	err := l.Wait()
	stop()
	if stopErr := l.Stop(); err == nil {
		err = stopErr
	}
	<-served
	return err
}

// closeOnce closes a channel that nothing is ever sent on, unless it is closed.
// Callers hold the listener's lock.
func closeOnce(ch chan struct{}) {
	select {
	case <-ch:
	default:
		close(ch)
	}
}

// line is a first-in first-out queue that links the connections themselves.
type line struct {
	head, tail *Conn
	len        int
}

func (q *line) push(c *Conn) {
	if q.tail == nil {
		q.head = c
	} else {
		q.tail.behind = c
	}
	q.tail = c
	q.len++
}

func (q *line) pop() *Conn {
	c := q.head
	q.head, c.behind = c.behind, nil
	if q.head == nil {
		q.tail = nil
	}
	q.len--
	return c
}
