package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/gobwas/ws"
	"github.com/gobwas/ws/wsutil"
)

func start(t *testing.T) (addr string, end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	stdout, w := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- run(ctx, "127.0.0.1:0", w) }()
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	words := strings.Fields(line)
	return words[len(words)-1], func() {
		t.Helper()
		http.DefaultClient.CloseIdleConnections()
		cancel()
		if err := <-done; err != nil {
			t.Errorf("run returned %v", err)
		}
	}
}

func dial(t *testing.T, addr string) net.Conn {
	t.Helper()
	c, _, _, err := ws.Dial(t.Context(), "ws://"+addr+"/chat")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	return c
}

func TestAllReceiveWhatOneSends(t *testing.T) {
	addr, end := start(t)
	var members []net.Conn
	for i := range 3 {
		c := dial(t, addr)
		members = append(members, c)
		// a member that receives its own message has joined
		text := fmt.Sprintf("member %d", i)
		if err := wsutil.WriteClientText(c, []byte(text)); err != nil {
			t.Fatal(err)
		}
		for j, m := range members {
			if got, err := wsutil.ReadServerText(m); err != nil || string(got) != text {
				t.Errorf("member %d got %q, %v", j, got, err)
			}
		}
	}
	// at the end all members get a close frame
	end()
	for i, m := range members {
		_, err := wsutil.ReadServerText(m)
		if closed, ok := err.(wsutil.ClosedError); !ok || closed.Code != ws.StatusGoingAway {
			t.Errorf("member %d was left with %v", i, err)
		}
	}
}

func TestWhoLeavesIsForgotten(t *testing.T) {
	r := &room{members: make(map[*member]struct{})}
	here, there := net.Pipe()
	joined := make(chan struct{})
	go func() {
		defer close(joined)
		r.join(there)
	}()
	count := func() int {
		r.mu.Lock()
		defer r.mu.Unlock()
		return len(r.members)
	}
	for count() != 1 {
		runtime.Gosched()
	}
	_ = here.Close()
	<-joined
	if count() != 0 {
		t.Errorf("%d members are left", count())
	}
}

func TestLongMessagesEndTheConnection(t *testing.T) {
	addr, end := start(t)
	defer end()
	c := dial(t, addr)
	if err := wsutil.WriteClientText(c, make([]byte, maxMessage+1)); err != nil {
		t.Fatal(err)
	}
	if _, err := wsutil.ReadServerText(c); err == nil {
		t.Error("the message came back")
	}
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
		{"other origin", "Origin", "http://evil.example", 426},
		{"no upgrade", "Upgrade", "", 426},
		{"no connection", "Connection", "keep-alive", 426},
		{"old version", "Sec-Websocket-Version", "8", 426},
		{"short key", "Sec-Websocket-Key", "YWJj", 426},
		{"bad key", "Sec-Websocket-Key", "?", 426},
	}
	for _, test := range tests {
		req, err := http.NewRequest(http.MethodGet, "http://"+addr+"/chat", nil)
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
			t.Errorf("%s: the status is %d, want %d", test.name, resp.StatusCode, test.status)
		}
		// the key and the answer are from RFC 6455 section 1.3
		if accept := resp.Header.Get("Sec-Websocket-Accept"); test.status == 101 && accept != "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" {
			t.Errorf("%s: the key was accepted with %q", test.name, accept)
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
func TestRunEndsAtOnce(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := run(ctx, "127.0.0.1:0", io.Discard); err != nil {
		t.Errorf("run returned %v", err)
	}
}
