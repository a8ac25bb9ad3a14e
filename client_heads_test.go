package fasthttp

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"testing/iotest"

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

// A call that fails leaves as much of a response as has arrived, and nothing of an earlier one.
func TestFailedCallsLeaveNothingOfAnEarlierResponse(t *testing.T) {
	t.Parallel()
	refused := errors.New("refused")
	for name, tc := range map[string]struct {
		send   string
		set    func(hc *HostClient, req *Request)
		status int // of what has arrived, or 0
	}{
		"no connection": {set: func(hc *HostClient, _ *Request) {
			hc.Dial = func(string) (net.Conn, error) { return nil, refused }
		}},
		"no host":         {set: func(_ *HostClient, req *Request) { req.SetRequestURI("/path") }},
		"a bad stream":    {set: func(_ *HostClient, req *Request) { req.SetBodyStream(iotest.ErrReader(refused), -1) }},
		"no response":     {},
		"half of a head":  {send: "HTTP/1.1 203 OK\r\nX-New: y\r\n"},
		"a bad head":      {send: "HTTP/1.1 203 OK\r\nX-New y\r\n\r\n"},
		"an interim one":  {send: "HTTP/1.1 103 Early Hints\r\nX-New: y\r\n\r\n"},
		"half of a body":  {send: "HTTP/1.1 203 OK\r\nContent-Length: 4\r\n\r\nab", status: 203},
		"too large":       {send: "HTTP/1.1 203 OK\r\nContent-Length: 4\r\n\r\nabcd", set: func(hc *HostClient, _ *Request) { hc.MaxResponseBodySize = 3 }, status: 203},
		"no attempt left": {set: func(hc *HostClient, req *Request) { hc.RetryIf = func(*Request) bool { return true } }},
	} {
		p := servertest.NewPeer(t, func(c *servertest.PeerConn) {
			if c.Request() != nil {
				c.Send(tc.send)
			}
		})
		hc, req, resp := hostFor(p), requestTo(t, MethodGet, p.URL("/")), responseFor(t)
		if tc.set != nil {
			tc.set(hc, req)
		}
		resp.SetStatusCode(StatusTeapot)
		resp.Header.Set("X-Old", "yes")
		resp.Header.DisableNormalizing()
		resp.SetBodyString("old")
		err := hc.Do(req, resp)
		want := tc.status
		if want == 0 {
			want = StatusOK
		}
		if err == nil || resp.StatusCode() != want || resp.Header.Peek("X-Old") != nil || strings.HasPrefix(string(resp.Body()), "old") {
			t.Errorf("%s: got %v and %q", name, err, resp.String())
		}
		if got := resp.Header.Peek("X-New"); tc.status == 0 && got != nil {
			t.Errorf("%s: X-New is %q", name, got)
		}
		if !resp.Header.head.Is(header.NamesKept) {
			t.Errorf("%s: a setting has changed", name)
		}
	}
	for _, uri := range []string{"/path", "http://a b/"} {
		c, resp := new(Client), responseFor(t)
		resp.SetStatusCode(StatusTeapot)
		resp.SetBodyString("old")
		if err := c.Do(requestTo(t, MethodGet, uri), resp); err == nil || resp.StatusCode() != StatusOK || len(resp.Body()) > 0 {
			t.Errorf("%s: got %v and %q", uri, err, resp.String())
		}
		if err := c.Do(requestTo(t, MethodGet, uri), nil); err == nil {
			t.Errorf("%s: no error", uri)
		}
	}
}

// A client ignores how long the content of a successful response to CONNECT would be: there is none
// (RFC 9110 section 9.3.6).
func TestTunnelsHaveNoFraming(t *testing.T) {
	t.Parallel()
	for _, fields := range []string{
		"Content-Length: 5\r\n", "Content-Length: -1\r\n", "Content-Length:\r\n", "Content-Length: 0\r\nContent-Length: 1\r\n",
		"Transfer-Encoding: chunked\r\n", "Transfer-Encoding: gzip\r\n", "Transfer-Encoding: chunked, chunked\r\n", "Transfer-Encoding:\r\n",
	} {
		p := servertest.Answering(t, "HTTP/1.1 200 OK\r\n"+fields+"\r\nhello")
		hc := hostFor(p)
		resp := responseFor(t)
		resp.StreamBody = true
		if err := hc.Do(requestTo(t, MethodConnect, p.URL("/")), resp); err != nil {
			t.Errorf("%q: %v", fields, err)
			continue
		}
		var hello [5]byte
		if _, err := io.ReadFull(resp.BodyStream(), hello[:]); string(hello[:]) != "hello" {
			t.Errorf("%q: got %q, %v", fields, hello, err)
		}
		_ = resp.CloseBodyStream()
		// another status than a 2xx has content, and so has a response to another request
		if err := hc.Do(requestTo(t, MethodGet, p.URL("/")), resp); err == nil && !strings.Contains("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", fields) {
			t.Errorf("%q: the response to GET is accepted", fields)
		}
		_ = resp.CloseBodyStream()
	}
}
