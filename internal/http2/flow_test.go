package http2

import (
	"slices"
	"strings"
	"testing"
)

func TestWindowsAreGivenBackAtHalf(t *testing.T) {
	x := begin(t, Server, filled(Limits{Window: 1000, ConnWindow: 100000}))
	if got := x.frames(); !slices.Equal(got, []string{"SETTINGS", "WINDOW_UPDATE 0: 34465"}) {
		t.Fatalf("the connection begins with %q", got)
	}
	x.feed(client().post(1).data(1, 0, strings.Repeat("a", 600)).b, 1<<20)
	x.frames()
	s := x.held[1]
	for _, c := range []struct {
		consumed int
		want     string
	}{
		{0, ""}, {499, ""}, {1, "WINDOW_UPDATE 1: 500"}, {1000, ""}, {5, ""},
	} {
		x.c.Consumed(s, c.consumed)
		if got := strings.Join(x.frames(), " "); got != c.want {
			t.Errorf("after %d: %q, want %q", c.consumed, got, c.want)
		}
		checkBooks(t, x.c)
	}
	// a stream that has ended needs no window
	x.feed(newScript().data(1, flagEndStream, strings.Repeat("a", 900)).b, 1<<20)
	x.c.Consumed(s, 900)
	if got := x.frames(); len(got) > 0 {
		t.Errorf("at the end: %q", got)
	}
}

// Unread content of some streams may hold most of the window of the connection. The rest is enough
// for another stream, however much is sent on it.
func TestUnreadStreamsLeaveOthersAWindow(t *testing.T) {
	const window, unread, part = 100000, 90000, 1000
	x := begin(t, Server, filled(Limits{Window: 1 << 20, ConnWindow: window}))
	s := client().post(1, 3)
	for range unread / 10000 {
		s.data(1, 0, strings.Repeat("a", 10000))
	}
	x.feed(s.b, 1<<20)
	x.frames()
	updates := 0
	for i := range 100 {
		if x.c.recvWindow < part {
			t.Fatalf("after %d bytes on the other stream it has no window", i*part)
		}
		x.feed(newScript().data(3, 0, strings.Repeat("b", part)).b, 1<<20)
		x.c.Consumed(x.held[3], part)
		for _, f := range x.frames() {
			if strings.HasPrefix(f, "WINDOW_UPDATE 0") {
				updates++
			}
		}
		checkBooks(t, x.c)
	}
	if most := 100 * part / (window / 16); updates > most {
		t.Errorf("%d updates, more than %d", updates, most)
	}
}

// The window of content received on streams that are reset, and not consumed, is returned.
func TestWindowOfTheConnectionComesBack(t *testing.T) {
	const part = 15000
	body := strings.Repeat("a", part)
	for name, end := range map[string]func(x *run, id uint32){
		"reset by the peer":  func(x *run, id uint32) { x.feed(newScript().reset(id, Cancel).b, 99) },
		"reset by us":        func(x *run, id uint32) { x.c.Reset(x.held[id], Cancel) },
		"a fault":            func(x *run, id uint32) { x.feed(newScript().window(id, 0).b, 99) },
		"released":           func(*run, uint32) {},
		"more after a reset": func(x *run, id uint32) { x.c.Reset(x.held[id], Cancel); x.feed(newScript().data(id, 0, body).b, 1<<20) },
		"all consumed":       func(x *run, id uint32) { x.c.Consumed(x.held[id], part) },
		"answered at once":   func(x *run, id uint32) { x.respond(x.held[id], []byte("no")) },
		"ended": func(x *run, id uint32) {
			x.feed(newScript().data(id, flagEndStream|flagPadded, "\x80"+strings.Repeat("a", 200)).b, 1<<20)
		},
	} {
		x := begin(t, Server, filled(Limits{ConnWindow: 100000, Wasted: -1}))
		x.feed(client().b, 1<<20)
		given := 0
		s := newScript()
		for id := uint32(1); id < 200; id += 2 {
			s.b = s.b[:0]
			x.feed(s.post(id).data(id, 0, body).b, 1<<20)
			end(x, id)
			x.c.Consumed(x.held[id], 7)
			x.c.Release(x.held[id])
			for _, f := range x.frames() {
				if strings.HasPrefix(f, "WINDOW_UPDATE 0") {
					given++
				}
			}
			checkBooks(t, x.c)
		}
		if x.err != nil || given == 0 {
			t.Errorf("%s: %v; %d updates", name, x.err, given)
		}
	}
}

// Kept content has a limit: above it one stream at a time gets window, until there is room
// for others.
func TestContentThatIsKeptHasABound(t *testing.T) {
	x := begin(t, Server, filled(Limits{Bodies: 10000, Window: 8000, Streams: 4}))
	x.frames()
	x.answer = func(ev Event) {
		if ev.Kind == Data && !x.c.Keep(ev.Stream, len(ev.Payload)) {
			x.events = append(x.events, "over the bound")
		}
	}
	updates := func(what, want string) {
		t.Helper()
		var got []string
		for _, f := range x.frames() {
			if strings.HasPrefix(f, "WINDOW_UPDATE") && !strings.HasPrefix(f, "WINDOW_UPDATE 0") {
				got = append(got, f)
			}
		}
		if got := strings.Join(got, "; "); got != want {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
		checkBooks(t, x.c)
	}
	put := func(id uint32, flags uint8) { x.feed(newScript().data(id, flags, strings.Repeat("a", 6000)).b, 1<<20) }
	x.feed(client().post(1, 3, 5, 7).b, 1<<20)
	put(1, 0)
	updates("within the bound", "WINDOW_UPDATE 1: 6000")
	put(3, 0)
	updates("the first above it", "WINDOW_UPDATE 3: 6000")
	put(5, 0)
	put(7, 0)
	updates("others above it", "")
	put(3, flagEndStream)
	updates("the first has ended", "WINDOW_UPDATE 5: 6000")
	x.now += 1000
	_ = x.c.Tick(x.now)
	updates("the next has just begun", "")
	for want := range strings.SplitSeq("WINDOW_UPDATE 7: 6000;;", ";") {
		x.now += 1000
		_ = x.c.Tick(x.now)
		updates("the client sends nothing on it", want)
	}
	put(1, 0)
	updates("another one comes late", "")
	x.c.Release(x.held[3])
	x.c.Release(x.held[5])
	updates("there is not enough room", "")
	x.c.Release(x.held[7])
	updates("there is room for one", "WINDOW_UPDATE 1: 6000")
	x.c.Release(x.held[1])
	if x.c.kept != 0 || x.c.withheld {
		t.Errorf("%d bytes are kept, streams wait: %v", x.c.kept, x.c.withheld)
	}
	checkBooks(t, x.c)
}

// A client that continues with one stream after another does not exceed the limit of all
// windows.
func TestContentThatIsKeptEndsSomewhere(t *testing.T) {
	x := begin(t, Server, filled(Limits{Bodies: 1000, Window: 1000, Streams: 2}))
	x.feed(client().post(1).b, 1<<20)
	over := 0
	for range 10 {
		x.feed(newScript().data(1, 0, strings.Repeat("a", 500)).b, 1<<20)
		if !x.c.Keep(x.held[1], 500) {
			over++
			x.c.Consumed(x.held[1], 500)
		}
	}
	if x.c.kept != 4000 || over != 2 {
		t.Errorf("%d bytes are kept, %d times there were too many", x.c.kept, over)
	}
	x.c.Release(x.held[1])
	checkBooks(t, x.c)
}

// The window of a stream may become negative (RFC 9113 section 6.9.2).
func TestSettingsChangeWindowsOfStreams(t *testing.T) {
	x := begin(t, Server, filled(Limits{}))
	x.feed(client().settings(settingWindow, 5000).get(1).b, 1<<20)
	x.respond(x.held[1], make([]byte, 20000))
	sent := func() string { return strings.Join(x.frames(), "; ") }
	if got := sent(); !strings.HasSuffix(got, "HEADERS 1; DATA 1: 5000") {
		t.Fatalf("%q", got)
	}
	for _, c := range []struct {
		in   *script
		want string
	}{
		{newScript().settings(settingWindow, 1000), ""},
		{newScript().window(1, 3999), ""},
		{newScript().window(1, 1), ""},
		{newScript().window(1, 1), "; DATA 1: 1"},
		{newScript().settings(settingWindow, 1100), "; DATA 1: 100"},
		{newScript().settings(settingWindow, 30000), "; DATA 1: 14899 end"},
	} {
		x.feed(c.in.b, 1<<20)
		if got := strings.TrimPrefix(sent(), "SETTINGS ack"); strings.TrimPrefix(got, "; ") != strings.TrimPrefix(c.want, "; ") {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	x.c.Release(x.held[1])
	checkBooks(t, x.c)
}

// A window smaller than the peer assumes applies only once the peer knows it.
func TestSmallWindowsHoldFromTheAcknowledgementOn(t *testing.T) {
	x := begin(t, Server, filled(Limits{Window: 1000}))
	x.feed(newScript().raw(Preface).settings().post(1, 3, 5).data(1, 0, strings.Repeat("a", 1001)).b, 1<<20)
	if x.verdict() != "" {
		t.Fatal("a window was not what the peer assumes")
	}
	checkBooks(t, x.c)
	x.feed(newScript().frame(frameSettings, flagAck, 0, "").data(3, 0, strings.Repeat("a", 1001)).b, 1<<20)
	if got := x.verdict(); got != "reset 3 FLOW_CONTROL_ERROR" {
		t.Errorf("%q", got)
	}
	x.feed(newScript().data(5, 0, strings.Repeat("a", 1000)).b, 1<<20)
	if got := x.verdict(); got != "" {
		t.Errorf("%q", got)
	}
	checkBooks(t, x.c)
}

// The changes of a window within a frame of SETTINGS count together: each of them would order all
// streams anew, at the price of six bytes. But each must be allowed.
func TestSettingsOfAFrameMoveWindowsOnce(t *testing.T) {
	x := begin(t, Server, filled(Limits{}))
	x.feed(client().settings(settingWindow, 70000).b, 1<<20)
	for _, id := range []uint32{1, 3, 5} {
		x.feed(newScript().headers(id, 5, with(get, "priority: i")...).b, 1<<20)
		x.respond(x.held[id], make([]byte, 60000))
	}
	order := func() (ids []uint32) {
		for s := x.c.ready.first; s != nil; s = s.next {
			ids = append(ids, s.ID())
		}
		return ids
	}
	x.c.Output(nil, 10000)
	before := order()
	if !slices.Equal(before, []uint32{3, 5, 1}) {
		t.Fatalf("the order is %v", before)
	}
	window := x.held[3].sendWindow
	x.feed(newScript().settings(settingWindow, 0, settingWindow, 1<<20, settingWindow, 0, settingWindow, 70001).b, 1<<20)
	if got := order(); !slices.Equal(got, before) {
		t.Errorf("the order was %v and is %v", before, got)
	}
	if got := x.held[3].sendWindow; got != window+1 {
		t.Errorf("the window was %d and is %d", window, got)
	}
	checkBooks(t, x.c)
	if got := x.verdict(); got != "" {
		t.Errorf("the verdict is %q", got)
	}
	window = x.held[3].sendWindow
	x.feed(newScript().window(3, maxID-uint32(window)).settings(settingWindow, 70002, settingWindow, 0).b, 1<<20)
	if got := x.verdict(); got != "stop"+flow {
		t.Errorf("too large on the way: the verdict is %q", got)
	}
}
