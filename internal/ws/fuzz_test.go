package ws

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"
)

// FuzzFeed passes the bytes of a peer to a connection, at once, one by one and in pieces
// of another size: the outcome must be the same as in the model.
func FuzzFeed(f *testing.F) {
	for _, r := range []Role{Server, Client} {
		for i, all := range [][]rule{rules(r), maskRules[r], compressedRules(r)} {
			for _, rule := range all {
				f.Add(rule.in.b, uint8(r)|uint8(i&2), uint16(2))
			}
		}
		f.Add(to(r).frame(fBinary, string(make([]byte, 200))).frame(fText, "a").b, uint8(r)|4, uint16(63))
		f.Add(to(r).head(fBinary, 8, 1<<40).raw(1, 2, 3).b, uint8(r)|4, uint16(5))
	}
	f.Fuzz(func(t *testing.T, in []byte, mode uint8, step uint16) {
		if len(in) > 1<<16 {
			return
		}
		s := setup{role: Role(mode & 1), ext: Extensions{Compression: mode&2 != 0}, limits: small}
		if mode&4 != 0 {
			s.limits = Limits{Message: -1, Fragments: -1, Empty: -1}
		}
		want := s.model(in)
		for _, step := range []int{len(in) + 1, 1, int(step) + 1} {
			got := s.feed(t, in, step)
			if !slices.Equal(got.events, want.events) || got.err != want.err {
				t.Fatalf("%d bytes at a time: %v, want %v", step, got, want)
			}
			if want.err == nil && !bytes.Equal(got.part, want.part) {
				t.Fatalf("%d bytes at a time: the unfinished message is %q, want %q", step, got.part, want.part)
			}
		}
	})
}

// FuzzMessages sends messages in fragments with pings between them. The other side must
// receive the same messages.
func FuzzMessages(f *testing.F) {
	f.Add([]byte("hello world, this is a message"), []byte{3, 200, 0, 9, 77}, uint8(0), uint16(3))
	f.Add(bytes.Repeat([]byte("日本語"), 100), []byte{0, 64, 65, 1, 2}, uint8(1), uint16(100))
	f.Add(make([]byte, 70000), []byte{255, 255, 255}, uint8(2), uint16(1000))
	f.Add([]byte{}, []byte{128, 0, 128}, uint8(7), uint16(0))
	f.Add([]byte{}, make([]byte, DefaultEmpty+1), uint8(0), uint16(0))
	f.Fuzz(func(t *testing.T, data, plan []byte, mode uint8, step uint16) {
		if len(data) > 1<<17 || len(plan) > 1000 {
			return
		}
		role := Role(mode & 1)
		sender, receiver := open(1-role, Extensions{Compression: true}), new(Conn)
		limits := Limits{Empty: -1} // a plan may consist of them
		limits.Fill()
		receiver.Init(role, &limits, Extensions{Compression: true})
		var out []byte
		var want []string
		send := func(h Head, p []byte) {
			h.Key = binary.LittleEndian.Uint32(append(slices.Clone(plan), 1, 2, 3, 4)) * uint32(len(out)+1)
			var err error
			if out, err = sender.Send(out, h, p); err != nil {
				t.Fatal(err)
			}
		}
		h := Head{Opcode: Binary, RSV1: mode&2 != 0}
		all := data
		for i, b := range plan {
			if b%5 == 0 {
				ping := data[:min(len(data), int(b)/2, MaxControl)]
				send(Head{Opcode: Ping, Fin: true}, ping)
				want = append(want, showControl(Ping, 0, ping))
			}
			size := min(len(data), int(b)*(i+1))
			send(h, data[:size])
			data, h = data[size:], Head{}
		}
		if h.Fin = true; len(plan) == 0 && mode&8 != 0 {
			h.Opcode = Binary
		}
		send(h, data)
		want = append(want, showMessage(Binary, mode&2 != 0, all))
		var err error
		if out, err = sender.SendClose(out, GoingAway, "bye", key); err != nil {
			t.Fatal(err)
		}
		want = append(want, closing(GoingAway, "bye"))
		got := assemble(t, receiver, out, int(step)+1)
		if !slices.Equal(got, want) {
			t.Fatalf("%.200q, want %.200q", got, want)
		}
		if receiver.Phase() != CloseReceived || sender.Phase() != CloseSent {
			t.Errorf("phases %d and %d", receiver.Phase(), sender.Phase())
		}
	})
}

// assemble receives all of in with an Assembler. Messages arrive in its room if it has
// any.
func assemble(t *testing.T, c *Conn, in []byte, step int) (all []string) {
	a := Assembler{Limit: -1}
	defer a.Release()
	buffer := make([]byte, 0, MaxNeeded+step)
	for len(in) > 0 || len(buffer) > 0 {
		b := buffer
		if len(buffer) == 0 && c.Left() > 0 {
			b = a.ReadBuffer(c.Left())
			b = b[:copy(b[:min(step, len(b))], in)]
			in = in[len(b):]
		} else {
			n := min(step, len(in))
			buffer = append(buffer, in[:n]...)
			b, in = buffer, in[n:]
			buffer = buffer[:0]
		}
		for {
			n, ev, err := feed(c, b)
			if err != nil {
				t.Fatal(err)
			}
			b = b[n:]
			if ev.Opcode == Continuation {
				break
			}
			if ev.Opcode.IsControl() {
				all = append(all, showControl(ev.Opcode, ev.Code, ev.Payload))
				continue
			}
			m, err := a.Add(&ev)
			if err != nil {
				t.Fatal(err)
			}
			if ev.End {
				all = append(all, showMessage(ev.Opcode, ev.Compressed, m))
				a.Release()
			}
		}
		buffer = append(buffer, b...)
		if len(in) == 0 && len(b) > 0 {
			t.Fatalf("%d bytes are left of whole frames", len(b))
		}
	}
	return all
}

// FuzzClose creates payloads of Close frames, and parses arbitrary ones.
func FuzzClose(f *testing.F) {
	f.Add([]byte("\x03\xe8bye"))
	f.Add([]byte("\x03\xed"))
	f.Add([]byte("\x13\x87\xff"))
	f.Add([]byte("\x01"))
	f.Add(bytes.Repeat([]byte("\x0b\xb8"), 70))
	f.Fuzz(func(t *testing.T, p []byte) {
		code, reason, e := parseClose(p)
		want, err := modelClose(p)
		if (e != nil) != (err != nil) || e != nil && error(e) != err || e == nil && showControl(Close, code, reason) != want {
			t.Fatalf("%q: %d, %q, %v, want %q, %v", p, code, reason, e, want, err)
		}
		if e == nil {
			written, err := AppendClose(nil, code, string(reason))
			if (err == nil) != (len(p) <= MaxControl) || err == nil && !bytes.Equal(written, p) {
				t.Errorf("%q is written as %q, %v", p, written, err)
			}
		}
	})
}
