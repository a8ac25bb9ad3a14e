package watch

import (
	"slices"
	"strings"
	"testing"

	"github.com/valyala/fasthttp/internal/servertest"
)

// table has the next phase for each phase and event.
const table = `
             Arm          Cancel       PeerGone     HalfClosed   Abandon      Finish
open         armed        stopped      open         open         abandoned    finished
armed        armed        stoppedArmed gone         halfClosed   gone         finished
abandoned    gone         gone         abandoned    abandoned    abandoned    abandoned
stopped      stoppedArmed stopped      stopped      stopped      gone         over
stoppedArmed stoppedArmed stoppedArmed gone         halfClosed   gone         over
gone         gone         gone         gone         gone         gone         gone
halfClosed   halfClosed   halfClosed   halfClosed   halfClosed   halfClosed   halfClosed
over         over         over         over         over         over         over
finished     finished     finished     finished     finished     finished     finished
`

// acts are the calls by which users of the package cause the events.
var acts = map[string]func(s *Set, w *Watch){
	"Arm":        func(_ *Set, w *Watch) { w.Arm() },
	"Cancel":     func(s *Set, _ *Watch) { s.CancelAll() },
	"PeerGone":   func(_ *Set, w *Watch) { w.PeerGone(false) },
	"HalfClosed": func(_ *Set, w *Watch) { w.PeerGone(true) },
	"Abandon":    func(s *Set, w *Watch) { s.Abandon(w) },
	"Finish":     func(s *Set, w *Watch) { s.Finish(w) },
}

// paths are the shortest ways into the phases.
var paths = map[string]string{
	"open": "", "armed": "Arm", "abandoned": "Abandon", "stopped": "Cancel", "stoppedArmed": "Arm Cancel", "gone": "Arm PeerGone",
	"halfClosed": "Arm HalfClosed", "over": "Cancel Finish", "finished": "Finish",
}

// seen describes the phase as users of the package see it.
type seen struct{ closed, half, finished bool }

var looks = map[string]seen{
	"open": {}, "armed": {}, "abandoned": {}, "stopped": {closed: true}, "stoppedArmed": {closed: true}, "gone": {closed: true},
	"halfClosed": {closed: true, half: true}, "over": {closed: true}, "finished": {finished: true},
}

// left has the phases in which the client has left, and handled the ones after the
// response.
var left, handled = map[string]bool{"gone": true, "halfClosed": true}, map[string]bool{"finished": true, "over": true}

var names = []string{
	open: "open", armed: "armed", abandoned: "abandoned", stopped: "stopped", stoppedArmed: "stoppedArmed", disconnected: "gone",
	halfClosed: "halfClosed", over: "over", finished: "finished",
}

// TestMoves puts a Watch into each phase, and causes each event there.
func TestMoves(t *testing.T) {
	lines := strings.Split(strings.Trim(table, "\n"), "\n")
	events := strings.Fields(lines[0])
	if len(lines)-1 != int(numPhases) || len(events) != int(numEvents) || len(events) != len(acts) {
		t.Fatalf("the table has %d phases and %d events, want %d and %d", len(lines)-1, len(events), numPhases, numEvents)
	}
	for _, line := range lines[1:] {
		row := strings.Fields(line)
		for i, event := range events {
			t.Run(row[0]+"/"+event, func(t *testing.T) { testMove(t, row[0], event, row[1+i]) })
		}
	}
}

func testMove(t *testing.T, from, event, to string) {
	var s Set
	w := New()
	s.Add(w)
	for _, act := range strings.Fields(paths[from]) {
		acts[act](&s, w)
	}
	ran, leaves := make(chan struct{}, 2), make(chan struct{}, 2)
	stop := w.AfterFunc(func() { ran <- struct{}{} })
	stopLeave := w.AfterDisconnect(func() { leaves <- struct{}{} })
	check := func(phase string) {
		t.Helper()
		if got := names[w.now()]; got != phase {
			t.Errorf("the phase is %s, want %s", got, phase)
		}
		if got := (seen{servertest.IsClosed(w.Done()), w.HalfClosed(), w.Finished()}); got != looks[phase] {
			t.Errorf("%s looks like %+v", phase, got)
		}
	}
	check(from)
	acts[event](&s, w)
	check(to)
	if looks[to].closed {
		servertest.Receive(t, "the function", ran)
	}
	if left[to] {
		servertest.Receive(t, "the function of a client that leaves", leaves)
	}
	// a function added after the end stays, and is never called
	kept := !handled[to] || handled[from]
	if inTime := stop(); inTime != (!looks[to].closed && kept) {
		t.Errorf("stopping the function is in time: %v", inTime)
	}
	if inTime := stopLeave(); inTime != (!left[to] && kept) {
		t.Errorf("stopping the function of a client that leaves is in time: %v", inTime)
	}
	// repeating an event has no further effect
	acts[event](&s, w)
	check(after(to, event))
	if len(ran) > 0 || len(leaves) > 0 {
		t.Error("the function ran twice, or though nothing was canceled")
	}
}

// after returns the next phase in the table.
func after(phase, event string) string {
	lines := strings.Split(strings.Trim(table, "\n"), "\n")
	for _, line := range lines[1:] {
		if row := strings.Fields(line); row[0] == phase {
			return row[1+slices.Index(strings.Fields(lines[0]), event)]
		}
	}
	return ""
}

func TestAfterFuncRunsUnlessItIsStopped(t *testing.T) {
	w := New()
	ran := make(chan string, 3)
	stop := w.AfterFunc(func() { ran <- "stopped" })
	w.AfterFunc(func() { ran <- "first" })
	if !stop() || stop() {
		t.Error("stopping is not told once")
	}
	w.Cancel()
	if got := servertest.Receive(t, "the first function", ran); got != "first" {
		t.Errorf("%s ran", got)
	}
	stop = w.AfterFunc(func() { ran <- "late" })
	if got := servertest.Receive(t, "the late function", ran); got != "late" {
		t.Errorf("%s ran", got)
	}
	if stop() {
		t.Error("stop reports success after the function has run")
	}
}
