// Package watch signals a request's cancellation: client disconnect or server shutdown.
//
// A Watch is the signal of one request, and a Set has those of a server. What moves a Watch
// is in one table, moves. The package imports the standard library alone.
package watch

import "sync"

// phase is how far a Watch has come.
type phase uint8

const (
	// open: only a shutdown of the server cancels the request.
	open phase = iota
	// armed: the handler wants to know of a disconnect of the client, too.
	armed
	// abandoned: the client got another response than the handler's, which has not asked
	// about the client. If it asks, the answer is that nobody waits for its response.
	abandoned
	// canceled: the channel is closed.
	canceled
	// halfClosed: the channel is closed because the client has ended its sending side. It
	// may still read the response.
	halfClosed
	// finished: the response was sent without a cancellation. The channel stays open.
	finished

	numPhases
)

// event is what happens to a Watch.
type event uint8

const (
	// arm: the handler asks to be told of a disconnect.
	arm event = iota
	// cancel: the server shuts down.
	cancel
	// disconnect: the client has closed or reset the connection, or the stream.
	disconnect
	// halfClose: the client has ended its sending side.
	halfClose
	// abandon: the client got another response than the handler's, which may still run.
	abandon
	// finish: the request was handled.
	finish

	numEvents
)

// moves has the phase that follows an event. Only an armed Watch is canceled by what the
// client does, and the last three phases are final.
var moves = [numPhases][numEvents]phase{
	open: {
		arm: armed, cancel: canceled, disconnect: open, halfClose: open, abandon: abandoned, finish: finished,
	},
	armed: {
		arm: armed, cancel: canceled, disconnect: canceled, halfClose: halfClosed, abandon: canceled, finish: finished,
	},
	abandoned: {
		arm: canceled, cancel: canceled, disconnect: abandoned, halfClose: abandoned, abandon: abandoned, finish: abandoned,
	},
	canceled: {
		arm: canceled, cancel: canceled, disconnect: canceled, halfClose: canceled, abandon: canceled, finish: canceled,
	},
	halfClosed: {
		arm: halfClosed, cancel: halfClosed, disconnect: halfClosed, halfClose: halfClosed, abandon: halfClosed, finish: halfClosed,
	},
	finished: {
		arm: finished, cancel: finished, disconnect: finished, halfClose: finished, abandon: finished, finish: finished,
	},
}

// closed reports whether the channel is closed in the phase.
func (p phase) closed() bool { return p == canceled || p == halfClosed }

// Watch signals the cancellation of a request by closing its channel.
type Watch struct {
	done chan struct{}

	mu    sync.Mutex
	phase phase
	after map[*func()]struct{}
}

// New returns the Watch of a request that has begun.
func New() *Watch { return &Watch{done: make(chan struct{})} }

// move makes the event happen, and returns the phase that follows.
func (w *Watch) move(e event) phase {
	w.mu.Lock()
	defer w.mu.Unlock()
	was := w.phase
	w.phase = moves[was][e]
	switch {
	case w.phase == was:
	case w.phase.closed():
		close(w.done)
		for f := range w.after {
			go (*f)()
		}
		w.after = nil
	case w.phase == finished:
		w.after = nil
	}
	return w.phase
}

// now returns the phase.
func (w *Watch) now() phase {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.phase
}

// Done returns the channel that is closed when the request is canceled.
func (w *Watch) Done() <-chan struct{} { return w.done }

// Arm makes a disconnect of the client cancel the request. If the client got another
// response already, the request is canceled at once.
func (w *Watch) Arm() { w.move(arm) }

// Cancel cancels the request because the server shuts down.
func (w *Watch) Cancel() { w.move(cancel) }

// PeerGone cancels the request, if it is armed, because the client has gone: half reports
// whether it has only ended its sending side.
func (w *Watch) PeerGone(half bool) {
	if half {
		w.move(halfClose)
	} else {
		w.move(disconnect)
	}
}

// HalfClosed reports whether the request is canceled because the client has ended its
// sending side.
func (w *Watch) HalfClosed() bool { return w.now() == halfClosed }

// Finished reports whether the request was handled without a cancellation, so that the
// channel is never closed.
func (w *Watch) Finished() bool { return w.now() == finished }

// AfterFunc arranges for f to be called in a goroutine of its own when the request is
// canceled. The function that it returns takes that back, and reports whether it was in
// time.
func (w *Watch) AfterFunc(f func()) (stop func() bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.phase.closed() {
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
