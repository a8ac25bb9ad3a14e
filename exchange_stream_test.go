package fasthttp

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

func TestRequestBodyArrivesAsAStream(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
		pieces := make(chan string)
		ts := start(&Server{StreamRequestBody: true, Handler: func(ctx *RequestCtx) {
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
			// the end stays the end
			for range 3 {
				if n, err := body.Read(b); n != 0 || err != io.EOF {
					t.Errorf("behind the end: %d, %v", n, err)
				}
			}
			if len(ctx.PostBody()) > 0 {
				t.Errorf("PostBody is %q though the stream was read", ctx.PostBody())
			}
			ctx.SetBodyString("read")
		}})
		c := ts.dial()
		for range 2 {
			c.send(head("POST / HTTP/1.1", "Host: a", "Content-Length: 9"))
			for _, piece := range []string{"abc", "def", "ghi"} {
				c.send(piece)
				if got := receive(t, "a piece", pieces); got != piece {
					t.Errorf("got %q, want %q", got, piece)
				}
			}
			c.expect(200, "read")
			c.send(chunked("/", ""))
			for _, piece := range []string{"abc", "de", "f"} {
				c.send(fmt.Sprintf("%x\r\n%s\r\n", len(piece), piece))
				if got := receive(t, "a piece", pieces); got != piece {
					t.Errorf("got %q, want %q", got, piece)
				}
			}
			c.send("0\r\n\r\n")
			c.expect(200, "read")
		}
		// a request without a body has no stream
		c.get("/")
	})
}

func TestRequestsWithoutBodyHaveNoStream(t *testing.T) {
	c := &fakeConn{pieces: [][]byte{[]byte(get("/") + post("/", "x") + get("/"))}}
	var streams []bool
	s := &Server{StreamRequestBody: true, Handler: func(ctx *RequestCtx) {
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
	forEachEngine(t, func(t *testing.T, start starter) {
		limited := TimeoutHandler(func(ctx *RequestCtx) {
			_, _ = io.CopyN(ctx, ctx.RequestBodyStream(), 2)
			_, _ = ctx.WriteString("|")
		}, never, "too slow")
		ts := start(&Server{Handler: func(ctx *RequestCtx) {
			body := ctx.RequestBodyStream()
			if body == nil {
				ctx.SetBodyString("none")
				return
			}
			_, _ = io.CopyN(ctx, body, 2)
			_, _ = ctx.WriteString("|")
			limited(ctx)
			// it goes on where it was
			_, _ = io.Copy(ctx, ctx.RequestBodyStream())
			fmt.Fprintf(ctx, "|%s %v", ctx.PostBody(), ctx.Request.IsBodyStream())
		}})
		c := ts.dial()
		for range 2 {
			c.send(post("/", "abcdefg"))
			c.expect(200, "ab|cd|efg|abcdefg false")
			c.send(chunked("/", "3\r\nabc\r\n4\r\ndefg\r\n0\r\n\r\n"))
			c.expect(200, "ab|cd|efg|abcdefg false")
			c.send(post("/", ""))
			c.expect(200, "none")
			c.get("/")
			c.expect(200, "none")
		}
	})
}

func TestPostBodyOfAStream(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
		ts := start(&Server{StreamRequestBody: true, MaxRequestBodySize: 10, Handler: func(ctx *RequestCtx) {
			// the limit is not for streams
			fmt.Fprintf(ctx, "%d", len(ctx.PostBody()))
			if again := len(ctx.PostBody()); again == 0 {
				t.Error("PostBody is empty the second time")
			}
		}})
		c := ts.dial()
		for _, size := range []int{1, 1000, 100_000, 1 << 20} {
			body := numbered(size)
			c.send(post("/", body))
			c.expect(200, fmt.Sprint(size))
			c.send(chunked("/", fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", size, body)))
			c.expect(200, fmt.Sprint(size))
		}
	})
}

func TestUnreadBodyIsDrainedOrEndsTheConnection(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
		ts := start(&Server{StreamRequestBody: true, Handler: ignoresBody})
		chunks := func(size int) string {
			var b strings.Builder
			for ; size > 0; size -= 1000 {
				n := min(size, 1000)
				fmt.Fprintf(&b, "%x\r\n%s\r\n", n, strings.Repeat("x", n))
			}
			return chunked("/", b.String()+"0\r\n\r\n")
		}
		for _, tc := range []struct {
			name, request string
			keeps         bool
		}{
			{"a little", post("/", strings.Repeat("x", 1000)), true},
			{"as much as is drained", post("/", strings.Repeat("x", drainLimit)), true},
			{"more", post("/", strings.Repeat("x", drainLimit+1)), false},
			{"much more", post("/", strings.Repeat("x", 4*drainLimit)), false},
			{"chunks", chunks(drainLimit - 1), true},
			{"more chunks", chunks(drainLimit + 1), false},
			{"many more chunks", chunks(4 * drainLimit), false},
		} {
			c := ts.dial()
			go func() { _, _ = io.WriteString(c.Conn, tc.request) }()
			resp := c.expect(200, "ignored")
			// how much comes in chunks is not known when the response is sent
			sure := tc.keeps || !strings.Contains(tc.name, "chunks")
			if sure && resp.Close == tc.keeps {
				t.Errorf("%s: closes %v", tc.name, resp.Close)
			}
			if tc.keeps {
				c.get("/")
				c.expect(200, "ignored")
			} else {
				c.expectCut()
			}
		}
	})
}

// TestResponseDoesNotWaitForAnUnreadBody has clients send the rest of a body only
// when they have got the response.
func TestResponseDoesNotWaitForAnUnreadBody(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
		large := strings.Repeat("x", copyLimit+1)
		ts := start(&Server{StreamRequestBody: true, Handler: func(ctx *RequestCtx) {
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
			{"a length", head("POST / HTTP/1.1", "Host: a", "Content-Length: 6") + "abc", "def", "refused", false},
			{"nothing has come", head("POST / HTTP/1.1", "Host: a", "Content-Length: 6"), "abcdef", "refused", false},
			{"a large answer", head("POST /large HTTP/1.1", "Host: a", "Content-Length: 6") + "abc", "def", large, false},
			{"read in part", head("POST /part HTTP/1.1", "Host: a", "Content-Length: 6") + "abc", "def", "part", false},
			{"a stream", head("POST /stream HTTP/1.1", "Host: a", "Content-Length: 6") + "abc", "def", "stream", false},
			{"the client closes", head("POST / HTTP/1.1", "Host: a", "Connection: close", "Content-Length: 6") + "abc", "def", "refused", true},
			{"too much", head("POST / HTTP/1.1", "Host: a", fmt.Sprint("Content-Length: ", drainLimit+4)) + "abc", "def", "refused", true},
			{"chunks", chunked("/", "3\r\nabc\r"), "\n0\r\n\r\n", "refused", false},
			{"chunks that are read in part", chunked("/part", "3\r\nabc\r\n"), "3\r\nabc\r\n0\r\n\r\n", "part", false},
			{"chunks, and a large answer", chunked("/large", "3\r\nabc\r\n"), "3\r\nabc\r\n0\r\n\r\n", large, false},
			{"chunks, and a stream", chunked("/stream", "3\r\nabc\r\n"), "3\r\nabc\r\n0\r\n\r\n", "stream", false},
			{"chunks both ways", chunked("/duplex", "3\r\nabc\r"), "\n0\r\n\r\n", "refused", false},
			{"chunks of one who closes", head("POST / HTTP/1.1", "Host: a", "Connection: close", "Transfer-Encoding: chunked") + "3\r\nab",
				"c\r\n0\r\n\r\n", "refused", true},
		} {
			c := ts.dial()
			c.send(tc.first)
			if resp := c.expect(200, tc.body); resp.Close != tc.closes {
				t.Errorf("%s: closes %v", tc.name, resp.Close)
			}
			if tc.closes {
				// which may be before the rest is there
				_, _ = io.WriteString(c.Conn, tc.rest)
				c.expectCut()
				continue
			}
			c.send(tc.rest + get("/next"))
			c.expect(200, "refused")
		}
	})
}

func TestRequestStreamAsResponseStream(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
		ts := start(&Server{StreamRequestBody: true, Handler: func(ctx *RequestCtx) {
			if body := ctx.RequestBodyStream(); body != nil {
				ctx.SetBodyStream(body, ctx.Request.Header.ContentLength())
			}
		}})
		c := ts.dial()
		for _, size := range []int{1, 5000, 100_000, 1 << 20} {
			body := numbered(size)
			for _, request := range []string{post("/", body), chunked("/", fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", size, body))} {
				go func() { _, _ = io.WriteString(c.Conn, request+get("/")) }()
				c.expect(200, body)
				c.expect(200, "")
			}
		}
		// the two go on at the same time
		c.send(chunked("/", ""))
		r := bufio.NewReader(c.r)
		var resp *testEcho
		for i := range 10 {
			c.send(fmt.Sprintf("7\r\nround %d\r\n", i))
			if resp == nil {
				resp = newTestEcho(t, r)
			}
			resp.expect(fmt.Sprintf("round %d", i))
		}
		c.send("0\r\n\r\n")
		resp.expectEnd()
	})
}

// testEcho is a response that is read piece by piece.
type testEcho struct {
	t    *testing.T
	body io.Reader
}

func newTestEcho(t *testing.T, r *bufio.Reader) *testEcho {
	var resp Response
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
		head("POST / HTTP/1.1", "Host: a", "Content-Length: 10") + "abc",
		chunked("/", "5\r\nabc"),
		chunked("/", "3\r\nabc\r\n"),
		chunked("/", "3\r\nabc\r\n0\r\n"),
		chunked("/", "3\r\nabc\r\n0\r\nX: y"),
	} {
		var body []byte
		var err, again error
		c := &fakeConn{pieces: [][]byte{[]byte(request)}}
		s := &Server{StreamRequestBody: true, Logger: &testLog{}, Handler: func(ctx *RequestCtx) {
			body, err = io.ReadAll(ctx.RequestBodyStream())
			_, again = ctx.RequestBodyStream().Read(make([]byte, 1))
		}}
		_ = s.ServeConn(c)
		if string(body) != "abc" || !errors.Is(err, io.ErrUnexpectedEOF) || !errors.Is(again, io.ErrUnexpectedEOF) {
			t.Errorf("%q: got %q, %v, then %v", request, body, err, again)
		}
		if !bytes.Contains(c.out.Bytes(), []byte("Connection: close")) {
			t.Errorf("%q: got %q", request, c.out.String())
		}
	}
}

func TestRequestStreamThatIsBroken(t *testing.T) {
	var err error
	s := &Server{StreamRequestBody: true, Handler: func(ctx *RequestCtx) {
		_, err = io.ReadAll(ctx.RequestBodyStream())
	}, Logger: &testLog{}}
	for _, coding := range []string{"x\r\n", "1\r\nab\r\n", "1;\r\na\r\n"} {
		_ = s.ServeConn(&fakeConn{pieces: [][]byte{[]byte(chunked("/", coding))}})
		if _, ok := errors.AsType[ErrBrokenChunk](err); !ok {
			t.Errorf("%q: %v", coding, err)
		}
	}
	_ = s.ServeConn(&fakeConn{pieces: [][]byte{[]byte(chunked("/", "0\r\nHost: x\r\n\r\n"))}})
	if !errors.Is(err, ErrBadTrailer) {
		t.Errorf("forbidden trailer: %v", err)
	}
}

// TestRequestStreamDoesNotReadTheNextRequest reads bodies in every way that there
// is, with requests behind them in the same buffer.
func TestRequestStreamDoesNotReadTheNextRequest(t *testing.T) {
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
		s := &Server{StreamRequestBody: true, Handler: func(ctx *RequestCtx) {
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
		in := post("/", "abc") + chunked("/", "3\r\nabc\r\n4\r\ndefg\r\n0\r\nX: y\r\n\r\n") + get("/") + post("/", "hi")
		for _, split := range splitPositions(len(in)) {
			bodies = bodies[:0]
			c := &fakeConn{pieces: [][]byte{[]byte(in[:split]), []byte(in[split:])}}
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
	// a handler that keeps the stream, which it must not, does no harm to others
	var kept io.Reader
	c := &fakeConn{pieces: [][]byte{[]byte(post("/", "abc") + post("/2", "def"))}}
	s := &Server{StreamRequestBody: true, Handler: func(ctx *RequestCtx) {
		if kept == nil {
			kept = ctx.RequestBodyStream()
			return
		}
		fmt.Fprintf(ctx, "%s %s", ctx.Path(), ctx.PostBody())
	}}
	if err := s.ServeConn(c); err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(c.out.String(), "/2 def") {
		t.Errorf("got %q", c.out.String())
	}
}
