package http2

import (
	"slices"
	"strings"
	"testing"
)

var halfNames = []string{"", "head", "body", "ended", "cut"}

// streamTable names each event, with "receiving" and "sending" before and after it.
func TestMovesOfStreams(t *testing.T) {
	// the effect of each event on the phase that it is for; none is refused
	own := map[streamEvent]string{
		receivesInterim: "head>head", receivesHead: "head>body", receivesAll: "head>ended", receivesEnd: "body>ended",
		sendsInterim: "head>head", sendsHead: "head>body", sendsAll: "head>ended", sendsEnd: "body>ended",
	}
	if len(own)+1 != int(streamEvents) || len(halfNames) != int(halfPhases) {
		t.Fatal("the tables above do not have all events and phases")
	}
	for e := range streamEvents {
		for recv := HeadAhead; recv < halfPhases; recv++ {
			for send := HeadAhead; send < halfPhases; send++ {
				s := &Stream{sending: send, receiving: recv}
				changed, other := &recv, send
				if e >= sendsInterim {
					changed, other = &send, recv
				}
				want := ""
				if from, to, _ := strings.Cut(own[e], ">"); from == halfNames[*changed] {
					want = to + " " + halfNames[other]
				}
				if e == resets {
					cut := func(h Half) string { return halfNames[map[bool]Half{true: Cut, false: h}[h < Ended]] }
					want = cut(send) + " " + cut(recv)
				}
				got := ""
				if s.may(e) {
					s.move(e)
					got = halfNames[s.Receiving()] + " " + halfNames[s.Sending()]
					if e >= sendsInterim {
						got = halfNames[s.Sending()] + " " + halfNames[s.Receiving()]
					}
				} else if !panics(func() { s.move(e) }) || s.sending != send || s.receiving != recv {
					t.Errorf("event %d, which is refused, moves a stream", e)
				}
				if got != want {
					t.Errorf("event %d, receiving %s, sending %s: %q, want %q", e, halfNames[recv], halfNames[send], got, want)
				}
			}
		}
	}
}

func panics(f func()) (yes bool) {
	defer func() { yes = recover() != nil }()
	f()
	return false
}

func TestPhasesOfConnections(t *testing.T) {
	greet := []string{"preface", "settings", "ack", "greeted"}
	life := []string{"open", "leaving", "draining", "closed"}
	if int(greetings) != len(greet) || int(lives) != len(life) {
		t.Fatal("the names above are not those of all phases")
	}
	for _, p := range []struct {
		names []string
		want  map[string]string
		at    func(c *Conn, phase int)
		set   func(c *Conn, phase int)
		now   func(c *Conn) int
	}{
		{
			greet,
			map[string]string{"preface": "settings", "settings": "ack", "ack": "greeted", "greeted": ""},
			func(c *Conn, phase int) { c.greeting = Greeting(phase) },
			func(c *Conn, phase int) { c.setGreeting(Greeting(phase)) },
			func(c *Conn) int { return int(c.Greeting()) },
		},
		{
			life,
			map[string]string{"open": "closed draining leaving", "leaving": "closed draining", "draining": "closed", "closed": ""},
			func(c *Conn, phase int) { c.life = Life(phase) },
			func(c *Conn, phase int) { c.setLife(Life(phase)) },
			func(c *Conn) int { return int(c.Life()) },
		},
	} {
		for from, name := range p.names {
			var got []string
			for to, after := range p.names {
				c := new(Conn)
				p.at(c, from)
				if !panics(func() { p.set(c, to) }) {
					got = append(got, after)
				} else if p.now(c) != from {
					t.Errorf("%s changes to %s, which cannot follow", name, after)
				}
			}
			slices.Sort(got)
			if strings.Join(got, " ") != p.want[name] {
				t.Errorf("after %s may come %q, want %q", name, got, p.want[name])
			}
		}
	}
}

// Streams are found after any order of adding and removing.
func TestStreamTable(t *testing.T) {
	var table streamTable
	all := map[uint32]*Stream{}
	seed := uint32(1)
	for i := range 20000 {
		seed = seed*1664525 + 1013904223
		id := seed>>20<<1 | 1
		if s := all[id]; s != nil {
			table.remove(s)
			delete(all, id)
		} else if len(all) < 100 || i%2 == 0 {
			all[id] = &Stream{id: id}
			table.add(all[id])
		}
		if len(all) != table.n {
			t.Fatalf("%d streams, want %d", table.n, len(all))
		}
		if i%100 != 0 {
			continue
		}
		for id := uint32(1); id < 8200; id += 2 {
			if table.find(id) != all[id] {
				t.Fatalf("stream %d: %v, want %v", id, table.find(id), all[id])
			}
		}
	}
}

func TestSkippedStreamsAreRemembered(t *testing.T) {
	var e ended
	e.skip(0, 1)
	e.skip(1, 3)
	if e.memory != nil {
		t.Error("a peer that skips nothing costs memory")
	}
	highest := uint32(3)
	for range 2 * gapsSize {
		e.skip(highest, highest+6)
		for id, want := range map[uint32]bool{highest: false, highest + 2: true, highest + 4: true, highest + 6: false} {
			if e.skipped(id) != want {
				t.Errorf("of %d and %d, %d was skipped: %v", highest, highest+6, id, !want)
			}
		}
		highest += 6
	}
	if e.skipped(5) || !e.skipped(highest-6*(gapsSize-1)-2) {
		t.Error("not the last gaps are remembered")
	}
}

func TestEndedStreamsAreRemembered(t *testing.T) {
	var e ended
	if e.find(1) != endUnknown {
		t.Error("a stream was remembered before it has ended")
	}
	for id := uint32(1); id < 401; id += 2 {
		e.add(id, ending(1+id/2%3))
		for old := uint32(1); old < 401; old += 2 {
			want := endUnknown
			if old <= id && old+2*endedSize > id {
				want = ending(1 + old/2%3)
			}
			if got := e.find(old); got != want {
				t.Fatalf("after %d, stream %d has ended as %d, want %d", id, old, got, want)
			}
		}
	}
	e.add(399, endByUs)
	if e.find(399) != endByUs {
		t.Error("the newest entry of a stream does not count")
	}
}
