package websocket_test

import (
	"strings"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
	"github.com/valyala/fasthttp/internal/ws"
	"github.com/valyala/fasthttp/websocket"
)

// neverOpened returns the handlers of a server that opens no connection.
func neverOpened(t *testing.T) (handle func(c *websocket.Conn), h *websocket.Handler) {
	return func(*websocket.Conn) { t.Error("a Conn was opened") },
		&websocket.Handler{OnOpen: func(*websocket.Socket) { t.Error("a Socket was opened") }}
}

// forBothForms runs a test on every engine, for Upgrade and Serve.
func forBothForms(t *testing.T, test func(t *testing.T, path string, start servertest.Starter[*fasthttp.Server])) {
	for _, path := range paths {
		t.Run(path[1:], func(t *testing.T) {
			servertest.ForEachEngine(t, prepareServer, func(t *testing.T, start servertest.Starter[*fasthttp.Server]) {
				test(t, path, start)
			})
		})
	}
}

// Requests of other methods and versions are no opening handshakes, whatever their fields are. The
// connection continues, if its version permits that.
func TestOtherRequestsOpenNothing(t *testing.T) {
	t.Parallel()
	forBothForms(t, func(t *testing.T, path string, start servertest.Starter[*fasthttp.Server]) {
		handle, h := neverOpened(t)
		ts := start(both(&websocket.Upgrader{}, handle, h))
		c := ts.Dial()
		for _, tt := range []struct {
			method, version string
			fields          []string
			status          int
			ends            bool
		}{
			{"HEAD", "HTTP/1.1", nil, 405, false},
			{"OPTIONS", "HTTP/1.1", nil, 405, false},
			{"POST", "HTTP/1.1", []string{"Content-Length: 0"}, 405, false},
			{"GET", "HTTP/1.1", []string{"Connection: close"}, 400, true},
			{"GET", "HTTP/1.0", nil, 426, true},
			{"GET", "HTTP/1.0", []string{"Connection: keep-alive"}, 426, false},
			{"HEAD", "HTTP/1.0", nil, 426, true},
		} {
			request := strings.Replace(socketRequest(path, tt.fields...), "GET "+path+" HTTP/1.1", tt.method+" "+path+" "+tt.version, 1)
			c.Send(request)
			resp := c.Next(tt.method)
			if resp.StatusCode != tt.status || resp.Header.Get("Sec-WebSocket-Accept") != "" || resp.Header.Get("Upgrade") == "" && tt.status == 426 {
				t.Errorf("%s %s %q: got %d %v", tt.method, tt.version, tt.fields, resp.StatusCode, resp.Header)
			}
			if tt.ends {
				c.ExpectEnd()
				c = ts.Dial()
			}
		}
	})
}

// A server with CloseOnShutdown opens no connection once it shuts down, and the client learns that.
func TestNothingOpensAtAShutdownWithCloseOnShutdown(t *testing.T) {
	t.Parallel()
	forBothForms(t, func(t *testing.T, path string, start servertest.Starter[*fasthttp.Server]) {
		g := servertest.NewGate()
		handle, h := neverOpened(t)
		s := both(&websocket.Upgrader{}, handle, h)
		s.CloseOnShutdown = true
		upgrade := s.Handler
		s.Handler = func(ctx *fasthttp.RequestCtx) {
			g.Pass("the request")
			upgrade(ctx)
		}
		ts := start(s)
		c := ts.Dial()
		c.Send(socketRequest(path))
		servertest.Receive(t, "the request", g.Entered)
		done := make(chan error, 1)
		go func() { done <- ts.S.Shutdown() }()
		servertest.Receive(t, "the end of Serve", ts.Served)
		close(g.Open)
		if resp := c.Next("GET"); resp.StatusCode != 503 || resp.Header.Get("Upgrade") != "" || !resp.Close {
			t.Errorf("got %d %v", resp.StatusCode, resp.Header)
		}
		c.ExpectEnd()
		servertest.Must(t, servertest.Receive(t, "the end of Shutdown", done))
	})
}

// Connections that are open when a server with CloseOnShutdown shuts down have a closing handshake.
func TestOpenSocketsEndAtAShutdownWithCloseOnShutdown(t *testing.T) {
	t.Parallel()
	forBothForms(t, func(t *testing.T, path string, start servertest.Starter[*fasthttp.Server]) {
		s := both(&websocket.Upgrader{}, echoConn, &websocket.Handler{OnMessage: echoMessage})
		s.CloseOnShutdown = true
		ts := start(s)
		p := dialSocket(ts, path, socketFrame(ws.Text, "hello"))
		p.expect(ws.Text, "hello")
		done := make(chan error, 1)
		go func() { done <- ts.S.Shutdown() }()
		p.expectClose(websocket.CloseGoingAway, "")
		p.answerClose(websocket.CloseGoingAway)
		servertest.Must(t, servertest.Receive(t, "the end of Shutdown", done))
	})
}

// A handshake that a TimeoutHandler has given up opens nothing, although its handler succeeds later.
func TestHandshakesThatAreTooLateOpenNothing(t *testing.T) {
	t.Parallel()
	forBothForms(t, func(t *testing.T, path string, start servertest.Starter[*fasthttp.Server]) {
		g := servertest.NewGate()
		handle, h := neverOpened(t)
		s := both(&websocket.Upgrader{}, handle, h)
		upgrade := s.Handler
		returned := make(chan struct{}, 1)
		s.Handler = fasthttp.TimeoutHandler(func(ctx *fasthttp.RequestCtx) {
			upgrade(ctx)
			g.Pass("the handler")
			returned <- struct{}{}
		}, servertest.Short, "late")
		ts := start(s)
		c := ts.Dial()
		c.Send(socketRequest(path))
		if resp := c.Next("GET"); resp.StatusCode != fasthttp.StatusRequestTimeout || resp.Header.Get("Upgrade") != "" {
			t.Errorf("got %d %v", resp.StatusCode, resp.Header)
		}
		close(g.Open)
		servertest.Receive(t, "the end of the handler", returned)
	})
}
