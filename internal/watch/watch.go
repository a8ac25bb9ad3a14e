// Package watch tells the handler of a request that nobody waits for its answer any more.
package watch

import "sync"

// Watch is a request that may end early: its channel is closed when the server or,
// if that is watched, the client goes away while the handler runs.
type Watch struct {
	done chan struct{}

	mu     sync.Mutex
	linked bool // the client is watched, or may not be watched any more
	late   bool // the client has another answer than that of the handler, which may still run
	ended  bool // done is closed
	half   bool // that is because the client has ended its sending side
	over   bool // the request was handled: done will not be closed any more
	after  map[*func()]struct{}
}

// End closes the channel, unless the request was handled.
func (w *Watch) End() { w.PeerGone(false) }

// PeerGone is End for a client that has gone: half says that the client may still read the response.
func (w *Watch) PeerGone(half bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.ended && !w.over {
		w.end(half)
	}
}

// end closes the channel. mu is held.
func (w *Watch) end(half bool) {
	w.ended, w.half = true, half
	close(w.done)
	for f := range w.after {
		go (*f)()
	}
	w.after = nil
}

// Finish makes sure that the channel is not closed from now on. It is false if it
// is closed already, since somebody may be about to ask the context for Err then, and if
// a handler that is late may still begin to watch.
func (w *Watch) Finish() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.late {
		return false
	}
	w.over = !w.ended
	if w.over {
		w.after = nil
	}
	return w.over
}

// Link reports whether the caller is the one to have the client watched. If the client
// has another answer already, the channel is closed.
func (w *Watch) Link() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	first := !w.linked
	w.linked = true
	if w.late && !w.ended {
		w.end(false)
	}
	return first
}

// Unlink says that the client is not watched from now on, and reports whether it was. If
// that is because the client got another answer than that of the handler, late is true:
// the channel is closed, at once or when the handler begins to watch.
func (w *Watch) Unlink(late bool) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	linked := w.linked
	switch {
	case late:
		w.late = true
		if linked && !w.ended {
			w.end(false)
		}
	case !w.late:
		w.linked = true
	}
	return linked
}

// Late reports whether the client got another answer than that of the handler.
func (w *Watch) Late() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.late
}

// Set is the watches of a server, which a shutdown ends.
type Set struct {
	mu  sync.Mutex
	all map[*Watch]struct{}
}

// Add puts a watch into the set.
func (s *Set) Add(w *Watch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = make(map[*Watch]struct{})
	}
	s.all[w] = struct{}{}
}

// Remove takes a watch out of the set.
func (s *Set) Remove(w *Watch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, w)
}

// Len returns how many watches are in the set.
func (s *Set) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.all)
}

// EndAll ends all watches.
func (s *Set) EndAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for w := range s.all {
		w.End()
	}
}

// New returns a watch whose channel is open.
func New() *Watch { return &Watch{done: make(chan struct{})} }

// NewLate returns a watch for a handler whose client got another answer.
func NewLate() *Watch { return &Watch{done: make(chan struct{}), late: true} }

// Done returns the channel.
func (w *Watch) Done() <-chan struct{} { return w.done }

// Half reports whether the client has only ended its sending side.
func (w *Watch) Half() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.half
}

// AfterFunc arranges for f to be called in a goroutine of its own when the channel is
// closed. The function that it returns takes that back, and reports whether it was in
// time.
func (w *Watch) AfterFunc(f func()) (stop func() bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		go f()
		return func() bool { return false }
	}
	if w.after == nil {
		w.after = make(map[*func()]struct{})
	}
	w.after[&f] = struct{}{}
	return func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		_, inTime := w.after[&f]
		delete(w.after, &f)
		return inTime
	}
}
