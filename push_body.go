package fasthttp

import (
	"context"
	"io"
	"sync"
	"time"

	"github.com/valyala/fasthttp/internal/bufpool"
)

// pushBody is a Push as the body stream of its response. It is read if no EventConn sends the body.
// Then the goroutine that reads also calls the handler.
type pushBody struct{ p *Push }

var _ BodyWriterTo = pushBody{}

// pushStream is the state of a Push read as a stream.
type pushStream struct {
	mu      sync.Mutex
	changed chan struct{}   // gets a value when a field below has changed
	waiting *bufpool.Buffer // pieces, not yet taken by the reader; nil if there are none
	taken   *bufpool.Buffer // pieces that the reader has taken
	rest    []byte          // of taken, not yet read
	tickAt  time.Time       // when Tick is due, or zero
	told    pushTold        // what the handler knows
	end     pushEnd         // how far the body is from its end
	stops   bool            // the server shuts down
	err     error           // why the body has ended early
}

// pushTold is the last method of the handler that was called to tell it where its Push is.
type pushTold uint8

const (
	toldNothing      pushTold = iota
	toldOpened                // Opened was called
	toldShuttingDown          // ShuttingDown was called, after Opened
)

// pushEnd is how far a body is from its end, unless it ends early.
type pushEnd uint8

const (
	pushEndless  pushEnd = iota // pieces may follow
	pushClosed                  // Close was called, and pieces may wait
	pushFinished                // all of the body was read
)

// closeLocked ends the body after the pieces that wait. mu is held.
func (s *pushStream) closeLocked() { s.end = max(s.end, pushClosed) }

func newPushStream() *pushStream { return &pushStream{changed: make(chan struct{}, 1)} }

// watch prepares for a body read as a stream. The handler of ctx is running, or has just returned.
func (p *Push) watch(ctx *RequestCtx) {
	if p.stream != nil {
		return
	}
	s := newPushStream()
	p.stream = s
	ctx.AfterDisconnect(func() { s.fail(io.EOF) })
	ctx.OnShutdown(func(context.Context) { s.stop() })
}

// signal wakes the reader.
func (s *pushStream) signal() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

func (s *pushStream) send(content []byte, limit int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.end != pushEndless || s.err != nil:
		return errPushEnded
	case s.size() >= limit:
		return ErrPushQueueFull
	case len(content) == 0:
		return nil
	}
	if s.waiting == nil {
		s.waiting = bufpool.Get(len(content))
	} else {
		s.waiting.Grow(len(content))
	}
	s.waiting.B = append(s.waiting.B, content...)
	s.signal()
	return nil
}

// size returns how many bytes wait. mu is held.
func (s *pushStream) size() int {
	n := len(s.rest)
	if s.waiting != nil {
		n += len(s.waiting.B)
	}
	return n
}

func (s *pushStream) queued() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.size()
}

func (s *pushStream) setTick(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tickAt = time.Time{}
	if d > 0 {
		s.tickAt = time.Now().Add(d)
	}
	s.signal()
}

func (s *pushStream) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closeLocked()
	s.signal()
}

func (s *pushStream) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stops = true
	s.signal()
}

// fail ends the body early.
func (s *pushStream) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = err
	}
	s.signal()
}

// fetch waits for pieces, and takes all of them. Meanwhile it calls the handler.
func (b pushBody) fetch() error {
	p := b.p
	switch p.state.Load() {
	case pushSet:
		if p.stream == nil {
			p.stream = newPushStream()
		}
		if !p.state.CompareAndSwap(pushSet, pushStreamed) {
			return errPushEnded
		}
	case pushStreamed:
	default:
		return errPushEnded
	}
	s := p.stream
	s.mu.Lock()
	bufpool.Put(s.taken)
	s.taken, s.rest = nil, nil
	s.mu.Unlock()
	for {
		call, until, err := s.next()
		switch {
		case err != nil:
			return err
		case call != nil:
			call(p.handler, p)
			continue
		case len(s.rest) > 0:
			return nil
		}
		s.wait(until)
	}
}

// next returns the method of the handler to be called next, or takes the pieces that wait, or
// returns until when to wait.
func (s *pushStream) next() (call func(h PushHandler, p *Push), until time.Time, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.told == toldNothing:
		s.told = toldOpened
		return PushHandler.Opened, until, nil
	case s.err != nil:
		return nil, until, s.err
	case s.waiting != nil:
		s.taken, s.waiting = s.waiting, nil
		s.rest = s.taken.B
		return nil, until, nil
	case s.end != pushEndless:
		s.end = pushFinished
		return nil, until, io.EOF
	case s.stops && s.told != toldShuttingDown:
		s.told = toldShuttingDown
		return PushHandler.ShuttingDown, until, nil
	case !s.tickAt.IsZero() && time.Until(s.tickAt) <= 0:
		s.tickAt = time.Time{}
		return PushHandler.Tick, until, nil
	}
	return nil, s.tickAt, nil
}

// wait waits for a change, or until a time, unless it is zero.
func (s *pushStream) wait(until time.Time) {
	if until.IsZero() {
		<-s.changed
		return
	}
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case <-s.changed:
	case <-timer.C:
	}
}

// isFinished reports whether all of the body was read.
func (s *pushStream) isFinished() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.end == pushFinished
}

// advance removes n bytes that were read.
func (s *pushStream) advance(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rest = s.rest[n:]
}

// unread returns the bytes to read next, or nil.
func (b pushBody) unread() []byte {
	if b.p.state.Load() != pushStreamed {
		return nil
	}
	return b.p.stream.rest
}

// Read implements io.Reader.
func (b pushBody) Read(p []byte) (int, error) {
	if len(b.unread()) == 0 && len(p) > 0 {
		if err := b.fetchOrFail(); err != nil {
			return 0, err
		}
	}
	n := copy(p, b.unread())
	if n > 0 {
		b.p.stream.advance(n)
	}
	return n, nil
}

// fetchOrFail is fetch with an error of a body that ends early which is not mistaken for its end.
func (b pushBody) fetchOrFail() error {
	err := b.fetch()
	if err == io.EOF && !b.p.stream.isFinished() {
		return errPushEnded
	}
	return err
}

// WriteTo implements io.WriterTo: all pieces that wait are written in one call.
func (b pushBody) WriteTo(w io.Writer) (n int64, err error) {
	for {
		if len(b.unread()) == 0 {
			if err := b.fetchOrFail(); err == io.EOF {
				return n, nil
			} else if err != nil {
				return n, err
			}
		}
		k, err := w.Write(b.unread())
		n += int64(k)
		b.p.stream.advance(k)
		if err != nil {
			return n, err
		}
	}
}

// SupportsBodyWriteTo implements BodyWriterTo.
func (b pushBody) SupportsBodyWriteTo() bool { return true }

// Waits reports whether the next Read has to wait. An encoder flushes its output then.
func (b pushBody) Waits() bool {
	if len(b.unread()) > 0 || b.p.state.Load() != pushStreamed {
		return false
	}
	s := b.p.stream
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.waiting == nil && s.end == pushEndless && s.err == nil
}

// Close implements io.Closer: the body was sent, or cannot be sent, unless an EventConn sends it.
func (b pushBody) Close() error {
	p := b.p
	if p.state.CompareAndSwap(pushSet, pushOver) || p.state.CompareAndSwap(pushHead, pushOver) {
		p.handler.Ended(p, ErrPushNotSent)
		return nil
	}
	if !p.state.CompareAndSwap(pushStreamed, pushOver) {
		return nil
	}
	s := p.stream
	s.mu.Lock()
	err := s.err
	switch {
	case s.end == pushFinished:
		err = nil
	case err == nil:
		err = errPushEnded
	}
	s.closeLocked()
	bufpool.Put(s.waiting)
	bufpool.Put(s.taken)
	s.waiting, s.taken, s.rest = nil, nil, nil
	s.mu.Unlock()
	p.handler.Ended(p, err)
	return nil
}
