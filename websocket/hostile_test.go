package websocket

import (
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// TestShutdownLeavesPeersThatDoNotRead has handlers that wait in the middle of a message.
func TestShutdownLeavesPeersThatDoNotRead(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		entered, left := make(chan struct{}), make(chan struct{})
		s := start(serving(&Upgrader{CloseTimeout: servertest.Short}, func(c *Conn) {
			close(entered)
			for c.WriteMessage(BinaryMessage, make([]byte, 1<<20)) == nil {
			}
			close(left)
		}))
		dial(t, s, Dialer{})
		servertest.Receive(t, "the handler", entered)
		done := make(chan error, 1)
		go func() { done <- s.S.Shutdown() }()
		servertest.Must(t, servertest.Receive(t, "the end of Shutdown", done))
		servertest.Receive(t, "the end of the handler", left)
	})
}

// TestUpgradeWithinOtherHandlers upgrades in handlers that change contexts or responses.
func TestUpgradeWithinOtherHandlers(t *testing.T) {
	t.Parallel()
	wraps := map[string]func(h fasthttp.RequestHandler) fasthttp.RequestHandler{
		"timeout": func(h fasthttp.RequestHandler) fasthttp.RequestHandler {
			return fasthttp.TimeoutHandler(h, servertest.Never, "late")
		},
		"compress": fasthttp.CompressHandler,
		"nested": func(h fasthttp.RequestHandler) fasthttp.RequestHandler {
			return fasthttp.TimeoutHandler(fasthttp.CompressHandler(fasthttp.TimeoutHandler(h, servertest.Never, "late")), servertest.Never, "late")
		},
	}
	for name, wrap := range wraps {
		for kind, upgrade := range map[string]func(ctx *fasthttp.RequestCtx) error{
			"Upgrade": func(ctx *fasthttp.RequestCtx) error { return (&Upgrader{CloseTimeout: closing}).Upgrade(ctx, echo) },
			"ReleaseContext": func(ctx *fasthttp.RequestCtx) error {
				return (&Upgrader{ReleaseContext: true, CloseTimeout: closing}).Upgrade(ctx, echo)
			},
			"Serve": func(ctx *fasthttp.RequestCtx) error {
				return (&Upgrader{CloseTimeout: closing}).Serve(ctx, &Handler{OnMessage: func(s *Socket, m Message) { _ = s.Send(m.Type, m.Data) }}, nil)
			},
		} {
			t.Run(name+"/"+kind, func(t *testing.T) {
				forEachEngine(t, func(t *testing.T, start starter) {
					s := start(&fasthttp.Server{Handler: wrap(func(ctx *fasthttp.RequestCtx) { _ = upgrade(ctx) })})
					c := dial(t, s, Dialer{})
					servertest.Must(t, c.WriteMessage(TextMessage, []byte("hello")))
					expectMessage(t, c, TextMessage, []byte("hello"))
					done := make(chan error, 1)
					go func() { done <- s.S.Shutdown() }()
					_ = c.SetReadDeadline(time.Now().Add(servertest.Patience))
					if _, _, err := c.ReadMessage(); !IsCloseError(err, CloseGoingAway) {
						t.Errorf("the client got %v", err)
					}
					_ = c.Close()
					servertest.Must(t, servertest.Receive(t, "the end of Shutdown", done))
				})
			})
		}
	}
}

// TestBodiesOfUpgradesAreNoFrames has requests with a body that the handler does not read.
func TestBodiesOfUpgradesAreNoFrames(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		for _, kind := range []string{"Upgrade", "Serve"} {
			got := make(chan string, 10)
			s := start(&fasthttp.Server{StreamRequestBody: true, Handler: func(ctx *fasthttp.RequestCtx) {
				if kind == "Serve" {
					_ = new(Upgrader).Serve(ctx, &Handler{OnMessage: func(_ *Socket, m Message) { got <- string(m.Data) }}, nil)
					return
				}
				_ = new(Upgrader).Upgrade(ctx, func(c *Conn) {
					_, p, err := c.ReadMessage()
					if err == nil {
						got <- string(p)
					}
				})
			}})
			nc, err := s.Dialer()
			servertest.Must(t, err)
			frame := "\x82\x84\x00\x00\x00\x00evil"
			_, err = nc.Write([]byte("GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nContent-Length: 10\r\n\r\n" + frame))
			servertest.Must(t, err)
			_, err = nc.Write([]byte("\x82\x84\x00\x00\x00\x00good"))
			servertest.Must(t, err)
			if m := servertest.Receive(t, "a message", got); m != "good" {
				t.Errorf("%s: got the message %q", kind, m)
			}
			_ = nc.Close()
		}
	})
}
