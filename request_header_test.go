package fasthttp

import (
	"io"
	"math"
	"mime"
	"mime/multipart"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func readRequestHeader(t testing.TB, text string) *RequestHeader {
	t.Helper()
	h := new(RequestHeader)
	if err := h.Read(readerOf(text)); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return h
}

func TestAQueryAloneGetsAPath(t *testing.T) {
	for target, want := range map[string]string{"?q": "/?q", "?": "/?", "??": "/??", "": "/", "a": "a", "#f": "#f", "/?q": "/?q"} {
		var h RequestHeader
		h.SetHost("h")
		h.SetRequestURI(target)
		if got := string(h.RequestURI()); got != want {
			t.Errorf("%q: the target is %q, want %q", target, got, want)
		}
		if got := h.String(); got != "GET "+want+" HTTP/1.1\r\nHost: h\r\n\r\n" {
			t.Errorf("%q: %q", target, got)
		}
	}
}

func TestRequestHeaderZeroValueIsAGet(t *testing.T) {
	var h RequestHeader
	if got, want := h.String(), "GET / HTTP/1.1\r\n\r\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if !h.IsGet() || !h.IsHTTP11() || string(h.RequestURI()) != "/" || string(h.Protocol()) != "HTTP/1.1" {
		t.Errorf("%q", h.String())
	}
	if h.Host() != nil || h.UserAgent() != nil || h.ContentType() != nil || h.Referer() != nil || h.ContentLength() != 0 || h.Len() != 0 {
		t.Errorf("an empty header has fields: %s", listed(h.All()))
	}
}

func TestRequestHeaderMethods(t *testing.T) {
	for _, tc := range []struct {
		method string
		is     func(*RequestHeader) bool
	}{
		{MethodGet, (*RequestHeader).IsGet}, {MethodHead, (*RequestHeader).IsHead}, {MethodPost, (*RequestHeader).IsPost},
		{MethodPut, (*RequestHeader).IsPut}, {MethodPatch, (*RequestHeader).IsPatch}, {MethodDelete, (*RequestHeader).IsDelete},
		{MethodConnect, (*RequestHeader).IsConnect}, {MethodOptions, (*RequestHeader).IsOptions}, {MethodTrace, (*RequestHeader).IsTrace},
		{MethodQuery, (*RequestHeader).IsQuery},
	} {
		var h RequestHeader
		h.SetMethod(tc.method)
		if !tc.is(&h) || string(h.Method()) != tc.method {
			t.Errorf("%s is not the method that was set", tc.method)
		}
		h.SetMethodBytes([]byte(strings.ToLower(tc.method)))
		if tc.is(&h) {
			t.Errorf("%s counts as %s", h.Method(), tc.method)
		}
	}
	var h RequestHeader
	h.SetMethod("PUT")
	h.SetMethod("")
	if !h.IsGet() {
		t.Errorf("the empty method is %q", h.Method())
	}
}

// RFC 9112 section 3.2: a server refuses a request with two Host lines.
func TestRequestHeaderHasOneHostLineWithoutSpecialFields(t *testing.T) {
	for _, tc := range []struct {
		name string
		call func(h *RequestHeader)
		want string
	}{
		{"two added", func(h *RequestHeader) { h.Add("Host", "a"); h.Add("X", "1"); h.Add("Host", "b") }, "Host: b|X: 1"},
		{"added after set", func(h *RequestHeader) { h.Set("Host", "a"); h.Add("host", "b") }, "Host: b"},
		{"added as bytes", func(h *RequestHeader) {
			h.AddBytesKV([]byte("Host"), []byte("a"))
			h.AddBytesKV([]byte("HOST"), []byte("b"))
		}, "Host: b"},
		{"names as they are", func(h *RequestHeader) { h.DisableNormalizing(); h.Add("HOST", "a"); h.Add("host", "b") }, "HOST: b"},
		{"set under two names", func(h *RequestHeader) { h.DisableNormalizing(); h.Set("HOST", "a"); h.Set("host", "b") }, "HOST: b"},
		{"canonical", func(h *RequestHeader) { h.Add("Host", "a"); h.SetCanonical([]byte("Host"), []byte("b")) }, "Host: b"},
	} {
		var h RequestHeader
		h.DisableSpecialHeader()
		tc.call(&h)
		if got := written(&h); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
		if host, all := string(h.Host()), texts(h.PeekAll("HOST")); host != "b" || all != "b" && tc.want[:5] != "HOST:" {
			t.Errorf("%s: the host is %q, all are %q", tc.name, host, all)
		}
	}
}

func TestRequestHeaderSpecialFieldsHaveOneValue(t *testing.T) {
	var h RequestHeader
	h.SetHost("a")
	h.Add("Host", "b")
	h.SetUserAgent("ua1")
	h.Add("user-agent", "ua2")
	h.SetMethod("POST")
	h.SetContentType("a/b")
	h.Add("CONTENT-TYPE", "c/d")
	h.Set("Content-Length", "1")
	h.Add("Content-Length", "22")
	if got, want := written(&h), "Host: b|User-Agent: ua2|Content-Type: c/d|Content-Length: 22"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	for name, want := range map[string]string{"host": "b", "User-Agent": "ua2", "content-type": "c/d", "content-LENGTH": "22"} {
		if got := string(h.Peek(name)); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
		if got := texts(h.PeekAll(name)); got != want {
			t.Errorf("all %s are %q, want %q", name, got, want)
		}
		h.Del(name)
		if got := h.Peek(name); len(got) > 0 {
			t.Errorf("%s is %q after Del", name, got)
		}
	}
	if h.Len() != 0 || h.ContentLength() != 0 {
		t.Errorf("%s after Del, length %d", listed(h.All()), h.ContentLength())
	}
	h.SetHostBytes([]byte("c"))
	h.SetUserAgentBytes([]byte("ua3"))
	h.SetRefererBytes([]byte("/r"))
	h.SetContentEncodingBytes([]byte("br"))
	h.SetContentTypeBytes([]byte("e/f"))
	if got, want := written(&h), "Host: c|User-Agent: ua3|Content-Type: e/f|Referer: /r|Content-Encoding: br"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if string(h.Referer()) != "/r" || string(h.ContentEncoding()) != "br" {
		t.Errorf("referer %q, coding %q", h.Referer(), h.ContentEncoding())
	}
}

func TestRequestHeaderAllBeginsWithSpecialFields(t *testing.T) {
	var h RequestHeader
	h.Set("Foo", "bar")
	h.SetCookie("a", "b")
	h.SetUserAgent("ua")
	h.SetContentType("t")
	h.SetContentLength(3)
	h.SetHost("h")
	_ = h.SetTrailer("Sum")
	h.SetConnectionClose()
	want := "Host: h|Content-Length: 3|Content-Type: t|User-Agent: ua|Trailer: Sum|Cookie: a=b|Foo: bar|Connection: close"
	if got := listed(h.All()); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestRequestHeaderAllInOrderIsWhatCame(t *testing.T) {
	h := readRequestHeader(t, "POST / HTTP/1.1\r\nfoo: 1\r\nHost: h\r\nContent-Length: 3\r\nUser-Agent: u\r\nFoo:  2 \r\ncookie: a=b\r\nConnection: close\r\n\r\n")
	want := "Foo: 1|Host: h|Content-Length: 3|User-Agent: u|Foo: 2|Cookie: a=b|Connection: close"
	if got := listed(h.AllInOrder()); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	var visited []string
	h.VisitAllInOrder(func(name, value []byte) { visited = append(visited, string(name)+": "+string(value)) })
	if got := strings.Join(visited, "|"); got != want {
		t.Errorf("VisitAllInOrder: %s, want %s", got, want)
	}
	h.Set("Foo", "changed")
	h.Del("User-Agent")
	h.SetHost("other host")
	if got := listed(h.AllInOrder()); got != want {
		t.Errorf("after changes %s, want %s", got, want)
	}
	for range h.AllInOrder() {
		break
	}
	h.Reset()
	if got := listed(h.AllInOrder()); got != "" {
		t.Errorf("after Reset %s", got)
	}
	h.Set("Foo", "bar")
	if got := listed(h.AllInOrder()); got != "" {
		t.Errorf("a header that was not read came as %s", got)
	}
}

func TestRequestHeaderRawHeadersAreTheLinesThatCame(t *testing.T) {
	for text, want := range map[string]string{
		"GET / HTTP/1.1\r\nHost: h\r\nfoo-bar:  x \r\n\r\n":               "Host: h\r\nFoo-Bar:  x \r\n\r\n",
		"\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n":                       "Host: h\r\n\r\n",
		"GET / HTTP/1.0\r\n\r\n":                                          "",
		"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nab":       "Host: h\r\nContent-Length: 2\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: h\r\nCookie: a=b\r\nCookie: c=d\r\n\r\n": "Host: h\r\nCookie: a=b\r\nCookie: c=d\r\n\r\n",
	} {
		h := readRequestHeader(t, text)
		if got := string(h.RawHeaders()); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
		_ = h.Cookie("a")
		h.Set("Foo-Bar", "y")
		h.SetHost("changed")
		for i := range 1000 {
			h.Set("Grows", strings.Repeat("g", i))
		}
		if got := string(h.RawHeaders()); got != want {
			t.Errorf("%q: %q after changes, want %q", text, got, want)
		}
	}
	h := new(RequestHeader)
	h.DisableNormalizing()
	if err := h.Read(readerOf("GET / HTTP/1.1\r\nhost: h\r\nfOO: x\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	if got := string(h.RawHeaders()); got != "host: h\r\nfOO: x\r\n\r\n" {
		t.Errorf("with names kept: %q", got)
	}
	h.Reset()
	h.Set("Foo", "bar")
	if got := h.RawHeaders(); len(got) > 0 {
		t.Errorf("a header that was not read came as %q", got)
	}
}

func TestRequestHeaderContentLengthSaysHowItIsFramed(t *testing.T) {
	var h RequestHeader
	h.SetMethod("POST")
	for _, tc := range []struct {
		length int
		want   string
	}{
		{5, "Content-Type: application/octet-stream|Content-Length: 5"},
		{-1, "Transfer-Encoding: chunked"},
		{0, "Content-Length: 0"},
		{-7, "Transfer-Encoding: chunked"},
		{12345678901, "Content-Type: application/octet-stream|Content-Length: 12345678901"},
	} {
		h.SetContentLength(tc.length)
		if got := written(&h); got != tc.want {
			t.Errorf("%d: %s, want %s", tc.length, got, tc.want)
		}
		if h.ContentLength() != tc.length {
			t.Errorf("%d became %d", tc.length, h.ContentLength())
		}
	}
	h.SetNoDefaultContentType(true)
	if got := written(&h); got != "Content-Length: 12345678901" {
		t.Errorf("without a default type: %s", got)
	}
	for _, method := range []string{"GET", "HEAD"} {
		h.Reset()
		h.SetMethod(method)
		if got := written(&h); got != "" {
			t.Errorf("%s that says nothing of a body: %s", method, got)
		}
		h.SetContentLength(0)
		if got := written(&h); got != "Content-Length: 0" {
			t.Errorf("%s with a length that was set: %s", method, got)
		}
	}
}

func TestRequestHeaderSetContentLengthIgnoresWhatIsNoNumber(t *testing.T) {
	for _, value := range []string{"", "x", "-1", "+1", " 1", "1 ", "0x1", "1_0", "99999999999999999999", "1,1"} {
		var h RequestHeader
		h.SetContentLength(7)
		h.Set("Content-Length", value)
		if h.ContentLength() != 7 {
			t.Errorf("%q set the length to %d", value, h.ContentLength())
		}
	}
}

func TestRequestHeaderByteRange(t *testing.T) {
	for _, tc := range []struct {
		start, end int
		want       string
	}{{0, 499, "bytes=0-499"}, {500, -1, "bytes=500-"}, {-500, 0, "bytes=-500"}, {-5, -5, "bytes=-5"}, {0, 0, "bytes=0-0"}, {10, 5, "bytes=10-5"}, {math.MinInt, 0, "bytes=-" + strconv.Itoa(math.MaxInt)}} {
		var h RequestHeader
		h.Set("Range", "old")
		h.SetByteRange(tc.start, tc.end)
		if got := texts(h.PeekAll("Range")); got != tc.want {
			t.Errorf("%d, %d: %q, want %q", tc.start, tc.end, got, tc.want)
		}
	}
}

func TestMultipartFormBoundaryIsQuotedIfItMustBe(t *testing.T) {
	const kind = "multipart/form-data; boundary="
	for boundary, want := range map[string]string{
		"":                   kind,
		"abc":                kind + "abc",
		"'()+_,-./:=?":       kind + `"'()+_,-./:=?"`,
		"----=_Part_1_2.3":   kind + `"----=_Part_1_2.3"`,
		"a b":                kind + `"a b"`,
		`"a b"`:              kind + `"a b"`,
		"a/b; charset=utf-8": kind + "a/b; charset=utf-8",
		"é/":                 kind + "é/",
	} {
		var h RequestHeader
		h.SetMultipartFormBoundary(boundary)
		if got := string(h.ContentType()); got != want {
			t.Errorf("%q: %q, want %q", boundary, got, want)
		}
		form := multipart.NewWriter(io.Discard)
		if form.SetBoundary(boundary) != nil {
			continue
		}
		if got := string(h.MultipartFormBoundary()); got != boundary {
			t.Errorf("%q: the boundary is %q", boundary, got)
		}
		if _, params, err := mime.ParseMediaType(want); err != nil || params["boundary"] != boundary {
			t.Errorf("%q: package mime reads %q, %v", boundary, params["boundary"], err)
		}
	}
}

func TestRequestHeaderMultipartFormBoundary(t *testing.T) {
	for contentType, want := range map[string]string{
		"multipart/form-data; boundary=foo":                   "foo",
		"multipart/form-data;boundary=foo":                    "foo",
		"Multipart/Form-DATA ; Boundary=foo":                  "foo",
		"Multipart/Form-DATA; Boundary=foo":                   "foo",
		"multipart/form-data; charset=x; boundary=foo; a=b":   "foo",
		"multipart/form-data; boundary=\"foo bar\"":           "foo bar",
		"multipart/form-data; boundary=\"foo;bar\"; a=b":      "foo;bar",
		"multipart/form-data; a=\"; boundary=x\"; boundary=y": "y",
		"multipart/form-data; boundary=":                      "",
		"multipart/form-data; a=\"; boundary=x":               "x",
		"multipart/form-data; a=\"\\\"; boundary=x;":          "x",
		"multipart/form-data; boundary=x; a=\"\\\";":          "x",
		"multipart/form-data; xboundary=foo":                  "",
		"multipart/form-data":                                 "",
		"multipart/form-data; ":                               "",
		"multipart/form-data; boundary":                       "",
		"multipart/form-databoundary=foo":                     "",
		"multipart/mixed; boundary=foo":                       "",
		"":                                                    "",
		";":                                                   "",
	} {
		var h RequestHeader
		h.SetContentType(contentType)
		if got := string(h.MultipartFormBoundary()); got != want {
			t.Errorf("%q: %q, want %q", contentType, got, want)
		}
	}
	var h RequestHeader
	h.SetMultipartFormBoundary("abc")
	if string(h.ContentType()) != "multipart/form-data; boundary=abc" || string(h.MultipartFormBoundary()) != "abc" {
		t.Errorf("%q", h.ContentType())
	}
	h.SetMultipartFormBoundaryBytes([]byte("def"))
	if string(h.MultipartFormBoundary()) != "def" {
		t.Errorf("%q", h.ContentType())
	}
}

func TestRequestHeaderHasAcceptEncoding(t *testing.T) {
	for _, tc := range []struct {
		lines    string
		has, not string
	}{
		{"", "", "gzip br identity"},
		{"gzip", "gzip GZIP", "br gz zip gzi"},
		{"gzip, deflate , br", "gzip deflate br", "zstd late"},
		{"x-gzip", "x-gzip", "gzip"},
		{"gzip;q=0", "", "gzip"},
		{"gzip;q=0.0, br;Q=0.001", "br", "gzip"},
		{"gzip ; q=0 ,br ; q=1", "br", "gzip"},
		{"gzip;q=1;x=y", "gzip", ""},
		{"gzip;x=0", "gzip", ""},
		{"gzip;q=0.000;x=y", "", "gzip"},
		{"br|gzip", "br gzip", "zstd"},
		{"*", "", "gzip"},
		{",,gzip,", "gzip", ""},
	} {
		var h RequestHeader
		for line := range strings.SplitSeq(tc.lines, "|") {
			h.Add("Accept-Encoding", line)
		}
		for _, coding := range strings.Fields(tc.has) {
			if !h.HasAcceptEncoding(coding) || !h.HasAcceptEncodingBytes([]byte(coding)) {
				t.Errorf("%q: %s is not accepted", tc.lines, coding)
			}
		}
		for _, coding := range strings.Fields(tc.not) {
			if h.HasAcceptEncoding(coding) {
				t.Errorf("%q: %s is accepted", tc.lines, coding)
			}
		}
	}
}

func TestRequestHeaderWithoutSpecialFieldsWritesWhatWasSet(t *testing.T) {
	var h RequestHeader
	if h.DisableSpecialHeader() || !h.DisableSpecialHeader() {
		t.Error("the previous setting is not returned")
	}
	h.DisableNormalizing()
	h.SetMethod("POST")
	h.Add("content-LENGTH", "3")
	h.Add("x-first", "1")
	h.Add("HOST", "h")
	h.Add("cookie", "a=b; c=d")
	h.Add("user-agent", "ua")
	h.Add("user-agent", "second")
	h.Add("connection", "close")
	h.Add("content-type", "t")
	h.SetReferer("/r")
	want := "content-LENGTH: 3|x-first: 1|HOST: h|cookie: a=b; c=d|user-agent: ua|user-agent: second|connection: close|content-type: t|Referer: /r"
	if got := written(&h); got != want {
		t.Fatalf("%s, want %s", got, want)
	}
	// both are known nevertheless, and reading them changes nothing
	if string(h.Host()) != "h" || string(h.UserAgent()) != "ua" || string(h.ContentType()) != "t" || h.ContentLength() != 3 || string(h.Cookie("c")) != "d" {
		t.Errorf("host %q, agent %q, type %q, length %d, cookie %q", h.Host(), h.UserAgent(), h.ContentType(), h.ContentLength(), h.Cookie("c"))
	}
	if got := listed(h.All()); got != want {
		t.Errorf("All gives %s, want %s", got, want)
	}
	if got := written(&h); got != want {
		t.Errorf("%s afterwards, want %s", got, want)
	}
	h.Del("cookie")
	h.Del("HOST")
	if got := written(&h); strings.Contains(got, "cookie") || strings.Contains(got, "HOST") || h.Host() != nil || h.Cookie("c") != nil {
		t.Errorf("after Del %s, host %q, cookie %q", got, h.Host(), h.Cookie("c"))
	}
	if !h.EnableSpecialHeader() || h.EnableSpecialHeader() {
		t.Error("the previous setting is not returned")
	}
}

func TestRequestHeaderReadWithoutSpecialFieldsKeepsTheirPlaces(t *testing.T) {
	lines := "X-A: 1\r\nHost: h\r\nCookie: a=b\r\nUser-Agent: u\r\nUser-Agent: v\r\nContent-Type: t\r\nContent-Length: 3\r\nConnection: close\r\nTrailer: Sum\r\nCookie: c=d\r\n\r\n"
	var h RequestHeader
	h.DisableSpecialHeader()
	if err := h.Read(readerOf("POST / HTTP/1.1\r\n" + lines)); err != nil {
		t.Fatal(err)
	}
	if string(h.Host()) != "h" || string(h.UserAgent()) != "u" || h.ContentLength() != 3 || string(h.Cookie("c")) != "d" || !h.ConnectionClose() {
		t.Errorf("host %q, agent %q, length %d, cookie %q, close %v", h.Host(), h.UserAgent(), h.ContentLength(), h.Cookie("c"), h.ConnectionClose())
	}
	if got := h.String(); got != "POST / HTTP/1.1\r\n"+lines {
		t.Errorf("%q, want the lines %q", got, lines)
	}
}

func TestRequestHeaderSpecialFieldsReturn(t *testing.T) {
	var h RequestHeader
	h.DisableSpecialHeader()
	h.Set("Host", "h")
	h.Set("User-Agent", "u")
	h.Set("Cookie", "a=b")
	h.Set("Content-Length", "3")
	h.Set("Foo", "1")
	h.EnableSpecialHeader()
	h.SetHost("g")
	want := "Host: g|User-Agent: u|Content-Type: application/octet-stream|Content-Length: 3|Foo: 1|Cookie: a=b"
	if got := written(&h); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := texts(h.PeekAll("Host")); got != "g" {
		t.Errorf("all Host: %q", got)
	}
}

func TestRequestHeaderProtocol(t *testing.T) {
	for protocol, is11 := range map[string]bool{"HTTP/1.1": true, "HTTP/1.0": false, "HTTP/2.0": false, "": true} {
		var h RequestHeader
		h.SetProtocol(protocol)
		if h.IsHTTP11() != is11 {
			t.Errorf("%q counts as HTTP/1.1: %v", protocol, h.IsHTTP11())
		}
		if protocol != "" && string(h.Protocol()) != protocol {
			t.Errorf("%q is %q", protocol, h.Protocol())
		}
		h.SetProtocolBytes([]byte("HTTP/1.1"))
		if !h.IsHTTP11() {
			t.Errorf("not HTTP/1.1 again after %q", protocol)
		}
	}
}

func TestRequestHeaderTargetIsWrittenAsItWasSet(t *testing.T) {
	for _, target := range []string{"/", "/a?b#c", "*", "http://h/p", "a:80", "/%zz", "/é"} {
		var h RequestHeader
		h.SetRequestURI(target)
		if got := string(h.RequestURI()); got != target {
			t.Errorf("%q is %q", target, got)
		}
		h.SetRequestURIBytes([]byte(target))
		if !strings.HasPrefix(h.String(), "GET "+target+" HTTP/1.1\r\n") {
			t.Errorf("%q: %q", target, h.String())
		}
	}
}

func TestRequestHeaderServerFieldsAreNotSpecialInRequests(t *testing.T) {
	var h RequestHeader
	for _, name := range []string{"Server", "Age", "Set-Cookie"} {
		h.Add(name, "1")
		h.Add(name, "2")
	}
	if got, want := written(&h), "Server: 1|Server: 2|Age: 1|Age: 2|Set-Cookie: 1|Set-Cookie: 2"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	names := h.PeekKeys()
	if len(slices.Compact(strings.Split(texts(names), "|"))) != 3 {
		t.Errorf("names %q", names)
	}
}

func TestRequestHeaderLengthWithoutSpecialFields(t *testing.T) {
	var h RequestHeader
	h.DisableSpecialHeader()
	if h.ContentLength() != -2 {
		t.Errorf("%d for an unknown length", h.ContentLength())
	}
	h.Set("Content-Length", "0")
	if h.ContentLength() != 0 {
		t.Errorf("%d after 0 was set", h.ContentLength())
	}
	h.Set("Content-Length", "5")
	h.EnableSpecialHeader()
	if h.ContentLength() != 5 {
		t.Errorf("%d after 5 was set", h.ContentLength())
	}
}
