package http2

import (
	"strings"
	"testing"
)

// A stream that was answered before its request has ended is not reset while the rest may
// be on its way, and no longer.
func TestStreamsLinger(t *testing.T) {
	const answer, reset = "HEADERS 1; DATA 1: 0 end", "RST_STREAM 1: NO_ERROR"
	tick := func(n int) func(x *run) {
		return func(x *run) {
			for range n {
				x.now += 1000
				if err := x.c.Tick(x.now); err != nil {
					x.t.Error(err)
				}
			}
		}
	}
	feed := func(s *script) func(x *run) { return func(x *run) { x.feed(s.b, 1<<20) } }
	size := DefaultWindow / 8
	piece := strings.Repeat("a", size)
	for _, c := range []struct {
		name string
		head []string
		then func(x *run)
		want string // the output then
		left int    // open streams afterwards
	}{
		{"nothing comes", post, tick(1), "", 1},
		{"nothing comes for long", post, tick(2), reset, 0},
		{"the end comes", post, feed(newScript().data(1, flagEndStream, "")), "", 0},
		{"the rest comes", post, feed(newScript().data(1, 0, "abc").data(1, flagEndStream, "def")), "", 0},
		{"the rest comes late", post, func(x *run) { tick(1)(x); x.feed(newScript().data(1, flagEndStream, "def").b, 1<<20); tick(1)(x) }, "", 0},
		{"it comes piece by piece", post, func(x *run) {
			for range 3 {
				tick(1)(x)
				x.feed(newScript().data(1, 0, "a").b, 1<<20)
			}
		}, reset, 0},
		{"trailers come", post, feed(newScript().headers(1, flagEndStream, "a: b")), "", 0},
		{"bad trailers come", post, feed(newScript().headers(1, flagEndStream, ":path: /")), "RST_STREAM 1: PROTOCOL_ERROR", 0},
		{"padding comes", post, feed(newScript().frame(frameData, flagPadded|flagEndStream, 1, "\x05abc\x00\x00\x00\x00\x00")), "", 0},
		{"the client resets it", post, feed(newScript().reset(1, Cancel)), "", 0},
		{"the length is kept", with(post, "content-length: 3"), feed(newScript().data(1, flagEndStream, "abc")), "", 0},
		{"the length is not kept", with(post, "content-length: 3"), feed(newScript().data(1, flagEndStream, "ab")), "RST_STREAM 1: PROTOCOL_ERROR", 0},
		{"the request goes on", post, func(x *run) {
			for range 7 {
				x.feed(newScript().data(1, 0, piece).b, 1<<20)
			}
		}, reset, 0},
		{"the end is far", with(post, "content-length: 10000000"), func(*run) {}, reset, 0},
		{"the server shuts down", post, func(x *run) { x.c.Shutdown(); tick(1)(x) }, "GOAWAY 2147483647: NO_ERROR; PING; " + reset, 0},
		{"the connection ends", post, func(x *run) { x.c.Close(NoError) }, "GOAWAY 1: NO_ERROR", 0},
		{"another request", post, func(x *run) {
			x.feed(newScript().data(1, flagEndStream, "").get(3).b, 1<<20)
			x.respond(x.held[3], nil)
			x.c.Release(x.held[3])
			delete(x.held, 3)
		}, "HEADERS 3; DATA 3: 0 end", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := begin(t, Server, filled(Limits{Frame: DefaultWindow}))
			x.feed(client().b, 1<<20)
			x.frames()
			x.feed(newScript().headers(1, 0, c.head...).b, 1<<20)
			s := x.held[1]
			x.respond(s, nil)
			delete(x.held, 1)
			x.c.Release(s)
			if got := strings.Join(x.frames(), "; "); got != answer {
				t.Fatalf("answered with %q", got)
			}
			before := len(x.events)
			c.then(x)
			var got []string
			for x.c.HasOutput() {
				for _, f := range x.frames() {
					if !strings.HasPrefix(f, "WINDOW_UPDATE 0") {
						got = append(got, f)
					}
				}
			}
			if got := strings.Join(got, "; "); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
			for _, e := range x.events[before:] {
				if strings.Contains(e, " 1") {
					t.Errorf("the caller is told of %q", e)
				}
			}
			if x.c.Streams() != c.left {
				t.Errorf("%d streams are open, want %d", x.c.Streams(), c.left)
			}
			checkBooks(t, x.c)
		})
	}
}

// A client such as gRPC's resets each stream whose response arrives before its request has
// ended. A server does not count that as waste.
func TestResetsOfStreamsThatLingerAreNoWaste(t *testing.T) {
	x := begin(t, Server, filled(Limits{}))
	x.feed(client().b, 1<<20)
	for id := uint32(1); id < 20_000; id += 2 {
		x.feed(newScript().post(id).b, 1<<20)
		s := x.held[id]
		if s == nil {
			t.Fatalf("stream %d: %v", id, x.err)
		}
		x.respond(s, nil)
		delete(x.held, id)
		x.c.Release(s)
		x.feed(newScript().reset(id, Cancel).b, 1<<20)
		x.out = x.out[:0]
		x.take()
	}
	checkBooks(t, x.c)
}
