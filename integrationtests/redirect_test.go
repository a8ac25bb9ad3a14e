package integrationtests

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// redirecting is a peer that redirects requests for /from, and responds to all
// others with a description of the request.
func redirecting(t testing.TB, status int, location string, seen chan<- *http.Request, bodies chan<- string) *servertest.Peer {
	return servertest.NewPeer(t, func(c *servertest.PeerConn) {
		for req := c.Request(); req != nil; req = c.Request() {
			if req.URL.Path == "/from" {
				c.Send("HTTP/1.1 " + string(fasthttp.AppendUint(nil, status)) + " Moved\r\nContent-Length: 5\r\nLocation: " + location + "\r\n\r\nmoved")
				continue
			}
			seen <- req
			bodies <- c.Body
			c.Send(servertest.OK)
		}
	})
}

// Known failure 37: methods and bodies after a redirect.
func TestRedirectMethodAndBody(t *testing.T) {
	tests := []struct {
		status       int
		method, want string
		body         string
	}{
		{301, "GET", "GET", ""}, {302, "GET", "GET", ""}, {303, "GET", "GET", ""}, {307, "GET", "GET", ""}, {308, "GET", "GET", ""},
		{301, "HEAD", "HEAD", ""}, {303, "HEAD", "HEAD", ""}, {307, "HEAD", "HEAD", ""},
		{301, "POST", "GET", ""}, {302, "POST", "GET", ""}, {303, "POST", "GET", ""},
		{307, "POST", "POST", "body"}, {308, "POST", "POST", "body"},
		{301, "PUT", "PUT", "body"}, {302, "PUT", "PUT", "body"}, {303, "PUT", "GET", ""}, {307, "PUT", "PUT", "body"},
		{302, "DELETE", "DELETE", "body"}, {303, "DELETE", "GET", ""}, {303, "PATCH", "GET", ""},
	}
	for _, tt := range tests {
		seen, bodies := make(chan *http.Request, 1), make(chan string, 1)
		p := redirecting(t, tt.status, "/to?x=1", seen, bodies)
		req, resp := requestTo(t, tt.method, p.URL("/from")), responseFor(t)
		req.Header.Set("X-Own", "kept")
		if tt.method != "GET" && tt.method != "HEAD" {
			req.SetBodyString("body")
			req.Header.SetContentType("text/x")
			req.Header.SetContentEncoding("own")
		}
		servertest.Must(t, hostFor(p).DoRedirects(req, resp, 1))
		got, body := servertest.Receive(t, "a request", seen), servertest.Receive(t, "a body", bodies)
		if got.Method != tt.want || body != tt.body || got.URL.RequestURI() != "/to?x=1" || got.Header.Get("X-Own") != "kept" {
			t.Errorf("%d after %s: got %s %s with body %q", tt.status, tt.method, got.Method, got.URL, body)
		}
		if hasType := got.Header.Get("Content-Type") != "" || got.Header.Get("Content-Encoding") != ""; hasType != (tt.body != "") {
			t.Errorf("%d after %s: fields of the content are %v", tt.status, tt.method, got.Header)
		}
		if string(req.Header.Method()) != tt.method || req.URI().String() != p.URL("/to?x=1") {
			t.Errorf("the request of the caller became %s %s", req.Header.Method(), req.URI())
		}
	}
}

// Known failure 37: the client sends credentials only to their origin, even after a redirect
// back to it.
func TestRedirectLeavesCredentialsBehind(t *testing.T) {
	credentials := []string{"Authorization", "Cookie", "Proxy-Authorization"}
	check := func(t *testing.T, got *http.Request, want bool) {
		t.Helper()
		for _, name := range credentials {
			if has := got.Header.Get(name) != ""; has != want {
				t.Errorf("%s at %s: %v, want %v", name, got.Host, has, want)
			}
		}
		if got.Header.Get("X-Own") != "kept" {
			t.Errorf("X-Own was removed")
		}
	}
	send := func(t *testing.T, url string) {
		client := &fasthttp.Client{}
		t.Cleanup(client.CloseIdleConnections)
		req := requestTo(t, fasthttp.MethodGet, url)
		for _, name := range credentials {
			req.Header.Set(name, "a=b")
		}
		req.Header.Set("X-Own", "kept")
		servertest.Must(t, client.DoRedirects(req, responseFor(t), 5))
		for _, name := range credentials {
			if len(req.Header.Peek(name)) == 0 {
				t.Errorf("the request of the caller has lost %s", name)
			}
		}
	}
	seen, bodies := make(chan *http.Request, 1), make(chan string, 1)
	same := redirecting(t, 302, "/to", seen, bodies)
	send(t, same.URL("/from"))
	check(t, servertest.Receive(t, "a request", seen), true)
	servertest.Receive(t, "a body", bodies)

	other := redirecting(t, 302, same.URL("/to"), nil, nil)
	send(t, other.URL("/from"))
	check(t, servertest.Receive(t, "a request", seen), false)
	servertest.Receive(t, "a body", bodies)

	// a -> b -> a
	var back *servertest.Peer
	away := servertest.NewPeer(t, func(c *servertest.PeerConn) {
		c.Request()
		c.Send("HTTP/1.1 307 Back\r\nContent-Length: 0\r\nLocation: " + back.URL("/to") + "\r\n\r\n")
	})
	back = redirecting(t, 302, away.URL("/"), seen, bodies)
	send(t, back.URL("/from"))
	check(t, servertest.Receive(t, "a request", seen), false)
	servertest.Receive(t, "a body", bodies)
}

// Known failure 37: the values that a Location may have.
func TestRedirectLocation(t *testing.T) {
	tests := []struct{ location, want string }{
		{"/to", "/to"},
		{"to?a=b", "/to?a=b"},
		{"/to#part", "/to"},
		{"/sp ace/\xc3\xa4", "/sp%20ace/%C3%A4"},
		{"/to%0d%0aX:%20y", "/to%0D%0AX:%20y"},
		{"", fasthttp.ErrMissingLocation.Error()},
		{"ftp://example.com/", "unsupported protocol"},
		{"FILE:///etc/passwd", "unsupported protocol"},
		{"mailto:a@b", "unsupported protocol"},
		{"javascript:alert(1)", "unsupported protocol"},
		{"data:,x", "unsupported protocol"},
		{"host:8080/x", "unsupported protocol"},
		{"a+b.c-d:x", "unsupported protocol"},
		{"http:x", `"http:x" has no host`},
		{"https:/x", `"https:/x" has no host`},
		{"HTTP:", `"HTTP:" has no host`},
		{"http:///x", `"http:///x" has no host`},
		{":x", "invalid"},
		{"://example.com/", "invalid"},
		{"1:2", "invalid"},
		{"a%3A:b", "invalid"},
		{"/a:b", "/a:b"},
		{"a/b:c", "/a/b:c"},
		{"./?a:b", "/?a:b"},
		{"/\xc3\xa4?\xc3\xa4=\xe2\x82\xac#\xc3\xa4", "/%C3%A4?%C3%A4=%E2%82%AC"},
		{"javascript://x/%0aalert(1)", "unsupported protocol"},
		{"http://", `"http://" has no host`},
		{"http://a b/", "invalid"},
		{"http://host:99999/", "invalid"},
		// the client requests the received target, except for dot segments
		{"/to?", "/to?"},
		{"/to?#part", "/to?"},
		{"/to??", "/to??"},
		{"/d%2Fe", "/d%2Fe"},
		{"d%2Fe/%7Ef%41", "/d%2Fe/%7Ef%41"},
		{"/a/./b//../c//d/.", "/a/b/c//d/"},
		{"/../..", "/"},
		{"/..a/.b/...", "/..a/.b/..."},
		{"/%2e%2e/x", "/%2e%2e/x"},
	}
	for _, tt := range tests {
		seen, bodies := make(chan *http.Request, 1), make(chan string, 1)
		p := redirecting(t, 302, tt.location, seen, bodies)
		client := &fasthttp.Client{}
		err := client.DoRedirects(requestTo(t, fasthttp.MethodGet, p.URL("/from")), responseFor(t), 3)
		client.CloseIdleConnections()
		if err != nil {
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%q: got %v, want %s", tt.location, err, tt.want)
			}
			continue
		}
		if got := servertest.Receive(t, "a request", seen).RequestURI; !strings.EqualFold(got, tt.want) {
			t.Errorf("%q: got %s, want %s", tt.location, got, tt.want)
		}
	}
}

// Whatever method set the credentials, and whatever the case of field names, the
// client sends them only to their origin.
func TestRedirectLeavesCredentialsBehindHoweverTheyWereSet(t *testing.T) {
	t.Parallel()
	names := []string{"Authorization", "authorization", "AUTHORIZATION", "proxy-authorization", "Proxy-AUTHorization", "cookie", "COOKIE", "cookie2", "Proxy-authenticate"}
	setters := map[string]func(h *fasthttp.RequestHeader, name string){
		"Set":            func(h *fasthttp.RequestHeader, name string) { h.Set(name, "secret=1") },
		"SetBytesK":      func(h *fasthttp.RequestHeader, name string) { h.SetBytesK([]byte(name), "secret=1") },
		"SetBytesV":      func(h *fasthttp.RequestHeader, name string) { h.SetBytesV(name, []byte("secret=1")) },
		"SetBytesKV":     func(h *fasthttp.RequestHeader, name string) { h.SetBytesKV([]byte(name), []byte("secret=1")) },
		"SetCanonical":   func(h *fasthttp.RequestHeader, name string) { h.SetCanonical([]byte(name), []byte("secret=1")) },
		"Add":            func(h *fasthttp.RequestHeader, name string) { h.Add(name, "other=1"); h.Add(name, "secret=1") },
		"AddBytesK":      func(h *fasthttp.RequestHeader, name string) { h.AddBytesK([]byte(name), "secret=1") },
		"AddBytesV":      func(h *fasthttp.RequestHeader, name string) { h.AddBytesV(name, []byte("secret=1")) },
		"AddBytesKV":     func(h *fasthttp.RequestHeader, name string) { h.AddBytesKV([]byte(name), []byte("secret=1")) },
		"SetCookie":      func(h *fasthttp.RequestHeader, _ string) { h.SetCookie("secret", "1") },
		"before keeping": func(h *fasthttp.RequestHeader, name string) { h.Set(name, "secret=1"); h.DisableNormalizing() },
	}
	heads := make(chan string, 1)
	target := servertest.NewPeer(t, func(c *servertest.PeerConn) {
		var b strings.Builder
		for req := c.Request(); req != nil; req = c.Request() {
			_ = req.Header.Write(&b)
			heads <- b.String()
			c.Send(servertest.OK)
			b.Reset()
		}
	})
	from := servertest.Answering(t, "HTTP/1.1 307 Away\r\nContent-Length: 0\r\nLocation: "+target.URL("/to")+"\r\n\r\n")
	client := &fasthttp.Client{}
	defer client.CloseIdleConnections()
	for how, set := range setters {
		for _, name := range names {
			for mode := range 3 {
				req := requestTo(t, fasthttp.MethodGet, from.URL("/from"))
				switch mode {
				case 1:
					req.Header.DisableNormalizing()
				case 2:
					req.Header.DisableSpecialHeader()
					req.Header.SetHost(target.Addr())
				}
				set(&req.Header, name)
				servertest.Must(t, client.DoRedirects(req, responseFor(t), 1))
				if head := servertest.Receive(t, "a head", heads); strings.Contains(head, "secret") {
					t.Errorf("%s %s in mode %d: sent %q", how, name, mode, head)
				}
			}
		}
	}
}

// Redirects do not close the user values of the request.
func TestRedirectLeavesUserValuesAlone(t *testing.T) {
	p := redirecting(t, 302, "/to", make(chan *http.Request, 1), make(chan string, 1))
	hc := hostFor(p)
	own, added := &countingCloser{}, &countingCloser{}
	hc.CheckRedirect = func(next *fasthttp.Request, _ *fasthttp.Response, _ int) error {
		if next.UserValue("own") != own {
			t.Error("the request that follows has no value")
		}
		next.SetUserValue("added", added)
		return nil
	}
	req := requestTo(t, fasthttp.MethodGet, p.URL("/from"))
	req.SetUserValue("own", own)
	servertest.Must(t, hc.DoRedirects(req, responseFor(t), 1))
	if own.closed != 0 || req.UserValue("own") != own || added.closed != 1 {
		t.Errorf("closed %d times, the request has %v; the value of the policy was closed %d times", own.closed, req.UserValue("own"), added.closed)
	}
	req.Reset()
	if own.closed != 1 {
		t.Errorf("closed %d times with the request", own.closed)
	}
}

type countingCloser struct{ closed int }

func (c *countingCloser) Close() error {
	c.closed++
	return nil
}

// A response with two different Locations is an error.
func TestRedirectWithTwoLocations(t *testing.T) {
	p := redirecting(t, 302, "/a\r\nLocation: /b", make(chan *http.Request, 1), make(chan string, 1))
	err := hostFor(p).DoRedirects(requestTo(t, fasthttp.MethodGet, p.URL("/from")), responseFor(t), 3)
	if err != fasthttp.ErrMissingLocation {
		t.Errorf("got %v, want ErrMissingLocation", err)
	}
}

func TestRedirectLimit(t *testing.T) {
	p := servertest.Answering(t, "HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: /again\r\n\r\n")
	hc := hostFor(p)
	resp := responseFor(t)
	if err := hc.DoRedirects(requestTo(t, fasthttp.MethodGet, p.URL("/")), resp, 3); err != fasthttp.ErrTooManyRedirects {
		t.Errorf("got %v, want ErrTooManyRedirects", err)
	}
	if resp.StatusCode() != 302 {
		t.Errorf("the response is %d", resp.StatusCode())
	}
	p.Counts(1, 4)
	if _, _, err := hc.Get(nil, p.URL("/")); err != fasthttp.ErrTooManyRedirects {
		t.Errorf("Get: got %v, want ErrTooManyRedirects", err)
	}
	p.Counts(1, 4+17)
}

func TestRedirectOfBodyStream(t *testing.T) {
	for _, tt := range []struct {
		status int
		want   error
	}{{307, fasthttp.ErrRedirectBodyStream}, {308, fasthttp.ErrRedirectBodyStream}, {303, nil}} {
		seen, bodies := make(chan *http.Request, 1), make(chan string, 1)
		p := redirecting(t, tt.status, "/to", seen, bodies)
		req := requestTo(t, fasthttp.MethodPost, p.URL("/from"))
		req.SetBodyStream(bytes.NewReader([]byte("stream")), -1)
		if err := hostFor(p).DoRedirects(req, responseFor(t), 3); err != tt.want {
			t.Errorf("%d: got %v, want %v", tt.status, err, tt.want)
		}
	}
}

// With GetBody, the client sends a fresh stream after each redirect, and closes each
// stream.
func TestRedirectGetsTheBodyAnew(t *testing.T) {
	failed := errors.New("no more")
	for _, tt := range []struct {
		name  string
		size  int
		steps string // the statuses of the redirects
		get   error
		gets  int
		sent  string
		want  error
	}{
		{"once", -1, "307", nil, 1, "PUT stream", nil},
		{"with its size", 6, "308", nil, 1, "PUT stream", nil},
		{"three times", 6, "307 308 307", nil, 3, "PUT stream", nil},
		{"then a GET", 6, "307 303", nil, 1, "GET ", nil},
		{"a GET, then the same", 6, "303 307", nil, 0, "GET ", nil},
		{"failing", 6, "307", failed, 1, "", failed},
	} {
		seen, sizes := make(chan string, 1), make(chan int64, 8)
		p := servertest.NewPeer(t, func(c *servertest.PeerConn) {
			statuses := strings.Fields(tt.steps)
			for i := 0; ; i++ {
				req := c.Request()
				if req == nil {
					return
				}
				if i < len(statuses) {
					c.Send("HTTP/1.1 " + statuses[i] + " Moved\r\nContent-Length: 0\r\nLocation: /to\r\n\r\n")
					continue
				}
				seen <- req.Method + " " + c.Body
				sizes <- req.ContentLength
				c.Send(servertest.OK)
			}
		})
		gets := 0
		closer := &countingCloser{}
		stream := func() io.Reader {
			return struct {
				io.Reader
				io.Closer
			}{strings.NewReader("stream"), closer}
		}
		req := requestTo(t, fasthttp.MethodPut, p.URL("/from"))
		req.SetBodyStream(stream(), tt.size)
		req.GetBody = func() (io.Reader, error) {
			gets++
			if tt.get != nil {
				return nil, tt.get
			}
			return stream(), nil
		}
		err := hostFor(p).DoRedirects(req, responseFor(t), 5)
		if err != tt.want || gets != tt.gets || closer.closed != gets+1 && tt.get == nil {
			t.Errorf("%s: %v, %d streams were got, %d closed", tt.name, err, gets, closer.closed)
		}
		if err != nil {
			continue
		}
		if got := servertest.Receive(t, "a request", seen); got != tt.sent {
			t.Errorf("%s: the peer got %q, want %q", tt.name, got, tt.sent)
		}
		if size := servertest.Receive(t, "a size", sizes); tt.sent != "GET " && size != int64(tt.size) {
			t.Errorf("%s: the size is %d", tt.name, size)
		}
		if req.Reset(); req.GetBody != nil {
			t.Errorf("%s: GetBody is left", tt.name)
		}
	}
}

func TestRedirectOfHostClientKeepsScheme(t *testing.T) {
	p := redirecting(t, 302, "https://example.com/", nil, nil)
	err := hostFor(p).DoRedirects(requestTo(t, fasthttp.MethodGet, p.URL("/from")), responseFor(t), 3)
	if err != fasthttp.ErrHostClientRedirectToDifferentScheme {
		t.Errorf("got %v, want ErrHostClientRedirectToDifferentScheme", err)
	}
}

func TestRedirectPolicy(t *testing.T) {
	refused := errors.New("not there")
	p := servertest.Answering(t, "HTTP/1.1 302 Found\r\nContent-Length: 5\r\nLocation: /again\r\n\r\nmoved")
	for _, want := range []error{refused, nil} {
		hc := hostFor(p)
		counts := 0
		hc.CheckRedirect = func(next *fasthttp.Request, resp *fasthttp.Response, count int) error {
			counts++
			if count != counts || string(next.URI().Path()) != "/again" || resp.StatusCode() != 302 {
				t.Errorf("redirect %d to %s after %d", count, next.URI(), resp.StatusCode())
			}
			switch {
			case count < 3:
				return nil
			case want == nil:
				return fasthttp.ErrUseLastResponse
			}
			return want
		}
		resp := responseFor(t)
		if err := hc.DoRedirects(requestTo(t, fasthttp.MethodGet, p.URL("/")), resp, 10); err != want {
			t.Errorf("got %v, want %v", err, want)
		}
		if string(resp.Body()) != "moved" || counts != 3 {
			t.Errorf("got %q after %d redirects", resp.Body(), counts)
		}
	}
}

// The streamed body of a redirect does not hold the connection that the next request
// needs.
func TestRedirectWithStreamsAndOneConnection(t *testing.T) {
	p := redirecting(t, 302, "/to", make(chan *http.Request, 1), make(chan string, 1))
	hc := hostFor(p)
	hc.MaxConns = 1
	hc.StreamResponseBody = true
	resp := responseFor(t)
	servertest.Soon(t, "the call", func() { servertest.Must(t, hc.DoRedirects(requestTo(t, fasthttp.MethodGet, p.URL("/from")), resp, 1)) })
	if string(resp.Body()) != "ok" {
		t.Errorf("got %q", resp.Body())
	}
	p.Counts(1, 2)
}

// With ErrUseLastResponse the request has the URI of that response, not of its Location.
func TestRedirectWithTheLastResponseLeavesTheURI(t *testing.T) {
	p := servertest.Answering(t, "HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: x/to\r\n\r\n")
	for follows, want := range []string{"/from", "/x/to", "/x/x/to"} {
		hc := hostFor(p)
		hc.CheckRedirect = func(_ *fasthttp.Request, _ *fasthttp.Response, count int) error {
			if count > follows {
				return fasthttp.ErrUseLastResponse
			}
			return nil
		}
		req := requestTo(t, fasthttp.MethodGet, p.URL("/from#part"))
		servertest.Must(t, hc.DoRedirects(req, responseFor(t), 3))
		if got := req.URI().String(); got != p.URL(want+"#part") {
			t.Errorf("after %d redirects the URI is %s", follows, got)
		}
	}
}

// RFC 9110 section 10.2.2: a Location without a fragment keeps the fragment of the URI before.
func TestRedirectKeepsTheFragment(t *testing.T) {
	for location, want := range map[string]string{
		"/to": "/to#part", "/to?x=1": "/to?x=1#part", "SELF/to": "/to#part", "/to#own": "/to#own", "/to#": "/to",
	} {
		p := servertest.NewPeer(t, func(c *servertest.PeerConn) {
			c.Expect("GET /from")
			c.Send("HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: " + strings.Replace(location, "SELF", c.Peer.URL(""), 1) + "\r\n\r\n")
			path, _, _ := strings.Cut(want, "#")
			c.Expect("GET " + path)
			c.OK("")
		})
		req := requestTo(t, fasthttp.MethodGet, p.URL("/from#part"))
		servertest.Must(t, hostFor(p).DoRedirects(req, responseFor(t), 1))
		if got := req.URI().String(); got != p.URL(want) {
			t.Errorf("%s: the URI became %s, want %s", location, got, p.URL(want))
		}
	}
}

// RFC 9110 section 15.4: a request that became a GET has no fields about the content that it had.
func TestRedirectRemovesTheFieldsOfTheContent(t *testing.T) {
	seen, bodies := make(chan *http.Request, 1), make(chan string, 1)
	p := redirecting(t, 303, "/to", seen, bodies)
	req := requestTo(t, fasthttp.MethodPut, p.URL("/from"))
	req.SetBodyString("body")
	names := []string{
		"Content-Type", "Content-Encoding", "Content-Language", "Content-Location", "Content-Range", "Content-Disposition",
		"Last-Modified", "Content-Digest", "Repr-Digest", "Digest",
		"Content-MD5",
	}
	for _, name := range names {
		req.Header.Set(name, "own")
	}
	servertest.Must(t, hostFor(p).DoRedirects(req, responseFor(t), 1))
	got, body := servertest.Receive(t, "a request", seen), servertest.Receive(t, "a body", bodies)
	for _, name := range names {
		if got.Header.Get(name) != "" {
			t.Errorf("%s was sent", name)
		}
	}
	if got.Method != fasthttp.MethodGet || body != "" || got.ContentLength != 0 {
		t.Errorf("got %s with body %q", got.Method, body)
	}
}

// The URI of a request whose target is a path has the scheme of its HostClient, for redirects and
// for hooks.
func TestRedirectOfHostClientWithTLSAndPaths(t *testing.T) {
	cert, roots := servertest.CertificateFor(t, nil, net.IPv4(127, 0, 0, 1))
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if to := r.URL.Query().Get("to"); to != "" {
			w.Header().Set("Location", to)
			w.WriteHeader(http.StatusFound)
			return
		}
		_, _ = io.WriteString(w, r.URL.Path+" "+r.Header.Get("Authorization"))
	}))
	s.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
	s.StartTLS()
	t.Cleanup(s.Close)
	hc := servertest.EndsWith(t, &fasthttp.HostClient{Addr: s.Listener.Addr().String(), IsTLS: true, TLSConfig: &tls.Config{RootCAs: roots}})
	hc.Transport = fasthttp.ChainRoundTrippers(nil, func(next fasthttp.RoundTripperContext) fasthttp.RoundTripper {
		return fasthttp.RoundTripFunc(func(ctx context.Context, hc *fasthttp.HostClient, req *fasthttp.Request, resp *fasthttp.Response) (bool, error) {
			if scheme := req.URI().Scheme(); string(scheme) != "https" {
				t.Errorf("the scheme is %s", scheme)
			}
			return next.RoundTripContext(ctx, hc, req, resp)
		})
	})
	for _, base := range []string{"", s.URL} {
		req, resp := requestTo(t, fasthttp.MethodGet, "/?to="+base+"/next"), responseFor(t)
		req.Header.SetHost(hc.Addr)
		req.Header.Set("Authorization", "own")
		servertest.Must(t, hc.DoRedirects(req, resp, 1))
		if string(resp.Body()) != "/next own" || req.URI().String() != s.URL+"/next" {
			t.Errorf("%s: got %q from %s", base, resp.Body(), req.URI())
		}
	}
}
