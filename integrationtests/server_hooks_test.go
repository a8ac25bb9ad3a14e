package integrationtests

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

func TestContinueHandlerDecides(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		var asked []string
		s := &fasthttp.Server{Handler: echo, ContinueHandler: func(h *fasthttp.RequestHeader) bool {
			asked = append(asked, string(h.Peek("X-Who")))
			return string(h.Peek("X-Who")) == "friend"
		}}
		ts := start(s)
		c := ts.Dial()
		c.Send(servertest.Head("POST / HTTP/1.1", "Host: a", "Content-Length: 3", "Expect: 100-continue", "X-Who: friend"))
		c.Expect(100, "")
		c.Send("abc")
		c.Expect(200, servertest.Echoed("POST", "/", "abc"))
		// the server calls the hook even if the client does not wait
		c.Send(servertest.Post("/", "abc", "Expect: 100-continue", "X-Who: friend"))
		c.Expect(100, "")
		c.Expect(200, servertest.Echoed("POST", "/", "abc"))

		c.Send(servertest.Head("POST / HTTP/1.1", "Host: a", "Content-Length: 3", "Expect: 100-continue", "X-Who: foe"))
		if resp := c.Next("POST"); resp.StatusCode != fasthttp.StatusExpectationFailed || !resp.Close {
			t.Errorf("got %d, close %v", resp.StatusCode, resp.Close)
		}
		c.ExpectEnd()
		if want := []string{"friend", "friend", "foe"}; !slices.Equal(asked, want) {
			t.Errorf("asked for %q, want %q", asked, want)
		}
	})
}

func TestExpectHandlerDecides(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		s := &fasthttp.Server{
			Handler:         echo,
			ContinueHandler: func(*fasthttp.RequestHeader) bool { t.Error("ExpectHandler goes before ContinueHandler"); return true },
			ExpectHandler: func(ctx *fasthttp.RequestCtx) int {
				if ctx.RemoteAddr() == nil || ctx.ConnID() == 0 {
					t.Error("the context has no connection")
				}
				if string(ctx.Path()) == "/yes" {
					return fasthttp.StatusContinue
				}
				return fasthttp.StatusForbidden
			},
		}
		ts := start(s)
		c := ts.Dial()
		c.Send(servertest.Head("POST /yes HTTP/1.1", "Host: a", "Content-Length: 3", "Expect: 100-continue"))
		c.Expect(100, "")
		c.Send("abc")
		c.Expect(200, servertest.Echoed("POST", "/yes", "abc"))
		c.Send(servertest.Head("POST /no HTTP/1.1", "Host: a", "Content-Length: 3", "Expect: 100-continue"))
		if resp := c.Next("POST"); resp.StatusCode != fasthttp.StatusForbidden || !resp.Close {
			t.Errorf("got %d, close %v", resp.StatusCode, resp.Close)
		}
		c.ExpectEnd()
		// the server does not call the hook without the field
		c = ts.Dial()
		c.Send(servertest.Post("/no", "abc"))
		c.Expect(200, servertest.Echoed("POST", "/no", "abc"))
	})
}

func TestServerSaysContinueWhenTheStreamIsRead(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		s := &fasthttp.Server{StreamRequestBody: true, Handler: func(ctx *fasthttp.RequestCtx) {
			switch string(ctx.Path()) {
			case "/unread":
				ctx.Error("no, thanks", 403)
				return
			case "/back":
				ctx.SetBodyStream(ctx.RequestBodyStream(), -1)
				return
			}
			body, err := io.ReadAll(ctx.RequestBodyStream())
			fmt.Fprintf(ctx, "%s %v", body, err)
		}}
		ts := start(s)
		c := ts.Dial()
		for range 2 {
			c.Send(servertest.Head("POST /read HTTP/1.1", "Host: a", "Content-Length: 3", "Expect: 100-continue"))
			c.Expect(100, "")
			c.Send("abc")
			c.Expect(200, "abc <nil>")
		}
		c.Send(servertest.Head("POST /back HTTP/1.1", "Host: a", "Content-Length: 3", "Expect: 100-continue"))
		c.Expect(100, "")
		c.Send("abc")
		c.Expect(200, "abc")
		// a client that does not wait gets the same response
		c.Send(servertest.Post("/read", "abc", "Expect: 100-continue") + servertest.Post("/back", "def", "Expect: 100-continue"))
		c.ExpectFinal("abc <nil>")
		c.ExpectFinal("def")
		// a client that gets no 100 Continue need not send the content
		c.Send(servertest.Head("POST /unread HTTP/1.1", "Host: a", "Content-Length: 3", "Expect: 100-continue"))
		if resp := c.Expect(403, "no, thanks"); !resp.Close {
			t.Error("the connection is kept though the body was not asked for")
		}
		c.ExpectEnd()
	})
}

// TestErrorHandlerGetsTheErrors checks the types of errors that the documentation
// names.
func TestErrorHandlerGetsTheErrors(t *testing.T) {
	is := func(target error) func(error) bool { return func(err error) bool { return errors.Is(err, target) } }
	isSmallBuffer := func(err error) bool { _, ok := errors.AsType[*fasthttp.ErrSmallBuffer](err); return ok }
	isBrokenChunk := func(err error) bool { _, ok := errors.AsType[fasthttp.ErrBrokenChunk](err); return ok }
	for _, tc := range []struct {
		name, in string
		s        *fasthttp.Server
		fits     func(error) bool
		status   int // status of the default handler
		target   string
	}{
		{name: "GetOnly", in: servertest.Post("/x", "abc"), s: &fasthttp.Server{GetOnly: true}, fits: is(fasthttp.ErrGetOnly), status: 400, target: "/x"},
		{name: "large body", in: servertest.Post("/x", "abc"), s: &fasthttp.Server{MaxRequestBodySize: 2}, fits: is(fasthttp.ErrBodyTooLarge), status: 413, target: "/x"},
		{name: "large chunked body", in: servertest.Chunked("/x", "3\r\nabc\r\n"), s: &fasthttp.Server{MaxRequestBodySize: 2}, fits: is(fasthttp.ErrBodyTooLarge), status: 413, target: "/x"},
		{name: "large head", in: servertest.Get("/x", "X: "+strings.Repeat("x", 1000)), s: &fasthttp.Server{ReadBufferSize: 500}, fits: isSmallBuffer, status: 431, target: "/"},
		{name: "long request line", in: servertest.Get("/" + strings.Repeat("x", 1000)), s: &fasthttp.Server{ReadBufferSize: 500}, fits: isSmallBuffer, status: 414, target: "/"},
		{name: "many fields by name", in: servertest.Get("/x", repeatedFields(501, "X-%d: v")...), fits: func(err error) bool {
			return strings.HasSuffix(err.Error(), "too many header fields")
		}, status: 431, target: "/"},
		{name: "many fields", in: servertest.Get("/x", repeatedFields(501, "X-%d: v")...), fits: isSmallBuffer, status: 431, target: "/"},
		{name: "broken chunk", in: servertest.Chunked("/x", "x"), fits: isBrokenChunk, status: 400, target: "/x"},
		{name: "broken chunk end", in: servertest.Chunked("/x", "1\r\nabc"), fits: isBrokenChunk, status: 400, target: "/x"},
		{name: "forbidden trailer", in: servertest.Chunked("/x", "0\r\nHost: b\r\n\r\n"), fits: is(fasthttp.ErrBadTrailer), status: 400, target: "/x"},
		{name: "half a request line", in: "GET / H", fits: is(io.ErrUnexpectedEOF), status: 400, target: "/"},
		{name: "half a head", in: "GET /x HTTP/1.1\r\nHos", fits: is(io.ErrUnexpectedEOF), status: 400, target: "/"},
		{name: "half a body", in: servertest.Head("POST /x HTTP/1.1", "Host: a", "Content-Length: 3") + "a", fits: is(io.ErrUnexpectedEOF), status: 400, target: "/x"},
		{name: "half a chunk", in: servertest.Chunked("/x", "5\r\na"), fits: is(io.ErrUnexpectedEOF), status: 400, target: "/x"},
		{name: "half a trailer", in: servertest.Chunked("/x", "0\r\nA"), fits: is(io.ErrUnexpectedEOF), status: 400, target: "/x"},
		{name: "no method", in: servertest.Head(" /x HTTP/1.1", "Host: a"), fits: is(fasthttp.ErrMissingRequestMethod), status: 400, target: "/"},
		{name: "no target", in: servertest.Head("GET  HTTP/1.1", "Host: a"), fits: is(fasthttp.ErrEmptyRequestURI), status: 400, target: "/"},
		{name: "spaces", in: servertest.Head("GET  / HTTP/1.1", "Host: a"), fits: is(fasthttp.ErrExtraWhitespaceInRequestLine), status: 400, target: "/"},
		{name: "two lengths", in: servertest.Get("/x", "Content-Length: 1", "Content-Length: 1"), fits: is(fasthttp.ErrDuplicateContentLength), status: 400, target: "/"},
		{name: "unknown coding", in: servertest.Get("/x", "Transfer-Encoding: x"), fits: is(fasthttp.ErrUnsupportedTransferEncoding), status: 501, target: "/x"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var got error
			var target string
			s := (&rawCase{s: tc.s}).server()
			c := &servertest.FakeConn{Pieces: [][]byte{[]byte(tc.in)}}
			if err := s.ServeConn(c); !tc.fits(err) {
				t.Errorf("ServeConn: %v", err)
			}
			resp, err := servertest.ReadResponse(bufio.NewReader(&c.Out), "GET")
			if err != nil || resp.StatusCode != tc.status || !resp.Close || resp.Header.Get("Content-Type") != "text/plain; charset=utf-8" {
				t.Errorf("by default: %+v, %v", resp, err)
			}

			s.ErrorHandler = func(ctx *fasthttp.RequestCtx, err error) {
				got, target = err, string(ctx.RequestURI())
				ctx.Response.Header.Set("X-Error", "yes")
				ctx.Error("mine", 418)
				ctx.Response.Header.Set("X-More", "yes")
			}
			c = &servertest.FakeConn{Pieces: [][]byte{[]byte(tc.in)}}
			_ = s.ServeConn(c)
			if got == nil || !tc.fits(got) {
				t.Errorf("the error is %v", got)
			}
			if target != tc.target {
				t.Errorf("the target is %q, want %q", target, tc.target)
			}
			resp, err = servertest.ReadResponse(bufio.NewReader(&c.Out), "GET")
			if err != nil || resp.StatusCode != 418 || resp.Content != "mine" || !resp.Close || resp.Header.Get("X-More") != "yes" {
				t.Errorf("with an ErrorHandler: %+v, %v", resp, err)
			}
		})
	}
}

func TestErrorsAreLoggedOnce(t *testing.T) {
	for _, tc := range []struct {
		in     string
		common bool
	}{
		{servertest.Get("/"), true},
		{"GET / HT", true},
		{servertest.Head("POST /x HTTP/1.1", "Host: a", "Content-Length: 3") + "a", true},
		{"GET / nothing\r\n\r\n", false},
		{servertest.Head("POST / HTTP/1.1", "Host: a", "Content-Length: x"), false},
	} {
		for _, all := range []bool{false, true} {
			log := &servertest.Log{}
			s := &fasthttp.Server{Handler: echo, Logger: log, LogAllErrors: all}
			_ = s.ServeConn(&servertest.FakeConn{Pieces: [][]byte{[]byte(tc.in)}})
			lines := log.All()
			switch {
			case tc.common && !all && len(lines) > 0:
				t.Errorf("%q: logged %q", tc.in, lines)
			case !tc.common && len(lines) != 1:
				t.Errorf("%q: logged %q, want one line", tc.in, lines)
			case all && tc.in != servertest.Get("/") && len(lines) != 1:
				t.Errorf("%q: logged %q with LogAllErrors, want one line", tc.in, lines)
			}
			for _, line := range lines {
				if strings.Contains(line, "nothing") || strings.ContainsAny(line, "\r\n") {
					t.Errorf("%q: the log has bytes of the client: %q", tc.in, line)
				}
			}
		}
	}
}

// The server leaves a field out if its name is not a token, and logs the reason
// once.
func TestFieldsThatAreNotSentAreLoggedOnce(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		for _, all := range []bool{false, true} {
			ts := start(&fasthttp.Server{LogAllErrors: all, Handler: func(ctx *fasthttp.RequestCtx) {
				h := &ctx.Response.Header
				switch string(ctx.Path()) {
				case "/good":
					h.Set("Good-Name", "v")
				case "/removed":
					h.Set("Removed Name", "v")
					h.Del("Removed Name")
				case "/set":
					h.Set("Bad\r\nName", "value")
				case "/add":
					h.Add("Other Name", "value")
				case "/stream":
					h.SetCanonical([]byte("Bad("), []byte("value"))
					ctx.SetBodyStream(strings.NewReader("ok"), -1)
					return
				}
				ctx.SetBodyString("ok")
			}})
			c := ts.Dial()
			for _, path := range []string{"/good", "/removed", "/set", "/add", "/stream", "/set"} {
				c.Get(path)
				for name := range c.Expect(200, "ok").Header {
					if strings.Contains(name, "Bad") || strings.Contains(name, "Other") {
						t.Errorf("%s: sent %q", path, name)
					}
				}
			}
			lines := ts.Log.All()
			if !all && len(lines) == 0 {
				continue
			}
			if len(lines) != 1 || !strings.Contains(lines[0], `the response field "Bad  Name" is not sent`) || strings.Contains(lines[0], "value") {
				t.Errorf("with LogAllErrors %v: logged %q", all, lines)
			}
		}
	})
}

func TestConnStateTellsTheStates(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		t.Parallel()
		log := &servertest.States[fasthttp.ConnState]{}
		hijacked := make(chan struct{})
		s := &fasthttp.Server{ConnState: log.Note, Handler: func(ctx *fasthttp.RequestCtx) {
			if string(ctx.Path()) == "/hijack" {
				ctx.Hijack(func(net.Conn) { close(hijacked) })
			}
			ctx.SetBodyString("ok")
		}}
		ts := start(s)
		n := 0
		expect := func(want string) {
			t.Helper()
			servertest.Eventually(t, want, func() bool {
				got := log.Of(n)
				if got != want && !strings.HasPrefix(want, got) {
					t.Fatalf("states are %q, want %q", got, want)
				}
				return got == want
			})
			n++
		}
		c := ts.Dial()
		_ = c.Close()
		expect("new closed")

		c = ts.Dial()
		for range 2 {
			c.Get("/")
			c.Expect(200, "ok")
			// the second request follows the first response, not in one pipeline
			servertest.Eventually(t, "idle", func() bool { return strings.HasSuffix(log.Of(n), "idle") })
		}
		_ = c.Close()
		expect("new active idle active idle closed")

		c = ts.Dial()
		c.Send(servertest.Get("/") + servertest.Get("/") + servertest.Get("/", "Connection: close"))
		for range 3 {
			c.Expect(200, "ok")
		}
		c.ExpectEnd()
		expect("new active closed")

		c = ts.Dial()
		c.Send("no request\r\n\r\n")
		c.Expect(400, "Error when parsing request")
		expect("new active closed")

		c = ts.Dial()
		c.Get("/hijack")
		c.Expect(200, "ok")
		servertest.Receive(t, "the hijack", hijacked)
		expect("new active hijacked")
	})
}

func TestConnStateNames(t *testing.T) {
	for state, want := range map[fasthttp.ConnState]string{
		fasthttp.StateNew: "new", fasthttp.StateActive: "active", fasthttp.StateIdle: "idle", fasthttp.StateHijacked: "hijacked", fasthttp.StateClosed: "closed", 99: "",
	} {
		if got := state.String(); got != want {
			t.Errorf("%d is %q, want %q", int(state), got, want)
		}
	}
}

func TestServerOptionsOfTheResponse(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		respond := func(s *fasthttp.Server, request string) servertest.Response {
			t.Helper()
			if s.Handler == nil {
				s.Handler = func(ctx *fasthttp.RequestCtx) { ctx.SetBodyString("ok") }
			}
			c := start(s).Dial()
			c.Send(request)
			return c.Next("GET")
		}
		resp := respond(&fasthttp.Server{}, servertest.Get("/"))
		if resp.Header.Get("Server") != "fasthttp" || resp.Header.Get("Content-Type") != "text/plain; charset=utf-8" {
			t.Errorf("defaults are %v", resp.Header)
		}
		if at, err := time.Parse(time.RFC1123, resp.Header.Get("Date")); err != nil || time.Since(at).Abs() > time.Minute {
			t.Errorf("the date is %v, %v", resp.Header.Get("Date"), err)
		}
		resp = respond(&fasthttp.Server{Name: "a\r\nSet-Cookie: b\x00"}, servertest.Get("/"))
		if got := resp.Header.Get("Server"); got != "a  Set-Cookie: b" && got != "a  Set-Cookie: b " || resp.Header.Get("Set-Cookie") != "" {
			t.Errorf("the name became %q", resp.Header)
		}
		none := &fasthttp.Server{NoDefaultServerHeader: true, NoDefaultDate: true, NoDefaultContentType: true}
		resp = respond(none, servertest.Get("/"))
		for _, name := range []string{"Server", "Date", "Content-Type"} {
			if resp.Header[name] != nil {
				t.Errorf("%s is %q", name, resp.Header[name])
			}
		}
		own := &fasthttp.Server{NoDefaultServerHeader: true, NoDefaultContentType: true, Name: "mine", Handler: func(ctx *fasthttp.RequestCtx) {
			ctx.Response.Header.SetServer("own")
			ctx.SetContentType("text/own")
		}}
		resp = respond(own, servertest.Get("/"))
		if resp.Header.Get("Server") != "own" || resp.Header.Get("Content-Type") != "text/own" {
			t.Errorf("the handler's header became %v", resp.Header)
		}
		// also for a timeout, an error and a panic
		for target, status := range map[string]int{"/late": 408, "/panic": 500, "/error": 404} {
			none := &fasthttp.Server{NoDefaultServerHeader: true, NoDefaultDate: true, NoDefaultContentType: true, Handler: func(ctx *fasthttp.RequestCtx) {
				switch string(ctx.Path()) {
				case "/late":
					ctx.TimeoutError("late")
				case "/panic":
					panic("now")
				case "/error":
					ctx.NotFound()
				}
			}}
			resp := respond(none, servertest.Get(target))
			if resp.StatusCode != status {
				t.Errorf("%s: status %d", target, resp.StatusCode)
			}
			for _, name := range []string{"Server", "Date", "Content-Type"} {
				if resp.Header[name] != nil {
					t.Errorf("%s: %s is %q", target, name, resp.Header[name])
				}
			}
		}
	})
}

func TestServerKeepsFieldNames(t *testing.T) {
	for _, kept := range []bool{false, true} {
		s := &fasthttp.Server{DisableHeaderNamesNormalizing: kept, NoDefaultDate: true, Logger: &servertest.Log{}, Handler: func(ctx *fasthttp.RequestCtx) {
			var names []string
			for name := range ctx.Request.Header.All() {
				names = append(names, string(name))
			}
			ctx.Response.Header.Set("x-reply", "y")
			ctx.SetBodyString(strings.Join(names, " "))
		}}
		// the second request shows that the settings apply after the first one
		request := servertest.Head("GET / HTTP/1.1", "hOsT: a", "x-COOL: y")
		c := &servertest.FakeConn{Pieces: [][]byte{[]byte(request), []byte(request)}}
		if err := s.ServeConn(c); err != nil {
			t.Fatal(err)
		}
		for _, part := range map[bool][]string{
			false: {"Host X-Cool", "X-Reply: y"},
			true:  {"x-COOL", "x-reply: y"},
		}[kept] {
			if n := bytes.Count(c.Out.Bytes(), []byte(part)); n != 2 {
				t.Errorf("kept %v: %q comes %d times in %q", kept, part, n, c.Out.String())
			}
		}
	}
}

// Programs recognise timeouts and other errors by the types of package net.
func TestErrorHandlerGetsErrorsOfPackageNet(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		t.Parallel()
		errs := make(chan error, 10)
		s := &fasthttp.Server{
			Handler: func(*fasthttp.RequestCtx) {},
			ErrorHandler: func(_ *fasthttp.RequestCtx, err error) {
				errs <- err
			},
		}
		limitRequests(s)
		ts := start(s)
		if !ts.Engine.Sockets {
			t.Skip("it is no socket")
		}
		for _, begun := range []string{"GET / HT", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nabc"} {
			c := ts.Dial()
			c.Send(begun)
			err := servertest.Receive(t, "an error", errs)
			told, ok := errors.AsType[*net.OpError](err)
			if !ok || !told.Timeout() || !strings.HasSuffix(told.Op, "read") || !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("%q: the error is a %T: %v", begun, err, err)
				continue
			}
			if told.Addr == nil || told.Source == nil || !strings.HasPrefix(told.Net, "tcp") {
				t.Errorf("%q: the error says %+v", begun, told)
			}
		}
	})
}

// Handlers and middleware see the Server field of a response.
func TestHandlersSeeTheNameOfTheServer(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		for _, s := range []*fasthttp.Server{{}, {Name: "mine"}, {NoDefaultServerHeader: true}} {
			want := s.Name
			if want == "" && !s.NoDefaultServerHeader {
				want = "fasthttp"
			}
			seen := make(chan string, 1)
			s.Handler = func(ctx *fasthttp.RequestCtx) {
				h := &ctx.Response.Header
				switch string(ctx.Path()) {
				case "/seen":
					var copied fasthttp.ResponseHeader
					h.CopyTo(&copied)
					if got := fmt.Sprintf("%s %s %s", h.Server(), h.Peek("server"), copied.Server()); got != fmt.Sprintf("%s %s %s", want, want, want) {
						t.Errorf("the handler sees %q, want %q", got, want)
					}
					if strings.Contains(h.String(), "Server: "+want) != (want != "") {
						t.Errorf("the head is %q", h.String())
					}
				case "/own":
					h.SetServer("own")
				case "/deleted":
					h.Del("Server")
				case "/reset":
					h.Reset()
				case "/listed":
					n := 0
					for name := range h.All() {
						if string(name) == "Server" {
							n++
						}
					}
					if n != min(len(want), 1) {
						t.Errorf("%d Server fields are listed", n)
					}
				}
				ctx.SetUserValue("key", servertest.CloserFunc(func() { seen <- string(h.Server()) }))
			}
			c := start(s).Dial()
			for _, target := range []string{"/", "/seen", "/own", "/deleted", "/reset", "/listed", "/"} {
				want := want
				if target == "/own" {
					want = "own"
				}
				c.Get(target)
				if got := c.Expect(200, "").Header["Server"]; strings.Join(got, "|") != want {
					t.Errorf("%s: sent %q, want %q", target, got, want)
				}
				if got := servertest.Receive(t, "the end of user values", seen); got != want && target != "/deleted" && target != "/reset" {
					t.Errorf("%s: a user value sees %q, want %q", target, got, want)
				}
			}
		}
	})
}
