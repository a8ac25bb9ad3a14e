package http2

import (
	"encoding/binary"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/valyala/fasthttp/internal/field"
)

// A caller that sends one small piece after the other has to wait for a peer that takes nothing,
// however large the windows are.
func TestSmallContentWaitsForThePeer(t *testing.T) {
	for _, r := range []Role{Server, Client} {
		x := begin(t, r, filled(Limits{}))
		var s *Stream
		if r == Server {
			x.feed(client().settings(settingWindow, maxID).window(0, 1<<30).get(1).b, 1<<20)
			s = x.held[1]
			x.c.EndHeaders(s, x.c.Encoder().AppendStatus(x.c.BeginHeaders(), 200), SendHead)
		} else {
			x.feed(server().settings(settingWindow, maxID).window(0, 1<<30).b, 1<<20)
			s = x.c.Open()
			x.request(s, SendHead)
		}
		const piece, most = 1000, DefaultOutput / 1000
		sent := 0
		for ; s.Unsent() == 0; sent++ {
			if sent > most {
				t.Fatalf("%v: %d pieces wait", r, sent)
			}
			x.c.Send(s, make([]byte, piece), false)
		}
		// a handler that sends more does not keep answers from the peer
		if x.c.Paused() {
			t.Errorf("%v: the peer's frames wait for own content", r)
		}
		x.take()
		got := 0
		for _, f := range show(t, x.out) {
			if strings.HasPrefix(f, "DATA 1: ") {
				got++
			}
		}
		if got != sent || s.Unsent() != 0 {
			t.Errorf("%v: %d of %d pieces were written", r, got, sent)
		}
		x.c.Send(s, make([]byte, piece), true)
		if s.Unsent() != 0 {
			t.Errorf("%v: a piece waits for nothing", r)
		}
	}
}

// A connection that always has more to write needs no more memory than what waits.
func TestOutputThatNeverEndsNeedsLittleMemory(t *testing.T) {
	x := begin(t, Server, filled(Limits{Glitches: -1}))
	x.feed(client().b, 1<<20)
	var all []byte
	pings := uint64(0)
	for range 3000 {
		for range 100 {
			x.feed(newScript().frame(framePing, 0, 0, string(binary.BigEndian.AppendUint64(nil, pings))).b, 1<<20)
			if pings++; len(x.in) > 0 {
				break
			}
		}
		all = x.c.Output(all, 999)
		if size := cap(x.c.out.B); size > 4*DefaultOutput {
			t.Fatalf("%d bytes are kept after %d were written", size, len(all))
		}
	}
	all = x.c.Output(all, 1<<24)
	at := uint64(0)
	for len(all) > 0 {
		f := parseFrame(all)
		if f.kind == framePing {
			if got := binary.BigEndian.Uint64(all[frameHeadSize:]); got != at {
				t.Fatalf("PING %d was answered, not %d", got, at)
			}
			at++
		}
		all = all[frameHeadSize+f.size:]
	}
	if at < 100_000 {
		t.Errorf("%d PINGs were answered", at)
	}
}

// Wherever the writing of requests that never end is, closing the connection leaves whole frames, and
// whole header blocks.
func TestCloseAmongRequestsThatNeverEnd(t *testing.T) {
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 1))
		x := begin(t, Client, filled(Limits{}))
		x.feed(server().settings(settingStreams, 1<<20).b, 1<<20)
		for written := 0; written < 400<<10; written = len(x.out) {
			for len(x.c.out.B)-x.c.outRead < 100<<10 {
				s := x.c.Open()
				b := x.c.Encoder().AppendField(x.c.BeginHeaders(), field.Unknown, []byte("a"), []byte(strings.Repeat("~", random.IntN(40_000))), 1)
				x.c.EndHeaders(s, b, SendWhole)
			}
			x.out = append(x.out, x.c.Output(nil, 600+random.IntN(20_000))...)
		}
		if n := len(x.c.out.B); n > 300<<10 {
			t.Errorf("%d: %d bytes are kept", seed, n)
		}
		unwritten := len(x.c.out.B) - x.c.outRead
		before := len(x.out)
		x.c.Close(NoError)
		x.take()
		if len(x.out)-before >= unwritten {
			t.Errorf("%d: unwritten requests were not dropped", seed)
		}
		b, open := x.out[len(Preface):], false
		for last := false; len(b) > 0; {
			f := parseFrame(b)
			if last || open != (f.kind == frameContinuation) {
				t.Fatalf("%d: a frame of type %d, in a block: %v", seed, f.kind, open)
			}
			open = (f.kind == frameHeaders || open) && !f.has(flagEndHeaders)
			last = f.kind == frameGoAway
			b = b[frameHeadSize+f.size:]
		}
		if open {
			t.Errorf("%d: a block does not end", seed)
		}
	}
}
