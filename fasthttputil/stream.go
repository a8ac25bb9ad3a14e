package fasthttputil

import (
	"io"
	"sync"
	"time"

	"github.com/valyala/fasthttp/internal/lockorder"
)

// maxUnread is the largest number of unread bytes in a stream. A program that reads and writes
// in one goroutine rarely writes more before it reads, and a peer that does not read costs
// little memory.
const maxUnread = 1 << 20

// stream carries bytes one way: from the Writes of one end to the Reads of the
// other. Everything is under one mutex.
type stream struct {
	mu      lockorder.Mutex[lockorder.PipeStream]
	data    queue
	unread  int  // bytes in data
	writing bool // a Write waits for room, and other Writes wait for its end
	sealed  bool // nothing more can be written
	closed  bool // and readers get the end
	reader  side
	writer  side
}

// side is one side of a stream: the goroutines that wait there, and their deadline.
//
// Its timer is lazy. If the deadline moves to a later time, the timer stays: it wakes the
// goroutines once too early, and is then set again. So a connection whose deadline moves with
// each message rarely sets the timer.
type side struct {
	wake     sync.Cond // broadcast by every change that can end a wait
	deadline time.Time
	timer    *time.Timer // nil until the first wait with a deadline
	timerAt  time.Time   // when timer fires; zero while it is not running
}

func (s *stream) init() {
	s.reader.wake.L = &s.mu
	s.writer.wake.L = &s.mu
}

// left returns the time until the deadline. It is positive if there is none.
func (d *side) left() time.Duration {
	if d.deadline.IsZero() {
		return time.Hour
	}
	return time.Until(d.deadline)
}

// wait waits for a broadcast, but not longer than until the deadline, which is left
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

// timerFired wakes the waiting goroutines. It may run late, after the timer was set again.
// That is harmless: each goroutine checks the clock and sets the timer again.
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

// read waits until it can return data or an error. While the stream is open, a
// deadline that has passed takes precedence over data, as on a socket. After the
// stream was closed, read returns the data written before, whatever the deadline, and
// then io.EOF.
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

// write waits only for room. The bytes of one call stay together: while a call waits
// for room for the rest of its bytes, all others wait for it.
func (s *stream) write(p []byte) (n int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	mine := false // whether this call has set s.writing
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

// writeError returns the error of a write, with left until the deadline, or nil.
func (s *stream) writeError(left time.Duration) error {
	switch {
	case s.sealed:
		return ErrConnectionClosed
	case left <= 0:
		return ErrTimeout
	}
	return nil
}

// endTurn lets other Writes begin if the calling one has set s.writing.
func (s *stream) endTurn(mine bool) {
	if mine {
		s.writing = false
		s.writer.wake.Broadcast()
	}
}

// closeStreams ends both streams of a pair: for their writers first, so that no goroutine can
// write that has read the end.
func closeStreams(s1, s2 *stream) {
	s1.seal()
	s2.seal()
	s1.close()
	s2.close()
}

// seal ends the stream for its writer.
func (s *stream) seal() {
	s.mu.Lock()
	s.sealed = true
	s.writer.end()
	s.mu.Unlock()
}

// close ends the stream for its reader, after seal.
func (s *stream) close() {
	s.mu.Lock()
	s.closed = true
	s.reader.end()
	s.mu.Unlock()
}

// end ends the waits of one side, for good. The lock is held.
func (d *side) end() {
	if d.timer != nil {
		d.timer.Stop()
	}
	d.wake.Broadcast()
}
