package websocket_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/valyala/fasthttp/internal/servertest"
	"github.com/valyala/fasthttp/internal/ws"
	"github.com/valyala/fasthttp/websocket"
)

// members returns a Handler whose sockets join a group, and the sockets.
func members(g *websocket.Group) (*websocket.Handler, <-chan *websocket.Socket) {
	joined := make(chan *websocket.Socket, 1000)
	return &websocket.Handler{MaxQueue: 64 << 10, WriteTimeout: -1, OnMessage: echoMessage, OnOpen: func(s *websocket.Socket) {
		for range 2 {
			if !g.Join(s) {
				panic("a socket does not join")
			}
		}
		joined <- s
	}}, joined
}

func text(format string, args ...any) websocket.Message {
	return websocket.Message{Type: websocket.TextMessage, Data: fmt.Appendf(nil, format, args...)}
}

func TestBroadcastReachesAllMembers(t *testing.T) {
	t.Parallel()
	forEachSocketEngine(t, func(t *testing.T, start socketStarter) {
		var g websocket.Group
		if sent, skipped := g.Broadcast(text("nobody"), nil); sent != 0 || skipped != 0 {
			t.Errorf("sent to %d, skipped %d", sent, skipped)
		}
		h, joined := members(&g)
		ts := start(h)
		var peers []*socketPeer
		var sockets []*websocket.Socket
		for range 20 {
			peers = append(peers, dialSocket(ts, "/", nil))
			sockets = append(sockets, servertest.Receive(t, "a member", joined))
		}
		long := strings.Repeat("long", 1000)
		for i := range 50 {
			if sent, skipped := g.Broadcast(text("message %d", i), nil); sent != 20 || skipped != 0 {
				t.Fatalf("sent to %d, skipped %d", sent, skipped)
			}
			g.Broadcast(text("%s", long), nil)
			for _, p := range peers {
				p.expect(ws.Text, fmt.Sprintf("message %d", i))
				p.expect(ws.Text, long)
			}
		}
		g.Leave(sockets[0])
		g.Leave(sockets[0])
		_ = peers[1].Conn.Close()
		servertest.Eventually(t, "two members less", func() bool { return g.Len() == 18 })
		if g.Join(sockets[1]) {
			t.Error("a socket joins after its end")
		}
		prepared, err := websocket.NewPreparedMessage(websocket.BinaryMessage, []byte("prepared"))
		servertest.Must(t, err)
		if sent, _ := g.BroadcastPrepared(prepared, nil); sent != 18 {
			t.Errorf("sent to %d", sent)
		}
		for _, p := range peers[2:] {
			p.expect(ws.Binary, "prepared")
		}
		peers[0].say(ws.Text, "alone")
		peers[0].expect(ws.Text, "alone")
	})
}

// One slow reader holds up none of the others.
func TestBroadcastSkipsSlowReaders(t *testing.T) {
	t.Parallel()
	forEachSocketEngine(t, func(t *testing.T, start socketStarter) {
		var g websocket.Group
		h, joined := members(&g)
		ts := start(h)
		slow := dialSocket(ts, "/", nil)
		slowSocket := servertest.Receive(t, "a member", joined)
		quick := dialSocket(ts, "/", nil)
		servertest.Receive(t, "a member", joined)
		payload := strings.Repeat("b", 8<<10)
		var full *websocket.Socket
		sentToSlow := 0
		for full == nil {
			sent, skipped := g.Broadcast(text("%s", payload), func(s *websocket.Socket) { full = s })
			if sent+skipped != 2 {
				t.Fatalf("sent to %d, skipped %d", sent, skipped)
			}
			sentToSlow += sent - 1
			quick.expect(ws.Text, payload)
		}
		if full != slowSocket {
			t.Fatal("the quick reader was skipped")
		}
		// the slow one has all that was sent to it
		for range sentToSlow {
			slow.expect(ws.Text, payload)
		}
	})
}

// One of a thousand members does not read, and the others have each message at once.
func TestBroadcastToAThousand(t *testing.T) {
	t.Parallel()
	var g websocket.Group
	h, joined := members(&g)
	forEachSocketEngine(t, func(t *testing.T, start socketStarter) {
		ts := start(h)
		if ts.Engine.TLS {
			t.Skip("a thousand handshakes")
		}
		const n = 1000
		var peers []*socketPeer
		var sockets []*websocket.Socket
		for range n {
			peers = append(peers, dialSocket(ts, "/", nil))
			sockets = append(sockets, servertest.Receive(t, "a member", joined))
		}
		var err error
		for err == nil {
			err = sockets[0].Send(websocket.BinaryMessage, make([]byte, 60<<10))
		}
		for i := range 20 {
			m := text("message %d", i)
			full := 0
			sent, skipped := g.Broadcast(m, func(s *websocket.Socket) {
				if s != sockets[0] {
					t.Error("another member was skipped")
				}
				full++
			})
			if sent+skipped != n || skipped != full {
				t.Fatalf("sent to %d, skipped %d, %d are full", sent, skipped, full)
			}
			for _, p := range peers[1:] {
				p.expect(ws.Text, string(m.Data))
			}
		}
		for _, p := range peers {
			_ = p.Conn.Close()
		}
		servertest.Eventually(t, "no member", func() bool { return g.Len() == 0 })
	})
}

// The broadcasts never pause, so nothing runs beside this test.
func TestGroupsChangeWhileTheyBroadcast(t *testing.T) {
	forEachSocketEngine(t, func(t *testing.T, start socketStarter) {
		var g websocket.Group
		h, joined := members(&g)
		ts := start(h)
		stop := make(chan struct{})
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				for !servertest.IsClosed(stop) {
					g.Broadcast(text("noise"), func(s *websocket.Socket) { g.Leave(s) })
				}
			})
		}
		for range 10 {
			var peers []*socketPeer
			for range 5 {
				peers = append(peers, dialSocket(ts, "/", nil))
				s := servertest.Receive(t, "a member", joined)
				g.Leave(s)
				g.Join(s)
			}
			for _, p := range peers {
				p.expect(ws.Text, "noise")
				_ = p.Conn.Close()
			}
		}
		close(stop)
		wg.Wait()
		servertest.Eventually(t, "no member", func() bool { return g.Len() == 0 })
	})
}
