package fasthttp

import (
	"bufio"
	"io"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/valyala/fasthttp/internal/servertest"
)

const typicalRequestHead = "GET /path/to/resource?query=value HTTP/1.1\r\nHost: www.example.com\r\nUser-Agent: Mozilla/5.0 (X11; Linux x86_64)\r\n" +
	"Accept: text/html,application/xhtml+xml\r\nAccept-Encoding: gzip, deflate, br\r\nAccept-Language: en\r\nReferer: https://www.example.com/\r\n" +
	"Cookie: session=0123456789abcdef; theme=dark; lang=en\r\nX-Request-Id: 42\r\nx-custom-header: custom\r\nConnection: keep-alive\r\n\r\n"

const typicalResponseHead = "HTTP/1.1 200 OK\r\nServer: example\r\nDate: Mon, 02 Jan 2006 15:04:05 GMT\r\nContent-Type: application/json\r\n" +
	"Content-Length: 1234\r\nContent-Encoding: gzip\r\nVary: Accept-Encoding\r\nSet-Cookie: a=b; Path=/\r\nSet-Cookie: c=d\r\nCache-Control: no-cache\r\nx-custom-header: custom\r\n\r\n"

// checkAllocs fails the test if f allocates memory after a first call.
func checkAllocs(t *testing.T, what string, f func()) {
	t.Helper()
	f()
	if n := testing.AllocsPerRun(100, f); n != 0 && !servertest.RaceDetector {
		t.Errorf("%s: %v allocations", what, n)
	}
}

func TestHeadersAreReadAndWrittenWithoutAllocating(t *testing.T) {
	in := strings.NewReader("")
	small, large := bufio.NewReaderSize(in, 64), bufio.NewReaderSize(in, 4096)
	out := bufio.NewWriter(io.Discard)
	var dst []byte
	headers := map[string]anyHeader{typicalRequestHead: new(RequestHeader), typicalResponseHead: new(ResponseHeader)}
	for head, h := range headers {
		for name, r := range map[string]*bufio.Reader{"through a small buffer": small, "through a large buffer": large} {
			checkAllocs(t, "reading "+name, func() {
				in.Reset(head)
				r.Reset(in)
				if err := h.Read(r); err != nil {
					t.Fatal(err)
				}
			})
		}
		checkAllocs(t, "appending", func() { dst = h.AppendBytes(dst[:0]) })
		checkAllocs(t, "Header", func() { dst = h.Header() })
		checkAllocs(t, "Write", func() { _ = h.Write(out) })
		checkAllocs(t, "WriteTo", func() { _, _ = h.WriteTo(io.Discard) })
	}
}

func TestHeadersAreUsedWithoutAllocating(t *testing.T) {
	key, value := []byte("X-Key"), []byte("value")
	var sum int
	for head, h := range map[string]anyHeader{typicalRequestHead: new(RequestHeader), typicalResponseHead: new(ResponseHeader)} {
		if err := h.Read(readerOf(head)); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"Host", "Server", "content-type", "Content-Length", "Accept", "x-custom-header", "Cookie", "Set-Cookie", "Connection", "none", "Transfer-Encoding"} {
			checkAllocs(t, "Peek "+name, func() { sum += len(h.Peek(name)) })
			checkAllocs(t, "PeekAll "+name, func() { sum += len(h.PeekAll(name)) })
		}
		checkAllocs(t, "PeekBytes", func() { sum += len(h.PeekBytes(key)) })
		checkAllocs(t, "PeekCanonical", func() { sum += len(h.PeekCanonical(key)) })
		checkAllocs(t, "PeekKeys", func() { sum += len(h.PeekKeys()) })
		checkAllocs(t, "Len", func() { sum += h.Len() })
		checkAllocs(t, "Set again", func() { h.Set("x-set-again", "another value") })
		checkAllocs(t, "SetBytesKV again", func() { h.SetBytesKV(key, value) })
		checkAllocs(t, "SetCanonical again", func() { h.SetCanonical(key, value) })
		checkAllocs(t, "Content-Type again", func() { h.SetContentType("text/html") })
		checkAllocs(t, "Content-Length again", func() { h.SetContentLength(12345) })
		checkAllocs(t, "chunked and back", func() { h.SetContentLength(-1); h.SetContentLength(7) })
		checkAllocs(t, "close and back", func() { h.SetConnectionClose(); h.ResetConnectionClose() })
	}
	_ = sum
}

func TestHeadersAreFilledWithoutAllocatingAfterReset(t *testing.T) {
	var req RequestHeader
	dst := make([]byte, 0, 4096)
	checkAllocs(t, "request", func() {
		req.Reset()
		req.SetMethod("POST")
		req.SetRequestURI("/path")
		req.SetHost("example.com")
		req.SetUserAgent("agent")
		req.SetContentType("application/json")
		req.SetContentLength(100)
		req.Set("Accept", "*/*")
		req.Add("X-Custom", "1")
		req.Add("X-Custom", "2")
		req.SetCookie("a", "1")
		req.SetCookie("b", "2")
		req.SetCookie("a", "3")
		req.DelCookie("b")
		req.Del("Accept")
		_ = req.Cookie("a")
		dst = req.AppendBytes(dst[:0])
	})
	var resp ResponseHeader
	var cookie Cookie
	checkAllocs(t, "response", func() {
		resp.Reset()
		resp.SetStatusCode(404)
		resp.SetServer("server")
		resp.SetContentType("text/html")
		resp.SetContentEncoding("gzip")
		resp.SetContentLength(100)
		resp.SetContentRange(0, 10, 100)
		resp.Set("Location", "/elsewhere")
		resp.Add("Vary", "Accept")
		resp.Add("Vary", "Cookie")
		cookie.Reset()
		cookie.SetKey("key")
		cookie.SetValue("value")
		resp.SetCookie(&cookie)
		resp.DelClientCookie("other")
		resp.Del("Vary")
		dst = resp.AppendBytes(dst[:0])
	})
}

func TestHeaderLoopsDoNotAllocate(t *testing.T) {
	h := readRequestHeader(t, typicalRequestHead)
	var sum int
	checkAllocs(t, "All", func() {
		for name, value := range h.All() {
			sum += len(name) + len(value)
		}
	})
	checkAllocs(t, "Cookies", func() {
		for name, value := range h.Cookies() {
			sum += len(name) + len(value)
		}
	})
	checkAllocs(t, "CopyTo", func() func() {
		var dst RequestHeader
		return func() { h.CopyTo(&dst) }
	}())
	_ = sum
}

func TestHeaderFrequentQuestionsDoNotAllocate(t *testing.T) {
	h := readRequestHeader(t, typicalRequestHead)
	var yes int
	checkAllocs(t, "questions", func() {
		if h.HasAcceptEncoding("gzip") && h.IsGet() && !h.ConnectionClose() && !h.ConnectionUpgrade() && h.IsHTTP11() {
			yes++
		}
		yes += len(h.Host()) + len(h.UserAgent()) + len(h.Referer()) + len(h.ContentType()) + len(h.Method()) + len(h.RequestURI()) + h.ContentLength()
		h.SetByteRange(1, 2)
	})
	if yes == 0 {
		t.Error("nothing was asked")
	}
}

func TestARequestHeadIsNotLongerThanItsWrittenSize(t *testing.T) {
	var h RequestHeader
	check := func() {
		t.Helper()
		if n := len(h.AppendBytes(nil)); n > h.head.WrittenSize() {
			t.Errorf("%d bytes, at most %d were expected", n, h.head.WrittenSize())
		}
	}
	check()
	h.SetContentLength(math.MaxInt)
	h.SetConnectionClose()
	check()
	for i := range 300 {
		h.Add(string(rune('a'+i%26)), "")
		h.SetCookie("c"+strconv.Itoa(i), "")
		_ = h.AddTrailer("t" + strconv.Itoa(i))
		check()
	}
	h.SetHost("h")
	h.SetUserAgent("u")
	h.SetMultipartFormBoundary("b")
	h.DisableSpecialHeader()
	check()
}

// The memory of a request that a client reuses many times does not grow, and a change of one
// field changes no other text.
func TestTextsOfVariousLengthsNeedNoNewMemory(t *testing.T) {
	const size = 60
	target := "/" + strings.Repeat("x", size)
	text := target[1:]
	var h RequestHeader
	h.SetReferer("https://a.test/")
	next := 0
	set := func() {
		for range 100 {
			next++
			at := func(factor int) string { return text[:next*factor%size] }
			h.SetRequestURI(target[:1+next*7%size])
			h.SetHost(at(11))
			h.SetUserAgent(at(13))
			h.SetContentType(at(17))
			h.Set("X-Request-Id", at(19))
			h.Set("X-Other", at(23))
		}
	}
	for range 3 {
		set()
	}
	before := len(h.head.List.Block)
	checkAllocs(t, "fields that are set again", set)
	if after := len(h.head.List.Block); after != before {
		t.Errorf("the text has grown from %d to %d bytes", before, after)
	}
	want := "GET /" + text[:next*7%size] + " HTTP/1.1\r\n"
	for _, line := range []struct {
		name  string
		value int
	}{{"Host", 11}, {"User-Agent", 13}, {"Content-Type", 17}} {
		if n := next * line.value % size; n > 0 {
			want += line.name + ": " + text[:n] + "\r\n"
		}
	}
	want += "Referer: https://a.test/\r\nX-Request-Id: " + text[:next*19%size] + "\r\nX-Other: " + text[:next*23%size] + "\r\n\r\n"
	if got := h.String(); got != want {
		t.Errorf("sent is %q, want %q", got, want)
	}
}
