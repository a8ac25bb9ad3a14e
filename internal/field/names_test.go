package field

import (
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
