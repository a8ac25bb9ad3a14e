package fasthttpproxy_test

import (
	"io"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttpproxy"
	"github.com/valyala/fasthttp/internal/roottest"
	"github.com/valyala/fasthttp/internal/servertest"
	"github.com/valyala/fasthttp/websocket"
)

// askTraced sends a request, and reports informational responses.
func askTraced(t *testing.T, s *roottest.Server, informed func(code int, h http.Header)) (*http.Response, string) {
	t.Helper()
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{Got1xxResponse: func(code int, h textproto.MIMEHeader) error {
		informed(code, http.Header(h))
		return nil
	}})
	req, err := http.NewRequestWithContext(ctx, "GET", s.URL("/"), nil)
	servertest.Must(t, err)
	resp, err := s.Client.Do(req)
	servertest.Must(t, err)
	defer resp.Body.Close()
	content, err := io.ReadAll(resp.Body)
	servertest.Must(t, err)
	return resp, string(content)
}

// WebSockets go through the proxy, whatever versions of HTTP the two sides speak.
func TestWebSockets(t *testing.T) {
	upgrader := websocket.Upgrader{Subprotocols: []string{"echo"}, CheckOrigin: func(*fasthttp.RequestCtx) bool { return true }}
	upstreams(t, func(ctx *fasthttp.RequestCtx) {
		if string(ctx.Path()) != "/ws" {
			ctx.Error("no socket", 404)
			return
		}
		_ = upgrader.Upgrade(ctx, func(c *websocket.Conn) {
			for {
				kind, message, err := c.ReadMessage()
				if err != nil || c.WriteMessage(kind, message) != nil {
					return
				}
			}
		})
	}, func(t *testing.T, front *roottest.Server) {
		d := websocket.Dialer{TLSClientConfig: servertest.TrustCertificate(), Subprotocols: []string{"echo"}}
		if front.HTTP2 {
			d.HTTP2Client = &fasthttp.Client{TLSConfig: servertest.TrustCertificate()}
			d.HTTP2Client.Protocols.SetHTTP2(front.Engine.TLS)
			d.HTTP2Client.Protocols.SetUnencryptedHTTP2(!front.Engine.TLS)
			t.Cleanup(d.HTTP2Client.CloseIdleConnections)
		}
		url := strings.Replace(front.URL("/ws"), "http", "ws", 1)
		c, _, err := d.DialContext(t.Context(), url, nil)
		servertest.Must(t, err)
		for _, size := range []int{1, 1000, 200_000} {
			message := strings.Repeat("x", size)
			servertest.Must(t, c.WriteMessage(websocket.TextMessage, []byte(message)))
			_, got, err := c.ReadMessage()
			if string(got) != message || err != nil {
				t.Fatalf("got %d bytes, %v", len(got), err)
			}
		}
		if c.Subprotocol() != "echo" {
			t.Errorf("the subprotocol is %q", c.Subprotocol())
		}
		_ = c.Close()
		_, resp, err := d.DialContext(t.Context(), strings.Replace(url, "/ws", "/other", 1), nil)
		if err == nil || resp == nil || resp.StatusCode != 404 {
			t.Errorf("got %v, %v", resp, err)
		}
	})
}

// Each direction of an upgraded connection ends for itself, and one that breaks ends the other.
func TestUpgradedConnections(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start proxyStarter) {
		ended, rest := make(chan struct{}, 1), make(chan string, 1)
		peer := servertest.NewPeer(t, func(c *servertest.PeerConn) {
			lines, ok := headOf(c.R)
			if !ok {
				return
			}
			if got := named(lines, "Upgrade"); len(got) != 1 || got[0] != "lines" {
				c.Fail("got %q", lines)
			}
			c.Send(servertest.Head("HTTP/1.1 101 Switching Protocols", "Connection: Upgrade", "Upgrade: lines", "X-Own: 1") + "hello\n")
			switch {
			case strings.Contains(lines[0], "/first"):
				c.EndWrites()
				all, _ := io.ReadAll(c.R)
				rest <- string(all)
				return
			case !strings.Contains(lines[0], "/half"):
				c.UntilClosed()
				ended <- struct{}{}
				return
			}
			all, err := io.ReadAll(c.R)
			if err != nil {
				c.Fail("%v", err)
			}
			c.Send("got " + string(all))
			c.EndWrites()
			c.UntilClosed()
		})
		r := start(served(t, &fasthttpproxy.ReverseProxy{Target: peer.URL(""), UpgradeProtocols: []string{"other", "lines"}}))
		open := func(path string, fields ...string) *servertest.Conn {
			c := r.Dial()
			c.Send(servertest.Get(path, append(fields, "Connection: keep-alive, Upgrade", "Upgrade: h2c, Lines")...) + "early ")
			resp, err := http.ReadResponse(c.R, nil)
			servertest.Must(t, err)
			if resp.StatusCode != 101 || resp.Header.Get("Upgrade") != "lines" || resp.Header.Get("X-Own") != "1" {
				t.Fatalf("got %v", resp)
			}
			c.ExpectLine("hello\n")
			return c
		}
		if r.Engine.Sockets {
			// an empty body is no reason against it
			for _, fields := range [][]string{nil, {"Content-Length: 0"}} {
				c := open("/half", fields...)
				c.Send("and late")
				c.EndWrites()
				if all, err := io.ReadAll(c.R); string(all) != "got early and late" || err != nil {
					t.Errorf("%q: got %q, %v", fields, all, err)
				}
			}
		}
		if r.Engine.Sockets {
			// the server may end its direction first
			c := open("/first")
			if all, err := io.ReadAll(c.R); len(all) > 0 || err != nil {
				t.Errorf("got %q, %v", all, err)
			}
			c.Send("and late")
			c.EndWrites()
			if got := servertest.Receive(t, "the rest", rest); got != "early and late" {
				t.Errorf("the server got %q", got)
			}
		}
		c := open("/")
		_ = c.Close()
		servertest.Receive(t, "the end of the other side", ended)
	})
}

// If ModifyResponse makes another response of one that switches protocols, there is no tunnel.
func TestRefusedUpgrades(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start proxyStarter) {
		for name, refuse := range map[string]func(ctx *fasthttp.RequestCtx){
			"another response": func(ctx *fasthttp.RequestCtx) { ctx.Error("no", 403) },
			"another status":   func(ctx *fasthttp.RequestCtx) { ctx.SetStatusCode(403); ctx.SetBodyString("no") },
		} {
			ended := make(chan string, 1)
			peer := servertest.NewPeer(t, func(c *servertest.PeerConn) {
				if c.Request() == nil {
					return
				}
				c.Send(servertest.Head("HTTP/1.1 101 Switching Protocols", "Connection: Upgrade", "Upgrade: websocket"))
				rest, _ := io.ReadAll(c.R)
				ended <- string(rest)
			})
			c := start(served(t, &fasthttpproxy.ReverseProxy{Target: peer.URL(""), ModifyResponse: func(ctx *fasthttp.RequestCtx) error {
				refuse(ctx)
				return nil
			}})).Dial()
			c.Send(servertest.Get("/", "Connection: Upgrade", "Upgrade: websocket"))
			resp := c.Next("GET")
			if resp.StatusCode != 403 || resp.Content != "no" || len(resp.Header["Connection"])+len(resp.Header["Upgrade"])+len(resp.Header["Sec-Websocket-Accept"]) > 0 {
				t.Errorf("%s: got %d %q with %q", name, resp.StatusCode, resp.Content, resp.Header)
			}
			if rest := servertest.Receive(t, "the end of the other side", ended); rest != "" {
				t.Errorf("%s: the server got %q", name, rest)
			}
			// the connection speaks HTTP as before
			c.Send(servertest.Head("OPTIONS / HTTP/1.1", "Host: a", "Max-Forwards: 0"))
			c.Expect(200, "")
		}
	})
}
