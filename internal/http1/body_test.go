package http1

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

func TestContentOfAnyFraming(t *testing.T) {
	const raw = "5\r\nhello\r\n0\r\n\r\nGET / HTTP/1.1\r\n"
	for _, c := range []struct {
		name string
		f    Framing
		want reading
	}{
		{"none", Framing{}, reading{"", 0, true, nil}},
		{"no bytes", Framing{Kind: Length}, reading{"", 0, true, nil}},
		{"one byte", Framing{Kind: Length, Length: 1}, reading{"5", 1, true, nil}},
		{"some bytes", Framing{Kind: Length, Length: 10}, reading{"5\r\nhello\r\n", 10, true, nil}},
		{"all bytes", Framing{Kind: Length, Length: int64(len(raw))}, reading{raw, len(raw), true, nil}},
		{"more bytes than there are", Framing{Kind: Length, Length: int64(len(raw)) + 1}, reading{raw, len(raw), false, nil}},
		{"the most bytes", Framing{Kind: Length, Length: math.MaxInt64}, reading{raw, len(raw), false, nil}},
		{"chunks", Framing{Kind: Chunks}, reading{"hello", 13, true, nil}},
		{"until close", Framing{Kind: UntilClose, MustClose: true}, reading{raw, len(raw), false, nil}},
	} {
		start := func() *Body {
			// the state of an earlier message must not matter
			d := &Body{kind: Chunks, left: 3, chunks: Chunked{state: extQuoted, left: 9}}
			d.Start(c.f)
			if d.Kind() != c.f.Kind {
				t.Errorf("%s: kind %d", c.name, d.Kind())
			}
			return d
		}
		if got := readPieces(t, start(), raw); got != c.want {
			t.Errorf("%s:\n%v\nwant\n%v", c.name, got, c.want)
		}
		for n := range len(raw) {
			if got := readPieces(t, start(), raw, steps(len(raw), n+1)...); got != c.want {
				t.Errorf("%s in pieces of %d:\n%v\nwant\n%v", c.name, n+1, got, c.want)
			}
		}
	}
}

func TestContentErrorsComeThrough(t *testing.T) {
	var d Body
	d.Start(Framing{Kind: Chunks})
	if got, want := readPieces(t, &d, "2\r\nhi\r\nx"), bad("hi", 7, ErrChunkSize); got != want {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestLeftOfABody(t *testing.T) {
	for _, c := range []struct {
		f    Framing
		src  string
		want []int64 // before the first and after every byte
	}{
		{Framing{}, "x", []int64{0, 0}},
		{Framing{Kind: Length, Length: 3}, "abcd", []int64{3, 2, 1, 0, 0}},
		{Framing{Kind: Length, Length: math.MaxInt64}, "a", []int64{math.MaxInt64, math.MaxInt64 - 1}},
		{Framing{Kind: UntilClose}, "ab", []int64{0, 0, 0}},
		{Framing{Kind: Chunks}, "2\r\nab\r\n", []int64{0, 0, 0, 2, 1, 0, 0, 0}},
		{Framing{Kind: Chunks}, "7fffffffffffffff\r\na", append(make([]int64, 18), math.MaxInt64, math.MaxInt64-1)},
	} {
		var d Body
		d.Start(c.f)
		if got := d.Remaining(); got != c.want[0] {
			t.Errorf("%+v: %d left at first, want %d", c.f, got, c.want[0])
		}
		for i, want := range c.want[1:] {
			if !d.Done() {
				if _, n, err := d.Next([]byte(c.src[i : i+1])); n != 1 || err != nil {
					t.Fatalf("%+v: %d, %v", c.f, n, err)
				}
			}
			if got := d.Remaining(); got != want {
				t.Errorf("%+v: %d left after %q, want %d", c.f, got, c.src[:i+1], want)
			}
		}
	}
}

// putter is a Body that puts back most of each piece, so that every piece of content takes
// several calls.
type putter struct{ Body }

func (p *putter) Next(src []byte) (content []byte, n int, err error) {
	content, n, err = p.Body.Next(src)
	if back := len(content) * 2 / 3; back > 0 {
		p.PutBack(back)
		content, n = content[:len(content)-back], n-back
	}
	return content, n, err
}

func TestContentThatIsPutBackIsGivenAgain(t *testing.T) {
	const raw = "5\r\nhello\r\n7;a=b\r\n, world\r\n0\r\nand so on"
	for _, f := range []Framing{{}, {Kind: Length, Length: 20}, {Kind: Length, Length: 1000}, {Kind: Chunks}, {Kind: UntilClose}} {
		for step := 1; step <= len(raw); step++ {
			var plain Body
			plain.Start(f)
			var p putter
			p.Start(f)
			want := readPieces(t, &plain, raw)
			if got := readPieces(t, &p, raw, steps(len(raw), step)...); got != want || p.Remaining() != plain.Remaining() {
				t.Errorf("%+v: %v, %d left\nwant %v, %d left", f, got, p.Remaining(), want, plain.Remaining())
			}
		}
	}
}

func TestReadingABodyDoesNotAllocate(t *testing.T) {
	raw := []byte("5\r\nhello\r\n0\r\n")
	for _, f := range []Framing{{}, {Kind: Length, Length: 13}, {Kind: Chunks}, {Kind: UntilClose}} {
		var d Body
		allocs := testing.AllocsPerRun(100, func() {
			d.Start(f)
			for src := raw; len(src) > 0 && !d.Done(); {
				_, n, err := d.Next(src)
				if err != nil {
					t.Fatal(err)
				}
				src = src[n:]
			}
		})
		if allocs != 0 {
			t.Errorf("%+v: %v allocations", f, allocs)
		}
	}
}

// FuzzBody reads content of any framing in two ways: whole, and in pieces.
func FuzzBody(f *testing.F) {
	f.Add(uint8(Chunks), int64(0), "3\r\nabc\r\n0\r\n", uint8(1))
	f.Add(uint8(Length), int64(4), "abcdef", uint8(2))
	f.Add(uint8(UntilClose), int64(0), "abc", uint8(0))
	f.Fuzz(func(t *testing.T, kind uint8, length int64, raw string, step uint8) {
		framing := Framing{Kind: BodyKind(kind % 4)}
		if framing.Kind == Length {
			framing.Length = length & math.MaxInt64
		}
		var a, b Body
		a.Start(framing)
		b.Start(framing)
		whole := readPieces(t, &a, raw)
		if got := readPieces(t, &b, raw, steps(len(raw), int(step)+1)...); got != whole {
			t.Fatalf("%+v %q: whole: %v\nin pieces: %v", framing, raw, whole, got)
		}
		if framing.Kind == Length && (len(whole.content) != whole.consumed || int64(whole.consumed) != min(framing.Length, int64(len(raw)))) {
			t.Fatalf("%+v %q: %v", framing, raw, whole)
		}
		if framing.Kind == Length && a.Remaining() != framing.Length-int64(whole.consumed) {
			t.Fatalf("%+v %q: %d left", framing, raw, a.Remaining())
		}
	})
}

func BenchmarkBody(b *testing.B) {
	content := []byte(strings.Repeat("x", 4096))
	raw := append(appendChunks(content, 1024), "GET"...)
	for _, f := range []Framing{{Kind: Length, Length: int64(len(content))}, {Kind: Chunks}} {
		b.Run(fmt.Sprintf("kind=%d", f.Kind), func(b *testing.B) {
			b.SetBytes(int64(len(content)))
			b.ReportAllocs()
			var d Body
			for b.Loop() {
				d.Start(f)
				for src := raw; !d.Done(); {
					_, n, err := d.Next(src)
					if err != nil {
						b.Fatal(err)
					}
					src = src[n:]
				}
			}
		})
	}
}
