package websocket

import (
	"bytes"
	"cmp"
	"net"
	"net/http"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/roottest"
	"github.com/valyala/fasthttp/internal/servertest"
	"github.com/valyala/fasthttp/internal/ws"
)

func TestMain(m *testing.M) { servertest.Main(m) }

type (
	testServer = servertest.Running[*fasthttp.Server]
	starter    = servertest.Starter[*fasthttp.Server]
)

// prepare sets the engine of a server.
var prepare = roottest.Prepare

func forEachEngine(t *testing.T, test func(t *testing.T, start starter)) {
	servertest.ForEachEngine(t, prepare, test)
}

// closing is how long a closing handshake may take if its time is not the subject of a test.
const closing = 2 * servertest.Patience

// serving returns a server whose handler upgrades all requests.
func serving(u *Upgrader, handler func(c *Conn)) *fasthttp.Server {
	u.CloseTimeout = cmp.Or(u.CloseTimeout, closing)
	return &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) { _ = u.Upgrade(ctx, handler) }}
}

// echo sends all messages back.
func echo(c *Conn) {
	for {
		messageType, p, err := c.ReadMessage()
		if err != nil {
			return
		}
		if err := c.WriteMessage(messageType, p); err != nil {
			return
		}
	}
}

// dial connects to a server, with the settings of d.
func dial(t testing.TB, s *testServer, d Dialer) *Conn {
	t.Helper()
	c, _, err := dialHeader(s, d, nil)
	servertest.Must(t, err)
	t.Cleanup(func() { _ = c.CloseNow() })
	return c
}

func dialHeader(s *testServer, d Dialer, h http.Header) (*Conn, *http.Response, error) {
	d.CloseTimeout = cmp.Or(d.CloseTimeout, closing)
	// the dialer of the server does TLS, too
	d.NetDial = func(string, string) (net.Conn, error) { return s.Dialer() }
	return d.Dial("ws://example.com/path", h)
}

// expectMessage receives a message.
func expectMessage(t testing.TB, c *Conn, messageType int, want []byte) {
	t.Helper()
	gotType, p, err := c.ReadMessage()
	if err != nil || gotType != messageType || !bytes.Equal(p, want) {
		t.Fatalf("got a message of type %d and %d bytes (%.40q), %v, want type %d and %d bytes (%.40q)", gotType, len(p), p, err, messageType, len(want), want)
	}
}

// connPair returns both sides of a connection with the settings of u and d, without a
// server.
func connPair(t testing.TB, pair func(testing.TB) (net.Conn, net.Conn), u *Upgrader, d *Dialer) (client, server *Conn) {
	t.Helper()
	a := agreement{}
	if d.EnableCompression && u.EnableCompression {
		a.compressed = true
		a.deflate, _ = u.Compression.terms().Answer(d.Compression.offer())
	}
	nc, ns := pair(t)
	client = newConn(nc, ws.Client, a, options{
		readLimit: d.ReadLimit, pingInterval: d.PingInterval, pongTimeout: d.PongTimeout, closeTimeout: d.CloseTimeout,
		writeBuffer: d.WriteBufferSize, compression: &d.Compression,
	}, nil)
	server = u.newConn(ns, a)
	t.Cleanup(func() {
		_ = client.CloseNow()
		_ = server.CloseNow()
	})
	return client, server
}
