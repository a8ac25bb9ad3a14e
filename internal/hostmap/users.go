package hostmap

import (
	"math"
	"sync/atomic"
)

// Users counts the users of a value that is dropped when unused. The zero
// value has no users. The methods may be called concurrently.
type Users struct{ n atomic.Int64 }

// removed is added to the number of users of a dropped value.
const removed = math.MinInt64 / 2

// Add counts a user, even of a dropped value: a caller that already holds it may
// continue to use it.
func (u *Users) Add() { u.n.Add(1) }

// TryAdd counts a user, and reports whether the value can be used: otherwise it was
// dropped, and the user is not counted.
func (u *Users) TryAdd() bool {
	if u.n.Add(1) > 0 {
		return true
	}
	u.n.Add(-1)
	return false
}

// Release undoes Add, or TryAdd.
func (u *Users) Release() { u.n.Add(-1) }

// Count returns the number of users.
func (u *Users) Count() int {
	n := u.n.Load()
	if n < 0 {
		n -= removed
	}
	return int(n)
}

// RemoveIf drops the value, so that TryAdd fails, if there is no user and unused
// returns true. It calls unused again in the end, since a user may have entered and
// left meanwhile: if it returns false then, the value is kept.
func (u *Users) RemoveIf(unused func() bool) {
	if unused() && u.n.CompareAndSwap(0, removed) && !unused() {
		u.n.Add(-removed)
	}
}

// Removed reports whether RemoveIf has dropped the value.
func (u *Users) Removed() bool { return u.n.Load() < 0 }
