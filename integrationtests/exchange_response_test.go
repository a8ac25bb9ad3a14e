package integrationtests

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// numbered returns n bytes, of which no eight are repeated.
var numbered = servertest.Numbered

func TestServerSendsBodiesOfAnySize(t *testing.T) {
	t.Parallel()
	sizes := []int{0, 1, 1000, servertest.CopyLimit - 1, servertest.CopyLimit, servertest.CopyLimit + 1, servertest.FlushSize - 1, servertest.FlushSize, servertest.FlushSize + 1, servertest.Heavy(10 << 20)}
	forEachEngine(t, func(t *testing.T, start starter) {
		ts := start(&fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
			size, _ := fasthttp.ParseUint(ctx.QueryArgs().Peek("size"))
			body := numbered(size)
			switch string(ctx.Path()) {
			case "/buffered":
				ctx.SetBodyString(body)
			case "/raw":
				ctx.Response.SetBodyRaw([]byte(body))
			case "/written":
				for len(body) > 0 {
					n := min(len(body), 777)
					_, _ = ctx.WriteString(body[:n])
					body = body[n:]
				}
			case "/sized":
				ctx.SetBodyStream(strings.NewReader(body), len(body))
			case "/chunked":
				ctx.SetBodyStream(strings.NewReader(body), -1)
			case "/producer":
				ctx.SetBodyStreamWriter(func(w *bufio.Writer) { _, _ = w.WriteString(body) })
			}
		}})
		for _, path := range []string{"/buffered", "/raw", "/written", "/sized", "/chunked", "/producer"} {
			c := ts.Dial()
			for _, size := range sizes {
				c.Get(fmt.Sprintf("%s?size=%d", path, size))
				resp := c.Next("GET")
				if resp.StatusCode != 200 || resp.Content != numbered(size) || resp.Close {
					t.Errorf("%s %d: status %d, %d bytes, close %v", path, size, resp.StatusCode, len(resp.Content), resp.Close)
				}
				if chunked := len(resp.TransferEncoding) > 0; chunked != (path == "/chunked" || path == "/producer") {
					t.Errorf("%s %d: chunked %v", path, size, chunked)
				}
			}
			// all requests in one pipeline, whose responses the client reads slowly
			c = ts.Dial()
			go func() {
				for _, size := range sizes {
					_, _ = io.WriteString(c.Conn, servertest.Get(fmt.Sprintf("%s?size=%d", path, size)))
				}
			}()
			for _, size := range sizes {
				if resp := c.Next("GET"); resp.Content != numbered(size) {
					t.Errorf("%s %d in a pipeline: %d bytes", path, size, len(resp.Content))
				}
			}
		}
	})
}

// badStream returns its text and then fails in one of several ways.
type badStream struct {
	io.Reader
	end    func() (int, error)
	closed *atomic.Int32
}

func (s *badStream) Read(p []byte) (int, error) {
	if n, err := s.Reader.Read(p); err != io.EOF {
		return n, err
	}
	return s.end()
}

func (s *badStream) Close() error {
	s.closed.Add(1)
	return nil
}

// TestStreamsThatFailCutTheConnection has streams that do not match their declared
// size. The client notices, and the responses before that arrive.
func TestStreamsThatFailCutTheConnection(t *testing.T) {
	t.Parallel()
	const promised = 100_000
	eof := func() (int, error) { return 0, io.EOF }
	fails := func() (int, error) { return 0, errors.New("out of paper") }
	panics := func() (int, error) { panic("out of ink") }
	aborts := func() (int, error) { panic(http.ErrAbortHandler) }
	cases := []struct {
		name   string
		has    int // bytes in the stream
		size   int // declared size
		end    func() (int, error)
		logged string
		full   bool // all declared bytes arrive
	}{
		{"short", promised - 1, promised, eof, "shorter than its size", false},
		{"empty", 0, promised, eof, "shorter than its size", false},
		{"long", promised + 1, promised, eof, "longer than its size", true},
		{"fails", promised / 2, promised, fails, "out of paper", false},
		{"fails at the end", promised, promised, fails, "out of paper", true},
		{"fails at once", 0, promised, fails, "out of paper", false},
		{"chunked fails", promised / 2, -1, fails, "out of paper", false},
		{"chunked fails at once", 0, -1, fails, "out of paper", false},
		{"panics", promised / 2, promised, panics, "out of ink", false},
		{"chunked panics", promised / 2, -1, panics, "out of ink", false},
		{"chunked panics at once", 0, -1, panics, "out of ink", false},
		{"chunked aborts", promised / 2, -1, aborts, "", false},
	}
	forEachEngine(t, func(t *testing.T, start starter) {
		for _, tc := range cases {
			for _, proto := range []string{"HTTP/1.1", "HTTP/1.0"} {
				t.Run(tc.name+" "+proto, func(t *testing.T) {
					var closed atomic.Int32
					s := &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
						if string(ctx.Path()) == "/before" {
							ctx.SetBodyString("before")
							return
						}
						ctx.SetBodyStream(&badStream{strings.NewReader(numbered(tc.has)), tc.end, &closed}, tc.size)
					}}
					ts := start(s)
					if !ts.Engine.Sockets && tc.size < 0 && proto == "HTTP/1.0" {
						t.Skip("the end of such a connection can only be one in order")
					}
					c := ts.Dial()
					c.Send(servertest.Get("/before") + servertest.Head("GET / "+proto, "Host: a", "Connection: keep-alive"))
					c.Expect(200, "before")
					resp, err := servertest.ReadResponse(c.R, "GET")
					switch {
					case tc.full && (err != nil || resp.Content != numbered(promised)):
						t.Errorf("got %d bytes, %v", len(resp.Content), err)
					case !tc.full && err == nil:
						t.Errorf("the client cannot tell that the body is not complete: %v %d bytes", resp.Header, len(resp.Content))
					case !tc.full && !strings.HasPrefix(numbered(promised), resp.Content):
						t.Error("the body is another one")
					}
					c.ExpectCut()
					servertest.Eventually(t, "close of the stream", func() bool { return closed.Load() == 1 })
					if tc.logged == "" {
						ts.Log.CheckEmpty(t)
						return
					}
					line := ts.Log.WaitFor(t, tc.logged)
					if strings.Contains(tc.name, "panics") && !strings.Contains(line, "response_test.go") {
						t.Errorf("the log has no stack: %q", line)
					}
				})
			}
		}
	})
}

// endless is a stream that has more bytes than its declared size. They arrive much later, as
// from a connection to another server.
type endless struct {
	io.Reader
	open chan struct{}
}

func (s *endless) Read(p []byte) (int, error) {
	if n, err := s.Reader.Read(p); err != io.EOF {
		return n, err
	}
	<-s.open
	return 0, io.EOF
}

func TestServerDoesNotHoldBackWhatASizedStreamGave(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		open := make(chan struct{})
		ts := start(&fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
			ctx.SetBodyStream(&endless{strings.NewReader("all of it"), open}, len("all of it"))
		}})
		c := ts.Dial()
		c.Get("/")
		c.Expect(200, "all of it")
		close(open)
		c.Get("/")
		c.Expect(200, "all of it")
	})
}

func TestFlushesOfAProducerReachTheClientAtOnce(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		goOn := make(chan struct{})
		ts := start(&fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
			ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
				for i := range 5 {
					fmt.Fprintf(w, "event %d\n", i)
					if err := w.Flush(); err != nil {
						t.Errorf("Flush: %v", err)
					}
					<-goOn
				}
			})
		}})
		c := ts.Dial()
		c.Get("/")
		resp, err := http.ReadResponse(c.R, nil)
		if err != nil {
			t.Fatal(err)
		}
		events := bufio.NewReader(resp.Body)
		for i := range 5 {
			line, err := events.ReadString('\n')
			if want := fmt.Sprintf("event %d\n", i); line != want || err != nil {
				t.Fatalf("got %q, %v, want %q", line, err, want)
			}
			servertest.Send(t, "the sign to go on", goOn, struct{}{})
		}
		if rest, err := io.ReadAll(events); len(rest) > 0 || err != nil {
			t.Errorf("after the events: %q, %v", rest, err)
		}
		c.Get("/")
		resp, err = http.ReadResponse(c.R, nil)
		if err != nil {
			t.Fatal(err)
		}
		close(goOn)
		// the producer ends with its test
		if _, err := io.ReadAll(resp.Body); err != nil {
			t.Error(err)
		}
	})
}

func TestReadersOfUnknownSizeReachTheClientAtOnce(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		r, w := io.Pipe()
		ts := start(&fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) { ctx.SetBodyStream(r, -1) }})
		c := ts.Dial()
		c.Get("/")
		_, _ = io.WriteString(w, "one")
		resp, err := http.ReadResponse(c.R, nil)
		if err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 3)
		if _, err := io.ReadFull(resp.Body, b); string(b) != "one" || err != nil {
			t.Errorf("got %q, %v", b, err)
		}
		_, _ = io.WriteString(w, "two")
		if _, err := io.ReadFull(resp.Body, b); string(b) != "two" || err != nil {
			t.Errorf("got %q, %v", b, err)
		}
		_ = w.Close()
		if rest, err := io.ReadAll(resp.Body); len(rest) > 0 || err != nil {
			t.Errorf("got %q, %v in the end", rest, err)
		}
	})
}

func TestImmediateHeaderFlush(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		r, w := io.Pipe()
		ts := start(&fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
			ctx.Response.ImmediateHeaderFlush = true
			ctx.SetBodyStream(r, 4)
		}})
		c := ts.Dial()
		c.Get("/")
		resp, err := http.ReadResponse(c.R, nil)
		if err != nil || resp.ContentLength != 4 {
			t.Fatalf("got %+v, %v before the body", resp, err)
		}
		_, _ = io.WriteString(w, "body")
		_ = w.Close()
		if b, err := io.ReadAll(resp.Body); string(b) != "body" || err != nil {
			t.Errorf("got %q, %v", b, err)
		}
	})
}

func TestProducerNoticesAClientThatLeaves(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		left := make(chan error, 1)
		s := &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
			ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
				for {
					_, err := w.WriteString(strings.Repeat("x", 1000))
					if err == nil {
						err = w.Flush()
					}
					if err != nil {
						left <- err
						return
					}
				}
			})
		}}
		ts := start(s)
		c := ts.Dial()
		c.Get("/")
		if _, err := io.ReadFull(c.R, make([]byte, 10_000)); err != nil {
			t.Fatal(err)
		}
		_ = c.Close()
		servertest.Receive(t, "the end of the producer", left)
		servertest.Eventually(t, "no connection", func() bool { return s.GetOpenConnectionsCount() == 0 })
		ts.Log.CheckEmpty(t)
	})
}

func TestStreamsAreClosed(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		var opened, closed atomic.Int32
		stream := func() io.Reader {
			opened.Add(1)
			return &badStream{strings.NewReader("text"), func() (int, error) { return 0, io.EOF }, &closed}
		}
		s := &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
			switch string(ctx.Path()) {
			case "/replaced":
				ctx.SetBodyStream(stream(), -1)
				ctx.SetBodyStream(stream(), -1)
				ctx.SetBodyString("other")
			case "/error":
				ctx.SetBodyStream(stream(), -1)
				ctx.Error("no", 500)
			case "/panic":
				ctx.SetBodyStream(stream(), -1)
				panic("here")
			case "/late":
				ctx.SetBodyStream(stream(), 4)
				ctx.TimeoutError("late")
			case "/204":
				ctx.SetBodyStream(stream(), 4)
				ctx.SetStatusCode(204)
			default:
				ctx.SetBodyStream(stream(), -1)
			}
		}}
		ts := start(s)
		for _, target := range []string{"/", "/replaced", "/error", "/panic", "/late", "/204"} {
			for _, method := range []string{"GET", "HEAD"} {
				c := ts.Dial()
				c.Send(servertest.Head(method+" "+target+" HTTP/1.1", "Host: a"))
				c.Next(method)
				servertest.Eventually(t, method+" "+target+": all streams closed", func() bool { return closed.Load() == opened.Load() })
			}
		}
	})
}

func TestEarlyHints(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		goOn := make(chan struct{})
		ts := start(&fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
			if err := ctx.EarlyHints(); err != nil {
				t.Errorf("EarlyHints without a Link: %v", err)
			}
			ctx.Response.Header.Add("Link", "</a>; rel=preload")
			ctx.Response.Header.Add("Link", "</b>\r\nX: y")
			ctx.Response.Header.Set("X-Other", "not yet")
			if err := ctx.EarlyHints(); err != nil {
				t.Errorf("EarlyHints: %v", err)
			}
			<-goOn
			ctx.SetBodyString("done")
		}})
		c := ts.Dial()
		for range 2 {
			c.Get("/")
			hints := c.Expect(103, "")
			if links := hints.Header["Link"]; len(links) != 2 || links[0] != "</a>; rel=preload" || links[1] != "</b>  X: y" || len(hints.Header) != 1 {
				t.Errorf("the hints are %v", hints.Header)
			}
			servertest.Send(t, "the sign to go on", goOn, struct{}{})
			if resp := c.Expect(200, "done"); len(resp.Header["Link"]) != 2 || resp.Header.Get("X-Other") != "not yet" {
				t.Errorf("the fields are %v", resp.Header)
			}
		}
		// an HTTP/1.0 client gets no informational responses
		c.Send(servertest.Head("GET / HTTP/1.0"))
		close(goOn)
		c.Expect(200, "done")
	})
}

func TestEarlyHintsOfAContextWithoutAServer(t *testing.T) {
	var ctx fasthttp.RequestCtx
	if err := ctx.EarlyHints(); err != nil {
		t.Errorf("EarlyHints: %v", err)
	}
	ctx.Init(&fasthttp.Request{}, nil, nil)
	ctx.Response.Header.Add("Link", "</a>")
	if err := ctx.EarlyHints(); err != nil {
		t.Errorf("EarlyHints: %v", err)
	}
}

func TestTrailersOfTheRequest(t *testing.T) {
	t.Parallel()
	request := servertest.Chunked("/", "3\r\nabc\r\n0\r\nx-sum: 1\r\nX-More: 2\r\n\r\n", "Trailer: X-Sum")
	forEachEngine(t, func(t *testing.T, start starter) {
		for _, streaming := range []bool{false, true} {
			ts := start(&fasthttp.Server{StreamRequestBody: streaming, Handler: func(ctx *fasthttp.RequestCtx) {
				if streaming && ctx.Request.Header.Peek("X-Sum") != nil {
					t.Error("a trailer is available before the body was read")
				}
				fmt.Fprintf(ctx, "%s %s %s %q", ctx.PostBody(), ctx.Request.Header.Peek("X-Sum"), ctx.Request.Header.PeekTrailer("X-More"), ctx.Request.Header.PeekTrailerKeys())
			}})
			c := ts.Dial()
			for range 2 {
				c.Send(request)
				c.Expect(200, `abc 1 2 ["X-Sum" "X-More"]`)
			}
			// early hints belong to one request only
			c.Send(servertest.Post("/", "x"))
			c.Expect(200, `x   []`)
		}
	})
}

func TestTrailersOfTheResponse(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		ts := start(&fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
			h := &ctx.Response.Header
			if err := h.SetTrailer("X-Sum, Content-Length"); !errors.Is(err, fasthttp.ErrBadTrailer) {
				t.Errorf("SetTrailer: %v", err)
			}
			h.Set("X-Sum", "early")
			switch string(ctx.Path()) {
			case "/stream":
				ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
					_, _ = w.WriteString("streamed")
				})
			case "/sized":
				ctx.SetBodyStream(strings.NewReader("sized"), 5)
			case "/none":
				ctx.SetBodyStream(strings.NewReader(""), 0)
			case "/short":
				ctx.SetBodyStream(strings.NewReader("sized"), 6)
			case "/long":
				ctx.SetBodyStream(strings.NewReader("sized"), 4)
			case "/empty":
			default:
				ctx.SetBodyString("buffered")
			}
			h.Set("X-Sum", "late\r\nX: y")
		}})
		c := ts.Dial()
		for target, body := range map[string]string{
			"/stream": "streamed", "/sized": "sized", "/none": "", "/": "buffered", "/empty": "",
		} {
			c.Get(target)
			resp := c.Expect(200, body)
			if got := resp.Trailer.Get("X-Sum"); got != "late  X: y" || len(resp.Trailer) != 1 || resp.Header.Get("X-Sum") != "" {
				t.Errorf("%s: the trailers are %v, the header %v", target, resp.Trailer, resp.Header)
			}
		}
		// HTTP/1.0 has no trailers
		c.Send(servertest.Head("GET / HTTP/1.0", "Connection: keep-alive"))
		if resp := c.Expect(200, "buffered"); len(resp.Trailer) > 0 || len(resp.TransferEncoding) > 0 {
			t.Errorf("HTTP/1.0 got %+v", resp)
		}
		c.Send(servertest.Head("GET /sized HTTP/1.0", "Connection: keep-alive"))
		if resp := c.Expect(200, "sized"); len(resp.Trailer) > 0 || resp.ContentLength != 5 {
			t.Errorf("HTTP/1.0 got %+v", resp)
		}
		c.Send(servertest.Head("HEAD /sized HTTP/1.1", "Host: a"))
		if resp := c.Next("HEAD"); resp.ContentLength != 5 {
			t.Errorf("HEAD got %+v", resp)
		}
		c.Send(servertest.Head("HEAD / HTTP/1.1", "Host: a"))
		c.Next("HEAD")
		c.Get("/")
		c.Expect(200, "buffered")
		// a body of the wrong size must not look complete
		for _, target := range []string{"/short", "/long"} {
			c = ts.Dial()
			c.Get(target)
			if resp, err := servertest.ReadResponse(c.R, "GET"); err == nil {
				t.Errorf("%s: got %q in order", target, resp.Content)
			}
		}
	})
}

// TestStatusesHaveThreeDigits has handlers set a status that no client can read.
func TestStatusesHaveThreeDigits(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		ts := start(&fasthttp.Server{Logger: &servertest.Log{}, Handler: func(ctx *fasthttp.RequestCtx) {
			code, _ := ctx.QueryArgs().GetUint("code")
			ctx.SetStatusCode(code)
			if ctx.Response.Header.Set("X-Dropped", "yes"); ctx.QueryArgs().Has("stream") {
				ctx.SetBodyStream(strings.NewReader("dropped"), -1)
			} else {
				ctx.SetBodyString("dropped")
			}
		}})
		c := ts.Dial()
		for _, code := range []int{1, 7, 99, 1000, 2000, 20000, math.MaxInt32} {
			for _, kind := range []string{"", "&stream"} {
				c.Get(fmt.Sprintf("/?code=%d%s", code, kind))
				if resp := c.Expect(500, "Internal Server Error"); resp.Header.Get("X-Dropped") != "" {
					t.Errorf("%d%s: got %v", code, kind, resp.Header)
				}
			}
		}
		c.Get("/?code=999")
		c.Expect(999, "dropped")
	})
}

// TestInformationalStatusEndsTheConnection has handlers set an informational status.
// The client would take the next response for the final one.
func TestInformationalStatusEndsTheConnection(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		ts := start(&fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
			code, _ := ctx.QueryArgs().GetUint("code")
			ctx.SetStatusCode(code)
			ctx.SetBodyString("dropped")
		}})
		for _, code := range []int{100, 101, 102, 103, 199} {
			c := ts.Dial()
			c.Send(servertest.Get(fmt.Sprintf("/?code=%d", code)) + servertest.Get("/next"))
			text, err := io.ReadAll(c.R)
			if want := fmt.Sprintf("HTTP/1.1 %d ", code); !strings.HasPrefix(string(text), want) ||
				strings.Count(string(text), "HTTP/1.1") != 1 || strings.Contains(string(text), "dropped") {
				t.Errorf("%d: got %q, %v", code, text, err)
			}
		}
	})
}

func TestResetContentHasNoContent(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		ts := start(&fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
			ctx.SetStatusCode(fasthttp.StatusResetContent)
			if string(ctx.Path()) == "/stream" {
				ctx.SetBodyStream(strings.NewReader("dropped"), -1)
			} else {
				ctx.SetBodyString("dropped")
			}
		}})
		c := ts.Dial()
		for _, target := range []string{"/", "/stream"} {
			c.Get(target)
			if resp := c.Expect(205, ""); resp.ContentLength != 0 {
				t.Errorf("the length is %d", resp.ContentLength)
			}
		}
	})
}

func TestServerStreamsWhatAReaderWritesItself(t *testing.T) {
	// the writer calls WriteTo of a BodyWriterTo, and reads a stream that only has
	// WriteTo
	for _, tc := range []struct {
		name string
		body io.Reader
		want string
	}{
		{"WriterTo", struct {
			io.Reader
			io.WriterTo
		}{strings.NewReader("read"), bytes.NewReader([]byte("written"))}, "read"},
		{"BodyWriterTo", &selfWriter{strings.NewReader("read"), true}, "written"},
		{"BodyWriterTo that says no", &selfWriter{strings.NewReader("read"), false}, "read"},
	} {
		c := &servertest.FakeConn{Pieces: [][]byte{[]byte(servertest.Get("/"))}}
		if err := fasthttp.ServeConn(c, func(ctx *fasthttp.RequestCtx) { ctx.SetBodyStream(tc.body, -1) }); err != nil {
			t.Fatal(err)
		}
		resp, err := servertest.ReadResponse(bufio.NewReader(&c.Out), "GET")
		if err != nil || resp.Content != tc.want {
			t.Errorf("%s: got %q, %v, want %q", tc.name, resp.Content, err, tc.want)
		}
	}
}

type selfWriter struct {
	io.Reader
	supports bool
}

func (s *selfWriter) WriteTo(w io.Writer) (int64, error) {
	n, err := io.WriteString(w, "written")
	return int64(n), err
}

func (s *selfWriter) SupportsBodyWriteTo() bool { return s.supports }
