package ws

import (
	"bytes"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func open(r Role, e Extensions) *Conn {
	l := &Limits{}
	l.Fill()
	c := new(Conn)
	c.Init(r, l, e)
	return c
}

func TestFramesThatAreSent(t *testing.T) {
	for _, tt := range []struct {
		name string
		h    Head
		p    string
		want string
	}{
		{"text", Head{Opcode: Text, Fin: true}, "Hello", "\x81\x05Hello"},
		{"first fragment", Head{Opcode: Binary}, "a", "\x02\x01a"},
		{"ping", Head{Opcode: Ping, Fin: true}, "", "\x89\x00"},
		{"126 bytes", Head{Opcode: Binary, Fin: true}, strings.Repeat("a", 126), "\x82\x7e\x00\x7e" + strings.Repeat("a", 126)},
		{"65,536 bytes", Head{Opcode: Binary, Fin: true}, strings.Repeat("a", 65536), "\x82\x7f\x00\x00\x00\x00\x00\x01\x00\x00" + strings.Repeat("a", 65536)},
		{"compressed", Head{Opcode: Text, Fin: true, RSV1: true}, "a", "\xc1\x01a"},
		{"close", Head{Opcode: Close, Fin: true}, "\x03\xe8", "\x88\x02\x03\xe8"},
	} {
		before := "before"
		out, err := open(Server, Extensions{Compression: true}).Send([]byte(before), tt.h, []byte(tt.p))
		if err != nil || string(out) != before+tt.want {
			t.Errorf("%s: %.40q, %v, want %.40q", tt.name, out, err, before+tt.want)
		}
		// the server decides by its role, not by the head
		tt.h.Key, tt.h.Masked = 0x3d21fa37, true
		if out, err = open(Server, Extensions{Compression: true}).Send(nil, tt.h, []byte(tt.p)); err != nil || string(out) != tt.want {
			t.Errorf("%s with a key: %.40q, %v, want %.40q", tt.name, out, err, tt.want)
		}
		tt.h.Masked = false
		payload := []byte(tt.p)
		out, err = open(Client, Extensions{Compression: true}).Send(nil, tt.h, payload)
		masked := []byte(tt.p)
		for i := range masked {
			masked[i] ^= "\x37\xfa\x21\x3d"[i%4]
		}
		head := len(tt.want) - len(tt.p)
		want := string(slices.Concat([]byte(tt.want[:1]), []byte{tt.want[1] | 0x80}, []byte(tt.want[2:head]), []byte("\x37\xfa\x21\x3d"), masked))
		if err != nil || string(out) != want {
			t.Errorf("%s of a client: %.40q, %v, want %.40q", tt.name, out, err, want)
		}
		if string(payload) != tt.p {
			t.Errorf("%s of a client: Send masks what it was passed", tt.name)
		}
	}
}

func TestFramesThatMustNotBeSent(t *testing.T) {
	fin := func(o Opcode) Head { return Head{Opcode: o, Fin: true} }
	compressed := func(h Head) Head { h.RSV1 = true; return h }
	type frame struct {
		h   Head
		p   string
		err error
	}
	for _, tt := range []struct {
		name string
		ext  Extensions
		all  []frame
	}{
		{"fragments in order", Extensions{}, []frame{{Head{Opcode: Text}, "a", nil}, {fin(Ping), "", nil}, {Head{}, "b", nil}, {fin(0), "c", nil}, {fin(Binary), "", nil}}},
		{"nothing to continue", Extensions{}, []frame{{Head{}, "a", ErrSendOrder}, {fin(0), "a", ErrSendOrder}, {fin(Text), "", nil}, {fin(0), "", ErrSendOrder}}},
		{"a message in another", Extensions{}, []frame{{Head{Opcode: Text}, "a", nil}, {fin(Binary), "", ErrSendOrder}, {Head{Opcode: Text}, "", ErrSendOrder}, {fin(0), "", nil}, {fin(0), "", ErrSendOrder}}},
		{"control frames", Extensions{}, []frame{{Head{Opcode: Ping}, "", ErrSendFrame}, {fin(Pong), strings.Repeat("a", 126), ErrSendFrame}, {fin(Pong), strings.Repeat("a", 125), nil}}},
		{"opcodes", Extensions{Compression: true}, []frame{{fin(3), "", ErrSendFrame}, {fin(7), "", ErrSendFrame}, {fin(11), "", ErrSendFrame}, {fin(16), "", ErrSendFrame}, {fin(0x81), "", ErrSendFrame}}},
		{"RSV1 without extension", Extensions{}, []frame{{compressed(fin(Text)), "", ErrSendFrame}, {fin(Text), "", nil}}},
		{"RSV1", Extensions{Compression: true}, []frame{{compressed(fin(Ping)), "", ErrSendFrame}, {compressed(Head{Opcode: Text}), "", nil}, {compressed(fin(0)), "", ErrSendFrame}, {fin(0), "", nil}, {compressed(fin(Close)), "", ErrSendFrame}}},
		{"close", Extensions{}, []frame{
			{fin(Close), "\x03", ErrSendCode}, {fin(Close), closeBody(1005, ""), ErrSendCode}, {fin(Close), closeBody(1000, "\xff"), ErrSendReason},
			{fin(Close), closeBody(1000, strings.Repeat("a", 124)), ErrSendFrame}, {Head{Opcode: Close}, "", ErrSendFrame}, {fin(Close), "", nil}, {fin(Close), "", ErrClosing},
		}},
		{"close in a message", Extensions{}, []frame{{Head{Opcode: Text}, "a", nil}, {fin(Close), "", nil}, {fin(0), "", ErrClosing}}},
	} {
		for _, r := range []Role{Server, Client} {
			c := open(r, tt.ext)
			for i, f := range tt.all {
				before := *c
				if out, err := c.Send(nil, f.h, []byte(f.p)); err != f.err || (err == nil) != (len(out) > 0) {
					t.Errorf("%s, frame %d: %q, %v, want %v", tt.name, i, out, err, f.err)
				}
				if f.err != nil && *c != before {
					t.Errorf("%s, frame %d: what was refused changes the connection", tt.name, i)
				}
			}
		}
	}
}

func TestCloseFramesThatAreSent(t *testing.T) {
	long := strings.Repeat("a", MaxReason)
	for _, tt := range []struct {
		code   Code
		reason string
		want   string
		err    error
	}{
		{1000, "", "\x88\x02\x03\xe8", nil},
		{1001, "日", "\x88\x05\x03\xe9日", nil},
		{4999, long, "\x88\x7d\x13\x87" + long, nil},
		{1005, "", "\x88\x00", nil},
		{1005, "a", "", ErrSendCode},
		{1006, "", "", ErrSendCode},
		{1015, "", "", ErrSendCode},
		{0, "", "", ErrSendCode},
		{2999, "", "", ErrSendCode},
		{5000, "", "", ErrSendCode},
		{1000, long + "a", "", ErrSendReason},
		{1000, "\xff", "", ErrSendReason},
	} {
		c := open(Server, Extensions{})
		out, err := c.SendClose(nil, tt.code, tt.reason, 0)
		if string(out) != tt.want || err != tt.err || (err == nil) != (c.Phase() == CloseSent) {
			t.Errorf("%d, %q: %q, %v, want %q, %v", tt.code, tt.reason, out, err, tt.want, tt.err)
		}
		c = open(Client, Extensions{})
		out, err = c.SendClose(nil, tt.code, tt.reason, key)
		if err != tt.err {
			t.Errorf("%d of a client: %v", tt.code, err)
		}
		if err != nil {
			continue
		}
		if o := (setup{role: Server}).feed(t, out, 1000); !slices.Equal(o.events, events(closing(tt.code, tt.reason))) {
			t.Errorf("%d, %q: a server gets %v", tt.code, tt.reason, o)
		}
	}
}

func TestPreparedFrames(t *testing.T) {
	payload := []byte("for all")
	h := Head{Opcode: Binary, Fin: true, Masked: true, Key: 7}
	p := Prepare(h, payload)
	payload[0] = 'F'
	if string(p.Payload()) != "for all" || string(p.Frame()) != "\x82\x07for all" {
		t.Errorf("%q, %q", p.Payload(), p.Frame())
	}
	server, client := open(Server, Extensions{}), open(Client, Extensions{})
	if out, err := server.SendPrepared([]byte("x"), p, key); err != nil || string(out) != "x"+string(p.Frame()) {
		t.Errorf("a server sends %q, %v", out, err)
	}
	for _, k := range []uint32{key, 1} {
		want := AppendFrame(nil, Head{Opcode: Binary, Fin: true, Masked: true, Key: k}, []byte("for all"))
		if out, err := client.SendPrepared(nil, p, k); err != nil || !bytes.Equal(out, want) {
			t.Errorf("a client sends %q, %v, want %q", out, err, want)
		}
	}
	if err := server.Admit(p.Head(), p.Payload()); err != nil {
		t.Error(err)
	}
	for _, c := range []*Conn{server, client} {
		if _, err := c.Send(nil, Head{Opcode: Text}, nil); err != nil {
			t.Fatal(err)
		}
		if out, err := c.SendPrepared(nil, p, key); err != ErrSendOrder || out != nil {
			t.Errorf("in a message: %q, %v", out, err)
		}
	}
}

// The cost of an idle connection.
func TestConnectionsAreSmall(t *testing.T) {
	if size := reflect.TypeFor[Conn]().Size(); size > 56 {
		t.Errorf("a Conn has %d bytes", size)
	}
}
