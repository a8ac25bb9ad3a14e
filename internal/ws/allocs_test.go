//go:build !race

package ws

import (
	"strings"
	"testing"
)

// Under the race detector, pools drop some of the objects put into them.
func TestMessagesDoNotAllocate(t *testing.T) {
	text := zeroKey(zeroKey(nil, Ping, "ping"), Text, strings.Repeat("日本語 text ", 100))
	large := to(Server).frame(fBinary, strings.Repeat("a", 64<<10)).b
	var out []byte
	server, client := open(Server, Extensions{}), open(Client, Extensions{})
	prepared := Prepare(Head{Opcode: Text, Fin: true}, []byte("for all"))
	payload := []byte(strings.Repeat("a", 125))
	accept := []byte("dGhlIHNhbXBsZSBub25jZQ==")
	field := []byte("permessage-deflate; client_max_window_bits; server_max_window_bits=10, permessage-deflate")
	send := func(c *Conn) {
		out = out[:0]
		for _, h := range []Head{{Opcode: Text, Fin: true, Key: key}, {Opcode: Binary, Key: key}, {Opcode: Pong, Fin: true, Key: key}, {Fin: true, Key: key}} {
			var err error
			if out, err = c.Send(out, h, payload); err != nil {
				t.Fatal(err)
			}
		}
		out, _ = c.SendPrepared(out, prepared, key)
		fresh := *c
		out, _ = fresh.SendClose(out, GoingAway, "the server goes away", key)
		if fresh.Phase() != CloseSent {
			t.Fatal(fresh.Phase())
		}
	}
	for _, tt := range []struct {
		name string
		f    func()
	}{
		{"frames of 125 bytes", receive(t, newReceiver(Server, smallFrames(), 1<<20))},
		{"text in one part", receive(t, newReceiver(Server, text, 1<<20))},
		{"64 KiB in parts", receive(t, newReceiver(Server, large, 4096))},
		{"frames of a server", func() { send(server) }},
		{"frames of a client", func() { send(client) }},
		{"the answer to a key", func() {
			var room [AcceptSize]byte
			if !IsKey(accept) || !Accepts(AppendAccept(room[:0], accept), accept) {
				t.Fatal("not accepted")
			}
		}},
		{"offers", func() {
			var room [maxOffers]Deflate
			offers, err := ParseOffers(room[:0], field)
			if err != nil || len(offers) != 2 {
				t.Fatal(len(offers), err)
			}
			answer, _ := Terms{}.Answer(offers[0])
			if out = AppendDeflate(out[:0], answer); len(out) < 20 {
				t.Fatalf("%q", out)
			}
			if _, ok, err := ParseAnswer(out, offers[0]); !ok || err != nil {
				t.Fatal(err)
			}
		}},
		{"a fault", func() {
			c := *server
			var ev Event
			if _, err := c.Feed(field, &ev); err == nil {
				t.Fatal("no error")
			}
			out, _ = c.SendClose(out[:0], faults[c.fault].Code, faults[c.fault].Error(), 0)
		}},
	} {
		if n := testing.AllocsPerRun(200, tt.f); n != 0 {
			t.Errorf("%s: %v allocations", tt.name, n)
		}
	}
}

func receive(t *testing.T, x *receiver) func() {
	return func() {
		before := x.bytes
		x.next(t)
		if x.bytes == before {
			t.Fatal("no message")
		}
	}
}
