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
	okHead    = "HTTP/1.1 200 OK\r\n"
	okChunked = okHead + "Transfer-Encoding: chunked\r\n\r\n"
)

func TestResponseReadTakesTheMessageAndNoMore(t *testing.T) {
	long := strings.Repeat("0123456789abcdef", 5000)
	for _, tc := range []struct {
		message, body string
		length        int
	}{
		{okHead + "Content-Length: 0\r\n\r\n", "", 0},
		{okHead + "Content-Length: 5\r\n\r\nhello", "hello", 5},
		{okHead + fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(long), long), long, len(long)},
		{okChunked + "0\r\n\r\n", "", -1},
		{okChunked + "5\r\nhello\r\n6;x=y\r\n world\r\n0;z\r\n\r\n", "hello world", -1},
		{okChunked + fmt.Sprintf("%X\r\n%s\r\n1\r\n!\r\n000\r\n\r\n", len(long), long), long + "!", -1},
		{okChunked + "2\r\nab\r\n0\r\nSum: 1\r\n\r\n", "ab", -1},
		{okHead + "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n2\r\nab\r\n0\r\n\r\n", "ab", -1},
		// as net/http does: equal lengths, and spaces after a chunk size
		{okHead + "Content-Length: 2\r\nX: y\r\nContent-Length: 2\r\n\r\nok", "ok", 2},
		{okChunked + "5 \r\nhello\r\n6\t ;x=y \r\n world\r\n0  \r\n\r\n", "hello world", -1},
		{"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno", "no", 2},
		{"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", "ok", 2},
		// no content, whatever the fields declare (known failure 36)
		{"HTTP/1.1 204 No Content\r\n\r\n", "", -2},
		{"HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n", "", 5},
		{"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", "", 5},
		{"HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n\r\n", "", 0},
		{"HTTP/1.1 101 Switching Protocols\r\nContent-Length: 5\r\nConnection: Upgrade\r\n\r\n", "", 5},
		// informational responses are skipped (known failure 39)
		{"HTTP/1.1 100 Continue\r\n\r\n" + okHead + "Content-Length: 5\r\n\r\nhello", "hello", 5},
		{"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 100 Continue\r\nContent-Length: 9\r\n\r\nHTTP/1.1 199 X\r\n\r\n" + okHead + "Content-Length: 2\r\n\r\nok", "ok", 2},
	} {
		for name, r := range inPieces(tc.message + "HTTP/1.1 next") {
			var resp Response
			if err := resp.Read(r); err != nil {
				t.Errorf("%s %s: %v", clipped(tc.message), name, err)
				continue
			}
			if got := string(resp.Body()); got != tc.body {
				t.Errorf("%s %s: body %s", clipped(tc.message), name, clipped(got))
			}
			if got := resp.Header.ContentLength(); got != tc.length {
				t.Errorf("%s %s: length %d, want %d", clipped(tc.message), name, got, tc.length)
			}
			if resp.Header.Peek("Link") != nil {
				t.Errorf("%s %s: a field of an informational response is left", clipped(tc.message), name)
			}
			if rest, _ := io.ReadAll(r); string(rest) != "HTTP/1.1 next" {
				t.Errorf("%s %s: %s is left", clipped(tc.message), name, clipped(string(rest)))
			}
		}
	}
}

func TestResponseReadUntilTheConnectionEnds(t *testing.T) {
	long := strings.Repeat("0123456789abcdef", 5000)
	for _, head := range []string{okHead + "\r\n", "HTTP/1.0 200 OK\r\n\r\n", okHead + "Connection: keep-alive\r\n\r\n", okHead + "Transfer-Encoding: identity\r\n\r\n"} {
		for _, body := range []string{"", "hello", long} {
			for name, r := range inPieces(head + body) {
				var resp Response
				if err := resp.Read(r); err != nil || string(resp.Body()) != body || !resp.ConnectionClose() {
					t.Errorf("%q %s: %v, %s, close %v", head, name, err, clipped(string(resp.Body())), resp.ConnectionClose())
				}
				if got := resp.Header.ContentLength(); got != len(body) {
					t.Errorf("%q %s: length %d", head, name, got)
				}
			}
		}
		boom := errors.New("boom")
		var resp Response
		checkError(t, head, resp.Read(bufio.NewReader(io.MultiReader(strings.NewReader(head+"part"), iotest.ErrReader(boom)))), boom)
		checkError(t, head, resp.ReadLimitBody(readerOf(head+"hello"), 4), ErrBodyTooLarge)
		if err := resp.ReadLimitBody(readerOf(head+"hello"), 5); err != nil {
			t.Errorf("%q: %v", head, err)
		}
	}
}

// Known failure 30.
func TestResponseReadOfATruncatedMessage(t *testing.T) {
	for _, message := range []string{
		okHead + "Content-Length: 12\r\n\r\nhello world!",
		okChunked + "5\r\nhello\r\n6;x=\"y\"\r\n world\r\n0\r\nSum: 1\r\n\r\n",
		okChunked + "0\r\n\r\n",
		"HTTP/1.1 100 Continue\r\nFoo: bar\r\n\r\n" + okHead + "Content-Length: 1\r\n\r\nx",
	} {
		for n := 1; n < len(message); n++ {
			for name, r := range inPieces(message[:n]) {
				var resp Response
				err := resp.Read(r)
				if !errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
					t.Errorf("%q %s: %v", message[:n], name, err)
				}
			}
		}
	}
	var resp Response
	if err := resp.Read(readerOf("")); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
}

func TestResponseReadLimitBody(t *testing.T) {
	for _, message := range []string{
		okHead + "Content-Length: 11\r\n\r\nhello world",
		okHead + "Content-Length: 11\r\n\r\n",
		okHead + "Content-Length: 9223372036854775807\r\n\r\n",
		okChunked + "b\r\nhello world\r\n0\r\n\r\n",
		okChunked + "5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n",
		okChunked + strings.Repeat("1\r\nx\r\n", 11),
		okHead + "\r\nhello world",
	} {
		for name, r := range inPieces(message) {
			var resp Response
			checkError(t, message+" "+name, resp.ReadLimitBody(r, 10), ErrBodyTooLarge)
		}
		if !strings.HasSuffix(message, "\r\n\r\n") || strings.HasSuffix(message, "0\r\n\r\n") {
			for _, limit := range []int{11, 0, -1} {
				var resp Response
				if err := resp.ReadLimitBody(readerOf(message), limit); limit == 11 && strings.Contains(message, "hello") && (err != nil || string(resp.Body()) != "hello world") {
					t.Errorf("%q with a limit of %d: %v, %q", message, limit, err, resp.Body())
				}
			}
		}
	}
}

func TestResponseReadSkipsTheBodyWhereToldSo(t *testing.T) {
	for _, fields := range []string{"Content-Length: 5\r\n", "Transfer-Encoding: chunked\r\n", "", "Content-Length: 0\r\n"} {
		r := readerOf(okHead + fields + "\r\nnext")
		var resp Response
		resp.SkipBody = true
		if err := resp.Read(r); err != nil || len(resp.Body()) > 0 {
			t.Errorf("%q: %v, %q", fields, err, resp.Body())
		}
		if rest, _ := io.ReadAll(r); string(rest) != "next" {
			t.Errorf("%q: %q is left", fields, rest)
		}
	}
}

func TestResponseReadBodyLeavesTrailersToReadTrailer(t *testing.T) {
	for name, r := range inPieces(okChunked + "2\r\nab\r\n0\r\nSum: 1\r\n\r\nrest") {
		var resp Response
		if err := resp.Header.Read(r); err != nil {
			t.Fatal(err)
		}
		if err := resp.ReadBody(r, 10); err != nil || string(resp.Body()) != "ab" || resp.Header.PeekTrailer("Sum") != nil {
			t.Errorf("%s: %v, %q, %q", name, err, resp.Body(), resp.Header.PeekTrailer("Sum"))
		}
		if err := resp.Header.ReadTrailer(r); err != nil || string(resp.Header.PeekTrailer("Sum")) != "1" || resp.Header.Peek("Sum") != nil {
			t.Errorf("%s: %v, %q", name, err, resp.Header.PeekTrailer("Sum"))
		}
		if rest, _ := io.ReadAll(r); string(rest) != "rest" {
			t.Errorf("%s: %q is left", name, rest)
		}
	}
}

// After a program has set its length, a header tells ReadBody how long the body is.
func TestResponseReadBodyByALengthThatWasSet(t *testing.T) {
	for length, text := range map[int]string{5: "hello", -1: "5\r\nhello\r\n0\r\n", -2: "hello", 0: ""} {
		var resp Response
		resp.Header.SetContentLength(length)
		if err := resp.ReadBody(readerOf(text), 0); err != nil || string(resp.Body()) != strings.Repeat("hello", min(length*length, 1)) {
			t.Errorf("%d: %v, %q", length, err, resp.Body())
		}
	}
}

func TestResponseStreamBody(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	for _, tc := range []struct{ message, body, rest string }{
		{okHead + "Content-Length: 5\r\n\r\nhello", "hello", "rest"},
		{okHead + "Content-Length: 0\r\n\r\n", "", "rest"},
		{okHead + fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(long), long), long, "rest"},
		{okChunked + fmt.Sprintf("%x\r\n%s\r\n2\r\nab\r\n0\r\nSum: 1\r\n\r\n", len(long), long), long + "ab", "rest"},
		{okChunked + "0\r\n\r\n", "", "rest"},
		{okHead + "\r\n" + long, long + "rest", ""},
		{"HTTP/1.1 100 Continue\r\n\r\n" + okHead + "Content-Length: 5\r\n\r\nhello", "hello", "rest"},
	} {
		for name, r := range inPieces(tc.message + "rest") {
			var resp Response
			resp.StreamBody = true
			if err := resp.ReadLimitBody(r, 1); err != nil {
				t.Errorf("%s %s: %v", clipped(tc.message), name, err)
				continue
			}
			if !resp.IsBodyStream() {
				t.Errorf("%s %s: the body is no stream", clipped(tc.message), name)
				continue
			}
			if _, ok := resp.BodyStream().(ReadCloserWithError); !ok {
				t.Errorf("%T is no ReadCloserWithError", resp.BodyStream())
			}
			body, err := io.ReadAll(iotest.HalfReader(resp.BodyStream()))
			if err != nil || string(body) != tc.body {
				t.Errorf("%s %s: %v, %s", clipped(tc.message), name, err, clipped(string(body)))
			}
			if strings.Contains(tc.message, "Sum") && string(resp.Header.PeekTrailer("Sum")) != "1" {
				t.Errorf("%s %s: trailer %q", clipped(tc.message), name, resp.Header.PeekTrailer("Sum"))
			}
			if rest, _ := io.ReadAll(r); string(rest) != tc.rest {
				t.Errorf("%s %s: %s is left", clipped(tc.message), name, clipped(string(rest)))
			}
			if err := resp.CloseBodyStream(); err != nil || resp.IsBodyStream() {
				t.Errorf("%s %s: closing: %v", clipped(tc.message), name, err)
			}
		}
	}
	for _, message := range []string{"HTTP/1.1 204 No Content\r\n\r\nrest", "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\nrest"} {
		var resp Response
		resp.StreamBody = true
		if err := resp.Read(readerOf(message)); err != nil || resp.IsBodyStream() {
			t.Errorf("%q: %v, stream %v", message, err, resp.IsBodyStream())
		}
	}
}

func TestResponseStreamBodyEndsEarly(t *testing.T) {
	var resp Response
	resp.StreamBody = true
	r := readerOf(okHead + "Content-Length: 10\r\n\r\n0123456789")
	if err := resp.Read(r); err != nil {
		t.Fatal(err)
	}
	stream := resp.BodyStream()
	if n, err := io.ReadFull(stream, make([]byte, 4)); n != 4 || err != nil {
		t.Fatalf("%d, %v", n, err)
	}
	if n, err := stream.Read(nil); n != 0 || err != nil {
		t.Errorf("reading nothing: %d, %v", n, err)
	}
	if err := resp.CloseBodyStream(); err != nil {
		t.Error(err)
	}
	if n, err := stream.Read(make([]byte, 4)); n != 0 || err == nil || err == io.EOF {
		t.Errorf("after closing: %d, %v", n, err)
	}
	if r.Buffered() != 6 {
		t.Errorf("%d bytes are left on the connection", r.Buffered())
	}
	for _, message := range []string{okHead + "Content-Length: 12\r\n\r\nhello world!", okChunked + "5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n"} {
		for n := strings.Index(message, "\r\n\r\n") + 4; n < len(message); n++ {
			for name, r := range inPieces(message[:n]) {
				resp.Reset()
				resp.StreamBody = true
				if err := resp.Read(r); err != nil {
					t.Fatal(err)
				}
				if _, err := io.ReadAll(resp.BodyStream()); err != io.ErrUnexpectedEOF {
					t.Errorf("%q %s: %v", message[:n], name, err)
				}
			}
		}
	}
}

func TestResponseReadOneAfterTheOther(t *testing.T) {
	messages := okHead + "Set-Cookie: a=b\r\nContent-Length: 5\r\n\r\nhello" + "HTTP/1.1 204 No Content\r\n\r\n" + okChunked + "3\r\nabc\r\n0\r\nSum: 1\r\n\r\n" + "HTTP/1.1 404 Gone Away\r\n\r\nall the rest"
	for name, r := range inPieces(messages) {
		var resp Response
		for i, want := range []string{"200 OK hello", "204 No Content ", "200 OK abc", "404 Gone Away all the rest"} {
			if err := resp.Read(r); err != nil {
				t.Errorf("%s %d: %v", name, i, err)
				break
			}
			if got := fmt.Sprintf("%d %s %s", resp.StatusCode(), resp.Header.StatusMessage(), resp.Body()); got != want {
				t.Errorf("%s %d: %q, want %q", name, i, got, want)
			}
			if i > 0 && resp.Header.PeekCookie("a") != nil || i != 2 && resp.Header.PeekTrailer("Sum") != nil {
				t.Errorf("%s %d: something is left of the response before: %q", name, i, resp.Header.String())
			}
		}
		if err := resp.Read(r); err != io.EOF {
			t.Errorf("%s: at the end %v", name, err)
		}
	}
}

func TestResponseReadBrokenChunks(t *testing.T) {
	for _, body := range []string{
		"\r\n", " 5\r\nhello\r\n0\r\n\r\n", "+5\r\nhello\r\n0\r\n\r\n", "0x5\r\nhello\r\n0\r\n\r\n", "5\nhello\r\n0\r\n\r\n", "5\r\nhello\n0\r\n\r\n",
		"5\r\nhello!\r\n0\r\n\r\n", "5\r\nhello0\r\n\r\n", "5 5\r\nhello\r\n0\r\n\r\n", "ffffffffffffffff\r\n", "5;" + strings.Repeat("a", 5000) + "\r\nhello\r\n0\r\n\r\n",
	} {
		for name, r := range inPieces(okChunked + body) {
			var resp Response
			err := resp.Read(r)
			if _, ok := errors.AsType[ErrBrokenChunk](err); !ok {
				t.Errorf("%s %s: %v", clipped(body), name, err)
			}
		}
	}
}

// A chunked body may be read into the buffer of the previous body.
func TestReadingIntoAUsedResponseLeavesNothingOfIt(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\nContent-Type: a/b\r\n"
	long := head + "Transfer-Encoding: chunked\r\n\r\n10000\r\n" + strings.Repeat("x", 0x10000) + "\r\n0\r\n\r\n"
	for text, want := range map[string]string{
		head + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n": "abc",
		head + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n":             "",
		head + "Connection: close\r\n\r\nabc":                            "abc",
		head + "Content-Length: 3\r\n\r\nabc":                            "abc",
		head + "Content-Length: 0\r\n\r\n":                               "",
		"HTTP/1.1 204 No Content\r\n\r\n":                                "",
		"HTTP/1.1 broken":                                                "",
		"":                                                               "",
	} {
		var resp Response
		for range 2 {
			if err := resp.ReadLimitBody(bufio.NewReader(strings.NewReader(long)), 1<<20); err != nil || len(resp.Body()) != 0x10000 {
				t.Fatal(err, len(resp.Body()))
			}
			_ = resp.Read(bufio.NewReader(strings.NewReader(text)))
			if got := string(resp.Body()); got != want || resp.body.Limit != 0 {
				t.Errorf("%q: %q, limit %d", text, got, resp.body.Limit)
			}
		}
	}
}
