package fasthttp

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestHeaderCopyIsDeep(t *testing.T) {
	forBothHeaders(t, func(t *testing.T, h anyHeader) {
		fill := func(h anyHeader) {
			h.Set("Foo", "bar")
			h.Add("Foo", "baz")
			h.SetContentType("a/b")
			h.Set("Cookie", "a=b; c=d")
			h.Set("Set-Cookie", "a=b")
			h.SetConnectionClose()
			h.SetContentLength(-1)
			_ = h.SetTrailer("Sum")
			h.Set("Sum", "1")
		}
		fill(h)
		before := h.String() + string(h.TrailerHeader())
		dst := copyHeader(h)
		if got := dst.String() + string(dst.TrailerHeader()); got != before {
			t.Fatalf("the copy is %q, want %q", got, before)
		}
		dst.Set("Foo", "xxx")
		dst.SetContentType("x/x")
		dst.Set("Sum", "x")
		dst.Set("Cookie", "a=x")
		dst.Reset()
		dst.Set("Foo", strings.Repeat("x", 1000))
		if got := h.String() + string(h.TrailerHeader()); got != before {
			t.Errorf("after changes of the copy: %q, want %q", got, before)
		}
		dst = copyHeader(h)
		h.Reset()
		h.Set("Foo", strings.Repeat("y", 1000))
		if got := dst.String() + string(dst.TrailerHeader()); got != before {
			t.Errorf("after changes of the source the copy is %q, want %q", got, before)
		}
	})
}

func TestHeaderCopyOverwritesWhatWasThere(t *testing.T) {
	forBothHeaders(t, func(t *testing.T, h anyHeader) {
		h.Set("Foo", "bar")
		want := h.String()
		switch h := h.(type) {
		case *RequestHeader:
			dst := new(RequestHeader)
			dst.SetMethod("POST")
			dst.SetHost("old")
			dst.Set("Old", "1")
			dst.SetCookie("old", "1")
			_ = dst.SetTrailer("Old")
			h.CopyTo(dst)
			if dst.String() != want {
				t.Errorf("%q, want %q", dst.String(), want)
			}
		case *ResponseHeader:
			dst := new(ResponseHeader)
			dst.SetStatusCode(500)
			dst.SetServer("old")
			dst.Set("Old", "1")
			h.CopyTo(dst)
			if dst.String() != want {
				t.Errorf("%q, want %q", dst.String(), want)
			}
		}
	})
}

// A peeked slice keeps its text through all changes to other fields.
func TestHeaderPeekedSlicesSurviveChangesOfOtherFields(t *testing.T) {
	forBothHeaders(t, func(t *testing.T, h anyHeader) {
		h.Set("Stays", "the text that stays")
		h.SetContentType("text/stays")
		h.SetContentEncoding("stays")
		h.Set("Cookie", "stay=cookie that stays")
		h.Set("Set-Cookie", "stay=cookie that stays")
		var peeked []string // slices into the header
		for name, value := range h.All() {
			peeked = append(peeked, string(name)+string(value))
		}
		all := slices.Collect(values(h.All()))
		for i := range 3000 {
			h.Set("Changes", strings.Repeat("c", i%300))
			h.Add("Grows", strings.Repeat("g", 20))
			if i%100 == 99 {
				h.Del("Grows")
			}
			h.SetContentLength(i)
			_ = h.Peek("Content-Length")
			if i%17 == 0 {
				h.Set("Connection", fmt.Sprint("option", i))
			}
		}
		for i, name := range []string{"Stays", "Content-Type", "Content-Encoding"} {
			want := []string{"the text that stays", "text/stays", "stays"}[i]
			if got := string(h.Peek(name)); got != want {
				t.Errorf("%s is %q", name, got)
			}
		}
		for i, value := range all {
			if !strings.HasSuffix(peeked[i], string(value)) {
				t.Errorf("a slice of %q now reads %q", peeked[i], value)
			}
		}
	})
}

// A header must not grow without end if one field is set over and over.
func TestHeaderThatIsChangedForEverStaysSmall(t *testing.T) {
	var h RequestHeader
	for i := range 100_000 {
		h.Set("Foo", strings.Repeat("x", i%50))
		h.SetHost(strings.Repeat("h", i%40))
		h.SetRequestURI("/" + strings.Repeat("u", i%30))
		h.SetCookie("a", strings.Repeat("v", i%60))
	}
	if size := cap(h.head.List.Block) + cap(h.head.Cookies.Block); size > 64<<10 {
		t.Errorf("the header holds %d bytes", size)
	}
	if got := string(h.Peek("Foo")); got != strings.Repeat("x", 49) {
		t.Errorf("Foo is %q", got)
	}
}

func TestHeaderOwnsWhatItLends(t *testing.T) {
	forBothHeaders(t, func(t *testing.T, h anyHeader) {
		special := []string{"Content-Encoding", "Server", "Set-Cookie"}
		want := "Content-Length Content-Type Content-Encoding Server Set-Cookie Trailer Connection"
		if _, ok := h.(*RequestHeader); ok {
			special = []string{"Host", "User-Agent", "Cookie"}
			want = "Host Content-Length Content-Type User-Agent Trailer Cookie Connection"
		}
		for _, name := range special {
			h.Set(name, "a=b")
		}
		h.SetContentType("a/b")
		h.SetContentLength(1)
		h.SetConnectionClose()
		_ = h.SetTrailer("Sum")
		for range 2 {
			var names []string
			for name := range h.All() {
				names = append(names, string(name))
				_ = append(name, '!')
				clear(name)
			}
			if got := strings.Join(names, " "); got != want {
				t.Errorf("%q, want %q", got, want)
			}
		}
	})
	var resp, other ResponseHeader
	clear(resp.ContentType())
	if got, also := string(resp.ContentType()), string(other.ContentType()); got != defaultType || also != defaultType {
		t.Errorf("%q and %q", got, also)
	}
}
