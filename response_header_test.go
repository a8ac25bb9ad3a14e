package fasthttp

import (
	"bufio"
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp/internal/header"
	"github.com/valyala/fasthttp/internal/servertest"
)

func readResponseHeader(t testing.TB, text string) *ResponseHeader {
	t.Helper()
	h := new(ResponseHeader)
	if err := h.Read(readerOf(text)); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return h
}

// statusLine returns the first line that h writes.
func statusLine(h *ResponseHeader) string {
	line, _, _ := strings.Cut(h.String(), "\r\n")
	return line
}

func TestResponseHeaderZeroValueIsOK(t *testing.T) {
	var h ResponseHeader
	if h.StatusCode() != 200 || statusLine(&h) != "HTTP/1.1 200 OK" || !h.IsHTTP11() || h.StatusMessage() != nil {
		t.Errorf("%q, message %q", h.String(), h.StatusMessage())
	}
	if got := string(h.ContentType()); got != "text/plain; charset=utf-8" {
		t.Errorf("default type %q", got)
	}
	if h.Server() != nil || h.ContentEncoding() != nil {
		t.Errorf("server %q, coding %q", h.Server(), h.ContentEncoding())
	}
	if got := written(&h); got != "" {
		t.Errorf("fields %s", got)
	}
}

func TestResponseHeaderStatusLines(t *testing.T) {
	for code := range 1100 {
		var h ResponseHeader
		h.SetStatusCode(code)
		want := fmt.Sprintf("HTTP/1.1 %d %s", code, StatusMessage(code))
		if code == 0 {
			want = "HTTP/1.1 200 OK"
		}
		if got := statusLine(&h); got != want {
			t.Errorf("%d: %q, want %q", code, got, want)
		}
	}
	var h ResponseHeader
	h.SetStatusCode(404)
	h.SetStatusMessage([]byte("Gone Fishing"))
	h.SetProtocol([]byte("HTTP/1.0"))
	if got := statusLine(&h); got != "HTTP/1.0 404 Gone Fishing" {
		t.Errorf("%q", got)
	}
	if string(h.StatusMessage()) != "Gone Fishing" || string(h.Protocol()) != "HTTP/1.0" || h.IsHTTP11() {
		t.Errorf("%q %q", h.StatusMessage(), h.Protocol())
	}
	h.SetStatusMessage(nil)
	if got := statusLine(&h); got != "HTTP/1.0 404 Not Found" {
		t.Errorf("%q", got)
	}
}

func TestResponseHeaderDefaultContentType(t *testing.T) {
	const plain = "Content-Type: text/plain; charset=utf-8"
	for _, tc := range []struct {
		status, length int
		want           string
	}{
		{200, 0, "Content-Length: 0"},
		{200, 5, plain + "|Content-Length: 5"},
		{200, -1, plain + "|Transfer-Encoding: chunked"},
		{200, -2, plain + "|Connection: close"},
		{404, 5, plain + "|Content-Length: 5"},
		{204, 5, ""},
		{304, 5, ""},
		{101, 5, ""},
	} {
		var h ResponseHeader
		h.SetStatusCode(tc.status)
		h.SetContentLength(tc.length)
		if got := written(&h); got != tc.want {
			t.Errorf("%d with length %d: %s, want %s", tc.status, tc.length, got, tc.want)
		}
		h.SetNoDefaultContentType(true)
		if got := written(&h); strings.Contains(got, "Content-Type") {
			t.Errorf("%d with length %d and no default: %s", tc.status, tc.length, got)
		}
		if h.ContentType() != nil || h.Peek("Content-Type") != nil {
			t.Errorf("a default that is switched off is %q, %q", h.ContentType(), h.Peek("Content-Type"))
		}
		h.SetContentType("a/b")
		if got := written(&h); !strings.HasPrefix(got, "Content-Type: a/b") {
			t.Errorf("%d with length %d and a type: %s", tc.status, tc.length, got)
		}
	}
	var h ResponseHeader
	for _, got := range []string{string(h.Peek("content-type")), texts(h.PeekAll("Content-Type")), strings.TrimPrefix(listed(h.All()), "Content-Type: ")} {
		if got != "text/plain; charset=utf-8" {
			t.Errorf("the default type is known as %q", got)
		}
	}
}

func TestResponseHeaderContentLength(t *testing.T) {
	var h ResponseHeader
	h.SetNoDefaultContentType(true)
	for _, tc := range []struct {
		length int
		want   string
	}{{5, "Content-Length: 5"}, {-1, "Transfer-Encoding: chunked"}, {0, "Content-Length: 0"}, {-2, "Connection: close"}} {
		h.SetContentLength(tc.length)
		if got := written(&h); got != tc.want {
			t.Errorf("%d: %s, want %s", tc.length, got, tc.want)
		}
	}
	if h.ContentLength() != -2 || !h.ConnectionClose() {
		t.Errorf("length %d, close %v", h.ContentLength(), h.ConnectionClose())
	}
}

// A 304 declares the length of the content that a 200 would have (RFC 9110 section
// 8.6). Any other status without content has no length.
func TestResponseHeaderLengthOfResponsesWithoutContent(t *testing.T) {
	for status, want := range map[int]string{304: "Content-Length: 5", 204: "", 199: "", 103: ""} {
		h := readResponseHeader(t, fmt.Sprintf("HTTP/1.1 %d X\r\nContent-Length: 5\r\n\r\n", status))
		if got := written(h); got != want {
			t.Errorf("%d is written with %q, want %q", status, got, want)
		}
	}
}

func TestResponseHeaderSpecialFieldsHaveOneValue(t *testing.T) {
	var h ResponseHeader
	h.SetServer("s1")
	h.Add("server", "s2")
	h.SetContentType("a/b")
	h.Add("content-type", "c/d")
	h.SetContentEncoding("gzip")
	h.Add("CONTENT-encoding", "br")
	h.SetContentLength(3)
	h.Set("content-length", "44")
	var line string
	line, _, _ = strings.Cut(h.String(), "\r\nDate: ")
	if line != "HTTP/1.1 200 OK\r\nServer: s2" {
		t.Errorf("the head begins with %q", line)
	}
	if got, want := written(&h), "Server: s2|Content-Type: c/d|Content-Encoding: br|Content-Length: 44"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if string(h.Server()) != "s2" || string(h.ContentEncoding()) != "br" || h.ContentLength() != 44 {
		t.Errorf("server %q, coding %q, length %d", h.Server(), h.ContentEncoding(), h.ContentLength())
	}
	h.SetServerBytes([]byte("s3"))
	h.SetContentEncodingBytes([]byte("zstd"))
	h.SetContentTypeBytes([]byte("e/f"))
	for name, want := range map[string]string{"Server": "s3", "Content-Encoding": "zstd", "Content-Type": "e/f", "Content-Length": "44"} {
		if got := texts(h.PeekAll(name)); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
		h.Del(name)
	}
	if got := written(&h); got != "" {
		t.Errorf("after Del: %s", got)
	}
}

func TestResponseHeaderDateIsTheServers(t *testing.T) {
	var h ResponseHeader
	h.Set("Date", "yesterday")
	h.Add("date", "yesterday")
	// the goroutine of the clock may be late
	servertest.Eventually(t, "the time", func() bool {
		before := time.Now().Add(-3 * time.Second)
		text := h.String()
		if strings.Contains(text, "yesterday") || strings.Count(text, "Date: ") != 1 {
			t.Fatalf("%q", text)
		}
		_, date, _ := strings.Cut(text, "Date: ")
		date, _, _ = strings.Cut(date, "\r\n")
		at, err := time.Parse(time.RFC1123, date)
		return err == nil && !at.Before(before) && !at.After(time.Now().Add(2*time.Second))
	})
	read := readResponseHeader(t, "HTTP/1.1 200 OK\r\nDate: Mon, 02 Jan 2006 15:04:05 GMT\r\nContent-Length: 0\r\n\r\n")
	if got := string(read.Peek("Date")); got != "Mon, 02 Jan 2006 15:04:05 GMT" {
		t.Errorf("the Date that was received is %q", got)
	}
	if text := read.String(); strings.Count(text, "Date: ") != 1 {
		t.Errorf("%q", text)
	}
}

func TestResponseHeaderContentRange(t *testing.T) {
	var h ResponseHeader
	h.SetContentRange(1, 2, 30)
	h.SetContentRange(0, 499, 1234)
	if got := texts(h.PeekAll("Content-Range")); got != "bytes 0-499/1234" {
		t.Errorf("%q", got)
	}
}

func TestResponseHeaderLastModified(t *testing.T) {
	var h ResponseHeader
	h.SetLastModified(time.Date(2024, 2, 29, 13, 14, 15, 16, time.FixedZone("", 3600)))
	if got := texts(h.PeekAll("Last-Modified")); got != "Thu, 29 Feb 2024 12:14:15 GMT" {
		t.Errorf("%q", got)
	}
}

func TestResponseHeaderAllBeginsWithSpecialFields(t *testing.T) {
	var h ResponseHeader
	h.Set("Foo", "bar")
	h.Set("Set-Cookie", "a=b")
	h.Add("Set-Cookie", "c=d; Path=/")
	h.SetServer("s")
	h.SetContentEncoding("br")
	h.SetContentType("t")
	h.SetContentLength(3)
	_ = h.SetTrailer("Sum")
	h.SetConnectionClose()
	want := "Content-Length: 3|Content-Type: t|Content-Encoding: br|Server: s|Set-Cookie: a=b|Set-Cookie: c=d; Path=/|Trailer: Sum|Foo: bar|Connection: close"
	if got := listed(h.All()); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestResponseHeaderReadKnowsStatusLines(t *testing.T) {
	for text, want := range map[string]string{
		"HTTP/1.1 200 OK":           "200 OK HTTP/1.1 true",
		"HTTP/1.1 299 My Own Words": "299 My Own Words HTTP/1.1 true",
		"HTTP/1.1 200":              "200  HTTP/1.1 true",
		"HTTP/1.1 200 ":             "200  HTTP/1.1 true",
		"HTTP/1.0 404 Not Found":    "404 Not Found HTTP/1.0 false",
		"HTTP/1.1 999 \xe9\t!":      "999 \xe9\t! HTTP/1.1 true",
		"HTTP/1.7 200 OK":           "200 OK HTTP/1.7 true",
	} {
		h := readResponseHeader(t, text+"\r\nContent-Length: 0\r\n\r\n")
		if got := fmt.Sprintf("%d %s %s %v", h.StatusCode(), h.StatusMessage(), h.Protocol(), h.IsHTTP11()); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestResponseHeaderSaysHowTheBodyIsFramed(t *testing.T) {
	for fields, want := range map[string]string{
		"Content-Length: 5\r\n":                               "5 false",
		"Content-Length: 0\r\n":                               "0 false",
		"Content-Length: 5\r\nConnection: close\r\n":          "5 true",
		"Transfer-Encoding: chunked\r\n":                      "-1 false",
		"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n": "-1 true",
		"":                                "-2 true",
		"Connection: keep-alive\r\n":      "-2 true",
		"Transfer-Encoding: identity\r\n": "-2 true",
		"Content-Length: 5\r\nConnection: foo, CLOSE\r\n":            "5 true",
		"Content-Length: 5\r\nConnection: a\r\nConnection:Close\r\n": "5 true",
		"Content-Length: 5\r\nConnection: closed\r\n":                "5 false",
	} {
		h := readResponseHeader(t, "HTTP/1.1 200 OK\r\n"+fields+"\r\n")
		if got := fmt.Sprint(h.ContentLength(), " ", h.ConnectionClose()); got != want {
			t.Errorf("%q: %s, want %s", fields, got, want)
		}
	}
	for fields, want := range map[string]string{
		"Content-Length: 5\r\n":                           "5 true",
		"Content-Length: 5\r\nConnection: Keep-Alive\r\n": "5 false",
		"Connection: keep-alive\r\n":                      "-2 true",
	} {
		h := readResponseHeader(t, "HTTP/1.0 200 OK\r\n"+fields+"\r\n")
		if got := fmt.Sprint(h.ContentLength(), " ", h.ConnectionClose()); got != want {
			t.Errorf("HTTP/1.0, %q: %s, want %s", fields, got, want)
		}
	}
}

// The client accepts sloppy responses as long as they have only one meaning.
func TestResponseHeaderReadTakesSpaces(t *testing.T) {
	for text, want := range map[string]string{
		"HTTP/1.1   200 OK\r\nContent-Length : 2\r\nfoo-bar  : a\r\n\r\n":           `200 "OK" 2 false "a" ""`,
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nfoo bar: a\r\n\r\n":                `200 "OK" 2 true "" "a"`,
		"HTTP/1.1 200 OK\r\nTransfer-Encoding : chunked\r\n\r\n":                    `200 "OK" -1 false "" ""`,
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection : close\r\n\r\n":        `200 "OK" 2 true "" ""`,
		"HTTP/1.1  404  Not\r\nContent-Length:0\r\nFoo-Bar :a\r\nfoo bar:b\r\n\r\n": `404 " Not" 0 true "a" "b"`,
	} {
		h := readResponseHeader(t, text)
		got := fmt.Sprintf("%d %q %d %v %q %q", h.StatusCode(), h.StatusMessage(), h.ContentLength(), h.ConnectionClose(), h.Peek("Foo-Bar"), h.Peek("foo bar"))
		if got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

// If the buffer of the reader is larger than the limit of a head, the buffer is the
// limit.
func TestHeadsMayBeAsLargeAsTheReader(t *testing.T) {
	long := "X: " + strings.Repeat("v", 100<<10) + "\r\n"
	many := strings.Repeat("X-Many: 0123456789012345678901234567890123456789012345678901234567890123456789\r\n", 1000)
	for _, fields := range []string{long, many} {
		for size, want := range map[int]bool{4 << 10: false, 64 << 10: false, 128 << 10: true} {
			var resp ResponseHeader
			if err := resp.Read(bufio.NewReaderSize(strings.NewReader("HTTP/1.1 200 OK\r\n"+fields+"\r\n"), size)); (err == nil) != want {
				t.Errorf("%d bytes of a response through %d: %v", len(fields), size, err)
			}
			var req RequestHeader
			if err := req.Read(bufio.NewReaderSize(strings.NewReader("GET / HTTP/1.1\r\nHost: a\r\n"+fields+"\r\n"), size)); (err == nil) != want {
				t.Errorf("%d bytes of a request through %d: %v", len(fields), size, err)
			}
		}
	}
}

func TestResponseHeaderReadRefuses(t *testing.T) {
	for _, text := range []string{
		"HTTP/1.1 000 X\r\n\r\n", "HTTP/1.1 099 X\r\n\r\n", "HTTP/1.1 99 X\r\n\r\n", "HTTP/1.1 +20 X\r\n\r\n", "HTTP/1.1\t200 OK\r\n\r\n",
		"HTTP/2.0 200 OK\r\n\r\n", "http/1.1 200 OK\r\n\r\n", "ICY 200 OK\r\n\r\n", "200 OK\r\n\r\n", "\r\nHTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 200 a\x00b\r\n\r\n", "HTTP/1.1 200 a\rb\r\n\r\n",
		"HTTP/1.1 200 OK\r\nFoo\t: a\r\n\r\n", "HTTP/1.1 200 OK\r\nFoo\r\n\r\n", "HTTP/1.1 200 OK\r\n: a\r\n\r\n", "HTTP/1.1 200 OK\r\nFoo: a\x00\r\n\r\n", "HTTP/1.1 200 OK\r\nFoo: a\rb\r\n\r\n",
		"HTTP/1.1 200 OK\r\n Foo: a\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, chunked\r\n\r\n",
	} {
		var h ResponseHeader
		h.SetStatusCode(404)
		if err := h.Read(readerOf(text)); err == nil {
			t.Errorf("%q was read: %q", text, h.String())
		}
		if h.StatusCode() != 200 || h.StatusMessage() != nil || written(&h) != "" {
			t.Errorf("%q: the header is not empty: %q", text, h.String())
		}
	}
}

// RFC 9112 section 5.2: a user agent replaces an obs-fold with spaces.
func TestResponseHeaderUnfoldsLines(t *testing.T) {
	h := readResponseHeader(t, "HTTP/1.1 200 OK\r\nFoo: a\r\n b\r\nBar:\r\n c\r\n  d\r\nContent-Length: 0\r\n\r\n")
	if got := strings.Join(strings.Fields(string(h.Peek("Foo"))), " "); got != "a b" {
		t.Errorf("Foo is %q", h.Peek("Foo"))
	}
	if got := strings.Join(strings.Fields(string(h.Peek("Bar"))), " "); got != "c d" {
		t.Errorf("Bar is %q", h.Peek("Bar"))
	}
	if bytes.ContainsAny(append(h.Peek("Foo"), h.Peek("Bar")...), "\r\n") {
		t.Errorf("line breaks in %q, %q", h.Peek("Foo"), h.Peek("Bar"))
	}
	if h.Len() < 3 {
		t.Errorf("%s", listed(h.All()))
	}
}

func TestResponseHeaderNamedErrors(t *testing.T) {
	for text, want := range map[string]error{
		"HTTP/1.1\r\n\r\n":                                                  ErrResponseFirstLineMissingSpace,
		"HTTP/1.1 20x OK\r\n\r\n":                                           ErrNonNumericChars,
		"HTTP/1.1 2000 OK\r\n\r\n":                                          ErrUnexpectedStatusCodeChar,
		"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n":                      ErrNonNumericChars,
		"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n": ErrDuplicateContentLength,
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n":                ErrUnsupportedTransferEncoding,
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n":       ErrUnsupportedTransferEncoding,
	} {
		var h ResponseHeader
		checkError(t, text, h.Read(readerOf(text)), want)
	}
}

// Fields that were set from prepared lines behave as other fields do.
func TestFieldsThatWerePutTogetherOnceAreFieldsLikeOthers(t *testing.T) {
	set := func(h *ResponseHeader) {
		h.SetBytesKV([]byte("Etag"), []byte(`"tag"`))
		h.Set("Vary", "Accept")
		h.Set("X-Empty", "")
		h.Set("Accept-Ranges", "bytes")
	}
	var from ResponseHeader
	set(&from)
	lines := header.LinesOf(&from.head.List)
	for name, change := range map[string]func(h *ResponseHeader){
		"nothing":   func(*ResponseHeader) {},
		"shorter":   func(h *ResponseHeader) { h.Set("Vary", "*") },
		"longer":    func(h *ResponseHeader) { h.Set("vary", "Accept, Accept-Encoding") },
		"emptied":   func(h *ResponseHeader) { h.Set("Vary", "") },
		"filled":    func(h *ResponseHeader) { h.Set("X-Empty", "no") },
		"removed":   func(h *ResponseHeader) { h.Del("Vary") },
		"added":     func(h *ResponseHeader) { h.Add("Vary", "Range"); h.Add("X-More", "x") },
		"weak tag":  func(h *ResponseHeader) { h.weakenTag() },
		"varied":    func(h *ResponseHeader) { h.varyBy(HeaderAcceptEncoding) },
		"trailer":   func(h *ResponseHeader) { _ = h.SetTrailer("X-Empty") },
		"tidied":    func(h *ResponseHeader) { h.head.Compact(); h.Set("Vary", "Accept, Range") },
		"copied":    func(h *ResponseHeader) { c := new(ResponseHeader); h.CopyTo(c); h.Reset(); c.CopyTo(h) },
		"line end":  func(h *ResponseHeader) { h.Set("Vary", "a\r\n") },
		"long line": func(h *ResponseHeader) { h.Set("Vary", strings.Repeat("a", 5000)); h.Set("Vary", "b") },
	} {
		var got, want ResponseHeader
		for range 2 {
			for _, h := range []*ResponseHeader{&got, &want} {
				h.Reset()
				h.head.State |= header.NoDefaultDate
				h.SetContentType("a/b")
			}
			got.head.AppendLines(lines)
			set(&want)
			change(&got)
			change(&want)
			if got.String() != want.String() {
				t.Errorf("%s: %q, want %q", name, got.String(), want.String())
			}
			if string(got.TrailerHeader()) != string(want.TrailerHeader()) {
				t.Errorf("%s: trailers %q, want %q", name, got.TrailerHeader(), want.TrailerHeader())
			}
			if n := got.head.List.Len(); n != want.head.List.Len() {
				t.Errorf("%s: %d fields", name, n)
			}
		}
	}
}

// The writer drops received names that cannot be sent.
func TestReceivedNamesWithSpacesAreNotWritten(t *testing.T) {
	var h ResponseHeader
	text := "HTTP/1.1 200 OK\r\nX Bad: 1\r\nContent-Length foo: 5\r\nX-Good: 2\r\nContent-Length: 0\r\n\r\n"
	if err := h.Read(bufio.NewReader(strings.NewReader(text))); err != nil {
		t.Fatal(err)
	}
	if got := string(h.Peek("X Bad")); got != "1" {
		t.Errorf("the field is %q", got)
	}
	if got := h.String(); strings.Contains(got, "Bad") || strings.Contains(got, "foo") || !strings.Contains(got, "\r\nX-Good: 2\r\n") {
		t.Errorf("it is written as %q", got)
	}
}
