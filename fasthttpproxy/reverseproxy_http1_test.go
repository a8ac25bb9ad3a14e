package fasthttpproxy_test

import (
	"strings"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttpproxy"
	"github.com/valyala/fasthttp/internal/roottest"
	"github.com/valyala/fasthttp/internal/servertest"
	"github.com/valyala/fasthttp/websocket"
)

// A server that speaks HTTP/2 may know WebSockets over HTTP/1.1 only.
func TestWebSocketsOfAServerWithoutExtendedConnect(t *testing.T) {
	upgrader := websocket.Upgrader{CheckOrigin: func(*fasthttp.RequestCtx) bool { return true }}
	roottest.Everywhere(t, func(t *testing.T, start func(s *fasthttp.Server) *roottest.Server) {
		for _, kind := range []string{"HostClient", "Client", "LBClient"} {
			t.Run(kind, func(t *testing.T) {
				back := start(&fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
					protocol := string(ctx.Request.Header.Protocol())
					_ = upgrader.Upgrade(ctx, func(c *websocket.Conn) { _ = c.WriteMessage(websocket.TextMessage, []byte(protocol)) })
				}})
				if !back.Engine.TLS {
					// the two sides do not choose a version
					return
				}
				var protocols fasthttp.Protocols
				protocols.SetHTTP1(true)
				protocols.SetHTTP2(true)
				config := servertest.TrustCertificate().Clone()
				config.NextProtos = []string{"h2", "http/1.1"} // as a program may set it beside Protocols
				host := &fasthttp.HostClient{
					Addr: back.Listener.Addr().String(), IsTLS: true, TLSConfig: config, Protocols: protocols,
				}
				client := map[string]fasthttpproxy.ReverseProxyClient{
					"HostClient": host,
					"Client":     &fasthttp.Client{TLSConfig: servertest.TrustCertificate(), Protocols: protocols},
					"LBClient":   &fasthttp.LBClient{Clients: []fasthttp.BalancingClient{host}},
				}[kind]
				p := &fasthttpproxy.ReverseProxy{Target: back.URL(""), Client: client}
				front := start(served(t, p))
				d := websocket.Dialer{TLSClientConfig: servertest.TrustCertificate()}
				for range 2 {
					c, _, err := d.DialContext(t.Context(), strings.Replace(front.URL("/"), "http", "ws", 1), nil)
					servertest.Must(t, err)
					if _, got, err := c.ReadMessage(); string(got) != "HTTP/1.1" || err != nil {
						t.Errorf("got %q, %v", got, err)
					}
					_ = c.Close()
				}
			})
		}
	})
}
