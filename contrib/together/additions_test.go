package together

import (
	"crypto/tls"
	"io"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
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
	serveRoom := func(room string, conn *websocket.Conn) {
		_ = conn.WriteMessage(websocket.TextMessage, []byte(room))
		_, _, _ = conn.ReadMessage()
	}
	app.Get("/chat/:room", func(c fiber.Ctx) error {
		room := strings.Clone(c.Params("room"))
		_ = upgrader.Upgrade(c.RequestCtx(), func(conn *websocket.Conn) { serveRoom(room, conn) })
		return nil
	})
	app.Connect("/chat/:room", func(c fiber.Ctx) error {
		room := strings.Clone(c.Params("room"))
		_ = upgrader.Upgrade(c.RequestCtx(), func(conn *websocket.Conn) { serveRoom(room, conn) })
		return nil
	})
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

// TestFiberServesHTTP2 serves over TLS, with the settings that docs/migrating.md has for each version
// of Fiber.
func TestFiberServesHTTP2(t *testing.T) {
	certPEM, keyPEM := servertest.Certificate()
	certFile, keyFile := filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")
	servertest.Must(t, os.WriteFile(certFile, certPEM, 0o600))
	servertest.Must(t, os.WriteFile(keyFile, keyPEM, 0o600))

	app3 := fiber.New()
	app3.Get("/", func(c fiber.Ctx) error { return c.Send(c.RequestCtx().Request.Header.Protocol()) })
	listens := make(chan net.Addr, 1)
	config := fiber.ListenConfig{
		DisableStartupMessage: true, CertFile: certFile, CertKeyFile: keyFile,
		ListenerAddrFunc: func(addr net.Addr) { listens <- addr },
		TLSConfigFunc:    func(c *tls.Config) { c.NextProtos = []string{"h2", "http/1.1"} },
	}
	checkVersions(t, app3.Server(), func() error { return app3.Listen("127.0.0.1:0", config) }, listens, app3.Shutdown)

	app2 := fiber2.New(fiber2.Config{DisableStartupMessage: true})
	app2.Get("/", func(c *fiber2.Ctx) error { return c.Send(c.Context().Request.Header.Protocol()) })
	cert, err := tls.X509KeyPair(certPEM, keyPEM)
	servertest.Must(t, err)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	servertest.Must(t, err)
	secure := tls.NewListener(ln, &tls.Config{Certificates: []tls.Certificate{cert}, NextProtos: []string{"h2", "http/1.1"}})
	listens <- ln.Addr()
	checkVersions(t, app2.Server(), func() error { return app2.Listener(secure) }, listens, app2.Shutdown)
}

// checkVersions checks that the server of an app serves both versions of HTTP.
func checkVersions(t *testing.T, s *fasthttp.Server, serve func() error, listens <-chan net.Addr, shutdown func() error) {
	t.Helper()
	s.Protocols.SetHTTP1(true)
	s.Protocols.SetHTTP2(true)
	served := make(chan error, 1)
	go func() { served <- serve() }()
	url := "https://" + servertest.Receive(t, "the address", listens).String()
	for version, http2 := range map[string]bool{"HTTP/1.1": false, "HTTP/2.0": true} {
		client := &fasthttp.Client{TLSConfig: servertest.TrustCertificate()}
		client.Protocols.SetHTTP1(true)
		client.Protocols.SetHTTP2(http2)
		if _, body, err := client.Get(nil, url); string(body) != version || err != nil {
			t.Errorf("the version is %q, not %s: %v", body, version, err)
		}
		client.CloseIdleConnections()
	}
	servertest.Must(t, shutdown())
	servertest.Must(t, servertest.Receive(t, "the end of the server", served))
}
