package header

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/valyala/fasthttp/internal/field"
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
