package http3

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/quic-go/quic-go"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/http3/internal/wire"
	"github.com/valyala/fasthttp/internal/policytest"
	"github.com/valyala/fasthttp/internal/servertest"
	"github.com/valyala/fasthttp/websocket"
)

// connectTo prepares an extended CONNECT, or a CONNECT if protocol is empty.
func connectTo(protocol string) func(*fasthttp.Request, *fasthttp.Response) {
	return func(req *fasthttp.Request, resp *fasthttp.Response) {
		resp.StreamBody = true
		if protocol == "" {
			req.Header.SetMethod("CONNECT")
		} else {
			req.Header.SetConnectProtocol(protocol)
		}
	}
}

// openTunnel opens a tunnel to a server.
func openTunnel(t *testing.T, c *fasthttp.Client, addr string) net.Conn {
	t.Helper()
	return policytest.TunnelServer{URL: "https://" + addr, Client: c}.Open(t, "a")
}

// TestTunnels has the tests that integrationtests has over HTTP/2.
func TestTunnels(t *testing.T) {
	policytest.RunTunnels(t, []policytest.TunnelTransport{{Name: "HTTP3", Start: func(t *testing.T, s *fasthttp.Server) policytest.TunnelServer {
		_, addr := run(t, s)
		c, transport := newClient(t)
		return policytest.TunnelServer{URL: "https://" + addr, Client: c, Conns: transport.ConnsCount}
	}}})
}

// The ends of a tunnel by a client that has not finished.
func TestTunnelsAreCut(t *testing.T) {
	type result struct{ read, write error }
	results := make(chan result, 1)
	_, addr := run(t, policytest.TunnelsTo(func(nc net.Conn) {
		_, err := nc.Read(make([]byte, 1))
		_, failed := nc.Write([]byte("a"))
		results <- result{err, failed}
	}))
	for i, cut := range []func(r raw, s *quic.Stream){
		func(_ raw, s *quic.Stream) {
			s.CancelRead(quic.StreamErrorCode(wire.RequestCancelled))
			s.CancelWrite(quic.StreamErrorCode(wire.RequestCancelled))
		},
		// STOP_SENDING is lost, or arrives later
		func(_ raw, s *quic.Stream) { s.CancelWrite(quic.StreamErrorCode(wire.RequestCancelled)) },
		func(r raw, _ *quic.Stream) { _ = r.q.CloseWithError(0x100, "") },
	} {
		r := dial(t, addr)
		r.control()
		s := r.stream(false, headers(":method: CONNECT", ":authority: b:443")...)
		if _, err := s.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		cut(r, s)
		if got := servertest.Receive(t, "the end", results); got.read == nil || got.read == io.EOF || got.write == nil {
			t.Errorf("case %d: %v, %v", i, got.read, got.write)
		}
	}
}

// Frames in a tunnel, and requests whose stream no handler has taken over.
func TestTunnelsOnTheWire(t *testing.T) {
	_, addr := run(t, &fasthttp.Server{HTTP2: fasthttp.HTTP2Config{ExtendedConnect: true}, Handler: func(ctx *fasthttp.RequestCtx) {
		switch string(ctx.ConnectProtocol()) {
		case "refused":
			ctx.Error("no", fasthttp.StatusForbidden)
		case "echo":
			ctx.Hijack(func(nc net.Conn) { _, _ = io.Copy(nc, nc) })
		}
	}})
	extended := func(protocol string, more ...string) []byte {
		return headers(append([]string{":method: CONNECT", ":protocol: " + protocol, ":scheme: https", ":authority: a", ":path: /"}, more...)...)
	}
	for _, row := range []struct {
		name, want string
		end        bool
		bytes      []byte
	}{
		{"a tunnel that the client ends", "200", true, frames(extended("echo"), frame(wire.TypeData, "a"))},
		{"content-length means nothing", "200", true, frames(extended("echo", "content-length: 100"), frame(wire.TypeData, "a"))},
		{"frames of unknown types", "200", true, frames(extended("echo"), []byte{0x21, 1, 0}, frame(wire.TypeData, "a"))},
		{"no handler takes it", "501", true, extended("other")},
		{"a refusal", "403", false, extended("refused")},
		{"HEADERS in a tunnel", "connection: H3_FRAME_UNEXPECTED", true, frames(extended("echo"), headers("a: b"))},
		{"PUSH_PROMISE in a tunnel", "connection: H3_FRAME_UNEXPECTED", true, frames(extended("echo"), frame(wire.TypePushPromise, "\x00"))},
		{"a method other than CONNECT", "H3_MESSAGE_ERROR", true, getHead(":protocol: echo")},
		{"no path", "H3_MESSAGE_ERROR", true, headers(":method: CONNECT", ":protocol: echo", ":scheme: https", ":authority: a")},
	} {
		r := dial(t, addr)
		r.control()
		if got := r.response(r.stream(row.end, row.bytes...)); got != row.want {
			t.Errorf("%s: %s, want %s", row.name, got, row.want)
		}
	}
}

// A client sends no extended CONNECT before the server has permitted it.
func TestClientAsksForPermission(t *testing.T) {
	_, addr := run(t, &fasthttp.Server{Handler: func(*fasthttp.RequestCtx) { t.Error("a request has arrived") }})
	c, _ := newClient(t)
	for range 2 {
		if _, err := call(t, c, "https://"+addr+"/", connectTo("a")); !errors.Is(err, fasthttp.ErrNoExtendedConnect) {
			t.Errorf("got %v", err)
		}
	}
	// a server whose settings do not arrive
	silent := rawServer(t, nil, func(*quic.Conn) {})
	c.Timeout = servertest.Short
	if _, err := call(t, c, "https://"+silent+"/", connectTo("a")); !errors.Is(err, fasthttp.ErrTimeout) {
		t.Errorf("without settings: %v", err)
	}
}

// WebSockets over HTTP/3 (RFC 9220), by both forms of the server.
func TestWebSockets(t *testing.T) {
	for _, compression := range []bool{false, true} {
		ended := make(chan error, 10)
		u := &websocket.Upgrader{EnableCompression: compression, Subprotocols: []string{"chat"}}
		h := &websocket.Handler{
			MaxQueue:  -1,
			OnMessage: func(s *websocket.Socket, m websocket.Message) { _ = s.Send(m.Type, m.Data) },
			OnClose:   func(_ *websocket.Socket, _ int, err error) { ended <- err },
		}
		_, addr := run(t, &fasthttp.Server{HTTP2: fasthttp.HTTP2Config{ExtendedConnect: true}, Handler: func(ctx *fasthttp.RequestCtx) {
			if string(ctx.Path()) == "/socket" {
				_ = u.Serve(ctx, h, nil)
				return
			}
			_ = u.Upgrade(ctx, func(c *websocket.Conn) {
				for {
					kind, p, err := c.ReadMessage()
					if err == nil {
						err = c.WriteMessage(kind, p)
					}
					if err != nil {
						ended <- err
						return
					}
				}
			})
		}})
		client, _ := newClient(t)
		for _, path := range []string{"/conn", "/socket"} {
			dialer := websocket.Dialer{HTTP2Client: client, EnableCompression: compression, Subprotocols: []string{"other", "chat"}}
			ctx, cancel := context.WithTimeout(context.Background(), wait)
			c, resp, err := dialer.DialContext(ctx, "wss://"+addr+path, nil)
			cancel()
			if err != nil {
				t.Fatal(err)
			}
			if resp.Proto != "HTTP/3.0" || resp.ProtoMajor != 3 || resp.StatusCode != 200 || c.Subprotocol() != "chat" {
				t.Errorf("the response is %+v", resp)
			}
			for _, size := range []int{0, 1, 126, 65536, 3 << 20} {
				text := servertest.SampleText(size)
				sent := make(chan error, 1)
				go func() { sent <- c.WriteMessage(websocket.TextMessage, text) }()
				if kind, p, err := c.ReadMessage(); kind != websocket.TextMessage || !bytes.Equal(p, text) || err != nil {
					t.Fatalf("%s: %d bytes of %d, %v", path, len(p), size, err)
				}
				servertest.Must(t, servertest.Receive(t, "the end of writing", sent))
			}
			servertest.Must(t, c.CloseWith(4001, "bye"))
			var closed *websocket.CloseError
			if err := servertest.Receive(t, "the end", ended); !errors.As(err, &closed) || closed.Code != 4001 {
				t.Errorf("%s: the server gets %v", path, err)
			}
		}
		// a request other than a handshake
		if resp, err := call(t, client, "https://"+addr+"/conn", nil); err != nil || resp.StatusCode() != fasthttp.StatusNotImplemented {
			t.Errorf("GET: %d, %v", resp.StatusCode(), err)
		}
	}
}

// The connection ends once its tunnels have ended.
func TestShutdownWaitsForTunnels(t *testing.T) {
	s, addr := run(t, policytest.TunnelsTo(func(nc net.Conn) { _, _ = io.Copy(nc, nc) }))
	c, _ := newClient(t, func(_ *fasthttp.Client, transport *Transport) { transport.closeTime = time.Millisecond })
	nc := openTunnel(t, c, addr)
	ended := make(chan error, 1)
	go func() { ended <- s.Shutdown(context.Background()) }()
	for _, text := range []string{"before", "after"} {
		b := make([]byte, len(text))
		if _, err := io.WriteString(nc, text); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(nc, b); string(b) != text || err != nil {
			t.Fatalf("%q, %v", b, err)
		}
	}
	servertest.Must(t, nc.Close())
	servertest.Must(t, servertest.Receive(t, "Shutdown", ended))
}

// Frames that a client gets in a tunnel.
func TestTunnelsOfClientsOnTheWire(t *testing.T) {
	begin := append([]byte{wire.StreamControl}, (&wire.Settings{ExtendedConnect: true}).Append(nil)...)
	for name, row := range map[string]struct {
		bytes []byte
		want  string
		code  wire.Code
	}{
		"content":                    {frames(status("200"), frame(wire.TypeData, "abc")), "abc", 0},
		"content-length, no meaning": {frames(status("200", "content-length: 1"), frame(wire.TypeData, "abc")), "abc", 0},
		"unknown frames":             {frames(status("200"), frame(0x21, "x"), frame(wire.TypeData, "abc")), "abc", 0},
		"after interim responses":    {frames(status("103"), status("200"), frame(wire.TypeData, "abc")), "abc", 0},
		"HEADERS":                    {frames(status("200"), headers("a: b")), "", wire.FrameUnexpected},
		"SETTINGS":                   {frames(status("200"), frame(wire.TypeSettings, "")), "", wire.FrameUnexpected},
		"PUSH_PROMISE":               {frames(status("200"), frame(wire.TypePushPromise, "\x00")), "", wire.IDError},
	} {
		ended := make(chan error, 1)
		addr := rawServer(t, begin, func(q *quic.Conn) {
			s, err := q.AcceptStream(context.Background())
			if err != nil {
				return
			}
			_, _ = s.Write(row.bytes)
			_ = s.Close()
			<-q.Context().Done()
			ended <- context.Cause(q.Context())
		})
		c, _ := newClient(t)
		got, err := io.ReadAll(openTunnel(t, c, addr))
		if row.code == 0 {
			if string(got) != row.want || err != nil {
				t.Errorf("%s: %q, %v", name, got, err)
			}
			continue
		}
		if !errors.Is(err, ErrProtocol) {
			t.Errorf("%s: %v", name, err)
		}
		end := servertest.Receive(t, "the end of the connection", ended)
		if e, ok := errors.AsType[*quic.ApplicationError](end); !ok || wire.Code(e.ErrorCode) != row.code {
			t.Errorf("%s: the server has got %v", name, end)
		}
	}
}
