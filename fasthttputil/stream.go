package fasthttputil

import (
	"io"
	"sync"
	"time"
)

// stream carries bytes one way: from the Writes of one end to the Reads of the
// other. Everything is under one mutex.
//
// Only a Read ever waits, so only the read deadline needs a timer, and only while a
// Read is waiting. The timer is lazy: it is left alone when the deadline moves away
// from it, wakes the waiting Reads too early once, and is then set anew. A
// connection whose deadline is pushed forward with each message therefore hardly
// ever touches it.
type stream struct {
	mu            sync.Mutex
	wake          sync.Cond // readers wait here; whatever could end their wait broadcasts
	data          queue
	closed        bool
	readDeadline  time.Time
	writeDeadline time.Time
	timer         *time.Timer // nil until a Read first waits with a deadline
	timerAt       time.Time   // when timer fires; zero while it is not running
}

func (s *stream) init() {
	s.wake.L = &s.mu
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
		var left time.Duration
		limited := !s.closed && !s.readDeadline.IsZero()
		if limited {
			if left = time.Until(s.readDeadline); left <= 0 {
				return 0, ErrTimeout
			}
		}
		if n := s.data.read(p); n > 0 {
			return n, nil
		}
		if s.closed {
			return 0, io.EOF
		}
		if limited {
			s.wakeAfter(left)
		}
		s.wake.Wait()
	}
}

// wakeAfter sees to it that the waiting Reads are woken no later than at the read
// deadline, which is left from now.
func (s *stream) wakeAfter(left time.Duration) {
	if !s.timerAt.IsZero() && !s.readDeadline.Before(s.timerAt) {
		return
	}
	s.timerAt = s.readDeadline
	if s.timer == nil {
		s.timer = time.AfterFunc(left, s.timerFired)
		return
	}
	s.timer.Reset(left)
}

// timerFired may run late, when the timer has already been set again. It does no
// harm then: each Read that it wakes looks at the clock and sets the timer anew.
func (s *stream) timerFired() {
	s.mu.Lock()
	s.timerAt = time.Time{}
	s.mu.Unlock()
	s.wake.Broadcast()
}

// write never waits. The bytes of one call stay together.
func (s *stream) write(p []byte) (int, error) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return 0, ErrConnectionClosed
	}
	if !s.writeDeadline.IsZero() && time.Until(s.writeDeadline) <= 0 {
		s.mu.Unlock()
		return 0, ErrTimeout
	}
	s.data.write(p)
	s.mu.Unlock()
	s.wake.Broadcast()
	return len(p), nil
}

func (s *stream) setReadDeadline(t time.Time) {
	s.mu.Lock()
	s.readDeadline = t
	s.mu.Unlock()
	s.wake.Broadcast()
}

func (s *stream) setWriteDeadline(t time.Time) {
	s.mu.Lock()
	s.writeDeadline = t
	s.mu.Unlock()
}

// close ends the stream for both its writer and its reader.
func (s *stream) close() {
	s.mu.Lock()
	s.closed = true
	if s.timer != nil {
		s.timer.Stop()
	}
	s.mu.Unlock()
	s.wake.Broadcast()
}
