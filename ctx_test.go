package fasthttp

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp/internal/servertest"
)

// serveOne serves a request with h and returns the response as it was written.
func serveOne(t testing.TB, request string, h RequestHandler) string {
	t.Helper()
	c := &servertest.FakeConn{Pieces: [][]byte{[]byte(request)}}
	s := &Server{Handler: h, NoDefaultDate: true, Logger: &servertest.Log{}}
	if err := s.ServeConn(c); err != nil {
		t.Errorf("ServeConn: %v", err)
	}
	return c.Out.String()
}

func TestCtxTellsOfTheRequest(t *testing.T) {
	request := servertest.Post("/a%20b/../c?x=1&y=%41", "k=v&l=", "User-Agent: ua", "Referer: http://r/", "Content-Type: application/x-www-form-urlencoded")
	called := false
	serveOne(t, request, func(ctx *RequestCtx) {
		called = true
		for name, pair := range map[string][2]string{
			"Method":     {string(ctx.Method()), "POST"},
			"RequestURI": {string(ctx.RequestURI()), "/a%20b/../c?x=1&y=%41"},
			"URI":        {ctx.URI().String(), "http://a/c?x=1&y=%41"},
			"Path":       {string(ctx.Path()), "/c"},
			"Host":       {string(ctx.Host()), "a"},
			"UserAgent":  {string(ctx.UserAgent()), "ua"},
			"Referer":    {string(ctx.Referer()), "http://r/"},
			"QueryArgs":  {string(ctx.QueryArgs().Peek("x")) + string(ctx.QueryArgs().Peek("y")), "1A"},
			"PostArgs":   {string(ctx.PostArgs().Peek("k")), "v"},
			"PostBody":   {string(ctx.PostBody()), "k=v&l="},
		} {
			if pair[0] != pair[1] {
				t.Errorf("%s is %q, want %q", name, pair[0], pair[1])
			}
		}
		if n := ctx.ConnRequestNum(); n != 1 {
			t.Errorf("ConnRequestNum is %d", n)
		}
		if id := ctx.ConnID()<<32 | 1; ctx.ID() != id || ctx.ConnID() == 0 {
			t.Errorf("ID is %x, ConnID %x", ctx.ID(), ctx.ConnID())
		}
		if ctx.IsTLS() || ctx.TLSConnectionState() != nil {
			t.Error("a plain connection is one of TLS")
		}
		if ctx.ConnTime().IsZero() || ctx.Time().Before(ctx.ConnTime()) {
			t.Errorf("the connection is of %v, the request of %v", ctx.ConnTime(), ctx.Time())
		}
	})
	if !called {
		t.Error("the handler was not called")
	}
}

func TestCtxKnowsTheMethods(t *testing.T) {
	is := map[string]func(*RequestCtx) bool{
		"GET": (*RequestCtx).IsGet, "POST": (*RequestCtx).IsPost, "PUT": (*RequestCtx).IsPut, "DELETE": (*RequestCtx).IsDelete,
		"HEAD": (*RequestCtx).IsHead, "CONNECT": (*RequestCtx).IsConnect, "OPTIONS": (*RequestCtx).IsOptions,
		"TRACE": (*RequestCtx).IsTrace, "PATCH": (*RequestCtx).IsPatch, "QUERY": (*RequestCtx).IsQuery,
	}
	for method := range is {
		target := "/"
		if method == "CONNECT" {
			target = "a:1"
		}
		serveOne(t, servertest.Head(method+" "+target+" HTTP/1.1", "Host: a"), func(ctx *RequestCtx) {
			for name, test := range is {
				if test(ctx) != (name == method) {
					t.Errorf("%s is %s: %v", method, name, test(ctx))
				}
			}
		})
	}
}

func TestConnIDsDiffer(t *testing.T) {
	seen := make(map[uint64]bool)
	for range 10 {
		serveOne(t, servertest.Get("/")+servertest.Get("/"), func(ctx *RequestCtx) {
			if seen[ctx.ID()] {
				t.Errorf("two requests have the id %x", ctx.ID())
			}
			seen[ctx.ID()] = true
		})
	}
	if len(seen) != 20 {
		t.Errorf("%d ids for 20 requests", len(seen))
	}
}

func TestCtxAddresses(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
		ts := start(&Server{Handler: func(ctx *RequestCtx) {
			fmt.Fprintf(ctx, "%s %s %s %s", ctx.LocalAddr(), ctx.RemoteAddr(), ctx.LocalIP(), ctx.RemoteIP())
		}})
		c := ts.Dial()
		c.Get("/")
		got := c.Next("GET").Content
		ips := "0.0.0.0 0.0.0.0"
		if ts.Engine.Sockets {
			ips = "127.0.0.1 127.0.0.1"
		}
		if want := fmt.Sprintf("%s %s %s", c.RemoteAddr(), c.LocalAddr(), ips); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

func TestSetRemoteAddrGoesBackToWhatWasThere(t *testing.T) {
	first, second := &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 1}, &net.TCPAddr{IP: net.IPv4(10, 0, 0, 2), Port: 2}
	var ctx RequestCtx
	for _, given := range []net.Addr{first, second} {
		ctx.Init(&Request{}, given, nil)
		ctx.SetRemoteAddr(&net.UnixAddr{Name: "other"})
		ctx.SetRemoteAddr(nil)
		if got := ctx.RemoteAddr(); got != given {
			t.Errorf("the address is %v, want %v", got, given)
		}
	}
	ctx.Init(&Request{}, nil, nil)
	if got := ctx.RemoteAddr(); got != zeroTCPAddr {
		t.Errorf("the address is %v without one", got)
	}
}

func TestSetRemoteAddrIsForOneRequest(t *testing.T) {
	own := &net.TCPAddr{IP: net.IPv4(10, 0, 0, 9), Port: 9}
	n := 0
	serveOne(t, servertest.Get("/")+servertest.Get("/"), func(ctx *RequestCtx) {
		if n++; n == 2 {
			if got := ctx.RemoteAddr(); got != servertest.ZeroAddr {
				t.Errorf("the next request has the address %v", got)
			}
			return
		}
		ctx.SetRemoteAddr(own)
		if ctx.RemoteAddr() != own || !ctx.RemoteIP().Equal(own.IP) {
			t.Errorf("the address is %v", ctx.RemoteAddr())
		}
		ctx.SetRemoteAddr(nil)
		if ctx.RemoteAddr() != servertest.ZeroAddr {
			t.Errorf("the address is %v, want that of the connection", ctx.RemoteAddr())
		}
		ctx.SetRemoteAddr(own)
	})
}

// tlsConn is a connection that claims to be a TLS connection.
type tlsConn struct{ *servertest.FakeConn }

func (tlsConn) Handshake() error { return nil }

func (tlsConn) ConnectionState() tls.ConnectionState { return tls.ConnectionState{ServerName: "sn"} }

func TestCtxOfATLSConnection(t *testing.T) {
	c := tlsConn{&servertest.FakeConn{Pieces: [][]byte{[]byte(servertest.Get("/"))}}}
	s := &Server{Handler: func(ctx *RequestCtx) {
		if state := ctx.TLSConnectionState(); !ctx.IsTLS() || state == nil || state.ServerName != "sn" {
			t.Errorf("TLS %v, state %+v", ctx.IsTLS(), state)
		}
		if scheme := ctx.URI().Scheme(); string(scheme) != "https" {
			t.Errorf("the scheme is %q", scheme)
		}
		ctx.SetBodyString("seen")
	}}
	if err := s.ServeConn(c); err != nil || !strings.HasSuffix(c.Out.String(), "seen") {
		t.Errorf("ServeConn: %v, %q", err, c.Out.String())
	}
}

func TestCtxMakesResponses(t *testing.T) {
	for _, tc := range []struct {
		name string
		h    RequestHandler
		want string
	}{
		{"Error", func(ctx *RequestCtx) { ctx.Error("msg", 404) },
			"HTTP/1.1 404 Not Found\r\nServer: fasthttp\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 3\r\n\r\nmsg"},
		{"NotFound", func(ctx *RequestCtx) { ctx.NotFound() },
			"HTTP/1.1 404 Not Found\r\nServer: fasthttp\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 18\r\n\r\n404 Page not found"},
		{"NotModified", func(ctx *RequestCtx) { ctx.NotModified() },
			"HTTP/1.1 304 Not Modified\r\nServer: fasthttp\r\n\r\n"},
		{"Success", func(ctx *RequestCtx) { ctx.Success("text/x", []byte("b")) },
			"HTTP/1.1 200 OK\r\nServer: fasthttp\r\nX: y\r\nContent-Type: text/x\r\nContent-Length: 1\r\n\r\nb"},
		{"SuccessString", func(ctx *RequestCtx) { ctx.SuccessString("text/x", "b") },
			"HTTP/1.1 200 OK\r\nServer: fasthttp\r\nX: y\r\nContent-Type: text/x\r\nContent-Length: 1\r\n\r\nb"},
		{"Write", func(ctx *RequestCtx) {
			ctx.ResetBody()
			_, _ = ctx.Write([]byte("a"))
			_, _ = ctx.WriteString("b")
			_, _ = io.WriteString(ctx.Response.BodyWriter(), "c")
		}, "HTTP/1.1 200 OK\r\nServer: fasthttp\r\nX: y\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 3\r\n\r\nabc"},
		{"status and type", func(ctx *RequestCtx) {
			ctx.SetStatusCode(201)
			ctx.SetContentType("text/y")
			ctx.SetContentTypeBytes([]byte("text/z"))
			ctx.SetBody([]byte("z"))
			ctx.SetConnectionClose()
		}, "HTTP/1.1 201 Created\r\nServer: fasthttp\r\nX: y\r\nContent-Type: text/z\r\nContent-Length: 1\r\nConnection: close\r\n\r\nz"},
	} {
		got := serveOne(t, servertest.Get("/"), func(ctx *RequestCtx) {
			ctx.Response.Header.Set("X", "y")
			ctx.SetBodyString("before")
			tc.h(ctx)
		})
		// the order of fields does not matter
		if sorted(got) != sorted(tc.want) {
			t.Errorf("%s: got %q, want %q", tc.name, got, tc.want)
		}
	}
}

// sorted returns a message with sorted field lines.
func sorted(message string) string {
	head, body, _ := strings.Cut(message, "\r\n\r\n")
	lines := strings.Split(head, "\r\n")
	slices.Sort(lines[1:])
	return strings.Join(lines, "\r\n") + "\r\n\r\n" + body
}

func TestCtxRedirects(t *testing.T) {
	for _, tc := range []struct {
		target, uri string
		status      int
		location    string
		want        int
	}{
		{"/x/y?z", "/a", 301, "http://a/a", 301},
		{"/x/y?z", "b", 302, "http://a/x/b", 302},
		{"/x/y?z", "../b?c#d", 303, "http://a/b?c#d", 303},
		{"/x/y?z", "?", 302, "http://a/x/y?", 302},
		{"/x/y?z", "/a?", 302, "http://a/a?", 302},
		{"/x/y?z", "?q", 307, "http://a/x/y?q", 307},
		{"/x/y?z", "https://b.test/c", 308, "https://b.test/c", 308},
		{"/x/y?z", "//b.test/c", 308, "http://b.test/c", 308},
		{"/x/y?z", "/a", 200, "http://a/a", 302},
		{"/x/y?z", "/a", 404, "http://a/a", 302},
		{"/x/y?z", "/a\r\nX: y", 302, "", 302},
		{"/x/y?z", "mailto:u@b.test", 302, "mailto:u@b.test", 302},
		{"/x/y?z", "com.example.app:/callback?a#b", 303, "com.example.app:/callback?a#b", 303},
		{"/x/y?z", "tel:1\r\nX: y", 302, "tel:1  X: y", 302},
		{"/x/y?z", "https:b.test", 302, "http://a/x/https:b.test", 302},
		{"/x/y?z", "HTTP:/b.test/c", 302, "http://a/x/HTTP:/b.test/c", 302},
		{"/x/y?z", "https:\\\\b.test", 302, "http://a/x/https:%5C%5Cb.test", 302},
		{"/x/y?z", "1st:b", 302, "http://a/x/1st:b", 302},
		{"/x/y?z", "b?c:d", 302, "http://a/x/b?c:d", 302},
		{"/no-host", "mailto:u@b.test", 302, "mailto:u@b.test", 302},
		{"http://c.test/d", "/e", 302, "http://c.test/e", 302},
		{"/no-host", "/e?f#g", 302, "/e?f#g", 302},
		{"/no-host", "e", 302, "/e", 302},
		{"/no-host", "http://d.test/e", 302, "http://d.test/e", 302},
		{"/no-host", "////d.test", 302, "/d.test", 302},
	} {
		for _, bytes := range []bool{false, true} {
			request := servertest.Get(tc.target)
			if tc.target == "/no-host" {
				request = "GET / HTTP/1.0\r\n\r\n"
			}
			out := serveOne(t, request, func(ctx *RequestCtx) {
				ctx.Response.Header.Set("X-Kept", "yes")
				if bytes {
					ctx.RedirectBytes([]byte(tc.uri), tc.status)
				} else {
					ctx.Redirect(tc.uri, tc.status)
				}
			})
			var resp Response
			if err := resp.Read(bufio.NewReader(strings.NewReader(out))); err != nil {
				t.Fatal(err)
			}
			if resp.StatusCode() != tc.want || resp.Header.Peek("X") != nil || string(resp.Header.Peek("X-Kept")) != "yes" {
				t.Errorf("%s to %q: %q", tc.target, tc.uri, out)
			}
			if got := string(resp.Header.Peek("Location")); tc.location != "" && got != tc.location {
				t.Errorf("%s to %q: Location is %q, want %q", tc.target, tc.uri, got, tc.location)
			}
		}
	}
}

func TestIfModifiedSince(t *testing.T) {
	at := time.Date(2020, 2, 3, 4, 5, 6, 789, time.UTC)
	for value, want := range map[string]bool{
		"":                               true,
		"Mon, 03 Feb 2020 04:05:06 GMT":  false,
		"Mon, 03 Feb 2020 04:05:07 GMT":  false,
		"Mon, 03 Feb 2020 04:05:05 GMT":  true,
		"Monday, 03-Feb-20 04:05:06 GMT": false,
		"Mon Feb  3 04:05:06 2020":       false,
		"no date":                        true,
		"1580702706":                     true,
	} {
		request := servertest.Get("/")
		if value != "" {
			request = servertest.Get("/", "If-Modified-Since: "+value)
		}
		serveOne(t, request, func(ctx *RequestCtx) {
			if got := ctx.IfModifiedSince(at); got != want {
				t.Errorf("%q: %v, want %v", value, got, want)
			}
		})
	}
}

func TestCtxLogger(t *testing.T) {
	log := &servertest.Log{}
	var text string
	s := &Server{Logger: log, Handler: func(ctx *RequestCtx) {
		text = ctx.String()
		ctx.Logger().Printf("first %d", 1)
		ctx.Logger().Printf("second %s", "%d")
	}}
	if err := s.ServeConn(&servertest.FakeConn{Pieces: [][]byte{[]byte(servertest.Get("/x?y"))}}); err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`^#[0-9A-F]{16} - 0\.0\.0\.0:0<->0\.0\.0\.0:0 - GET http://a/x\?y$`).MatchString(text) {
		t.Errorf("String is %q", text)
	}
	lines := log.All()
	if len(lines) != 2 {
		t.Fatalf("logged %q", lines)
	}
	for i, said := range []string{"first 1", "second %d"} {
		if !regexp.MustCompile(`^[0-9]+\.[0-9]{3} ` + regexp.QuoteMeta(text) + ` - ` + regexp.QuoteMeta(said) + `$`).MatchString(lines[i]) {
			t.Errorf("logged %q", lines[i])
		}
	}
}

func TestCtxUserValues(t *testing.T) {
	type key struct{ n int }
	var closed []string
	closer := func(name string) io.Closer { return servertest.CloserFunc(func() { closed = append(closed, name) }) }
	n := 0
	serveOne(t, servertest.Get("/")+servertest.Get("/"), func(ctx *RequestCtx) {
		if n++; n == 2 {
			if ctx.UserValue("a") != nil || ctx.Value(key{1}) != nil {
				t.Error("the next request has values of the previous one")
			}
			if got := strings.Join(closed, " "); got != "dropped one two" {
				t.Errorf("closed %q by now", got)
			}
			return
		}
		ctx.SetUserValue("a", 1)
		ctx.SetUserValueBytes([]byte("b"), 2)
		ctx.SetUserValue(key{1}, 3)
		ctx.SetUserValue("gone", 4)
		ctx.RemoveUserValue("gone")
		ctx.SetUserValue("gone too", 5)
		ctx.RemoveUserValueBytes([]byte("gone too"))
		if ctx.UserValue("a") != 1 || ctx.UserValueBytes([]byte("b")) != 2 || ctx.Value(key{1}) != 3 || ctx.UserValue(key{2}) != nil ||
			ctx.UserValue("gone") != nil || ctx.UserValue("gone too") != nil || ctx.Value("b") != 2 {
			t.Error("values differ from those that were set")
		}
		var strs, all []string
		ctx.VisitUserValues(func(k []byte, v any) { strs = append(strs, fmt.Sprintf("%s=%v", k, v)) })
		ctx.VisitUserValuesAll(func(k, v any) { all = append(all, fmt.Sprintf("%v=%v", k, v)) })
		slices.Sort(strs)
		if fmt.Sprint(strs) != "[a=1 b=2]" || len(all) != 3 {
			t.Errorf("visited %v and %v", strs, all)
		}
		ctx.SetUserValue("c", closer("dropped"))
		ctx.ResetUserValues()
		if ctx.UserValue("a") != nil {
			t.Error("a value is left after ResetUserValues")
		}
		ctx.SetUserValue("one", closer("one"))
		ctx.SetUserValue("two", closer("two"))
		ctx.SetUserValue("none", 5)
	})
	if n != 2 {
		t.Errorf("%d requests", n)
	}
}

func TestCtxIsAContext(t *testing.T) {
	type key struct{}
	serveOne(t, servertest.Get("/"), func(ctx *RequestCtx) {
		ctx.SetUserValue(key{}, "value")
		if deadline, ok := ctx.Deadline(); ok || !deadline.IsZero() {
			t.Errorf("the deadline is %v", deadline)
		}
		if ctx.Err() != nil || ctx.Done() == nil || servertest.IsClosed(ctx.Done()) {
			t.Error("the context has ended")
		}
		child, cancel := context.WithCancel(context.WithoutCancel(ctx))
		defer cancel()
		if child.Value(key{}) != "value" || child.Err() != nil {
			t.Errorf("the child has %v, %v", child.Value(key{}), child.Err())
		}
	})
}

func TestCtxWithoutAServer(t *testing.T) {
	// the methods of a zero context
	var zero RequestCtx
	if zero.Done() != nil || zero.Err() != nil || zero.Conn() != nil || zero.ConnID() != 0 || !zero.ConnTime().IsZero() || !zero.Time().IsZero() {
		t.Error("the zero context has a connection or a server")
	}
	if zero.RemoteAddr() == nil || zero.LocalAddr() == nil || zero.RemoteIP() == nil || zero.LocalIP() == nil || zero.IsTLS() {
		t.Error("addresses of the zero context")
	}
	if err := zero.SetReadDeadline(time.Now()); err != ErrNilConnection {
		t.Errorf("SetReadDeadline: %v", err)
	}
	if err := zero.SetWriteDeadline(time.Now()); err != ErrNilConnection {
		t.Errorf("SetWriteDeadline: %v", err)
	}
	zero.SetBodyString("x")
	zero.Error("msg", 500)
	zero.NotFound()
	zero.Redirect("/x", 302)
	_ = zero.String()

	var req Request
	req.SetRequestURI("http://a.test/b?c=d")
	req.Header.SetMethod("POST")
	req.SetBodyString("body")
	from := &net.TCPAddr{IP: net.IPv4(10, 1, 2, 3), Port: 4}
	log := &servertest.Log{}
	var ctx RequestCtx
	ctx.Init(&req, from, log)
	req.SetBodyString("changed")
	echo(&ctx)
	if got := string(ctx.Response.Body()); got != servertest.Echoed("POST", "http://a.test/b?c=d", "body") {
		t.Errorf("the handler answered %q", got)
	}
	if ctx.RemoteAddr() != from || string(ctx.Host()) != "a.test" || string(ctx.QueryArgs().Peek("c")) != "d" || ctx.ConnID() == 0 {
		t.Errorf("the request is %v of %v", &ctx, ctx.RemoteAddr())
	}
	ctx.Logger().Printf("said")
	if line := log.WaitFor(t, "said"); !strings.Contains(line, "10.1.2.3:4") {
		t.Errorf("logged %q", line)
	}
	if ctx.Err() != nil || ctx.Time().IsZero() || ctx.ConnTime().IsZero() {
		t.Error("the context has ended, or has no time")
	}

	// the context is prepared again, for another request
	ctx.Init(&Request{}, nil, nil)
	if string(ctx.Method()) != "GET" || len(ctx.PostBody()) > 0 || len(ctx.Response.Body()) > 0 || ctx.RemoteAddr() != zeroTCPAddr {
		t.Errorf("something of the first request is left: %v %q", &ctx, ctx.Response.Body())
	}
	ctx.Init(nil, nil, nil)

	var ctx2 RequestCtx
	c := ipConn{&servertest.FakeConn{}, from}
	ctx2.Init2(c, nil, true)
	if ctx2.RemoteAddr() != from || ctx2.LocalAddr() != servertest.ZeroAddr || ctx2.Conn() != c {
		t.Errorf("the connection is %v", ctx2.Conn())
	}
	ctx2.SetUserValue("x", "y")
	ctx2.Init2(c, nil, false)
	if ctx2.UserValue("x") != nil {
		t.Error("a value is left")
	}
}

func TestPackageLevelServeAnswers(t *testing.T) {
	ln, dial := servertest.ListenMemory(t)
	served := make(chan error, 1)
	go func() { served <- Serve(ln, echo) }()
	nc, err := dial()
	if err != nil {
		t.Fatal(err)
	}
	c := &servertest.Conn{Conn: nc, T: t, R: bufio.NewReader(nc)}
	c.Get("/")
	c.Expect(200, servertest.Echoed("GET", "/", ""))
	_ = nc.Close()
	_ = ln.Close()
	if err := servertest.Receive(t, "return of Serve", served); err != nil {
		t.Errorf("Serve of a listener that was closed: %v", err)
	}
	if err := ListenAndServe("no address", echo); err == nil {
		t.Error("no error for an invalid address")
	}
	if err := ListenAndServeUNIX(t.TempDir()+"/missing/socket", 0o600, echo); err == nil {
		t.Error("no error for a socket that cannot be made")
	}
}

func TestInitDoesNotAllocate(t *testing.T) {
	var ctx RequestCtx
	conn := net.Conn(&servertest.FakeConn{})
	log := &servertest.Log{}
	checkAllocs(t, "Init2", func() { ctx.Init2(conn, nil, true) })
	var req Request
	req.SetRequestURI("http://a.test/b?c=d")
	checkAllocs(t, "Init", func() { ctx.Init(&req, nil, log) })
	if ctx.Logger().Printf("said"); len(log.All()) != 1 || !strings.HasSuffix(log.All()[0], "said") {
		t.Errorf("logged %q", log.All())
	}
	first := ctx.ID()
	ctx.Init(&req, nil, nil)
	if ctx.ID() == first || ctx.UserValue("key") != nil || string(ctx.Path()) != "/b" {
		t.Errorf("%v %v %s", ctx.ID(), ctx.UserValue("key"), ctx.Path())
	}
}

// valueOf copies a value that must not be copied.
func valueOf[T any](p *T) T { return *p }

// After a request was copied as a value, as tests do, both the copy and the original
// can be changed.
func TestContextOfACopiedRequest(t *testing.T) {
	read := func() *Request {
		var req Request
		const raw = "POST /path HTTP/1.1\r\nHost: h.test\r\nA: b\r\nTe: x\r\nCookie: c=d\r\nContent-Length: 3\r\n\r\nabc"
		if err := req.Read(bufio.NewReader(strings.NewReader(raw))); err != nil {
			t.Fatal(err)
		}
		return &req
	}
	set := func() *Request {
		req := new(Request)
		req.SetRequestURI("/path")
		req.SetHost("h.test")
		req.Header.SetMethod("POST")
		req.Header.Set("A", "b")
		req.Header.Set("Te", "x")
		req.Header.SetCookie("c", "d")
		req.SetBodyString("abc")
		return req
	}
	long := strings.Repeat("long", 100)
	for name, change := range map[string]func(req *Request){
		"Set": func(req *Request) { req.Header.Set("A", long) },
		"Read": func(req *Request) {
			head := "GET /" + long + " HTTP/1.1\r\nHost: other.test\r\nA: " + long + "\r\n\r\n"
			if err := req.Header.Read(bufio.NewReader(strings.NewReader(head))); err != nil {
				t.Error(err)
			}
		},
		"Set, new":     func(req *Request) { req.Header.Set("N", long) },
		"Add":          func(req *Request) { req.Header.Add("A", long) },
		"Del":          func(req *Request) { req.Header.Del("A") },
		"SetMethod":    func(req *Request) { req.Header.SetMethod("DELETE") },
		"SetURI":       func(req *Request) { req.SetRequestURI("/" + long) },
		"SetHost":      func(req *Request) { req.Header.SetHost(long) },
		"SetCookie":    func(req *Request) { req.Header.SetCookie("c", long) },
		"DelCookie":    func(req *Request) { req.Header.DelCookie("c") },
		"AddTrailer":   func(req *Request) { _ = req.Header.AddTrailer("T") },
		"Content-Type": func(req *Request) { req.Header.SetContentType(long) },
		"Connection":   func(req *Request) { req.Header.Set("Connection", "close") },
		"ResetHeader":  func(req *Request) { req.Header.Reset(); req.Header.Set("X", long) },
		"CopyTo": func(req *Request) {
			var other Request
			other.Header.Set("Other", long)
			other.CopyTo(req)
		},
	} {
		for kind, make := range map[string]func() *Request{"read": read, "set": set} {
			req := make()
			was := req.Header.String()
			ctx := &RequestCtx{Request: valueOf(req)}
			change(&ctx.Request)
			alone := make()
			change(alone)
			if got, want := ctx.Request.Header.String(), alone.Header.String(); got != want {
				t.Errorf("%s, %s: got %q, want %q", name, kind, got, want)
			}
			if name != "CopyTo" && req.Header.String() != was {
				t.Errorf("%s, %s: the original has become %q", name, kind, req.Header.String())
			}
		}
	}
	ctx := &RequestCtx{Request: valueOf(set())}
	ctx.Request.SetBodyString("another body")
	ctx.Request.AppendBodyString(", and more")
	if got := string(ctx.PostBody()); got != "another body, and more" {
		t.Errorf("the body is %q", got)
	}
}

func TestContextIsNotAskedForTheKeysOfItsPackage(t *testing.T) {
	if ownKey == nil {
		t.Fatal("package context does not call Value")
	}
	ctx := new(RequestCtx)
	ctx.SetUserValue("k", 1)
	ctx.SetUserValue(new(int), 2)
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	if ctx.Value(ownKey) != nil || inner.Value("k") != 1 {
		t.Errorf("%v, %v", ctx.Value(ownKey), inner.Value("k"))
	}
}

// A bubble does not end while one of its goroutines waits.
func TestNothingWaitsForTheEndOfAContextWithoutServer(t *testing.T) {
	var ctx RequestCtx
	ctx.Init(&Request{}, nil, nil)
	bubble(t, func(t *testing.T) {
		stop := ctx.AfterFunc(func() { t.Error("the context has ended") })
		context.AfterFunc(&ctx, func() { t.Error("the context has ended") })
		if !stop() || stop() {
			t.Error("stop has not reported what it did")
		}
	})
}
