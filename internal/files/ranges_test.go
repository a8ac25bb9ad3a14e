package files

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"mime/multipart"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

func TestParseRangesMergesAndKeepsTheOrder(t *testing.T) {
	for _, c := range []struct {
		value string
		size  int64
		want  []Span
		fails bool
	}{
		{"bytes=0-3", 10, []Span{{0, 4}}, false},
		{"BYTES=0-3", 10, []Span{{0, 4}}, false},
		{"bytes=5-", 10, []Span{{5, 5}}, false},
		{"bytes=-3", 10, []Span{{7, 3}}, false},
		{"bytes=-30", 10, []Span{{0, 10}}, false},
		{"bytes=0-99", 10, []Span{{0, 10}}, false},
		{"bytes=0-99999999999999999999999", 10, []Span{{0, 10}}, false},
		{"bytes=0-0,9-9", 10, []Span{{0, 1}, {9, 1}}, false},
		{"bytes=9-9 , \t0-0", 10, []Span{{9, 1}, {0, 1}}, false},
		{"bytes=8-9,0-1,4-5", 10, []Span{{8, 2}, {0, 2}, {4, 2}}, false},
		{"bytes=0-3,2-5", 10, []Span{{0, 6}}, false},
		{"bytes=0-3,4-5", 10, []Span{{0, 6}}, false},
		{"bytes=0-1,4-5,1-4", 10, []Span{{0, 6}}, false},
		{"bytes=6-7,0-1,7-9", 10, []Span{{6, 4}, {0, 2}}, false},
		{"bytes=0-,-5", 10, []Span{{0, 10}}, false},
		{"bytes=20-,0-1", 10, []Span{{0, 2}}, false},
		{"bytes=" + strings.Repeat("0-0,", 9) + "2-2", 10, []Span{{0, 1}, {2, 1}}, false},
		{"bytes=" + strings.Repeat("0-0,", 10) + "2-2", 10, nil, false},
		{"items=0-3", 10, nil, false},
		{"0-3", 10, nil, false},
		{"bytes", 10, nil, false},
		{"", 10, nil, false},
		{"bytes=10-", 10, nil, true},
		{"bytes=10-,30-40", 10, nil, true},
		{"bytes=-0", 10, nil, true},
		{"bytes=", 10, nil, false},
		{"bytes=,", 10, nil, false},
		{"bytes= , ,", 10, nil, false},
		{"bytes=1-2,", 10, []Span{{1, 2}}, false},
		{"bytes=,1-2", 10, []Span{{1, 2}}, false},
		{"bytes=0-0, ,\t,9-9 ,", 10, []Span{{0, 1}, {9, 1}}, false},
		{"bytes=10-,", 10, nil, true},
		{"bytes=,a", 10, nil, true},
		{"bytes=a-b", 10, nil, true},
		{"bytes=5-3", 10, nil, true},
		{"bytes=0-1,x", 10, nil, true},
		{"bytes=0-1-2", 10, nil, true},
		{"bytes=+0-1", 10, nil, true},
		// known failure 48
		{"bytes=-1", 0, nil, true},
		{"bytes=0-", 0, nil, true},
		{"bytes=0-0", 0, nil, true},
		{"bytes=-5,-6", 0, nil, true},
		// sizes that an int of 32 bits cannot hold
		{"bytes=0-0,-2", 5 << 30, []Span{{0, 1}, {5<<30 - 2, 2}}, false},
		{"bytes=4294967296-4294967299", 5 << 30, []Span{{1 << 32, 4}}, false},
		{"bytes=5368709120-", 5 << 30, nil, true},
		{"bytes=9223372036854775806-", math.MaxInt64, []Span{{math.MaxInt64 - 1, 1}}, false},
		{"bytes=9223372036854775807-", math.MaxInt64, nil, true},
	} {
		got, err := ParseRanges(nil, []byte(c.value), c.size)
		if (err != nil) != c.fails || !c.fails && !slices.Equal(got, c.want) {
			t.Errorf("%q of %d: %v, %v, want %v", c.value, c.size, got, err, c.want)
		}
	}
}

// FuzzParseRanges compares the sent bytes with the requested ones.
func FuzzParseRanges(f *testing.F) {
	for _, seed := range []string{"bytes=0-3", "bytes=-1", "bytes=0-1,3-4,2-2", "bytes=,", "bytes=1-,-1", "items=1-2", "bytes=0-0, 2-2 ,-1"} {
		f.Add(seed, uint8(10))
	}
	f.Fuzz(func(t *testing.T, value string, size uint8) {
		got, err := ParseRanges(nil, []byte(value), int64(size))
		if err != nil || len(got) == 0 {
			return
		}
		var asked, sent [math.MaxUint8]bool
		for spec := range strings.SplitSeq(value[len("bytes="):], ",") {
			if start, end, err := ParseByteRange([]byte("bytes="+strings.Trim(spec, " \t")), int(size)); err == nil {
				for i := start; i <= end; i++ {
					asked[i] = true
				}
			}
		}
		for i, s := range got {
			if s.Length <= 0 || s.Offset < 0 || s.End() > int64(size) {
				t.Fatalf("%q of %d: %v", value, size, got)
			}
			for _, o := range got[:i] {
				if s.Offset <= o.End() && o.Offset <= s.End() {
					t.Fatalf("%q of %d: %v touch", value, size, got)
				}
			}
			for at := s.Offset; at < s.End(); at++ {
				sent[at] = true
			}
		}
		if sent != asked {
			t.Fatalf("%q of %d: got %v", value, size, got)
		}
	})
}

func TestByteRangesAreAMultipartBody(t *testing.T) {
	const content = "0123456789"
	spans := []Span{{8, 2}, {0, 1}, {3, 4}}
	for name, wrap := range map[string]func(io.Reader) io.Reader{
		"at once": func(r io.Reader) io.Reader { return r }, "byte by byte": iotest.OneByteReader,
	} {
		closed := 0
		body := NewByteRanges(strings.NewReader(content), spans, 10, []byte("text/x"), "the-boundary", func() error {
			closed++
			return nil
		})
		text, err := io.ReadAll(wrap(body))
		if err != nil || int64(len(text)) != body.Size {
			t.Fatalf("%s: %d bytes, %v, want %d", name, len(text), err, body.Size)
		}
		r := multipart.NewReader(bytes.NewReader(text), "the-boundary")
		for _, s := range spans {
			part, err := r.NextRawPart()
			if err != nil {
				t.Fatalf("%s: %v in %q", name, err, text)
			}
			got, err := io.ReadAll(part)
			if err != nil || string(got) != content[s.Offset:s.End()] {
				t.Errorf("%s: got %q, %v of %v", name, got, err, s)
			}
			if want := fmt.Sprintf("bytes %d-%d/10", s.Offset, s.End()-1); part.Header.Get("Content-Range") != want || part.Header.Get("Content-Type") != "text/x" {
				t.Errorf("%s: the part has %v, want %s", name, part.Header, want)
			}
		}
		if _, err := r.NextRawPart(); err != io.EOF {
			t.Errorf("%s: %v at the end", name, err)
		}
		for range 2 {
			if err := body.Close(); err != nil || closed != 1 {
				t.Errorf("%s: closed %d times, %v", name, closed, err)
			}
		}
	}
}

func TestByteRangesOfContentThatShrankFail(t *testing.T) {
	body := NewByteRanges(strings.NewReader("0123"), []Span{{0, 2}, {6, 2}}, 10, nil, "b", nil)
	if _, err := io.ReadAll(body); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %v", err)
	}
}

func TestBoundariesDiffer(t *testing.T) {
	if a, b := NewBoundary(), NewBoundary(); a == b || len(a) != 32 {
		t.Errorf("%q and %q", a, b)
	}
}
