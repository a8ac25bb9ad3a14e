package fasthttp

import (
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/valyala/fasthttp/internal/engine"
	"github.com/valyala/fasthttp/internal/http2"
)

// TestOpeningsOfHTTP2Connections walks all changes from each phase to each other one.
func TestOpeningsOfHTTP2Connections(t *testing.T) {
	names := [h2Openings]string{"unregistered", "awaits the preface", "begun"}
	want := map[string]string{"unregistered": "awaits the preface", "awaits the preface": "begun", "begun": ""}
	for from := range h2Openings {
		var got []string
		for to := range h2Openings {
			o := from
			refused := panics(func() { o.proceedTo(to) })
			if !refused {
				got = append(got, names[to])
			}
			if refused != (o == from) {
				t.Errorf("%s to %s: refused %v, now %s", names[from], names[to], refused, names[o])
			}
		}
		if got := strings.Join(got, ", "); got != want[names[from]] {
			t.Errorf("after %s may come %q, want %q", names[from], got, want[names[from]])
		}
	}
}

// TestActivitiesOfHTTP2Connections walks all events in each phase, by the methods that make them,
// and checks what the application learns of each.
func TestActivitiesOfHTTP2Connections(t *testing.T) {
	names := [h2Activities]string{"fresh", "fresh, trimmed", "busy", "idle", "idle, trimmed"}
	type result struct{ next, reported string }
	want := map[string][h2ActivityEvents]result{
		"fresh":          {{"busy", ""}, {"", ""}, {"fresh, trimmed", ""}},
		"fresh, trimmed": {{"busy", ""}, {"", ""}, {"fresh, trimmed", ""}},
		"busy":           {{"", ""}, {"idle", "idle"}, {"", ""}},
		"idle":           {{"busy", "active"}, {"", ""}, {"idle, trimmed", ""}},
		"idle, trimmed":  {{"busy", "active"}, {"", ""}, {"idle, trimmed", ""}},
	}
	for from := range h2Activities {
		for e, makes := range [h2ActivityEvents]func(*h2Conn){
			func(h *h2Conn) { h.move(h2FirstBegins) }, func(h *h2Conn) { h.move(h2LastEnds) }, (*h2Conn).trim,
		} {
			var got result
			s := &Server{Handler: echo, ConnState: func(_ net.Conn, state ConnState) { got.reported += state.String() }}
			s.prepare()
			h := newH2Conn(s, &engine.Conn{Set: &s.conns, Service: s.conns.Service()}, noEngine{})
			h.activity = from
			if panics(func() { makes(h); h.reportStates() }) {
				if h.activity != from {
					t.Errorf("event %d panics in %q, and changes it to %q", e, names[from], names[h.activity])
				}
			} else {
				got.next = names[h.activity]
			}
			if got != want[names[from]][e] {
				t.Errorf("event %d in %q: got %q, want %q", e, names[from], got, want[names[from]][e])
			}
		}
		if from.isIdle() != slices.Contains([]h2Activity{h2Idle, h2IdleTrimmed}, from) ||
			from.isTrimmed() != strings.Contains(names[from], "trimmed") {
			t.Errorf("%q is idle: %v, trimmed: %v", names[from], from.isIdle(), from.isTrimmed())
		}
	}
}

// TestActivityFollowsTheExchanges checks that a connection is busy exactly while it has exchanges.
func TestActivityFollowsTheExchanges(t *testing.T) {
	s := &Server{Handler: echo}
	s.prepare()
	h := newH2Conn(s, &engine.Conn{Set: &s.conns, Service: s.conns.Service()}, noEngine{})
	var first, second h2Exchange
	expect := func(want h2Activity) {
		t.Helper()
		if h.activity != want || (h.first != nil) != (want == h2Busy) {
			t.Errorf("the activity is %d, want %d", h.activity, want)
		}
	}
	expect(h2Fresh)
	h.trim()
	expect(h2FreshTrimmed)
	for range 2 {
		h.add(&first)
		expect(h2Busy)
		h.add(&second)
		expect(h2Busy)
		h.remove(&first)
		expect(h2Busy)
		h.remove(&second)
		expect(h2Idle)
		h.tick(h.idleSince + h2TickInterval)
		expect(h2IdleTrimmed)
	}
	if h.conn.Life() != http2.LifeOpen {
		t.Error("the connection has ended")
	}
}
