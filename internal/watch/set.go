package watch

import (
	"runtime"
	"weak"

	"github.com/valyala/fasthttp/internal/lockorder"
)

// Set holds the Watches of a server, which a shutdown cancels.
type Set struct {
	mu   lockorder.Mutex[lockorder.WatchSet]
	live *Watch // the first one
	// abandoned holds Watches whose handlers may continue for any time. Their end is not
	// reported, in particular the end of goroutines that a handler has passed its context
	// to. So they must not be kept from being garbage-collected.
	abandoned map[weak.Pointer[Watch]]struct{}
}

// Add adds the Watch of a request that has begun.
func (s *Set) Add(w *Watch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w.after = s.live; w.after != nil {
		w.after.before = w
	}
	s.live = w
}

// remove removes a Watch, if it is in the list. The lock is held.
func (s *Set) remove(w *Watch) {
	switch {
	case w.before != nil:
		w.before.after = w.after
	case s.live == w:
		s.live = w.after
	}
	if w.after != nil {
		w.after.before = w.before
	}
	w.before, w.after = nil, nil
}

// Finish removes the Watch of a request that was handled. It is not canceled from now on.
func (s *Set) Finish(w *Watch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(w)
	w.move(finish)
}

// Abandon reports that the client got another response than the handler's, which may still
// run. The request is canceled at once if it is armed, otherwise when it is. Until then a
// shutdown cancels it as before.
func (s *Set) Abandon(w *Watch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(w)
	if w.move(abandon) != abandoned {
		return
	}
	p := weak.Make(w)
	if _, known := s.abandoned[p]; known {
		return
	}
	if s.abandoned == nil {
		s.abandoned = make(map[weak.Pointer[Watch]]struct{})
	}
	s.abandoned[p] = struct{}{}
	runtime.AddCleanup(w, s.forget, p)
}

// forget removes an abandoned Watch without references.
func (s *Set) forget(p weak.Pointer[Watch]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.abandoned, p)
}

// Len returns the number of Watches in the set.
func (s *Set) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.abandoned)
	for w := s.live; w != nil; w = w.after {
		n++
	}
	return n
}

// CancelAll cancels all requests because the server shuts down.
func (s *Set) CancelAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for w := s.live; w != nil; w = w.after {
		w.Cancel()
	}
	for p := range s.abandoned {
		if w := p.Value(); w != nil {
			w.Cancel()
		}
	}
}
