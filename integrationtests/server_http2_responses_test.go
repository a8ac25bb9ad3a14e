package integrationtests

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/net/http/httpguts"
	"golang.org/x/net/http2/hpack"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// connectionFields must not be in messages of HTTP/2 (RFC 9113 section 8.2.2).
var connectionFields = []string{"connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade", "te"}

// checkResponseFields returns an error if the fields of a response, or trailers, are wrong.
func checkResponseFields(fields []hpack.HeaderField, trailers bool) error {
	for i, f := range fields {
		switch {
		case !trailers && i == 0 && f.Name == ":status":
			if n, err := strconv.Atoi(f.Value); err != nil || n < 200 || n > 999 {
				return fmt.Errorf("the status %q", f.Value)
			}
			continue
		case strings.HasPrefix(f.Name, ":"), !trailers && i == 0:
			return fmt.Errorf("field %d is %s", i, f.Name)
		case !httpguts.ValidHeaderFieldName(f.Name), f.Name != strings.ToLower(f.Name):
			return fmt.Errorf("the name %q", f.Name)
		case !httpguts.ValidHeaderFieldValue(f.Value), f.Value != strings.Trim(f.Value, " \t"):
			return fmt.Errorf("the value %q of %s", f.Value, f.Name)
		case slices.Contains(connectionFields, f.Name):
			return fmt.Errorf("the field %s", f.Name)
		}
	}
	return nil
}

// checkResponse returns an error if a response to a request with a method is wrong.
func checkResponse(s h2Stream, method string) error {
	if !s.Ended || s.ResetCode() != "" && s.ResetCode() != "NO_ERROR" {
		return fmt.Errorf("it is cut: %s", s)
	}
	if err := checkResponseFields(s.Fields(), false); err != nil {
		return err
	}
	var lengths []string
	for _, f := range s.Fields() {
		if f.Name == "content-length" {
			lengths = append(lengths, f.Value)
		}
	}
	noContent := method == "HEAD" || s.Status() == "304" || s.Status() == "204"
	switch {
	case len(lengths) > 1:
		return fmt.Errorf("content-length %q", lengths)
	case noContent && s.Length > 0:
		return fmt.Errorf("%d bytes of content", s.Length)
	case !noContent && len(lengths) == 1 && lengths[0] != strconv.Itoa(s.Length):
		return fmt.Errorf("content-length %q, but %d bytes", lengths, s.Length)
	}
	for _, f := range s.Trailers() {
		switch f.Name {
		case "content-length", "content-type", "host", "trailer", "content-encoding":
			return fmt.Errorf("the trailer %s", f.Name)
		}
	}
	return checkResponseFields(s.Trailers(), true)
}

// oddResponses are responses of handlers that must not break an HTTP/2 connection. The content
// is "ok" if a handler sets none.
var oddResponses = map[string]func(ctx *fasthttp.RequestCtx){
	"connection: close":      func(ctx *fasthttp.RequestCtx) { ctx.Response.Header.Set("Connection", "close") },
	"connection: keep-alive": func(ctx *fasthttp.RequestCtx) { ctx.Response.Header.Set("Connection", "keep-alive") },
	"connection: x-foo": func(ctx *fasthttp.RequestCtx) {
		ctx.Response.Header.Set("Connection", "X-Foo")
		ctx.Response.Header.Set("X-Foo", "1")
	},
	"keep-alive":        func(ctx *fasthttp.RequestCtx) { ctx.Response.Header.Set("Keep-Alive", "timeout=5") },
	"proxy-connection":  func(ctx *fasthttp.RequestCtx) { ctx.Response.Header.Set("Proxy-Connection", "close") },
	"transfer-encoding": func(ctx *fasthttp.RequestCtx) { ctx.Response.Header.Set("Transfer-Encoding", "chunked") },
	"transfer-encoding, raw": func(ctx *fasthttp.RequestCtx) {
		ctx.Response.Header.DisableNormalizing()
		ctx.Response.Header.Add("transfer-encoding", "chunked")
		ctx.Response.Header.Add("TRANSFER-ENCODING", "gzip")
	},
	"upgrade": func(ctx *fasthttp.RequestCtx) { ctx.Response.Header.Set("Upgrade", "h2c") },
	"te":      func(ctx *fasthttp.RequestCtx) { ctx.Response.Header.Set("Te", "trailers") },
	"upper case": func(ctx *fasthttp.RequestCtx) {
		ctx.Response.Header.DisableNormalizing()
		ctx.Response.Header.Set("X-UPPER", "1")
		ctx.Response.Header.Set("Content-TYPE", "text/x")
	},
	"names with anything": func(ctx *fasthttp.RequestCtx) {
		for _, name := range []string{"", "a b", "a\r\nb", "a:b", "a\x00", " a", "a ", ":status", ":path", "a\x80"} {
			ctx.Response.Header.Add(name, "1")
			ctx.Response.Header.Set(name, "1")
		}
	},
	"values with anything": func(ctx *fasthttp.RequestCtx) {
		for i, value := range []string{"a\r\nX-Evil: b", "a\nb", "a\rb", "a\x00b", " a", "a ", "\ta\t", "\r\n", ""} {
			ctx.Response.Header.Add(fmt.Sprintf("X-%d", i), value)
			ctx.Response.Header.Set("Location", value)
			ctx.Response.Header.Set("Server", value)
			ctx.Response.Header.SetContentType(value)
			ctx.Response.Header.SetContentEncoding(value)
			var cookie fasthttp.Cookie
			cookie.SetKey("k" + value)
			cookie.SetValue("v" + value)
			cookie.SetPath("/" + value)
			ctx.Response.Header.SetCookie(&cookie)
			ctx.Response.Header.Set("Date", value)
		}
	},
	"a redirect with CR LF": func(ctx *fasthttp.RequestCtx) { ctx.Redirect("/a\r\nX-Evil: b", 302) },
	"a content-length that is less": func(ctx *fasthttp.RequestCtx) {
		ctx.Response.Header.Set("Content-Length", "1")
	},
	"a content-length that is more": func(ctx *fasthttp.RequestCtx) {
		ctx.Response.Header.Set("Content-Length", "100")
	},
	"content-length that is nonsense": func(ctx *fasthttp.RequestCtx) {
		ctx.Response.Header.Add("Content-Length", "x")
		ctx.Response.Header.Add("content-length", "5")
	},
	"101":  func(ctx *fasthttp.RequestCtx) { ctx.SetStatusCode(101) },
	"100":  func(ctx *fasthttp.RequestCtx) { ctx.SetStatusCode(100) },
	"204":  func(ctx *fasthttp.RequestCtx) { ctx.SetStatusCode(204) },
	"304":  func(ctx *fasthttp.RequestCtx) { ctx.SetStatusCode(304) },
	"0":    func(ctx *fasthttp.RequestCtx) { ctx.SetStatusCode(0) },
	"-1":   func(ctx *fasthttp.RequestCtx) { ctx.SetStatusCode(-1) },
	"1000": func(ctx *fasthttp.RequestCtx) { ctx.SetStatusCode(1000) },
	"99":   func(ctx *fasthttp.RequestCtx) { ctx.SetStatusCode(99) },
	"a status text": func(ctx *fasthttp.RequestCtx) {
		ctx.Response.Header.SetStatusMessage([]byte("a\r\nX-Evil: b"))
	},
	"another protocol": func(ctx *fasthttp.RequestCtx) { ctx.Response.Header.SetProtocol([]byte("HTTP/1.0")) },
	"close":            func(ctx *fasthttp.RequestCtx) { ctx.Response.Header.Set("X-Last", "yes") },
	"trailers": func(ctx *fasthttp.RequestCtx) {
		for _, name := range []string{"X-Trailer", "Transfer-Encoding", "Content-Length", "Connection", "Host", "A b", ":status", "X-Lines"} {
			_ = ctx.Response.Header.AddTrailer(name)
			ctx.Response.Header.Set(name, "1\r\nX-Evil: b")
		}
		ctx.Response.SetBodyStream(strings.NewReader("ok"), -1)
	},
	"a stream that is shorter than it says": nil, // it is cut off: see below
}

func TestHTTP2ResponsesAreWellFormed(t *testing.T) {
	t.Parallel()
	forEachHTTP2(t, testHTTP2ResponsesAreWellFormed)
}

func testHTTP2ResponsesAreWellFormed(t *testing.T, e servertest.Engine) {
	t.Parallel()
	ts := serveHTTP2(t, e, &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
		ctx.SetBodyString("ok")
		if odd := oddResponses[string(ctx.Request.Header.Peek("Case"))]; odd != nil {
			odd(ctx)
		} else {
			ctx.Response.SetBodyStream(strings.NewReader("ok"), 100)
		}
	}})
	for name := range oddResponses {
		for _, method := range []string{"GET", "HEAD"} {
			// a response may end its connection
			c := greetHTTP2(ts).Listen()
			c.Headers(1, whole, requestFields(method, "/", "case: "+name)...).Flush()
			got := c.Await(1)
			if oddResponses[name] == nil && method == "GET" {
				if got.ResetCode() == "" {
					t.Errorf("%s: %s", name, got)
				}
				continue
			}
			if err := checkResponse(got, method); err != nil {
				t.Errorf("%s, %s: %v: %v %v", method, name, err, got.Fields(), got.Trailers())
			}
			if s := fmt.Sprint(got.Fields(), got.Trailers()); strings.Contains(strings.ToLower(s), "name:x-evil") {
				t.Errorf("%s, %s: a field is added: %s", method, name, s)
			}
			c.Sync()
			_ = c.Close()
		}
	}
}

// passedBack are responses of an HTTP/1.1 server, and the responses that an HTTP/2 client gets
// if a handler forwards them.
var passedBack = []struct{ raw, want string }{
	{servertest.OK, "200 ok"},
	{servertest.OKClose, "200 ok"},
	{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", "200 ok"},
	{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Trailer\r\n\r\n2\r\nok\r\n0\r\nX-Trailer: yes\r\n\r\n", "200 ok"},
	{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nContent-Length: 5\r\nConnection: close\r\n:status: 500\r\n\r\n", ""},
	{"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", "200 ok"},
	{"HTTP/1.0 200 OK\r\n\r\nok", "200 ok"},
	{"HTTP/1.1 200 OK\r\nKeep-Alive: timeout=5\r\nProxy-Connection: close\r\nUpgrade: h2c\r\nConnection: Upgrade, X-Foo\r\nX-Foo: 1\r\nContent-Length: 2\r\n\r\nok", "200 ok"},
	{"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n", "204 "},
	{"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", "304 "},
	{"HTTP/1.1 404 \r\nX-UPPER: a\r\nSet-Cookie: a=b\r\nSet-Cookie: c=d\r\nContent-Length: 2\r\n\r\nno", "404 no"},
	{"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", "200 ok"},
}

// HTTP/2 requests are forwarded by HTTP/1.1, and the responses back. The handler forwards
// messages unchanged, as a simple proxy does.
func TestHTTP2IsPassedOnByHTTP1(t *testing.T) {
	t.Parallel()
	forEachHTTP2(t, testHTTP2IsPassedOnByHTTP1)
}

func testHTTP2IsPassedOnByHTTP1(t *testing.T, e servertest.Engine) {
	t.Parallel()
	for _, streams := range []bool{false, true} {
		ts, lines := startPassing(t, e, streams)
		for i, r := range passedBack {
			c := greetHTTP2(ts).Listen()
			c.Post(1, "/"+strconv.Itoa(i), "content-length: 5").Data(1, endStream, "hello").Flush()
			got := c.Await(1)
			// malformed trailers may be found after the head was sent
			if err := checkResponse(got, "POST"); err != nil && (r.want != "" || got.ResetCode() == "") {
				t.Errorf("%q: %v: %v %v", r.raw, err, got.Fields(), got.Trailers())
			}
			if r.want != "" && got.String() != r.want {
				t.Errorf("%q: %q, want %q", r.raw, got, r.want)
			}
			if strings.Contains(r.raw, "X-Foo") && got.Field("x-foo") != "" {
				t.Errorf("a field that Connection names is passed on: %v", got.Fields())
			}
			want := fmt.Sprintf("POST /%d HTTP/1.1\r\n", i)
			if line := servertest.Receive(t, "a request", lines); line != want {
				t.Errorf("the line is %q, want %q", line, want)
			}
			_ = c.Close()
		}
	}
}

// startPassing starts a server that forwards requests, and returns the request lines that
// arrive.
func startPassing(t *testing.T, e servertest.Engine, streams bool) (*testServer, <-chan string) {
	lines := make(chan string, len(passedBack))
	p := servertest.NewPeer(t, func(c *servertest.PeerConn) {
		for {
			line, err := c.R.ReadString('\n')
			if err != nil || !c.Head() {
				return
			}
			c.Content("hello")
			lines <- line
			i, _ := strconv.Atoi(strings.TrimPrefix(strings.Fields(line)[1], "/"))
			raw := passedBack[i].raw
			c.Send(raw)
			// a client must not be about to reuse the connection
			if strings.HasPrefix(raw, "HTTP/1.0") || strings.Contains(raw, "\nConnection: close") {
				return
			}
		}
	})
	hc := &fasthttp.HostClient{Addr: p.Addr(), StreamResponseBody: streams}
	t.Cleanup(hc.CloseIdleConnections)
	return serveHTTP2(t, e, &fasthttp.Server{StreamRequestBody: streams, Handler: func(ctx *fasthttp.RequestCtx) {
		if got := string(ctx.Request.Header.Protocol()); got != "HTTP/2.0" {
			t.Errorf("the protocol is %q", got)
		}
		ctx.Request.URI().SetScheme("http")
		if err := hc.Do(&ctx.Request, &ctx.Response); err != nil {
			ctx.Error(err.Error(), 502)
		}
	}}), lines
}

// A context that has served HTTP/2 serves HTTP/1.1 like any other, and the other way round.
func TestHTTP2AndHTTP1TakeTurns(t *testing.T) { forEachHTTP2(t, testHTTP2AndHTTP1TakeTurns) }

func testHTTP2AndHTTP1TakeTurns(t *testing.T, e servertest.Engine) {
	t.Parallel()
	ts := serveHTTP2(t, e, &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
		fmt.Fprintf(ctx, "%s %s %s", ctx.Request.Header.Protocol(), ctx.Request.Header.Peek("X-Old"), ctx.Path())
	}})
	c2, c1 := greetHTTP2(ts).Listen(), ts.Dial()
	for i := range uint32(20) {
		if got := c2.Ask(id(i), "/two", "x-old: no").String(); got != "200 HTTP/2.0 no /two" {
			t.Fatalf("HTTP/2 gets %q", got)
		}
		c1.Get("/one")
		c1.Expect(200, "HTTP/1.1  /one")
	}
}
