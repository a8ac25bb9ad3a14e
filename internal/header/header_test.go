package header

import (
	"bytes"
	"fmt"
	"reflect"
	"testing"

	"github.com/valyala/fasthttp/internal/field"
	"github.com/valyala/fasthttp/internal/http1"
)

func TestReleasedHeadersKeepNoLargeTrailers(t *testing.T) {
	for name, fill := range map[string]func(h *Header){
		"names":  func(h *Header) { _ = h.SetTrailers(bytes.Repeat([]byte("x"), 2*MaxKeptBlock)) },
		"fields": func(h *Header) { _ = h.AddTrailerField([]byte("X"), bytes.Repeat([]byte("x"), 2*MaxKeptBlock)) },
		"many fields": func(h *Header) {
			for range MaxKeptBlock/32 + 1 {
				_ = h.AddTrailerField([]byte("X"), nil)
			}
		},
	} {
		var h Header
		fill(&h)
		h.Reset(Configured)
		h.Shrink()
		if cap(h.Trailers.Block) > MaxKeptBlock || cap(h.Trailers.Entries) > MaxKeptBlock/32 {
			t.Errorf("%s: %d bytes and %d entries are kept", name, cap(h.Trailers.Block), cap(h.Trailers.Entries))
		}
	}
}

// A header keeps its memory for the next message, unless a piece of it is large.
func TestHeaderDropsMemoryOfLargeMessages(t *testing.T) {
	pieces := map[string]func(h *Header, size int){
		"text":              func(h *Header, size int) { h.List.Block = make([]byte, 0, size) },
		"fields":            func(h *Header, size int) { h.List.Entries = make([]field.Entry, 0, size/32) },
		"text of cookies":   func(h *Header, size int) { h.Cookies.Block = make([]byte, 0, size) },
		"cookies":           func(h *Header, size int) { h.Cookies.Entries = make([]field.Entry, 0, size/32) },
		"text of trailers":  func(h *Header, size int) { h.Trailers.Block = make([]byte, 0, size) },
		"trailers":          func(h *Header, size int) { h.Trailers.Entries = make([]field.Entry, 0, size/32) },
		"values in results": func(h *Header, size int) { h.Peeked = make([][]byte, 0, size/32) },
	}
	for i := range NumScratch {
		pieces[fmt.Sprint("composed text ", i)] = func(h *Header, size int) { h.Scratch[i] = make([]byte, 0, size) }
	}
	var small Header
	for name, grow := range pieces {
		grow(&small, MaxKeptBlock/2)
		var large Header
		large.List.Block = make([]byte, 0, 1)
		grow(&large, MaxKeptBlock)
		if large.Shrink(); cap(large.List.Block) > 0 {
			t.Errorf("%s: the memory is kept", name)
		}
	}
	if small.Shrink(); cap(small.List.Block) == 0 {
		t.Error("memory of usual sizes is dropped")
	}
}

// Tests of applications copy a request as a value: changing the copy must leave the
// original as it is, whatever is changed.
func TestChangingAHeaderCopiedAsAValueLeavesTheOriginal(t *testing.T) {
	const head = "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\nX-Sum: 1\r\nContent-Length: 2\r\nX-Last: 2\r\nTrailer: x-sum\r\n\r\n"
	describe := func(h *Header) string {
		var copied Header
		h.CopyTo(&copied)
		return fmt.Sprintf("%s%s%q", copied.AppendRequest(nil, copied.AsSet()), copied.TrailerSection(), copied.TrailerNames())
	}
	for name, change := range map[string]func(h *Header){
		"SetTrailers":       func(h *Header) { _ = h.SetTrailers([]byte("x-other")) },
		"AddTrailers":       func(h *Header) { _ = h.AddTrailers([]byte("x-sum, x-end")) },
		"Set Trailer":       func(h *Header) { h.Set(http1.Request, KeyOfID(field.Trailer), []byte("X-Other")) },
		"Del Trailer":       func(h *Header) { h.Del(http1.Request, KeyOfID(field.Trailer)) },
		"ResetClose":        (*Header).ResetClose,
		"no Content-Length": func(h *Header) { h.SetState(NoSpecial, true); h.setOwnLength() },
	} {
		var h, copied Header
		var received http1.Head
		h.Begin(&received)
		received.KeepAll = true
		if n, err := h.Feed(http1.Request, &received, []byte(head)); n != len(head) || err != nil {
			t.Fatalf("%d of %d bytes were read: %v", n, len(head), err)
		}
		if err := h.AnnounceList([]byte("x-end"), field.OnlyTrailers); err != nil {
			t.Fatal(err)
		}
		if err := h.AddTrailerField([]byte("X-End"), []byte("3")); err != nil {
			t.Fatal(err)
		}
		h.append(KeyOfID(field.ContentLength), []byte("2"))
		h.append(KeyOf([]byte("X-End")), []byte("4"))
		want := describe(&h)
		reflect.ValueOf(&copied).Elem().Set(reflect.ValueOf(&h).Elem())
		change(&copied)
		if got := describe(&h); got != want {
			t.Errorf("%s has changed the original to %q, want %q", name, got, want)
		}
	}
}
