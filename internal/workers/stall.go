package workers

import "time"

// Stall watches something that should make progress, and calls a function if there is none for
// a while. The owner counts the progress, and guards the Stall with a lock. The zero value is ready
// for use.
type Stall struct {
	timer *time.Timer // nil before it is first needed
	seen  uint32      // the counter when the timer was started
	runs  bool
}

// Staller is the owner of a Stall.
type Staller interface {
	// CheckStall is called by the timer, without the lock. It must call Stall.Ended.
	CheckStall()
}

// Start makes the timer call CheckStall after d, unless the timer runs already. count is the
// counter of the progress.
func (s *Stall) Start(d time.Duration, count uint32, owner Staller) {
	if s.runs {
		return
	}
	s.runs, s.seen = true, count
	if s.timer == nil {
		s.timer = time.AfterFunc(d, owner.CheckStall)
	} else {
		s.timer.Reset(d)
	}
}

// Ended records that the timer has called CheckStall, and reports whether there has been no
// progress since Start.
func (s *Stall) Ended(count uint32) (stalled bool) {
	s.runs = false
	return count == s.seen
}

// Runs reports whether the timer runs.
func (s *Stall) Runs() bool { return s.runs }
