// Package gateway is a reverse proxy as users of a library build it: with the published fasthttp,
// a handler that removes the fields of one connection, and names the client.
package gateway

import "github.com/valyala/fasthttp"

// ofHop are the fields that concern one connection only (RFC 9110 section 7.6.1).
var ofHop = []string{
	"Connection", "Keep-Alive", "Proxy-Connection", "Proxy-Authenticate", "Proxy-Authorization", "Te", "Trailer",
	"Transfer-Encoding", "Upgrade",
}

// New returns a handler that forwards requests by client, whose server has the address host.
func New(client *fasthttp.HostClient, host string) fasthttp.RequestHandler {
	client.NoDefaultUserAgentHeader, client.DisablePathNormalizing = true, true
	return func(ctx *fasthttp.RequestCtx) {
		req, resp := &ctx.Request, &ctx.Response
		for _, name := range ofHop {
			req.Header.Del(name)
		}
		req.Header.SetBytesV("X-Forwarded-Host", req.Header.Host())
		req.Header.Set("X-Forwarded-For", ctx.RemoteIP().String())
		req.Header.Set("X-Forwarded-Proto", "http")
		req.Header.Add("Via", "1.1 fasthttp")
		req.Header.SetHost(host)
		if err := client.Do(req, resp); err != nil {
			ctx.Error(err.Error(), fasthttp.StatusBadGateway)
			return
		}
		for _, name := range ofHop {
			resp.Header.Del(name)
		}
	}
}
