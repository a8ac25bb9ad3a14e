package fasthttp

// ctxPhase is the phase of a context between the server and the application: to whom it belongs,
// and whether the client gets its Response. The zero phase is the usual one, so a request without
// a timeout changes nothing.
//
// The phase is changed with timeoutMu held. timeoutResponse belongs to it: it is set in the phases
// after ctxRevoked, and only there. Two things are independent of it. exchange is set while the
// handler runs, in any phase, and usually without the lock, see setExchange. run and lateRun list
// the runs that have contexts lent from this one, each with a phase of its own.
type ctxPhase uint32

const (
	// ctxOwn: Response is the response, and the server reuses the context.
	ctxOwn ctxPhase = iota
	// ctxRevoked: the context was lent within a late run. It may not use the connection,
	// and its response is not sent; but its handler gives it back, and it is reused.
	ctxRevoked
	// ctxLate: it was lent to a late run, and belongs to it until its handler returns.
	// timeoutResponse is ready, and was not taken.
	ctxLate
	// ctxLateTaken: like ctxLate, but timeoutResponse was taken to be sent.
	ctxLateTaken
	// ctxDetached: a TimeoutError method has left it to the goroutines of the handler, for good.
	// timeoutResponse is ready, and was not taken; another call may replace it.
	ctxDetached
	// ctxDetachedTaken: like ctxDetached, but the response was taken: none set later is sent.
	ctxDetachedTaken

	ctxPhases
	ctxNoPhase = ctxPhases // in ctxMoves, for an event that the phase excludes
)

// ctxEvent is an event that changes the phase of a context.
type ctxEvent uint8

const (
	// ctxDetach: a TimeoutError method was called, on it or on the context that has lent it.
	ctxDetach ctxEvent = iota
	// ctxExpire: the time limit of its run has passed, once at most.
	ctxExpire
	// ctxRevoke: a run around its own is late.
	ctxRevoke
	// ctxTake: timeoutResponse is taken, to be sent.
	ctxTake
	// ctxReset: the server makes the context ready for another request.
	ctxReset
	// ctxInit: the application prepares it with Init or Init2.
	ctxInit

	ctxEvents
)

// ctxMoves has the phase that follows each event. A server that resets a context in the phases
// ctxDetached and ctxDetachedTaken had taken it back before the TimeoutError method was called,
// which was too late; the context is then not reused another time.
var ctxMoves = [ctxPhases][ctxEvents]ctxPhase{
	ctxOwn: {
		ctxDetach: ctxDetached, ctxExpire: ctxLate, ctxRevoke: ctxRevoked,
		ctxTake: ctxNoPhase, ctxReset: ctxOwn, ctxInit: ctxOwn,
	},
	ctxRevoked: {
		ctxDetach: ctxDetached, ctxExpire: ctxLate, ctxRevoke: ctxRevoked,
		ctxTake: ctxNoPhase, ctxReset: ctxOwn, ctxInit: ctxOwn,
	},
	ctxLate: {
		ctxDetach: ctxDetached, ctxExpire: ctxNoPhase, ctxRevoke: ctxLate,
		ctxTake: ctxLateTaken, ctxReset: ctxNoPhase, ctxInit: ctxOwn,
	},
	ctxLateTaken: {
		ctxDetach: ctxDetachedTaken, ctxExpire: ctxNoPhase, ctxRevoke: ctxLateTaken,
		ctxTake: ctxLateTaken, ctxReset: ctxNoPhase, ctxInit: ctxOwn,
	},
	ctxDetached: {
		ctxDetach: ctxDetached, ctxExpire: ctxDetached, ctxRevoke: ctxDetached,
		ctxTake: ctxDetachedTaken, ctxReset: ctxDetached, ctxInit: ctxOwn,
	},
	ctxDetachedTaken: {
		ctxDetach: ctxDetachedTaken, ctxExpire: ctxDetachedTaken, ctxRevoke: ctxDetachedTaken,
		ctxTake: ctxDetachedTaken, ctxReset: ctxDetachedTaken, ctxInit: ctxOwn,
	},
}

func (ctx *RequestCtx) loadPhase() ctxPhase { return ctxPhase(ctx.phase.Load()) }

// move applies the event. timeoutMu is held.
func (ctx *RequestCtx) move(e ctxEvent) {
	next := ctxMoves[ctx.loadPhase()][e]
	if next == ctxNoPhase {
		panic("fasthttp: a context gets an event that its phase excludes")
	}
	ctx.phase.Store(uint32(next))
}

// resetPhase applies ctxReset.
func (ctx *RequestCtx) resetPhase() {
	ctx.timeoutMu.Lock()
	defer ctx.timeoutMu.Unlock()
	ctx.move(ctxReset)
}

// timedOut reports whether the client gets timeoutResponse instead of Response, so that the
// server does not reuse the context. Any goroutine may call it. Unless it holds timeoutMu the
// answer may be about to change to true.
func (ctx *RequestCtx) timedOut() bool { return ctx.loadPhase() > ctxRevoked }

// isLate reports whether the client gets a response other than the context's. timeoutMu is held.
func (ctx *RequestCtx) isLate() bool { return ctx.loadPhase() != ctxOwn }

// isRevoked reports whether the context was lent to a late run, or within one, and no TimeoutError
// method was called.
func (p ctxPhase) isRevoked() bool { return p == ctxRevoked || p == ctxLate || p == ctxLateTaken }

// isDetached reports whether a TimeoutError method has left the context to the application.
func (p ctxPhase) isDetached() bool { return p == ctxDetached || p == ctxDetachedTaken }

// isTaken reports whether the response to the client was taken from timeoutResponse.
func (p ctxPhase) isTaken() bool { return p == ctxLateTaken || p == ctxDetachedTaken }

// ownsConn reports whether the connection serves this request. A request that has timed out
// must leave it to the next one. timeoutMu is held.
func (ctx *RequestCtx) ownsConn() bool { return ctx.exchange != nil && !ctx.isLate() }

// lendsBody reports whether a late run within a TimeoutHandler still has the body, while the
// handlers around it have Response. Only the goroutine that serves the request calls it.
func (ctx *RequestCtx) lendsBody() bool { return ctx.lateRun != nil }

// runPhase is the phase of a timedRun. timeoutMu of its context guards it.
type runPhase uint8

const (
	runRuns     runPhase = iota // the handler runs, and its caller waits for it
	runReturned                 // it has returned in time, and its caller continues with its changes
	runLate                     // it has timed out, and its caller has continued without it
	runLeft                     // it has timed out, and has returned
	runPhases
)

// runChanges has, for each phase of a run, the set of phases that may follow it, as bits.
var runChanges = [runPhases]uint8{
	runRuns:     1<<runReturned | 1<<runLate,
	runReturned: 0,
	runLate:     1 << runLeft,
	runLeft:     0,
}

// change changes the phase of the run. timeoutMu of its context is held.
func (r *timedRun) change(to runPhase) {
	if runChanges[r.phase]&(1<<to) == 0 {
		panic("fasthttp: a run changes to a phase that cannot follow")
	}
	r.phase = to
}

// isOver reports whether the handler has returned.
func (p runPhase) isOver() bool { return p == runReturned || p == runLeft }

// isLate reports whether the handler has timed out.
func (p runPhase) isLate() bool { return p == runLate || p == runLeft }
