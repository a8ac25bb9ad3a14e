package fasthttp

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/valyala/fasthttp/internal/ascii"
)

func trailerNames(h anyHeader) string {
	var names []string
	for name := range h.Trailers() {
		names = append(names, string(name))
	}
	return strings.Join(names, "|")
}

func TestHeaderTrailersAreSentBehindTheBody(t *testing.T) {
	forBothHeaders(t, func(t *testing.T, h anyHeader) {
		h.Set("Before", "0")
		if err := h.SetTrailer("foo, BAR"); err != nil {
			t.Fatal(err)
		}
		if err := h.AddTrailerBytes([]byte("x-sum")); err != nil {
			t.Fatal(err)
		}
		h.Set("Bar", "1")
		h.Add("foo", "2")
		h.Add("Foo", "3")
		h.Set("Other", "4")
		if got, want := written(h), "Before: 0|Other: 4|Trailer: Foo, Bar, X-Sum"; got != want {
			t.Errorf("the head is %s, want %s", got, want)
		}
		if got, want := string(h.TrailerHeader()), "Bar: 1\r\nFoo: 2\r\nFoo: 3\r\n\r\n"; got != want {
			t.Errorf("the trailer section is %q, want %q", got, want)
		}
		if got, want := listed(h.All()), "Trailer: Foo, Bar, X-Sum|Before: 0|Other: 4"; got != want {
			t.Errorf("All gives %s, want %s", got, want)
		}
		if got := trailerNames(h); got != "Foo|Bar|X-Sum" || texts(h.PeekTrailerKeys()) != got {
			t.Errorf("names %s, %q", got, h.PeekTrailerKeys())
		}
		if got := string(h.Peek("Trailer")); got != "Foo, Bar, X-Sum" {
			t.Errorf("Trailer is %q", got)
		}
		if got := texts(h.PeekAll("Foo")); got != "2|3" {
			t.Errorf("Foo is %q", got)
		}
		if err := h.SetTrailerBytes([]byte("bar")); err != nil {
			t.Fatal(err)
		}
		if got, want := string(h.TrailerHeader()), "Bar: 1\r\n\r\n"; got != want {
			t.Errorf("the trailer section is %q, want %q", got, want)
		}
		h.Del("Trailer")
		if got, want := written(h), "Before: 0|Bar: 1|Foo: 2|Foo: 3|Other: 4"; got != want {
			t.Errorf("after Del the head is %s, want %s", got, want)
		}
		if got := string(h.TrailerHeader()); got != "\r\n" {
			t.Errorf("after Del the trailer section is %q", got)
		}
		h.VisitAllTrailer(func(name []byte) { t.Errorf("%s is a trailer still", name) })
	})
}

func TestHeaderTrailerFieldSetsAndAddsNames(t *testing.T) {
	forBothHeaders(t, func(t *testing.T, h anyHeader) {
		h.Set("Trailer", "a, Content-Length, b")
		h.Add("trailer", "c")
		h.Add("Trailer", "A")
		if got := trailerNames(h); got != "A|B|C" {
			t.Errorf("names %s", got)
		}
		h.Set("Trailer", "d")
		if got := trailerNames(h); got != "D" {
			t.Errorf("names %s", got)
		}
	})
}

// RFC 9110 section 6.5.1.
func TestHeaderForbiddenTrailers(t *testing.T) {
	for _, name := range []string{
		"Transfer-Encoding", "content-length", "HOST", "Trailer", "Connection", "Keep-Alive", "Upgrade", "Proxy-Connection", "TE", "Expect", "Max-Forwards", "Cache-Control", "Pragma", "Range",
		"If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since", "If-Range", "Authorization", "Proxy-Authorization", "Proxy-Authenticate", "WWW-Authenticate",
		"Cookie", "Set-Cookie", "Age", "Date", "Expires", "Location", "Retry-After", "Vary", "Content-Encoding", "Content-Type", "Content-Range",
		"Forwarded", "Via", "X-Forwarded-For", "x-forwarded-user", "X-Real-IP", "X-Auth-User", "X-User", "X-Username", "X-Remote-User", "Remote-User", "If-Foo",
		"X_Forwarded_For", "x.real.ip", "Content_Length", "X_Auth-User", "COOKIE", "Proxy", "X-Original-URL", "X-HTTP-Method-Override", "Sec-Fetch-Site", "User-Agent",
		"a b", "a:b", "a\r\nb", "é", "(a)",
	} {
		forBothHeaders(t, func(t *testing.T, h anyHeader) {
			checkError(t, name, h.AddTrailer(name), ErrBadTrailer)
			checkError(t, name, h.SetTrailer("Foo, "+name+", Bar"), ErrBadTrailer)
			if got := trailerNames(h); got != "Foo|Bar" {
				t.Errorf("%q: names %s", name, got)
			}
			if !ascii.IsToken([]byte(name)) {
				return
			}
			checkError(t, name, h.ReadTrailer(readerOf(name+": 1\r\n\r\n")), ErrBadTrailer)
		})
	}
	forBothHeaders(t, func(t *testing.T, h anyHeader) {
		for _, list := range []string{"", " ", ",", "Foo,,Bar", "Server-Timing", "X-Content-Length", "Etag", "X-Author", "X-Request-Id", "Content-Digest", "Grpc-Status", "Authentication-Info", "Iffy", "X", "Secret"} {
			if err := h.SetTrailer(list); err != nil {
				t.Errorf("%q: %v", list, err)
			}
		}
	})
}

func TestHeaderReadTrailerKeepsFieldsApart(t *testing.T) {
	forBothHeaders(t, func(t *testing.T, h anyHeader) {
		h.Set("Foo", "0")
		r := readerOf("foo: 1\r\nX-Sum:\t2 \r\nFoo: 3\r\n\r\nrest")
		if err := h.ReadTrailer(r); err != nil {
			t.Fatal(err)
		}
		if got := texts(h.PeekAll("Foo")); got != "0" {
			t.Errorf("Foo is %s", got)
		}
		if got := texts(h.PeekTrailerAll("foo")); got != "1|3" {
			t.Errorf("in the trailer section Foo is %s", got)
		}
		if got := trailerNames(h); got != "Foo|X-Sum" {
			t.Errorf("names %s", got)
		}
		if rest, _ := io.ReadAll(r); string(rest) != "rest" {
			t.Errorf("%q is left", rest)
		}
		// fields of the header section stay there
		if got, want := string(h.TrailerHeader()), "Foo: 1\r\nX-Sum: 2\r\nFoo: 3\r\n\r\n"; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	})
}

func TestHeaderReadTrailerOfAnEmptySection(t *testing.T) {
	forBothHeaders(t, func(t *testing.T, h anyHeader) {
		r := readerOf("\r\nrest")
		if err := h.ReadTrailer(r); err != nil || h.Len() != 0 || r.Buffered() != len("rest") {
			t.Errorf("%v, %s, %d left", err, listed(h.All()), r.Buffered())
		}
	})
}

func TestHeaderReadTrailerErrors(t *testing.T) {
	boom := errors.New("boom")
	long := "Foo: " + strings.Repeat("x", 5000) + "\r\n\r\n"
	many := strings.Repeat("Foo: x\r\n", 101) + "\r\n"
	forBothHeaders(t, func(t *testing.T, h anyHeader) {
		if err := h.ReadTrailer(readerOf("")); err != io.EOF {
			t.Errorf("at the end: %v", err)
		}
		whole := "Foo: bar\r\nX: y\r\n\r\n"
		for n := 1; n < len(whole); n++ {
			h.Reset()
			checkError(t, whole[:n], h.ReadTrailer(readerOf(whole[:n])), io.ErrUnexpectedEOF)
			if h.Peek("Foo") != nil || trailerNames(h) != "" {
				t.Errorf("%q: %s", whole[:n], listed(h.All()))
			}
			checkError(t, whole[:n], h.ReadTrailer(bufio.NewReader(io.MultiReader(strings.NewReader(whole[:n]), iotest.ErrReader(boom)))), boom)
		}
		for _, text := range []string{long, many, "Foo\r\n\r\n", "Fo o: x\r\n\r\n", ": x\r\n\r\n", "Foo : x\r\n\r\n", "Foo: a\n\n", "Foo: a\x00\r\n\r\n", "Foo: a\r\n b\r\n\r\n", "\n"} {
			if err := h.ReadTrailer(readerOf(text)); err == nil {
				t.Errorf("%s was read", clipped(text))
			}
		}
	})
}

func TestHeaderReadTrailerFromSmallPieces(t *testing.T) {
	text := "Foo: bar\r\nX-Sum: " + strings.Repeat("y", 1000) + "\r\n\r\n"
	forBothHeaders(t, func(t *testing.T, h anyHeader) {
		for _, size := range []int{16, 100, 4096} {
			h.Reset()
			r := bufio.NewReaderSize(iotest.OneByteReader(strings.NewReader(text+"rest")), size)
			if err := h.ReadTrailer(r); err != nil {
				t.Errorf("buffer of %d: %v", size, err)
				continue
			}
			if got := string(h.TrailerHeader()); got != text {
				t.Errorf("buffer of %d: %s", size, clipped(got))
			}
			if rest, _ := io.ReadAll(r); string(rest) != "rest" {
				t.Errorf("buffer of %d: %q is left", size, rest)
			}
		}
	})
}

// A client must not make a proxy drop a field that the proxy sets, by announcing it
// as a trailer.
func TestHeaderNamesThatAPeerAnnouncedWithholdNothing(t *testing.T) {
	forBothHeaders(t, func(t *testing.T, h anyHeader) {
		head := startLineOf(h) + "\r\nHost: h\r\nContent-Length: 0\r\nTrailer: X-Who, X-User, Sum, Content-Length\r\nSum: 1\r\n\r\n"
		if err := h.Read(readerOf(head)); err != nil {
			t.Fatal(err)
		}
		h.Set("X-Who", "me")
		if got := written(h); !strings.HasSuffix(got, "|Sum: 1|X-Who: me|Trailer: X-Who, Sum") {
			t.Errorf("%s", got)
		}
		if got := string(h.TrailerHeader()); got != "\r\n" {
			t.Errorf("trailers %q", got)
		}
		// a field that arrived in the trailer section is sent there again
		if err := h.ReadTrailer(readerOf("Sum: 2\r\nX-Who: evil\r\n\r\n")); err != nil {
			t.Fatal(err)
		}
		if got := string(h.TrailerHeader()); got != "Sum: 2\r\nX-Who: evil\r\n\r\n" {
			t.Errorf("trailers %q", got)
		}
		if got := written(copyHeader(h)); !strings.HasSuffix(got, "|Sum: 1|X-Who: me|Trailer: X-Who, Sum") {
			t.Errorf("%s with trailers", got)
		}
		// a field that is set is sent in the header section, unless it is announced
		// here
		h.Set("X-Who", "you")
		h.Del("Sum")
		h.Set("Sum", "3")
		if got := written(h); !strings.HasSuffix(got, "|X-Who: you|Sum: 3|Trailer: X-Who, Sum") {
			t.Errorf("%s after Set", got)
		}
		if err := h.AddTrailer("sum"); err != nil {
			t.Fatal(err)
		}
		if got := string(h.TrailerHeader()); got != "Sum: 3\r\n\r\n" {
			t.Errorf("trailers %q", got)
		}
	})
}

// A proxy announces the trailers that its peer announced. Fields of the header
// section stay there.
func TestAnnouncingWhatAPeerHasAnnounced(t *testing.T) {
	for name, tt := range map[string]struct {
		do       func(h anyHeader)
		upfront  string
		trailers string
	}{
		"nothing":             {func(anyHeader) {}, "X-A: 1|X-A: 2|X-B: 3", "X-C: 4\r\n"},
		"the same set":        {func(h anyHeader) { _ = h.SetTrailer(string(h.Peek("Trailer"))) }, "X-A: 1|X-A: 2|X-B: 3", "X-C: 4\r\n"},
		"in other case":       {func(h anyHeader) { _ = h.SetTrailerBytes([]byte("x-c,, x-a")) }, "X-A: 1|X-A: 2|X-B: 3", "X-C: 4\r\n"},
		"one more":            {func(h anyHeader) { _ = h.AddTrailer("X-A") }, "X-A: 1|X-A: 2|X-B: 3", "X-C: 4\r\n"},
		"as a field":          {func(h anyHeader) { h.Set("Trailer", "X-A") }, "X-A: 1|X-A: 2|X-B: 3", "X-C: 4\r\n"},
		"what it has not":     {func(h anyHeader) { _ = h.SetTrailer("X-B") }, "X-A: 1|X-A: 2", "X-B: 3\r\nX-C: 4\r\n"},
		"twice":               {func(h anyHeader) { _ = h.SetTrailer("X-A"); _ = h.SetTrailer("X-A") }, "X-A: 1|X-A: 2|X-B: 3", "X-C: 4\r\n"},
		"and set after that":  {func(h anyHeader) { _ = h.SetTrailer("X-A"); h.Set("X-A", "5") }, "X-B: 3", "X-A: 5\r\nX-C: 4\r\n"},
		"and added":           {func(h anyHeader) { _ = h.SetTrailer("X-A"); h.Add("X-A", "5") }, "X-A: 1|X-A: 2|X-B: 3", "X-A: 5\r\nX-C: 4\r\n"},
		"and set before that": {func(h anyHeader) { h.Del("X-A"); h.Set("X-A", "5"); _ = h.SetTrailer("X-A") }, "X-B: 3", "X-A: 5\r\nX-C: 4\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			forBothHeaders(t, func(t *testing.T, h anyHeader) {
				readMessage(t, h, "Trailer: X-A, X-C\r\nX-A: 1\r\nX-A: 2\r\nX-B: 3\r\n", "X-C: 4\r\n")
				tt.do(h)
				for what, h := range map[string]anyHeader{"it": h, "a copy": copyHeader(h)} {
					if got := written(h); !strings.Contains(got, "|"+tt.upfront+"|Transfer-Encoding: ") {
						t.Errorf("%s: %s, want %s", what, got, tt.upfront)
					}
					if got := string(h.TrailerHeader()); got != tt.trailers+"\r\n" {
						t.Errorf("%s: trailers %q, want %q", what, got, tt.trailers)
					}
				}
			})
		})
	}
}

// With DisableSpecialHeader, Trailer is an ordinary field, except for Peek.
func TestPeekOfTrailerThatIsNotSpecial(t *testing.T) {
	var h RequestHeader
	h.DisableSpecialHeader()
	if err := h.Read(bufio.NewReader(strings.NewReader("GET / HTTP/1.1\r\nHost: h\r\nTrailer: Foo\r\n\r\n"))); err != nil {
		t.Fatal(err)
	}
	if got := h.Peek("trailer"); len(got) > 0 {
		t.Errorf("Peek gives %q", got)
	}
	if got := h.PeekAll("Trailer"); len(got) > 0 {
		t.Errorf("PeekAll gives %q", got)
	}
	if got, want := h.String(), "GET / HTTP/1.1\r\nHost: h\r\nTrailer: Foo\r\n\r\n"; got != want {
		t.Errorf("written as %q", got)
	}
}
