package hostmap

import (
	"math"
	"sync/atomic"
)

// Users counts who uses something that is dropped when it is not used any more. The
// zero value is that of something without users. The methods may be called
// concurrently.
type Users struct{ n atomic.Int64 }

// dropped is what is added to the users of something that was dropped.
const dropped = math.MinInt64 / 2

// Add counts a user, also of what was dropped: whoever has got hold of that may go
// on to use it.
func (u *Users) Add() { u.n.Add(1) }

// Enter counts a user, and reports whether there is something to use: otherwise it
// was dropped, and the user is not counted.
func (u *Users) Enter() bool {
	if u.n.Add(1) > 0 {
		return true
	}
	u.n.Add(-1)
	return false
}

// Leave undoes Add, or Enter.
func (u *Users) Leave() { u.n.Add(-1) }

// Count returns how many users there are.
func (u *Users) Count() int {
	n := u.n.Load()
	if n < 0 {
		n -= dropped
	}
	return int(n)
}

// DropIf keeps everybody out who calls Enter if there is no user and unused says so.
// That is asked again in the end, since a user may have come and gone meanwhile, and
// has left something behind then.
func (u *Users) DropIf(unused func() bool) {
	if unused() && u.n.CompareAndSwap(0, dropped) && !unused() {
		u.n.Add(-dropped)
	}
}

// Dropped reports whether DropIf has kept everybody out.
func (u *Users) Dropped() bool { return u.n.Load() < 0 }
