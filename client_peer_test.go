package fasthttp

import (
	"net"
	"sync/atomic"
	"testing"

	"github.com/valyala/fasthttp/internal/connpool"
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

// connWatch is a dial function that shows what comes on the last connection.
type connWatch struct {
	last atomic.Pointer[connpool.Probe]
}

func (w *connWatch) dial(addr string) (net.Conn, error) {
	nc, err := net.Dial("tcp", addr)
	if err == nil {
		p := new(connpool.Probe)
		p.Attach(nc)
		w.last.Store(p)
	}
	return nc, err
}

// awaitEnd waits until the server's end of the last connection is seen here, if this system
// can show that.
func (w *connWatch) awaitEnd(t testing.TB) {
	t.Helper()
	if p := w.last.Load(); p.Sees() {
		servertest.Eventually(t, "the end of the connection", func() bool { return p.Look() == connpool.Ended })
	}
}
