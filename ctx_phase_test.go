package fasthttp

import (
	"fmt"
	"strings"
	"testing"

	"github.com/valyala/fasthttp/internal/servertest"
)

// contextsOfRuns are three contexts, each lent from the one before, and the runs of the last two.
type contextsOfRuns struct {
	outer      *RequestCtx
	around, of *timedRun
	ctx        *RequestCtx // the context of the last run
}

func newContextsOfRuns() contextsOfRuns {
	outer := &RequestCtx{exchange: new(exchange)}
	top := outer.newRun(nil)
	around := top.ctx.newRun(nil)
	of := around.ctx.newRun(nil)
	for _, run := range []*timedRun{top, around, of} {
		run.limit(servertest.Never, "too slow", 408)
	}
	return contextsOfRuns{top.ctx, around, of, of.ctx}
}

var ctxPhaseNames = [ctxPhases]string{"own", "revoked", "late", "lateTaken", "detached", "detachedTaken"}

// enter brings the context into a phase.
func (c contextsOfRuns) enter(phase ctxPhase) {
	switch phase {
	case ctxRevoked:
		c.around.timeOut()
	case ctxLate:
		c.of.timeOut()
	case ctxLateTaken:
		c.of.timeOut()
		c.ctx.takeTimeoutResponse()
	case ctxDetached:
		c.ctx.TimeoutError("left")
	case ctxDetachedTaken:
		c.ctx.TimeoutError("left")
		c.ctx.takeTimeoutResponse()
	}
}

// ctxEventMakers have, for each event, a method that makes it, if the phase is as it has to be.
var ctxEventMakers = [ctxEvents]struct {
	name string
	make func(contextsOfRuns)
}{
	ctxDetach: {"detach", func(c contextsOfRuns) { c.ctx.TimeoutError("left again") }},
	ctxExpire: {"expire", func(c contextsOfRuns) { c.of.timeOut() }},
	ctxRevoke: {"revoke", func(c contextsOfRuns) {
		c.outer.timeoutMu.Lock()
		defer c.outer.timeoutMu.Unlock()
		c.outer.revokeLent()
	}},
	ctxTake:  {"take", func(c contextsOfRuns) { c.ctx.takeTimeoutResponse() }},
	ctxReset: {"reset", func(c contextsOfRuns) { c.ctx.reset() }},
	ctxInit:  {"init", func(c contextsOfRuns) { c.ctx.Init(nil, nil, nil) }},
}

// panics reports whether f panics.
func panics(f func()) (panicked bool) {
	defer func() { panicked = recover() != nil }()
	f()
	return false
}

// TestPhasesOfContexts walks all events in each phase, by the methods that make them.
func TestPhasesOfContexts(t *testing.T) {
	want := map[string]string{
		"own":           "detach>detached expire>late revoke>revoked take>- reset>own init>own",
		"revoked":       "detach>detached expire>late revoke>revoked take>- reset>own init>own",
		"late":          "detach>detached expire>- revoke>late take>lateTaken reset>- init>own",
		"lateTaken":     "detach>detachedTaken expire>- revoke>lateTaken take>lateTaken reset>- init>own",
		"detached":      "detach>detached expire>detached revoke>detached take>detachedTaken reset>detached init>own",
		"detachedTaken": "detach>detachedTaken expire>detachedTaken revoke>detachedTaken take>detachedTaken reset>detachedTaken init>own",
	}
	for from := range ctxPhases {
		var got []string
		for _, event := range ctxEventMakers {
			c := newContextsOfRuns()
			c.enter(from)
			if now := c.ctx.loadPhase(); now != from {
				t.Fatalf("%s is entered as %s", ctxPhaseNames[from], ctxPhaseNames[now])
			}
			next := "-"
			if !panics(func() { event.make(c) }) {
				next = ctxPhaseNames[c.ctx.loadPhase()]
				checkPhase(t, fmt.Sprintf("%s in %s", event.name, ctxPhaseNames[from]), c.ctx)
			} else if now := c.ctx.loadPhase(); now != from {
				t.Errorf("%s panics in %s, and changes it to %s", event.name, ctxPhaseNames[from], ctxPhaseNames[now])
			}
			got = append(got, event.name+">"+next)
		}
		if got := strings.Join(got, " "); got != want[ctxPhaseNames[from]] {
			t.Errorf("in %s:\n got %s\nwant %s", ctxPhaseNames[from], got, want[ctxPhaseNames[from]])
		}
	}
}

// checkPhase checks that everything that a context tells about its owner fits to its phase.
func checkPhase(t *testing.T, what string, ctx *RequestCtx) {
	t.Helper()
	phase := ctx.loadPhase()
	if has := ctx.timeoutResponse.Load() != nil; has != ctx.timedOut() || has != (phase >= ctxLate) {
		t.Errorf("after %s: it has a timeout response: %v, timed out: %v", what, has, ctx.timedOut())
	}
	if ctx.isLate() != (phase != ctxOwn) || ctx.ownsConn() && phase != ctxOwn {
		t.Errorf("after %s: it is late: %v, owns the connection: %v", what, ctx.isLate(), ctx.ownsConn())
	}
	if n := boolCount(phase == ctxOwn, phase.isRevoked(), phase.isDetached()); n != 1 {
		t.Errorf("after %s: %d answers to who has it", what, n)
	}
	if phase.isTaken() && !ctx.timedOut() {
		t.Errorf("after %s: a response was taken, and there is none", what)
	}
	if kept := ctx.RecordStream(strings.NewReader("")); kept != (phase != ctxDetachedTaken) {
		t.Errorf("after %s: it keeps a new stream: %v", what, kept)
	}
}

func boolCount(values ...bool) (n int) {
	for _, v := range values {
		if v {
			n++
		}
	}
	return n
}

// TestPhasesOfLentContexts checks in which phase a context begins that is lent in each phase.
func TestPhasesOfLentContexts(t *testing.T) {
	want := [ctxPhases]ctxPhase{
		ctxOwn: ctxOwn, ctxRevoked: ctxRevoked, ctxLate: ctxRevoked, ctxLateTaken: ctxRevoked,
		ctxDetached: ctxDetached, ctxDetachedTaken: ctxDetached,
	}
	for from := range ctxPhases {
		c := newContextsOfRuns()
		c.enter(from)
		lent := c.ctx.newRun(nil).ctx
		if got := lent.loadPhase(); got != want[from] {
			t.Errorf("lent in %s it begins in %s, want %s", ctxPhaseNames[from], ctxPhaseNames[got], ctxPhaseNames[want[from]])
		}
		checkPhase(t, "lending in "+ctxPhaseNames[from], lent)
		if lent.timedOut() && string(lent.LastTimeoutErrorResponse().Body()) != "left" {
			t.Errorf("lent in %s it has the response %q", ctxPhaseNames[from], lent.LastTimeoutErrorResponse().Body())
		}
	}
}

// TestPhasesOfRuns walks all changes from each phase of a run to each other one.
func TestPhasesOfRuns(t *testing.T) {
	names := [runPhases]string{"runs", "returned", "late", "left"}
	want := map[string]string{"runs": "returned late", "returned": "", "late": "left", "left": ""}
	for from := range runPhases {
		var got []string
		for to := range runPhases {
			r := &timedRun{phase: from}
			refused := panics(func() { r.change(to) })
			if !refused {
				got = append(got, names[to])
			}
			if refused != (r.phase == from) {
				t.Errorf("%s to %s: refused %v, now %s", names[from], names[to], refused, names[r.phase])
			}
		}
		if got := strings.Join(got, " "); got != want[names[from]] {
			t.Errorf("after %s may come %q, want %q", names[from], got, want[names[from]])
		}
	}
	// the methods that change them
	for name, test := range map[string]struct {
		makes func(*timedRun)
		want  runPhase
	}{
		"nothing":                      {func(*timedRun) {}, runRuns},
		"its end":                      {func(r *timedRun) { r.end() }, runReturned},
		"the timeout":                  {func(r *timedRun) { r.timeOut() }, runLate},
		"the timeout before its end":   {func(r *timedRun) { r.timeOut(); r.end() }, runLeft},
		"its end before the timeout":   {func(r *timedRun) { r.end(); r.timeOut() }, runReturned},
		"an end that is seen too late": {func(r *timedRun) { r.limit(-servertest.Never, "too slow", 408); r.end() }, runLeft},
	} {
		r := newContextsOfRuns().of
		test.makes(r)
		if r.phase != test.want || r.phase.isLate() != (r.ctx.loadPhase() == ctxLate) {
			t.Errorf("after %s it is %s, and its context %s", name, names[r.phase], ctxPhaseNames[r.ctx.loadPhase()])
		}
	}
}
