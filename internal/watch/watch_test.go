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
