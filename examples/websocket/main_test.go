package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp/fasthttptest"
	"github.com/valyala/fasthttp/internal/servertest"
	"github.com/valyala/fasthttp/websocket"
)

// program is the server of a test.
var program servertest.Program = func(ctx context.Context, stdout io.Writer) error {
	return run(ctx, "127.0.0.1:0", stdout)
}

func start(t *testing.T) (addr string, end func()) {
	t.Helper()
	p := program.Start(t)
	return p.Addr(), func() {
		http.DefaultClient.CloseIdleConnections()
		p.End()
	}
}

func dial(t *testing.T, url string) *websocket.Conn {
	t.Helper()
	c, _, err := websocket.DefaultDialer.DialContext(t.Context(), url, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.CloseNow() })
	_ = c.SetReadDeadline(time.Now().Add(servertest.Patience))
	return c
}

func send(t *testing.T, c *websocket.Conn, messageType int, p []byte) {
	t.Helper()
	if err := c.WriteMessage(messageType, p); err != nil {
		t.Fatal(err)
	}
}

// wantClose checks that the next message is a Close frame with a code.
func wantClose(t *testing.T, c *websocket.Conn, code int) {
	t.Helper()
	if _, p, err := c.ReadMessage(); !websocket.IsCloseError(err, code) {
		t.Errorf("got %q, %v, want the code %d", p, err, code)
	}
}

func TestAllReceiveWhatOneSends(t *testing.T) {
	addr, end := start(t)
	var members []*websocket.Conn
	for i := range 3 {
		c := dial(t, "ws://"+addr+"/chat")
		members = append(members, c)
		// a member that receives its own message has joined
		text := fmt.Sprintf("member %d", i)
		send(t, c, websocket.TextMessage, []byte(text))
		for j, m := range members {
			if messageType, got, err := m.ReadMessage(); err != nil || messageType != websocket.TextMessage || string(got) != text {
				t.Errorf("member %d got %q of type %d, %v", j, got, messageType, err)
			}
		}
	}
	// the end waits until all members have answered the Close frame
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		end()
	}()
	for _, m := range members {
		wantClose(t, m, websocket.CloseGoingAway)
	}
	servertest.Receive(t, "the end of run", ended)
}

func TestEcho(t *testing.T) {
	addr, end := start(t)
	defer end()
	c := dial(t, "ws://"+addr+"/echo")
	for _, messageType := range []int{websocket.TextMessage, websocket.BinaryMessage} {
		want := bytes.Repeat([]byte("a"), maxMessage)
		send(t, c, messageType, want)
		if got, p, err := c.ReadMessage(); err != nil || got != messageType || !bytes.Equal(p, want) {
			t.Errorf("got %d bytes of type %d, %v", len(p), got, err)
		}
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// serveInMemory serves a chat until the test ends.
func serveInMemory(t *testing.T) (c *chat, join func() *websocket.Conn) {
	c = newChat()
	server := fasthttptest.New(t, c.serve)
	dialer := websocket.Dialer{NetDial: func(string, string) (net.Conn, error) { return server.Dial() }}
	return c, func() *websocket.Conn {
		t.Helper()
		before := c.room.Len()
		member, _, err := dialer.Dial("ws://any.host/chat", nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = member.CloseNow() })
		_ = member.SetReadDeadline(time.Now().Add(servertest.Patience))
		servertest.Eventually(t, "the member in the room", func() bool { return c.room.Len() == before+1 })
		return member
	}
}

func TestWhoLeavesIsForgotten(t *testing.T) {
	c, join := serveInMemory(t)
	for _, leave := range []func(*websocket.Conn) error{(*websocket.Conn).Close, (*websocket.Conn).CloseNow} {
		member := join()
		if err := leave(member); err != nil {
			t.Error(err)
		}
		servertest.Eventually(t, "an empty room", func() bool { return c.room.Len() == 0 })
	}
}

// A member that does not read leaves, and another one receives all messages.
func TestSlowMembersAreDisconnected(t *testing.T) {
	c, join := serveInMemory(t)
	slow, fast := join(), join()
	text := bytes.Repeat([]byte("a"), maxMessage)
	sent := 0
	for c.room.Len() == 2 {
		if sent++; sent > 10_000 {
			t.Fatal("the slow member is still there")
		}
		send(t, fast, websocket.TextMessage, text)
		if _, p, err := fast.ReadMessage(); err != nil || !bytes.Equal(p, text) {
			t.Fatalf("message %d: got %d bytes, %v", sent, len(p), err)
		}
	}
	got := 0
	for {
		if _, _, err := slow.ReadMessage(); err != nil {
			if late, ok := err.(net.Error); ok && late.Timeout() {
				t.Error(err)
			}
			break
		}
		got++
	}
	if got >= sent {
		t.Errorf("the slow member has got all of %d messages", sent)
	}
	send(t, fast, websocket.TextMessage, []byte("last"))
	if _, p, err := fast.ReadMessage(); err != nil || string(p) != "last" {
		t.Errorf("got %q, %v", p, err)
	}
}

func TestMessagesThatEndTheConnection(t *testing.T) {
	addr, end := start(t)
	defer end()
	for _, path := range []string{"/chat", "/echo"} {
		c := dial(t, "ws://"+addr+path)
		send(t, c, websocket.TextMessage, make([]byte, maxMessage+1))
		wantClose(t, c, websocket.CloseMessageTooBig)
	}
	c := dial(t, "ws://"+addr+"/chat")
	send(t, c, websocket.BinaryMessage, []byte("a"))
	wantClose(t, c, websocket.CloseUnsupportedData)
}

func TestHandshake(t *testing.T) {
	addr, end := start(t)
	defer end()
	good := http.Header{
		"Connection": {"keep-alive, Upgrade"}, "Upgrade": {"WebSocket"},
		"Sec-Websocket-Version": {"13"}, "Sec-Websocket-Key": {"dGhlIHNhbXBsZSBub25jZQ=="},
	}
	tests := []struct {
		name, field, value string
		status             int
	}{
		{"good", "X", "", 101},
		{"own origin", "Origin", "http://" + addr, 101},
		{"other origin", "Origin", "http://evil.example", 403},
		{"no upgrade", "Upgrade", "", 426},
		{"old version", "Sec-Websocket-Version", "8", 426},
		{"bad key", "Sec-Websocket-Key", "?", 400},
	}
	for _, test := range tests {
		for _, path := range []string{"/chat", "/echo"} {
			req, err := http.NewRequest(http.MethodGet, "http://"+addr+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Header = good.Clone()
			req.Header.Set(test.field, test.value)
			resp, err := http.DefaultTransport.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
			if resp.StatusCode != test.status {
				t.Errorf("%s %s: the status is %d, want %d", path, test.name, resp.StatusCode, test.status)
			}
		}
	}
}

func TestPageIsServed(t *testing.T) {
	addr, end := start(t)
	defer end()
	resp, err := http.Get("http://" + addr + "/")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || !strings.Contains(string(body), "new WebSocket(") {
		t.Errorf("the page is %q, %v", body, err)
	}
}

// A signal may arrive before the server has begun.
func TestRunEndsAtOnce(t *testing.T) { program.EndsAtOnce(t) }
