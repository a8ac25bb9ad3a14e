package fasthttpproxy

import (
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
	"golang.org/x/net/http/httpproxy"
)

// serveHTTP2 returns the address of a server that speaks HTTP/2 over TLS, and answers with the
// protocol and the content of each request.
func serveHTTP2(t *testing.T) string {
	s := &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
		fmt.Fprintf(ctx, "%s %s", ctx.Request.Header.Protocol(), ctx.PostBody())
	}}
	s.Protocols.SetHTTP1(true)
	s.Protocols.SetHTTP2(true)
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	servertest.Must(t, err)
	cert, key := servertest.Certificate()
	served := make(chan error, 1)
	go func() { served <- s.ServeTLSEmbed(ln, cert, key) }()
	t.Cleanup(func() {
		servertest.Must(t, s.Shutdown())
		servertest.Must(t, servertest.Receive(t, "the end of Serve", served))
	})
	return ln.Addr().String()
}

// HTTP/2 works through tunnels of any kind. Calls share the connection, for which the proxy
// gets one request.
func TestHTTP2GoesThroughTunnels(t *testing.T) {
	p := &testProxy{target: serveHTTP2(t)}
	addr := listen(t, "127.0.0.1:0", p.serve)
	for _, tt := range []struct{ proxy, want string }{
		{"http://" + addr, "CONNECT name.test:443 for name.test:443"},
		{"socks5://" + addr, "SOCKS name.test:443"},
	} {
		d := &Dialer{Config: httpproxy.Config{HTTPSProxy: tt.proxy}}
		dial, err := d.GetDialFuncForTLS(false, true)
		servertest.Must(t, err)
		configure, err := d.ConfigureClient(false)
		servertest.Must(t, err)
		for name, client := range map[string]*fasthttp.Client{"Dial": {Dial: dial}, "ConfigureClient": {ConfigureClient: configure}} {
			client.TLSConfig = servertest.TrustCertificate()
			client.TLSConfig.ServerName = "127.0.0.1"
			client.Protocols.SetHTTP1(true)
			client.Protocols.SetHTTP2(true)
			content := strings.Repeat("0123456789", 30_000)
			var all sync.WaitGroup
			for range 20 {
				all.Go(func() {
					req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
					defer fasthttp.ReleaseRequest(req)
					defer fasthttp.ReleaseResponse(resp)
					req.Header.SetMethod("POST")
					req.SetRequestURI("https://name.test/")
					req.SetBodyString(content)
					err := client.DoTimeout(req, resp, time.Minute)
					if string(resp.Body()) != "HTTP/2.0 "+content || string(resp.Header.Protocol()) != "HTTP/2.0" {
						t.Errorf("%s, %s: got %.40q by %s, %v", tt.proxy, name, resp.Body(), resp.Header.Protocol(), err)
					}
				})
			}
			all.Wait()
			client.CloseIdleConnections()
			if got := p.requests(); got != tt.want {
				t.Errorf("%s, %s: the proxy was asked for %q, want %q", tt.proxy, name, got, tt.want)
			}
		}
	}
}
