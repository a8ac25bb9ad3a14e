package lockorder

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"syscall"
)

// A goroutine that holds a lock is wired to its thread, which runs no other goroutine until
// the lock is released. So the number of the thread identifies the goroutine, and getting it
// takes a fraction of a microsecond. Getting the number of the goroutine itself, from a stack
// trace, takes some microseconds for each function on the stack.

// checkedMutex is a sync.Mutex that ends the program if a goroutine locks it against the order.
// The goroutine that has locked it must unlock it.
type checkedMutex[L Lock] struct{ mu sync.Mutex }

// Lock implements sync.Locker.
func (m *checkedMutex[L]) Lock() {
	var l L
	by := wire()
	by.check(l.place(), &m.mu)
	if !m.mu.TryLock() {
		by = by.await(m.mu.Lock)
	}
	by.push(l.place(), &m.mu)
}

// TryLock is like sync.Mutex.TryLock. It never waits, so it may be called against the order.
func (m *checkedMutex[L]) TryLock() bool {
	var l L
	by := wire()
	if !m.mu.TryLock() {
		runtime.UnlockOSThread()
		return false
	}
	by.push(l.place(), &m.mu)
	return true
}

// Unlock implements sync.Locker.
func (m *checkedMutex[L]) Unlock() {
	m.mu.Unlock()
	unlocked(&m.mu)
}

// checkedRWMutex is a sync.RWMutex that ends the program if a goroutine locks it against the
// order. The goroutine that has locked it must unlock it.
type checkedRWMutex[L Lock] struct{ mu sync.RWMutex }

// Lock implements sync.Locker.
func (m *checkedRWMutex[L]) Lock() {
	var l L
	by := wire()
	by.check(l.place(), &m.mu)
	if !m.mu.TryLock() {
		by = by.await(m.mu.Lock)
	}
	by.push(l.place(), &m.mu)
}

// Unlock implements sync.Locker.
func (m *checkedRWMutex[L]) Unlock() {
	m.mu.Unlock()
	unlocked(&m.mu)
}

// RLock is like sync.RWMutex.RLock.
func (m *checkedRWMutex[L]) RLock() {
	var l L
	by := wire()
	by.check(l.place(), &m.mu)
	if !m.mu.TryRLock() {
		by = by.await(m.mu.RLock)
	}
	by.push(l.place(), &m.mu)
}

// RUnlock is like sync.RWMutex.RUnlock.
func (m *checkedRWMutex[L]) RUnlock() {
	m.mu.RUnlock()
	unlocked(&m.mu)
}

// unlocked records that the goroutine, which is still wired, has released a lock.
func unlocked(mu any) {
	wire().pop(mu)
	runtime.UnlockOSThread()
}

// await calls lock, which waits, and returns the locks of the goroutine. A goroutine that holds
// none is not wired meanwhile: waking a thread takes longer than waking a goroutine.
func (h *held) await(lock func()) *held {
	if h.any() {
		lock()
		return h
	}
	runtime.UnlockOSThread()
	lock()
	return wire()
}

// held is the list of locks that one goroutine holds, in the order in which it has taken them.
type held struct {
	n     int
	locks [maxHeld]struct {
		place place
		mu    any
	}
}

// maxHeld is the largest number of locks that a goroutine holds together. A lock that nests is
// held once for each handler around the innermost one.
const maxHeld = 64

const (
	pageSize = 1 << 6
	// maxThread is the largest number of a thread in Linux.
	maxThread = 1 << 22
)

// byThread has the locks of each goroutine that holds some, by its thread. Only that goroutine
// uses them.
var byThread [maxThread / pageSize]atomic.Pointer[[pageSize]held]

// wire wires the goroutine to its thread, and returns the locks that it holds.
func wire() *held {
	runtime.LockOSThread()
	id := syscall.Gettid()
	page := &byThread[id/pageSize]
	if page.Load() == nil {
		page.CompareAndSwap(nil, new([pageSize]held))
	}
	return &page.Load()[id%pageSize]
}

// check ends the program if the goroutine must not wait for a lock.
//
// The functions below are not seen by the race detector: the order of the goroutines that use
// a thread would hide other races.
//
//go:norace
func (h *held) check(p place, mu any) {
	for i := range h.n {
		switch other := &h.locks[i]; {
		case other.mu == mu:
			fail(fmt.Sprintf("lockorder: %s is taken twice", p))
		case other.place > p, other.place == p && order[p].kind != nests:
			fail(fmt.Sprintf("lockorder: %s is taken while %s is held", p, other.place))
		case order[other.place].kind == leaf:
			fail(fmt.Sprintf("lockorder: %s is taken while %s is held, a leaf", p, other.place))
		}
	}
}

//go:norace
func (h *held) any() bool { return h.n > 0 }

//go:norace
func (h *held) push(p place, mu any) {
	if h.n == maxHeld {
		fail(fmt.Sprintf("lockorder: a goroutine holds %d locks", h.n))
		return
	}
	h.locks[h.n].place, h.locks[h.n].mu = p, mu
	h.n++
}

// pop removes a lock, and undoes its wire.
//
//go:norace
func (h *held) pop(mu any) {
	for i := h.n - 1; i >= 0; i-- {
		if h.locks[i].mu == mu {
			// unlike copy, which the race detector sees
			for h.n--; i < h.n; i++ {
				h.locks[i] = h.locks[i+1]
			}
			h.locks[h.n].mu = nil
			break
		}
	}
	runtime.UnlockOSThread()
}

// fail ends the program. A panic of the calling goroutine would not do: it may be a handler's,
// which a server recovers.
var fail = func(text string) {
	text += "\n\n" + string(debug.Stack())
	go panic(text)
	select {}
}
