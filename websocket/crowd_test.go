package websocket_test

import (
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
	"github.com/valyala/fasthttp/websocket"
)

// TestShutdownDuringUpgradesAndBroadcasts has clients that connect all the time: each one whose
// connection was upgraded gets CloseGoingAway, after whole messages.
func TestShutdownDuringUpgradesAndBroadcasts(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"Serve", "Upgrade", "ReleaseContext"} {
		t.Run(kind, func(t *testing.T) {
			forEachServerEngine(t, func(t *testing.T, start servertest.Starter[*fasthttp.Server]) {
				var group websocket.Group
				// a broadcast follows each event, so that the clients of a busy machine get on
				events := make(chan struct{}, 1)
				event := func() {
					select {
					case events <- struct{}{}:
					default:
					}
				}
				h := &websocket.Handler{WriteTimeout: -1, OnOpen: func(s *websocket.Socket) {
					group.Join(s)
					event()
				}}
				u := &websocket.Upgrader{ReleaseContext: kind == "ReleaseContext", CloseTimeout: 2 * servertest.Patience}
				s := start(&fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
					if kind == "Serve" {
						_ = u.Serve(ctx, h, nil)
						return
					}
					_ = u.Upgrade(ctx, func(c *websocket.Conn) {
						for {
							if _, _, err := c.ReadMessage(); err != nil {
								return
							}
						}
					})
				}})
				stop := make(chan struct{})
				var all sync.WaitGroup
				defer all.Wait()
				defer close(stop)
				all.Go(func() {
					for {
						select {
						case <-stop:
							return
						case <-events:
							group.Broadcast(websocket.Message{Type: websocket.TextMessage, Data: []byte(strings.Repeat("x", 2000))}, nil)
						}
					}
				})
				var opened, away atomic.Int32
				for range 8 {
					all.Go(func() {
						for range 60 {
							nc, err := s.Dialer()
							if err != nil {
								return
							}
							all.Go(func() {
								defer nc.Close()
								d := websocket.Dialer{NetDial: dialerOf(nc)}
								c, _, err := d.Dial("ws://example.com/", nil)
								if err != nil {
									return
								}
								opened.Add(1)
								_ = c.SetReadDeadline(time.Now().Add(2 * servertest.Patience))
								for {
									_, p, err := c.ReadMessage()
									if err == nil && len(p) == 2000 {
										event()
										continue
									}
									if websocket.IsCloseError(err, websocket.CloseGoingAway) {
										away.Add(1)
									} else {
										t.Errorf("a client got %d bytes, %v", len(p), err)
									}
									_ = c.Close()
									return
								}
							})
						}
					})
				}
				servertest.Eventually(t, "some sockets", func() bool { return opened.Load() > 50 })
				done := make(chan error, 1)
				go func() { done <- s.S.Shutdown() }()
				servertest.Must(t, servertest.Receive(t, "the end of Shutdown", done))
				t.Logf("%d opened, %d away", opened.Load(), away.Load())
			})
		})
	}
}

func forEachServerEngine(t *testing.T, test func(t *testing.T, start servertest.Starter[*fasthttp.Server])) {
	servertest.ForEachEngine(t, prepareServer, test)
}

func dialerOf(nc net.Conn) func(network, addr string) (net.Conn, error) {
	return func(string, string) (net.Conn, error) { return nc, nil }
}
