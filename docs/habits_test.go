package docs

import (
	"bufio"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttpadaptor"
	"github.com/valyala/fasthttp/fasthttptest"
	"github.com/valyala/fasthttp/fasthttputil"
	"github.com/valyala/fasthttp/internal/servertest"
)

// habit is something that a server of net/http does and one of this module does
// otherwise, as docs/from-net-http.md says.
type habit struct {
	name string
	// request is a request as it is sent; "GET /" if it is empty
	request string
	net     http.HandlerFunc
	// handler is the same code with this module, mended the code that docs/from-net-http.md
	// gives as the way back. Without one, there is none.
	handler, mended func(ctx *fasthttp.RequestCtx)
	mend            func(s *fasthttp.Server)
	// look is what the row is about; the status if it is nil
	look        func(resp *http.Response, body string) any
	theirs, our any
}

func field(name string) func(*http.Response, string) any {
	return func(resp *http.Response, _ string) any { return resp.Header.Get(name) }
}

func content(_ *http.Response, body string) any { return body }

func post(size int) string {
	return fmt.Sprintf("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%s", size, strings.Repeat("x", size))
}

// late is what a handler does that is late: it returns when the tests are done.
func late(answered <-chan struct{}) { <-answered }

func hello(ctx *fasthttp.RequestCtx) { ctx.WriteString("hello") }

// habitsOfHandlers are the habits that depend on the handler.
func habitsOfHandlers(answered <-chan struct{}) []habit {
	soon := 10 * time.Millisecond
	return []habit{
		{
			name:    "a handler that is late",
			net:     http.TimeoutHandler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { late(answered) }), soon, "").ServeHTTP,
			handler: fasthttp.TimeoutHandler(func(*fasthttp.RequestCtx) { late(answered) }, soon, ""),
			mended:  fasthttp.TimeoutWithCodeHandler(func(*fasthttp.RequestCtx) { late(answered) }, soon, "", fasthttp.StatusServiceUnavailable),
			theirs:  503, our: 408,
		},
		{
			name: "fields set before an error",
			net: func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("X-Request-Id", "7")
				http.Error(w, "no", 404)
			},
			handler: func(ctx *fasthttp.RequestCtx) {
				ctx.Response.Header.Set("X-Request-Id", "7")
				ctx.Error("no", 404)
			},
			mended: func(ctx *fasthttp.RequestCtx) {
				ctx.Response.Header.Set("X-Request-Id", "7")
				ctx.SetStatusCode(404)
				ctx.SetContentType("text/plain; charset=utf-8")
				ctx.SetBodyString("no")
			},
			look: field("X-Request-Id"), theirs: "7", our: "",
		},
		{
			name: "fields set before NotFound",
			net: func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("X-Request-Id", "7")
				http.NotFound(w, r)
			},
			handler: func(ctx *fasthttp.RequestCtx) {
				ctx.Response.Header.Set("X-Request-Id", "7")
				ctx.NotFound()
			},
			mended: func(ctx *fasthttp.RequestCtx) {
				ctx.NotFound()
				ctx.Response.Header.Set("X-Request-Id", "7")
			},
			look: field("X-Request-Id"), theirs: "7", our: "",
		},
		{
			name:    "a redirect",
			net:     func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/login", http.StatusSeeOther) },
			handler: func(ctx *fasthttp.RequestCtx) { ctx.Redirect("/login", fasthttp.StatusSeeOther) },
			mended: func(ctx *fasthttp.RequestCtx) {
				ctx.SetStatusCode(fasthttp.StatusSeeOther)
				ctx.Response.Header.Set("Location", "/login")
			},
			look: field("Location"), theirs: "/login", our: "http://a/login",
		},
		{
			name:    "a panic",
			net:     func(http.ResponseWriter, *http.Request) { panic("it is wrong") },
			handler: func(*fasthttp.RequestCtx) { panic("it is wrong") },
			mended:  func(*fasthttp.RequestCtx) { panic(http.ErrAbortHandler) },
			theirs:  0, our: 500,
		},
		{
			name:    "the type of content",
			net:     func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<html>") },
			handler: func(ctx *fasthttp.RequestCtx) { ctx.WriteString("<html>") },
			mended: func(ctx *fasthttp.RequestCtx) {
				ctx.WriteString("<html>")
				ctx.SetContentType(http.DetectContentType(ctx.Response.Body()))
			},
			look: field("Content-Type"), theirs: "text/html; charset=utf-8", our: "text/plain; charset=utf-8",
		},
	}
}

// habitsOfServers are the habits in reading requests and writing responses.
func habitsOfServers() []habit {
	return []habit{
		{
			name: "a status after content",
			net: func(w http.ResponseWriter, _ *http.Request) {
				io.WriteString(w, "a")
				w.WriteHeader(500)
			},
			handler: func(ctx *fasthttp.RequestCtx) {
				ctx.WriteString("a")
				ctx.SetStatusCode(500)
			},
			theirs: 200, our: 500,
		},
		{
			name: "a field after content",
			net: func(w http.ResponseWriter, _ *http.Request) {
				w.Write(make([]byte, 64<<10))
				w.Header().Set("X-Request-Id", "7")
			},
			handler: func(ctx *fasthttp.RequestCtx) {
				ctx.Write(make([]byte, 64<<10))
				ctx.Response.Header.Set("X-Request-Id", "7")
			},
			look: field("X-Request-Id"), theirs: "", our: "7",
		},
		{
			name:    "the Server field",
			net:     func(http.ResponseWriter, *http.Request) {},
			handler: hello,
			mend:    func(s *fasthttp.Server) { s.NoDefaultServerHeader = true },
			look:    field("Server"), theirs: "", our: "fasthttp",
		},
		{
			name: "a large body", request: post(5 << 20),
			net:     func(_ http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body) },
			handler: hello,
			mend:    func(s *fasthttp.Server) { s.MaxRequestBodySize = 1 << 30 },
			theirs:  200, our: 413,
		},
		{
			name: "a large head", request: "GET / HTTP/1.1\r\nHost: a\r\nX-Token: " + strings.Repeat("x", 100<<10) + "\r\n\r\n",
			net:     func(http.ResponseWriter, *http.Request) {},
			handler: hello,
			mend:    func(s *fasthttp.Server) { s.ReadBufferSize = 1 << 20 },
			theirs:  200, our: 431,
		},
		{
			name: "dots and slashes in a path", request: "GET /a//../b HTTP/1.1\r\nHost: a\r\n\r\n",
			net:     func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.URL.Path) },
			handler: func(ctx *fasthttp.RequestCtx) { ctx.Write(ctx.Path()) },
			mended:  func(ctx *fasthttp.RequestCtx) { ctx.Write(ctx.URI().PathOriginal()) },
			look:    content, theirs: "/a//../b", our: "/b",
		},
		{
			name:    "an argument that query and form have",
			request: "POST /?a=query HTTP/1.1\r\nHost: a\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 6\r\n\r\na=form",
			net:     func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.FormValue("a")) },
			handler: func(ctx *fasthttp.RequestCtx) { ctx.Write(ctx.FormValue("a")) },
			mend:    func(s *fasthttp.Server) { s.FormValueFunc = fasthttp.NetHttpFormValueFunc },
			look:    content, theirs: "form", our: "query",
		},
		{
			name:    "the text of an error",
			net:     func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusNotFound) },
			handler: func(ctx *fasthttp.RequestCtx) { ctx.Error("no", fasthttp.StatusNotFound) },
			mended: func(ctx *fasthttp.RequestCtx) {
				ctx.Error("no", fasthttp.StatusNotFound)
				ctx.Response.Header.Set("X-Content-Type-Options", "nosniff")
			},
			look: field("X-Content-Type-Options"), theirs: "nosniff", our: "",
		},
		{
			name: "semicolons in a query", request: "GET /?a=1;b=2 HTTP/1.1\r\nHost: a\r\n\r\n",
			net:     func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.URL.Query().Get("a")) },
			handler: func(ctx *fasthttp.RequestCtx) { ctx.Write(ctx.QueryArgs().Peek("a")) },
			look:    content, theirs: "", our: "1;b=2",
		},
	}
}

// TestServersOfNetHTTPDoOtherwise checks each habit with both, and that what
// docs/from-net-http.md gives as the way back leads back.
func TestServersOfNetHTTPDoOtherwise(t *testing.T) {
	answered := make(chan struct{})
	text := read(t, "from-net-http.md")
	for _, h := range append(habitsOfHandlers(answered), habitsOfServers()...) {
		t.Run(h.name, func(t *testing.T) {
			if !strings.Contains(text, h.name) {
				t.Errorf("from-net-http.md does not have %q", h.name)
			}
			quiet := log.New(io.Discard, "", 0)
			server := &http.Server{Handler: h.net, ErrorLog: quiet}
			if got := h.ask(t, server.Serve, server.Close); got != h.theirs {
				t.Errorf("net/http: %v, not %v", got, h.theirs)
			}
			ours := &fasthttp.Server{Handler: h.handler, Logger: quiet}
			if got := h.ask(t, ours.Serve, ours.Shutdown); got != h.our {
				t.Errorf("here: %v, not %v", got, h.our)
			}
			mended := &fasthttp.Server{Handler: h.handler, Logger: quiet}
			if h.mended != nil {
				mended.Handler = h.mended
			}
			if h.mend != nil {
				h.mend(mended)
			}
			if h.mended == nil && h.mend == nil {
				return
			}
			if got := h.ask(t, mended.Serve, mended.Shutdown); got != h.theirs {
				t.Errorf("here, mended: %v, not %v", got, h.theirs)
			}
		})
	}
	close(answered)
}

// ask sends the request to a server in memory, and returns what there is to look at.
func (h *habit) ask(t *testing.T, serve func(net.Listener) error, stop func() error) any {
	t.Helper()
	ln := fasthttputil.NewInmemoryListener()
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = serve(ln)
	}()
	defer func() {
		_ = stop()
		servertest.Receive(t, "the end of Serve", served)
	}()
	c, err := ln.Dial()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	request := h.request
	if request == "" {
		request = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
	}
	go func() { _, _ = io.WriteString(c, request) }()
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		resp = &http.Response{Body: http.NoBody}
	} else if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Fatal(err)
	}
	if h.look == nil {
		return resp.StatusCode
	}
	return h.look(resp, string(body))
}

// TestClientsOfNetHTTPDoOtherwise checks that a client of net/http asks for encoded
// content and follows redirects, and that one of this module does so on demand.
func TestClientsOfNetHTTPDoOtherwise(t *testing.T) {
	server := fasthttptest.New(t, func(ctx *fasthttp.RequestCtx) {
		if string(ctx.Path()) == "/old" {
			ctx.Redirect("/new", fasthttp.StatusFound)
			return
		}
		fmt.Fprintf(ctx, "%s %q", ctx.Path(), ctx.Request.Header.Peek("Accept-Encoding"))
	})

	netClient := &http.Client{Transport: &http.Transport{
		DialContext: func(context.Context, string, string) (net.Conn, error) { return server.Dial() },
	}}
	netResp, err := netClient.Get("http://any.host/old")
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(netResp.Body)
	if err != nil {
		t.Fatal(err)
	}
	netResp.Body.Close()
	if string(body) != `/new "gzip"` {
		t.Errorf("net/http: %s", body)
	}
	netClient.CloseIdleConnections()

	client := server.Client
	for _, c := range []struct {
		name   string
		call   func(req *fasthttp.Request, resp *fasthttp.Response) error
		status int
		body   string
	}{
		{"Do", client.Do, 302, ""},
		{"DoRedirects", func(req *fasthttp.Request, resp *fasthttp.Response) error {
			return client.DoRedirects(req, resp, 10)
		}, 200, `/new ""`},
	} {
		var req fasthttp.Request
		var resp fasthttp.Response
		req.SetRequestURI("http://any.host/old")
		if err := c.call(&req, &resp); err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode() != c.status || string(resp.Body()) != c.body {
			t.Errorf("%s: %d %s", c.name, resp.StatusCode(), resp.Body())
		}
	}
}

// TestEventsOutlastTheTimeForResponses checks that a stream is cut off when WriteTimeout
// has passed, unless HeaderReceived gives its path more.
func TestEventsOutlastTheTimeForResponses(t *testing.T) {
	const limit = 50 * time.Millisecond
	server := &fasthttp.Server{
		Logger:       log.New(io.Discard, "", 0),
		WriteTimeout: limit,
		HeaderReceived: func(h *fasthttp.RequestHeader) fasthttp.RequestConfig {
			if string(h.RequestURI()) == "/events" {
				return fasthttp.RequestConfig{WriteTimeout: time.Hour}
			}
			return fasthttp.RequestConfig{}
		},
		Handler: func(ctx *fasthttp.RequestCtx) {
			ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
				start := time.Now() // the time for the response runs already
				for time.Since(start) < 6*limit {
					fmt.Fprint(w, "data: x\n\n")
					if w.Flush() != nil {
						return
					}
				}
				fmt.Fprint(w, "end")
			})
		},
	}
	for path, whole := range map[string]bool{"/other": false, "/events": true} {
		h := habit{
			request: "GET " + path + " HTTP/1.1\r\nHost: a\r\n\r\n",
			look:    func(_ *http.Response, body string) any { return strings.HasSuffix(body, "end") },
		}
		if got := h.ask(t, server.Serve, server.Shutdown); got != whole {
			t.Errorf("%s: the stream is whole: %v", path, got)
		}
	}
}

// tagged is a connection of which a listener knows something.
type tagged struct {
	net.Conn
	zone string
}

type tagging struct{ net.Listener }

func (l tagging) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &tagged{c, "north"}, nil
}

// TestAConnectionHasWhatItsListenerGaveIt checks the counterpart of ConnContext.
func TestAConnectionHasWhatItsListenerGaveIt(t *testing.T) {
	h := habit{look: content}
	server := &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
		c, _ := ctx.Conn().(*tagged)
		if c != nil {
			ctx.WriteString(c.zone)
		}
	}}
	serve := func(ln net.Listener) error { return server.Serve(tagging{ln}) }
	if got := h.ask(t, serve, server.Shutdown); got != "north" {
		t.Errorf("the connection has the zone %q", got)
	}
}

// TestConnStateHasTheConnectionOfTheHandler checks that a connection can be the key of a map
// with the values of connections.
func TestConnStateHasTheConnectionOfTheHandler(t *testing.T) {
	for _, engine := range []fasthttp.Engine{fasthttp.EngineAuto, fasthttp.EnginePortable} {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		var zones sync.Map
		server := &fasthttp.Server{
			Engine: engine,
			ConnState: func(c net.Conn, state fasthttp.ConnState) {
				switch state {
				case fasthttp.StateNew:
					zones.Store(c, "north")
				case fasthttp.StateClosed, fasthttp.StateHijacked:
					zones.Delete(c)
				}
			},
			Handler: func(ctx *fasthttp.RequestCtx) {
				zone, _ := zones.Load(ctx.Conn())
				fmt.Fprint(ctx, zone)
			},
		}
		served := make(chan error, 1)
		go func() { served <- server.Serve(ln) }()
		_, body, err := fasthttp.Get(nil, "http://"+ln.Addr().String())
		if err != nil || string(body) != "north" {
			t.Errorf("%v: the zone %q, %v", engine, body, err)
		}
		if err := server.Shutdown(); err != nil {
			t.Fatal(err)
		}
		if err := servertest.Receive(t, "the end of Serve", served); err != nil {
			t.Fatal(err)
		}
		for c := range zones.Range {
			t.Errorf("%v: %v is left", engine, c)
		}
	}
}

// TestServeContentRunsOnTheAdaptor checks that http.ServeContent answers ranges here.
func TestServeContentRunsOnTheAdaptor(t *testing.T) {
	h := habit{
		request: "GET /a.txt HTTP/1.1\r\nHost: a\r\nRange: bytes=1-3\r\n\r\n",
		look:    func(resp *http.Response, body string) any { return fmt.Sprint(resp.StatusCode, " ", body) },
	}
	server := &fasthttp.Server{Handler: fasthttpadaptor.NewFastHTTPHandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "a.txt", time.Unix(1, 0), strings.NewReader("hello"))
	})}
	if got := h.ask(t, server.Serve, server.Shutdown); got != "206 ell" {
		t.Errorf("got %v", got)
	}
}

// TestReverseProxyRunsOnTheAdaptor checks that httputil.ReverseProxy passes a request on.
func TestReverseProxyRunsOnTheAdaptor(t *testing.T) {
	origin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		fmt.Fprint(w, r.URL.Path, " ", user, " ", password)
	}))
	defer origin.Close()
	target, err := url.Parse(origin.URL)
	if err != nil {
		t.Fatal(err)
	}
	h := habit{
		request: "GET /a HTTP/1.1\r\nHost: a\r\nAuthorization: Basic " + base64.StdEncoding.EncodeToString([]byte("eve:secret")) + "\r\n\r\n",
		look:    content,
	}
	proxy := &fasthttp.Server{Handler: fasthttpadaptor.NewFastHTTPHandler(httputil.NewSingleHostReverseProxy(target))}
	if got := h.ask(t, proxy.Serve, proxy.Shutdown); got != "/a eve secret" {
		t.Errorf("by the proxy: %v", got)
	}
	server := &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
		r := http.Request{Header: http.Header{"Authorization": {string(ctx.Request.Header.Peek("Authorization"))}}}
		user, password, ok := r.BasicAuth()
		fmt.Fprint(ctx, user, " ", password, " ", ok)
	}}
	if got := h.ask(t, server.Serve, server.Shutdown); got != "eve secret true" {
		t.Errorf("user and password: %v", got)
	}
}

// TestListenAndServeIsForIPv4 checks that no connection over IPv6 reaches a port of
// ListenAndServe, and that one reaches that of a listener for both.
func TestListenAndServeIsForIPv4(t *testing.T) {
	both, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(both.Addr().String())
	c, err := net.Dial("tcp6", "[::1]:"+port)
	if err != nil {
		t.Skip("this machine has no IPv6: ", err)
	}
	c.Close()
	both.Close()

	server := &fasthttp.Server{Handler: func(*fasthttp.RequestCtx) {}}
	served := make(chan error, 1)
	go func() { served <- server.ListenAndServe(":" + port) }()
	// a server that has answered is one that Shutdown ends
	for {
		_, _, err := fasthttp.GetTimeout(nil, "http://127.0.0.1:"+port, 5*time.Second)
		if err == nil {
			break
		}
		select {
		case err := <-served:
			t.Skip("the port was taken: ", err)
		default:
		}
	}
	if c, err := net.Dial("tcp6", "[::1]:"+port); err == nil {
		c.Close()
		t.Error("a connection over IPv6 was accepted")
	}
	if err := server.Shutdown(); err != nil {
		t.Fatal(err)
	}
	if err := servertest.Receive(t, "the end of Serve", served); err != nil {
		t.Error(err)
	}
}
