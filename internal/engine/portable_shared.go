package engine

import (
	"time"

	"github.com/valyala/fasthttp/internal/lockorder"
)

// sharedWrites makes one goroutine write the output of a Concurrent protocol: the first
// that has output. It also writes the output that others make meanwhile, so they never wait
// for a peer that does not read.
type sharedWrites struct {
	mu      lockorder.Mutex[lockorder.SharedWrites] // never held while output is written
	writing bool                                    // a goroutine writes
	more    bool                                    // and must look for output once more
	waits   bool                                    // the connection's goroutine waits for the end of that
	ended   chan struct{}
	timer   *time.Timer
	resumed chan struct{} // ends a Pause; nil if there was none
}

const (
	// maxWritesForOthers is how many writes a goroutine does that only wanted to write its own output.
	// A goroutine made for the rest continues.
	maxWritesForOthers = 16
	// sharedWaitMax is how long at most the connection's goroutine waits for others to write,
	// before the protocol checks its deadlines.
	sharedWaitMax = time.Second
)

// begin makes the caller the writer and returns true. If there is a writer already, that
// one also writes the caller's output, and begin returns false.
func (s *sharedWrites) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.writing {
		s.more = true
		return false
	}
	s.writing = true
	return true
}

// end is called by the writer when it has found no more output, and gives up its role. It
// returns false if there may be some now: the caller then continues.
func (s *sharedWrites) end() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.more {
		s.more = false
		return false
	}
	s.release()
	return true
}

// quit is end for a writer that stops in any case. It reports whether there may be more
// output.
func (s *sharedWrites) quit() (more bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	more, s.more = s.more, false
	s.release()
	return more
}

// release gives up the role of the writer. mu is held.
func (s *sharedWrites) release() {
	s.writing = false
	if s.waits {
		s.waits = false
		s.ended <- struct{}{}
	}
}

// wait waits until there is no writer, but not for long. Only the connection's goroutine
// calls it.
func (s *sharedWrites) wait() {
	s.mu.Lock()
	if !s.writing {
		s.mu.Unlock()
		return
	}
	if s.ended == nil {
		s.ended = make(chan struct{}, 1)
		s.timer = time.NewTimer(sharedWaitMax)
	} else {
		s.timer.Reset(sharedWaitMax)
	}
	s.waits = true
	s.mu.Unlock()
	select {
	case <-s.ended:
		s.timer.Stop()
		return
	case <-s.timer.C:
	}
	s.mu.Lock()
	if !s.waits {
		// it has ended at the same moment
		<-s.ended
	}
	s.waits = false
	s.mu.Unlock()
}

// resume ends a Pause of the connection's goroutine.
func (s *sharedWrites) resume() {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case s.resumed <- struct{}{}:
	default:
	}
}

// pause waits until Interrupt is called or the deadline of the protocol has passed, without
// reading.
func (e *portable) pause() {
	s := &e.shared
	s.mu.Lock()
	if s.resumed == nil {
		s.resumed = make(chan struct{}, 1)
	}
	s.mu.Unlock()
	var passed <-chan time.Time
	if until := e.p.Wait(WaitInput); !until.IsZero() {
		timer := time.NewTimer(time.Until(until))
		defer timer.Stop()
		passed = timer.C
	}
	if !e.interrupted.Load() {
		select {
		case <-s.resumed:
		case <-passed:
		}
	}
	// the deadline of Interrupt is for a Read
	e.interrupted.Store(false)
	e.readUntil = PastDeadline
}

// writeShared is write for a Concurrent protocol: it writes some output, or waits for the
// writer. If again is true, the protocol's next Step must be called, even if it is idle.
func (e *portable) writeShared() (again bool, err error) {
	if !e.shared.begin() {
		e.shared.wait()
		return true, nil
	}
	defer func() { again = e.shared.quit() }()
	if head, _, _ := e.p.Output(); len(head) > 0 {
		err = e.write()
	}
	return again, err
}

// upgrade replaces the protocol, which no other goroutine uses: a writer may still be finding
// out that there is no more output.
func (e *portable) upgrade() {
	if !e.Concurrent {
		e.p = e.Set.Host.Upgrade(&e.Conn, e, e.p)
		return
	}
	for !e.shared.begin() {
		e.shared.wait()
	}
	e.p = e.Set.Host.Upgrade(&e.Conn, e, e.p)
	e.shared.quit()
}

// Wake implements Link: the calling goroutine writes, unless there is another writer. If
// that fails, the connection's goroutine finds the error.
func (e *portable) Wake() {
	if e.shared.begin() && !e.writeAll(maxWritesForOthers) {
		go e.continueWriting()
	}
}

// Push implements Link. It is the same as Wake.
func (e *portable) Push() (over bool) {
	e.Wake()
	return true
}

// continueWriting continues for a goroutine that has written enough for others.
func (e *portable) continueWriting() {
	for !e.writeAll(maxWritesForOthers) {
	}
}

// writeAll writes all output for the caller, which is the writer, with no more than most
// writes. If it returns false, there may be more.
func (e *portable) writeAll(most int) (over bool) {
	ended := false
	defer func() {
		if !ended {
			e.failWrites(recover())
			over = true
		}
	}()
	for range most {
		head, _, _ := e.p.Output()
		for ; len(head) == 0; head, _, _ = e.p.Output() {
			if ended = e.shared.end(); ended {
				return true
			}
		}
		if e.write() != nil {
			e.Interrupt()
			e.shared.quit()
			ended = true
			return true
		}
	}
	ended = true
	return false
}

// failWrites ends a connection whose Write has panicked, or has ended the goroutine of the
// caller, the writer. Nothing else might recover a panic on that goroutine.
func (e *portable) failWrites(panicked any) {
	// the logger of the application may end the goroutine again
	defer func() {
		e.Abort()
		e.Set.guarded(func() { _ = e.nc.Close() })
		e.shared.quit()
	}()
	e.logPanic(panicked)
}
