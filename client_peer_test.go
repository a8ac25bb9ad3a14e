package fasthttp

import (
	"testing"

	"github.com/valyala/fasthttp/internal/servertest"
)

// hostFor returns a client of p. The client closes its connections when the test
// ends.
func hostFor(p *servertest.Peer) *HostClient {
	hc := &HostClient{Addr: p.Addr()}
	p.T.Cleanup(func() {
		hc.CloseIdleConnections()
		if n, pending := hc.ConnsCount(), hc.PendingRequests(); n != 0 || pending != 0 {
			p.T.Errorf("%d connections and %d calls are left", n, pending)
		}
	})
	return hc
}

// requestTo returns a request, which is released when the test ends.
func requestTo(t testing.TB, method, url string) *Request {
	req := AcquireRequest()
	t.Cleanup(func() { ReleaseRequest(req) })
	req.Header.SetMethod(method)
	req.SetRequestURI(url)
	return req
}

// responseFor returns a response, which is released when the test ends.
func responseFor(t testing.TB) *Response {
	resp := AcquireResponse()
	t.Cleanup(func() { ReleaseResponse(resp) })
	return resp
}
