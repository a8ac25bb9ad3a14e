package fasthttp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp/internal/servertest"
)

// A loadKind is the scripted peer's reaction to a request, and the possible results of the
// call. The path of a request is /KIND/NUMBER. Responses repeat the number in their content,
// so that a response to another request is detected.
type loadKind struct {
	// serve responds to the request with the number, and reports whether the peer
	// keeps the connection
	serve func(c *servertest.PeerConn, r *http.Request, number string) bool
	// status and body are the result of the call if want is nil; a body of "#" means the
	// number
	status int
	body   string
	want   error // the error of the call, which may wrap it
}

// errAny means any error.
var errAny = errors.New("any error")

// loadAnswer responds with a head and a body, in which # is replaced by the number.
func loadAnswer(head, body string) func(c *servertest.PeerConn, r *http.Request, number string) bool {
	return func(c *servertest.PeerConn, r *http.Request, number string) bool {
		body := strings.ReplaceAll(body, "#", number)
		c.Send(strings.NewReplacer("LENGTH", strconv.Itoa(len(body)), "#", number).Replace(head))
		if r.Method != MethodHead {
			c.Send(body)
		}
		return !strings.Contains(head, "close")
	}
}

// thenClose makes the peer close the connection after the response.
func thenClose(serve func(c *servertest.PeerConn, r *http.Request, number string) bool) func(c *servertest.PeerConn, r *http.Request, number string) bool {
	return func(c *servertest.PeerConn, r *http.Request, number string) bool {
		serve(c, r, number)
		return false
	}
}

const (
	loadHead    = "HTTP/1.1 200 OK\r\nContent-Length: LENGTH\r\n\r\n"
	loadChunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
)

var loadKinds = map[string]loadKind{
	"length":   {loadAnswer(loadHead, "#"), 200, "#", nil},
	"long":     {loadAnswer(loadHead, strings.Repeat("long ", 10_000)+"#"), 200, strings.Repeat("long ", 10_000) + "#", nil},
	"chunked":  {loadAnswer(loadChunked, "1\r\n<\r\n6\r\n#\r\n1\r\n>\r\n0\r\nX: y\r\n\r\n"), 200, "<#>", nil},
	"head":     {loadAnswer(loadChunked, "never sent"), 200, "", nil},
	"empty":    {loadAnswer("HTTP/1.1 204 No Content\r\n\r\n", ""), 204, "", nil},
	"same":     {loadAnswer("HTTP/1.1 304 Not Modified\r\nContent-Length: 10\r\n\r\n", ""), 304, "", nil},
	"hints":    {loadAnswer("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"+loadHead, "#"), 200, "#", nil},
	"last":     {loadAnswer("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: LENGTH\r\n\r\n", "#"), 200, "#", nil},
	"end":      {thenClose(loadAnswer("HTTP/1.1 200 OK\r\n\r\n", "#")), 200, "#", nil},
	"old":      {thenClose(loadAnswer("HTTP/1.0 200 OK\r\nContent-Length: LENGTH\r\n\r\n", "#")), 200, "#", nil},
	"redirect": {loadAnswer("HTTP/1.1 302 Found\r\nLocation: /length/#\r\nContent-Length: 0\r\n\r\n", ""), 302, "", nil},
	"echo": {func(c *servertest.PeerConn, r *http.Request, number string) bool {
		return loadAnswer(loadHead, c.Body)(c, r, number)
	}, 200, "#", nil},
	"truncated":      {thenClose(loadAnswer("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n", "#")), 0, "", io.ErrUnexpectedEOF},
	"truncated head": {thenClose(loadAnswer("HTTP/1.1 200 OK\r\nContent-", "")), 0, "", io.ErrUnexpectedEOF},
	"no last chunk":  {thenClose(loadAnswer(loadChunked, "6\r\n#\r\n")), 0, "", io.ErrUnexpectedEOF},
	"nonsense":       {thenClose(loadAnswer("HTTP/1.1 maybe\r\n\r\n", "")), 0, "", errAny},
	"silence": {func(c *servertest.PeerConn, _ *http.Request, _ string) bool {
		c.UntilClosed()
		return false
	}, 0, "", context.DeadlineExceeded},
	"canceled": {func(c *servertest.PeerConn, _ *http.Request, _ string) bool {
		c.UntilClosed()
		return false
	}, 0, "", context.Canceled},
	"slow": {func(c *servertest.PeerConn, _ *http.Request, number string) bool {
		for _, b := range strings.Replace(loadHead, "LENGTH", strconv.Itoa(len(number)), 1) + number {
			c.Send(string(b))
			runtime.Gosched()
		}
		return true
	}, 200, "#", nil},
}

// TestClientUnderLoad runs many calls at once: every kind of response, with every form of
// call. No call may get the response to another one. In the end no connection and no goroutine
// is left.
func TestClientUnderLoad(t *testing.T) {
	var names []string
	for name := range loadKinds {
		names = append(names, name)
	}
	const calls = 2000
	for _, few := range []bool{false, true} {
		before := runtime.NumGoroutine()
		p := servertest.NewPeer(t, func(c *servertest.PeerConn) {
			for r := c.Request(); r != nil; r = c.Request() {
				kind, number, _ := strings.Cut(strings.Trim(r.URL.Path, "/"), "/")
				if !loadKinds[kind].serve(c, r, number) {
					return
				}
			}
		})
		// The default dialer times out after three seconds. A busy machine may need
		// longer for so many connections.
		client := &Client{DialTimeout: func(addr string, timeout time.Duration) (net.Conn, error) {
			return net.DialTimeout("tcp4", addr, cmp.Or(timeout, servertest.Never))
		}}
		if few {
			client = &Client{MaxConnsPerHost: 16, Dial: func(addr string) (net.Conn, error) { return net.Dial("tcp4", addr) }}
		}
		var all servertest.Crowd
		for i := range calls {
			all.Go(func() {
				name := names[i%len(names)]
				if err := loadCall(t.Context(), client, p, name, fmt.Sprintf("%06d", i)); err != nil {
					t.Errorf("%s %d: %v", name, i, err)
				}
			})
		}
		all.Wait(t, "many calls")
		servertest.Eventually(t, "the end of all connections", func() bool {
			// A dial may still return a connection for a call that has ended.
			client.CloseIdleConnections()
			return client.ConnsCount() == 0
		})
		// there is none if it was not used for long enough
		for _, hc := range client.hosts.All() {
			if n, waiting := hc.PendingRequests(), hc.pool.Waiting(); n != 0 || waiting != 0 {
				t.Errorf("%d calls are left, and %d wait", n, waiting)
			}
		}
		servertest.Eventually(t, "the end of all connections at the peer", func() bool { return p.OpenConns() == 0 })
		p.Stop()
		servertest.Eventually(t, "the end of all goroutines", func() bool { return runtime.NumGoroutine() <= before })
	}
}

// loadCall does a call of a kind in one of the forms that suit it, and returns an
// error if the result is wrong.
func loadCall(ctx context.Context, client *Client, p *servertest.Peer, name, number string) error {
	kind := loadKinds[name]
	req, resp := AcquireRequest(), AcquireResponse()
	defer ReleaseRequest(req)
	defer ReleaseResponse(resp)
	req.SetRequestURI(p.URL("/" + url.PathEscape(name) + "/" + number))
	status, body := kind.status, strings.ReplaceAll(kind.body, "#", number)
	var err error
	switch form := rand.N(6); {
	case name == "silence":
		req.Header.SetMethod(MethodPost)
		err = client.DoTimeout(req, resp, rand.N(30*time.Millisecond)+1)
	case name == "canceled":
		ctx, cancel := context.WithCancel(ctx)
		time.AfterFunc(rand.N(30*time.Millisecond), cancel)
		err = client.DoContext(ctx, req, resp)
	case name == "head":
		req.Header.SetMethod(MethodHead)
		err = client.Do(req, resp)
	case name == "redirect" && form < 3:
		status, body = 200, number
		err = client.DoRedirects(req, resp, 2)
	case name == "echo":
		req.Header.SetMethod(MethodPut)
		req.SetBodyString(number)
		if form < 3 {
			req.SetBodyStream(strings.NewReader(number), -1)
		}
		err = client.Do(req, resp)
	case form == 0:
		err = client.DoTimeout(req, resp, servertest.Never)
	case form == 1:
		err = client.DoContext(ctx, req, resp)
	case form == 2 && kind.want == nil:
		return client.Do(req, nil)
	case form == 3:
		return loadStream(client, req, resp, kind, body)
	default:
		err = client.Do(req, resp)
	}
	switch {
	case kind.want == nil && err == nil:
		if resp.StatusCode() != status || string(resp.Body()) != body {
			return fmt.Errorf("got %d %.40q, want %d %.40q", resp.StatusCode(), resp.Body(), status, body)
		}
		return nil
	case kind.want == errAny && err != nil || kind.want != nil && errors.Is(err, kind.want):
		return nil
	}
	return fmt.Errorf("got %v, want %v", err, kind.want)
}

// loadStream reads the response of a call as a stream, and may close it early.
func loadStream(client *Client, req *Request, resp *Response, kind loadKind, want string) error {
	resp.StreamBody = true
	err := client.Do(req, resp)
	if err == nil && resp.BodyStream() != nil && rand.N(2) == 0 {
		return resp.CloseBodyStream()
	}
	var body []byte
	if stream := resp.BodyStream(); err == nil && stream != nil {
		body, err = io.ReadAll(stream)
	}
	switch {
	case kind.want == errAny && err != nil || kind.want != nil && errors.Is(err, kind.want):
		return resp.CloseBodyStream()
	case err != nil || kind.want != nil:
		return fmt.Errorf("got %v from a stream, want %v", err, kind.want)
	case string(body) != want:
		return fmt.Errorf("got %.40q from a stream, want %.40q", body, want)
	}
	return resp.CloseBodyStream()
}
