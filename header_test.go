package fasthttp

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"testing"
)

// anyHeader has the methods that RequestHeader and ResponseHeader share.
type anyHeader interface {
	Peek(key string) []byte
	PeekBytes(key []byte) []byte
	PeekCanonical(key []byte) []byte
	PeekAll(key string) [][]byte
	PeekKeys() [][]byte
	PeekTrailerKeys() [][]byte
	Set(key, value string)
	SetBytesK(key []byte, value string)
	SetBytesV(key string, value []byte)
	SetBytesKV(key, value []byte)
	SetCanonical(key, value []byte)
	Add(key, value string)
	AddBytesK(key []byte, value string)
	AddBytesV(key string, value []byte)
	AddBytesKV(key, value []byte)
	Del(key string)
	DelBytes(key []byte)
	Len() int
	All() iter.Seq2[[]byte, []byte]
	VisitAll(f func(key, value []byte))
	Trailers() iter.Seq[[]byte]
	VisitAllTrailer(f func(value []byte))
	SetTrailer(trailer string) error
	SetTrailerBytes(trailer []byte) error
	AddTrailer(trailer string) error
	AddTrailerBytes(trailer []byte) error
	TrailerFields() iter.Seq2[[]byte, []byte]
	PeekTrailer(key string) []byte
	PeekTrailerAll(key string) [][]byte
	AnnounceTrailer(trailer string) error
	AddTrailerField(key, value string) error
	AddTrailerFieldBytes(key, value []byte) error
	TrailerHeader() []byte
	ReadTrailer(r *bufio.Reader) error
	DisableNormalizing() bool
	EnableNormalizing() bool
	SetNoDefaultContentType(noDefaultContentType bool)
	ConnectionClose() bool
	SetConnectionClose()
	ResetConnectionClose()
	ConnectionUpgrade() bool
	ContentLength() int
	SetContentLength(contentLength int)
	ContentType() []byte
	SetContentType(contentType string)
	ContentEncoding() []byte
	SetContentEncoding(contentEncoding string)
	Protocol() []byte
	IsHTTP11() bool
	Reset()
	Read(r *bufio.Reader) error
	Header() []byte
	AppendBytes(dst []byte) []byte
	String() string
	Write(w *bufio.Writer) error
	WriteTo(w io.Writer) (int64, error)
}

// forBothHeaders runs test with an empty header of each kind. Its checks of written
// heads leave out the start line and the fields that a response always has: see
// written.
func forBothHeaders(t *testing.T, test func(t *testing.T, h anyHeader)) {
	t.Run("request", func(t *testing.T) { test(t, new(RequestHeader)) })
	t.Run("response", func(t *testing.T) {
		h := new(ResponseHeader)
		h.SetNoDefaultContentType(true)
		test(t, h)
	})
}

// written returns the field lines that h writes, without Date, joined by "|".
func written(h anyHeader) string {
	lines := strings.Split(strings.TrimSuffix(h.String(), "\r\n\r\n"), "\r\n")[1:]
	lines = slices.DeleteFunc(lines, func(l string) bool { return strings.HasPrefix(l, "Date: ") })
	return strings.Join(lines, "|")
}

// listed returns the fields of seq, joined by "|".
func listed(seq iter.Seq2[[]byte, []byte]) string {
	var lines []string
	for name, value := range seq {
		lines = append(lines, fmt.Sprintf("%s: %s", name, value))
	}
	return strings.Join(lines, "|")
}

func texts(slices [][]byte) string { return string(bytes.Join(slices, []byte("|"))) }

func readerOf(text string) *bufio.Reader { return bufio.NewReader(strings.NewReader(text)) }

func copyHeader(h anyHeader) anyHeader {
	switch h := h.(type) {
	case *RequestHeader:
		dst := new(RequestHeader)
		h.CopyTo(dst)
		return dst
	case *ResponseHeader:
		dst := new(ResponseHeader)
		h.CopyTo(dst)
		return dst
	}
	panic("no such header")
}

func TestHeaderSetReplacesAndAddAppends(t *testing.T) {
	forBothHeaders(t, func(t *testing.T, h anyHeader) {
		h.Set("foo", "1")
		h.Add("FOO", "2")
		h.AddBytesK([]byte("bar"), "3")
		h.AddBytesV("Foo", []byte("4"))
		h.AddBytesKV([]byte("X-id"), []byte("5"))
		if got, want := written(h), "Foo: 1|Foo: 2|Bar: 3|Foo: 4|X-Id: 5"; got != want {
			t.Fatalf("%s, want %s", got, want)
		}
		h.SetBytesK([]byte("fOo"), "6")
		h.SetBytesV("bar", []byte("7"))
		h.SetBytesKV([]byte("x-ID"), []byte("8"))
		if got, want := written(h), "Foo: 6|Bar: 7|X-Id: 8"; got != want {
			t.Errorf("after Set %s, want %s", got, want)
		}
		h.Del("FOO")
		h.DelBytes([]byte("x-id"))
		h.Del("nothing")
		if got, want := written(h), "Bar: 7"; got != want {
			t.Errorf("after Del %s, want %s", got, want)
		}
	})
}

func TestHeaderPeekFindsNamesOfAnyCase(t *testing.T) {
	forBothHeaders(t, func(t *testing.T, h anyHeader) {
		h.Set("x-ONE", "1")
		h.Add("Accept", "a")
		h.Add("accept", "b")
		for _, name := range []string{"X-One", "x-one", "X-ONE"} {
			if got := string(h.Peek(name)); got != "1" {
				t.Errorf("Peek(%q) is %q", name, got)
			}
			if got := string(h.PeekBytes([]byte(name))); got != "1" {
				t.Errorf("PeekBytes(%q) is %q", name, got)
			}
		}
		if got := string(h.Peek("aCCept")); got != "a" {
			t.Errorf("first Accept is %q", got)
		}
		if got := texts(h.PeekAll("ACCEPT")); got != "a|b" {
			t.Errorf("all Accept are %q", got)
		}
		if got := h.PeekAll("nothing"); len(got) != 0 {
			t.Errorf("a missing field has values: %q", got)
		}
		if got := h.Peek("nothing"); got != nil {
			t.Errorf("a missing field is %q", got)
		}
		if got := texts(h.PeekKeys()); got != "X-One|Accept|Accept" {
			t.Errorf("names are %q", got)
		}
	})
}

// TestHeaderDelLeavesOtherSpellings renames fields by SetCanonical and Del, as proxies do before
// they forward a handshake of WebSocket.
func TestHeaderDelLeavesOtherSpellings(t *testing.T) {
	forBothHeaders(t, func(t *testing.T, h anyHeader) {
		for _, tt := range []struct{ usual, spelled string }{{"Sec-Websocket-Key", "Sec-WebSocket-Key"}, {"X-One", "x-ONE"}} {
			h.Set(tt.usual, "1")
			h.Add(tt.usual, "2")
			h.SetCanonical([]byte(tt.spelled), []byte("3"))
			h.Del(tt.usual)
			if got := string(h.PeekCanonical([]byte(tt.spelled))); got != "3" {
				t.Errorf("%s is %q after Del of %s", tt.spelled, got, tt.usual)
			}
			if got := h.PeekCanonical([]byte(tt.usual)); got != nil {
				t.Errorf("%s is %q after Del", tt.usual, got)
			}
			// there is no other spelling
			h.Del(tt.usual)
			if got := h.PeekCanonical([]byte(tt.spelled)); got != nil {
				t.Errorf("%s is %q after Del", tt.spelled, got)
			}
			// the spelling is the usual one
			h.SetCanonical([]byte(tt.usual), []byte("1"))
			h.Add(tt.usual, "2")
			h.Del(tt.usual)
			if got := h.Peek(tt.usual); got != nil {
				t.Errorf("%s is %q after Del", tt.usual, got)
			}
		}
	})
}

func TestHeaderPeekCanonicalTakesNamesToTheLetter(t *testing.T) {
	forBothHeaders(t, func(t *testing.T, h anyHeader) {
		h.SetCanonical([]byte("x-raw"), []byte("1"))
		h.SetCanonical([]byte("X-Raw"), []byte("2"))
		h.SetCanonical([]byte("X-Raw"), []byte("3"))
		h.SetCanonical([]byte("Content-Type"), []byte("a/b"))
		for name, want := range map[string]string{"x-raw": "1", "X-Raw": "3", "X-RAW": "", "Content-Type": "a/b"} {
			if got := string(h.PeekCanonical([]byte(name))); got != want {
				t.Errorf("%s is %q, want %q", name, got, want)
			}
		}
		if got := string(h.ContentType()); got != "a/b" {
			t.Errorf("Content-Type is %q", got)
		}
		if got, want := written(h), "x-raw: 1|X-Raw: 3"; !strings.Contains(got, want) {
			t.Errorf("%s is written, want %s in it", got, want)
		}
	})
}

func TestHeaderIteratesInOrder(t *testing.T) {
	forBothHeaders(t, func(t *testing.T, h anyHeader) {
		for i := range 20 {
			h.Add(fmt.Sprintf("X-%d", i%7), fmt.Sprint(i))
		}
		var want []string
		for i := range 20 {
			want = append(want, fmt.Sprintf("X-%d: %d", i%7, i))
		}
		if got := listed(h.All()); got != strings.Join(want, "|") {
			t.Errorf("All gives %s", got)
		}
		var visited []string
		h.VisitAll(func(name, value []byte) { visited = append(visited, fmt.Sprintf("%s: %s", name, value)) })
		if !slices.Equal(visited, want) {
			t.Errorf("VisitAll gives %q", visited)
		}
		if h.Len() != 20 {
			t.Errorf("Len is %d", h.Len())
		}
		seen := 0
		for range h.All() {
			if seen++; seen == 3 {
				break
			}
		}
		if seen != 3 {
			t.Errorf("the loop went on to %d", seen)
		}
	})
}

func TestHeaderLenIsTheNumberOfFieldsThatAllVisits(t *testing.T) {
	forBothHeaders(t, func(t *testing.T, h anyHeader) {
		steps := []func(){
			func() {},
			func() { h.SetContentType("a/b") },
			func() { h.SetContentLength(3) },
			func() { h.SetContentLength(-1) },
			func() { h.Add("Foo", "1"); h.Add("Foo", "2") },
			func() { h.SetConnectionClose() },
			func() { h.Set("Connection", "Upgrade"); h.SetConnectionClose() },
			func() { h.Set("Cookie", "a=b"); h.Set("Set-Cookie", "c=d"); h.Add("Set-Cookie", "e=f") },
			func() { _ = h.SetTrailer("Foo, Bar") },
			func() { h.SetContentEncoding("gzip") },
			func() { h.Set("", "nameless"); h.Set("b d", "no token") },
		}
		for i, step := range steps {
			step()
			visited := 0
			for range h.All() {
				visited++
			}
			if h.Len() != visited || len(h.PeekKeys()) != visited {
				t.Errorf("step %d: %d visited, Len %d, %d keys", i, visited, h.Len(), len(h.PeekKeys()))
			}
		}
	})
}

func TestHeaderNormalisesNames(t *testing.T) {
	for name, want := range map[string]string{
		"host-name": "Host-Name", "HOST-NAME": "Host-Name", "hOsT-nAmE": "Host-Name", "a": "A", "-": "-", "a-": "A-", "-a": "-A",
		"a--b": "A--B", "x_y-z": "X_y-Z", "content-TYPE": "Content-Type", "www-authenticate": "Www-Authenticate", "ETAG": "Etag",
		"sec-websocket-key": "Sec-Websocket-Key", "1a-2b": "1a-2b", "!x": "!x",
	} {
		forBothHeaders(t, func(t *testing.T, h anyHeader) {
			h.Set(name, "v")
			if got := written(h); got != want+": v" {
				t.Errorf("%s is written as %s", name, got)
			}
			if got := string(h.Peek(strings.ToUpper(name))); got != "v" {
				t.Errorf("%s is found as %q", name, got)
			}
		})
	}
}

func TestHeaderKeepsNamesWhereNormalisingIsOff(t *testing.T) {
	forBothHeaders(t, func(t *testing.T, h anyHeader) {
		if h.DisableNormalizing() {
			t.Error("names were kept before")
		}
		if !h.DisableNormalizing() {
			t.Error("the second call says that names were not kept before")
		}
		h.Add("x-id", "1")
		h.Add("X-ID", "2")
		h.Add("x-id", "3")
		h.Add("accept-ENCODING", "gzip")
		if got, want := written(h), "x-id: 1|X-ID: 2|x-id: 3|accept-ENCODING: gzip"; got != want {
			t.Errorf("%s, want %s", got, want)
		}
		// an equal name goes before one that differs in case
		for name, want := range map[string]string{"x-id": "1|3", "X-ID": "2", "X-Id": "1|2|3", "ACCEPT-encoding": "gzip"} {
			if got := texts(h.PeekAll(name)); got != want {
				t.Errorf("%s are %q, want %q", name, got, want)
			}
			first, _, _ := strings.Cut(want, "|")
			if got := string(h.Peek(name)); got != first {
				t.Errorf("%s is %q, want %q", name, got, first)
			}
		}
		h.Set("X-ID", "4")
		h.Del("x-id")
		if got, want := written(h), "X-ID: 4|accept-ENCODING: gzip"; got != want {
			t.Errorf("%s, want %s", got, want)
		}
		if !h.EnableNormalizing() {
			t.Error("EnableNormalizing says that names were not kept before")
		}
		if h.EnableNormalizing() {
			t.Error("the second call says that names were kept before")
		}
		h.Set("y-id", "5")
		if got := string(h.PeekCanonical([]byte("Y-Id"))); got != "5" {
			t.Errorf("the name is not normalised again: %s", written(h))
		}
	})
}

func TestHeaderSpecialFieldsAreFoundByTheirLowerCaseNamesToo(t *testing.T) {
	forBothHeaders(t, func(t *testing.T, h anyHeader) {
		h.DisableNormalizing()
		h.Set("content-type", "a/b")
		h.Set("content-length", "5")
		h.Set("connection", "close")
		if string(h.ContentType()) != "a/b" || h.ContentLength() != 5 || !h.ConnectionClose() {
			t.Errorf("type %q, length %d, close %v", h.ContentType(), h.ContentLength(), h.ConnectionClose())
		}
	})
}

func TestHeaderResetEmptiesAndUndoesSwitches(t *testing.T) {
	forBothHeaders(t, func(t *testing.T, h anyHeader) {
		empty := copyHeader(h)
		empty.SetNoDefaultContentType(false)
		h.DisableNormalizing()
		h.Set("foo", "bar")
		h.Set("Cookie", "a=b")
		h.Set("Set-Cookie", "a=b")
		h.SetContentType("a/b")
		h.SetContentLength(-1)
		h.SetConnectionClose()
		_ = h.SetTrailer("Foo")
		switch h := h.(type) {
		case *RequestHeader:
			h.DisableSpecialHeader()
			h.SetMethod("PUT")
			h.SetHost("h")
			h.SetRequestURI("/x")
			h.SetProtocol("HTTP/1.0")
		case *ResponseHeader:
			h.SetStatusCode(404)
			h.SetStatusMessage([]byte("gone away"))
			h.SetServer("s")
			h.SetProtocol([]byte("HTTP/1.0"))
		}
		h.Reset()
		if got, want := h.String(), empty.String(); got != want {
			t.Errorf("%q after Reset, want %q", got, want)
		}
		if h.DisableNormalizing() {
			t.Error("names are kept after Reset")
		}
		if h, ok := h.(*RequestHeader); ok && h.DisableSpecialHeader() {
			t.Error("special headers are off after Reset")
		}
	})
}

func values(seq iter.Seq2[[]byte, []byte]) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for _, value := range seq {
			if !yield(value) {
				return
			}
		}
	}
}

func TestHeaderSetTakesItsOwnSlices(t *testing.T) {
	forBothHeaders(t, func(t *testing.T, h anyHeader) {
		h.Set("A", "first value")
		h.Set("B", "second")
		h.SetBytesV("C", h.Peek("A"))
		h.SetBytesV("A", h.Peek("B"))
		h.SetBytesV("B", h.Peek("C"))
		h.AddBytesV("D", h.Peek("B")[6:])
		h.SetBytesV("B", h.Peek("B")[:5])
		if got, want := written(h), "A: second|B: first|C: first value|D: value"; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	})
}

func TestHeaderIsWrittenTheSameEveryWay(t *testing.T) {
	forBothHeaders(t, func(t *testing.T, h anyHeader) {
		h.Set("Foo", "bar")
		h.SetContentLength(5)
		want := h.String()
		if got := string(h.Header()); got != want {
			t.Errorf("Header: %q", got)
		}
		if got := string(h.AppendBytes([]byte("before"))); got != "before"+want {
			t.Errorf("AppendBytes: %q", got)
		}
		var out bytes.Buffer
		w := bufio.NewWriter(&out)
		if err := h.Write(w); err != nil || out.Len() > 0 {
			t.Errorf("Write: %v, %d bytes flushed", err, out.Len())
		}
		_ = w.Flush()
		if got := out.String(); got != want {
			t.Errorf("Write: %q", got)
		}
		out.Reset()
		if n, err := h.WriteTo(&out); err != nil || n != int64(len(want)) || out.String() != want {
			t.Errorf("WriteTo: %d, %v, %q", n, err, out.String())
		}
		if !strings.HasSuffix(want, "\r\n\r\n") {
			t.Errorf("%q does not end in an empty line", want)
		}
	})
}

func TestHeaderWithInvalidNamesIsWrittenWithoutThem(t *testing.T) {
	for _, name := range []string{"", " ", "a b", " a", "a ", "a:b", "a\tb", "a\r\nb", "a\x00", "é", "a(b)", "a\"", "a/b", "\xff", "a{", "a,b", "a;b", "a=b", "a@b", "[a]", "a?", "a\\"} {
		forBothHeaders(t, func(t *testing.T, h anyHeader) {
			h.Set("Before", "1")
			h.Set(name, "v")
			h.Add(name, "v")
			h.SetCanonical([]byte(name), []byte("v"))
			h.Set("Behind", "2")
			if got, want := written(h), "Before: 1|Behind: 2"; got != want {
				t.Errorf("%q: %s, want %s", name, got, want)
			}
			h.Del(strings.NewReplacer("\r", " ", "\n", " ", "\x00", " ").Replace(name))
			if h.Len() != 2 {
				t.Errorf("%q: %s after Del", name, listed(h.All()))
			}
		})
	}
}

func TestHeaderKeepsEmptyAndOddValues(t *testing.T) {
	long := strings.Repeat("long ", 4000)
	for _, value := range []string{"", " ", "  a  b  ", "\t", "é", "\xff\x80", "a,b;c=d", "\x01\x1f\x7f", long} {
		forBothHeaders(t, func(t *testing.T, h anyHeader) {
			h.Set("Foo", value)
			if got := string(h.Peek("Foo")); got != value {
				t.Errorf("%q is %q", value, got)
			}
			if got := written(h); got != "Foo: "+value {
				t.Errorf("%q is written as %q", value, got)
			}
		})
	}
}

// checkError fails the test if err is not want, or has no text.
func checkError(t testing.TB, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: the error is %v, want %v", clipped(fmt.Sprintf("%q", what)), err, want)
	}
}

func TestHeaderLoopsMayBeLeftAnywhere(t *testing.T) {
	forBothHeaders(t, func(t *testing.T, h anyHeader) {
		h.SetContentType("a/b")
		h.SetContentLength(1)
		h.Set("Host", "h")
		h.Set("Server", "s")
		h.Set("Cookie", "a=b")
		h.Add("Set-Cookie", "a=b")
		h.Add("Set-Cookie", "c=d")
		h.Add("Foo", "1")
		h.Add("Foo", "2")
		h.SetConnectionClose()
		_ = h.SetTrailer("Sum, Other")
		for most := 1; most <= h.Len(); most++ {
			seen := 0
			for range h.All() {
				if seen++; seen == most {
					break
				}
			}
			if seen != most {
				t.Errorf("%d fields of %d", seen, most)
			}
		}
		for name := range h.Trailers() {
			if string(name) != "Sum" {
				t.Errorf("the loop went on to %s", name)
			}
			break
		}
		var names []string
		h.VisitAllTrailer(func(name []byte) { names = append(names, string(name)) })
		if got := strings.Join(names, "|"); got != "Sum|Other" {
			t.Errorf("trailers %s", got)
		}
	})
}

// Looking a cookie up parses the cookies and removes their field from the list that a loop
// is in.
func TestHeaderLoopsMayLookUpCookies(t *testing.T) {
	for _, fields := range []string{
		"Cookie: a=b\r\n",
		"X-A: 1\r\nCookie: a=b\r\n",
		"X-A: 1\r\nCookie: a=b\r\nX-B: 2\r\nX-C: 3\r\n",
		"Cookie: a=b\r\nX-A: 1\r\nConnection: close\r\n",
		"Cookie: a=b\r\nX-A: 1\r\nCookie: c=d\r\nX-B: 2\r\n",
	} {
		read := func() *RequestHeader {
			h := new(RequestHeader)
			if err := h.Read(bufio.NewReader(strings.NewReader("GET / HTTP/1.1\r\nHost: h\r\n" + fields + "\r\n"))); err != nil {
				t.Fatal(err)
			}
			return h
		}
		visit := func(when int) (visited []string) {
			h := read()
			for name, value := range h.All() {
				if len(visited) == when && string(h.Cookie("a")) != "b" {
					t.Errorf("%q: no cookie after %d fields", fields, when)
				}
				visited = append(visited, string(name)+": "+string(value))
			}
			return visited
		}
		want := visit(-1)
		for when := range want {
			if got := visit(when); !slices.Equal(got, want) {
				t.Errorf("%q: %q after a look at field %d, want %q", fields, got, when, want)
			}
		}
	}
}
