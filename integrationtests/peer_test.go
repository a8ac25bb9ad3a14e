package integrationtests

import (
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// hostFor returns a client of p, of which nothing must be left when the test ends.
func hostFor(p *servertest.Peer) *fasthttp.HostClient {
	return servertest.EndsWith(p.T, &fasthttp.HostClient{Addr: p.Addr()})
}

// requestTo returns a request, which is released when the test ends.
func requestTo(t testing.TB, method, url string) *fasthttp.Request {
	req := servertest.Borrow(t, fasthttp.AcquireRequest, fasthttp.ReleaseRequest)
	req.Header.SetMethod(method)
	req.SetRequestURI(url)
	return req
}

// responseFor returns a response, which is released when the test ends.
func responseFor(t testing.TB) *fasthttp.Response {
	return servertest.Borrow(t, fasthttp.AcquireResponse, fasthttp.ReleaseResponse)
}
