package ascii

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// scans are the scans, each with the set of bytes that it searches for.
var scans = []struct {
	name string
	scan func([]byte) int
	hit  func(c byte) bool
}{
	{"IndexControl", IndexControl, func(c byte) bool { return c < 0x20 || c == 0x7f }},
	{"indexControl", indexControl, func(c byte) bool { return c < 0x20 || c == 0x7f }},
	{"IndexSpaceOrControl", IndexSpaceOrControl, func(c byte) bool { return c <= 0x20 || c == 0x7f }},
	{"IndexByte of a colon", func(b []byte) int { return IndexByte(b, ':') }, func(c byte) bool { return c == ':' }},
	{"IndexByte of 0xff", func(b []byte) int { return IndexByte(b, 0xff) }, func(c byte) bool { return c == 0xff }},
	{"IndexLineBreak", IndexLineBreak, func(c byte) bool { return c == '\r' || c == '\n' || c == 0 }},
}

// naive is a scan that examines one byte at a time.
func naive(b []byte, hit func(byte) bool) int {
	for i, c := range b {
		if hit(c) {
			return i
		}
	}
	return len(b)
}

// checkScans compares every scan of b with the naive one, at every alignment. The
// bytes after b are all hits, which a scan must not see.
func checkScans(t *testing.T, b []byte) {
	t.Helper()
	for shift := range 8 {
		room := bytes.Repeat([]byte{'\r'}, shift+len(b)+16)
		part := room[shift : shift+copy(room[shift:], b)]
		for _, s := range scans {
			if got, want := s.scan(part), naive(b, s.hit); got != want {
				t.Errorf("%s(%q) at alignment %d: %d, want %d", s.name, b, shift, got, want)
			}
		}
		for from := range len(part) + 1 {
			if len(part) < 16 {
				break
			}
			if got, want := NextControl(part, from), from+indexControl(part[from:]); got != want {
				t.Errorf("NextControl(%q, %d) at alignment %d: %d, want %d", b, from, shift, got, want)
			}
		}
		if got, want := HasControl(part), IndexControl(part) < len(part); got != want {
			t.Errorf("HasControl(%q) at alignment %d: %v", b, shift, got)
		}
		if got, want := HasSpaceOrControl(part), IndexSpaceOrControl(part) < len(part); got != want {
			t.Errorf("HasSpaceOrControl(%q) at alignment %d: %v", b, shift, got)
		}
		invisible := naive(part, func(c byte) bool { return c <= 0x20 || c >= 0x7f })
		if got, want := IsVisible(part), invisible == len(part); got != want {
			t.Errorf("IsVisible(%q) at alignment %d: %v", b, shift, got)
		}
		if got, want := IsPlainPath(part), len(part) >= 8 && naive(part, isNotPlain) == len(part); got != want {
			t.Errorf("IsPlainPath(%q) at alignment %d: %v", b, shift, got)
		}
		other := naive(part, func(c byte) bool { return c >= 0x80 })
		if got, want := IsASCII(part), other == len(part); got != want {
			t.Errorf("IsASCII(%q) at alignment %d: %v", b, shift, got)
		}
	}
}

func isNotPlain(c byte) bool {
	return bytes.IndexByte([]byte("abcdefghijklmnopqrstuvwxyz0123456789-./"), c) < 0
}

func TestPlainPathsAreFound(t *testing.T) {
	for c := range 256 {
		for size := 8; size < 20; size++ {
			for at := range size {
				for _, fill := range []byte{'a', '9', '-', 'z', 0x80, 0xff} {
					b := bytes.Repeat([]byte{fill}, size)
					b[at] = byte(c)
					if got := IsPlainPath(b); got != (naive(b, isNotPlain) == size) {
						t.Fatalf("IsPlainPath(%q): %t", b, got)
					}
				}
			}
		}
	}
}

func TestScansFindEveryByteAtEveryPosition(t *testing.T) {
	for c := range 256 {
		for size := range 20 {
			for at := range size {
				// neighbours that border on the sets, or carry high bits
				for _, fill := range []byte{'a', '!', '~', 0x80, 0xa0, 0xff} {
					b := bytes.Repeat([]byte{fill}, size)
					b[at] = byte(c)
					for _, s := range scans {
						if got, want := s.scan(b), naive(b, s.hit); got != want {
							t.Fatalf("%s(%q): %d, want %d", s.name, b, got, want)
						}
					}
				}
			}
		}
	}
}

// A subtraction in one byte of a word can borrow from the next one: pairs of
// neighbouring bytes show whether that ever makes a false hit come first.
func TestScansAreNotMisledByNeighbours(t *testing.T) {
	b := []byte("12345678")
	for _, at := range []int{0, 6} {
		for c := range 256 {
			for d := range 256 {
				copy(b, "12345678")
				b[at], b[at+1] = byte(c), byte(d)
				for _, s := range scans {
					if got, want := s.scan(b), naive(b, s.hit); got != want {
						t.Fatalf("%s(%q): %d, want %d", s.name, b, got, want)
					}
				}
			}
		}
	}
}

func TestScansOfRandomText(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		checkScans(t, randomText(r, r.IntN(70), " \t\r\n\x00\x7f\x1f\x80\xff:"))
	}
}

func FuzzScan(f *testing.F) {
	for _, s := range []string{"", "GET / HTTP/1.1\r\n", "no control in here, only text", "tab\there\x7fthen delete", "\x80\x9f\xa0\xff\x00"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) { checkScans(t, b) })
}

func TestScanningDoesNotAllocate(t *testing.T) {
	b := []byte(strings.Repeat("text ", 30) + "\r\n")
	allocs := testing.AllocsPerRun(100, func() {
		if IndexControl(b) != 150 || IndexLineBreak(b) != 150 || IndexSpaceOrControl(b) != 4 {
			t.Error("a scan missed")
		}
	})
	if allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
}

func BenchmarkIndexControl(b *testing.B) {
	for _, size := range []int{5, 12, 40, 200, 4000} {
		text := []byte(strings.Repeat("x", size) + "\r\n and what comes behind it")
		b.Run(fmt.Sprintf("bytes=%d", size), func(b *testing.B) {
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				if IndexControl(text) != size {
					b.Fatal("missed")
				}
			}
		})
	}
}

func TestNotDigits(t *testing.T) {
	for i := range 8 {
		for c := range 256 {
			b := []byte("01234567")
			b[i] = byte(c)
			isDigit := c >= '0' && c <= '9'
			if got := NotDigits(binary.LittleEndian.Uint64(b)); got == 0 != isDigit || got&(0x80<<(8*i)) == 0 != isDigit || got<<(8*(8-i)) != 0 {
				t.Errorf("%q: %#x", b, got)
			}
		}
	}
}
