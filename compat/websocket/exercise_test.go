package websocket

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// sizes of messages: around the limits of the three forms of a length.
var sizes = []int{0, 1, 125, 126, 65535, 65536, largest}

// dialer opens a link with a library.
type dialer func(t *testing.T, url string, o options) (link, error)

// exercise lets a client and a server do all that service describes. url is the URL of the server,
// without a path.
func exercise(t *testing.T, dial dialer, url string, o options) {
	open := func(path string, protos ...string) link {
		t.Helper()
		o := o
		o.protos = protos
		l, err := dial(t, url+path, o)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		return l
	}
	exerciseEcho(t, open)
	exercisePings(t, open)
	exerciseClosing(t, open)
	exerciseSubprotocols(t, open)
}

// talk sends a message and expects an answer with the same content.
func talk(t *testing.T, l link, kind int, parts ...[]byte) {
	t.Helper()
	if err := l.write(kind, parts...); err != nil {
		t.Fatalf("writing %d parts: %v", len(parts), err)
	}
	expect(t, l, kind, bytes.Join(parts, nil))
}

func expect(t *testing.T, l link, kind int, want []byte) {
	t.Helper()
	got, p, err := l.read()
	if err != nil {
		t.Fatalf("reading %d bytes: %v", len(want), err)
	}
	if got != kind || !bytes.Equal(p, want) {
		t.Fatalf("got kind %d with %d bytes %.40q, want kind %d with %d bytes %.40q", got, len(p), p, kind, len(want), want)
	}
}

func exerciseEcho(t *testing.T, open func(path string, protos ...string) link) {
	l, parts := open("/echo"), open("/parts")
	for _, kind := range []int{opText, opBinary} {
		for _, size := range sizes {
			p := payload(size)
			if kind == opBinary {
				for i := range p {
					p[i] ^= 0xff
				}
			}
			talk(t, l, kind, p)
			talk(t, parts, kind, p)
			talk(t, l, kind, p[:size/3], p[size/3:size/2], nil, p[size/2:])
		}
	}
	// many messages are on their way at once
	for i := range 50 {
		if err := l.write(opText, payload(i*7)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 50 {
		expect(t, l, opText, payload(i*7))
	}
}

func exercisePings(t *testing.T, open func(path string, protos ...string) link) {
	l, pinged := open("/echo"), open("/ping")
	for _, size := range []int{0, 1, 125} {
		if err := l.ping(string(payload(size))); err != nil {
			t.Fatalf("a ping with %d bytes: %v", size, err)
		}
		talk(t, l, opText, []byte("between pings"))
		if err := pinged.write(opText, payload(size)); err != nil {
			t.Fatal(err)
		}
		expect(t, pinged, opText, []byte("ponged"))
	}
}

// closings are codes and reasons of Close frames.
var closings = []closedError{{1000, ""}, {1001, "away"}, {1008, "policy ä"}, {1011, ""}, {3000, "r"}, {4999, strings.Repeat("x", 123)}}

func exerciseClosing(t *testing.T, open func(path string, protos ...string) link) {
	for i, want := range closings {
		id := fmt.Sprintf("/echo?id=%p-%d", t, i)
		l := open(id)
		talk(t, l, opText, []byte("before the end"))
		if err := l.close(want.code, want.reason); err != nil {
			t.Fatalf("closing with %v: %v", want, err)
		}
		seen := open(strings.Replace(id, "/echo", "/seen", 1))
		note := strings.TrimSuffix(fmt.Sprintf("%d %s", want.code, want.reason), " ")
		expect(t, seen, opText, []byte(note))
		_ = seen.close(1000, "")

		l = open("/close")
		if err := l.write(opText, []byte(note)); err != nil {
			t.Fatal(err)
		}
		_, _, err := l.read()
		if got, ok := err.(*closedError); !ok || *got != want {
			t.Fatalf("closed with %v, want %v", err, want)
		}
	}
}

func exerciseSubprotocols(t *testing.T, open func(path string, protos ...string) link) {
	for _, test := range []struct {
		want   string
		protos []string
	}{{"", nil}, {"chat.v1", []string{"chat.v1"}}, {"chat.v2", []string{"other", "chat.v2"}}} {
		l := open("/echo", test.protos...)
		if got := l.subprotocol(); got != test.want {
			t.Errorf("%q: the subprotocol is %q, want %q", test.protos, got, test.want)
		}
		talk(t, l, opText, []byte("spoken"))
	}
}

// checkTraffic checks by the bytes between client and server that messages are compressed, or
// are not.
func checkTraffic(t *testing.T, tp *tap, compress bool) {
	t.Helper()
	const messages = 8 * largest // exercise sends about this much in both directions
	sent, received := tp.sent.Load(), tp.received.Load()
	if compress != (sent < messages/4) || compress != (received < messages/4) {
		t.Errorf("compression is %t, and the client has sent %d bytes and received %d", compress, sent, received)
	}
}
