package together

import (
	"io"
	"net"
	"net/http/httptest"
	"strings"
	"testing"

	fiber2 "github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v3"
	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttptest"
	"github.com/valyala/fasthttp/fasthttputil"
	"github.com/valyala/fasthttp/internal/servertest"
	"github.com/valyala/fasthttp/sse"
	"github.com/valyala/fasthttp/websocket"
)

// TestFiberHasTheAdditions uses WebSockets and events in an app of Fiber, over both versions of
// HTTP, as docs/migrating.md describes.
func TestFiberHasTheAdditions(t *testing.T) {
	app := fiber.New()
	var upgrader websocket.Upgrader
	chat := func(c fiber.Ctx) error {
		room := strings.Clone(c.Params("room"))
		_ = upgrader.Upgrade(c.RequestCtx(), func(conn *websocket.Conn) {
			_ = conn.WriteMessage(websocket.TextMessage, []byte(room))
			_, _, _ = conn.ReadMessage()
		})
		return nil
	}
	app.Get("/chat/:room", chat)
	app.Connect("/chat/:room", chat)
	app.Get("/events", func(c fiber.Ctx) error {
		sse.Serve(c.RequestCtx(), func(s *sse.Stream) { _ = s.Send(sse.Event{Data: []byte("news")}) })
		return nil
	})
	s := app.Server()
	s.Protocols.SetHTTP1(true)
	s.Protocols.SetUnencryptedHTTP2(true)
	s.HTTP2.ExtendedConnect = true
	ln := fasthttputil.NewInmemoryListener()
	served := make(chan error, 1)
	go func() { served <- app.Listener(ln, fiber.ListenConfig{DisableStartupMessage: true}) }()

	http1 := &fasthttp.Client{Dial: func(string) (net.Conn, error) { return ln.Dial() }}
	http2 := &fasthttp.Client{Dial: http1.Dial}
	http2.Protocols.SetUnencryptedHTTP2(true)
	for _, client := range []*fasthttp.Client{http1, http2} {
		dialer := websocket.Dialer{NetDial: func(string, string) (net.Conn, error) { return ln.Dial() }}
		if client == http2 {
			dialer.HTTP2Client = client
		}
		conn, _, err := dialer.Dial("ws://app/chat/red", nil)
		servertest.Must(t, err)
		if _, p, err := conn.ReadMessage(); string(p) != "red" || err != nil {
			t.Errorf("the message is %q, %v", p, err)
		}
		servertest.Must(t, conn.Close())
		if status, body, err := client.Get(nil, "http://app/events"); status != 200 || string(body) != "data: news\n\n" || err != nil {
			t.Errorf("the events are %d %q, %v", status, body, err)
		}
		client.CloseIdleConnections()
	}
	servertest.Must(t, app.Shutdown())
	servertest.Must(t, servertest.Receive(t, "the end of the server", served))
}

// TestFiberTestEndsSending checks that a handler that watches its client sees its end within
// app.Test, as the end of the sending side alone.
func TestFiberTestEndsSending(t *testing.T) {
	app := fiber.New()
	app.Get("/", func(c fiber.Ctx) error {
		c.RequestCtx().WatchDisconnect()
		<-c.RequestCtx().Done()
		if !c.RequestCtx().EndedSending() {
			t.Error("the client is gone altogether")
		}
		return c.SendString("answered")
	})
	resp, err := app.Test(httptest.NewRequest("GET", "/", nil), fiber.TestConfig{Timeout: servertest.Patience})
	servertest.Must(t, err)
	if body, err := io.ReadAll(resp.Body); string(body) != "answered" || err != nil {
		t.Errorf("the body is %q, %v", body, err)
	}
}

// TestFiberServesWithoutListen uses the server of an app in other ways than app.Listen.
func TestFiberServesWithoutListen(t *testing.T) {
	app3 := fiber.New(fiber.Config{BodyLimit: 7})
	app3.Get("/", func(c fiber.Ctx) error { return c.SendString("served") })
	app3.Handler()
	app2 := fiber2.New(fiber2.Config{BodyLimit: 7})
	app2.Get("/", func(c *fiber2.Ctx) error { return c.SendString("served") })
	app2.Handler()
	for name, s := range map[string]*fasthttp.Server{"v3": app3.Server(), "v2": app2.Server()} {
		server := fasthttptest.NewServer(t, s)
		if status, body, err := server.Client.Get(nil, server.URL); status != 200 || string(body) != "served" || err != nil {
			t.Errorf("%s: got %d %q, %v", name, status, body, err)
		}
		var req fasthttp.Request
		var resp fasthttp.Response
		req.Header.SetMethod("POST")
		req.SetRequestURI(server.URL)
		req.SetBodyString("12345678")
		if err := server.Client.Do(&req, &resp); resp.StatusCode() != 413 || err != nil {
			t.Errorf("%s: a large body gets %d, %v", name, resp.StatusCode(), err)
		}
	}
}
