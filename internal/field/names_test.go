package field

import (
	"encoding/binary"
	"strings"
	"testing"
)

func TestEveryWellKnownNameHasItsOwnSlot(t *testing.T) {
	seen := map[uint64]ID{}
	for id := Unknown + 1; id < numIDs; id++ {
		s := wordsOf(id.Bytes()).slot(len(id.Bytes()))
		if other, taken := seen[s]; taken {
			t.Fatalf("%s and %s share slot %d: look for another slotFactor", id, other, s)
		}
		seen[s] = id
		for _, name := range []string{id.String(), strings.ToUpper(id.String()), strings.ToLower(id.String())} {
			if got := Lookup([]byte(name)); got != id {
				t.Errorf("Lookup(%q) = %v", name, got)
			}
		}
		norm := []byte(strings.ToLower(id.String()))
		Normalize(norm)
		if string(norm) != id.String() {
			t.Errorf("%s is listed in another form than %s", id, norm)
		}
	}
}

// TestUsualNeedsNoSize checks the assumption of Usual: a name with the ends and the slot
// of a well-known one has its size.
func TestUsualNeedsNoSize(t *testing.T) {
	for id := Unknown + 1; id < numIDs; id++ {
		name := id.Bytes()
		w := wordsOf(name)
		for size := range 100 {
			got, ok := Usual(w.first, w.last, size)
			if ok && len(got.String()) != size || size == len(name) && (got != id || !ok) {
				t.Errorf("the ends of %s with size %d: %v, %v", id, size, got, ok)
			}
		}
	}
	for size := range 100 {
		if got, ok := Usual(0, 0, size); ok {
			t.Errorf("%d zeros are %q", size, got)
		}
	}
}

func TestHasMiddle(t *testing.T) {
	for id := Unknown + 1; id < numIDs; id++ {
		name := id.Bytes()
		if len(name) <= 16 {
			continue
		}
		second, third := binary.LittleEndian.Uint64(name[8:]), binary.LittleEndian.Uint64(name[len(name)-16:])
		for size := 17; size < 80; size++ {
			if got, want := id.HasMiddle(second, third, size), size == len(name) && size <= 32; got != want {
				t.Errorf("%s, size %d: %v, want %v", id, size, got, want)
			}
		}
		if id.HasMiddle(second^0x20, third, len(name)) || id.HasMiddle(second, third^0x20, len(name)) {
			t.Errorf("%s has another middle", id)
		}
	}
}

func TestLookupKnowsNothingElse(t *testing.T) {
	for _, name := range []string{"", "a", "Hos", "Hosts", "X-Custom", "Content_Type", "Content-Typo", "\xff\xff\xff\xff", "Via\x00", "Hos\x54"} {
		if got := Lookup([]byte(name)); got != Unknown && name != "Hos\x54" {
			t.Errorf("Lookup(%q) = %v", name, got)
		}
	}
}

func TestNormalize(t *testing.T) {
	for in, want := range map[string]string{
		"":             "",
		"HOST":         "Host",
		"conteNT-tYPE": "Content-Type",
		"foo--bar-":    "Foo--Bar-",
		"x_y-9z":       "X_y-9z",
		"\xffA-b":      "\xffa-B",
	} {
		b := []byte(in)
		Normalize(b)
		if string(b) != want {
			t.Errorf("Normalize(%q) = %q, want %q", in, b, want)
		}
	}
}

func FuzzLookup(f *testing.F) {
	f.Add([]byte("host"))
	f.Add([]byte("tE"))
	f.Add([]byte("x"))
	f.Fuzz(func(t *testing.T, name []byte) {
		id := Lookup(name)
		want := Unknown
		for k := Unknown + 1; k < numIDs; k++ {
			if strings.EqualFold(string(name), k.String()) && len(name) == len(k.String()) {
				want = k
			}
		}
		if id != want {
			t.Fatalf("Lookup(%q) = %v, want %v", name, id, want)
		}
	})
}
