package fasthttputil

import (
	"io"
	"sync"
	"time"
)

// maxUnread is how many bytes a stream holds for its reader. It is more than a
// program is likely to write before it reads in the same goroutine, and little
// enough that a peer which does not read costs its writer no memory to speak of.
const maxUnread = 1 << 20

// stream carries bytes one way: from the Writes of one end to the Reads of the
// other. Everything is under one mutex.
type stream struct {
	mu      sync.Mutex
	data    queue
	unread  int  // bytes in data
	writing bool // a Write has begun and waits for room, so others wait for its end
	closed  bool
	reader  side
	writer  side
}

// side is one side of a stream: those who wait there, and until when.
//
// Its timer is lazy: it is left alone when the deadline moves away from it, wakes
// who waits too early once, and is then set anew. A connection whose deadline is
// pushed forward with each message therefore hardly ever touches it.
type side struct {
	wake     sync.Cond // whatever could end a wait broadcasts
	deadline time.Time
	timer    *time.Timer // nil until somebody first waits with a deadline
	timerAt  time.Time   // when timer fires; zero while it is not running
}

func (s *stream) init() {
	s.reader.wake.L = &s.mu
	s.writer.wake.L = &s.mu
}

// left returns the time until the deadline. It is positive where there is none.
func (d *side) left() time.Duration {
	if d.deadline.IsZero() {
		return time.Hour
	}
	return time.Until(d.deadline)
}

// wait waits for a broadcast, and no longer than until the deadline, which is left
// from now.
func (d *side) wait(left time.Duration) {
	if !d.deadline.IsZero() {
		d.wakeAfter(left)
	}
	d.wake.Wait()
}

func (d *side) wakeAfter(left time.Duration) {
	if !d.timerAt.IsZero() && !d.deadline.Before(d.timerAt) {
		return
	}
	d.timerAt = d.deadline
	if d.timer == nil {
		d.timer = time.AfterFunc(left, d.timerFired)
		return
	}
	d.timer.Reset(left)
}

// timerFired may run late, when the timer has already been set again. It does no
// harm then: each one that it wakes looks at the clock and sets the timer anew.
func (d *side) timerFired() {
	d.wake.L.Lock()
	d.timerAt = time.Time{}
	d.wake.L.Unlock()
	d.wake.Broadcast()
}

func (d *side) setDeadline(t time.Time) {
	d.wake.L.Lock()
	d.deadline = t
	d.wake.L.Unlock()
	d.wake.Broadcast()
}

// read waits until it can tell anything. While the stream is open, a deadline that
// has passed comes before data, as it does on a socket. Once it is closed, what was
// written is still handed out, whatever the deadline says, and then io.EOF.
func (s *stream) read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		left := s.reader.left()
		if left <= 0 && !s.closed {
			return 0, ErrTimeout
		}
		if n := s.data.read(p); n > 0 {
			s.unread -= n
			if s.writing {
				s.writer.wake.Broadcast()
			}
			return n, nil
		}
		if s.closed {
			return 0, io.EOF
		}
		s.reader.wait(left)
	}
}

// write waits only for room. The bytes of one call stay together: while one waits
// in the middle of its bytes, all others wait for it.
func (s *stream) write(p []byte) (n int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	mine := false // whether this call is the one that s.writing speaks of
	for {
		left := s.writer.left()
		if err := s.writeError(left); err != nil {
			s.endTurn(mine)
			return n, err
		}
		if mine || !s.writing {
			k := min(len(p)-n, max(maxUnread-s.unread, 0))
			s.data.write(p[n : n+k])
			s.unread += k
			n += k
			if k > 0 {
				s.reader.wake.Broadcast()
			}
			if n == len(p) {
				s.endTurn(mine)
				return n, nil
			}
			s.writing, mine = true, true
		}
		s.writer.wait(left)
	}
}

// writeError tells why nothing can be written, with left until the deadline.
func (s *stream) writeError(left time.Duration) error {
	switch {
	case s.closed:
		return ErrConnectionClosed
	case left <= 0:
		return ErrTimeout
	}
	return nil
}

// endTurn lets the next Write begin where the calling one had others wait.
func (s *stream) endTurn(mine bool) {
	if mine {
		s.writing = false
		s.writer.wake.Broadcast()
	}
}

// close ends the stream for both its writer and its reader.
func (s *stream) close() {
	s.mu.Lock()
	s.closed = true
	for _, d := range []*side{&s.reader, &s.writer} {
		if d.timer != nil {
			d.timer.Stop()
		}
		d.wake.Broadcast()
	}
	s.mu.Unlock()
}
