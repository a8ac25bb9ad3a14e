package wsload

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"
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
