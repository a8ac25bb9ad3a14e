package watch

import (
	"runtime"
	"testing"

	"github.com/valyala/fasthttp/internal/servertest"
)

func TestShutdownCancelsWhatIsNotHandled(t *testing.T) {
	var s Set
	live, abandoned, twice, handled := New(), New(), New(), New()
	for _, w := range []*Watch{live, abandoned, twice, handled} {
		s.Add(w)
	}
	s.Abandon(abandoned)
	s.Abandon(twice)
	s.Abandon(twice)
	s.Finish(handled)
	if n := s.Len(); n != 3 {
		t.Errorf("%d are in the set, want 3", n)
	}
	s.CancelAll()
	for name, w := range map[string]*Watch{"live": live, "abandoned": abandoned, "abandoned twice": twice} {
		if !servertest.IsClosed(w.Done()) {
			t.Errorf("a shutdown does not cancel the one that is %s", name)
		}
	}
	if servertest.IsClosed(handled.Done()) {
		t.Error("a shutdown cancels a request that was handled")
	}
	runtime.KeepAlive([]*Watch{abandoned, twice})
}

// An abandoned request is canceled when it is armed, and needs nothing more.
func TestSetHasNoneThatWasTold(t *testing.T) {
	var s Set
	w := New()
	s.Add(w)
	w.Arm()
	s.Abandon(w)
	if n := s.Len(); n != 0 || !servertest.IsClosed(w.Done()) {
		t.Errorf("%d are in the set", n)
	}
}

// The end of the goroutines to which a handler has passed its context is not reported.
func TestSetForgetsAbandonedOnes(t *testing.T) {
	var s Set
	for range 3 {
		w := New()
		s.Add(w)
		w.AfterFunc(func() { t.Error("a request was canceled") })
		s.Abandon(w)
	}
	servertest.Eventually(t, "the end of the abandoned ones", func() bool {
		runtime.GC()
		return s.Len() == 0
	})
	s.CancelAll()
}
