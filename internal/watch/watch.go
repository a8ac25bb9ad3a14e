// Package watch signals a request's cancellation: client disconnect or server shutdown.
//
// A Watch is the signal of one request, and a Set holds the Watches of a server. Funcs, in
// shutdown.go, are functions that a shutdown calls. All phase
// changes of a Watch are in one table, moves.
package watch

import (
	"sync/atomic"

	"github.com/valyala/fasthttp/internal/lockorder"
)

// phase is the phase of a Watch.
type phase uint8

const (
	// open: only a shutdown of the server cancels the request.
	open phase = iota
	// armed: a disconnect of the client cancels the request, too.
	armed
	// abandoned: the client got another response than the handler's, and the Watch is not
	// armed. Arming it cancels the request at once.
	abandoned
	// stopped: the channel is closed because the server shuts down. The Watch is not armed.
	stopped
	// stoppedArmed: like stopped, but the Watch is armed.
	stoppedArmed
	// disconnected: the channel is closed, and the client does not read the handler's response.
	disconnected
	// halfClosed: the channel is closed, and the client has ended its sending side. It may
	// still read the response.
	halfClosed
	// over: the response was sent after a shutdown had closed the channel.
	over
	// finished: the response was sent without a cancellation. The channel stays open.
	finished

	numPhases
)

// event is an event that changes the phase of a Watch.
type event uint8

const (
	// arm: the handler wants a disconnect to cancel the request.
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

// moves has the phase that follows each event. Events of the client move only an armed
// Watch, and the last four phases are final.
var moves = [numPhases][numEvents]phase{
	open: {
		arm: armed, cancel: stopped, disconnect: open, halfClose: open, abandon: abandoned, finish: finished,
	},
	armed: {
		arm: armed, cancel: stoppedArmed, disconnect: disconnected, halfClose: halfClosed, abandon: disconnected, finish: finished,
	},
	abandoned: {
		arm: disconnected, cancel: disconnected, disconnect: abandoned, halfClose: abandoned, abandon: abandoned, finish: abandoned,
	},
	stopped: {
		arm: stoppedArmed, cancel: stopped, disconnect: stopped, halfClose: stopped, abandon: disconnected, finish: over,
	},
	stoppedArmed: {
		arm: stoppedArmed, cancel: stoppedArmed, disconnect: disconnected, halfClose: halfClosed, abandon: disconnected, finish: over,
	},
	disconnected: {
		arm: disconnected, cancel: disconnected, disconnect: disconnected, halfClose: disconnected, abandon: disconnected, finish: disconnected,
	},
	halfClosed: {
		arm: halfClosed, cancel: halfClosed, disconnect: halfClosed, halfClose: halfClosed, abandon: halfClosed, finish: halfClosed,
	},
	over: {
		arm: over, cancel: over, disconnect: over, halfClose: over, abandon: over, finish: over,
	},
	finished: {
		arm: finished, cancel: finished, disconnect: finished, halfClose: finished, abandon: finished, finish: finished,
	},
}

// closed reports whether the channel is closed in the phase.
func (p phase) closed() bool {
	switch p {
	case stopped, stoppedArmed, disconnected, halfClosed, over:
		return true
	}
	return false
}

// disconnected reports whether the client has left in the phase, as far as the handler can know.
func (p phase) disconnected() bool { return p == disconnected || p == halfClosed }

// handled reports whether the response was sent in the phase, so that nothing more happens.
func (p phase) handled() bool { return p == finished || p == over }

// Watch signals the cancellation of a request by closing its channel.
type Watch struct {
	mu           lockorder.Mutex[lockorder.Watch]
	phase        phase
	isMade       atomic.Bool   // done is set
	done         chan struct{} // nil until it is asked for
	onDone       hooks         // called when the channel is closed
	onDisconnect hooks         // called when the client has left

	// the Watches before and after it in a Set, whose lock guards them
	before, after *Watch
}

// hooks are called once. Mostly there is one.
type hooks struct{ first *Hook }

// Hook is part of an object whose method is called once, in a goroutine of its own.
type Hook struct {
	target interface{ ClientLeft() } // or nil
	f      func()                    // if target is nil
	w      *Watch
	next   *Hook
}

// run calls the function.
func (h *Hook) run() {
	if h.target != nil {
		go h.target.ClientLeft()
	} else {
		go h.f()
	}
}

// call calls the functions.
func (hs *hooks) call() {
	for h := hs.first; h != nil; h = h.next {
		h.run()
	}
	hs.first = nil
}

// remove removes h, and reports whether it was there.
func (hs *hooks) remove(h *Hook) bool {
	for at := &hs.first; *at != nil; at = &(*at).next {
		if *at == h {
			*at = h.next
			return true
		}
	}
	return false
}

// New returns the Watch of a request that has begun.
func New() *Watch { return new(Watch) }

// move applies the event, and returns the phase that follows.
func (w *Watch) move(e event) phase {
	w.mu.Lock()
	defer w.mu.Unlock()
	was := w.phase
	w.phase = moves[was][e]
	if w.phase.closed() && !was.closed() {
		if w.done != nil {
			close(w.done)
		}
		w.onDone.call()
	}
	if w.phase.disconnected() && !was.disconnected() {
		w.onDisconnect.call()
	}
	if w.phase.handled() && !was.handled() {
		w.onDone, w.onDisconnect = hooks{}, hooks{}
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
func (w *Watch) Done() <-chan struct{} {
	if w.isMade.Load() {
		return w.done
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.done == nil {
		w.done = make(chan struct{})
		if w.phase.closed() {
			close(w.done)
		}
		w.isMade.Store(true)
	}
	return w.done
}

// Arm makes a disconnect of the client cancel the request. If the client got another
// response already, the request is canceled at once.
func (w *Watch) Arm() { w.move(arm) }

// Cancel cancels the request because the server shuts down.
func (w *Watch) Cancel() { w.move(cancel) }

// PeerGone cancels the request, if it is armed, because the client has disconnected: half
// reports whether it has only ended its sending side.
func (w *Watch) PeerGone(half bool) {
	if half {
		w.move(halfClose)
	} else {
		w.move(disconnect)
	}
}

// HalfClosed reports whether the request is canceled, and the client has ended its sending
// side.
func (w *Watch) HalfClosed() bool { return w.now() == halfClosed }

// Finished reports whether the request was handled without a cancellation, so that the
// channel is never closed.
func (w *Watch) Finished() bool { return w.now() == finished }

// AfterFunc arranges for f to be called in its own goroutine when the request is canceled.
// The returned function undoes that, and reports whether it was in time.
func (w *Watch) AfterFunc(f func()) (stop func() bool) { return w.add(&w.onDone, f, phase.closed) }

// AfterDisconnect is like AfterFunc, but a shutdown of the server alone does not call f: the
// client must have left, or got another response than the handler's.
func (w *Watch) AfterDisconnect(f func()) (stop func() bool) {
	return w.add(&w.onDisconnect, f, phase.disconnected)
}

// HookDisconnect is AfterDisconnect for a method of target. The memory for it is h, which belongs to the
// Watch until h.Stop or the end of the request. It must be zero, or stopped.
func (w *Watch) HookDisconnect(h *Hook, target interface{ ClientLeft() }) {
	*h = Hook{target: target, w: w}
	w.hook(&w.onDisconnect, h, phase.disconnected)
}

// Stop makes the method not be called, and reports whether it was in time.
func (h *Hook) Stop() bool {
	if h.w == nil {
		return false
	}
	h.w.mu.Lock()
	defer h.w.mu.Unlock()
	return h.w.onDisconnect.remove(h)
}

// add adds f to a list of functions that are called in a phase, or calls it if that has
// begun.
func (w *Watch) add(to *hooks, f func(), now func(phase) bool) (stop func() bool) {
	h := &Hook{f: f}
	if !w.hook(to, h, now) {
		return func() bool { return false }
	}
	return func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return to.remove(h)
	}
}

// hook is add for a Hook, and reports whether it was added.
func (w *Watch) hook(to *hooks, h *Hook, now func(phase) bool) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if now(w.phase) {
		h.run()
		return false
	}
	h.next, to.first = to.first, h
	return true
}
