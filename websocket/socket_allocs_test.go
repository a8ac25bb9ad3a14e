//go:build !race

package websocket_test

import (
	"io"
	"testing"

	"github.com/valyala/fasthttp/internal/servertest"
	"github.com/valyala/fasthttp/internal/ws"
	"github.com/valyala/fasthttp/websocket"
)

// Under the race detector, pools drop some of the objects put into them.
func TestSocketMessagesDoNotAllocate(t *testing.T) {
	forEachSocketEngine(t, func(t *testing.T, start socketStarter) {
		var g websocket.Group
		h := &websocket.Handler{OnMessage: echoMessage, OnOpen: func(s *websocket.Socket) { g.Join(s) }}
		ts := start(h)
		if ts.Engine.TLS {
			t.Skip("crypto/tls allocates")
		}
		p := dialSocket(ts, "/", socketFrame(ws.Text, "hello"))
		p.expect(ws.Text, "hello")
		prepared, err := websocket.NewPreparedMessage(websocket.TextMessage, make([]byte, 125))
		servertest.Must(t, err)
		request, response := socketFrame(ws.Binary, string(make([]byte, 125))), make([]byte, 127)
		for _, tt := range []struct {
			name string
			f    func()
		}{
			{"echo", func() {
				if _, err := p.Write(request); err != nil {
					t.Fatal(err)
				}
			}},
			{"broadcast", func() {
				if sent, _ := g.BroadcastPrepared(prepared, nil); sent != 1 {
					t.Fatal("not sent")
				}
			}},
		} {
			exchange := func() {
				tt.f()
				if _, err := io.ReadFull(p.R, response); err != nil || response[1] != 125 {
					t.Fatal(err, response[:2])
				}
			}
			if tt.name == "broadcast" && !isEvent(ts) {
				continue // a goroutine writes
			}
			if n := testing.AllocsPerRun(2000, exchange); n != 0 {
				t.Errorf("%s: %v allocations", tt.name, n)
			}
		}
	})
}

func isEvent(ts *socketServer) bool { return ts.Engine.Kind == servertest.Event }
