package cors_test

import (
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/cors"
	"github.com/valyala/fasthttp/internal/roottest"
	"github.com/valyala/fasthttp/internal/servertest"
)

func TestMain(m *testing.M) { servertest.Main(m) }

// newPolicy returns a policy.
func newPolicy(t testing.TB, o cors.Options) *cors.Policy {
	t.Helper()
	p, err := cors.New(o)
	servertest.Must(t, err)
	return p
}

// fields returns the fields of a response that concern CORS, as lines.
func fields(h http.Header) string {
	var lines []string
	if vary := h.Values("Vary"); len(vary) > 0 {
		lines = append(lines, "Vary: "+strings.Join(vary, ", "))
	}
	for _, name := range []string{"Origin", "Credentials", "Methods", "Headers", "Private-Network"} {
		if values := h.Values("Access-Control-Allow-" + name); len(values) > 0 {
			lines = append(lines, name+": "+strings.Join(values, "|"))
		}
	}
	for _, name := range []string{"Max-Age", "Expose-Headers"} {
		if values := h.Values("Access-Control-" + name); len(values) > 0 {
			lines = append(lines, name+": "+strings.Join(values, "|"))
		}
	}
	return strings.Join(lines, "\n")
}

// TestRefusedRequestsHaveTheFields has requests that do not arrive in time, or cannot be read.
func TestRefusedRequestsHaveTheFields(t *testing.T) {
	servertest.ForEachEngine(t, roottest.Prepare, func(t *testing.T, start servertest.Starter[*fasthttp.Server]) {
		t.Parallel()
		s := &fasthttp.Server{Handler: func(*fasthttp.RequestCtx) {}, HeaderReceived: func(*fasthttp.RequestHeader) fasthttp.RequestConfig {
			return fasthttp.RequestConfig{ReadTimeout: time.Millisecond}
		}, ContinueHandler: func(*fasthttp.RequestHeader) bool { return false }}
		newPolicy(t, cors.Options{Origins: []string{"https://a.example"}}).Attach(s)
		ts := start(s)
		const origin = "Origin: https://a.example"
		for _, tc := range []struct {
			request string
			status  int
			want    string
		}{
			{servertest.Head("POST / HTTP/1.1", "Host: a", origin, "Content-Length: 10"), 408, varies + "\nOrigin: https://a.example"},
			{servertest.Head("POST / HTTP/1.1", "Host: a", origin, "Content-Length: 10", "Expect: 100-continue"), 417, varies + "\nOrigin: https://a.example"},
			{servertest.Get("/", origin, "X: "+strings.Repeat("x", 70_000)), 431, varies}, // the origin is not known
			{"nothing\r\n\r\n", 400, varies},
		} {
			c := ts.Dial()
			go func() { _, _ = io.WriteString(c.Conn, tc.request) }()
			resp := c.Next("GET")
			if got := fields(resp.Header); got != tc.want || resp.StatusCode != tc.status {
				t.Errorf("got %d with\n%s\nwant %d with\n%s", resp.StatusCode, got, tc.status, tc.want)
			}
			_ = c.Close()
		}
	})
}

const (
	varies    = "Vary: Origin"
	varyAsked = "Vary: Origin, Access-Control-Request-Method, Access-Control-Request-Headers"
)

// TestEveryResponseHasTheFields has responses of each kind, for an allowed origin, for a refused one,
// and for none.
func TestEveryResponseHasTheFields(t *testing.T) {
	roottest.Everywhere(t, func(t *testing.T, start func(s *fasthttp.Server) *roottest.Server) {
		s := &fasthttp.Server{MaxRequestBodySize: 10,
			HeaderReceived: func(h *fasthttp.RequestHeader) (c fasthttp.RequestConfig) {
				switch string(h.RequestURI()) {
				case "/refused":
					c.RefuseStatus = 403
				}
				return c
			},
			Handler: func(ctx *fasthttp.RequestCtx) {
				switch string(ctx.Path()) {
				case "/panic":
					panic("a mistake")
				case "/left":
					ctx.TimeoutErrorWithCode("left", 504)
				case "/missing":
					ctx.NotFound()
				case "/error":
					ctx.Error("an error", 503)
				case "/varies":
					ctx.Response.Header.Set("Vary", "Accept-Encoding, origin")
				case "/own":
					ctx.Response.Header.Set("Access-Control-Allow-Origin", "*")
				}
			}}
		newPolicy(t, cors.Options{Origins: []string{"https://a.example"}, Credentials: true, Expose: []string{"X-One", "X-Two"}}).Attach(s)
		ts := start(s)
		for _, tc := range []struct {
			method, path, body string
			status             int
		}{
			{"GET", "/", "", 200},
			{"OPTIONS", "/", "", 200},
			{"GET", "/missing", "", 404},
			{"GET", "/error", "", 503},
			{"GET", "/panic", "", 500},
			{"GET", "/left", "", 504},
			{"GET", "/refused", "", 403},
			{"GET", "/varies", "", 200},
			{"GET", "/own", "", 200},
			{"POST", "/", strings.Repeat("x", 11), 413},
		} {
			if tc.status == 500 && ts.HTTP2 {
				continue // the stream is reset
			}
			vary, own := varies, ""
			switch tc.path {
			case "/varies":
				vary = "Vary: Accept-Encoding, origin"
			case "/own":
				own = "\nOrigin: *"
			}
			for origin, want := range map[string]string{
				"https://a.example": vary + "\nOrigin: https://a.example\nCredentials: true\nExpose-Headers: X-One, X-Two",
				"https://b.example": vary + own,
				"":                  vary + own,
			} {
				var with []string
				if origin != "" {
					with = []string{"Origin", origin}
				}
				resp, _ := ts.MustAsk(t, tc.method, tc.path, tc.body, with...)
				if got := fields(resp.Header); got != want || resp.StatusCode != tc.status {
					t.Errorf("%s %s for %q: got %d with\n%s\nwant %d with\n%s", tc.method, tc.path, origin, resp.StatusCode, got, tc.status, want)
				}
			}
		}
	})
}

// TestPreflight has requests for permission, under different policies.
func TestPreflight(t *testing.T) {
	list := []string{"https://a.example"}
	for name, tc := range map[string]struct {
		o                            cors.Options
		origin, method, fields, want string
	}{
		"allowed":                 {cors.Options{Origins: list}, "https://a.example", "GET", "", varyAsked + "\nOrigin: https://a.example\nMethods: GET, HEAD, POST"},
		"origin refused":          {cors.Options{Origins: list}, "https://b.example", "GET", "", varyAsked},
		"method refused":          {cors.Options{Origins: list}, "https://a.example", "PUT", "", varyAsked},
		"method in another case":  {cors.Options{Origins: list, Methods: []string{"PATCH"}}, "https://a.example", "patch", "", varyAsked},
		"method":                  {cors.Options{Origins: list, Methods: []string{"PUT"}}, "https://a.example", "PUT", "", varyAsked + "\nOrigin: https://a.example\nMethods: GET, HEAD, POST, PUT"},
		"any method":              {cors.Options{Origins: list, Methods: []string{"*"}}, "https://a.example", "WHATEVER", "", varyAsked + "\nOrigin: https://a.example\nMethods: WHATEVER"},
		"field refused":           {cors.Options{Origins: list, Headers: []string{"X-One"}}, "https://a.example", "GET", "x-one,x-two", varyAsked},
		"fields":                  {cors.Options{Origins: list, Headers: []string{"X-One", "X-Two"}}, "https://a.example", "GET", "x-one, x-two,", varyAsked + "\nOrigin: https://a.example\nMethods: GET, HEAD, POST\nHeaders: X-One, X-Two"},
		"any field":               {cors.Options{Origins: list, Headers: []string{"*"}, Credentials: true}, "https://a.example", "GET", "authorization,x-two", varyAsked + "\nOrigin: https://a.example\nCredentials: true\nMethods: GET, HEAD, POST\nHeaders: authorization,x-two"},
		"any field, no name":      {cors.Options{Origins: list, Headers: []string{"*"}}, "https://a.example", "GET", "a b", varyAsked},
		"all origins":             {cors.Options{Origins: []string{"*"}, MaxAge: 90 * time.Second}, "https://a.example", "GET", "", varyAsked + "\nOrigin: *\nMethods: GET, HEAD, POST\nMax-Age: 90"},
		"part of a second":        {cors.Options{Origins: []string{"*"}, MaxAge: time.Millisecond}, "null", "GET", "", varyAsked + "\nOrigin: *\nMethods: GET, HEAD, POST\nMax-Age: 1"},
		"seconds and a part":      {cors.Options{Origins: []string{"*"}, MaxAge: 1500 * time.Millisecond}, "null", "GET", "", varyAsked + "\nOrigin: *\nMethods: GET, HEAD, POST\nMax-Age: 2"},
		"as long as possible":     {cors.Options{Origins: []string{"*"}, MaxAge: math.MaxInt64}, "null", "GET", "", varyAsked + "\nOrigin: *\nMethods: GET, HEAD, POST\nMax-Age: 9223372037"},
		"not remembered":          {cors.Options{Origins: []string{"*"}, MaxAge: -1}, "null", "GET", "", varyAsked + "\nOrigin: *\nMethods: GET, HEAD, POST\nMax-Age: 0"},
		"private network":         {cors.Options{Origins: list, PrivateNetwork: true}, "https://a.example", "GET", "", varyAsked + ", Access-Control-Request-Private-Network\nOrigin: https://a.example\nMethods: GET, HEAD, POST\nPrivate-Network: true"},
		"private network refused": {cors.Options{Origins: list}, "https://a.example", "GET", "", varyAsked + "\nOrigin: https://a.example\nMethods: GET, HEAD, POST"},
	} {
		t.Run(name, func(t *testing.T) {
			roottest.Everywhere(t, func(t *testing.T, start func(s *fasthttp.Server) *roottest.Server) {
				s := &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) { ctx.Error("the handler was called", 500) }}
				newPolicy(t, tc.o).Attach(s)
				ts := start(s)
				with := []string{"Origin", tc.origin, "Access-Control-Request-Method", tc.method}
				if tc.fields != "" {
					with = append(with, "Access-Control-Request-Headers", tc.fields)
				}
				if strings.HasPrefix(name, "private") {
					with = append(with, "Access-Control-Request-Private-Network", "true")
				}
				resp, _ := ts.MustAsk(t, "OPTIONS", "/", "", with...)
				if got := fields(resp.Header); got != tc.want || resp.StatusCode != 204 {
					t.Errorf("got %d with\n%s\nwant\n%s", resp.StatusCode, got, tc.want)
				}
			})
		})
	}
}

// answered calls the handler for a request with an origin, and returns the fields of the response.
func answered(p *cors.Policy, origin string) *fasthttp.ResponseHeader {
	var req fasthttp.Request
	req.SetRequestURI("/")
	if origin != "" {
		req.Header.Set("Origin", origin)
	}
	ctx := new(fasthttp.RequestCtx)
	ctx.Init(&req, nil, nil)
	p.Handler(func(*fasthttp.RequestCtx) {})(ctx)
	return &ctx.Response.Header
}

func TestOrigins(t *testing.T) {
	p := newPolicy(t, cors.Options{
		Origins: []string{"https://a.example", "http://localhost:3000", "https://*.b.example", "https://*.c.example:8443"},
		OriginFunc: func(ctx *fasthttp.RequestCtx, origin []byte) bool {
			return string(origin) == "app://x" && string(ctx.Path()) == "/"
		},
	})
	for origin, allowed := range map[string]bool{
		"https://a.example": true, "http://localhost:3000": true, "https://x.b.example": true, "https://x-1.y_2.b.example": true,
		"https://x.c.example:8443": true, "app://x": true,
		"": false, "null": false, "*": false, "https://A.example": false, "http://a.example": false, "https://a.example:443": false, "https://a.example/": false,
		"https://a.example.evil": false, "https://x.a.example": false, "http://localhost": false, "http://localhost:30000": false,
		"https://b.example": false, "https://.b.example": false, "https://x..b.example": false, "https://x.b.example:80": false,
		"https://evil/.b.example": false, "https://evil:1.b.example": false, "https://evil@x.b.example": false, "https://evil#.b.example": false,
		"http://x.b.example": false, "https://xb.example": false, "https://X.b.example": false, "https://x.c.example": false,
		"https://evil.example, https://a.example": false, "https://\xe4.b.example": false,
	} {
		h := answered(p, origin)
		want := ""
		if allowed {
			want = origin
		}
		if got := string(h.Peek("Access-Control-Allow-Origin")); got != want || string(h.Peek("Vary")) != "Origin" {
			t.Errorf("%q: got %q, with Vary %q", origin, got, h.Peek("Vary"))
		}
	}
	for _, origin := range []string{"http://[::1]:3000", "http://127.0.0.1", "http://a:443", "https://a:8443", "chrome-extension://abcdef", "https://xn--4ca.example"} {
		if got := answered(newPolicy(t, cors.Options{Origins: []string{origin}}), origin).Peek("Access-Control-Allow-Origin"); string(got) != origin {
			t.Errorf("%q: got %q", origin, got)
		}
	}
	// the response is the same with and without Origin, so caches need not keep them apart
	all := newPolicy(t, cors.Options{Origins: []string{"*"}})
	for _, origin := range []string{"", "https://a.example", "null"} {
		if h := answered(all, origin); string(h.Peek("Access-Control-Allow-Origin")) != "*" || len(h.Peek("Vary")) > 0 {
			t.Errorf("%q: got %s", origin, h)
		}
	}
}

// asked calls the handler for a request with the fields, which are names and values in turn, and
// returns its response.
func asked(p *cors.Policy, method string, next fasthttp.RequestHandler, fields ...string) *fasthttp.Response {
	var req fasthttp.Request
	req.Header.SetMethod(method)
	req.SetRequestURI("/")
	for i := 0; i < len(fields); i += 2 {
		req.Header.Set(fields[i], fields[i+1])
	}
	ctx := new(fasthttp.RequestCtx)
	ctx.Init(&req, nil, nil)
	p.Handler(next)(ctx)
	return &ctx.Response
}

// TestOtherRequestsReachTheHandler has requests that lack a part of a preflight request.
func TestOtherRequestsReachTheHandler(t *testing.T) {
	p := newPolicy(t, cors.Options{Origins: []string{"https://a.example"}, Methods: []string{"PUT"}})
	const origin, method = "Origin", "Access-Control-Request-Method"
	for _, tc := range []struct {
		method    string
		fields    []string
		preflight bool
	}{
		{"OPTIONS", []string{origin, "https://a.example", method, "PUT"}, true},
		{"OPTIONS", []string{origin, "https://a.example"}, false},
		{"OPTIONS", []string{method, "PUT"}, false},
		{"OPTIONS", []string{origin, "https://a.example", method, ""}, false},
		{"GET", []string{origin, "https://a.example", method, "PUT"}, false},
		{"options", []string{origin, "https://a.example", method, "PUT"}, false},
	} {
		resp := asked(p, tc.method, func(ctx *fasthttp.RequestCtx) { ctx.SetStatusCode(299) }, tc.fields...)
		if got := resp.StatusCode() == 204; got != tc.preflight {
			t.Errorf("%s %q: the status is %d", tc.method, tc.fields, resp.StatusCode())
		}
		if got := len(resp.Header.Peek("Access-Control-Allow-Methods")) > 0; got != tc.preflight {
			t.Errorf("%s %q: the response is %s", tc.method, tc.fields, &resp.Header)
		}
	}
}

// TestNullNeedsAFunction has the origin of pages in a sandbox, which is the same for all of them.
func TestNullNeedsAFunction(t *testing.T) {
	for _, allowed := range []bool{false, true} {
		p := newPolicy(t, cors.Options{Credentials: true, OriginFunc: func(_ *fasthttp.RequestCtx, origin []byte) bool { return allowed && string(origin) == "null" }})
		h := &asked(p, "GET", nothing, "Origin", "null").Header
		if got := string(h.Peek("Access-Control-Allow-Origin")) == "null"; got != allowed || string(h.Peek("Vary")) != "Origin" {
			t.Errorf("allowed: %v, got %s", allowed, h)
		}
	}
}

func nothing(*fasthttp.RequestCtx) {}

// TestPoliciesAreNotMixed has a handler with fields of its own, such as a proxy for a server with
// another policy: together they must not permit more than each of them.
func TestPoliciesAreNotMixed(t *testing.T) {
	own := func(ctx *fasthttp.RequestCtx) {
		h := &ctx.Response.Header
		h.Add("Access-Control-Allow-Origin", "https://c.example")
		h.Add("Access-Control-Allow-Origin", "https://d.example")
		h.Set("Access-Control-Allow-Credentials", "true")
	}
	for _, tc := range []struct {
		o    cors.Options
		want string
	}{
		{cors.Options{Origins: []string{"https://a.example"}}, "https://a.example|"},
		{cors.Options{Origins: []string{"https://a.example"}, Credentials: true}, "https://a.example|true"},
		{cors.Options{Origins: []string{"*"}}, "*|"},
	} {
		h := &asked(newPolicy(t, tc.o), "GET", own, "Origin", "https://a.example").Header
		var got []string
		for _, name := range []string{"Allow-Origin", "Allow-Credentials"} {
			var values []string
			for _, value := range h.PeekAll("Access-Control-" + name) {
				values = append(values, string(value))
			}
			got = append(got, strings.Join(values, ","))
		}
		if strings.Join(got, "|") != tc.want {
			t.Errorf("%+v: got %q, want %q", tc.o, got, tc.want)
		}
	}
}

func TestSettingsAreChecked(t *testing.T) {
	if _, err := cors.New(cors.Options{Origins: []string{"*"}, Credentials: true}); !errors.Is(err, cors.ErrAnyOrigin) {
		t.Errorf("got %v", err)
	}
	for _, origin := range []string{"", "null", "a.example", "https://", "://a", "https://a.example/", "https://A.example", "HTTPS://a", "https://*", "https://*.", "https://*example.com", "https://a.*.b", "https://*.*.b", "https://a b", "https://a,https://b", "https://u@a", "**", "https://a:", "https://a:443", "http://a:80", "https://*.a:443", "https://[::1]:443", "https://a%25", "https://\xc3\xa4.example"} {
		if _, err := cors.New(cors.Options{Origins: []string{origin}}); err == nil {
			t.Errorf("the origin %q is accepted", origin)
		}
	}
	for _, o := range []cors.Options{{Methods: []string{"a b"}}, {Headers: []string{""}}, {Expose: []string{"a\n"}}, {Expose: []string{"*"}, Credentials: true}} {
		if _, err := cors.New(o); err == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
}

// FuzzOrigin compares the decision with a plain one.
func FuzzOrigin(f *testing.F) {
	for _, origin := range []string{"https://a.example", "https://x.b.example", "https://.b.example", "https://evil/.b.example"} {
		f.Add(origin)
	}
	p := newPolicy(f, cors.Options{Origins: []string{"https://a.example", "https://*.b.example"}})
	f.Fuzz(func(t *testing.T, origin string) {
		if strings.ContainsAny(origin, "\r\n\x00") || strings.TrimSpace(origin) != origin {
			return // no value of a field
		}
		want := origin == "https://a.example"
		if sub, ok := strings.CutPrefix(origin, "https://"); ok {
			if sub, ok = strings.CutSuffix(sub, ".b.example"); ok {
				want = true
				for label := range strings.SplitSeq(sub, ".") {
					want = want && label != "" && strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") == ""
				}
			}
		}
		if got := len(answered(p, origin).Peek("Access-Control-Allow-Origin")) > 0; got != want {
			t.Errorf("%q: %v", origin, got)
		}
	})
}

func TestFieldsAllocateNothing(t *testing.T) {
	if servertest.RaceDetector {
		t.Skip("the pools forget things under the race detector")
	}
	p := newPolicy(t, cors.Options{Origins: []string{"https://a.example", "https://*.b.example"}, Headers: []string{"X-One"}, Expose: []string{"X-Two"}, Credentials: true})
	var req fasthttp.Request
	req.SetRequestURI("/")
	req.Header.Set("Origin", "https://x.b.example")
	ctx := new(fasthttp.RequestCtx)
	ctx.Init(&req, &net.TCPAddr{}, nil)
	h := p.Handler(func(*fasthttp.RequestCtx) {})
	for _, method := range []string{"GET", "OPTIONS"} {
		ctx.Request.Header.SetMethod(method)
		ctx.Request.Header.Set("Access-Control-Request-Method", "GET")
		ctx.Request.Header.Set("Access-Control-Request-Headers", "x-one")
		if n := testing.AllocsPerRun(100, func() {
			ctx.Response.Reset()
			h(ctx)
		}); n > 0 {
			t.Errorf("%s: %v allocations", method, n)
		}
	}
}
