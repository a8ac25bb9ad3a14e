package watch

import (
	"testing"

	"github.com/valyala/fasthttp/internal/servertest"
)

func TestWatchEndsOnceAndNotAfterTheRequest(t *testing.T) {
	var s Set
	gone, stopped, over := New(), New(), New()
	for _, w := range []*Watch{gone, stopped, over} {
		s.Add(w)
		if !w.Link() || w.Link() {
			t.Error("more than one is to have the client watched")
		}
	}
	gone.PeerGone(true)
	if !over.Finish() {
		t.Error("a watch that did not end cannot be finished")
	}
	s.EndAll()
	if !servertest.IsClosed(gone.Done()) || !gone.Half() {
		t.Error("the end of the client is not told")
	}
	if !servertest.IsClosed(stopped.Done()) || stopped.Half() {
		t.Error("the end of the server is not told")
	}
	if servertest.IsClosed(over.Done()) {
		t.Error("a request that was handled ends")
	}
	if gone.Finish() {
		t.Error("a watch that has ended can be finished")
	}
	for _, w := range []*Watch{gone, stopped, over} {
		s.Remove(w)
	}
	if n := s.Len(); n != 0 {
		t.Errorf("%d watches are left", n)
	}
}

func TestAfterFuncRunsUnlessItIsStopped(t *testing.T) {
	w := New()
	ran := make(chan string, 3)
	stop := w.AfterFunc(func() { ran <- "stopped" })
	w.AfterFunc(func() { ran <- "first" })
	if !stop() || stop() {
		t.Error("stopping is not told once")
	}
	w.End()
	if got := <-ran; got != "first" {
		t.Errorf("%s ran", got)
	}
	stop = w.AfterFunc(func() { ran <- "late" })
	if got := <-ran; got != "late" {
		t.Errorf("%s ran", got)
	}
	if stop() {
		t.Error("stop reports success after the function has run")
	}
}

// A handler that is late has its channel closed once it watches and the client has another
// answer, in whichever order.
func TestLateWatchEndsOnceItIsLinked(t *testing.T) {
	link := func(w *Watch) { w.Link() }
	answer := func(w *Watch) { w.Unlink(true) }
	handled := func(w *Watch) { w.Unlink(false) }
	finish := func(w *Watch) { w.Finish() }
	for name, c := range map[string]struct {
		steps []func(*Watch)
		ends  bool
	}{
		"linked, then answered":            {[]func(*Watch){link, answer, finish}, true},
		"answered, then linked":            {[]func(*Watch){answer, finish, link}, true},
		"answered and forgotten":           {[]func(*Watch){answer, finish, handled, finish}, false},
		"answered, forgotten and linked":   {[]func(*Watch){answer, finish, handled, finish, link}, true},
		"handled in time":                  {[]func(*Watch){link, handled, finish}, false},
		"handled in time, and then linked": {[]func(*Watch){handled, finish, link}, false},
	} {
		w := New()
		told := make(chan struct{}, 1)
		w.AfterFunc(func() { told <- struct{}{} })
		for _, step := range c.steps {
			step(w)
		}
		if servertest.IsClosed(w.Done()) != c.ends {
			t.Errorf("%s: closed is %v", name, !c.ends)
		}
		if c.ends {
			servertest.Receive(t, name+": the function", told)
		}
		if w.Half() {
			t.Errorf("%s: the client is said to read on", name)
		}
	}
	w := NewLate()
	if !w.Late() || servertest.IsClosed(w.Done()) {
		t.Error("a late watch has ended before it was linked")
	}
	if w.Link(); !servertest.IsClosed(w.Done()) || w.Finish() {
		t.Error("a late watch goes on once it is linked")
	}
}
