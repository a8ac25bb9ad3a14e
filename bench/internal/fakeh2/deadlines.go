package fakeh2

import (
	"sync"
	"time"
)

// deadlines implements the deadlines of both ends of a connection.
type deadlines struct {
	mu      sync.Mutex
	changed sync.Cond // wakes a blocked reader
	expired bool      // the read deadline has passed
}

func (d *deadlines) SetDeadline(t time.Time) error { return d.SetReadDeadline(t) }

// SetReadDeadline wakes a blocked reader if t has passed. It ignores deadlines in the future:
// no benchmark reaches one.
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
