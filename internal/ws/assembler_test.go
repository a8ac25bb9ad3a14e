package ws

import (
	"bytes"
	"math"
	"strings"
	"testing"
)

func TestMessagesAreAssembled(t *testing.T) {
	a := Assembler{Limit: 10}
	add := func(p string, end bool) (string, error) {
		t.Helper()
		m, err := a.Add(&Event{Opcode: Text, End: end, Payload: []byte(p)})
		if !end && m != nil {
			t.Errorf("%q is returned before the end", m)
		}
		return string(m), err
	}
	for _, tt := range []struct {
		parts []string
		want  string
		err   error
	}{
		{[]string{"0123456789"}, "0123456789", nil},
		{[]string{"01234", "56789"}, "0123456789", nil},
		{[]string{"", "0", "", ""}, "0", nil},
		{[]string{"", ""}, "", nil},
		{[]string{""}, "", nil},
		{[]string{"0123456789a"}, "", ErrMessageSize},
		{[]string{"01234", "56789a"}, "", ErrMessageSize},
		{[]string{"0123456789", "a", ""}, "", ErrMessageSize},
	} {
		for range 2 {
			var got string
			var err error
			for i, p := range tt.parts {
				if got, err = add(p, i == len(tt.parts)-1); err != nil {
					break
				}
			}
			if got != tt.want || err != tt.err {
				t.Errorf("%q: %q, %v, want %q, %v", tt.parts, got, err, tt.want, tt.err)
			}
			if err != nil {
				a.Release()
			}
		}
		a.Release()
		if a.Held() != 0 || a.Bytes() != nil {
			t.Errorf("%q: %d bytes are held after Release", tt.parts, a.Held())
		}
	}
}

func TestMessageInOnePartIsNotCopied(t *testing.T) {
	a := Assembler{Limit: 10}
	p := []byte("in place")
	if m, err := a.Add(&Event{End: true, Payload: p}); err != nil || &m[0] != &p[0] || len(m) != len(p) || a.Held() != 0 {
		t.Errorf("%q, %v", m, err)
	}
}

// A caller that decompresses messages has no events.
func TestUnpackedMessagesAreLimited(t *testing.T) {
	a := Assembler{Limit: 1000}
	n := 0
	for a.Append(make([]byte, 64)) == nil {
		n++
	}
	if n != 15 || len(a.Bytes()) != 15*64 {
		t.Errorf("%d times 64 bytes, %d in all", n, len(a.Bytes()))
	}
	if a.Release(); a.Append(make([]byte, 1000)) != nil || a.Append(nil) != nil || a.Append([]byte("a")) != ErrMessageSize {
		t.Error("the next message has another limit")
	}
	a.Release()
	a.Limit = -1
	if err := a.Append(make([]byte, 2000)); err != nil {
		t.Error(err)
	}
	a.Release()
}

// Memory grows with the bytes that have arrived, whatever length the head of a frame
// announces.
func TestMemoryIsTakenForWhatHasArrived(t *testing.T) {
	for _, direct := range []bool{false, true} {
		l := Limits{Message: -1}
		l.Fill()
		c := new(Conn)
		c.Init(Client, &l, Extensions{})
		a := Assembler{Limit: math.MaxInt64}
		if n, _, err := feed(c, to(Client).head(fBinary, 8, math.MaxInt64).b); n != 10 || err != nil || c.Left() != math.MaxInt64 {
			t.Fatalf("%d, %v, %d bytes are left", n, err, c.Left())
		}
		arrived := 0
		for arrived < 3<<20 {
			p := make([]byte, 1000)
			if direct {
				p = a.ReadBuffer(c.Left())
				if most := max(4<<10, 2*arrived); len(p) == 0 || len(p) > most {
					t.Fatalf("room for %d bytes after %d", len(p), arrived)
				}
				p = p[:min(1000, len(p))]
			}
			_, ev, err := feed(c, p)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := a.Add(&ev); err != nil {
				t.Fatal(err)
			}
			arrived += len(p)
			if len(a.Bytes()) != arrived || a.Held() > max(4<<10, 4*arrived) {
				t.Fatalf("direct %v: %d bytes are held for %d, %d arrived", direct, a.Held(), len(a.Bytes()), arrived)
			}
		}
		a.Release()
	}
}

// Bytes received in the room of the assembler become the message without a copy.
func TestPartsArriveInTheirPlace(t *testing.T) {
	for _, r := range []Role{Server, Client} {
		want := bytes.Repeat([]byte("0123456789abcdef"), 5000)
		in := to(r).frame(fText, string(want)).frame(fText, "next").b
		l := Limits{}
		l.Fill()
		c := new(Conn)
		c.Init(r, &l, Extensions{})
		a := Assembler{Limit: l.Message}
		first := in[:2000:2000]
		in = in[2000:]
		n, ev, err := feed(c, first)
		if n != len(first) || err != nil {
			t.Fatal(n, err)
		}
		if _, err := a.Add(&ev); err != nil {
			t.Fatal(err)
		}
		var m []byte
		reads := 0
		for c.Left() > 0 {
			room := a.ReadBuffer(c.Left())
			k := copy(room, in)
			in = in[k:]
			reads++
			if n, ev, err = feed(c, room[:k]); n != k || err != nil || &ev.Payload[0] != &room[0] {
				t.Fatal(n, ev, err)
			}
			if m, err = a.Add(&ev); err != nil {
				t.Fatal(err)
			}
			if held := a.Bytes(); &held[len(held)-1] != &room[k-1] {
				t.Fatal("a part was moved")
			}
		}
		if !bytes.Equal(m, want) || reads > 8 {
			t.Errorf("role %d: a message of %d bytes in %d reads", r, len(m), reads)
		}
		if room := a.ReadBuffer(c.Left()); room != nil {
			t.Errorf("room for %d bytes between messages", len(room))
		}
		n, ev, err = feed(c, in)
		if m, err2 := a.Add(&ev); n != len(in) || err != nil || err2 != nil || string(m) != "next" {
			t.Errorf("role %d: then %q, %v, %v", r, m, err, err2)
		}
		if a.Held() != 0 {
			t.Errorf("%d bytes are held", a.Held())
		}
	}
}

// A caller may ask for room and then receive the part elsewhere, such as in the buffer of the
// connection.
func TestRoomMayStayUnused(t *testing.T) {
	a := Assembler{Limit: 1 << 20}
	room := a.ReadBuffer(100)
	copy(room, "something else")
	if m, err := a.Add(&Event{End: true, Payload: []byte("elsewhere")}); err != nil || string(m) != "elsewhere" {
		t.Errorf("%q, %v", m, err)
	}
	// the message was returned: the room is for the next one
	copy(a.ReadBuffer(3), "abc")
	long := strings.Repeat("x", 5000)
	if _, err := a.Add(&Event{Payload: []byte(long)}); err != nil {
		t.Error(err)
	}
	if m, err := a.Add(&Event{End: true, Payload: []byte("y")}); err != nil || string(m) != long+"y" {
		t.Errorf("%d bytes, %v", len(m), err)
	}
	a.Release()
}
