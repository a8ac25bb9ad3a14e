package bodymem

import (
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/valyala/fasthttp/internal/bufpool"
)

// request is the owner of a body that a test controls.
type request struct {
	idle        bool // it waits without a goroutine
	arrives     bool // more of the body has arrived
	confirms    func()
	interrupted int
	ended       int
}

func (r *request) InterruptBody() { r.interrupted++ }

func (r *request) ClaimStalledBody() (confirm func() (end func())) {
	if !r.idle {
		return nil
	}
	return func() (end func()) {
		if r.confirms != nil {
			r.confirms()
		}
		if r.arrives {
			return nil
		}
		return func() { r.ended++ }
	}
}

func TestRoomIsMadeByStalledBodiesOnly(t *testing.T) {
	var m Memory
	m.Begin(100)
	owners := make([]*request, 4)
	held := make([]*Body, 4)
	for i := range owners {
		owners[i] = &request{idle: i != 3}
		held[i] = m.New(owners[i], uint64(i))
		if !m.Reserve(held[i], 25, 1, false) {
			t.Fatalf("no room for body %d", i)
		}
	}
	late := m.New(&request{}, 9)
	if m.Reserve(late, 10, 0, false) {
		t.Fatal("there is room while all bodies arrive")
	}
	m.Age(time.Minute)
	if !m.Reserve(late, 10, 0, false) || m.Used() > 100 {
		t.Fatalf("no room, %d bytes in use", m.Used())
	}
	var ended []int
	for _, r := range owners {
		ended = append(ended, r.ended)
	}
	// ending the longest stalled one is enough
	if want := []int{1, 0, 0, 0}; !slices.Equal(ended, want) {
		t.Errorf("ended were %v, want %v", ended, want)
	}
	for _, h := range append(held, late) {
		m.Release(h)
	}
	if m.Used() != 0 {
		t.Errorf("%d bytes are in use in the end", m.Used())
	}
}

func TestGoroutineThatWaitsIsInterrupted(t *testing.T) {
	var m Memory
	m.Begin(10)
	owner := new(request)
	h := m.New(owner, 1)
	m.Reserve(h, 10, 1, false)
	h.Block()
	m.Age(time.Minute)
	other := m.New(new(request), 2)
	if !m.Reserve(other, 10, 0, false) {
		t.Fatal("no room")
	}
	if owner.interrupted != 1 || h.Resume() {
		t.Error("the goroutine goes on")
	}
	m.Release(h)
	m.Release(other)
}

func TestBodyThatHasArrivedStays(t *testing.T) {
	var m Memory
	m.Begin(10)
	owner := &request{idle: true}
	h := m.New(owner, 1)
	m.Reserve(h, 10, 10, true)
	m.Age(time.Minute)
	other := m.New(new(request), 2)
	if m.Reserve(other, 1, 0, false) || owner.ended != 0 {
		t.Error("a body that had arrived was ended")
	}
	left := m.Detach(h)
	if m.Used() != 10 {
		t.Errorf("a body that was left counts %d bytes", m.Used())
	}
	left.Release()
	if !m.Reserve(other, 10, 0, false) {
		t.Error("no room when it was dropped")
	}
	if m.Fits(11) || !m.Fits(10) {
		t.Error("the memory that can be held differs from the limit")
	}
	m.Release(other)
}

// A request may turn out to receive more when it was claimed, which it finds out without the
// lock of its list. Its body stays.
func TestBodiesThatArriveAfterAllStay(t *testing.T) {
	var m Memory
	m.Begin(100)
	owners := []*request{{idle: true, arrives: true}, {idle: true}}
	for i, r := range owners {
		// both have moved at the same time
		h := m.New(r, 0)
		if !m.Reserve(h, 50, 1, false) {
			t.Fatalf("no room for body %d", i)
		}
		r.confirms = func() {
			l := m.shardOf(h)
			if !l.mu.TryLock() {
				t.Fatal("the lock of the list is held")
			}
			l.mu.Unlock()
		}
		defer m.Release(h)
	}
	m.Age(time.Minute)
	late := m.New(&request{}, 9)
	defer m.Release(late)
	if !m.Reserve(late, 50, 0, false) || owners[0].ended != 0 || owners[1].ended != 1 {
		t.Errorf("ended: %d and %d", owners[0].ended, owners[1].ended)
	}
	if m.Used() != 100 {
		t.Errorf("%d bytes in use", m.Used())
	}
}

// A server collects the garbage of bodies, but not for what the process has allocated before.
func TestGarbageFromBeforeIsNotCollected(t *testing.T) {
	const size = 2 * collectMin
	collections := func() uint32 {
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		return stats.NumForcedGC
	}
	bufpool.Get(size)
	var m Memory
	m.Begin(1 << 20)
	before := collections()
	m.Tidy()
	if n := collections() - before; n != 0 {
		t.Errorf("%d collections for garbage from before", n)
	}
	bufpool.Get(size)
	m.Tidy()
	if collections() == before {
		t.Error("no collection for the garbage since then")
	}
}
