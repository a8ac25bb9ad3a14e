package http1

import (
	"slices"
	"strings"
	"testing"
)

// phases is a kind of phases of a ServerConn: their names, in order, and the phases that
// may follow each of them.
type phases struct {
	kind  string
	names []string
	want  map[string]string
	at    func(c *ServerConn, phase int)
	set   func(c *ServerConn, phase int)
	now   func(c *ServerConn) int
}

var allPhases = []phases{
	{
		kind:  "reading",
		names: []string{"idle", "woken", "head", "body", "stream", "done", "ended"},
		want: map[string]string{
			"idle":   "woken head ended",
			"woken":  "idle head ended",
			"head":   "body stream done ended",
			"body":   "stream done ended",
			"stream": "idle done ended",
			"done":   "idle ended",
			"ended":  "",
		},
		at:  func(c *ServerConn, phase int) { c.reading = Reading(phase) },
		set: func(c *ServerConn, phase int) { c.SetReading(Reading(phase)) },
		now: func(c *ServerConn) int { return int(c.Reading()) },
	},
	{
		kind:  "waiting",
		names: []string{"never", "open", "over"},
		want:  map[string]string{"never": "open over", "open": "never over", "over": "never"},
		at:    func(c *ServerConn, phase int) { c.waiting = Waiting(phase) },
		set:   func(c *ServerConn, phase int) { c.SetWaiting(Waiting(phase)) },
		now:   func(c *ServerConn) int { return int(c.Waiting()) },
	},
	{
		kind:  "writing",
		names: []string{"idle", "queued", "stream"},
		want:  map[string]string{"idle": "queued stream", "queued": "idle", "stream": "idle"},
		at:    func(c *ServerConn, phase int) { c.writing = Writing(phase) },
		set:   func(c *ServerConn, phase int) { c.SetWriting(Writing(phase)) },
		now:   func(c *ServerConn) int { return int(c.Writing()) },
	},
	{
		kind:  "life",
		names: []string{"open", "last", "ending", "lingering", "left", "handed over"},
		want: map[string]string{
			"open":        "last ending lingering left handed over",
			"last":        "ending lingering left handed over",
			"ending":      "lingering handed over",
			"lingering":   "ending handed over",
			"left":        "",
			"handed over": "",
		},
		at:  func(c *ServerConn, phase int) { c.life = Life(phase) },
		set: func(c *ServerConn, phase int) { c.SetLife(Life(phase)) },
		now: func(c *ServerConn) int { return int(c.Life()) },
	},
}

// TestPhasesOfConnections tries all changes from each phase to each other one.
func TestPhasesOfConnections(t *testing.T) {
	if readings != 7 || waitings != 3 || writings != 3 || lives != 6 {
		t.Fatal("the names below are not those of all phases")
	}
	for _, p := range allPhases {
		for from, name := range p.names {
			var got []string
			for to := range p.names {
				c := new(ServerConn)
				p.at(c, from)
				legal := true
				func() {
					defer func() { legal = recover() == nil }()
					p.set(c, to)
				}()
				if want := map[bool]int{true: to, false: from}[legal]; p.now(c) != want {
					t.Errorf("%s: %s to %s leads to %s", p.kind, name, p.names[to], p.names[p.now(c)])
				}
				if legal {
					got = append(got, p.names[to])
				}
			}
			want := p.want[name]
			slices.Sort(got)
			if sorted := sortedNames(want, p.names); strings.Join(got, " ") != sorted {
				t.Errorf("%s: after %s may come %q, want %q", p.kind, name, got, sorted)
			}
		}
	}
}

// sortedNames returns the names in a list, in alphabetical order.
func sortedNames(list string, names []string) string {
	var some []string
	for _, name := range names {
		if strings.Contains(" "+list+" ", " "+name+" ") {
			some = append(some, name)
		}
	}
	slices.Sort(some)
	return strings.Join(some, " ")
}

// TestEveryPhaseIsReached follows all changes from the first phases of a connection.
func TestEveryPhaseIsReached(t *testing.T) {
	for _, p := range allPhases {
		reached := map[int]bool{p.now(new(ServerConn)): true}
		for range p.names {
			for from := range reached {
				for to, name := range p.names {
					if strings.Contains(" "+p.want[p.names[from]]+" ", " "+name+" ") {
						reached[to] = true
					}
				}
			}
		}
		if len(reached) != len(p.names) {
			t.Errorf("%s: %d of %d phases are reached", p.kind, len(reached), len(p.names))
		}
	}
}

// TestQuestionsAboutPhases calls each predicate in each phase.
func TestQuestionsAboutPhases(t *testing.T) {
	for phase := range readings {
		c := &ServerConn{reading: phase}
		idle := phase == ReadIdle || phase == ReadWoken
		if c.Idle() != idle || c.Begun() != (!idle && phase != ReadEnded) {
			t.Errorf("reading %d: idle %v, begun %v", phase, c.Idle(), c.Begun())
		}
		c.EndReading()
		if c.Reading() != ReadEnded {
			t.Errorf("reading %d ends as %d", phase, c.Reading())
		}
		c = &ServerConn{reading: phase, life: LifeDetached}
		if c.EndReading(); c.Reading() != phase {
			t.Errorf("reading %d, which was left to a handler, ends as %d", phase, c.Reading())
		}
	}
	for phase := range lives {
		c := &ServerConn{life: phase}
		ends := phase == LifeEnding || phase == LifeLingering
		if c.KeepAlive() != (phase == LifeOpen) || c.Ends() != ends || c.Lingers() != (phase == LifeLingering) || c.ReadingDetached() != (phase == LifeDetached) {
			t.Errorf("life %d: keep alive %v, ends %v, lingers %v, left %v", phase, c.KeepAlive(), c.Ends(), c.Lingers(), c.ReadingDetached())
		}
		if phase >= LifeDetached {
			continue
		}
		if c.End(); !c.Ends() || c.Lingers() != (phase == LifeLingering) {
			t.Errorf("life %d ends as %d", phase, c.Life())
		}
		if c.Linger(); !c.Lingers() {
			t.Errorf("life %d lingers as %d", phase, c.Life())
		}
	}
}
