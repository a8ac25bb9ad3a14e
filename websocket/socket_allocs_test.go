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

// Compressors are from pools, or belong to the socket.
func TestCompressedSocketMessagesDoNotAllocate(t *testing.T) {
	for _, tt := range socketCompressions {
		t.Run(tt.name, func(t *testing.T) {
			u := &websocket.Upgrader{EnableCompression: true, Compression: tt.c}
			forEachSocketEngineOf(t, u, func(t *testing.T, start socketStarter) {
				var g websocket.Group
				ts := start(&websocket.Handler{OnMessage: echoMessage, OnOpen: func(s *websocket.Socket) { g.Join(s) }})
				if ts.Engine.TLS {
					t.Skip("crypto/tls allocates")
				}
				c := dialCompressed(ts, tt.c)
				for _, size := range []int{125, 300, 8000} {
					p := servertest.SampleText(size)
					prepared, err := websocket.NewPreparedMessage(websocket.TextMessage, p)
					servertest.Must(t, err)
					var buf []byte
					receive := func() {
						var err error
						if _, buf, err = c.AppendMessage(buf[:0]); err != nil || len(buf) != size {
							t.Fatal(len(buf), err)
						}
					}
					echo := func() {
						servertest.Must(t, c.WriteMessage(websocket.TextMessage, p))
						receive()
					}
					echo()
					if n := testing.AllocsPerRun(500, echo); n != 0 {
						t.Errorf("echo of %d bytes: %v allocations", size, n)
					}
					if !isEvent(ts) {
						continue // a goroutine writes
					}
					broadcast := func() {
						if sent, _ := g.BroadcastPrepared(prepared, nil); sent != 1 {
							t.Fatal("not sent")
						}
						receive()
					}
					if n := testing.AllocsPerRun(500, broadcast); n != 0 {
						t.Errorf("broadcast of %d bytes: %v allocations", size, n)
					}
				}
			})
		})
	}
}

func isEvent(ts *socketServer) bool { return ts.Engine.Kind == servertest.Event }
