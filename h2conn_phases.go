package fasthttp

import (
	"time"

	"github.com/valyala/fasthttp/internal/engine"
)

// h2Output is the state of the output.
type h2Output uint8

const (
	h2NoOutput h2Output = iota // the engine was not woken, and does not write
	h2Woken                    // Wake was called or is about to be called
	h2Writing                  // the engine is writing
)

// h2Input is the state of the input.
type h2Input uint8

const (
	h2NoInput  h2Input = iota // nothing has arrived yet
	h2Open                    // more may arrive
	h2Ended                   // nothing more will arrive
	h2Detached                // the engine has left the connection
)

// h2Opening is how far a connection is on its way to its first frame. Only the goroutine that
// drives the protocol uses it.
type h2Opening uint8

const (
	h2Unregistered  h2Opening = iota // a shutdown of the server does not find the connection
	h2AwaitsPreface                  // the client's preface has not arrived as a whole
	h2Begun
	h2Openings
)

// h2OpeningChanges has, for each phase, the set of phases that may follow it, as bits.
var h2OpeningChanges = [h2Openings]uint8{
	h2Unregistered:  1 << h2AwaitsPreface,
	h2AwaitsPreface: 1 << h2Begun,
	h2Begun:         0,
}

// proceedTo changes the phase.
func (o *h2Opening) proceedTo(next h2Opening) {
	if h2OpeningChanges[*o]&(1<<next) == 0 {
		panic("fasthttp: the opening of an HTTP/2 connection changes to a phase that cannot follow")
	}
	*o = next
}

// prefaceLeft returns how many milliseconds are left for the client's preface, or -1 if that
// limit does not apply.
func (h *h2Conn) prefaceLeft(now uint32) int {
	if h.opening == h2Begun {
		return -1
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	left := -1
	if h.input == h2Open {
		left = h.conn.PrefaceLeft(now)
		if left < 0 && h.opening == h2AwaitsPreface {
			h.opening.proceedTo(h2Begun)
		}
	}
	return left
}

// h2Hearing measures how long the engine waits for input. It does not read while it writes output
// that the client does not take.
type h2Hearing struct {
	since  uint32 // when the wait began, in milliseconds of h2Now, or 0
	waited uint32 // in earlier waits since the last tick
}

func (h *h2Hearing) begin(now uint32) {
	if h.since == 0 {
		h.since = now
	}
}

func (h *h2Hearing) end(now uint32) {
	if h.since != 0 {
		h.waited += now - h.since
		h.since = 0
	}
}

// pause returns for how long the engine did not wait for input since the last tick, which was this
// many milliseconds ago, and begins anew.
func (h *h2Hearing) pause(since uint32) time.Duration {
	deaf := max(int32(since-h.waited), 0)
	h.waited = 0
	return time.Duration(deaf) * time.Millisecond
}

// h2Activity tells whether a connection has requests, and what an idle one has done since its last
// request. h2Conn.mu guards it.
type h2Activity uint8

const (
	h2Fresh        h2Activity = iota // there was no request yet: the connection is new, not idle
	h2FreshTrimmed                   // like h2Fresh, and spare memory was released
	h2Busy                           // there are requests: h2Conn.first is not nil
	h2Idle                           // the last request has ended
	h2IdleTrimmed                    // like h2Idle, and spare memory was released
	h2Activities
	h2NoActivity = h2Activities // in h2ActivityMoves, for an event that the phase excludes
)

// h2ActivityEvent is an event that changes the activity.
type h2ActivityEvent uint8

const (
	h2FirstBegins h2ActivityEvent = iota // a request begins, and there is no other
	h2LastEnds                           // the last request ends
	h2Trims                              // spare memory is released
	h2ActivityEvents
)

// h2ActivityMoves has the phase that follows each event.
var h2ActivityMoves = [h2Activities][h2ActivityEvents]h2Activity{
	h2Fresh:        {h2FirstBegins: h2Busy, h2LastEnds: h2NoActivity, h2Trims: h2FreshTrimmed},
	h2FreshTrimmed: {h2FirstBegins: h2Busy, h2LastEnds: h2NoActivity, h2Trims: h2FreshTrimmed},
	h2Busy:         {h2FirstBegins: h2NoActivity, h2LastEnds: h2Idle, h2Trims: h2NoActivity},
	h2Idle:         {h2FirstBegins: h2Busy, h2LastEnds: h2NoActivity, h2Trims: h2IdleTrimmed},
	h2IdleTrimmed:  {h2FirstBegins: h2Busy, h2LastEnds: h2NoActivity, h2Trims: h2IdleTrimmed},
}

// isIdle reports whether the last request has ended.
func (a h2Activity) isIdle() bool { return a == h2Idle || a == h2IdleTrimmed }

// isTrimmed reports whether spare memory was released since the last request.
func (a h2Activity) isTrimmed() bool { return a == h2FreshTrimmed || a == h2IdleTrimmed }

// move applies the event to the activity. If the connection becomes idle or active by that, move
// records it for reportStates. mu is held.
func (h *h2Conn) move(e h2ActivityEvent) {
	next := h2ActivityMoves[h.activity][e]
	if next == h2NoActivity {
		panic("fasthttp: an HTTP/2 connection gets an event that its activity excludes")
	}
	if next.isIdle() != h.activity.isIdle() && h.s.ConnState != nil {
		h.unreported++
	}
	h.activity = next
}

// trim releases spare memory of a connection without requests. mu is held.
func (h *h2Conn) trim() {
	h.move(h2Trims)
	h.conn.Trim()
	h.start = nil
}

// reportStates calls Server.ConnState for the states that begin. mu is not held: the hook may
// wait, or use the connection. If another goroutine is calling it, that one reports all states,
// so that their order remains.
func (h *h2Conn) reportStates() {
	if h.s.ConnState != nil {
		h.callConnState()
	}
}

// callConnState is reportStates for a server with the hook.
func (h *h2Conn) callConnState() {
	reports, state := false, engine.StateActive
	defer func() {
		if reports {
			// the hook has ended the goroutine
			h.mu.Lock()
			h.endReport()
			h.mu.Unlock()
		}
	}()
	for {
		h.mu.Lock()
		if state, reports = h.nextState(reports); !reports {
			h.mu.Unlock()
			return
		}
		h.mu.Unlock()
		(*host)(h.s).StateChanged(h.c, state)
	}
}

// nextState returns the next state to report. continues is set if the caller has reported the
// one before. ok is false if there is no other, or another goroutine reports it. mu is held.
func (h *h2Conn) nextState(continues bool) (state engine.State, ok bool) {
	if h.reporting && !continues {
		return state, false
	}
	if h.input == h2Detached {
		// the engine reports the end
		h.unreported = 0
	}
	if h.unreported == 0 {
		if continues {
			h.endReport()
		}
		return state, false
	}
	h.reporting = true
	state = engine.StateActive
	if h.activity.isIdle() == (h.unreported%2 == 1) {
		state = engine.StateIdle
	}
	h.unreported--
	return state, true
}

// endReport records that the goroutine that was reporting states has stopped. mu is held.
func (h *h2Conn) endReport() {
	h.reporting = false
	if h.reported != nil {
		close(h.reported)
		h.reported = nil
	}
}

// awaitReport waits until no goroutine reports a state: the engine is about to report the last
// one. mu is held, but not while it waits.
func (h *h2Conn) awaitReport() {
	if h.reporting {
		ended := make(chan struct{})
		h.reported = ended
		h.mu.Unlock()
		<-ended
		h.mu.Lock()
	}
}
