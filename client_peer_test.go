package fasthttp

import (
	"net"
	"sync/atomic"
	"testing"

	"github.com/valyala/fasthttp/internal/clientconn"
	"github.com/valyala/fasthttp/internal/servertest"
)

// hostFor returns a client of p, of which nothing must be left when the test ends. It closes no
// connection because the machine has stood still for as long as one may be idle by default.
func hostFor(p *servertest.Peer) *HostClient {
	return servertest.EndsWith(p.T, &HostClient{Addr: p.Addr(), MaxIdleConnDuration: servertest.Never})
}

// requestTo returns a request, which is released when the test ends.
func requestTo(t testing.TB, method, url string) *Request {
	req := servertest.Borrow(t, AcquireRequest, ReleaseRequest)
	req.Header.SetMethod(method)
	req.SetRequestURI(url)
	return req
}

// responseFor returns a response, which is released when the test ends.
func responseFor(t testing.TB) *Response {
	return servertest.Borrow(t, AcquireResponse, ReleaseResponse)
}

// connWatch is a dial function that shows the input of the last connection.
type connWatch struct {
	last atomic.Pointer[clientconn.Probe]
}

func (w *connWatch) dial(addr string) (net.Conn, error) {
	nc, err := net.Dial("tcp", addr)
	if err == nil {
		p := new(clientconn.Probe)
		p.Attach(nc)
		w.last.Store(p)
	}
	return nc, err
}

// awaitEnd waits until this side sees that the server has closed the last connection, if this
// system can show that.
func (w *connWatch) awaitEnd(t testing.TB) {
	t.Helper()
	if p := w.last.Load(); p.CanCheck() {
		servertest.Eventually(t, "the end of the connection", func() bool { return p.Check() == clientconn.Ended })
	}
}

// awaitSomething waits until something was sent on the last connection, or the client has read
// that and closed it.
func (w *connWatch) awaitSomething(t testing.TB) {
	t.Helper()
	if p := w.last.Load(); p.CanCheck() {
		servertest.Eventually(t, "something on the connection", func() bool { return p.Check() != clientconn.Quiet })
	}
}
