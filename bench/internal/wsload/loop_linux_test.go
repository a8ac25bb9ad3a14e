package wsload

import (
	"context"
	"errors"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp/bench/internal/rig"
)

const short = 100 * time.Millisecond

// measured opens a load in this process and runs it.
func measured(l Load) (Result, error) {
	p, err := l.open(nil)
	if err != nil {
		return Result{}, err
	}
	defer p.close()
	return p.measure()
}

func TestEveryMessageReturns(t *testing.T) {
	for name, l := range map[string]Load{
		"small":     {Conns: 5, Size: 125, Depth: 1},
		"in flight": {Conns: 3, Size: 125, Depth: 16},
		"middle":    {Conns: 2, Size: 126, Depth: 2},
		"large":     {Conns: 3, Size: 64 << 10, Depth: 1},
		"pings":     {Conns: 3, Size: 125, Depth: 1, Ping: true},
		"bytes":     {Conns: 3, Size: 20, Depth: 1, Bytes: true},
		"fragments": {Conns: 3, Size: 20, Depth: 4, Fragments: true},
	} {
		s := start(t, new(server))
		l.Kind, l.Addr, l.Time = Echo, s.addr, short
		r, err := measured(l)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		s.mu.Lock()
		counted := s.messages - l.Conns*l.Depth // without the warm-up
		if r.Messages != counted || counted < l.Conns*l.Depth || s.conns != l.Conns || s.bytes != s.messages*l.Size {
			t.Errorf("%s: %+v; the server had %d messages with %d bytes on %d sockets", name, r, s.messages, s.bytes, s.conns)
		}
		if r.P50 < 0 || r.P99 < r.P50 || r.Longest < r.P99 || r.Longest == 0 || r.Took < l.Time {
			t.Errorf("%s: %+v", name, r)
		}
		wantPings, wantFrames := 0, s.messages
		if l.Ping {
			wantPings = s.messages
		}
		if l.Fragments {
			wantFrames *= l.Size
		}
		if s.pings != wantPings || s.frames != wantFrames {
			t.Errorf("%s: %d pings and %d frames with %d messages", name, s.pings, s.frames, s.messages)
		}
		s.mu.Unlock()
	}
}

func TestABroadcastArrivesEverywhere(t *testing.T) {
	s := start(t, new(server))
	l := Load{Kind: Broadcast, Addr: s.addr, Conns: 20, Size: 125, Time: short}
	r, err := measured(l)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil || r.Messages != (s.messages-1)*l.Conns || r.Messages == 0 || r.P99 < r.P50 {
		t.Errorf("%+v, %v; %d messages", r, err, s.messages)
	}
}

func TestBroadcastsAtARate(t *testing.T) {
	s := start(t, new(server))
	l := Load{Kind: Broadcast, Addr: s.addr, Conns: 4, Size: 125, Rate: 200, Time: short}
	if r, err := measured(l); err != nil || r.Messages != 20*l.Conns || r.Took < 19*short/20 {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestADeafSocketIsSoonFull: a server must notice it within the time of a row.
func TestADeafSocketIsSoonFull(t *testing.T) {
	s := start(t, new(server))
	l := Load{Kind: Broadcast, Addr: s.addr, Conns: 1, Size: 125, Deaf: true, Time: short}
	p, err := l.open(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	s.mu.Lock()
	nc := s.members[1]
	s.mu.Unlock()
	const most = 256 << 10
	part := make([]byte, 1<<10)
	for taken := 0; ; {
		if err := nc.SetWriteDeadline(time.Now().Add(short)); err != nil {
			t.Fatal(err)
		}
		n, err := nc.Write(part)
		taken += n
		if taken > most {
			t.Fatalf("it took %d bytes", taken)
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestIdleSocketsHaveOneMessage(t *testing.T) {
	s := start(t, new(server))
	p, err := Load{Kind: Idle, Addr: s.addr, Conns: 30, Size: 10, Warm: time.Hour, Time: short}.open(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conns != 30 || s.messages != 30 {
		t.Errorf("%d sockets, %d messages", s.conns, s.messages)
	}
}

func TestAPingOfTheServerIsAnswered(t *testing.T) {
	s := start(t, &server{answer: func(p []byte) []byte {
		return append(frameOf(finBit|opPing, []byte("are you there?")), frameOf(finBit|opBinary, p)...)
	}})
	r, err := measured(Load{Kind: Echo, Addr: s.addr, Conns: 1, Size: 10, Depth: 1, Time: short})
	s.mu.Lock()
	defer s.mu.Unlock()
	// the pong after the last message may not have arrived
	if err != nil || s.pongs < s.messages-1 || s.pongs == 0 {
		t.Errorf("%+v, %v; %d messages, %d pongs", r, err, s.messages, s.pongs)
	}
}

func TestWrongAnswersAreErrors(t *testing.T) {
	echo := func(p []byte) []byte { return frameOf(finBit|opBinary, p) }
	for name, s := range map[string]*server{
		"no switch":      {response: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"},
		"another accept": {response: "HTTP/1.1 101 Switching Protocols\r\nSec-WebSocket-Accept: tea\r\n\r\n"},
		"endless":        {response: "HTTP/1.1 101 " + strings.Repeat("x", 4000)},
		"wrong byte":     {answer: func(p []byte) []byte { p[9] ^= 1; return echo(p) }},
		"too short":      {answer: func(p []byte) []byte { return echo(p[:9]) }},
		"too long":       {answer: func(p []byte) []byte { return echo(append(p, 0)) }},
		"twice":          {answer: func(p []byte) []byte { return append(echo(p), echo(p)...) }},
		"text":           {answer: func(p []byte) []byte { return frameOf(finBit|1, p) }},
		"reserved bit":   {answer: func(p []byte) []byte { return frameOf(finBit|0x40|opBinary, p) }},
		"masked":         {answer: func(p []byte) []byte { return appendFrame(nil, finBit|opBinary, p, 7) }},
		"continuation":   {answer: func(p []byte) []byte { return frameOf(finBit|opContinuation, p) }},
		"long header":    {answer: func(p []byte) []byte { return append([]byte{finBit | opBinary, 126, 0, byte(len(p))}, p...) }},
		"huge":           {answer: func([]byte) []byte { return []byte{finBit | opBinary, 127, 255, 255, 255, 255, 255, 255, 255, 255} }},
		"close":          {answer: func([]byte) []byte { return frameOf(finBit|opClose, []byte("\x03\xe9bye")) }},
		"end":            {answer: func([]byte) []byte { return nil }},
		"other pong":     {pong: func([]byte) []byte { return frameOf(finBit|opPong, []byte("other")) }},
		"pong twice": {pong: func(p []byte) []byte {
			return append(frameOf(finBit|opPong, p), frameOf(finBit|opPong, p)...)
		}},
		"long pong": {pong: func([]byte) []byte { return frameOf(finBit|opPong, make([]byte, 126)) }},
	} {
		start(t, s)
		l := Load{Kind: Echo, Addr: s.addr, Conns: 2, Size: 10, Depth: 1, Ping: s.pong != nil, Time: short}
		if r, err := measured(l); err == nil {
			t.Errorf("%s: %+v", name, r)
		} else if name == "close" && (!errors.Is(err, errClosed) || !strings.Contains(err.Error(), `1001 "bye"`)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestALoadIsAProcess(t *testing.T) {
	s := start(t, new(server))
	l := Load{Kind: Echo, Addr: s.addr, Conns: 4, Size: 125, Depth: 1, Warm: short / 2, Time: short}
	sockets, err := Start(t.Context(), rig.Anywhere, l)
	if err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	warm := s.messages
	s.mu.Unlock()
	r, err := sockets.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	if warm < 4 || r.Messages != s.messages-warm {
		t.Errorf("%+v; %d messages, %d of them before", r, s.messages, warm)
	}
	s.mu.Unlock()
	if err := sockets.Stop(); err != nil {
		t.Error(err)
	}
	for range l.Conns {
		select {
		case <-s.ended:
		case <-time.After(patience):
			t.Fatal("the sockets are still open")
		}
	}
}

func TestALoadEndsWithItsContext(t *testing.T) {
	hold := make(chan struct{})
	s := start(t, &server{answer: func(p []byte) []byte { <-hold; return nil }})
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error)
	go func() {
		_, err := Start(ctx, rig.Anywhere, Load{Kind: Echo, Addr: s.addr, Conns: 1, Size: 1, Depth: 1, Time: time.Hour})
		failed <- err
	}()
	cancel()
	select {
	case err := <-failed:
		if err == nil {
			t.Error("it is open")
		}
	case <-time.After(patience):
		t.Error("it waits")
	}
	close(hold)
}

func TestLoadsThatCannotBeAreErrors(t *testing.T) {
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	good := Load{Kind: Echo, Addr: ln.Addr().String(), Conns: 1, Size: 1, Depth: 1, Time: short}
	if err := good.valid(); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Load){
		"no kind":              func(l *Load) { l.Kind = "tea" },
		"no sockets":           func(l *Load) { l.Conns = 0 },
		"no size":              func(l *Load) { l.Size = 0 },
		"no depth":             func(l *Load) { l.Depth = 0 },
		"no time":              func(l *Load) { l.Time = 0 },
		"echo at a rate":       func(l *Load) { l.Rate = 5 },
		"deaf echo":            func(l *Load) { l.Deaf = true },
		"broadcast with pings": func(l *Load) { l.Kind, l.Ping = Broadcast, true },
		"bytes in flight":      func(l *Load) { l.Bytes, l.Depth = true, 2 },
		"idle fragments":       func(l *Load) { l.Kind, l.Fragments = Idle, true },
		"echo over TLS":        func(l *Load) { l.TLS = true },
		"nowhere":              func(l *Load) { l.Addr = "nowhere" },
		"IPv6":                 func(l *Load) { l.Addr = "[::1]:80" },
	} {
		l := good
		change(&l)
		if _, err := Start(t.Context(), rig.Anywhere, l); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
