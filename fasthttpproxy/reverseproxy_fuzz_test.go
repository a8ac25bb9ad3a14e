package fasthttpproxy_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"path"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttpproxy"
	"github.com/valyala/fasthttp/internal/servertest"
)

// fuzzMark is in a field of all that the proxy forwards. No input has it.
var fuzzMark = fmt.Sprintf("mark-%d", time.Now().UnixNano())

const (
	fuzzStreams  = 1 << iota // bodies of requests stream
	fuzzAnswered             // the server sends the response of the input, and closes the connection
	fuzzTarget               // Target has a path
	fuzzUpgrades             // clients may switch to WebSocket, which the server does not unless fuzzAnswered is set
	fuzzModifies             // ModifyResponse replaces bodies

	fuzzSettings = fuzzModifies << 1
)

// FuzzReverseProxy sends a request through a proxy, and a response back. The server must find one
// well-formed request in what it gets for each request that the proxy has accepted, without fields of
// the connection to the client, and the client one response.
func FuzzReverseProxy(f *testing.F) {
	inside := servertest.Smuggled
	for i, request := range []string{
		servertest.Get("/a?b", "Connection: X-Hop, close", "X-Hop: 1", "Keep-Alive: 1", "TE: trailers, gzip"),
		servertest.Post("/", inside) + inside,
		servertest.Chunked("/", fmt.Sprintf("%x;a=b\r\n%s\r\n0\r\nX-T: 1\r\n\r\n", len(inside), inside), "Connection: x-t", "Trailer: X-T"),
		servertest.Head("POST http://b/%zz HTTP/1.1", "Host: a", "Content-Length: 2", "Expect: 100-continue") + "ok",
		servertest.Head("TRACE / HTTP/1.1", "Host: a", "Max-Forwards: 0") + servertest.Head("OPTIONS * HTTP/1.1", "Host: a", "Max-Forwards: 1"),
		servertest.Get("/", "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Key: a") + inside,
		servertest.Head("HEAD /a HTTP/1.0", "Connection: keep-alive", "X_Forwarded_For: a", "Proxy: b") + servertest.Get("/"),
		servertest.Head("CONNECT b:1 HTTP/1.1", "Host: b:1") + inside,
		servertest.Post("/", "", "Transfer-Encoding: chunked", "Content-Length: 5") + "0\r\n\r\n" + inside,
		servertest.Get("/a/..%2f..;b/%252e%252e/c") + servertest.Get("http://a/b\\../..?c#d"),
	} {
		for settings := range byte(fuzzSettings) {
			if settings&fuzzAnswered == 0 {
				f.Add([]byte(request), []byte(nil), settings)
			}
		}
		if i > 1 {
			continue
		}
		for _, response := range []string{
			servertest.OK,
			servertest.Head("HTTP/1.1 200 OK", "Transfer-Encoding: chunked", "Connection: X-Own", "Trailer: X-Own") + "2\r\nok\r\n0\r\nX-Own: 1\r\n\r\n",
			servertest.Head("HTTP/1.1 103 Early Hints", "Link: a", "Connection: b") + "HTTP/1.0 200 OK\r\n\r\nuntil the end",
			servertest.Head("HTTP/1.1 200 OK", "Content-Length: 2", "Content-Length: 2", "Keep-Alive: 1") + "ok" + servertest.OK,
			servertest.Head("HTTP/1.1 101 Switching Protocols", "Connection: Upgrade", "Upgrade: websocket") + servertest.OK,
			servertest.Head("HTTP/1.1 304 Not Modified", "Content-Length: 5") + servertest.Head("HTTP/1.1 204 No Content"),
		} {
			f.Add([]byte(request), []byte(response), byte(fuzzAnswered))
			f.Add([]byte(request), []byte(response), byte(fuzzAnswered|fuzzTarget|fuzzModifies))
		}
	}
	f.Fuzz(func(t *testing.T, request, response []byte, settings byte) {
		servertest.Soon(t, fmt.Sprintf("the proxy with %q and %q", request, response), func() {
			fuzzProxy(t, request, response, settings)
		})
	})
}

// fuzzProxy sends the bytes of a client through a proxy.
func fuzzProxy(t *testing.T, request, response []byte, settings byte) {
	answered := settings&fuzzAnswered != 0
	back := &fuzzBackend{t: t, response: servertest.OK, closes: answered}
	if answered {
		back.response = string(response)
	}
	client := &fasthttp.HostClient{Addr: "backend:1", Dial: back.dial, MaxConns: 100, ReadTimeout: servertest.Patience}
	p := &fasthttpproxy.ReverseProxy{
		Target: "http://backend:1", Client: client, UpgradeProtocols: []string{},
		Rewrite: func(ctx *fasthttp.RequestCtx, req *fasthttp.Request) error {
			req.Header.Set("X-Mark", fuzzMark+"-"+strconv.FormatUint(ctx.ConnRequestNum(), 10))
			return nil
		},
		ErrorHandler: func(*fasthttp.RequestCtx, error) {},
	}
	if settings&fuzzTarget != 0 {
		back.base = "/base"
		p.Target += back.base
	}
	if back.upgrades = settings&fuzzUpgrades != 0 && !answered; back.upgrades {
		p.UpgradeProtocols = nil
	}
	if settings&fuzzModifies != 0 {
		p.ModifyResponse = func(ctx *fasthttp.RequestCtx) error {
			if stream := ctx.Response.BodyStream(); stream != nil {
				ctx.Response.SetBodyStream(io.MultiReader(stream), -1)
			}
			return nil
		}
	}
	var methods []string // of the requests that the proxy has got
	var busy sync.Mutex
	s := &fasthttp.Server{Logger: &servertest.Log{}, StreamRequestBody: settings&fuzzStreams != 0, Handler: func(ctx *fasthttp.RequestCtx) {
		busy.Lock()
		defer busy.Unlock()
		methods = append(methods, string(ctx.Method()))
		p.Handler(ctx)
		ctx.Response.Header.Set("X-Mark", fuzzMark)
	}}
	front := &servertest.FakeConn{Pieces: [][]byte{bytes.Clone(request)}, Starved: func(*servertest.FakeConn) {
		if !s.StreamRequestBody {
			// the client stays until it has its response, or the call would be canceled
			busy.Lock()
			defer busy.Unlock()
		}
	}}
	_ = s.ServeConn(front)
	client.CloseIdleConnections()
	back.end()
	if n := len(back.marks); n > len(methods) {
		t.Errorf("%q: the server got %d requests, the proxy %d", request, n, len(methods))
	}
	fuzzResponses(t, front.Out.Bytes(), methods)
}

// fuzzResponses checks what the client has got.
func fuzzResponses(t *testing.T, got []byte, methods []string) {
	r := bufio.NewReader(bytes.NewReader(got))
	for i := 0; ; i++ {
		method := "GET"
		if i < len(methods) {
			method = methods[i]
		}
		resp, err := servertest.ReadResponse(r, method)
		switch {
		case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
			return
		case err != nil:
			t.Errorf("%q: %v", got, err)
			return
		case resp.StatusCode < 200:
			i--
		case i >= len(methods):
			if resp.Header.Get("X-Mark") != "" || resp.StatusCode < 400 {
				t.Errorf("%q: a response to no request", got)
			}
		default:
			if mark := resp.Header["X-Mark"]; len(mark) != 1 || mark[0] != fuzzMark {
				t.Errorf("%q: response %d is none of the proxy", got, i)
			}
			fuzzDropped(t, resp.Header, got)
		}
	}
}

// fuzzDropped checks that a header has no fields of another connection.
func fuzzDropped(t *testing.T, h http.Header, text []byte) {
	for _, name := range []string{"Keep-Alive", "Proxy-Connection", "Proxy-Authenticate", "Proxy-Authorization", "Proxy", "Upgrade", "Http2-Settings"} {
		if _, ok := h[name]; ok {
			t.Errorf("%q: has %s", text, name)
		}
	}
	for _, value := range h["Connection"] {
		if value != "TE" && value != "close" && value != "keep-alive" {
			t.Errorf("%q: has Connection: %s", text, value)
		}
	}
}

// fuzzBackend is the server.
type fuzzBackend struct {
	t        *testing.T
	response string
	closes   bool
	base     string // that all paths begin with
	upgrades bool   // requests may ask for another protocol

	running sync.WaitGroup
	mu      sync.Mutex
	ended   bool
	conns   []net.Conn
	marks   map[string]bool // of the requests
}

// end ends the connections. A canceled call may have left one.
func (b *fuzzBackend) end() {
	b.mu.Lock()
	b.ended = true
	for _, c := range b.conns {
		_ = c.Close()
	}
	b.mu.Unlock()
	b.running.Wait()
}

func (b *fuzzBackend) dial(string) (net.Conn, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended {
		return nil, net.ErrClosed
	}
	client, server := net.Pipe()
	b.conns = append(b.conns, server)
	b.running.Go(func() {
		defer server.Close()
		r := bufio.NewReader(server)
		for b.serve(r, server) {
		}
	})
	return client, nil
}

// serve reads a request and answers it. It returns false at the end.
func (b *fuzzBackend) serve(r *bufio.Reader, w io.Writer) bool {
	line, fields, err := strictHead(r)
	switch {
	case isEnd(err):
		return false
	case err != nil:
		b.t.Errorf("the server got %q and %q: %v", line, fields, err)
		return false
	}
	if b.upgrades && strings.HasPrefix(line, "GET ") && len(fields["Upgrade"]) == 1 && fields["Upgrade"][0] == "websocket" &&
		len(fields["Connection"]) == 1 && fields["Connection"][0] == "Upgrade" {
		delete(fields, "Upgrade")
		delete(fields, "Connection")
	}
	b.checkPath(line)
	fuzzDropped(b.t, fields, []byte(line))
	for _, name := range []string{"Te", "Connection"} {
		if value := fields[name]; len(value) > 1 {
			b.t.Errorf("%q: has %q", line, value)
		}
	}
	mark := fields["X-Mark"]
	if len(mark) != 1 || !strings.HasPrefix(mark[0], fuzzMark) || len(fields["Host"]) != 1 || len(fields["X-Forwarded-Host"]) != 1 || len(fields["Via"]) == 0 {
		b.t.Errorf("%q with %q is no request of the proxy", line, fields)
		return false
	}
	if fields["Expect"] != nil {
		if _, err := io.WriteString(w, "HTTP/1.1 100 Continue\r\n\r\n"); err != nil {
			return false
		}
	}
	if err := strictBody(r, fields); err != nil {
		if !isEnd(err) {
			b.t.Errorf("%q with %q: %v", line, fields, err)
		}
		return false
	}
	b.mu.Lock()
	if b.marks == nil {
		b.marks = map[string]bool{}
	}
	if b.marks[mark[0]] && !b.closes {
		b.t.Errorf("%q with %q came twice", line, fields)
	}
	b.marks[mark[0]] = true
	b.mu.Unlock()
	response := b.response
	if strings.HasPrefix(line, "HEAD ") && !b.closes {
		response = servertest.Head("HTTP/1.1 200 OK", "Content-Length: 2")
	}
	_, err = io.WriteString(w, response)
	return err == nil && !b.closes
}

// checkPath checks that the path of a request line does not lead out of the base.
func (b *fuzzBackend) checkPath(line string) {
	target := strings.Fields(line)[1]
	if b.base == "" || target == "*" {
		return
	}
	target, _, _ = strings.Cut(target, "?")
	for range 4 { // a server may decode the path more than once
		if clean := path.Clean(target); clean != b.base && !strings.HasPrefix(clean, b.base+"/") {
			b.t.Errorf("%q leads to %q", line, clean)
		}
		decoded, err := url.PathUnescape(target)
		if err != nil {
			return
		}
		target = decoded
	}
}

// isEnd reports whether an error is the end of a connection.
func isEnd(err error) bool {
	return err == io.EOF || err == io.ErrUnexpectedEOF || err == io.ErrClosedPipe
}

// strictHead reads a head that leaves no doubt.
func strictHead(r *bufio.Reader) (line string, fields http.Header, err error) {
	fields = http.Header{}
	for i := 0; ; i++ {
		text, err := r.ReadString('\n')
		if err != nil {
			return line, fields, err
		}
		text, ok := strings.CutSuffix(text, "\r\n")
		if !ok || strings.ContainsAny(text, "\r\x00") {
			return line, fields, fmt.Errorf("the line %q", text)
		}
		switch {
		case i == 0:
			if line = text; strings.Count(line, " ") != 2 || !strings.HasSuffix(line, " HTTP/1.1") {
				return line, fields, errors.New("the request line")
			}
		case text == "":
			return line, fields, nil
		default:
			name, value, ok := strings.Cut(text, ":")
			if !ok || name == "" || strings.ContainsAny(name, " \t") {
				return line, fields, fmt.Errorf("the field %q", text)
			}
			fields.Add(name, strings.Trim(value, " \t"))
		}
	}
}

// strictBody reads a body of which the length leaves no doubt.
func strictBody(r *bufio.Reader, fields http.Header) error {
	length, coding := fields["Content-Length"], fields["Transfer-Encoding"]
	switch {
	case len(length)+len(coding) > 1 || len(coding) == 1 && coding[0] != "chunked":
		return errors.New("the length")
	case len(coding) == 1:
		if _, err := io.Copy(io.Discard, httputil.NewChunkedReader(r)); err != nil {
			return err
		}
		for {
			text, err := r.ReadString('\n')
			if err != nil || text == "\r\n" {
				return err
			}
		}
	case len(length) == 1:
		n, err := strconv.ParseUint(length[0], 10, 62)
		if err != nil {
			return err
		}
		_, err = io.CopyN(io.Discard, r, int64(n))
		return err
	}
	return nil
}
