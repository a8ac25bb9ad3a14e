package fasthttp

import "github.com/valyala/fasthttp/internal/engine"

// changedState records for reportStates that the connection has become idle or active. mu is held.
func (h *h2Conn) changedState() {
	if h.s.ConnState != nil {
		h.unreported++
	}
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
