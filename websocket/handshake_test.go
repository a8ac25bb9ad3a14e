package websocket

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// usual are the fields of an opening handshake.
var usual = []string{
	"Host: example.com", "Connection: Upgrade", "Upgrade: websocket",
	"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Version: 13",
}

// opening returns an opening handshake: the usual one, without the fields whose names begin
// with "-" in changes, and with the other changes.
func opening(changes ...string) string {
	line := "GET /path HTTP/1.1"
	fields := append([]string(nil), usual...)
	for _, change := range changes {
		switch name, found := strings.CutPrefix(change, "-"); {
		case found:
			var rest []string
			for _, f := range fields {
				if !strings.HasPrefix(f, name+":") {
					rest = append(rest, f)
				}
			}
			fields = rest
		case strings.Contains(change, "HTTP/"):
			line = change
		default:
			fields = append(fields, change)
		}
	}
	return servertest.Head(append([]string{line}, fields...)...)
}

func TestHandshakes(t *testing.T) {
	t.Parallel()
	key := "-Sec-WebSocket-Key"
	tests := []struct {
		name    string
		changes []string
		status  int
		err     error
		answer  []string // fields of the response
	}{
		{"usual", nil, 101, nil, []string{"Sec-Websocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=", "Upgrade: websocket", "Connection: Upgrade"}},
		{"lists in several lines", []string{"-Connection", "-Upgrade", "Connection: keep-alive", "Connection: foo, UPGRADE", "Upgrade: h2c", "Upgrade: x, WebSocket"}, 101, nil, nil},
		{"no Connection", []string{"-Connection"}, 426, ErrNotWebSocket, []string{"Upgrade: websocket", "Sec-Websocket-Version: 13"}},
		{"another token", []string{"-Connection", "Connection: Upgrades"}, 426, ErrNotWebSocket, nil},
		{"no Upgrade", []string{"-Upgrade"}, 426, ErrNotWebSocket, nil},
		{"another protocol", []string{"-Upgrade", "Upgrade: websockets"}, 426, ErrNotWebSocket, nil},
		{"POST", []string{"POST / HTTP/1.1", "Content-Length: 0"}, 405, errMethod, []string{"Allow: GET"}},
		{"HTTP/1.0", []string{"GET / HTTP/1.0"}, 426, errProtocol, nil},
		{"closing", []string{"Connection: close"}, 400, errClosing, nil},
		{"no key", []string{key}, 400, errKey, nil},
		{"two keys", []string{"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="}, 400, errKey, nil},
		{"short key", []string{key, "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25j"}, 400, errKey, nil},
		{"long key", []string{key, "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZTEyMzQ="}, 400, errKey, nil},
		{"key with a blank", []string{key, "Sec-WebSocket-Key: dGhl HNhbXBsZSBub25jZQ=="}, 400, errKey, nil},
		{"no version", []string{"-Sec-WebSocket-Version"}, 426, ErrVersion, []string{"Sec-Websocket-Version: 13", "Upgrade: websocket", "Connection: Upgrade"}},
		{"old version", []string{"-Sec-WebSocket-Version", "Sec-WebSocket-Version: 8"}, 426, ErrVersion, []string{"Sec-Websocket-Version: 13"}},
		{"two versions", []string{"Sec-WebSocket-Version: 13"}, 400, errVersions, nil},
		{"same origin", []string{"Origin: https://EXAMPLE.com"}, 101, nil, nil},
		{"another origin", []string{"Origin: https://example.org"}, 403, ErrOrigin, nil},
		{"another port", []string{"Origin: https://example.com:8080"}, 403, ErrOrigin, nil},
		{"null", []string{"Origin: null"}, 403, ErrOrigin, nil},
		{"two origins", []string{"Origin: https://example.com", "Origin: https://example.com"}, 403, ErrOrigin, nil},
		{"user information", []string{"Origin: https://example.com@x.sub.example.net"}, 403, ErrOrigin, nil},
		{"by a pattern", []string{"Origin: https://a.sub.Example.net"}, 101, nil, nil},
		{"not by that pattern", []string{"Origin: https://sub.example.net"}, 403, ErrOrigin, nil},
		{"by a pattern for ports", []string{"Origin: http://localhost:3000"}, 101, nil, nil},
		{"by a whole origin", []string{"Origin: https://secure.example"}, 101, nil, nil},
		{"not by a whole origin", []string{"Origin: http://secure.example"}, 403, ErrOrigin, nil},
		{"a subprotocol", []string{"Sec-WebSocket-Protocol: foo, b", "Sec-WebSocket-Protocol: a"}, 101, nil, []string{"Sec-Websocket-Protocol: a"}},
		{"no such subprotocol", []string{"Sec-WebSocket-Protocol: A"}, 101, nil, []string{"Sec-Websocket-Protocol: "}},
		{"malformed subprotocols", []string{"Sec-WebSocket-Protocol: a b"}, 400, errProtocols, nil},
		{"compression", []string{"Sec-WebSocket-Extensions: permessage-deflate"}, 101, nil, []string{"Sec-Websocket-Extensions: permessage-deflate; server_no_context_takeover; client_no_context_takeover"}},
		{"the second offer", []string{"Sec-WebSocket-Extensions: foo, permessage-deflate; x", "Sec-WebSocket-Extensions: permessage-deflate; server_max_window_bits=10; client_max_window_bits"}, 101, nil, []string{"Sec-Websocket-Extensions: permessage-deflate; server_no_context_takeover; client_no_context_takeover; server_max_window_bits=10"}},
		{"declined parameters", []string{"Sec-WebSocket-Extensions: permessage-deflate; server_max_window_bits=7, permessage-deflate; client_max_window_bits; client_max_window_bits"}, 101, nil, []string{"Sec-Websocket-Extensions: "}},
		{"malformed extensions", []string{"Sec-WebSocket-Extensions: permessage-deflate;;"}, 400, errExtensions, nil},
	}
	forEachEngine(t, func(t *testing.T, start starter) {
		errs := make(chan error, 1)
		u := &Upgrader{
			Subprotocols: []string{"a", "b"}, EnableCompression: true,
			OriginPatterns: []string{"*.sub.example.net", "localhost:*", "https://secure.example"},
		}
		s := start(&fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
			ctx.Response.Header.Set("X-Set-Before", "yes")
			errs <- u.Upgrade(ctx, echo)
		}})
		for _, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				c := s.Dial()
				c.Send(opening(tt.changes...))
				resp := c.Next("GET")
				err := servertest.Receive(t, "the result of Upgrade", errs)
				if resp.StatusCode != tt.status || tt.err != nil && !errors.Is(err, tt.err) || (err != nil) != (tt.status != 101) {
					t.Errorf("got %d %v, want %d %v", resp.StatusCode, err, tt.status, tt.err)
				}
				var refusal HandshakeError
				if err != nil && (!errors.Is(err, ErrBadHandshake) || !errors.As(err, &refusal) || refusal.Status != tt.status || resp.Content != err.Error()) {
					t.Errorf("the error is %#v, and the content %q", err, resp.Content)
				}
				if tt.status == 101 && (resp.Header.Get("X-Set-Before") != "yes" || resp.Header.Get("Content-Length") != "" || resp.Header.Get("Content-Type") != "") {
					t.Errorf("the response has %v", resp.Header)
				}
				for _, want := range tt.answer {
					name, value, _ := strings.Cut(want, ": ")
					if got := strings.Join(resp.Header[name], ", "); got != value {
						t.Errorf("%s is %q, want %q", name, got, value)
					}
				}
				if tt.status == 101 {
					c.Send("\x88\x80\x00\x00\x00\x00")
				}
			})
		}
	})
}

// TestHandshakeHooks has an Upgrader that makes the decisions by functions.
func TestHandshakeHooks(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		u := &Upgrader{
			CheckOrigin: func(ctx *fasthttp.RequestCtx) bool { return string(ctx.Request.Header.Peek("Origin")) == "null" },
			Error: func(ctx *fasthttp.RequestCtx, status int, reason error) {
				ctx.Error("own: "+reason.Error(), status)
			},
		}
		s := start(&fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
			if !IsWebSocketUpgrade(ctx) || !FastHTTPIsWebSocketUpgrade(ctx) {
				ctx.SetBodyString("plain")
				return
			}
			if all := Subprotocols(ctx); len(all) > 0 {
				ctx.Response.Header.Set("Sec-WebSocket-Protocol", all[len(all)-1])
			}
			_ = u.Upgrade(ctx, func(c *Conn) { _ = c.WriteMessage(TextMessage, []byte(c.Subprotocol())) })
		}})
		c := s.Dial()
		c.Get("/")
		c.Expect(200, "plain")
		c.Send(opening("Origin: https://example.com"))
		c.Expect(403, "own: "+ErrOrigin.Error())
		// a refusal does not end the connection
		c.Send(opening("-Sec-WebSocket-Version"))
		if resp := c.Expect(426, "own: "+ErrVersion.Error()); resp.Header.Get("Sec-Websocket-Version") != "13" {
			t.Errorf("the response has %v", resp.Header)
		}
		ws, resp, err := dialHeader(s, Dialer{Subprotocols: []string{"x", "y"}}, http.Header{"Origin": {"null"}})
		servertest.Must(t, err)
		if ws.Subprotocol() != "y" || resp.StatusCode != 101 {
			t.Errorf("got the subprotocol %q, %d", ws.Subprotocol(), resp.StatusCode)
		}
		expectMessage(t, ws, TextMessage, []byte("y"))
		servertest.Must(t, ws.Close())
	})
}

func TestOriginPatterns(t *testing.T) {
	for _, tt := range []struct {
		pattern, text string
		want          bool
	}{
		{"", "", true}, {"", "a", false}, {"a", "A", true}, {"a", "", false}, {"*", "", true}, {"*", "abc", true},
		{"a*c", "ac", true}, {"a*c", "abcbc", true}, {"a*c", "abcb", false}, {"*.a.b", "x.a.b", true}, {"*.a.b", ".a.b", true},
		{"*.a.b", "a.b", false}, {"*.a.b", "x.a.b.c", false}, {"a*b*c", "aXbYbZc", true}, {"a*b*c", "aXc", false}, {"**", "x", true},
	} {
		if got := matches(tt.pattern, []byte(tt.text)); got != tt.want {
			t.Errorf("matches(%q, %q) = %v", tt.pattern, tt.text, got)
		}
	}
}

// TestHandshakeOverHTTP2 has a request whose connection belongs to other requests, too.
func TestHandshakeOverHTTP2(t *testing.T) {
	for _, e := range servertest.Engines[:2] {
		s := &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
			if err := new(Upgrader).Upgrade(ctx, echo); !errors.Is(err, errProtocol) {
				t.Errorf("got %v", err)
			}
		}}
		s.Protocols.SetUnencryptedHTTP2(true)
		r := servertest.Start(t, e, s, prepare)
		var p http.Protocols
		p.SetUnencryptedHTTP2(true)
		tr := &http.Transport{Protocols: &p}
		resp, err := (&http.Client{Transport: tr, Timeout: servertest.Patience}).Get("http://" + r.Listener.Addr().String())
		servertest.Must(t, err)
		_ = resp.Body.Close()
		if resp.StatusCode != fasthttp.StatusNotImplemented {
			t.Errorf("got %d", resp.StatusCode)
		}
		tr.CloseIdleConnections()
	}
}
