package fasthttp

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

const (
	postHead    = "POST /p HTTP/1.1\r\nHost: h\r\n"
	postChunked = postHead + "Transfer-Encoding: chunked\r\n\r\n"
)

// inPieces returns readers of text: whole and byte by byte, with large and small
// buffers.
func inPieces(text string) map[string]*bufio.Reader {
	return map[string]*bufio.Reader{
		"whole":                  bufio.NewReader(strings.NewReader(text)),
		"in a buffer of 16":      bufio.NewReaderSize(strings.NewReader(text), 16),
		"byte for byte":          bufio.NewReader(iotest.OneByteReader(strings.NewReader(text))),
		"byte for byte, into 16": bufio.NewReaderSize(iotest.OneByteReader(strings.NewReader(text)), 16),
		"with empty reads":       bufio.NewReaderSize(&sleepyReader{r: strings.NewReader(text)}, 32),
	}
}

func TestRequestReadTakesTheMessageAndNoMore(t *testing.T) {
	long := strings.Repeat("0123456789abcdef", 5000)
	for _, tc := range []struct {
		message, body string
		length        int
	}{
		{"GET / HTTP/1.1\r\nHost: h\r\n\r\n", "", -2},
		{"HEAD / HTTP/1.1\r\nHost: h\r\n\r\n", "", -2},
		{"GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc", "abc", 3},
		{"GET / HTTP/1.0\r\n\r\n", "", -2},
		{postHead + "\r\n", "", 0},
		{"DELETE / HTTP/1.1\r\nHost: h\r\n\r\n", "", 0},
		{"OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n", "", 0},
		{"CONNECT h:1 HTTP/1.1\r\nHost: h:1\r\n\r\n", "", 0},
		{postHead + "Content-Length: 0\r\n\r\n", "", 0},
		{postHead + "Content-Length: 5\r\n\r\nhello", "hello", 5},
		{postHead + fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(long), long), long, len(long)},
		{postChunked + "0\r\n\r\n", "", 0},
		{postChunked + "5\r\nhello\r\n6;x=y\r\n world\r\n0;z\r\n\r\n", "hello world", -1},
		{postChunked + fmt.Sprintf("%X\r\n%s\r\n1\r\n!\r\n000\r\n\r\n", len(long), long), long + "!", -1},
		{postChunked + strings.Repeat("1\r\nx\r\n", 500) + "0\r\n\r\n", strings.Repeat("x", 500), -1},
		{postChunked + "2\r\nab\r\n0\r\nSum: 1\r\nfoo: bar\r\n\r\n", "ab", -1},
		{"POST / HTTP/1.0\r\nContent-Length: 2\r\n\r\nab", "ab", 2},
	} {
		for name, r := range inPieces(tc.message + "GET /next") {
			var req Request
			if err := req.Read(r); err != nil {
				t.Errorf("%s %s: %v", clipped(tc.message), name, err)
				continue
			}
			if got := string(req.Body()); got != tc.body {
				t.Errorf("%s %s: body %s", clipped(tc.message), name, clipped(got))
			}
			if got := req.Header.ContentLength(); got != tc.length {
				t.Errorf("%s %s: length %d, want %d", clipped(tc.message), name, got, tc.length)
			}
			if rest, _ := io.ReadAll(r); string(rest) != "GET /next" {
				t.Errorf("%s %s: %s is left", clipped(tc.message), name, clipped(string(rest)))
			}
		}
	}
}

func TestRequestReadOfATruncatedMessage(t *testing.T) {
	boom := errors.New("boom")
	for _, message := range []string{
		postHead + "Content-Length: 12\r\n\r\nhello world!",
		postChunked + "5\r\nhello\r\n6;x=\"y\"\r\n world\r\n0\r\nSum: 1\r\n\r\n",
		postChunked + "0\r\n\r\n",
	} {
		for n := 1; n < len(message); n++ {
			for name, r := range inPieces(message[:n]) {
				var req Request
				err := req.Read(r)
				if !errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
					t.Errorf("%q %s: %v", message[:n], name, err)
				}
				if len(req.Body()) > 0 || req.Header.Len() > 0 {
					t.Errorf("%q %s: the request is not empty: %q", message[:n], name, req.String())
				}
			}
			var req Request
			checkError(t, message[:n], req.Read(bufio.NewReader(io.MultiReader(strings.NewReader(message[:n]), iotest.ErrReader(boom)))), boom)
		}
	}
	var req Request
	if err := req.Read(readerOf("")); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
}

func TestRequestReadLimitBody(t *testing.T) {
	for _, message := range []string{
		postHead + "Content-Length: 11\r\n\r\nhello world",
		postHead + "Content-Length: 11\r\n\r\n",
		postHead + "Content-Length: 9223372036854775807\r\n\r\n",
		postChunked + "b\r\nhello world\r\n0\r\n\r\n",
		postChunked + "5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n",
		postChunked + strings.Repeat("1\r\nx\r\n", 11),
	} {
		for name, r := range inPieces(message) {
			var req Request
			checkError(t, message+" "+name, req.ReadLimitBody(r, 10), ErrBodyTooLarge)
			if len(req.Body()) > 0 {
				t.Errorf("%q %s: body %q after the error", message, name, req.Body())
			}
		}
		if strings.HasSuffix(message, "world") || strings.HasSuffix(message, "0\r\n\r\n") {
			for _, limit := range []int{11, 0, -1} {
				var req Request
				if err := req.ReadLimitBody(readerOf(message), limit); err != nil || string(req.Body()) != "hello world" {
					t.Errorf("%q with a limit of %d: %v, %q", message, limit, err, req.Body())
				}
			}
		}
	}
}

// A peer that declares a long body and sends little must not make the reader hold
// much memory (known failure 20).
func TestRequestReadHoldsNoMoreThanArrives(t *testing.T) {
	for _, message := range []string{postHead + "Content-Length: 4000000000\r\n\r\nabc", postChunked + "7fffffffffff\r\nabc"} {
		var req Request
		n := testing.AllocsPerRun(1, func() {
			checkError(t, message, req.Read(readerOf(message)), io.ErrUnexpectedEOF)
		})
		if n > 200 {
			t.Errorf("%q: %v allocations", message, n)
		}
		if req.body.Buf != nil && cap(req.body.Buf.B) > 1<<20 {
			t.Errorf("%q: %d bytes are held", message, cap(req.body.Buf.B))
		}
	}
}

func TestRequestReadBrokenChunks(t *testing.T) {
	for _, body := range []string{
		"\r\n", " 5\r\nhello\r\n0\r\n\r\n", "+5\r\nhello\r\n0\r\n\r\n", "-1\r\n", "0x5\r\nhello\r\n0\r\n\r\n", "5_0\r\n", "g\r\n", "5\nhello\r\n0\r\n\r\n", "5\r\nhello\n0\r\n\r\n",
		"5\r\nhello!\r\n0\r\n\r\n", "5\r\nhell\r\n0\r\n\r\n", "5\r\nhello0\r\n\r\n", "5 \r\nhello\r\n0\r\n\r\n", "5;\r\nhello\r\n0\r\n\r\n", "5;a=\x01\r\nhello\r\n0\r\n\r\n",
		"10000000000000000\r\n", "ffffffffffffffff\r\n", "8000000000000000\r\n", "5;" + strings.Repeat("a", 5000) + "\r\nhello\r\n0\r\n\r\n", "5\rhello\r\n0\r\n\r\n", "5\r\r\nhello",
		strings.Repeat("1;"+strings.Repeat("a", 4000)+"\r\nx\r\n", 5) + "0\r\n\r\n",
	} {
		for name, r := range inPieces(postChunked + body) {
			var req Request
			err := req.Read(r)
			if _, ok := errors.AsType[ErrBrokenChunk](err); !ok {
				t.Errorf("%s %s: %v", clipped(body), name, err)
			}
		}
	}
}

func TestRequestReadTrailers(t *testing.T) {
	for name, r := range inPieces("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nTrailer: Sum\r\n\r\n2\r\nab\r\n0\r\nsum: 1\r\nX-Other: " + strings.Repeat("o", 100) + "\r\nSum: 2\r\n\r\nrest") {
		var req Request
		if err := req.Read(r); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := texts(req.Header.PeekAll("Sum")); got != "1|2" {
			t.Errorf("%s: Sum is %s", name, got)
		}
		if got := trailerNames(&req.Header); got != "Sum|X-Other" {
			t.Errorf("%s: trailers %s", name, got)
		}
		if rest, _ := io.ReadAll(r); string(rest) != "rest" {
			t.Errorf("%s: %q is left", name, rest)
		}
	}
	for trailers, want := range map[string]error{
		"Content-Length: 5\r\n\r\n": ErrBadTrailer, "Transfer-Encoding: chunked\r\n\r\n": ErrBadTrailer, "Host: evil\r\n\r\n": ErrBadTrailer,
		"A: " + strings.Repeat("x", 5000) + "\r\n\r\n": nil, strings.Repeat("A: x\r\n", 101) + "\r\n": nil, "A\r\n\r\n": nil, "A: b\n\n": nil, "A: b\r\n c\r\n\r\n": nil,
	} {
		for name, r := range inPieces(postChunked + "2\r\nab\r\n0\r\n" + trailers) {
			var req Request
			err := req.Read(r)
			if err == nil || errors.Is(err, io.ErrUnexpectedEOF) || want != nil && !errors.Is(err, want) {
				t.Errorf("%s %s: %v", clipped(trailers), name, err)
			}
		}
	}
}

func TestRequestMayContinue(t *testing.T) {
	for message, want := range map[string]bool{
		postHead + "Expect: 100-continue\r\nContent-Length: 5\r\n\r\nhello":                            true,
		postHead + "Expect: 100-Continue\r\nContent-Length: 5\r\n\r\nhello":                            true,
		postHead + "Expect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n": true,
		postHead + "Expect: other\r\nContent-Length: 5\r\n\r\nhello":                                   false,
		"POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\nhello":                    false,
		postHead + "Content-Length: 5\r\n\r\nhello":                                                    false,
	} {
		var req Request
		r := readerOf(message)
		if err := req.Read(r); err != nil {
			t.Errorf("%q: %v", message, err)
			continue
		}
		if req.MayContinue() != want {
			t.Errorf("%q: MayContinue is %v", message, req.MayContinue())
		}
		if want {
			if r.Buffered() == 0 || len(req.Body()) > 0 {
				t.Errorf("%q: the body was read", message)
			}
			if err := req.ContinueReadBody(r, 0); err != nil {
				t.Errorf("%q: %v", message, err)
			}
		}
		if string(req.Body()) != "hello" || r.Buffered() > 0 {
			t.Errorf("%q: body %q, %d left", message, req.Body(), r.Buffered())
		}
	}
	var req Request
	r := readerOf(postHead + "Expect: 100-continue\r\nContent-Length: 5\r\n\r\nhello")
	if err := req.Read(r); err != nil {
		t.Fatal(err)
	}
	checkError(t, "limit", req.ContinueReadBody(r, 4), ErrBodyTooLarge)
}

func TestRequestContinueReadBodyStream(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	for _, tc := range []struct{ message, body string }{
		{postHead + "Content-Length: 5\r\n\r\nhello", "hello"},
		{postHead + fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(long), long), long},
		{postChunked + fmt.Sprintf("%x\r\n%s\r\n2\r\nab\r\n0\r\nSum: 1\r\n\r\n", len(long), long), long + "ab"},
		{postChunked + "0\r\n\r\n", ""},
		{postHead + "Content-Length: 0\r\n\r\n", ""},
	} {
		for name, r := range inPieces(tc.message + "rest") {
			var req Request
			if err := req.Header.Read(r); err != nil {
				t.Fatal(err)
			}
			if err := req.ContinueReadBodyStream(r, 10); err != nil {
				t.Errorf("%s %s: %v", clipped(tc.message), name, err)
				continue
			}
			if !req.IsBodyStream() || req.BodyStream() == nil {
				t.Errorf("%s %s: the body is no stream", clipped(tc.message), name)
				continue
			}
			body, err := io.ReadAll(iotest.HalfReader(req.BodyStream()))
			if err != nil || string(body) != tc.body {
				t.Errorf("%s %s: %v, %s", clipped(tc.message), name, err, clipped(string(body)))
			}
			if strings.Contains(tc.message, "Sum") && string(req.Header.PeekTrailer("Sum")) != "1" {
				t.Errorf("%s %s: trailer %q", clipped(tc.message), name, req.Header.PeekTrailer("Sum"))
			}
			if n, err := req.BodyStream().Read(make([]byte, 1)); n > 0 || err != io.EOF {
				t.Errorf("%s %s: after the end %d, %v", clipped(tc.message), name, n, err)
			}
			if rest, _ := io.ReadAll(r); string(rest) != "rest" {
				t.Errorf("%s %s: %s is left", clipped(tc.message), name, clipped(string(rest)))
			}
			if err := req.CloseBodyStream(); err != nil || req.IsBodyStream() {
				t.Errorf("%s %s: closing: %v", clipped(tc.message), name, err)
			}
		}
	}
	var req Request
	r := readerOf("GET / HTTP/1.1\r\nHost: h\r\n\r\nrest")
	if err := req.Header.Read(r); err != nil {
		t.Fatal(err)
	}
	if err := req.ContinueReadBodyStream(r, 0); err != nil || req.IsBodyStream() || r.Buffered() != len("rest") {
		t.Errorf("without a body: %v, stream %v, %d left", err, req.IsBodyStream(), r.Buffered())
	}
}

func TestRequestBodyStreamErrors(t *testing.T) {
	for _, message := range []string{
		postHead + "Content-Length: 12\r\n\r\nhello world!",
		postChunked + "5\r\nhello\r\n6\r\n world\r\n0\r\nSum: 1\r\n\r\n",
	} {
		head := strings.Index(message, "\r\n\r\n") + 4
		for n := head; n < len(message); n++ {
			for name, r := range inPieces(message[:n]) {
				var req Request
				if err := req.Header.Read(r); err != nil {
					t.Fatal(err)
				}
				if err := req.ContinueReadBodyStream(r, 0); err != nil {
					t.Fatal(err)
				}
				body, err := io.ReadAll(req.BodyStream())
				if err != io.ErrUnexpectedEOF {
					t.Errorf("%q %s: %v", message[:n], name, err)
				}
				if !strings.HasPrefix("hello world!", string(body)) {
					t.Errorf("%q %s: %q", message[:n], name, body)
				}
			}
		}
	}
	var req Request
	r := readerOf(postChunked + "2\r\nab\r\nxyz\r\n")
	if err := req.Header.Read(r); err != nil {
		t.Fatal(err)
	}
	if err := req.ContinueReadBodyStream(r, 0); err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(req.BodyStream())
	if _, ok := errors.AsType[ErrBrokenChunk](err); !ok || string(body) != "ab" {
		t.Errorf("%q, %v", body, err)
	}
	if _, again := req.BodyStream().Read(make([]byte, 10)); again != err {
		t.Errorf("the error was %v and becomes %v", err, again)
	}
}

// A body that cannot be read to its end is not forwarded as a complete one (known failure 42).
func TestRequestWithABrokenStreamIsNotWritten(t *testing.T) {
	r := readerOf(postChunked + "5\r\nhello\r\n")
	var req Request
	if err := req.Header.Read(r); err != nil {
		t.Fatal(err)
	}
	if err := req.ContinueReadBodyStream(r, 0); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if body := req.Body(); body != nil {
			t.Errorf("body %q", body)
		}
	}
	var out strings.Builder
	_, err := req.WriteTo(&out)
	checkError(t, "after Body", err, io.ErrUnexpectedEOF)
	if out.Len() > 0 {
		t.Errorf("%q was written", out.String())
	}
	req.SetBodyString("new")
	if got := req.String(); !strings.HasSuffix(got, "Content-Length: 3\r\n\r\nnew") {
		t.Errorf("%q with a new body", got)
	}
}

func TestRequestReadBodyLeavesTrailersToReadTrailer(t *testing.T) {
	for name, r := range inPieces(postChunked + "2\r\nab\r\n0\r\nSum: 1\r\n\r\nrest") {
		var req Request
		if err := req.Header.Read(r); err != nil {
			t.Fatal(err)
		}
		if err := req.ReadBody(r, req.Header.ContentLength(), 10); err != nil || string(req.Body()) != "ab" {
			t.Errorf("%s: %v, %q", name, err, req.Body())
		}
		if req.Header.PeekTrailer("Sum") != nil {
			t.Errorf("%s: the trailer was read", name)
		}
		if err := req.Header.ReadTrailer(r); err != nil || string(req.Header.PeekTrailer("Sum")) != "1" || req.Header.Peek("Sum") != nil {
			t.Errorf("%s: %v, %q", name, err, req.Header.PeekTrailer("Sum"))
		}
		if rest, _ := io.ReadAll(r); string(rest) != "rest" {
			t.Errorf("%s: %q is left", name, rest)
		}
	}
}

func TestRequestReadBodyOfAGivenLength(t *testing.T) {
	for length, want := range map[int]string{0: "", 3: "abc", 6: "abcdef", -2: ""} {
		var req Request
		r := readerOf("abcdef")
		if err := req.ReadBody(r, length, 6); err != nil || string(req.Body()) != want {
			t.Errorf("%d: %v, %q", length, err, req.Body())
		}
		if rest, _ := io.ReadAll(r); string(rest) != "abcdef"[len(want):] {
			t.Errorf("%d: %q is left", length, rest)
		}
	}
	var req Request
	checkError(t, "over the limit", req.ReadBody(readerOf("abcdef"), 6, 5), ErrBodyTooLarge)
	checkError(t, "too short", req.ReadBody(readerOf("abc"), 6, 0), io.ErrUnexpectedEOF)
}

func TestRequestReadOneAfterTheOther(t *testing.T) {
	messages := []string{
		postHead + "Content-Length: 5\r\nCookie: a=b\r\n\r\nhello", "GET /2 HTTP/1.1\r\nHost: h2\r\n\r\n", postChunked + "3\r\nabc\r\n0\r\nSum: 1\r\n\r\n", "GET /4 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
	}
	for name, r := range inPieces(strings.Join(messages, "")) {
		var req Request
		for i, want := range []string{"POST /p h hello", "GET /2 h2 ", "POST /p h abc", "GET /4  "} {
			if err := req.Read(r); err != nil {
				t.Errorf("%s %d: %v", name, i, err)
				break
			}
			if got := fmt.Sprintf("%s %s %s %s", req.Header.Method(), req.RequestURI(), req.Header.Host(), req.Body()); got != want {
				t.Errorf("%s %d: %q, want %q", name, i, got, want)
			}
			if i > 0 && req.Header.Cookie("a") != nil || i != 2 && req.Header.PeekTrailer("Sum") != nil {
				t.Errorf("%s %d: something is left of the request before: %q", name, i, req.Header.String())
			}
		}
		if err := req.Read(r); err != io.EOF {
			t.Errorf("%s: at the end %v", name, err)
		}
	}
}

// The question mark of an empty query is a part of a received target (RFC 3986 section
// 6.2.3), also in a request passed on after its URI was used.
func TestReceivedEmptyQueriesAreKept(t *testing.T) {
	var req Request
	if err := req.Read(bufio.NewReader(strings.NewReader("GET /a? HTTP/1.1\r\nHost: h\r\n\r\n"))); err != nil {
		t.Fatal(err)
	}
	u := req.URI()
	for _, step := range []struct {
		change func()
		want   string
	}{
		{func() {}, "/a?"},
		{func() { u.SetPath("/b") }, "/b?"},
		{func() { u.SetQueryString("") }, "/b"},
		{func() { u.SetQueryString("c") }, "/b?c"},
	} {
		step.change()
		if got := string(req.RequestURI()); got != step.want || string(u.FullURI()) != "http://h"+step.want {
			t.Errorf("got %s and %s, want %s", got, u.FullURI(), step.want)
		}
	}
}
