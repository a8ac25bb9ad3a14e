package fasthttp

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp/internal/clientconn"
	"github.com/valyala/fasthttp/internal/servertest"
	"github.com/valyala/fasthttp/internal/uri"
)

// A custom RoundTripper gets an empty response, as DefaultTransport does.
func TestTransportGetsAnEmptyResponse(t *testing.T) {
	attempts := 0
	hc := &HostClient{
		Addr: "name.test",
		Transport: roundTripFunc(func(_ *HostClient, _ *Request, resp *Response) (bool, error) {
			attempts++
			if resp.StatusCode() != StatusOK || len(resp.Header.Peek("X-Left")) > 0 {
				t.Errorf("attempt %d gets %q", attempts, resp.Header.String())
			}
			resp.AppendBodyString("x")
			resp.Header.Set("X-Left", "1")
			resp.SetStatusCode(StatusTeapot)
			if attempts%2 == 1 {
				return true, errors.New("failed")
			}
			return false, nil
		}),
		RetryIfErr: func(*Request, int, error) (bool, bool) { return false, true },
	}
	resp := responseFor(t)
	resp.SetBodyString("left")
	resp.Header.Set("X-Left", "1")
	resp.SetStatusCode(StatusTeapot)
	resp.StreamBody = true
	for range 3 {
		servertest.Must(t, hc.Do(requestTo(t, MethodGet, "http://name.test/"), resp))
		if got := string(resp.Body()); got != "x" || resp.StatusCode() != StatusTeapot || !resp.StreamBody {
			t.Errorf("the body is %q, the status %d, StreamBody %v", got, resp.StatusCode(), resp.StreamBody)
		}
	}
}

// splitConn is a connection on which read and write deadlines must be set one by
// one: its SetDeadline has no effect.
type splitConn struct{ net.Conn }

func (c splitConn) SetDeadline(time.Time) error { return nil }

func TestClientSetsTheDeadlinesOfWrappersOneByOne(t *testing.T) {
	t.Parallel()
	p := servertest.Answering(t, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n")
	for name, do := range map[string]func(hc *HostClient, req *Request, resp *Response) error{
		"DoTimeout": func(hc *HostClient, req *Request, resp *Response) error {
			return hc.DoTimeout(req, resp, 30*time.Millisecond)
		},
		"SetTimeout": func(hc *HostClient, req *Request, resp *Response) error {
			req.SetTimeout(30 * time.Millisecond)
			return hc.Do(req, resp)
		},
		"WriteTimeout": func(hc *HostClient, req *Request, resp *Response) error {
			hc.ReadTimeout, hc.WriteTimeout = 30*time.Millisecond, time.Minute
			return hc.Do(req, resp)
		},
	} {
		hc := hostFor(p)
		hc.Dial = func(addr string) (net.Conn, error) {
			conn, err := net.Dial("tcp4", addr)
			return splitConn{conn}, err
		}
		servertest.Soon(t, name, func() {
			if err := do(hc, requestTo(t, MethodGet, p.URL("/")), responseFor(t)); err != error(ErrTimeout) {
				t.Errorf("%s: %v, want a timeout", name, err)
			}
		})
	}
}

func TestReleasedConnHasNoDeadlines(t *testing.T) {
	p := servertest.Answering(t, servertest.OK)
	for name, set := range map[string]func(net.Conn) error{
		"both":  func(c net.Conn) error { return c.SetDeadline(clientconn.PastDeadline) },
		"read":  func(c net.Conn) error { return c.SetReadDeadline(clientconn.PastDeadline) },
		"write": func(c net.Conn) error { return c.SetWriteDeadline(clientconn.PastDeadline) },
	} {
		for _, timeout := range []time.Duration{0, time.Minute} {
			p.Conns.Store(0)
			hc := hostFor(p)
			cc, err := hc.AcquireConn(timeout, false)
			servertest.Must(t, err)
			servertest.Must(t, set(cc.Conn()))
			hc.ReleaseConn(cc)
			req := requestTo(t, MethodPost, p.URL("/"))
			req.SetTimeout(timeout)
			if err := hc.Do(req, nil); err != nil || p.Conns.Load() != 1 {
				t.Errorf("%s, %v: %v, with %d connections", name, timeout, err, p.Conns.Load())
			}
		}
	}
}

func TestReleaseConnClosesOneThatWasCanceled(t *testing.T) {
	hc := hostFor(servertest.Answering(t, servertest.OK))
	cc, err := hc.AcquireConn(0, false)
	servertest.Must(t, err)
	cc.line.Guard.Cancel(ErrTimeout)
	hc.ReleaseConn(cc)
	if n := hc.ConnsCount(); n != 0 {
		t.Errorf("there are %d connections", n)
	}
}

// The client asks RetryIf after every failure on an established connection.
func TestRetryIfIsAskedWhateverHasFailed(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]string{
		"garbage":   "garbage\r\n\r\n",
		"half-head": "HTTP/1.1 200 OK\r\nContent-Le",
		"half-body": "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf",
		"chunks":    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
		"nothing":   "",
		"silence":   "-",
	} {
		for _, again := range []bool{true, false} {
			p := servertest.NewPeer(t, func(c *servertest.PeerConn) {
				if c.Request() == nil {
					return
				}
				if answer == "-" {
					c.UntilClosed()
					return
				}
				c.Send(answer)
			})
			hc := hostFor(p)
			hc.MaxIdemponentCallAttempts = 3
			hc.ReadTimeout = 30 * time.Millisecond
			if answer != "-" {
				hc.ReadTimeout = servertest.Patience
			}
			asked := 0
			hc.RetryIf = func(*Request) bool { asked++; return again }
			if hc.Do(requestTo(t, MethodPost, p.URL("/")), responseFor(t)) == nil {
				t.Errorf("%s: the call succeeds", name)
			}
			want, attempts := 1, int32(1)
			if again {
				want, attempts = 2, 3
			}
			// a call may end before the peer has seen its connection
			servertest.Eventually(t, "the attempts", func() bool { return p.Conns.Load() >= attempts })
			if asked != want || p.Conns.Load() != attempts {
				t.Errorf("%s, %v: asked %d times, %d attempts, want %d and %d", name, again, asked, p.Conns.Load(), want, attempts)
			}
		}
	}
	hc := &HostClient{
		Addr: "name.test", Dial: func(string) (net.Conn, error) { return nil, errNoConn },
		RetryIf: func(*Request) bool { t.Error("RetryIf is asked though there was no connection"); return false },
	}
	if err := hc.Do(requestTo(t, MethodGet, "http://name.test/"), nil); err != errNoConn {
		t.Error(err)
	}
}

// A stream without content is at its end at once: a caller that sees the length 0
// need not read the stream.
func TestClientStreamWithoutContentHoldsNoConnection(t *testing.T) {
	p := servertest.Answering(t, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
	hc := hostFor(p)
	hc.StreamResponseBody = true
	for range 3 {
		resp := responseFor(t)
		servertest.Must(t, hc.Do(requestTo(t, MethodGet, p.URL("/")), resp))
		if !resp.IsBodyStream() || hc.IdleConnsCount() != 1 {
			t.Errorf("a stream: %v, %d idle connections", resp.IsBodyStream(), hc.IdleConnsCount())
		}
		var b bytes.Buffer
		if n, err := b.ReadFrom(resp.BodyStream()); n != 0 || err != nil {
			t.Errorf("read %d bytes, %v", n, err)
		}
		servertest.Must(t, resp.CloseBodyStream())
	}
	p.Counts(1, 3)
}

// The body limit also applies if the caller passes no response. Such a call does not
// wait for a streamed body.
func TestClientLimitsBodiesThatNobodyWants(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\nContent-Length: 200\r\n\r\n"
	for _, c := range []struct {
		name, answer string
		streams      bool
		want         error
		idle         int
	}{
		{"head alone", head, false, ErrBodyTooLarge, 0},
		{"all of it", head + strings.Repeat("x", 200), false, ErrBodyTooLarge, 0},
		{"chunked", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nc8\r\n", false, ErrBodyTooLarge, 0},
		{"small", servertest.OK, false, nil, 1},
		{"head alone, streamed", head, true, nil, 0},
		{"small, streamed", servertest.OK, true, nil, 1},
	} {
		serve := func(peer *servertest.PeerConn) {
			for peer.Request() != nil {
				peer.Send(c.answer)
			}
		}
		callInBubble(t, serve, func(t *testing.T, hc *HostClient) {
			hc.MaxResponseBodySize, hc.StreamResponseBody = 100, c.streams
			takesTime(t, c.name, 0, func() {
				if err := hc.Do(requestTo(t, MethodPost, "http://peer.test/"), nil); err != c.want {
					t.Errorf("%s: %v, want %v", c.name, err, c.want)
				}
			})
			if n := hc.IdleConnsCount(); n != c.idle {
				t.Errorf("%s: %d idle connections, want %d", c.name, n, c.idle)
			}
		})
	}
}

func TestRequestURIOfAMalformedTargetSaysWhatItIs(t *testing.T) {
	for _, c := range []struct{ host, target, want string }{
		{"", "http://h:99999/p?q", "http://h:99999/p?q"},
		{"", "http://a b/p", "http://a%20b/p"},
		{"", "http://[::1/p", "http://[::1/p"},
		{"a\"b", "/p?q#f", "http://a\"b/p?q#f"},
		{"h:80:80", "/admin", "http://h:80:80/admin"},
		{"h", "/\x01", "http:///"},
	} {
		var req Request
		req.Header.SetHost(c.host)
		req.SetRequestURI(c.target)
		if got := req.URI().String(); got != c.want {
			t.Errorf("%q at %q: %q, want %q", c.target, c.host, got, c.want)
		}
		for _, name := range []string{"first", "second"} {
			if err := (&Client{Dial: failDial}).Do(&req, nil); err == nil || errors.Is(err, errNoConn) {
				t.Errorf("%q at %q: the %s call fails with %v", c.target, c.host, name, err)
			}
		}
	}
}

func failDial(string) (net.Conn, error) { return nil, errNoConn }

// After a redirect fails, the request has the URI that was sent last or refused.
func TestRedirectToWhatIsNoHost(t *testing.T) {
	for location, want := range map[string]struct {
		uri string
		err error
	}{
		"http://h:99999/b": {"http://h:99999/b", uri.ErrPort},
		"//a|b/c":          {"http://a|b/c", InvalidHostError("|")},
		"http://a\\@b/":    {"http:///", uri.ErrUser},
	} {
		p := servertest.Answering(t, fmt.Sprintf("HTTP/1.1 302 Found\r\nLocation: %s\r\nContent-Length: 0\r\n\r\n", location))
		req := requestTo(t, MethodGet, "http://name.test/a")
		client := &Client{Dial: func(string) (net.Conn, error) { return net.Dial("tcp4", p.Addr()) }}
		defer client.CloseIdleConnections()
		if err := client.DoRedirects(req, nil, 3); err != want.err || req.URI().String() != want.uri {
			t.Errorf("%s: %v at %q, want %v at %q", location, err, req.URI(), want.err, want.uri)
		}
		p.Counts(1, 1)
	}
	p := servertest.Answering(t, "HTTP/1.1 307 Again\r\nLocation: /b\r\nContent-Length: 0\r\n\r\n")
	req := requestTo(t, MethodPost, p.URL("/a"))
	req.SetBodyStream(strings.NewReader("body"), 4)
	if err := hostFor(p).DoRedirects(req, nil, 3); err != ErrRedirectBodyStream || string(req.URI().Path()) != "/a" {
		t.Errorf("a stream: %v at %q", err, req.URI())
	}
}

func TestUserInformationCostsNoMemory(t *testing.T) {
	if servertest.RaceDetector {
		t.Skip("the race detector allocates")
	}
	hc := &HostClient{Addr: "name.test"}
	req := requestTo(t, MethodGet, "http://user:p%40ss@name.test/")
	servertest.Must(t, hc.prepare(req))
	buf := make([]byte, 0, 1024)
	if n := testing.AllocsPerRun(100, func() { buf = req.appendHead(buf[:0], req.encode(0)) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if want := "Authorization: Basic dXNlcjpwQHNz\r\n"; !strings.Contains(string(buf), want) || len(req.Header.Peek(HeaderAuthorization)) > 0 {
		t.Errorf("sent is %q", buf)
	}
}

// The client does not dial if it has no host name to verify.
func TestClientTLSNeedsANameToVerify(t *testing.T) {
	dialed := 0
	dial := func(string) (net.Conn, error) { dialed++; return nil, errNoConn }
	for _, addr := range []string{"::1", "::1:443", "a:b:c"} {
		want := fmt.Sprintf("cannot determine tls server name from addr %q: address %s: too many colons in address", addr, addr)
		req := requestTo(t, MethodGet, "https://name.test/")
		if err := (&HostClient{Addr: addr, IsTLS: true, Dial: dial}).Do(req, nil); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", addr, err, want)
		}
		if err := (&PipelineClient{Addr: addr, IsTLS: true, Dial: dial}).Do(req, nil); err == nil || err.Error() != want {
			t.Errorf("%s: a PipelineClient: %v, want %s", addr, err, want)
		}
	}
	if dialed != 0 {
		t.Errorf("dialed %d times", dialed)
	}
}
