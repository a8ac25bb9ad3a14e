// Package gateway is a reverse proxy as users of a library build it: with this fasthttp, a
// fasthttpproxy.ReverseProxy.
package gateway

import (
	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttpproxy"
)

// New returns a handler that forwards requests by client, whose server has the address host.
func New(client *fasthttp.HostClient, host string) fasthttp.RequestHandler {
	client.NoDefaultUserAgentHeader, client.DisablePathNormalizing = true, true
	proxy := &fasthttpproxy.ReverseProxy{Target: "http://" + host, Client: client}
	return proxy.Handler
}
