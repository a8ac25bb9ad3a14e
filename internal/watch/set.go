package watch

import (
	"runtime"
	"sync"
	"weak"
)

// Set has the Watches of a server, which a shutdown cancels.
type Set struct {
	mu   sync.Mutex
	live map[*Watch]struct{}
	// abandoned has those whose handlers may run on for any time. Nobody says when they
	// end, in particular not those of goroutines that a handler has left its context to, so
	// they must not be kept from being collected.
	abandoned map[weak.Pointer[Watch]]struct{}
}

// Add puts the Watch of a request that has begun into the set.
func (s *Set) Add(w *Watch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.live == nil {
		s.live = make(map[*Watch]struct{})
	}
	s.live[w] = struct{}{}
}

// Finish takes the Watch of a request that was handled out of the set. It is not canceled
// from now on.
func (s *Set) Finish(w *Watch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.live, w)
	w.move(finish)
}

// Abandon says that the client got another response than the handler's, which may still
// run: it is told at once if it has asked about the client, otherwise when it asks. Until
// then a shutdown cancels the request as before.
func (s *Set) Abandon(w *Watch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.live, w)
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

// forget takes an abandoned Watch that nobody has any more out of the set.
func (s *Set) forget(p weak.Pointer[Watch]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.abandoned, p)
}

// Len returns how many Watches are in the set.
func (s *Set) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.live) + len(s.abandoned)
}

// CancelAll cancels all requests because the server shuts down.
func (s *Set) CancelAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for w := range s.live {
		w.Cancel()
	}
	for p := range s.abandoned {
		if w := p.Value(); w != nil {
			w.Cancel()
		}
	}
}
