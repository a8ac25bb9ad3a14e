package integrationtests

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// wiretap is a Dial function whose connections record the bytes that are written.
type wiretap struct{ bytes.Buffer }

func (w *wiretap) dial(string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(&w.Buffer, theirs)
	}()
	go func() {
		_, _ = io.WriteString(theirs, servertest.OKClose)
	}()
	return tappedConn{ours, done}, nil
}

type tappedConn struct {
	net.Conn
	done chan struct{}
}

func (c tappedConn) Close() error {
	err := c.Conn.Close()
	<-c.done
	return err
}

// wireOf returns the bytes and the error of a call with req.
func wireOf(t *testing.T, req *fasthttp.Request) (string, error) {
	t.Helper()
	w := new(wiretap)
	hc := &fasthttp.HostClient{Addr: "h", Dial: w.dial, MaxIdemponentCallAttempts: 1}
	err := hc.Do(req, nil)
	return w.String(), err
}

// No setter puts a space or a control character into a request line.
func TestRequestLinesHaveThreeParts(t *testing.T) {
	t.Parallel()
	hostile := []string{"GET /evil", "GET ", " GET", "G\tET", "GET\r\nX: y", "G\x00ET", "GET\x7f", "G\u00e4T", "G,T", "GET / HTTP/1.1\r\nHost: evil\r\n\r\nGET"}
	targets := []string{"/a b", "/a HTTP/1.1\r\nX: y", "/a\tb", "/\x00", "/\x7f", "/a\nb", "/\r", " /a", "/a ", "x y", "* *", "http://h/a b", "http://h/\x01"}
	setters := map[string]func(req *fasthttp.Request, s string){
		"SetMethod":                 func(req *fasthttp.Request, s string) { req.Header.SetMethod(s) },
		"SetMethodBytes":            func(req *fasthttp.Request, s string) { req.Header.SetMethodBytes([]byte(s)) },
		"Header.SetRequestURI":      func(req *fasthttp.Request, s string) { req.Header.SetRequestURI(s) },
		"Header.SetRequestURIBytes": func(req *fasthttp.Request, s string) { req.Header.SetRequestURIBytes([]byte(s)) },
		"SetRequestURI":             func(req *fasthttp.Request, s string) { req.SetRequestURI(s) },
		"SetRequestURIBytes":        func(req *fasthttp.Request, s string) { req.SetRequestURIBytes([]byte(s)) },
		"URI.SetPath":               func(req *fasthttp.Request, s string) { req.URI().SetPath(s) },
		"URI.SetQueryString":        func(req *fasthttp.Request, s string) { req.URI().SetQueryString(s) },
		"URI.SetPath as it is":      func(req *fasthttp.Request, s string) { req.URI().DisablePathNormalizing = true; req.URI().SetPath(s) },
		"CONNECT Header.SetRequestURI": func(req *fasthttp.Request, s string) {
			req.Header.SetMethod(fasthttp.MethodConnect)
			req.Header.SetRequestURI(s)
		},
		"CONNECT URI.SetHost": func(req *fasthttp.Request, s string) {
			req.Header.SetMethod(fasthttp.MethodConnect)
			req.URI().SetHost(s)
		},
		"OPTIONS Header.SetRequestURI": func(req *fasthttp.Request, s string) {
			req.Header.SetMethod(fasthttp.MethodOptions)
			req.Header.SetRequestURI(s)
		},
		"Header.SetProtocol":            func(req *fasthttp.Request, s string) { req.Header.SetProtocol(s) },
		"Header.SetProtocolBytes twice": func(req *fasthttp.Request, s string) { req.Header.SetProtocolBytes([]byte("HTTP/1.0 " + s)) },
	}
	for name, set := range setters {
		texts := targets
		if strings.Contains(name, "Method") {
			texts = hostile
		}
		for _, text := range texts {
			for _, hosted := range []bool{true, false} {
				for _, write := range []string{"client", "Request.Write", "Header.Write", "Header.WriteTo"} {
					req := requestTo(t, fasthttp.MethodGet, "http://h/")
					if hosted {
						req.SetRequestURI("/")
						req.Header.SetHost("h")
					}
					set(req, text)
					var wire string
					var err error
					b := new(bytes.Buffer)
					w := bufio.NewWriter(b)
					switch write {
					case "client":
						wire, err = wireOf(t, req)
					case "Request.Write":
						err = req.Write(w)
					case "Header.Write":
						err = req.Header.Write(w)
					case "Header.WriteTo":
						_, err = req.Header.WriteTo(b)
					}
					if write != "client" {
						_ = w.Flush()
						wire = b.String()
					}
					line, _, _ := strings.Cut(wire, "\r\n")
					switch {
					case err != nil && wire != "":
						t.Errorf("%s(%q) by %s: %v, and %q was written", name, text, write, err, wire)
					case err == nil && (strings.Count(line, " ") != 2 || strings.ContainsAny(line, "\t\r\n\x00\x01\x7f")):
						t.Errorf("%s(%q) by %s: wrote %q", name, text, write, line)
					case strings.Contains(name, "Method") && err == nil:
						t.Errorf("%s(%q) by %s: no error, wrote %q", name, text, write, line)
					}
				}
			}
		}
	}
	req := requestTo(t, fasthttp.MethodGet, "http://h/")
	req.Header.SetRequestURI("/a b")
	if err := req.Header.Write(bufio.NewWriter(io.Discard)); !errors.Is(err, fasthttp.ErrorInvalidURI) {
		t.Errorf("got %v, want ErrorInvalidURI", err)
	}
}

// TRACE has no content (RFC 9110 section 9.3.8).
func TestTraceHasNoContent(t *testing.T) {
	for name, set := range map[string]func(req *fasthttp.Request) *countingCloser{
		"body":         func(req *fasthttp.Request) *countingCloser { req.SetBodyString("secret"); return nil },
		"raw body":     func(req *fasthttp.Request) *countingCloser { req.SetBodyRaw([]byte("secret")); return nil },
		"arguments":    func(req *fasthttp.Request) *countingCloser { req.PostArgs().Set("secret", "1"); return nil },
		"sized stream": func(req *fasthttp.Request) *countingCloser { return setClosingStream(req, 6) },
		"stream":       func(req *fasthttp.Request) *countingCloser { return setClosingStream(req, -1) },
		"own fields": func(req *fasthttp.Request) *countingCloser {
			req.Header.DisableSpecialHeader()
			req.Header.SetHost("h")
			req.Header.Set("Host", "h")
			req.Header.Set("Content-Length", "6")
			req.SetBodyString("secret")
			return nil
		},
	} {
		req := requestTo(t, fasthttp.MethodTrace, "http://h/")
		closer := set(req)
		wire, err := wireOf(t, req)
		servertest.Must(t, err)
		head, body, _ := strings.Cut(wire, "\r\n\r\n")
		if !strings.HasPrefix(head, "TRACE / HTTP/1.1\r\nHost: h\r\n") || body != "" || strings.Contains(head, "chunked") ||
			strings.Contains(head, "Content-Length") && !strings.Contains(head, "Content-Length: 0") {
			t.Errorf("%s: wrote %q", name, wire)
		}
		if closer != nil && closer.closed != 1 {
			t.Errorf("%s: the stream was closed %d times", name, closer.closed)
		}
	}
}

func setClosingStream(req *fasthttp.Request, size int) *countingCloser {
	closer := &countingCloser{}
	req.SetBodyStream(struct {
		io.Reader
		io.Closer
	}{strings.NewReader("secret"), closer}, size)
	return closer
}

// RFC 9110 section 7.2: Host is the first field.
func TestHostIsTheFirstField(t *testing.T) {
	req := requestTo(t, fasthttp.MethodPost, "http://h/")
	req.Header.Set("A", "b")
	req.Header.SetUserAgent("u")
	req.Header.SetCookie("a", "b")
	req.SetBodyString("x")
	wire, err := wireOf(t, req)
	servertest.Must(t, err)
	if !strings.HasPrefix(wire, "POST / HTTP/1.1\r\nHost: h\r\n") {
		t.Errorf("wrote %q", wire)
	}
}

// A body is framed, and the end of the connection is announced and obeyed, even with special
// fields turned off.
func TestOwnFieldsFrameTheBody(t *testing.T) {
	for _, tt := range []struct {
		name   string
		method string
		set    func(req *fasthttp.Request)
		want   string
	}{
		{"no length", "POST", func(req *fasthttp.Request) { req.SetBodyString("body") }, "Host: h|Content-Length: 4||body"},
		{"right length", "POST", func(req *fasthttp.Request) {
			req.Header.Set("Content-length", "4")
			req.Header.Set("x", "y")
			req.SetBodyString("body")
		}, "Host: h|Content-length: 4|x: y||body"},
		{"wrong length", "POST", func(req *fasthttp.Request) {
			req.Header.Set("content-length", "40")
			req.Header.Set("x", "y")
			req.SetBodyString("body")
		}, "Host: h|content-length: 4|x: y||body"},
		{"two lengths", "POST", func(req *fasthttp.Request) {
			req.Header.Add("content-length", "40")
			req.Header.Add("Content-Length", "4")
			req.SetBodyString("body")
		}, "Host: h|content-length: 4||body"},
		{"no number", "POST", func(req *fasthttp.Request) { req.Header.Set("Content-Length", "x"); req.SetBodyString("body") }, "Host: h|Content-Length: 4||body"},
		{"chunked, without chunks", "POST", func(req *fasthttp.Request) { req.Header.Set("Transfer-Encoding", "chunked"); req.SetBodyString("body") }, "Host: h|Content-Length: 4||body"},
		{"length without a body", "POST", func(req *fasthttp.Request) { req.Header.Set("Content-Length", "5") }, "Host: h|Content-Length: 0||"},
		{"length of a GET without a body", "GET", func(req *fasthttp.Request) { req.Header.Set("Content-Length", "5") }, "Host: h|Content-Length: 0||"},
		{"chunked GET without a body", "GET", func(req *fasthttp.Request) { req.Header.Set("Transfer-Encoding", "chunked") }, "Host: h||"},
		{"POST without a body", "POST", func(*fasthttp.Request) {}, "Host: h||"},
		{"GET with a body", "GET", func(req *fasthttp.Request) { req.SetBodyString("body") }, "Host: h|Content-Length: 4||body"},
		{"sized stream", "PUT", func(req *fasthttp.Request) { req.SetBodyStream(strings.NewReader("body"), 4) }, "Host: h|Content-Length: 4||body"},
		{"stream", "PUT", func(req *fasthttp.Request) { req.SetBodyStream(strings.NewReader("body"), -1) }, "Host: h|Transfer-Encoding: chunked||4|body|0||"},
		{"stream with a length", "PUT", func(req *fasthttp.Request) {
			req.Header.Set("Content-Length", "4")
			req.SetBodyStream(strings.NewReader("body"), -1)
		}, "Host: h|Transfer-Encoding: chunked||4|body|0||"},
		{"close", "GET", func(req *fasthttp.Request) { req.Header.Set("connection", "Close") }, "Host: h|connection: Close||"},
		{"close in a list", "GET", func(req *fasthttp.Request) {
			req.Header.Add("Connection", "x")
			req.Header.Add("Connection", "a, close")
		}, "Host: h|Connection: x|Connection: a, close||"},
		{"close by its setter", "GET", func(req *fasthttp.Request) { req.SetConnectionClose() }, "Host: h|Connection: close||"},
		{"close by both", "GET", func(req *fasthttp.Request) { req.Header.Set("Connection", "close"); req.SetConnectionClose() }, "Host: h|Connection: close||"},
		{"close taken back", "GET", func(req *fasthttp.Request) { req.Header.Set("Connection", "close"); req.Header.Set("Connection", "x") }, "Host: h|Connection: x||"},
	} {
		req := requestTo(t, tt.method, "")
		req.Header.DisableSpecialHeader()
		req.Header.DisableNormalizing()
		req.SetRequestURI("/")
		req.Header.Set("Host", "h")
		tt.set(req)
		closes := strings.HasPrefix(tt.name, "close") && tt.name != "close taken back"
		if req.ConnectionClose() != closes {
			t.Errorf("%s: ConnectionClose is %v", tt.name, req.ConnectionClose())
		}
		wire, err := wireOf(t, req)
		servertest.Must(t, err)
		_, got, _ := strings.Cut(strings.ReplaceAll(wire, "\r\n", "|"), "|")
		if got != tt.want {
			t.Errorf("%s: wrote %s, want %s", tt.name, got, tt.want)
		}
	}

	p := servertest.Answering(t, servertest.OK)
	hc := hostFor(p)
	for range 2 {
		req := requestTo(t, fasthttp.MethodGet, p.URL("/"))
		req.Header.DisableSpecialHeader()
		req.Header.Set("Host", "h")
		req.Header.Set("Connection", "close")
		servertest.Must(t, hc.Do(req, responseFor(t)))
	}
	p.Counts(2, 2)
}
