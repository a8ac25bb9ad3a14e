package fakeh2

import (
	"sync"
	"time"
)

// deadlines is what both ends of a connection do about deadlines.
type deadlines struct {
	mu      sync.Mutex
	changed sync.Cond // wakes a blocked reader
	expired bool      // the read deadline has passed
}

func (d *deadlines) SetDeadline(t time.Time) error { return d.SetReadDeadline(t) }

// SetReadDeadline knows times that have passed, with which the other side wakes its reader, and
// takes all others for none: no row runs into one.
func (d *deadlines) SetReadDeadline(t time.Time) error {
	passed := !t.IsZero() && time.Until(t) <= 0
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.expired = passed; passed {
		d.changed.Broadcast()
	}
	return nil
}

func (d *deadlines) SetWriteDeadline(time.Time) error { return nil }
