package http1

import (
	"testing"

	"github.com/valyala/fasthttp/internal/field"
)

// TestShortLastLines reads heads whose last line is as short as the fast path of usualLines
// may read, and shorter.
func TestShortLastLines(t *testing.T) {
	for _, last := range []string{"Dnt: 1", "Dnt: 12", "Dnt:1", "Dnt: ", "Dnt:", "A: 1", "A: ", "Dnt:  1", "Dnt: 1 "} {
		var h Head
		var fields field.List
		text := []byte("GET / HTTP/1.1\r\nHost: example.com\r\nCookie: a=b; c=d\r\nUser-Agent: test/1.0\r\n" + last + "\r\n\r\n")
		n, err := h.Parse(Request, text, &fields)
		if n != len(text) || err != nil {
			t.Errorf("%q: %d, %v", last, n, err)
			continue
		}
		fields.Block = text
		want := map[string]string{"Dnt: 1": "1", "Dnt: 12": "12", "Dnt:1": "1", "A: 1": "1", "Dnt:  1": "1", "Dnt: 1 ": "1"}[last]
		if got := string(fields.Value(fields.Len() - 1)); got != want || fields.Len() != 2 || h.Lines != 4 {
			t.Errorf("%q has the value %q, want %q; %d entries, %d lines", last, got, want, fields.Len(), h.Lines)
		}
		if agent := string(textAt(text, h.Slots[SlotUserAgent])); agent != "test/1.0" || !h.Has(HasCookie) {
			t.Errorf("%q: User-Agent %q, flags %b", last, agent, h.Flags)
		}
	}
}
