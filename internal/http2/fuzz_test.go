package http2

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/valyala/fasthttp/internal/http1"
)

// FuzzFeed passes any bytes to a connection in pieces of any size: events and output must
// be the same, and the counters correct.
func FuzzFeed(f *testing.F) {
	for _, r := range serverRules {
		if rest, found := bytes.CutPrefix(r.in.b, client().b); found {
			f.Add(rest, uint8(0), uint16(3))
		}
	}
	for _, r := range clientRules {
		f.Add(bytes.TrimPrefix(r.in.b, server().b), uint8(1), uint16(100))
	}
	f.Add(newScript().get(1, 3, 5).post(7).data(7, 8, "\x02abde").reset(7, Cancel).settings(settingWindow, 10).get(9).window(9, 5).b, uint8(0), uint16(20))
	f.Add(newScript().post(1).data(1, 0, strings.Repeat("a", 300)).headers(1, 5, "a: b").get(3, 5).b, uint8(2), uint16(9))
	for _, fields := range [][]string{
		extended, with(get, ":protocol: websocket"), without(extended, ":scheme"), without(extended, ":path"), with(extended, ":protocol: other"),
	} {
		tunnel := newScript().headers(1, 0, fields...).data(1, 0, "abc").headers(1, flagEndStream, "sum: 7").get(3).b
		f.Add(tunnel, uint8(0), uint16(7))
		f.Add(tunnel, permitsConnect, uint16(7))
	}
	f.Add(newScript().settings(settingExtendedConnect, 1).settings(settingExtendedConnect, 0).b, uint8(1), uint16(2))
	limits := filled(Limits{Streams: 5, HeaderList: 1000, PendingHeads: 2000, Window: 1000, Output: 300, Glitches: 30, Wasted: 10})
	f.Fuzz(func(t *testing.T, in []byte, mode uint8, step uint16) {
		if len(in) > 1<<16 {
			return
		}
		whole := feedAll(t, limits, in, mode, 1<<20)
		for _, step := range []int{1, int(step) + 1} {
			x := feedAll(t, limits, in, mode, step)
			if !slices.Equal(x.events, whole.events) {
				t.Fatalf("%d bytes at a time: %q, whole %q", step, x.events, whole.events)
			}
			if !bytes.Equal(x.out, whole.out) || x.err != whole.err {
				t.Fatalf("%d bytes at a time: %q and %v, whole %q and %v", step, show(t, x.out), x.err, show(t, whole.out), whole.err)
			}
		}
	})
}

// permitsConnect is the bit of a mode with which a server accepts extended CONNECT.
const permitsConnect uint8 = 1 << 4

// feedAll passes in to a connection of the role in mode. Each message is answered at once,
// or left unanswered.
func feedAll(t *testing.T, limits *Limits, in []byte, mode uint8, step int) *run {
	role := Role(mode & 1)
	if mode&permitsConnect != 0 {
		permitting := *limits
		permitting.ExtendedConnect = true
		limits = &permitting
	}
	x := begin(t, role, limits)
	kept := 0
	x.answer = func(ev Event) {
		s := ev.Stream
		switch {
		case s == nil:
		case ev.Kind == Reset || ev.End && s.Sending() == Ended:
			delete(x.held, s.id)
			x.c.Release(s)
		case ev.Kind == Data:
			x.c.Consumed(s, len(ev.Payload))
		case ev.Kind == Headers && role == Server && s.id%8 != uint32(mode>>1&7):
			x.respond(s, bytes.Repeat([]byte("abcd"), int(s.id)%2000))
			if s.Unsent() == 0 {
				delete(x.held, s.id)
				x.c.Release(s)
			}
		}
		if ev.Kind == Headers {
			kept += len(list(&x.m.Fields))
			checkExtended(t, limits, role, &x.m)
		}
	}
	if role == Client {
		x.feed(server().b, 1<<20)
		for range 3 {
			s := x.c.Open()
			x.request(s, SendWhole)
			x.held[s.id] = s
		}
	} else {
		x.feed(client().b, 1<<20)
	}
	for len(in) > 0 && x.err == nil {
		n := min(step, len(in))
		x.in = append(x.in, in[:n]...)
		in = in[n:]
		for x.drive(); x.c.Paused(); x.drive() {
			x.take()
		}
	}
	x.take()
	show(t, x.out)
	checkBooks(t, x.c)
	for _, s := range x.held {
		x.c.Release(s)
	}
	checkBooks(t, x.c)
	x.endLingering()
	checkBooks(t, x.c)
	if x.c.Held() != 0 || x.c.Streams() != 0 || x.c.heads != 0 || x.c.kept != 0 {
		t.Fatalf("%d streams are held, %d open", x.c.Held(), x.c.Streams())
	}
	return x
}

// checkExtended checks that only a request has a protocol, and only the kind of request for which
// RFC 8441 section 4 permits it.
func checkExtended(t *testing.T, limits *Limits, role Role, m *Message) {
	if m.Protocol.Len == 0 {
		return
	}
	if role != Server || !limits.ExtendedConnect || m.Head.MethodID != http1.MethodConnect || m.Scheme.Len == 0 || m.Head.Target.Len == 0 {
		t.Fatalf("a message has the protocol %q", m.Fields.Bytes(m.Protocol))
	}
}
