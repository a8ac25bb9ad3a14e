package fasthttp

import (
	"testing"

	"github.com/valyala/fasthttp/internal/clock"
	"github.com/valyala/fasthttp/internal/header"
)

// Responses with the same head share a cached one for each second. A response with
// another head must not get it.
func TestUsualHeadIsForResponsesThatAreAlike(t *testing.T) {
	plain := func(h *ResponseHeader) {
		h.SetContentType("text/x")
		h.SetContentLength(5)
	}
	variants := map[string]func(h *ResponseHeader){
		"nothing":          func(*ResponseHeader) {},
		"plain":            plain,
		"another length":   func(h *ResponseHeader) { plain(h); h.SetContentLength(6) },
		"another type":     func(h *ResponseHeader) { plain(h); h.SetContentType("text/y") },
		"no type":          func(h *ResponseHeader) { h.SetContentLength(5) },
		"no default type":  func(h *ResponseHeader) { h.SetContentLength(5); h.SetNoDefaultContentType(true) },
		"empty":            func(h *ResponseHeader) { h.SetContentLength(0) },
		"empty, untyped":   func(h *ResponseHeader) { h.SetContentLength(0); h.SetNoDefaultContentType(true) },
		"no length":        func(h *ResponseHeader) { h.SetContentType("text/x") },
		"chunked":          func(h *ResponseHeader) { plain(h); h.SetContentLength(-1) },
		"identity":         func(h *ResponseHeader) { plain(h); h.SetContentLength(-2) },
		"status":           func(h *ResponseHeader) { plain(h); h.SetStatusCode(StatusCreated) },
		"not modified":     func(h *ResponseHeader) { plain(h); h.SetStatusCode(StatusNotModified) },
		"reason":           func(h *ResponseHeader) { plain(h); h.SetStatusMessage([]byte("Fine")) },
		"protocol":         func(h *ResponseHeader) { plain(h); h.SetProtocol([]byte("HTTP/1.0")) },
		"server":           func(h *ResponseHeader) { plain(h); h.SetServer("s") },
		"encoding":         func(h *ResponseHeader) { plain(h); h.SetContentEncoding("gzip") },
		"field":            func(h *ResponseHeader) { plain(h); h.Set("X-A", "b") },
		"date":             func(h *ResponseHeader) { plain(h); h.Set("Date", "today") },
		"cookie":           func(h *ResponseHeader) { plain(h); c := new(Cookie); c.SetKey("a"); h.SetCookie(c) },
		"cookie by name":   func(h *ResponseHeader) { plain(h); h.Set("Set-Cookie", "a=b") },
		"close":            func(h *ResponseHeader) { plain(h); h.SetConnectionClose() },
		"trailer":          func(h *ResponseHeader) { plain(h); _ = h.SetTrailer("X-T") },
		"no default date":  func(h *ResponseHeader) { plain(h); h.head.SetState(header.NoDefaultDate, true) },
		"removed and back": func(h *ResponseHeader) { plain(h); h.Set("X-A", "b"); h.Del("X-A") },
	}
	for first, setFirst := range variants {
		for second, setSecond := range variants {
			var one, other ResponseHeader
			setFirst(&one)
			setSecond(&other)
			var got, want string
			e := other.head.ResponseAsSet()
			for date := ""; date != clock.Date(); {
				// until the two heads are written in the same second
				date = clock.Date()
				var start header.Prefix
				one.head.AppendResponse(nil, &start, one.head.ResponseAsSet())
				got = string(other.head.AppendResponse(nil, &start, e))
				want = string(other.head.AppendResponse(nil, nil, e))
			}
			if got != want {
				t.Errorf("%s after %s is\n%q, want\n%q", second, first, got, want)
			}
		}
	}
}
