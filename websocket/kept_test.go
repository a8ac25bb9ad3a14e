package websocket_test

import (
	"cmp"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
	"github.com/valyala/fasthttp/websocket"
)

// isOver reports whether an error is the one of a connection that this side has closed.
func isOver(err error) bool {
	return errors.Is(err, websocket.ErrCloseSent) || errors.Is(err, net.ErrClosed)
}

// expectOver calls the methods of a Conn that has ended.
func expectOver(t *testing.T, c *websocket.Conn) {
	t.Helper()
	prepared, err := websocket.NewPreparedMessage(websocket.TextMessage, servertest.SampleText(1000))
	servertest.Must(t, err)
	for name, call := range map[string]func() error{
		"WriteMessage":         func() error { return c.WriteMessage(websocket.TextMessage, servertest.SampleText(5000)) },
		"WriteJSON":            func() error { return c.WriteJSON("text") },
		"WritePreparedMessage": func() error { return c.WritePreparedMessage(prepared) },
		"WriteControl":         func() error { return c.WriteControl(websocket.PingMessage, nil, time.Time{}) },
		"NextWriter": func() error {
			w, err := c.NextWriter(websocket.BinaryMessage)
			if err != nil {
				return err
			}
			_, err = w.Write(servertest.Noise(10_000))
			return errors.Join(err, w.Close())
		},
	} {
		if err := call(); !isOver(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, _, err := c.ReadMessage(); err == nil {
		t.Error("ReadMessage: no error")
	}
	_ = c.SetReadDeadline(time.Time{})
	_ = c.CloseNow()
	if c.RemoteAddr() == nil || c.LocalAddr() == nil {
		t.Error("a Conn that has ended has no address")
	}
}

// A Conn used after its function has returned returns errors,
// and reaches no other connection.
func TestConnsAreKeptAfterTheirFunctions(t *testing.T) {
	test := func(t *testing.T, u *websocket.Upgrader, start func(s *fasthttp.Server), dial func() *websocket.Conn) {
		kept, ended := make(chan *websocket.Conn, 1), make(chan error, 1)
		var used atomic.Bool
		start(&fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
			if used.Swap(true) {
				_ = u.Upgrade(ctx, echoConn)
				return
			}
			_ = u.Upgrade(ctx, func(c *websocket.Conn) {
				written := make(chan struct{})
				go func() {
					err := c.WriteMessage(websocket.TextMessage, servertest.SampleText(5000))
					close(written)
					for err == nil {
						err = c.WriteMessage(websocket.TextMessage, servertest.SampleText(5000))
					}
					ended <- err
					kept <- c
				}()
				<-written
			})
		}})
		peer := dial()
		for {
			_, p, err := peer.ReadMessage()
			if err == nil && string(p) == string(servertest.SampleText(5000)) {
				continue
			}
			if !websocket.IsCloseError(err, websocket.CloseNormalClosure) {
				t.Errorf("the peer gets %d bytes, %v", len(p), err)
			}
			break
		}
		_ = peer.Close()
		if err := servertest.Receive(t, "the end of writing", ended); !isOver(err) {
			t.Errorf("a write after the end: %v", err)
		}
		c := servertest.Receive(t, "the Conn", kept)
		// its descriptor is free now, and may be the one of another connection
		other := dial()
		for range 20 {
			expectOver(t, c)
			servertest.Must(t, other.WriteMessage(websocket.TextMessage, servertest.SampleText(2000)))
			if _, p, err := other.ReadMessage(); string(p) != string(servertest.SampleText(2000)) || err != nil {
				t.Fatalf("another connection gets %.40q, %v", p, err)
			}
		}
		servertest.Must(t, other.Close())
	}
	for name, u := range map[string]*websocket.Upgrader{
		"plain":      {},
		"compressed": {EnableCompression: true},
		"context":    {EnableCompression: true, Compression: websocket.Compression{ContextTakeover: true, WindowBits: 10}},
		"released":   {EnableCompression: true, ReleaseContext: true, CloseTimeout: -1},
	} {
		// the messages being written may have to wait for the peer, and the Close frame for them
		u.CloseTimeout = cmp.Or(u.CloseTimeout, closing)
		d := websocket.Dialer{EnableCompression: true, Compression: u.Compression}
		t.Run(name, func(t *testing.T) {
			servertest.ForEachEngine(t, prepareServer, func(t *testing.T, start servertest.Starter[*fasthttp.Server]) {
				var ts *socketServer
				test(t, u, func(s *fasthttp.Server) { ts = start(s) }, func() *websocket.Conn {
					d := d
					d.NetDial = func(string, string) (net.Conn, error) { return ts.Dialer() }
					c, _, err := d.Dial("ws://any.host/", nil)
					servertest.Must(t, err)
					t.Cleanup(func() { _ = c.CloseNow() })
					return c
				})
			})
		})
		t.Run(name+"/HTTP2", func(t *testing.T) {
			overHTTP2(t, func(t *testing.T, start func(s *fasthttp.Server) *http2Server) {
				var ts *http2Server
				test(t, u, func(s *fasthttp.Server) { ts = start(s) }, func() *websocket.Conn { return ts.dial(t, "/", d) })
			})
		})
	}
}
