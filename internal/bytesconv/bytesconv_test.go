package bytesconv

import (
	"encoding/binary"
	"testing"
)

func TestViewsShowTheSameText(t *testing.T) {
	for _, s := range []string{"", "a", "Content-Type", "\x00\xff"} {
		if got := string(Bytes(s)); got != s {
			t.Errorf("Bytes(%q) = %q", s, got)
		}
		if got := String([]byte(s)); got != s {
			t.Errorf("String(%q) = %q", s, got)
		}
		if b := Bytes(s); cap(b) != len(s) {
			t.Errorf("Bytes(%q): capacity %d, want %d", s, cap(b), len(s))
		}
	}
	if String(nil) != "" || len(Bytes("")) != 0 {
		t.Error("empty values must give empty views")
	}
}

func TestViewsDoNotAllocate(t *testing.T) {
	b := []byte("some bytes that are longer than any small-string buffer of the runtime")
	n := 0
	allocs := testing.AllocsPerRun(100, func() {
		n += len(Bytes(String(b)))
	})
	if allocs != 0 || n == 0 {
		t.Errorf("%v allocations", allocs)
	}
}

func TestWordReadsEightBytes(t *testing.T) {
	b := []byte("0123456789abcdef")
	for i := range len(b) - 7 {
		if got, want := Word(b, i), binary.LittleEndian.Uint64(b[i:]); got != want {
			t.Errorf("at %d: %x, want %x", i, got, want)
		}
	}
}

func TestHalfReadsFourBytes(t *testing.T) {
	b := []byte("0123456789")
	for i := range len(b) - 3 {
		if got, want := Half(b, i), binary.LittleEndian.Uint32(b[i:]); got != want {
			t.Errorf("at %d: %x, want %x", i, got, want)
		}
	}
}
