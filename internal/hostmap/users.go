package hostmap

import (
	"math"
	"sync/atomic"
)

// Users counts the users of a value that is dropped when unused. The zero
// value has no users. The methods may be called concurrently.
type Users struct{ n atomic.Int64 }

// dropped is added to the number of users of a dropped value.
const dropped = math.MinInt64 / 2

// Add counts a user, even of a dropped value: a caller that already holds it may
// continue to use it.
func (u *Users) Add() { u.n.Add(1) }

// Enter counts a user, and reports whether the value can be used: otherwise it was
// dropped, and the user is not counted.
func (u *Users) Enter() bool {
	if u.n.Add(1) > 0 {
		return true
	}
	u.n.Add(-1)
	return false
}

// Leave undoes Add, or Enter.
func (u *Users) Leave() { u.n.Add(-1) }

// Count returns the number of users.
func (u *Users) Count() int {
	n := u.n.Load()
	if n < 0 {
		n -= dropped
	}
	return int(n)
}

// DropIf drops the value, so that Enter fails, if there is no user and unused
// returns true. It calls unused again in the end, since a user may have entered and
// left meanwhile: if it returns false then, the value is kept.
func (u *Users) DropIf(unused func() bool) {
	if unused() && u.n.CompareAndSwap(0, dropped) && !unused() {
		u.n.Add(-dropped)
	}
}

// Dropped reports whether DropIf has dropped the value.
func (u *Users) Dropped() bool { return u.n.Load() < 0 }
