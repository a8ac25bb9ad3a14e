package field

import (
	"strings"
	"testing"
)

func TestLookupTellsWhetherANameIsInItsUsualForm(t *testing.T) {
	for id := Unknown + 1; id < numIDs; id++ {
		known := id.String()
		if got, normal := LookupForm([]byte(known)); got != id || !normal {
			t.Errorf("%q: %v, %v", known, got, normal)
		}
		for i := range known {
			name := []byte(known)
			// with any other byte at this position it is another name, except for
			// the same letter in the other case
			for c := range 256 {
				name[i] = byte(c)
				want := Unknown
				if strings.EqualFold(known[i:i+1], string(rune(c))) && c < 0x80 {
					want = id
				}
				got, normal := LookupForm(name)
				if got != Lookup(name) || got != want && got.String() != string(name) || normal != (got != Unknown && got.String() == string(name)) {
					t.Errorf("%q: %v, %v", name, got, normal)
				}
			}
		}
	}
	if got, normal := LookupForm(nil); got != Unknown || normal {
		t.Errorf("no name at all: %v, %v", got, normal)
	}
}

func TestLookupDoesNotAllocate(t *testing.T) {
	names := [][]byte{[]byte("host"), []byte("User-Agent"), []byte("x-custom"), []byte("TE")}
	allocs := testing.AllocsPerRun(100, func() {
		for _, name := range names {
			Lookup(name)
		}
	})
	if allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
}

func BenchmarkLookup(b *testing.B) {
	for _, name := range []string{"Host", "User-Agent", "accept-encoding", "X-Custom-Thing"} {
		b.Run(name, func(b *testing.B) {
			text := []byte(name)
			b.ReportAllocs()
			for b.Loop() {
				Lookup(text)
			}
		})
	}
}
