package integrationtests

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

func TestRequestBodyArrivesAsAStream(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		pieces := make(chan string)
		ts := start(&fasthttp.Server{StreamRequestBody: true, Handler: func(ctx *fasthttp.RequestCtx) {
			b := make([]byte, 100)
			body := ctx.RequestBodyStream()
			for {
				n, err := body.Read(b)
				if n > 0 {
					pieces <- string(b[:n])
				}
				if err == io.EOF {
					break
				}
				if err != nil {
					t.Errorf("Read: %v", err)
					break
				}
			}
			// each read after the end returns io.EOF
			for range 3 {
				if n, err := body.Read(b); n != 0 || err != io.EOF {
					t.Errorf("after the end: %d, %v", n, err)
				}
			}
			if len(ctx.PostBody()) > 0 {
				t.Errorf("PostBody is %q though the stream was read", ctx.PostBody())
			}
			ctx.SetBodyString("read")
		}})
		c := ts.Dial()
		for range 2 {
			c.Send(servertest.Head("POST / HTTP/1.1", "Host: a", "Content-Length: 9"))
			for _, piece := range []string{"abc", "def", "ghi"} {
				c.Send(piece)
				if got := servertest.Receive(t, "a piece", pieces); got != piece {
					t.Errorf("got %q, want %q", got, piece)
				}
			}
			c.Expect(200, "read")
			c.Send(servertest.Chunked("/", ""))
			for _, piece := range []string{"abc", "de", "f"} {
				c.Send(fmt.Sprintf("%x\r\n%s\r\n", len(piece), piece))
				if got := servertest.Receive(t, "a piece", pieces); got != piece {
					t.Errorf("got %q, want %q", got, piece)
				}
			}
			c.Send("0\r\n\r\n")
			c.Expect(200, "read")
		}
		// a request without a body has no stream
		c.Get("/")
	})
}

func TestRequestsWithoutBodyHaveNoStream(t *testing.T) {
	c := &servertest.FakeConn{Pieces: [][]byte{[]byte(servertest.Get("/") + servertest.Post("/", "x") + servertest.Get("/"))}}
	var streams []bool
	s := &fasthttp.Server{StreamRequestBody: true, Handler: func(ctx *fasthttp.RequestCtx) {
		streams = append(streams, ctx.RequestBodyStream() != nil, ctx.Request.IsBodyStream())
	}}
	if err := s.ServeConn(c); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(streams) != "[false false true true false false]" {
		t.Errorf("streams: %v", streams)
	}
}

func TestBufferedBodyHasAStream(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		limited := fasthttp.TimeoutHandler(func(ctx *fasthttp.RequestCtx) {
			_, _ = io.CopyN(ctx, ctx.RequestBodyStream(), 2)
			_, _ = ctx.WriteString("|")
		}, servertest.Never, "too slow")
		ts := start(&fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
			body := ctx.RequestBodyStream()
			if body == nil {
				ctx.SetBodyString("none")
				return
			}
			_, _ = io.CopyN(ctx, body, 2)
			_, _ = ctx.WriteString("|")
			limited(ctx)
			// the stream continues after the part that was read
			_, _ = io.Copy(ctx, ctx.RequestBodyStream())
			fmt.Fprintf(ctx, "|%s %v", ctx.PostBody(), ctx.Request.IsBodyStream())
		}})
		c := ts.Dial()
		for range 2 {
			c.Send(servertest.Post("/", "abcdefg"))
			c.Expect(200, "ab|cd|efg|abcdefg false")
			c.Send(servertest.Chunked("/", "3\r\nabc\r\n4\r\ndefg\r\n0\r\n\r\n"))
			c.Expect(200, "ab|cd|efg|abcdefg false")
			c.Send(servertest.Post("/", ""))
			c.Expect(200, "none")
			c.Get("/")
			c.Expect(200, "none")
		}
	})
}

func TestPostBodyOfAStream(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		ts := start(&fasthttp.Server{StreamRequestBody: true, MaxRequestBodySize: 10, Handler: func(ctx *fasthttp.RequestCtx) {
			// the limit does not apply to streams
			fmt.Fprintf(ctx, "%d", len(ctx.PostBody()))
			if again := len(ctx.PostBody()); again == 0 {
				t.Error("PostBody is empty the second time")
			}
		}})
		c := ts.Dial()
		for _, size := range []int{1, 1000, 100_000, 1 << 20} {
			body := numbered(size)
			c.Send(servertest.Post("/", body))
			c.Expect(200, fmt.Sprint(size))
			c.Send(servertest.Chunked("/", fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", size, body)))
			c.Expect(200, fmt.Sprint(size))
		}
	})
}

func TestUnreadBodyIsDrainedOrEndsTheConnection(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		ts := start(&fasthttp.Server{StreamRequestBody: true, Handler: ignoresBody})
		chunks := func(size int) string {
			var b strings.Builder
			for ; size > 0; size -= 1000 {
				n := min(size, 1000)
				fmt.Fprintf(&b, "%x\r\n%s\r\n", n, strings.Repeat("x", n))
			}
			return servertest.Chunked("/", b.String()+"0\r\n\r\n")
		}
		for _, tc := range []struct {
			name, request string
			keeps         bool
		}{
			{"a little", servertest.Post("/", strings.Repeat("x", 1000)), true},
			{"as much as is drained", servertest.Post("/", strings.Repeat("x", servertest.DrainLimit)), true},
			{"more", servertest.Post("/", strings.Repeat("x", servertest.DrainLimit+1)), false},
			{"much more", servertest.Post("/", strings.Repeat("x", 4*servertest.DrainLimit)), false},
			{"chunks", chunks(servertest.DrainLimit - 1), true},
			{"more chunks", chunks(servertest.DrainLimit + 1), false},
			{"many more chunks", chunks(4 * servertest.DrainLimit), false},
		} {
			c := ts.Dial()
			go func() { _, _ = io.WriteString(c.Conn, tc.request) }()
			resp := c.Expect(200, "ignored")
			// the length of a chunked body is unknown when the response is sent
			sure := tc.keeps || !strings.Contains(tc.name, "chunks")
			if sure && resp.Close == tc.keeps {
				t.Errorf("%s: closes %v", tc.name, resp.Close)
			}
			if tc.keeps {
				c.Get("/")
				c.Expect(200, "ignored")
			} else {
				c.ExpectCut()
			}
		}
	})
}

// TestResponseDoesNotWaitForAnUnreadBody has clients send the rest of a body after
// they have the response.
func TestResponseDoesNotWaitForAnUnreadBody(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		large := strings.Repeat("x", servertest.CopyLimit+1)
		ts := start(&fasthttp.Server{StreamRequestBody: true, Handler: func(ctx *fasthttp.RequestCtx) {
			switch string(ctx.Path()) {
			case "/large":
				ctx.SetBodyString(large)
			case "/part":
				_, _ = io.ReadFull(ctx.RequestBodyStream(), make([]byte, 2))
				ctx.SetBodyString("part")
			case "/stream":
				ctx.SetBodyStream(strings.NewReader("stream"), -1)
			case "/duplex":
				ctx.EnableFullDuplex()
				fallthrough
			default:
				ctx.SetBodyString("refused")
			}
		}})
		for _, tc := range []struct {
			name, first, rest, body string
			closes                  bool
		}{
			{"a length", servertest.Head("POST / HTTP/1.1", "Host: a", "Content-Length: 6") + "abc", "def", "refused", false},
			{"nothing has come", servertest.Head("POST / HTTP/1.1", "Host: a", "Content-Length: 6"), "abcdef", "refused", false},
			{"a large answer", servertest.Head("POST /large HTTP/1.1", "Host: a", "Content-Length: 6") + "abc", "def", large, false},
			{"read in part", servertest.Head("POST /part HTTP/1.1", "Host: a", "Content-Length: 6") + "abc", "def", "part", false},
			{"a stream", servertest.Head("POST /stream HTTP/1.1", "Host: a", "Content-Length: 6") + "abc", "def", "stream", false},
			{"the client closes", servertest.Head("POST / HTTP/1.1", "Host: a", "Connection: close", "Content-Length: 6") + "abc", "def", "refused", true},
			{"too much", servertest.Head("POST / HTTP/1.1", "Host: a", fmt.Sprint("Content-Length: ", servertest.DrainLimit+4)) + "abc", "def", "refused", true},
			{"chunks", servertest.Chunked("/", "3\r\nabc\r"), "\n0\r\n\r\n", "refused", false},
			{"chunks that are read in part", servertest.Chunked("/part", "3\r\nabc\r\n"), "3\r\nabc\r\n0\r\n\r\n", "part", false},
			{"chunks, and a large answer", servertest.Chunked("/large", "3\r\nabc\r\n"), "3\r\nabc\r\n0\r\n\r\n", large, false},
			{"chunks, and a stream", servertest.Chunked("/stream", "3\r\nabc\r\n"), "3\r\nabc\r\n0\r\n\r\n", "stream", false},
			{"chunks both ways", servertest.Chunked("/duplex", "3\r\nabc\r"), "\n0\r\n\r\n", "refused", false},
			{"chunks, and the client closes", servertest.Head("POST / HTTP/1.1", "Host: a", "Connection: close", "Transfer-Encoding: chunked") + "3\r\nab",
				"c\r\n0\r\n\r\n", "refused", true},
		} {
			c := ts.Dial()
			c.Send(tc.first)
			if resp := c.Expect(200, tc.body); resp.Close != tc.closes {
				t.Errorf("%s: closes %v", tc.name, resp.Close)
			}
			if tc.closes {
				// the response may arrive before the server reads the rest
				_, _ = io.WriteString(c.Conn, tc.rest)
				c.ExpectCut()
				continue
			}
			c.Send(tc.rest + servertest.Get("/next"))
			c.Expect(200, "refused")
		}
	})
}

func TestRequestStreamAsResponseStream(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		ts := start(&fasthttp.Server{StreamRequestBody: true, Handler: func(ctx *fasthttp.RequestCtx) {
			if body := ctx.RequestBodyStream(); body != nil {
				ctx.SetBodyStream(body, ctx.Request.Header.ContentLength())
			}
		}})
		c := ts.Dial()
		for _, size := range []int{1, 5000, 100_000, 1 << 20} {
			body := numbered(size)
			for _, request := range []string{servertest.Post("/", body), servertest.Chunked("/", fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", size, body))} {
				go func() { _, _ = io.WriteString(c.Conn, request+servertest.Get("/")) }()
				c.Expect(200, body)
				c.Expect(200, "")
			}
		}
		// request and response are sent at the same time
		c.Send(servertest.Chunked("/", ""))
		r := bufio.NewReader(c.R)
		var resp *testEcho
		for i := range 10 {
			c.Send(fmt.Sprintf("7\r\nround %d\r\n", i))
			if resp == nil {
				resp = newTestEcho(t, r)
			}
			resp.expect(fmt.Sprintf("round %d", i))
		}
		c.Send("0\r\n\r\n")
		resp.expectEnd()
	})
}

// testEcho reads a response piece by piece.
type testEcho struct {
	t    testing.TB
	body io.Reader
}

func newTestEcho(t testing.TB, r *bufio.Reader) *testEcho {
	var resp fasthttp.Response
	resp.StreamBody = true
	if err := resp.Read(r); err != nil {
		t.Fatal(err)
	}
	return &testEcho{t, resp.BodyStream()}
}

func (e *testEcho) expect(want string) {
	e.t.Helper()
	b := make([]byte, len(want))
	if _, err := io.ReadFull(e.body, b); string(b) != want || err != nil {
		e.t.Fatalf("got %q, %v, want %q", b, err, want)
	}
}

func (e *testEcho) expectEnd() {
	e.t.Helper()
	if b, err := io.ReadAll(e.body); len(b) > 0 || err != nil {
		e.t.Errorf("got %q, %v, want the end", b, err)
	}
}

func TestRequestStreamThatIsCutOff(t *testing.T) {
	for _, request := range []string{
		servertest.Head("POST / HTTP/1.1", "Host: a", "Content-Length: 10") + "abc",
		servertest.Chunked("/", "5\r\nabc"),
		servertest.Chunked("/", "3\r\nabc\r\n"),
		servertest.Chunked("/", "3\r\nabc\r\n0\r\n"),
		servertest.Chunked("/", "3\r\nabc\r\n0\r\nX: y"),
	} {
		var body []byte
		var err, again error
		c := &servertest.FakeConn{Pieces: [][]byte{[]byte(request)}}
		s := &fasthttp.Server{StreamRequestBody: true, Logger: &servertest.Log{}, Handler: func(ctx *fasthttp.RequestCtx) {
			body, err = io.ReadAll(ctx.RequestBodyStream())
			_, again = ctx.RequestBodyStream().Read(make([]byte, 1))
		}}
		_ = s.ServeConn(c)
		if string(body) != "abc" || !errors.Is(err, io.ErrUnexpectedEOF) || !errors.Is(again, io.ErrUnexpectedEOF) {
			t.Errorf("%q: got %q, %v, then %v", request, body, err, again)
		}
		if !bytes.Contains(c.Out.Bytes(), []byte("Connection: close")) {
			t.Errorf("%q: got %q", request, c.Out.String())
		}
	}
}

func TestRequestStreamThatIsBroken(t *testing.T) {
	var err error
	s := &fasthttp.Server{StreamRequestBody: true, Handler: func(ctx *fasthttp.RequestCtx) {
		_, err = io.ReadAll(ctx.RequestBodyStream())
	}, Logger: &servertest.Log{}}
	for _, coding := range []string{"x\r\n", "1\r\nab\r\n", "1;\r\na\r\n"} {
		_ = s.ServeConn(&servertest.FakeConn{Pieces: [][]byte{[]byte(servertest.Chunked("/", coding))}})
		if _, ok := errors.AsType[fasthttp.ErrBrokenChunk](err); !ok {
			t.Errorf("%q: %v", coding, err)
		}
	}
	_ = s.ServeConn(&servertest.FakeConn{Pieces: [][]byte{[]byte(servertest.Chunked("/", "0\r\nHost: x\r\n\r\n"))}})
	if !errors.Is(err, fasthttp.ErrBadTrailer) {
		t.Errorf("forbidden trailer: %v", err)
	}
}

// TestRequestStreamDoesNotReadTheNextRequest reads bodies in every possible way,
// with more requests in the same buffer.
func TestRequestStreamDoesNotReadTheNextRequest(t *testing.T) {
	t.Parallel()
	readers := map[string]func(r io.Reader) ([]byte, error){
		"ReadAll": io.ReadAll,
		"one byte": func(r io.Reader) (all []byte, err error) {
			for b := make([]byte, 1); ; {
				n, err := r.Read(b)
				all = append(all, b[:n]...)
				if err == io.EOF {
					return all, nil
				}
				if err != nil {
					return all, err
				}
			}
		},
		"large": func(r io.Reader) ([]byte, error) {
			return io.ReadAll(bufio.NewReaderSize(r, 1<<20))
		},
		"WriteTo": func(r io.Reader) ([]byte, error) {
			var b bytes.Buffer
			_, err := io.Copy(&b, r)
			return b.Bytes(), err
		},
		"with empty reads": func(r io.Reader) ([]byte, error) {
			if n, err := r.Read(nil); n != 0 || err != nil {
				return nil, fmt.Errorf("empty Read: %d, %v", n, err)
			}
			return io.ReadAll(r)
		},
	}
	for name, read := range readers {
		var bodies []string
		s := &fasthttp.Server{StreamRequestBody: true, Handler: func(ctx *fasthttp.RequestCtx) {
			body := ctx.RequestBodyStream()
			if body == nil {
				bodies = append(bodies, "none")
				return
			}
			b, err := read(body)
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			bodies = append(bodies, string(b))
		}}
		in := servertest.Post("/", "abc") + servertest.Chunked("/", "3\r\nabc\r\n4\r\ndefg\r\n0\r\nX: y\r\n\r\n") + servertest.Get("/") + servertest.Post("/", "hi")
		for _, split := range splitPositions(len(in)) {
			bodies = bodies[:0]
			c := &servertest.FakeConn{Pieces: [][]byte{[]byte(in[:split]), []byte(in[split:])}}
			if err := s.ServeConn(c); err != nil {
				t.Errorf("%s: ServeConn: %v", name, err)
			}
			if got := strings.Join(bodies, " "); got != "abc abcdefg none hi" {
				t.Errorf("%s: split at %d: got %q", name, split, got)
			}
		}
	}
}

func TestRequestStreamAfterTheHandler(t *testing.T) {
	// a handler that wrongly keeps the stream does not affect other requests
	var kept io.Reader
	c := &servertest.FakeConn{Pieces: [][]byte{[]byte(servertest.Post("/", "abc") + servertest.Post("/2", "def"))}}
	s := &fasthttp.Server{StreamRequestBody: true, Handler: func(ctx *fasthttp.RequestCtx) {
		if kept == nil {
			kept = ctx.RequestBodyStream()
			return
		}
		fmt.Fprintf(ctx, "%s %s", ctx.Path(), ctx.PostBody())
	}}
	if err := s.ServeConn(c); err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(c.Out.String(), "/2 def") {
		t.Errorf("got %q", c.Out.String())
	}
}

// TestResponseSaysThatAnUnreadBodyEndsTheConnection has bodies of which the server knows, when
// it responds, that it will not read the rest.
func TestResponseSaysThatAnUnreadBodyEndsTheConnection(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file.txt")
	content := numbered(100_000)
	servertest.Must(t, os.WriteFile(file, []byte(content), 0o644))
	forEachEngine(t, func(t *testing.T, start starter) {
		handler := func(ctx *fasthttp.RequestCtx) {
			switch string(ctx.Path()) {
			case "/text":
				ctx.SetBodyString(content)
			case "/file":
				if err := ctx.Response.SendFile(file); err != nil {
					t.Error(err)
				}
			case "/serve":
				ctx.SendFile(file)
			case "/strings":
				ctx.SetBodyStream(strings.NewReader(content), len(content))
			case "/bytes":
				ctx.SetBodyStream(bytes.NewReader([]byte(content)), -1)
			}
		}
		ts := start(&fasthttp.Server{StreamRequestBody: true, Handler: handler})
		encoding := start(&fasthttp.Server{StreamRequestBody: true, Handler: fasthttp.CompressHandler(handler)})
		for _, path := range []string{"/text", "/file", "/serve", "/strings", "/bytes"} {
			for _, tc := range []struct {
				name, request, rest string
				closes              bool
			}{
				{"nothing is missing", servertest.Post(path, "abc"), "", false},
				{"chunks that have come", servertest.Chunked(path, "3\r\nabc\r\n0\r\n\r\n"), "", false},
				{"little is missing", servertest.Head("POST "+path+" HTTP/1.1", "Host: a", "Content-Length: 6") + "abc", "def", false},
				{"chunks without an end", servertest.Chunked(path, "3\r\nabc\r\n"), "0\r\n\r\n", false},
				{"much is missing", servertest.Head("POST "+path+" HTTP/1.1", "Host: a", fmt.Sprint("Content-Length: ", servertest.DrainLimit+4)) + "abc", "", true},
				{"a large chunk", servertest.Chunked(path, fmt.Sprintf("3\r\nabc\r\n%x\r\nabc", servertest.DrainLimit+1)), "", true},
				{"a malformed chunk", servertest.Chunked(path, "3\r\nabc\r\nx\r\n"), "", true},
				{"the client waits", servertest.Head("POST "+path+" HTTP/1.1", "Host: a", "Content-Length: 6", "Expect: 100-continue"), "", true},
			} {
				for _, ts := range []*testServer{ts, encoding} {
					c := ts.Dial()
					request := tc.request
					if ts == encoding {
						request = strings.Replace(request, "Host: a\r\n", "Host: a\r\nAccept-Encoding: gzip\r\n", 1)
					}
					c.Send(request)
					resp := c.Next("POST")
					if resp.StatusCode != 200 || resp.Close != tc.closes || ts != encoding && resp.Content != content {
						t.Errorf("%s, %s, encoded %v: %d, closes %v, %d bytes", path, tc.name, ts == encoding, resp.StatusCode, resp.Close, len(resp.Content))
					}
					if resp.Close {
						c.ExpectCut()
						continue
					}
					c.Send(tc.rest + servertest.Get("/text"))
					c.Expect(200, content)
				}
			}
		}
	})
}
