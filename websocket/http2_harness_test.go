package websocket_test

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"testing"

	"golang.org/x/net/http2"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
	"github.com/valyala/fasthttp/internal/ws"
	"github.com/valyala/fasthttp/websocket"
)

// http2Server is a server that permits WebSockets over HTTP/2, with a client that speaks nothing
// else.
type http2Server struct {
	*socketServer
	client *fasthttp.Client
}

// overHTTP2 runs a test on both engines, with TLS and without.
func overHTTP2(t *testing.T, test func(t *testing.T, start func(s *fasthttp.Server) *http2Server)) {
	for _, e := range servertest.OfEachKind(t, servertest.SocketEngines) {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			test(t, func(s *fasthttp.Server) *http2Server {
				s.Protocols.SetHTTP1(true)
				s.Protocols.SetHTTP2(true)
				s.Protocols.SetUnencryptedHTTP2(true)
				s.HTTP2.ExtendedConnect = true
				h := &http2Server{servertest.Start(t, e, s, prepareServer), new(fasthttp.Client)}
				h.client = http2Client(t, e)
				return h
			})
		})
	}
}

func http2Client(t testing.TB, e servertest.Engine) *fasthttp.Client {
	c := &fasthttp.Client{TLSConfig: servertest.TrustCertificate()}
	if e.TLS {
		c.Protocols.SetHTTP2(true)
	} else {
		c.Protocols.SetUnencryptedHTTP2(true)
	}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

// url returns the URL of a path.
func (s *http2Server) url(path string) string {
	if s.Engine.TLS {
		return "wss://" + s.Listener.Addr().String() + path
	}
	return "ws://" + s.Listener.Addr().String() + path
}

// try opens a WebSocket with the settings of d.
func (s *http2Server) try(path string, d websocket.Dialer, h http.Header) (*websocket.Conn, *http.Response, error) {
	ctx, cancel := context.WithTimeout(context.Background(), servertest.Patience)
	defer cancel()
	d.HTTP2Client = s.client
	d.CloseTimeout = cmp.Or(d.CloseTimeout, closing)
	return d.DialContext(ctx, s.url(path), h)
}

// dial is try, which must succeed.
func (s *http2Server) dial(t testing.TB, path string, d websocket.Dialer) *websocket.Conn {
	t.Helper()
	c, resp, err := s.try(path, d, nil)
	if err != nil {
		t.Fatalf("%v, %+v", err, resp)
	}
	t.Cleanup(func() { _ = c.CloseNow() })
	if resp.ProtoMajor != 2 || resp.StatusCode != 200 || len(resp.Header["Sec-Websocket-Accept"])+len(resp.Header["Upgrade"]) != 0 {
		t.Errorf("the response is %+v", resp)
	}
	return c
}

// both returns a server with both forms: on /conn Upgrade with handle, and on /socket Serve with
// h.
func both(u *websocket.Upgrader, handle func(c *websocket.Conn), h *websocket.Handler) *fasthttp.Server {
	u.CloseTimeout = cmp.Or(u.CloseTimeout, closing)
	return &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
		if string(ctx.Path()) == "/socket" {
			_ = u.Serve(ctx, h, nil)
		} else {
			_ = u.Upgrade(ctx, handle)
		}
	}}
}

// paths are the paths of both.
var paths = []string{"/conn", "/socket"}

// echoConn sends all messages back.
func echoConn(c *websocket.Conn) {
	for {
		messageType, p, err := c.ReadMessage()
		if err != nil || c.WriteMessage(messageType, p) != nil {
			return
		}
	}
}

// extendedConnect returns the fields of an opening handshake.
func extendedConnect(path string, fields ...string) []string {
	return append([]string{
		":method: CONNECT", ":protocol: websocket", ":scheme: http", ":authority: a", ":path: " + path, "sec-websocket-version: 13",
	}, fields...)
}

// rawSocket is a WebSocket of a client that sends any frames of HTTP/2.
type rawSocket struct {
	*servertest.H2Conn
	id    uint32
	ws    ws.Conn
	taken int // bytes of the content
}

// openRaw performs the opening handshake on a new connection.
func openRaw(t testing.TB, s *http2Server, path string, settings ...uint32) *rawSocket {
	t.Helper()
	c := servertest.GreetH2(s.socketServer, settings...)
	c.T = t
	if c.SettingsReceived[http2.SettingEnableConnectProtocol] != 1 {
		t.Errorf("the settings are %v", c.SettingsReceived)
	}
	return openRawOn(t, c, 1, path)
}

// openRawOn performs the opening handshake on a stream.
func openRawOn(t testing.TB, c *servertest.H2Conn, id uint32, path string) *rawSocket {
	t.Helper()
	limits := &ws.Limits{Message: -1}
	limits.Fill()
	r := &rawSocket{H2Conn: c, id: id}
	r.ws.Init(ws.Client, limits, ws.Extensions{})
	c.Fields(id, false, extendedConnect(path)...).Flush()
	st := c.Stream(id)
	c.Until("the response", func() bool { return len(st.Heads) > 0 || st.IsDone() })
	head := st.Head(0)
	if head[":status"] != "200" || st.IsDone() {
		t.Fatalf("got %v", st)
	}
	for _, name := range []string{"sec-websocket-accept", "upgrade", "connection", "content-length", "content-type"} {
		if value, has := head[name]; has {
			t.Errorf("the response has %s: %s", name, value)
		}
	}
	return r
}

// say sends a frame of WebSocket.
func (r *rawSocket) say(opcode ws.Opcode, payload string) {
	r.Data(r.id, 0, string(socketFrame(opcode, payload))).Flush()
}

// next returns the next frame of WebSocket, or false if the stream has ended before it.
func (r *rawSocket) next() (ev ws.Event, payload string, ok bool) {
	r.T.Helper()
	st := r.Stream(r.id)
	for {
		n, err := r.ws.Feed(st.Content[r.taken:], &ev)
		servertest.Must(r.T, err)
		if r.taken += n; ev.Opcode != ws.Continuation || ev.First {
			return ev, string(ev.Payload), true
		}
		if st.IsDone() {
			return ev, "", false
		}
		had := len(st.Content)
		r.Until("content", func() bool { return len(st.Content) > had || st.IsDone() })
	}
}

// expect receives a frame.
func (r *rawSocket) expect(opcode ws.Opcode, payload string) {
	r.T.Helper()
	if ev, got, ok := r.next(); !ok || ev.Opcode != opcode || got != payload {
		r.T.Fatalf("got %v %.100q (there is one: %v), want %v %.100q", ev.Opcode, got, ok, opcode, payload)
	}
}

// expectClose receives a Close frame.
func (r *rawSocket) expectClose(code int) {
	r.T.Helper()
	if ev, got, ok := r.next(); !ok || ev.Opcode != ws.Close || int(ev.Code) != code {
		r.T.Fatalf("got %v %d %q (there is one: %v), want a Close frame with %d", ev.Opcode, ev.Code, got, ok, code)
	}
}

// describe names a path and something else.
func describe(path string, what any) string { return fmt.Sprintf("%s, %v", path, what) }
