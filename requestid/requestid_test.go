package requestid_test

import (
	"context"
	"io"
	"net"
	"net/netip"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/roottest"
	"github.com/valyala/fasthttp/internal/servertest"
	"github.com/valyala/fasthttp/requestid"
)

func TestMain(m *testing.M) { servertest.Main(m) }

// newSource returns a source.
func newSource(t testing.TB, o requestid.Options) *requestid.Source {
	t.Helper()
	s, err := requestid.New(o)
	servertest.Must(t, err)
	return s
}

var (
	ulid  = regexp.MustCompile(`^[0-7][0-9A-HJKMNP-TV-Z]{25}$`)
	local = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
)

// routes answers with the id.
func routes(ctx *fasthttp.RequestCtx) {
	switch string(ctx.Path()) {
	case "/panic":
		panic("a mistake")
	case "/left":
		ctx.TimeoutErrorWithCode("left", 504)
		return
	case "/missing":
		ctx.NotFound()
		return
	}
	derived, cancel := context.WithCancel(ctx)
	defer cancel()
	if string(requestid.Bytes(ctx)) != requestid.FromContext(derived) {
		ctx.Error("different", 500)
		return
	}
	ctx.SetBodyString(requestid.FromContext(ctx))
}

func newServer(t *testing.T, o requestid.Options) *fasthttp.Server {
	s := &fasthttp.Server{Handler: routes, MaxRequestBodySize: 10, HeaderReceived: func(h *fasthttp.RequestHeader) (c fasthttp.RequestConfig) {
		if string(h.RequestURI()) == "/refused" {
			c.RefuseStatus = 403
		}
		return c
	}}
	newSource(t, o).Attach(s)
	return s
}

// TestEveryResponseHasAnID has responses of each kind, with an id of the client and without.
func TestEveryResponseHasAnID(t *testing.T) {
	roottest.Everywhere(t, func(t *testing.T, start func(s *fasthttp.Server) *roottest.Server) {
		ts := start(newServer(t, requestid.Options{From: local}))
		seen := map[string]bool{}
		for _, tc := range []struct {
			method, path, body string
			status             int
		}{
			{"GET", "/", "", 200},
			{"GET", "/missing", "", 404},
			{"GET", "/panic", "", 500},
			{"GET", "/left", "", 504},
			{"GET", "/refused", "", 403},
			{"POST", "/", strings.Repeat("x", 11), 413},
		} {
			if tc.status == 500 && ts.HTTP2 {
				continue // the stream is reset
			}
			resp, body := ts.MustAsk(t, tc.method, tc.path, tc.body)
			id := resp.Header.Get("X-Request-Id")
			if resp.StatusCode != tc.status || !ulid.MatchString(id) || seen[id] || len(resp.Header.Values("X-Request-Id")) != 1 {
				t.Errorf("%s: got %d with the id %q", tc.path, resp.StatusCode, id)
			}
			seen[id] = true
			if tc.status == 200 && body != id {
				t.Errorf("the handler has the id %q, the response %q", body, id)
			}
			resp, _ = ts.MustAsk(t, tc.method, tc.path, tc.body, "X-Request-Id", "given-1234")
			if got := resp.Header.Get("X-Request-Id"); got != "given-1234" {
				t.Errorf("%s: got the id %q", tc.path, got)
			}
		}
	})
}

// TestInvalidIDsAreReplaced has ids that are not accepted.
func TestInvalidIDsAreReplaced(t *testing.T) {
	roottest.Everywhere(t, func(t *testing.T, start func(s *fasthttp.Server) *roottest.Server) {
		ts := start(newServer(t, requestid.Options{From: local, Field: "Trace"}))
		id := func(sent ...string) string {
			var with []string
			for _, id := range sent {
				with = append(with, "Trace", id)
			}
			resp, _ := ts.MustAsk(t, "GET", "/", "", with...)
			return resp.Header.Get("Trace")
		}
		for _, sent := range []string{"12345678", strings.Repeat("a", requestid.MaxLength), "a-b_c.d~e:f+g/h=i@j"} {
			if got := id(sent); got != sent {
				t.Errorf("%q became %q", sent, got)
			}
		}
		for _, sent := range []string{"", "1234567", strings.Repeat("a", requestid.MaxLength+1), "1234 5678", "1234\"5678", "<script>", "1234\\5678", "1234,5678", "12345678\xe4", "12345678%0a", "1234;5678", "$(12345678)"} {
			if got := id(sent); !ulid.MatchString(got) {
				t.Errorf("%q became %q", sent, got)
			}
		}
		if got := id("12345678", "12345678"); !ulid.MatchString(got) {
			t.Errorf("two ids became %q", got)
		}
	})
}

// TestUnknownPeersCannotChoose has a client that no Options name.
func TestUnknownPeersCannotChoose(t *testing.T) {
	other := []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}
	for _, o := range []requestid.Options{{}, {From: other}, {FromUnix: true}} {
		s := newServer(t, o)
		ctx := newCtx("X-Request-Id", "12345678")
		s.Handler(ctx)
		if got := string(ctx.Response.Header.Peek("X-Request-Id")); !ulid.MatchString(got) {
			t.Errorf("%+v: got the id %q", o, got)
		}
	}
	s := newServer(t, requestid.Options{FromUnix: true})
	ctx := newCtx("X-Request-Id", "12345678")
	ctx.SetRemoteAddr(&net.UnixAddr{Name: "a", Net: "unix"})
	s.Handler(ctx)
	if got := string(ctx.Response.Header.Peek("X-Request-Id")); got != "12345678" {
		t.Errorf("a Unix socket: got the id %q", got)
	}
}

// newCtx returns a context of a GET from 127.0.0.1.
func newCtx(name, value string) *fasthttp.RequestCtx {
	var req fasthttp.Request
	req.SetRequestURI("/")
	req.Header.Set(name, value)
	ctx := new(fasthttp.RequestCtx)
	ctx.Init(&req, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80}, nil)
	return ctx
}

// A handler may reset the values of its request, and the memory of the id may be in use for
// another request then.
func TestIDsOutliveValues(t *testing.T) {
	ids := newSource(t, requestid.Options{})
	var id, other string
	ctx := newCtx("A", "b")
	ids.Handler(func(ctx *fasthttp.RequestCtx) {
		id = requestid.FromContext(ctx)
		ctx.ResetUserValues()
		ids.Handler(func(ctx *fasthttp.RequestCtx) { other = requestid.FromContext(ctx) })(newCtx("A", "b"))
	})(ctx)
	if got := string(ctx.Response.Header.Peek("X-Request-Id")); got != id || got == other {
		t.Errorf("the request has the id %q, another one %q, the response %q", id, other, got)
	}
}

func TestSettingsAreChecked(t *testing.T) {
	for _, name := range []string{"a b", "a\n", "a:"} {
		if _, err := requestid.New(requestid.Options{Field: name}); err == nil {
			t.Errorf("%q is accepted", name)
		}
	}
	if requestid.FromContext(t.Context()) != "" || requestid.Bytes(newCtx("A", "b")) != nil {
		t.Error("there is an id")
	}
}

// TestIDsSortByTime compares an id with the time of its request.
func TestIDsSortByTime(t *testing.T) {
	s := newServer(t, requestid.Options{})
	ctx := newCtx("A", "b")
	s.Handler(ctx)
	const digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	ms := int64(0)
	for _, c := range requestid.FromContext(ctx)[:10] {
		ms = ms<<5 | int64(strings.IndexRune(digits, c))
	}
	if want := ctx.Time().UnixMilli(); ms != want {
		t.Errorf("the id has the time %v, want %v", time.UnixMilli(ms), time.UnixMilli(want))
	}
}

// loopConn is a connection with a peer that repeats a request, and reads all responses. It
// allocates nothing.
type loopConn struct {
	net.Conn // nil
	request  string
	left     int
	rest     string
}

var loopAddr = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}

func (c *loopConn) Read(p []byte) (int, error) {
	if c.rest == "" {
		if c.left == 0 {
			return 0, io.EOF
		}
		c.left--
		c.rest = c.request
	}
	n := copy(p, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

func (*loopConn) Write(p []byte) (int, error)      { return len(p), nil }
func (*loopConn) Close() error                     { return nil }
func (*loopConn) LocalAddr() net.Addr              { return loopAddr }
func (*loopConn) RemoteAddr() net.Addr             { return loopAddr }
func (*loopConn) SetDeadline(time.Time) error      { return nil }
func (*loopConn) SetReadDeadline(time.Time) error  { return nil }
func (*loopConn) SetWriteDeadline(time.Time) error { return nil }

func TestIDsAllocateNothing(t *testing.T) {
	if servertest.RaceDetector {
		t.Skip("the pools forget things under the race detector")
	}
	s := &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) { ctx.SetBody(requestid.Bytes(ctx)) }}
	newSource(t, requestid.Options{From: local}).Attach(s)
	for name, request := range map[string]string{"new": servertest.Get("/"), "given": servertest.Get("/", "X-Request-Id: 1234-5678")} {
		c := &loopConn{request: request}
		const requests = 1000
		serve := func() {
			c.left = requests
			_ = s.ServeConn(c)
		}
		serve() // fills the pools
		least := testing.AllocsPerRun(5, serve)
		for range 5 {
			// a garbage collection may empty the pools during a run
			least = min(least, testing.AllocsPerRun(5, serve))
		}
		if least > requests/50 {
			t.Errorf("%s: %v allocations for %d requests", name, least, requests)
		}
	}
}
