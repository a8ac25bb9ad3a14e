package fasthttp

import (
	"fmt"
	"testing"

	"github.com/valyala/fasthttp/internal/header"
	"github.com/valyala/fasthttp/internal/servertest"
)

// A connection parses all heads with one parser. No head changes the result of a
// later one.
func TestClientHeadsDoNotDependOnEarlierOnes(t *testing.T) {
	t.Parallel()
	const lines = "Server: x\r\ncontent-type: text/x\r\nSet-Cookie: a=b\r\nContent-Length: 2\r\nX-Own: \t1 \r\n\r\n"
	heads := []string{
		"HTTP/1.1 200 OK\r\n" + lines + "ok",
		"HTTP/1.1 404 Not Found Here\r\n" + lines + "no",
		"HTTP/1.1 304 Not Modified\r\n" + lines,
		"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n" + lines + "ok",
		"HTTP/1.1 204\r\nServer: x\r\n\r\n",
		"HTTP/1.1 200 OK\r\nServer: x\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
		"HTTP/1.1 200 OK\r\nX: a\r\n b\r\nContent-Length: 2\r\n\r\nok",
		"HTTP/1.1 103 Hints\r\nServer: x\r\n\r\nHTTP/1.1 200 OK\r\nServer: x\r\nContent-Length: 0\r\n\r\n",
	}
	next := make(chan string, 1)
	p := servertest.NewPeer(t, func(c *servertest.PeerConn) {
		for c.Request() != nil {
			select {
			case head := <-next:
				c.Send(head)
			case <-c.Peer.Ended():
			}
		}
	})
	ask := func(hc *HostClient, head string, namesKept bool) string {
		next <- head
		resp := responseFor(t)
		if namesKept {
			resp.Header.DisableNormalizing()
		}
		servertest.Must(t, hc.Do(requestTo(t, MethodGet, p.URL("/")), resp))
		resp.Header.head.SetState(header.NoDefaultDate, true)
		return fmt.Sprintf("%q %q %d %v %q %q", resp.String(), resp.Header.head.RawHeaders(), resp.Header.ContentLength(),
			resp.ConnectionClose(), resp.Header.Peek("x-own"), resp.Header.PeekCookie("a"))
	}
	var order []int
	for i := range heads {
		// each head several times in a row, and after each of the others
		order = append(order, i, i, i, i)
		for j := range heads {
			order = append(order, j, i)
		}
	}
	hc := hostFor(p)
	for _, i := range order {
		for _, namesKept := range []bool{false, true} {
			fresh := hostFor(p)
			want := ask(fresh, heads[i], namesKept)
			fresh.CloseIdleConnections()
			if got := ask(hc, heads[i], namesKept); got != want {
				t.Fatalf("%q\nis, after others: %s\nby itself: %s", heads[i], got, want)
			}
		}
	}
}
