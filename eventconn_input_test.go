package fasthttp

import (
	"bytes"
	"testing"

	"github.com/valyala/fasthttp/internal/engine"
)

// swallows is an EventHandler that consumes received bytes except for the last ones.
type swallows struct {
	lastWords
	leaves int
	got    []int // the sizes of the arrivals
}

func (h *swallows) Opened(*EventConn) {}
func (h *swallows) Received(_ *EventConn, p []byte) (n int) {
	h.got = append(h.got, len(p))
	return max(len(p)-h.leaves, 0)
}

// drivenSwitched returns an EventConn that no engine drives, after Opened.
func drivenSwitched(t *testing.T, h EventHandler, c *EventConn, keepsSpace bool) *switchedConn {
	s := &Server{}
	s.prepare()
	c.link, c.handler = noEngine{state: &engine.Conn{Set: &s.conns, Service: s.conns.Service(), HasReadGoroutine: keepsSpace}}, h
	p := (*switchedConn)(c)
	if got := p.Step(); got != engine.Read {
		t.Fatalf("the first step is %d", got)
	}
	p.Work()
	return p
}

// arrive has n bytes arrive, in as few reads as there is room for, and returns their number.
func (p *switchedConn) arrive(t *testing.T, n int) (reads int) {
	t.Helper()
	for ; n > 0; reads++ {
		if got := p.Step(); got != engine.Read {
			t.Fatalf("the step is %d, and %d bytes have not been read", got, n)
		}
		k := min(len(p.ReadBuffer()), n)
		p.Received(k, engine.Arrival{})
		n -= k
		p.Wait(engine.WaitInput)
		p.Work()
	}
	return reads
}

// A connection whose input has filled a buffer reads 64 KiB, with the head of a frame, at once
// from then on, until little arrives again. It has no buffer in between.
func TestEventConnReadsMuchAtOnce(t *testing.T) {
	const frame = 64<<10 + 14
	h := &swallows{}
	p := drivenSwitched(t, h, &h.conn, false)
	usual := h.conn.usualReadSize()
	for i, tt := range []struct{ size, reads int }{
		{125, 1}, {frame, 2}, {frame, 1}, {frame, 1}, {usual + 1, 1}, {frame, 1}, {125, 1}, {usual + 1, 2},
	} {
		if reads := p.arrive(t, tt.size); reads != tt.reads {
			t.Errorf("%d: %d bytes were read with %d reads, want %d", i, tt.size, reads, tt.reads)
		}
		if h.conn.flow != nil {
			t.Errorf("%d: a connection that waits has a buffer", i)
		}
	}
	p.arrive(t, 100)
	if size := len(p.ReadBuffer()); size >= 2*usual {
		t.Errorf("a connection to which little arrives has room for %d bytes", size)
	}
}

// If a goroutine holds the buffer while it waits, the buffer is small.
func TestEventConnWaitsWithASmallBuffer(t *testing.T) {
	h := &swallows{}
	p := drivenSwitched(t, h, &h.conn, true)
	usual := h.conn.usualReadSize()
	for range 2 {
		p.arrive(t, 60000)
		if got := p.Step(); got != engine.Read {
			t.Fatalf("the step is %d", got)
		}
		if size := len(p.ReadBuffer()); size >= 2*usual {
			t.Errorf("there is room for %d bytes", size)
		}
		p.Received(1, engine.Arrival{})
	}
}

// The beginning of a message that waits for its rest after much other input does not hold the
// buffer of that.
func TestEventConnHoldsARestInASmallBuffer(t *testing.T) {
	for _, leaves := range []int{1, 14, 139, 5000, 20000} {
		h := &swallows{leaves: leaves}
		p := drivenSwitched(t, h, &h.conn, false)
		usual := h.conn.usualReadSize()
		for range 3 {
			p.arrive(t, 60000)
			if rest := len(h.conn.pending()); rest != leaves {
				t.Fatalf("%d bytes wait, want %d", rest, leaves)
			}
			if size, most := cap(h.conn.flow.in.B), 4*max(usual, leaves+minSpace); size >= most {
				t.Errorf("%d bytes are held in %d", leaves, size)
			}
		}
	}
}

// The moved bytes stay the same.
func TestEventConnKeepsTheOrderOfARest(t *testing.T) {
	h := &ordered{}
	p := drivenSwitched(t, h, &h.conn, false)
	next := byte(0)
	for _, n := range []int{100, 5000, 70000, 70000, 3, 70000, 4096, 1, 66560, 65536} {
		for n > 0 {
			if got := p.Step(); got != engine.Read {
				t.Fatalf("the step is %d", got)
			}
			room := p.ReadBuffer()
			room = room[:min(len(room), n)]
			for i := range room {
				room[i] = next
				next++
			}
			p.Received(len(room), engine.Arrival{})
			n -= len(room)
			p.Wait(engine.WaitInput)
			p.Work()
		}
	}
	if h.wrong {
		t.Error("bytes have changed their places")
	}
}

// ordered is an EventHandler that consumes bytes in groups of 100, each of which is one more than
// the one before it.
type ordered struct {
	lastWords
	next  byte
	wrong bool
}

func (h *ordered) Opened(*EventConn) {}
func (h *ordered) Received(_ *EventConn, p []byte) (n int) {
	for ; len(p)-n >= 100; n += 100 {
		for _, b := range p[n : n+100] {
			h.wrong = h.wrong || b != h.next
			h.next++
		}
	}
	return n
}

// A handler that consumes none of 64 KiB ends the connection, however much the buffer holds.
func TestEventConnLimitsInputThatWaitsForItsHandler(t *testing.T) {
	for _, keepsSpace := range []bool{false, true} {
		h := &swallows{}
		p := drivenSwitched(t, h, &h.conn, keepsSpace)
		p.arrive(t, 70000)
		h.leaves = 1 << 20
		arrived, most := 0, 0
		for h.conn.err() == nil {
			if p.Step() != engine.Read {
				break
			}
			n := min(len(p.ReadBuffer()), 8<<10)
			p.Received(n, engine.Arrival{})
			arrived += n
			most = max(most, arrived)
			p.Wait(engine.WaitInput)
			p.Work()
		}
		if h.conn.err() != ErrInputNotConsumed {
			t.Errorf("the error is %v", h.conn.err())
		}
		if most < maxEventInput || most > maxEventInput+8<<10 {
			t.Errorf("it has ended after %d bytes", most)
		}
	}
}

// Output of 64 KiB is written at once with its head, unless the write waits for a peer that may be
// slow, and larger output in parts.
func TestEventConnWritesAHeadWith64KiB(t *testing.T) {
	for _, tt := range []struct {
		size   int
		waits  bool
		writes int
	}{
		{100, false, 1}, {64<<10 + 10, false, 1}, {128<<10 + 10, false, 2}, {1 << 20, false, 16},
		{100, true, 1}, {64<<10 + 10, true, 2}, {1 << 20, true, 16},
	} {
		h := &swallows{}
		p := drivenSwitched(t, h, &h.conn, tt.waits)
		want := bytes.Repeat([]byte("0123456789"), tt.size/10+1)[:tt.size]
		if err := h.conn.Append(want[:10], want[10:]); err != nil {
			t.Fatal(err)
		}
		var got []byte
		writes := 0
		for ; h.conn.hasOutput(); writes++ {
			head, tail, _ := p.Output()
			got = append(append(got, head...), tail...)
			p.Written(int64(len(head)+len(tail)), nil)
		}
		if !bytes.Equal(got, want) || writes != tt.writes {
			t.Errorf("%d bytes were written with %d writes, want %d with %d", len(got), writes, len(want), tt.writes)
		}
	}
}
