package engine

import (
	"runtime/debug"
	"sync"
	"time"
)

// sharedWrites is who writes the output of a protocol that is Concurrent: one goroutine at a
// time, whichever has come first. It also writes what the others make meanwhile, who so never
// wait for a peer that does not read.
type sharedWrites struct {
	mu      sync.Mutex // never held while output is written
	writing bool       // somebody writes
	more    bool       // and is to look for output once more
	waits   bool       // the goroutine of the connection waits for the end of that
	ended   chan struct{}
	timer   *time.Timer
}

const (
	// maxTurn is how many writes a goroutine does that has only come to have its own output
	// written. A goroutine made for the rest goes on.
	maxTurn = 16
	// lookAnew is how long the goroutine of a connection waits at most for others to write,
	// before the protocol is to look at the time.
	lookAnew = time.Second
)

// begin makes the caller the one who writes. If there is one, that one writes what the caller
// has made, too, and begin returns false.
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

// end says that the caller, who writes, has found no more output. It is false if there may be
// some now: then the caller goes on.
func (s *sharedWrites) end() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.more {
		s.more = false
		return false
	}
	s.leave()
	return true
}

// quit is end for a caller who does not go on in any case. It reports whether there may be
// more output.
func (s *sharedWrites) quit() (more bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	more, s.more = s.more, false
	s.leave()
	return more
}

// leave makes nobody the one who writes. mu is held.
func (s *sharedWrites) leave() {
	s.writing = false
	if s.waits {
		s.waits = false
		s.ended <- struct{}{}
	}
}

// wait waits until nobody writes, but not for long. Only the goroutine of the connection calls
// it.
func (s *sharedWrites) wait() {
	s.mu.Lock()
	if !s.writing {
		s.mu.Unlock()
		return
	}
	if s.ended == nil {
		s.ended = make(chan struct{}, 1)
		s.timer = time.NewTimer(lookAnew)
	} else {
		s.timer.Reset(lookAnew)
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

// writeShared is write for a protocol that is Concurrent: it writes some output, or waits for
// those who do. again says that the protocol is to be asked what is next, even if it is idle.
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

// Wake implements Link: the calling goroutine writes, unless another one is at it. If that
// fails, the goroutine of the connection is to see that.
func (e *portable) Wake() {
	if e.shared.begin() && !e.writeAll(maxTurn) {
		go e.writeRest()
	}
}

// Push implements Link: Wake does not more than that.
func (e *portable) Push() (over bool) {
	e.Wake()
	return true
}

// writeRest goes on in the place of a goroutine that has written enough for others.
func (e *portable) writeRest() {
	for !e.writeAll(maxTurn) {
	}
}

// writeAll writes all output for the caller, who is the one that writes, with at most so many
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

// failWrites ends a connection whose Write has ended the goroutine of the caller, who writes,
// or has panicked. That may be a goroutine for which nobody else would recover.
func (e *portable) failWrites(panicked any) {
	e.Abort()
	_ = e.nc.Close()
	e.shared.quit()
	if panicked != nil {
		e.Set.Host.Logf("fasthttp: panic serving a connection: %v\n%s", panicked, debug.Stack())
	}
}
