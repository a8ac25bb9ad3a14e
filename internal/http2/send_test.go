package http2

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/http2/hpack"

	"github.com/valyala/fasthttp/internal/field"
)

// The order of content (RFC 9218). Each frame has room for at most 10,000 bytes.
func TestOrderOfContent(t *testing.T) {
	for _, c := range []struct {
		name       string
		priorities []string // of streams 1, 3, 5 ...
		update     *script  // after the first frame
		want       string
	}{
		{"in the order of ids", []string{"", "", ""}, nil, "1 1 3 3 5 5"},
		{"by urgency", []string{"u=5", "", "u=0"}, nil, "5 5 3 3 1 1"},
		{"in turn", []string{"i", "i", "i"}, nil, "5 3 1 5 3 1"},
		{"in turn after others", []string{"i", "", "i"}, nil, "3 3 5 1 5 1"},
		{"one that takes turns no more", []string{"i", "i", "i"}, newScript().frame(framePriorityUpdate, 0, 0, u32(5)+"u=3"), "5 5 3 1 3 1"},
		{"by urgency, then in turn", []string{"i", "u=2, i", "u=2, i"}, nil, "5 3 5 3 1 1"},
		{"what is malformed does not count", []string{"u=8", "u=-1", "u=1.0", "u=1"}, nil, "7 7 1 1 3 3 5 5"},
		{"parameters and others", []string{"i=?0", "i=?1, x", "u=1 , i"}, nil, "5 5 1 1 3 3"},
		{"PRIORITY_UPDATE", []string{"", "", ""}, newScript().frame(framePriorityUpdate, 0, 0, u32(5)+"u=0"), "1 5 5 1 3 3"},
		{"a window that has ended", []string{"", "", ""}, newScript().settings(settingWindow, 9000).window(3, 20000), "1 3 3 3 5"},
	} {
		x := begin(t, Server, filled(Limits{}))
		s := client().window(0, 1<<20)
		for i, p := range c.priorities {
			s.headers(uint32(2*i+1), flagEndStream, with(get, "priority: "+p)...)
		}
		x.feed(s.b, 1<<20)
		x.frames()
		// the last stream answers first
		for i := len(c.priorities) - 1; i >= 0; i-- {
			x.respond(x.held[uint32(2*i+1)], make([]byte, 20000))
		}
		x.c.Output(nil, len(x.c.out.B))
		var got []string
		for x.c.HasOutput() {
			for _, f := range show(t, x.c.Output(nil, frameHeadSize+10000)) {
				if f != "SETTINGS ack" {
					got = append(got, strings.Fields(strings.Trim(f, ":"))[1])
				}
			}
			if c.update != nil && len(got) == 1 {
				x.feed(c.update.b, 1<<20)
			}
		}
		text := strings.ReplaceAll(strings.Join(got, " "), ":", "")
		if text != c.want {
			t.Errorf("%s: %q, want %q", c.name, text, c.want)
		}
	}
}

func TestOutputIsBounded(t *testing.T) {
	body := bytes.Repeat([]byte("abcdefgh"), 4000)
	for _, most := range []int{522, 1000, 1024, 16393, 16394, 100000} {
		x := begin(t, Server, filled(Limits{}))
		x.feed(client().get(1, 3).b, 1<<20)
		x.frames()
		for _, s := range x.held {
			x.respond(s, body)
		}
		var all []byte
		for rounds := 0; x.c.HasOutput(); rounds++ {
			out := x.c.Output([]byte("x"), most)
			if len(out) > most+1 || len(out) == 1 || rounds > 1000 {
				t.Fatalf("at most %d: %d bytes", most, len(out)-1)
			}
			all = append(all, out[1:]...)
		}
		var got [4][]byte
		for len(all) > 0 {
			f := parseFrame(all)
			if f.kind == frameData {
				if f.size < minPart && !f.has(flagEndStream) {
					t.Errorf("at most %d: a frame of %d bytes", most, f.size)
				}
				got[f.id] = append(got[f.id], all[frameHeadSize:frameHeadSize+f.size]...)
			}
			all = all[frameHeadSize+f.size:]
		}
		if !bytes.Equal(got[1], body) || !bytes.Equal(got[3], body) {
			t.Errorf("at most %d: other content", most)
		}
		for range 2 {
			if s := x.c.Drained(); s == nil || !s.Closed() || s.Unsent() != 0 {
				t.Errorf("at most %d: %v", most, s)
			}
		}
		if x.c.Drained() != nil || x.c.Streams() != 0 {
			t.Errorf("at most %d: %d streams", most, x.c.Streams())
		}
	}
}

// Small content is sent at once, unless other content is more urgent.
func TestSmallContentDoesNotOvertakeUrgentContent(t *testing.T) {
	x := begin(t, Server, filled(Limits{}))
	x.feed(client().headers(1, 5, with(get, "priority: u=2")...).get(3).headers(5, 5, with(get, "priority: u=1")...).b, 1<<20)
	x.frames()
	x.respond(x.held[1], make([]byte, 10000))
	x.respond(x.held[3], []byte("small"))
	x.respond(x.held[5], []byte("small"))
	if x.held[3].Unsent() == 0 || x.held[5].Unsent() != 0 {
		t.Error("small content is sent in another order")
	}
	want := "HEADERS 1; HEADERS 3; HEADERS 5; DATA 5: 5 end; DATA 1: 10000 end; DATA 3: 5 end"
	if got := strings.Join(x.frames(), "; "); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestEncoderFollowsTheTableOfThePeer(t *testing.T) {
	x := begin(t, Server, filled(Limits{}))
	x.feed(client().settings(settingTable, 0).get(1).b, 1<<20)
	x.take()
	x.out = nil
	x.respond(x.held[1], nil)
	x.take()
	if update := x.out[frameHeadSize]; update != 0x20 {
		t.Errorf("the block begins with %#x, not with a size update", update)
	}
}

// A header block larger than a frame of the peer's.
func TestLargeHeadersAreContinued(t *testing.T) {
	for _, n := range []int{16000, 17000, 40000} {
		x := begin(t, Server, filled(Limits{}))
		x.feed(client().get(1).b, 1<<20)
		x.frames()
		value := bytes.Repeat([]byte("~"), n) // more than 8 bits in Huffman's code
		b := x.c.Encoder().AppendStatus(x.c.BeginHeaders(), 200)
		b = x.c.Encoder().AppendField(b, field.Unknown, []byte("a"), value, 1)
		x.c.EndHeaders(x.held[1], b, SendWhole)
		out := x.c.Output(nil, 1<<20)
		var block []byte
		var kinds []frameType
		for rest := out; len(rest) > 0; {
			f := parseFrame(rest)
			block = append(block, rest[frameHeadSize:frameHeadSize+f.size]...)
			kinds = append(kinds, f.kind)
			rest = rest[frameHeadSize+f.size:]
			if f.has(flagEndHeaders) != (len(rest) == 0) || f.size > 1<<14 {
				t.Errorf("%d: flags %d", n, f.flags)
			}
		}
		if kinds[0] != frameHeaders || len(kinds) != 1+n/(1<<14) || slices.Contains(kinds[1:], frameHeaders) {
			t.Errorf("%d: %v", n, kinds)
		}
		fields, err := hpack.NewDecoder(4096, nil).DecodeFull(block)
		if err != nil || len(fields) != 2 || fields[1].Value != string(value) {
			t.Errorf("%d: %v", n, err)
		}
	}
}

func TestPartsOfAResponse(t *testing.T) {
	x := begin(t, Server, filled(Limits{}))
	x.feed(client().get(1).b, 1<<20)
	x.frames()
	s := x.held[1]
	can := func(want string) {
		t.Helper()
		var got []string
		for part, name := range map[Part]string{SendInterim: "interim", SendHead: "head", SendWhole: "whole", SendTrailers: "trailers"} {
			if x.c.CanSend(s, part) {
				got = append(got, name)
			}
		}
		slices.Sort(got)
		if strings.Join(got, " ") != want {
			t.Errorf("can send %q, want %q", got, want)
		}
	}
	send := func(part Part, status int) {
		b := x.c.BeginHeaders()
		if status > 0 {
			b = x.c.Encoder().AppendStatus(b, status)
		}
		x.c.EndHeaders(s, b, part)
	}
	can("head interim whole")
	send(SendInterim, 103)
	can("head interim whole")
	send(SendHead, 200)
	can("trailers")
	x.c.Send(s, nil, false)
	x.c.Send(s, []byte("small"), false)
	if s.Unsent() != 0 {
		t.Error("small content waits")
	}
	x.c.Send(s, make([]byte, 10000), false)
	if s.Unsent() != 10000 {
		t.Error("large content does not wait")
	}
	if !panics(func() { x.c.Send(s, []byte("a"), false) }) {
		t.Error("content was sent before other content")
	}
	can("")
	x.out = x.c.Output(nil, 1<<20)
	if got := x.c.Drained(); got != s || s.Closed() {
		t.Errorf("drained: %v", got)
	}
	can("trailers")
	send(SendTrailers, 0)
	can("")
	want := "HEADERS 1; HEADERS 1; DATA 1: 5; DATA 1: 10000; HEADERS 1 end"
	if got := strings.Join(x.frames(), "; "); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if !s.Closed() || x.c.Streams() != 0 || !panics(func() { x.c.Send(s, nil, true) }) {
		t.Error("the stream has not ended")
	}
	x.c.Release(s)
	if !panics(func() { x.c.Release(s) }) {
		t.Error("a stream was released twice")
	}
}

func TestReleaseOfOpenStreams(t *testing.T) {
	for _, c := range []struct {
		name string
		in   *script
		do   func(x *run, s *Stream)
		want string // written at once
		then string // written after that
	}{
		{"nothing was sent", newScript().get(1), func(*run, *Stream) {}, "RST_STREAM 1: CANCEL", ""},
		{"answered before the end, which is far", newScript().headers(1, 0, with(post, "content-length: 1000000")...), func(x *run, s *Stream) { x.respond(s, nil) }, "HEADERS 1; DATA 1: 0 end", "RST_STREAM 1: NO_ERROR"},
		{"answered", newScript().get(1), func(x *run, s *Stream) { x.respond(s, []byte("a")) }, "HEADERS 1; DATA 1: 1 end", ""},
		{"content that waits", newScript().get(1), func(x *run, s *Stream) { x.respond(s, make([]byte, 5000)) }, "HEADERS 1; RST_STREAM 1: CANCEL", ""},
		{"reset", newScript().get(1), func(x *run, s *Stream) { x.c.Reset(s, InternalError); x.c.Reset(s, Cancel); x.respond(s, nil) }, "RST_STREAM 1: INTERNAL_ERROR", ""},
		{"reset by the peer", newScript().get(1).reset(1, Cancel), func(x *run, s *Stream) { x.respond(s, nil); x.c.Send(s, []byte("a"), true) }, "", ""},
	} {
		x := begin(t, Server, filled(Limits{}))
		x.feed(client().b, 1<<20)
		x.frames()
		x.feed(c.in.b, 1<<20)
		c.do(x, x.held[1])
		x.c.Release(x.held[1])
		if got := strings.Join(x.frames(), "; "); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		if x.c.HasOutput() != (c.then != "") {
			t.Errorf("%s: there is more to write: %v", c.name, x.c.HasOutput())
		}
		if got := strings.Join(x.frames(), "; "); got != c.then {
			t.Errorf("%s: then %q, want %q", c.name, got, c.then)
		}
		checkBooks(t, x.c)
		if x.c.Held() != 0 || x.c.Streams() != 0 {
			t.Errorf("%s: %d streams are left", c.name, x.c.Held())
		}
	}
}

func TestShutdownOfAServer(t *testing.T) {
	for _, forced := range []bool{false, true} {
		x := begin(t, Server, filled(Limits{}))
		x.feed(client().get(1).b, 1<<20)
		x.frames()
		x.c.Shutdown()
		if got := strings.Join(x.frames(), "; "); got != "GOAWAY 2147483647: NO_ERROR; PING" || x.c.Done() {
			t.Fatalf("%q", got)
		}
		// a request that was on its way is served
		x.feed(newScript().get(3).b, 1<<20)
		if forced {
			x.c.Shutdown()
		} else {
			x.feed(newScript().frame(framePing, flagAck, 0, string(shutdownPingData[:])).b, 1<<20)
		}
		if got := strings.Join(x.frames(), "; "); got != "GOAWAY 3: NO_ERROR" || x.c.Life() != LifeDraining {
			t.Fatalf("%q", got)
		}
		x.c.Shutdown()
		// later requests are not, nor are frames that belong to them
		x.feed(newScript().post(5).data(5, 0, "a").headers(5, flagEndStream, "a: b").b, 1<<20)
		if len(x.held) != 2 || x.err != nil || len(x.frames()) > 0 {
			t.Errorf("%q, %v", x.events, x.err)
		}
		for id := range x.held {
			if x.c.Done() {
				t.Error("it is done while streams are open")
			}
			x.respond(x.held[id], []byte("a"))
			x.c.Release(x.held[id])
		}
		if x.c.Done() {
			t.Error("it is done before all was written")
		}
		if x.frames(); !x.c.Done() {
			t.Error("it is not done")
		}
	}
}

func TestClose(t *testing.T) {
	x := begin(t, Server, filled(Limits{}))
	x.feed(client().get(1).post(3).b, 1<<20)
	x.respond(x.held[1], make([]byte, 10000))
	x.c.Close(InternalError)
	x.c.Close(NoError)
	x.c.Shutdown()
	if got := strings.Join(x.frames(), "; "); !strings.HasSuffix(got, "HEADERS 1; GOAWAY 3: INTERNAL_ERROR") || !x.c.Done() {
		t.Errorf("%q", got)
	}
	if _, _, err := x.c.Feed(nil, 0, &x.m); err == nil || x.c.Tick(1) == nil {
		t.Error("there is no error")
	}
	x.respond(x.held[3], nil)
	x.c.Reset(x.held[3], Cancel)
	x.c.Release(x.held[1])
	x.c.Release(x.held[3])
	if got := x.frames(); len(got) > 0 || x.c.Held() != 0 || x.c.Streams() != 0 {
		t.Errorf("%q, %d streams", got, x.c.Streams())
	}
}

// opened returns a client's connection with n requests.
func opened(t *testing.T, n int) *run {
	x := begin(t, Client, filled(Limits{}))
	if got := strings.Join(x.frames(), "; "); got != "SETTINGS; WINDOW_UPDATE 0: 983041" {
		t.Fatalf("the connection begins with %q", got)
	}
	x.feed(server().b, 1<<20)
	for range n {
		s := x.c.Open()
		x.request(s, SendWhole)
		x.held[s.ID()] = s
	}
	x.frames()
	return x
}

func TestClientOpensAsManyStreamsAsPermitted(t *testing.T) {
	x := begin(t, Client, filled(Limits{}))
	if x.c.AvailableStreams() != assumedStreams {
		t.Errorf("%d at first", x.c.AvailableStreams())
	}
	x.feed(newScript().settings(settingStreams, 2).b, 1<<20)
	a, b := x.c.Open(), x.c.Open()
	if a == nil || b == nil || x.c.Open() != nil || x.c.AvailableStreams() != 0 {
		t.Fatal("not two")
	}
	// ids are in the order of the wire
	x.request(b, SendWhole)
	x.request(a, SendHead)
	if a.ID() != 3 || b.ID() != 1 {
		t.Errorf("ids %d and %d", a.ID(), b.ID())
	}
	x.c.Release(b)
	if x.c.AvailableStreams() != 1 {
		t.Errorf("%d after one", x.c.AvailableStreams())
	}
	s := x.c.Open()
	x.c.Release(s)
	x.c.Release(a)
	x.feed(newScript().settings(settingStreams, 0).b, 1<<20)
	if x.c.AvailableStreams() != 0 || x.c.Held() != 0 {
		t.Errorf("%d at the end, %d held", x.c.AvailableStreams(), x.c.Held())
	}
	if got := strings.Join(x.frames(), "; "); !strings.HasSuffix(got, "HEADERS 1 end; HEADERS 3; RST_STREAM 1: CANCEL; RST_STREAM 3: CANCEL; SETTINGS ack") {
		t.Errorf("%q", got)
	}
}

func TestGoAwayOfAServer(t *testing.T) {
	x := opened(t, 4)
	waiting := x.c.Open()
	x.feed(newScript().frame(frameGoAway, 0, 0, u32(maxID, 0)).headers(1, flagEndStream, ":status: 200").b, 1<<20)
	if x.c.Open() != nil || x.c.AvailableStreams() != 0 || x.c.CanSend(waiting, SendHead) {
		t.Error("streams begin after a GOAWAY")
	}
	x.c.Release(waiting)
	x.feed(newScript().frame(frameGoAway, 0, 0, u32(3, uint32(NoError))).headers(3, flagEndStream, ":status: 200").b, 1<<20)
	got := slices.Clone(x.events)
	slices.Sort(got)
	want := []string{"go away: NO_ERROR", "go away: NO_ERROR", "headers 1:  end", "headers 3:  end", "reset 5: REFUSED_STREAM", "reset 7: REFUSED_STREAM"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", x.events)
	}
	for _, s := range x.held {
		x.c.Release(s)
	}
	if out := x.frames(); len(out) > 0 || !x.c.Done() {
		t.Errorf("%q, life %d", out, x.c.Life())
	}
	checkBooks(t, x.c)
}

func TestResetsByAServer(t *testing.T) {
	x := opened(t, 2)
	x.feed(newScript().reset(1, RefusedStream).headers(3, 0, ":status: 200").reset(3, InternalError).b, 1<<20)
	want := []string{"reset 1: REFUSED_STREAM", "headers 3", "reset 3: INTERNAL_ERROR"}
	if !slices.Equal(x.events, want) || x.c.Streams() != 0 {
		t.Errorf("%q", x.events)
	}
}

func TestShutdownOfAClient(t *testing.T) {
	x := opened(t, 1)
	x.c.Shutdown()
	if got := x.frames(); !slices.Equal(got, []string{"GOAWAY 0: NO_ERROR"}) || x.c.Done() || x.c.Open() != nil {
		t.Errorf("%q", got)
	}
	x.feed(newScript().headers(1, flagEndStream, ":status: 200").b, 1<<20)
	if !x.c.Done() {
		t.Error("it is not done")
	}
}

// Requests that were not written when the connection ended are not written after that:
// their callers send them elsewhere.
func TestRequestsThatWereNotWrittenAreDropped(t *testing.T) {
	for name, end := range map[string]func(x *run){
		"COMPRESSION_ERROR": func(x *run) {
			x.feed(newScript().frame(frameHeaders, flagEndHeaders, 1, "\xff\xff\xff\xff\xff\xff").b, 1<<20)
		},
		"NO_ERROR": func(x *run) { x.c.Close(NoError) },
	} {
		for _, taken := range []int{0, 5, 12} {
			x := opened(t, 1)
			for range 3 {
				x.request(x.c.Open(), SendWhole)
			}
			out := x.c.Output(nil, taken)
			end(x)
			out = append(out, x.c.Output(nil, 1<<20)...)
			want := []string{"GOAWAY 0: " + name}
			if taken > 0 {
				want = append([]string{"HEADERS 3 end"}, want...)
			}
			if got := show(t, out); !slices.Equal(got, want) {
				t.Errorf("%s after %d bytes: %q, want %q", name, taken, got, want)
			}
		}
	}
	x := &run{t: t, c: new(Conn)}
	x.c.Init(Client, filled(Limits{}), 0)
	x.request(x.c.Open(), SendWhole)
	x.c.Close(NoError)
	if got := strings.Join(x.frames(), "; "); got != "SETTINGS; GOAWAY 0: NO_ERROR" {
		t.Errorf("before anything was written: %q", got)
	}
}

func TestPings(t *testing.T) {
	x := opened(t, 0)
	x.c.Ping([8]byte{1, 2, 3})
	if got := x.frames(); !slices.Equal(got, []string{"PING"}) {
		t.Errorf("%q", got)
	}
	x.feed(newScript().frame(framePing, flagAck, 0, "\x01\x02\x03\x00\x00\x00\x00\x00").b, 1<<20)
	if !slices.Equal(x.events, []string{"pong"}) {
		t.Errorf("%q", x.events)
	}
}

func TestSettingsThatAreSent(t *testing.T) {
	for _, c := range []struct {
		role   Role
		limits Limits
		want   string
	}{
		{Server, Limits{}, "3=250 9=1 4=262144 6=65536"},
		{Client, Limits{}, "2=0 4=262144 6=65536"},
		{Server, Limits{Streams: 7, Window: firstWindow, Frame: 20000, HeaderList: 5, DecoderTable: 8192}, "1=8192 3=7 9=1 5=20000 6=5"},
		{Client, Limits{DecoderTable: 1, Frame: 1}, "2=0 4=262144 6=65536"},
	} {
		c2 := new(Conn)
		c2.Init(c.role, filled(c.limits), 0)
		b := bytes.TrimPrefix(c2.Output(nil, 1000), []byte(Preface))
		f := parseFrame(b)
		var got []string
		for p := b[frameHeadSize : frameHeadSize+f.size]; len(p) > 0; p = p[settingSize:] {
			got = append(got, fmt.Sprintf("%d=%d", p[1], int(p[2])<<24|int(p[3])<<16|int(p[4])<<8|int(p[5])))
		}
		if text := strings.Join(got, " "); text != c.want || f.kind != frameSettings {
			t.Errorf("%q, want %q", text, c.want)
		}
	}
}

// A connection that has nothing to do keeps little.
func TestRest(t *testing.T) {
	x := begin(t, Server, filled(Limits{}))
	x.feed(client().b, 1<<20)
	for round := range uint32(3) {
		for i := range uint32(100) {
			x.feed(newScript().get(1+round*200+2*i).b, 1<<20)
		}
		for id, s := range x.held {
			x.respond(s, []byte("a"))
			x.c.Release(s)
			delete(x.held, id)
		}
		x.frames()
		x.c.Trim()
		if x.c.out != nil || x.c.freeCount > 0 || len(x.c.table.slots) > 0 || x.c.ended.memory != nil {
			t.Errorf("%d streams, %d slots", x.c.freeCount, len(x.c.table.slots))
		}
		checkBooks(t, x.c)
	}
}

// Streams whose ids share a slot of the table.
func TestAllStreamsEndThatMust(t *testing.T) {
	x := opened(t, 9)
	for id := uint32(3); id < 17; id += 2 {
		x.c.Release(x.held[id])
	}
	if x.c.table.home(1) != x.c.table.home(1+2*uint32(len(x.c.table.slots))) {
		t.Fatal("ids have other places")
	}
	last := uint32(1)
	for last < 1+2*uint32(len(x.c.table.slots)) {
		s := x.c.Open()
		x.request(s, SendWhole)
		if last = s.id; last < 1+2*uint32(len(x.c.table.slots)) {
			x.c.Release(s)
		}
	}
	x.feed(newScript().frame(frameGoAway, 0, 0, u32(0, 0)).b, 1<<20)
	if x.c.table.n != 0 || len(x.events) != 4 {
		t.Errorf("%d streams are left: %q", x.c.table.n, x.events)
	}

	x = begin(t, Server, filled(Limits{}))
	x.feed(client().settings(settingWindow, 0).b, 1<<20)
	for id := uint32(1); id <= 17; id += 2 {
		x.feed(newScript().get(id).b, 1<<20)
		if x.respond(x.held[id], make([]byte, 5000)); id != 1 && id != 17 {
			x.c.Release(x.held[id])
		}
	}
	if len(x.c.table.slots) != 8 {
		t.Fatal("ids have other places")
	}
	x.c.Tick(1000)
	x.c.Tick(20000)
	if x.drive(); x.c.table.n != 0 {
		t.Errorf("%d streams are left", x.c.table.n)
	}
}

// A server may end a request that it has answered (RFC 9113 section 8.1).
func TestRequestsThatWereAnsweredEarlyAreNotWasted(t *testing.T) {
	x := begin(t, Client, filled(Limits{Wasted: 3, WastedRate: -1}))
	x.feed(server().b, 1<<20)
	for range 20 {
		s := x.c.Open()
		x.request(s, SendHead)
		x.feed(newScript().headers(s.id, flagEndStream, ":status: 200").reset(s.id, NoError).b, 1<<20)
		x.c.Release(s)
	}
	if x.err != nil {
		t.Error(x.err)
	}
}

// The Priority field of a response counts; the request counts for the rest (RFC 9218
// section 8).
func TestPriorityOfAResponseIsThatOfTheRequestAndMore(t *testing.T) {
	for _, c := range []struct{ request, response, want string }{
		{"u=1, i", "", "u=1 true"},
		{"u=1, i", "u=5", "u=5 true"},
		{"u=1", "i", "u=1 true"},
		{"u=1, i", "i=?0", "u=1 false"},
		{"u=1, i", "u=9, x", "u=1 true"},
		{"", "u=0, i", "u=0 true"},
	} {
		x := begin(t, Server, filled(Limits{}))
		x.feed(client().headers(1, flagEndStream, with(get, "priority: "+c.request)...).b, 1<<20)
		s := x.held[1]
		x.c.SetPriority(s, []byte(c.response))
		if got := fmt.Sprintf("u=%d %v", s.urgency, s.incremental); got != c.want {
			t.Errorf("%q and %q: %s, want %s", c.request, c.response, got, c.want)
		}
		// an update of the client replaces all
		x.feed(newScript().frame(framePriorityUpdate, 0, 0, u32(1)+"u=6").b, 1<<20)
		if s.urgency != 6 || s.incremental {
			t.Errorf("%q, updated: u=%d %v", c.request, s.urgency, s.incremental)
		}
	}
}
