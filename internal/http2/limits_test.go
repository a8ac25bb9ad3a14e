package http2

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/valyala/fasthttp/internal/http1"
)

const calm = "stop ENHANCE_YOUR_CALM"

// Each limit, with the last value within it, and the first value beyond it.
func TestEachLimitHasItsReaction(t *testing.T) {
	long := func(n int) []string { return with(get, "a: "+strings.Repeat("b", n)) }
	// the four pseudo-fields of get, and 32 bytes for each field
	const getSize = len(":methodGET:schemehttps:authorityexample.com:path/") + 4*32 + 32 + len("a")
	ids := func(n int) (ids []uint32) {
		for i := range n {
			ids = append(ids, uint32(2*i+1))
		}
		return ids
	}
	fields := func(n int) []string {
		return append(slices.Clone(get), slices.Repeat([]string{"a: b"}, n)...)
	}
	trailers := func(n, size int) []string {
		return with(slices.Repeat([]string{"a: b"}, n), "a: "+strings.Repeat("b", size-n*len("a: b\r\n")-len("a: \r\n\r\n")))
	}
	many := func(n int, add func(s *script)) *script {
		s := client()
		return s.times(n, func(int) { add(s) })
	}
	opened := func(n int, add func(s *script)) *script {
		s := client().post(1)
		return s.times(n, func(int) { add(s) })
	}
	after := func(n int, add func(s *script)) *script {
		s := client().post(1).reset(1, Cancel)
		return s.times(n, func(int) { add(s) })
	}
	ping := func(s *script) { s.frame(framePing, 0, 0, "12345678") }
	aborted := func(n int) *script {
		s := client()
		return s.times(n, func(i int) { s.post(uint32(2*i+1)).reset(uint32(2*i+1), Cancel) })
	}
	lateData := func(n int, p string) *script {
		s := client().get(1, 3).post(5)
		return s.times(n, func(int) { s.data(5, 0, p) })
	}
	for _, c := range []struct {
		name   string
		limits Limits
		within *script
		beyond *script
		want   string // of beyond; an event, if in brackets
	}{
		{"Streams", Limits{Streams: 3}, client().get(ids(3)...), client().get(ids(4)...), "reset 7 REFUSED_STREAM"},
		{"streams held", Limits{Streams: 2}, aborted(8), aborted(9), calm},
		{"HeaderList", Limits{HeaderList: getSize + 9}, client().headers(1, 5, long(9)...), client().headers(1, 5, long(10)...), "[too large 1 end]"},
		{"HeaderList, twice", Limits{HeaderList: getSize}, client().headers(1, 5), client().headers(1, 5, long(getSize+1)...), calm},
		{"Fields", Limits{Fields: 10}, client().headers(1, 5, fields(10)...), client().headers(1, 5, fields(11)...), "[too large 1 end]"},
		{"number of trailers", Limits{}, client().post(1).headers(1, 5, trailers(http1.MaxTrailerFields-1, 1000)...), client().post(1).headers(1, 5, trailers(http1.MaxTrailerFields, 1000)...), "reset 1 ENHANCE_YOUR_CALM"},
		{"size of trailers", Limits{}, client().post(1).headers(1, 5, trailers(9, http1.MaxTrailers)...), client().post(1).headers(1, 5, trailers(9, http1.MaxTrailers+1)...), "reset 1 ENHANCE_YOUR_CALM"},
		{"Fields, twice", Limits{Fields: 10}, client().headers(1, 5), client().headers(1, 5, fields(21)...), calm},
		{"crumbs of cookies", Limits{Fields: 10}, client().headers(1, 5, with(get, slices.Repeat([]string{"cookie: a"}, 10)...)...), client().headers(1, 5, with(get, slices.Repeat([]string{"cookie: a"}, 11)...)...), "[too large 1 end]"},
		{"Heads", Limits{PendingHeads: 2 * (getSize + 50)}, client().headers(1, 5, long(50)...).headers(3, 5, long(50)...), client().headers(1, 5, long(50)...).headers(3, 5, long(50)...).get(5), "reset 5 REFUSED_STREAM"},
		{"Continuations", Limits{Continuations: 3}, continued(client(), 3), continued(client(), 4), calm},
		{"a block in many frames", Limits{HeaderList: 100, Continuations: 100}, client(), client().frame(frameHeaders, 1, 1, strings.Repeat("a", 1<<14)).frame(frameContinuation, 0, 1, strings.Repeat("a", 1000)), calm},
		{"Frame", Limits{Frame: 20000}, client().post(1).data(1, 0, strings.Repeat("a", 20000)), client().post(1).data(1, 0, strings.Repeat("a", 20001)), "stop" + size},
		{"Window", Limits{Window: 100000}, opened(10, func(s *script) { s.data(1, 0, strings.Repeat("a", 10000)) }), opened(11, func(s *script) { s.data(1, 0, strings.Repeat("a", 10000)) }), "reset 1" + flow},
		{"Window, padding", Limits{Window: 100000}, opened(390, func(s *script) { s.data(1, 8, "\xff"+strings.Repeat("a", 1+255)) }), opened(9, func(s *script) { s.data(1, 0, strings.Repeat("a", 11200)) }), "reset 1" + flow},
		{"ConnWindow", Limits{ConnWindow: 100000}, opened(10, func(s *script) { s.data(1, 0, strings.Repeat("a", 10000)) }), opened(11, func(s *script) { s.data(1, 0, strings.Repeat("a", 10000)) }), "stop" + flow},
		{"Settings", Limits{}, client().settings(make([]uint32, 64)...), client().settings(make([]uint32, 66)...), calm},
		{"Wasted: RST_STREAM", Limits{Wasted: 20}, aborted(20), aborted(21), calm},
		{"Wasted: our RST_STREAM", Limits{Wasted: 20}, floodOfFaults(20), floodOfFaults(21), calm},
		{"Wasted: malformed requests", Limits{Wasted: 20}, floodOfMalformed(20), floodOfMalformed(21), calm},
		{"Wasted: malformed requests that are answered", Limits{Wasted: 20}, floodOfAnswered(20), floodOfAnswered(21), calm},
		{"Wasted: refused streams", Limits{Wasted: 20, Streams: 1}, client().get(ids(21)...), client().get(ids(22)...), calm},
		{"Glitches: PING", Limits{Glitches: 50}, many(50, ping), many(51, ping), calm},
		{"Glitches: PING ACK", Limits{Glitches: 50}, many(50, func(s *script) { s.frame(framePing, 1, 0, "12345678") }), many(51, func(s *script) { s.frame(framePing, 1, 0, "12345678") }), calm},
		{"Glitches: SETTINGS", Limits{Glitches: 50}, many(50, func(s *script) { s.settings() }), many(51, func(s *script) { s.settings() }), calm},
		{"Glitches: SETTINGS ACK", Limits{Glitches: 50}, many(50, func(s *script) { s.frame(frameSettings, 1, 0, "") }), many(51, func(s *script) { s.frame(frameSettings, 1, 0, "") }), calm},
		{"Glitches: PRIORITY", Limits{Glitches: 50}, many(50, func(s *script) { s.frame(framePriority, 0, 1, "12345") }), many(51, func(s *script) { s.frame(framePriority, 0, 1, "12345") }), calm},
		{"Glitches: PRIORITY_UPDATE", Limits{Glitches: 50}, many(50, func(s *script) { s.frame(framePriorityUpdate, 0, 0, u32(1)) }), many(51, func(s *script) { s.frame(framePriorityUpdate, 0, 0, u32(1)) }), calm},
		{"Glitches: GOAWAY", Limits{Glitches: 50}, many(50, func(s *script) { s.frame(frameGoAway, 0, 0, u32(0, 0)) }), many(51, func(s *script) { s.frame(frameGoAway, 0, 0, u32(0, 0)) }), calm},
		{"Glitches: unknown frames", Limits{Glitches: 50}, many(50, func(s *script) { s.frame(99, 0, 0, "") }), many(51, func(s *script) { s.frame(99, 0, 0, "") }), calm},
		{"Glitches: empty DATA", Limits{Glitches: 50}, opened(50, func(s *script) { s.data(1, 0, "") }), opened(51, func(s *script) { s.data(1, 0, "") }), calm},
		{"Glitches: DATA of padding", Limits{Glitches: 50}, opened(50, func(s *script) { s.data(1, 8, "\x01a") }), opened(51, func(s *script) { s.data(1, 8, "\x01a") }), calm},
		{"no Glitches: small DATA", Limits{Glitches: 50}, opened(50, func(s *script) { s.data(1, 0, "a") }), opened(5000, func(s *script) { s.data(1, 0, "a") }), ""},
		{"Glitches: small WINDOW_UPDATE", Limits{Glitches: 50}, opened(50, func(s *script) { s.window(1, 1) }), opened(51, func(s *script) { s.window(0, 1) }), calm},
		{"Glitches: DATA after the end", Limits{Glitches: 50}, after(50, func(s *script) { s.data(1, 0, "a") }), after(51, func(s *script) { s.data(1, 0, "a") }), "reset 1 STREAM_CLOSED, " + calm},
		{"Glitches: DATA of a refused stream", Limits{Glitches: 50, Streams: 2, Window: 1000}, lateData(1000+answersReset+50, "a"), lateData(1000+answersReset+51, "a"), "reset 5 REFUSED_STREAM, " + calm},
		{"Glitches: empty DATA of a refused stream", Limits{Glitches: 50, Streams: 2, Window: 1000}, lateData(answersReset+50, ""), lateData(answersReset+51, ""), "reset 5 REFUSED_STREAM, " + calm},
		{"Glitches: RST_STREAM after the end", Limits{Glitches: 50}, after(50, func(s *script) { s.reset(1, Cancel) }), after(51, func(s *script) { s.reset(1, Cancel) }), calm},
		{"Glitches: WINDOW_UPDATE after the end", Limits{Glitches: 50}, after(50, func(s *script) { s.window(1, 1000) }), after(51, func(s *script) { s.window(1, 1000) }), calm},
		{"Glitches: WINDOW_UPDATE of nothing after the end", Limits{Glitches: 50}, after(50, func(s *script) { s.window(1, 0) }), after(51, func(s *script) { s.window(1, 0) }), calm},
		{"no Glitches", Limits{Glitches: -1}, many(5000, ping), many(5001, ping), ""},
	} {
		verdict := func(s *script) (string, []string) {
			x := begin(t, Server, filled(c.limits))
			x.frames()
			x.feed(s.b, 1<<20)
			checkBooks(t, x.c)
			return x.verdict(), x.events
		}
		got, events := verdict(c.within)
		if strings.Contains(fmt.Sprint(events), "too large") {
			t.Errorf("%s, within it: %q", c.name, events)
		}
		if got != "" && got != "reset 1 STREAM_CLOSED" && got != "reset 5 REFUSED_STREAM" && !strings.HasSuffix(c.name, "twice") &&
			!strings.HasPrefix(c.name, "Wasted") {
			t.Errorf("%s, within it: %q", c.name, got)
		} else if strings.Contains(got, "stop") {
			t.Errorf("%s, within it: %q", c.name, got)
		}
		got, events = verdict(c.beyond)
		if strings.HasPrefix(c.want, "[") {
			got = got + fmt.Sprint(events)
		} else if strings.HasPrefix(c.name, "Wasted") {
			got = got[max(0, len(got)-len(c.want)):]
		}
		if got != c.want {
			t.Errorf("%s, beyond it: %q, want %q", c.name, got, c.want)
		}
	}
}

func floodOfFaults(n int) *script {
	s := client()
	return s.times(n, func(i int) { s.post(uint32(2*i+1)).window(uint32(2*i+1), 0) })
}

func floodOfMalformed(n int) *script {
	s := client()
	return s.times(n, func(i int) { s.headers(uint32(2*i+1), 5, "a: b") })
}

func floodOfAnswered(n int) *script {
	s := client()
	return s.times(n, func(i int) {
		s.headers(uint32(2*i+1), 5, ":method: GET", ":scheme: https", ":authority: a@b", ":path: /")
	})
}

// A malformed request that is answered costs the peer as much as a reset one: it does
// not end well, and its reset costs nothing more.
func TestMalformedRequestsThatAreAnswered(t *testing.T) {
	x := begin(t, Server, filled(Limits{Wasted: 10, WastedRate: -1}))
	x.frames()
	x.feed(client().b, 1<<20)
	bad := []string{":method: POST", ":scheme: https", ":authority: a", ":path: *", "content-length: 3"}
	answer := func(id uint32) {
		x.respond(x.held[id], []byte("no"))
		x.frames()
		x.c.Release(x.held[id])
	}
	id := uint32(1)
	for left := 9; left > 0; left -= 3 {
		x.feed(newScript().headers(id, 0, bad...).data(id, flagEndStream, "abc").b, 1<<20)
		answer(id)
		// the peer does not end its content
		x.feed(newScript().headers(id+2, 0, bad...).b, 1<<20)
		answer(id + 2)
		x.endLingering()
		if got := x.frames(); !slices.Contains(got, fmt.Sprintf("RST_STREAM %d: NO_ERROR", id+2)) {
			t.Errorf("behind the response: %q", got)
		}
		x.feed(newScript().headers(id+4, 0, bad...).reset(id+4, Cancel).b, 1<<20)
		x.c.Release(x.held[id+4])
		id += 6
	}
	if x.err != nil || x.c.wasted.left != 1 {
		t.Errorf("after 9 of them: %v, and %d are left", x.err, x.c.wasted.left)
	}
	// a fault of the content still counts
	x.feed(newScript().headers(id, 0, bad...).data(id, flagEndStream, "abcd").b, 1<<20)
	if got := x.verdict(); !strings.HasPrefix(got, fmt.Sprintf("reset %d PROTOCOL_ERROR", id)) || x.err != ErrWasted {
		t.Errorf("too much content: %q, %v", got, x.err)
	}
	checkBooks(t, x.c)
}

// A too large request is answered, and the connection continues.
func TestTooLargeRequestsAreAnswered(t *testing.T) {
	x := begin(t, Server, filled(Limits{HeaderList: 500}))
	x.frames()
	x.feed(client().headers(1, 0, with(get, "a: "+strings.Repeat("b", 500))...).data(1, 0, "abc").get(3).b, 1<<20)
	if got := strings.Join(x.events, "; "); got != "too large 1; data 1: 3; headers 3:  end" {
		t.Fatalf("%s", got)
	}
	x.respond(x.held[1], []byte("no"))
	x.c.Release(x.held[1])
	if got := x.frames(); !slices.Equal(got, []string{"SETTINGS ack", "HEADERS 1", "DATA 1: 2 end"}) {
		t.Errorf("%q", got)
	}
	x.endLingering()
	if got := x.frames(); !slices.Equal(got, []string{"RST_STREAM 1: NO_ERROR"}) {
		t.Errorf("behind the response: %q", got)
	}
	checkBooks(t, x.c)
}

func TestBucketsAreFilledAgain(t *testing.T) {
	b := Bucket{left: 3, at: 1<<32 - 500}
	take := func(now uint32) (n int) {
		for b.Take(3, 10, now) {
			n++
		}
		return n
	}
	for _, c := range []struct {
		now  uint32
		want int
	}{
		{1<<32 - 500, 3}, {1<<32 - 450, 0}, {1<<32 - 400, 1}, {0, 3}, {0, 0}, {99, 0}, {100, 1}, {1 << 30, 3}, {1 << 30, 0},
	} {
		if got := take(c.now); got != c.want {
			t.Errorf("at %d there are %d, want %d", c.now, got, c.want)
		}
	}
	b.PutBack(3)
	b.PutBack(3)
	if got := take(1 << 30); got != 2 {
		t.Errorf("after two were given back, there are %d", got)
	}
	for range 5 {
		b.PutBack(3)
	}
	if got := take(1 << 30); got != 3 {
		t.Errorf("after five were given back, there are %d", got)
	}
}

// Many streams that end well make up for some that do not.
func TestStreamsThatEndWellPayForOthers(t *testing.T) {
	x := begin(t, Server, filled(Limits{Wasted: 5, WastedRate: -1}))
	x.answer = func(ev Event) {
		switch {
		case ev.Kind == Headers && ev.End:
			x.respond(ev.Stream, nil)
			x.c.Release(ev.Stream)
		case ev.Kind == Reset:
			x.c.Release(ev.Stream)
		}
	}
	s := client()
	for i := range uint32(1000) {
		s.get(4*i+1).post(4*i+3).reset(4*i+3, Cancel)
	}
	if x.feed(s.b, 1<<20); x.err != nil {
		t.Error(x.err)
	}
}

// Resets of streams that have lasted a while do not count.
func TestClientsMayGiveUp(t *testing.T) {
	for _, test := range []struct {
		after uint32
		want  error
	}{{QuickReset, nil}, {QuickReset - 1, ErrWasted}} {
		x := begin(t, Server, filled(Limits{Wasted: 20, WastedRate: -1}))
		x.answer = func(ev Event) {
			if ev.Kind == Reset {
				x.c.Release(ev.Stream)
			}
		}
		x.feed(client().b, 1<<20)
		for i := range uint32(10) {
			asks, resets := newScript(), newScript()
			for j := range uint32(200) {
				asks.post(2*(200*i+j) + 1)
				resets.reset(2*(200*i+j)+1, Cancel)
			}
			x.feed(asks.b, 1<<20)
			x.now += test.after
			x.feed(resets.b, 1<<20)
		}
		if !errors.Is(x.err, test.want) {
			t.Errorf("after %d ms: %v, want %v", test.after, x.err, test.want)
		}
		checkBooks(t, x.c)
	}
}

// Content on its way when a stream was reset does not count, however small its frames.
func TestContentOnItsWayIsNoGlitch(t *testing.T) {
	for role, begins := range map[Role]*script{Server: client().post(1), Client: server()} {
		x := begin(t, role, filled(Limits{Glitches: 10, GlitchRate: -1}))
		x.feed(begins.b, 1<<20)
		s := x.held[1]
		if role == Client {
			s = x.c.Open()
			x.request(s, SendWhole)
			x.feed(newScript().headers(1, flagEndHeaders, ":status: 200").b, 1<<20)
		}
		x.c.Release(s)
		rest := newScript()
		rest.times(DefaultWindow, func(int) { rest.data(1, 0, "a") })
		rest.window(1, 1000).data(1, flagEndStream, "")
		if x.feed(rest.b, 1<<20); x.err != nil {
			t.Errorf("role %d: %v", role, x.err)
		}
		rest = newScript()
		rest.times(100, func(int) { rest.data(1, 0, "a") })
		if x.feed(rest.b, 1<<20); x.err != ErrGlitches {
			t.Errorf("role %d, beyond the window: %v", role, x.err)
		}
		checkBooks(t, x.c)
	}
}

// A server that shuts a connection down ignores what a client sends before it knows.
func TestStreamsAfterTheLastAreNoGlitches(t *testing.T) {
	x := begin(t, Server, filled(Limits{Glitches: 10, GlitchRate: -1}))
	x.feed(client().get(1).b, 1<<20)
	x.c.Shutdown()
	x.c.Shutdown()
	s := newScript()
	for i := range uint32(DefaultStreams) {
		s.post(2*i+3).data(2*i+3, 0, "a").data(2*i+3, flagEndStream, "")
	}
	if x.feed(s.b, 1<<20); x.err != nil {
		t.Error(x.err)
	}
	x.c.Release(x.held[1])
	checkBooks(t, x.c)
}

// A client may send a PING for each frame of content, or each request, but no more.
func TestPingsBesideContentAreNoGlitches(t *testing.T) {
	for _, test := range []struct {
		name  string
		pings int
		want  error
	}{{"one each", 1, nil}, {"two each", 2, ErrGlitches}} {
		requests, content := client(), client().post(1)
		for i := range uint32(1000) {
			requests.get(2*i + 1)
			content.data(1, 0, "a")
			for range test.pings {
				requests.frame(framePing, 0, 0, "12345678")
				content.frame(framePing, 0, 0, "12345678")
			}
		}
		for of, s := range map[string]*script{"requests": requests, "content": content} {
			x := begin(t, Server, filled(Limits{Glitches: 10, GlitchRate: -1}))
			x.answer = func(ev Event) {
				if ev.End {
					x.respond(ev.Stream, nil)
					x.c.Release(ev.Stream)
				}
			}
			x.feed(s.b, 1<<20)
			if !errors.Is(x.err, test.want) {
				t.Errorf("%s of %s: %v, want %v", test.name, of, x.err, test.want)
			}
			checkBooks(t, x.c)
		}
	}
}

// Updates of windows that answer DATA do not count.
func TestUpdatesThatAnswerContentAreNoGlitches(t *testing.T) {
	x := begin(t, Server, filled(Limits{Glitches: 10, GlitchRate: -1}))
	x.answer = func(ev Event) {
		x.respond(ev.Stream, []byte("body"))
		x.c.Release(ev.Stream)
	}
	s := client()
	for i := range uint32(1000) {
		s.get(2*i+1).window(0, 4).window(2*i+1, 4)
	}
	x.feed(s.b, 1<<20)
	if x.err != nil {
		t.Error(x.err)
	}
	checkBooks(t, x.c)
}

func TestFeedPausesWhileTheOutputIsNotTaken(t *testing.T) {
	x := begin(t, Server, filled(Limits{Output: 100, Glitches: -1}))
	s := client()
	s.times(100, func(int) { s.frame(framePing, 0, 0, "12345678") })
	x.feed(s.b, 1<<20)
	if !x.c.Paused() || len(x.in) == 0 {
		t.Fatalf("all was taken, or nothing: %d bytes are left", len(x.in))
	}
	if n, ev, err := x.c.Feed(x.in, 0, &x.m); n != 0 || ev.Kind != None || err != nil {
		t.Fatalf("%d, %v, %v", n, ev, err)
	}
	total := 0
	for range 100 {
		out := x.c.Output(nil, 50)
		total += len(out)
		x.drive()
	}
	if total += len(x.c.Output(nil, 1<<20)); len(x.in) != 0 || total != frameHeadSize+100*(frameHeadSize+8) {
		t.Errorf("%d bytes are left, %d were sent", len(x.in), total)
	}
}

func TestTimes(t *testing.T) {
	blocked := func(x *run) {
		x.feed(client().settings(settingWindow, 10).get(1).b, 1<<20)
		x.respond(x.held[1], make([]byte, 10000))
		x.take()
	}
	for _, c := range []struct {
		name  string
		begin func(x *run)
		step  func(x *run) // each second
		at    int          // seconds until something happens, 0 if nothing does in a minute
		want  string
		event string
	}{
		{"nothing comes", func(x *run) {}, nil, 5, "stop SETTINGS_TIMEOUT", ""},
		{"a preface that drips", func(x *run) {}, func(x *run) { x.feed([]byte(Preface)[x.now/1000-1:x.now/1000], 99) }, 5, "stop SETTINGS_TIMEOUT", ""},
		{"SETTINGS that drip", func(x *run) { x.feed([]byte(Preface), 99) }, func(x *run) {
			settings := newScript().settings(settingWindow, 10).b
			x.feed(settings[x.now/1000-1:x.now/1000], 99)
		}, 10, "stop SETTINGS_TIMEOUT", ""},
		{"no SETTINGS", func(x *run) { x.feed([]byte(Preface), 99) }, nil, 10, "stop SETTINGS_TIMEOUT", ""},
		{"no ACK", func(x *run) { x.feed(newScript().raw(Preface).settings().b, 99) }, nil, 10, "stop SETTINGS_TIMEOUT", ""},
		{"an idle connection", func(x *run) { x.feed(client().b, 99) }, nil, 0, "", ""},
		{"a handler that takes long", func(x *run) { x.feed(client().get(1).b, 999) }, nil, 0, "", ""},
		{"a block that does not end", func(x *run) { x.feed(client().frame(frameHeaders, 1, 1, "").b, 99) }, nil, 15, calm, ""},
		{"a window that does not grow", blocked, nil, 16, "reset 1 ENHANCE_YOUR_CALM", "reset 1: ENHANCE_YOUR_CALM"},
		{"a window that grows slowly", blocked, func(x *run) { x.feed(newScript().window(1, 10).b, 99) }, 16, "reset 1 ENHANCE_YOUR_CALM", "reset 1: ENHANCE_YOUR_CALM"},
		{"a window that grows fast enough", blocked, func(x *run) { x.feed(newScript().window(1, 100).b, 99) }, 0, "", ""},
		{"a window of the connection that does not grow", func(x *run) {
			x.feed(client().settings(settingWindow, maxID).get(1).b, 1<<20)
			x.respond(x.held[1], make([]byte, 100000))
			x.take()
		}, nil, 16, calm, ""},
		{"one that grows by what is needed", func(x *run) {
			x.feed(client().settings(settingWindow, maxID).get(1).b, 1<<20)
			x.respond(x.held[1], make([]byte, firstWindow+500))
			x.take()
		}, func(x *run) {
			if x.now == 3000 {
				x.feed(newScript().window(0, 500).b, 99)
			}
		}, 0, "", ""},
		{"one that grows fast enough", func(x *run) {
			x.feed(client().settings(settingWindow, maxID).get(1).b, 1<<20)
			x.respond(x.held[1], make([]byte, 100000))
			x.take()
		}, func(x *run) { x.feed(newScript().window(0, 100).b, 99) }, 0, "", ""},
	} {
		x := begin(t, Server, filled(Limits{Stall: 15000, Greeting: 10000, Preface: 5000}))
		c.begin(x)
		x.frames()
		x.events = nil
		at := 0
		for second := 1; second <= 60 && at == 0; second++ {
			x.now += 1000
			if !x.c.Timed() && c.at > 0 {
				t.Errorf("%s: nothing is timed", c.name)
			}
			x.err = x.c.Tick(x.now)
			x.drive()
			if got := x.verdict(); got != "" {
				at = second
				if got != c.want {
					t.Errorf("%s: %q, want %q", c.name, got, c.want)
				}
			} else if c.step != nil {
				c.step(x)
			}
		}
		if at != c.at || strings.Join(x.events, ";") != c.event {
			t.Errorf("%s: after %d s, want %d; events %q", c.name, at, c.at, x.events)
		}
		checkBooks(t, x.c)
	}
}

// A client waits for windows as long as its caller does: a server may be busy.
func TestClientsWaitForWindows(t *testing.T) {
	for _, window := range []uint32{10, maxID} {
		x := begin(t, Client, filled(Limits{Stall: 15000, Greeting: 10000}))
		x.feed(newScript().settings(settingWindow, window).frame(frameSettings, flagAck, 0, "").b, 1<<20)
		s := x.c.Open()
		x.c.EndHeaders(s, x.c.BeginHeaders(), SendHead)
		x.c.Send(s, make([]byte, 100_000), true)
		x.take()
		for range 60 {
			x.now += 1000
			if err := x.c.Tick(x.now); err != nil || x.c.HasLost() {
				t.Fatalf("a window of %d: %v, lost %v after %d ms", window, err, x.c.HasLost(), x.now)
			}
		}
		if s.Sending() != BodyAhead || s.Unsent() == 0 {
			t.Errorf("a window of %d: the stream is in phase %d with %d bytes", window, s.Sending(), s.Unsent())
		}
		x.c.Release(s)
	}
}
