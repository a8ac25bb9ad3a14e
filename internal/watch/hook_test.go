package watch

import (
	"testing"

	"github.com/valyala/fasthttp/internal/servertest"
)

// leaver is an object with a Hook.
type leaver struct {
	hook Hook
	told chan struct{}
}

func (l *leaver) ClientLeft() { l.told <- struct{}{} }

func newLeaver() *leaver { return &leaver{told: make(chan struct{}, 2)} }

func TestHookIsCalledOnceWhenTheClientLeaves(t *testing.T) {
	w, l := New(), newLeaver()
	w.Arm()
	w.HookDisconnect(&l.hook, l)
	w.Cancel()
	if len(l.told) > 0 || !l.hook.Stop() {
		t.Error("a shutdown counts as the client's end")
	}
	w.HookDisconnect(&l.hook, l)
	w.PeerGone(true)
	w.PeerGone(false)
	servertest.Receive(t, "the call", l.told)
	if l.hook.Stop() {
		t.Error("Stop claims to have been in time")
	}
	// the client has left already
	w.HookDisconnect(&l.hook, l)
	servertest.Receive(t, "the call at once", l.told)
	if l.hook.Stop() || len(l.told) > 0 {
		t.Error("there was another call")
	}
}

func TestStoppedHookIsNotCalled(t *testing.T) {
	w, stopped, other := New(), newLeaver(), newLeaver()
	w.Arm()
	w.HookDisconnect(&stopped.hook, stopped)
	w.HookDisconnect(&other.hook, other)
	if !stopped.hook.Stop() || stopped.hook.Stop() || new(Hook).Stop() {
		t.Error("Stop does not report what it has done")
	}
	w.PeerGone(false)
	servertest.Receive(t, "the call of the other one", other.told)
	if len(stopped.told) > 0 {
		t.Error("it was called")
	}
}

func TestWatchTakesOneAllocation(t *testing.T) {
	var s Set
	l := newLeaver()
	if got := testing.AllocsPerRun(100, func() {
		w := New()
		s.Add(w)
		w.Arm()
		w.HookDisconnect(&l.hook, l)
		l.hook.Stop()
		s.Finish(w)
	}); got > 1 {
		t.Errorf("%v allocations", got)
	}
	if n := s.Len(); n != 0 {
		t.Errorf("%d are in the set", n)
	}
}

// The channel of Done is made when it is asked for.
func TestDoneAfterTheEnd(t *testing.T) {
	w := New()
	w.Cancel()
	if done := w.Done(); !servertest.IsClosed(done) || done != w.Done() {
		t.Error("the channel is open, or another one each time")
	}
}

// A Watch may leave the set in any order.
func TestSetInAnyOrder(t *testing.T) {
	for _, order := range [][]int{{0, 1, 2}, {2, 1, 0}, {1, 0, 2}, {1, 2, 0}} {
		var s Set
		all := []*Watch{New(), New(), New()}
		for _, w := range all {
			s.Add(w)
		}
		for i, at := range order {
			s.Finish(all[at])
			s.Finish(all[at])
			if n := s.Len(); n != len(all)-i-1 {
				t.Errorf("%v: %d are in the set after %d", order, n, i+1)
			}
		}
	}
}
