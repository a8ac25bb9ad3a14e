package integrationtests

import (
	"bufio"
	"bytes"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// Known failures 35, 36 and 39, and other responses. keeps reports whether the
// client reuses the connection for the second request.
func TestClientResponses(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("v", 8<<10)
	tests := []struct {
		name     string
		method   string
		response string
		status   int
		body     string
		keeps    bool
	}{
		{"plain", "GET", servertest.OK, 200, "ok", true},
		{"closing", "GET", servertest.OKClose, 200, "ok", false},
		{"chunked", "GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n2\r\nde\r\n0\r\n\r\n", 200, "abcde", true},
		{"empty", "GET", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 200, "", true},
		{"HTTP/1.0", "GET", "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", 200, "ok", false},
		{"HTTP/1.0 keep-alive", "GET", "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok", 200, "ok", true},
		{"35: head of 8 KiB", "GET", "HTTP/1.1 200 OK\r\nX: " + big + "\r\nContent-Length: 2\r\n\r\nok", 200, "ok", true},
		{"36: HEAD", "HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", 200, "", true},
		{"36: HEAD chunked", "HEAD", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", 200, "", true},
		{"36: HEAD without a length", "HEAD", "HTTP/1.1 200 OK\r\n\r\n", 200, "", true},
		{"36: 204", "GET", "HTTP/1.1 204 No Content\r\n\r\n", 204, "", true},
		{"36: 204 chunked", "GET", "HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n", 204, "", true},
		{"36: 304", "GET", "HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n\r\n", 304, "", true},
		{"39: 1xx", "GET", "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n" + servertest.OK, 200, "ok", true},
		{"39: 100 to a POST", "POST", "HTTP/1.1 100 Continue\r\n\r\n" + servertest.OK, 200, "ok", true},
		{"more than announced", "GET", servertest.OK + "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil", 200, "ok", false},
		{"obs-fold", "GET", "HTTP/1.1 200 OK\r\nX: a\r\n b\r\nContent-Length: 2\r\n\r\nok", 200, "ok", true},
		{"length and chunked", "GET", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", 200, "ok", false},
		{"101", "GET", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", 101, "", false},
	}
	for _, tt := range tests {
		for _, piece := range []int{0, 1, 7} {
			if piece > 0 && tt.name == "more than announced" {
				// bytes that arrive after the next request was sent look like its
				// response
				continue
			}
			t.Run(tt.name, func(t *testing.T) {
				p := servertest.NewPeer(t, func(c *servertest.PeerConn) {
					for c.Request() != nil {
						rest := tt.response
						for piece > 0 && len(rest) > piece && len(rest) < 1000 {
							c.Send(rest[:piece])
							rest = rest[piece:]
						}
						c.Send(rest)
					}
				})
				hc := hostFor(p)
				req, resp := requestTo(t, tt.method, p.URL("/")), responseFor(t)
				for range 2 {
					resp.Reset()
					servertest.Must(t, hc.Do(req, resp))
					if resp.StatusCode() != tt.status || string(resp.Body()) != tt.body {
						t.Errorf("got %d %q, want %d %q", resp.StatusCode(), resp.Body(), tt.status, tt.body)
					}
				}
				if tt.keeps {
					p.Counts(1, 2)
				} else {
					p.Counts(2, 2)
				}
			})
		}
	}
}

func TestClientBodyUntilClose(t *testing.T) {
	p := servertest.NewPeer(t, func(c *servertest.PeerConn) {
		c.Request()
		c.Send("HTTP/1.1 200 OK\r\n\r\nall of it")
	})
	resp := responseFor(t)
	servertest.Must(t, hostFor(p).Do(requestTo(t, fasthttp.MethodGet, p.URL("/")), resp))
	if string(resp.Body()) != "all of it" || resp.Header.ContentLength() != 9 {
		t.Errorf("got %q, length %d", resp.Body(), resp.Header.ContentLength())
	}
}

// Known failure 35: the text of an error has no bytes from the server, and the
// client does not repeat a request after a malformed response.
func TestClientRefusesMalformedResponses(t *testing.T) {
	const secret = "s3cr3t"
	for _, response := range []string{
		secret + "\r\n\r\n",
		"HTTP/1.1 " + secret + "\r\n\r\n",
		"HTTP/2.0 200 OK\r\n\r\n",
		"HTTP/1.1 099 Strange\r\n\r\n",
		"HTTP/1.1 200 OK\r\n" + secret + "\x00: x\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: -" + secret + "\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n" + secret,
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: " + secret + "\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + secret + "\r\n",
		"HTTP/1.1 200 OK\r\nX: " + strings.Repeat(secret, 20000) + "\r\n\r\n",
		strings.Repeat("HTTP/1.1 102 Processing\r\nX: "+secret+"\r\n\r\n", 1000) + servertest.OK,
	} {
		p := servertest.NewPeer(t, func(c *servertest.PeerConn) {
			c.Request()
			c.Send(response)
			c.UntilClosed()
		})
		err := hostFor(p).Do(requestTo(t, fasthttp.MethodGet, p.URL("/")), responseFor(t))
		if err == nil {
			t.Errorf("%.60q was taken", response)
			continue
		}
		if strings.Contains(err.Error(), secret) {
			t.Errorf("the text of the error has bytes of the response: %v", err)
		}
		p.Counts(1, 1)
	}
}

func TestClientHeadLimit(t *testing.T) {
	p := servertest.Answering(t, "HTTP/1.1 200 OK\r\nX: "+strings.Repeat("v", 3000)+"\r\nContent-Length: 2\r\n\r\nok")
	hc := hostFor(p)
	hc.ReadBufferSize = 2000
	err := hc.Do(requestTo(t, fasthttp.MethodGet, p.URL("/")), responseFor(t))
	if _, ok := errors.AsType[*fasthttp.ErrSmallBuffer](err); !ok {
		t.Errorf("got %v, want an ErrSmallBuffer", err)
	}
}

// ReadBufferSize is the only limit of a head, if it is set.
func TestClientHeadLimitsFollowReadBufferSize(t *testing.T) {
	t.Parallel()
	fields := func(n int) string {
		return "HTTP/1.1 200 OK\r\n" + strings.Repeat("a:\r\n", n) + "Content-Length: 2\r\n\r\nok"
	}
	long := "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("v", 100<<10) + "\r\nContent-Length: 2\r\n\r\nok"
	for _, tt := range []struct {
		name, response string
		size           int
		taken          bool
	}{
		{"499 fields", fields(498), 0, true},
		{"501 fields", fields(500), 0, false},
		{"501 fields in 4 KiB", fields(500), 4 << 10, true},
		{"2000 fields in 16 KiB", fields(2000), 16 << 10, true},
		{"20000 fields in 128 KiB", fields(20000), 128 << 10, true},
		{"20000 fields in 64 KiB", fields(20000), 64 << 10, false},
		{"100 KiB", long, 0, false},
		{"100 KiB in 128 KiB", long, 128 << 10, true},
	} {
		p := servertest.Answering(t, tt.response)
		hc := hostFor(p)
		hc.ReadBufferSize = tt.size
		pc := &fasthttp.PipelineClient{Addr: p.Addr(), ReadBufferSize: tt.size}
		for name, do := range map[string]func(*fasthttp.Request, *fasthttp.Response) error{"HostClient": hc.Do, "PipelineClient": pc.Do} {
			resp := responseFor(t)
			err := do(requestTo(t, fasthttp.MethodGet, p.URL("/")), resp)
			if (err == nil) != tt.taken {
				t.Errorf("%s: %s: %v", tt.name, name, err)
			}
			if _, ok := errors.AsType[*fasthttp.ErrSmallBuffer](err); err != nil && !ok {
				t.Errorf("%s: %s: %v", tt.name, name, err)
			}
			// the limits of a client do not apply to a response that a program reads
			// itself
			if err := resp.Read(bufio.NewReader(strings.NewReader(fields(498)))); err != nil {
				t.Errorf("%s: %s: read by hand: %v", tt.name, name, err)
			}
		}
	}
}

func TestClientMaxResponseBodySize(t *testing.T) {
	for _, response := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\nhello world",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nb\r\nhello world\r\n0\r\n\r\n",
		"HTTP/1.1 200 OK\r\n\r\nhello world",
	} {
		for limit, want := range map[int]error{10: fasthttp.ErrBodyTooLarge, 11: nil, 0: nil} {
			p := servertest.NewPeer(t, func(c *servertest.PeerConn) {
				c.Request()
				c.Send(response)
			})
			hc := hostFor(p)
			hc.MaxResponseBodySize = limit
			if err := hc.Do(requestTo(t, fasthttp.MethodGet, p.URL("/")), responseFor(t)); err != want {
				t.Errorf("limit %d: got %v, want %v", limit, err, want)
			}
			p.Counts(1, 1)
		}
	}
}

// Large bodies pass in both directions, whatever their framing.
func TestClientLargeBodies(t *testing.T) {
	t.Parallel()
	p := servertest.NewPeer(t, func(c *servertest.PeerConn) {
		for req := c.Request(); req != nil; req = c.Request() {
			if req.URL.Path == "/chunked" {
				c.Send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
				for rest := c.Body; rest != ""; {
					n := min(len(rest), 5000)
					c.Send(strconv.FormatInt(int64(n), 16) + "\r\n" + rest[:n] + "\r\n")
					rest = rest[n:]
				}
				c.Send("0\r\n\r\n")
				continue
			}
			c.Send("HTTP/1.1 200 OK\r\nContent-Length: " + strconv.Itoa(len(c.Body)) + "\r\n\r\n" + c.Body)
		}
	})
	hc := hostFor(p)
	for _, path := range []string{"/", "/chunked"} {
		for _, size := range []int{1, 4000, 4096, 16 << 10, 16<<10 + 1, 100_000, 3 << 20} {
			body := bytes.Repeat([]byte("0123456789abcdef"), size/16+1)[:size]
			for _, kind := range []string{"bytes", "stream", "chunked stream"} {
				req, resp := requestTo(t, fasthttp.MethodPost, p.URL(path)), responseFor(t)
				switch kind {
				case "bytes":
					req.SetBody(body)
				case "stream":
					req.SetBodyStream(bytes.NewReader(body), size)
				default:
					req.SetBodyStream(bytes.NewReader(body), -1)
				}
				servertest.Must(t, hc.Do(req, resp))
				if !bytes.Equal(resp.Body(), body) {
					t.Errorf("%s of %d bytes to %s: %d bytes came back", kind, size, path, len(resp.Body()))
				}
			}
		}
	}
	if n := p.Conns.Load(); n != 1 {
		t.Errorf("%d connections, want 1", n)
	}
}

// The client reads a refusal that arrives while it sends a large body.
func TestClientHearsRefusalOfLargeBody(t *testing.T) {
	p := servertest.NewPeer(t, func(c *servertest.PeerConn) {
		c.Send("HTTP/1.1 413 Payload Too Large\r\nConnection: close\r\nContent-Length: 4\r\n\r\nlong")
		var some [1 << 10]byte
		_, _ = c.Read(some[:])
		if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
			_ = half.CloseWrite()
		}
		c.UntilClosed()
	})
	hc := hostFor(p)
	req, resp := requestTo(t, fasthttp.MethodPost, p.URL("/")), responseFor(t)
	req.SetBodyRaw(make([]byte, 1<<20))
	servertest.Must(t, hc.Do(req, resp))
	if resp.StatusCode() != 413 || string(resp.Body()) != "long" {
		t.Errorf("got %d %q", resp.StatusCode(), resp.Body())
	}
}

// With SkipBody, the client does not reuse the connection if the response has a
// body.
func TestClientSkipBody(t *testing.T) {
	p := servertest.Answering(t, servertest.OK)
	hc := hostFor(p)
	req, resp := requestTo(t, fasthttp.MethodGet, p.URL("/")), responseFor(t)
	resp.SkipBody = true
	servertest.Must(t, hc.Do(req, resp))
	if len(resp.Body()) != 0 || !resp.SkipBody {
		t.Errorf("got %q", resp.Body())
	}
	resp.SkipBody = false
	servertest.Must(t, hc.Do(req, resp))
	if string(resp.Body()) != "ok" {
		t.Errorf("got %q", resp.Body())
	}
	p.Counts(2, 2)
}

func TestClientNilResponse(t *testing.T) {
	p := servertest.NewPeer(t, func(c *servertest.PeerConn) {
		for req := c.Request(); req != nil; req = c.Request() {
			size := 100
			if req.URL.Path == "/big" {
				size = 1 << 20
			}
			c.Send("HTTP/1.1 200 OK\r\nContent-Length: " + strconv.Itoa(size) + "\r\n\r\n" + strings.Repeat("x", size))
		}
	})
	hc := hostFor(p)
	servertest.Must(t, hc.Do(requestTo(t, fasthttp.MethodGet, p.URL("/small")), nil))
	servertest.Must(t, hc.Do(requestTo(t, fasthttp.MethodGet, p.URL("/small")), nil))
	servertest.Must(t, hc.Do(requestTo(t, fasthttp.MethodGet, p.URL("/big")), nil))
	if n := hc.ConnsCount(); n != 0 {
		t.Errorf("%d connections after a large body that was not read", n)
	}
	p.Counts(1, 3)
}

func TestClientFillsInTheRequest(t *testing.T) {
	heads := make(chan string, 1)
	p := servertest.NewPeer(t, func(c *servertest.PeerConn) {
		for req := c.Request(); req != nil; req = c.Request() {
			heads <- req.Method + " " + req.RequestURI + " " + req.Host + " " + req.UserAgent() + " " + req.Header.Get("Authorization")
			c.Send(servertest.OK)
		}
	})
	tests := []struct {
		change func(hc *fasthttp.HostClient, req *fasthttp.Request)
		want   string
	}{
		{func(*fasthttp.HostClient, *fasthttp.Request) {}, "GET /a/b?c=d example.com fasthttp "},
		{func(hc *fasthttp.HostClient, _ *fasthttp.Request) { hc.Name = "mine" }, "GET /a/b?c=d example.com mine "},
		{func(_ *fasthttp.HostClient, req *fasthttp.Request) { req.Header.SetUserAgent("own") }, "GET /a/b?c=d example.com own "},
		{func(hc *fasthttp.HostClient, _ *fasthttp.Request) { hc.NoDefaultUserAgentHeader = true }, "GET /a/b?c=d example.com  "},
		{func(hc *fasthttp.HostClient, req *fasthttp.Request) { req.SetRequestURI("http://example.com//x/../y") }, "GET /y example.com fasthttp "},
		{func(hc *fasthttp.HostClient, req *fasthttp.Request) {
			hc.DisablePathNormalizing = true
			req.SetRequestURI("http://example.com//x/../y")
		}, "GET //x/../y example.com fasthttp "},
		{func(_ *fasthttp.HostClient, req *fasthttp.Request) {
			req.Header.SetHost("other.example")
			req.UseHostHeader = true
		}, "GET /a/b?c=d other.example fasthttp "},
		{func(_ *fasthttp.HostClient, req *fasthttp.Request) {
			req.SetRequestURI("/only/path")
			req.Header.SetHost("named.example")
		}, "GET /only/path named.example fasthttp "},
		{func(_ *fasthttp.HostClient, req *fasthttp.Request) {
			req.SetRequestURI("/path#fragment")
			req.Header.SetHost("named.example")
		}, "GET /path named.example fasthttp "},
		{func(_ *fasthttp.HostClient, req *fasthttp.Request) { req.SetRequestURI("http://me:pw@example.com/") }, "GET / example.com fasthttp Basic bWU6cHc="},
	}
	for _, tt := range tests {
		hc := hostFor(p)
		req := requestTo(t, fasthttp.MethodGet, "http://example.com/a/b?c=d")
		tt.change(hc, req)
		servertest.Must(t, hc.Do(req, responseFor(t)))
		if got := servertest.Receive(t, "a head", heads); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}

func TestClientRefusesRequests(t *testing.T) {
	hc := &fasthttp.HostClient{Addr: "127.0.0.1:1"}
	pc := &fasthttp.PipelineClient{Addr: "127.0.0.1:1"}
	client := &fasthttp.Client{}
	for _, tt := range []struct {
		uri  string
		do   func(*fasthttp.Request, *fasthttp.Response) error
		want string
	}{
		{"ftp://example.com/", client.Do, `unsupported protocol "ftp"`},
		{"ftp://example.com/", hc.Do, `unsupported protocol "ftp"`},
		{"/path?secret", client.Do, `fasthttp: the URL "/path" has neither scheme nor host`},
		{"/path", hc.Do, `fasthttp: the URL "/path" has neither scheme nor host`},
		{"/path#secret", pc.Do, `fasthttp: the URL "/path" has neither scheme nor host`},
		{"example.com/x?secret", client.Do, `fasthttp: the URL "example.com/x" has no scheme: it does not begin with http:// or https://`},
		{"example.com", hc.Do, `the URL "example.com" has no scheme`},
		{"example.com:80", pc.Do, `the URL "example.com:80" has no scheme`},
		{"me:secret@example.com/@x", client.Do, `the URL "example.com/@x" has no scheme`},
		{"//me:secret@example.com/", client.Do, `the URL "//example.com/" has no scheme`},
		{"//secret@example.com/", client.Do, `the URL "//example.com/" has no scheme`},
		{"http:/me:secret@example.com/x", hc.Do, `the URL "http:/example.com/x" has no scheme`},
		{"http:/secret@example.com/x", hc.Do, `the URL "example.com/x" has no scheme`},
		{"http//me:secret@example.com/", pc.Do, `the URL "http//example.com/" has no scheme`},
		{"http:///me:a/secret@example.com/@x", client.Do, `the URL "http:///example.com/@x" has no host`},
		{"/users/@me", client.Do, `the URL "/users/@me" has neither scheme nor host`},
		{"//example.com/", client.Do, `the URL "//example.com/" has no scheme`},
		{"http:/example.com/", client.Do, `the URL "http:/example.com/" has no scheme`},
		{"http:///x?secret", client.Do, `the URL "http:///x" has no host`},
		{"http://me:secret@/x", hc.Do, `the URL "http:///x" has no host`},
		{"http://", pc.Do, `the URL "http://" has no host`},
		{"", client.Do, `the URL "/" has neither scheme nor host`},
		{strings.Repeat("a", 1000), client.Do, `the URL "` + strings.Repeat("a", 200) + `..." has no scheme`},
		{"a\"\xff", client.Do, `the URL "a\"\xff" has no scheme`},
		{"http://exa mple.com/", client.Do, "invalid"},
		{"http://a,b/", client.Do, "is no host"},
		{"https://example.com/", hc.Do, fasthttp.ErrHostClientRedirectToDifferentScheme.Error()},
	} {
		err := tt.do(requestTo(t, fasthttp.MethodGet, tt.uri), responseFor(t))
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: got %v, want %q", tt.uri, err, tt.want)
		}
	}
	if err := (&fasthttp.HostClient{}).Do(requestTo(t, fasthttp.MethodGet, "http://a/"), nil); err == nil || !strings.Contains(err.Error(), "HostClient.Addr is empty") {
		t.Errorf("without Addr: got %v", err)
	}
	if err := (&fasthttp.HostClient{Addr: "a", ConnPoolStrategy: 7}).Do(requestTo(t, fasthttp.MethodGet, "http://a/"), nil); err != fasthttp.ErrConnPoolStrategyNotImpl {
		t.Errorf("unknown strategy: got %v", err)
	}
}

// After a HEAD, the response has no body until the next call, which may read one.
func TestClientReusesResponseOfHead(t *testing.T) {
	p := servertest.NewPeer(t, func(c *servertest.PeerConn) {
		for req := c.Request(); req != nil; req = c.Request() {
			if req.Method == fasthttp.MethodHead {
				c.Send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n")
			} else {
				c.Send(servertest.OK)
			}
		}
	})
	type doer interface {
		Do(req *fasthttp.Request, resp *fasthttp.Response) error
	}
	for _, client := range []doer{hostFor(p), &fasthttp.PipelineClient{Addr: p.Addr(), MaxIdleConnDuration: 50 * time.Millisecond}} {
		resp := responseFor(t)
		for range 2 {
			servertest.Must(t, client.Do(requestTo(t, fasthttp.MethodHead, p.URL("/")), resp))
			if len(resp.Body()) != 0 || !resp.SkipBody || resp.Header.ContentLength() != 2 {
				t.Errorf("%T: HEAD: %q, SkipBody %v, Content-Length %d", client, resp.Body(), resp.SkipBody, resp.Header.ContentLength())
			}
		}
		servertest.Must(t, client.Do(requestTo(t, fasthttp.MethodGet, p.URL("/")), resp))
		if string(resp.Body()) != "ok" || resp.SkipBody {
			t.Errorf("%T: GET after HEAD: %q, SkipBody %v", client, resp.Body(), resp.SkipBody)
		}
		// a setting of the caller stays
		resp.SkipBody = true
		servertest.Must(t, client.Do(requestTo(t, fasthttp.MethodHead, p.URL("/")), resp))
		servertest.Must(t, client.Do(requestTo(t, fasthttp.MethodGet, p.URL("/")), resp))
		if len(resp.Body()) != 0 || !resp.SkipBody {
			t.Errorf("%T: GET with SkipBody: %q, SkipBody %v", client, resp.Body(), resp.SkipBody)
		}
	}
}
