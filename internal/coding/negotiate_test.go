package coding

import (
	"strings"
	"testing"
)

var allCodings = SetOf(Brotli, Zstd, Gzip, Deflate)

// choose returns the coding for a client whose Accept-Encoding fields have the values.
func choose(offered Set, values ...[]byte) Coding {
	var accepted Accepted
	for _, value := range values {
		accepted.Add(value)
	}
	return accepted.Choose(offered)
}

// If a request has more than one Accept-Encoding field, "|" separates their values.
func TestCodingIsNegotiated(t *testing.T) {
	for accept, want := range map[string]Coding{
		"":                                   Identity,
		"gzip":                               Gzip,
		"GZip":                               Gzip,
		"x-gzip":                             Gzip,
		"gzip, deflate":                      Gzip,
		"deflate, gzip":                      Gzip,
		"gzip, deflate, br, zstd":            Brotli,
		"gzip, deflate, zstd":                Zstd,
		"gzip|br":                            Brotli,
		"compress, sdch":                     Identity,
		"gzipped, brotli, gz":                Identity,
		"identity":                           Identity,
		"*":                                  Brotli,
		"*;q=0":                              Identity,
		"*;q=0, gzip":                        Gzip,
		"br;q=0, *":                          Zstd,
		"br;q=0, zstd;q=0, *":                Gzip,
		"gzip;q=0":                           Identity,
		"gzip;q=0.0":                         Identity,
		"gzip;q=0.000":                       Identity,
		"gzip;q=0.001":                       Gzip,
		"gzip;q=1.000":                       Gzip,
		"gzip;q=1., br;q=0.":                 Gzip,
		"gzip;q=0.8, br;q=0.7":               Gzip,
		"gzip;q=0.8, br;q=0.801":             Brotli,
		"deflate;q=0.9, gzip;q=0.8, br;q=.9": Deflate,
		"br;q=0.5, *;q=0.6":                  Zstd,
		"gzip;q=0.5, identity":               Identity,
		"gzip;q=0.5, identity;q=0.5":         Gzip,
		"gzip;q=0.5, identity;q=0":           Gzip,
		"identity;q=0":                       Identity,
		"identity, *;q=0.5":                  Identity,
		"gzip;q=0, gzip":                     Identity,
		"gzip, gzip;q=0":                     Identity,
		"gzip|gzip;q=0":                      Identity,
		" gzip ; q=0.5 , br ; Q=0.4 ":        Gzip,
		"gzip\t;\tq=0.5":                     Gzip,
		"gzip;level=9;q=0, deflate":          Deflate,
		"gzip;q=0;level=9":                   Identity,
		",, gzip,,":                          Gzip,
		// malformed elements request no coding
		"gzip;q=2":         Identity,
		"gzip;q=1.001":     Identity,
		"gzip;q=-1":        Identity,
		"gzip;q=0.5555":    Identity,
		"gzip;q=":          Identity,
		"gzip;q=a":         Identity,
		"gzip;q=0,5":       Identity,
		"gzip;q=10":        Identity,
		"gzip;q=0.5x":      Identity,
		"gzip;q=x, br":     Brotli,
		"gzip br":          Identity,
		"gzip;q=0.5;q=bad": Identity,
		";q=1":             Identity,
		"**":               Identity,
	} {
		var values [][]byte
		for line := range strings.SplitSeq(accept, "|") {
			values = append(values, []byte(line))
		}
		if got := choose(allCodings, values...); got != want {
			t.Errorf("%q: %s, want %s", accept, got, want)
		}
	}
	if got := choose(allCodings); got != Identity {
		t.Errorf("no field: %s", got)
	}
}

func TestOnlyOfferedCodingsAreChosen(t *testing.T) {
	for _, c := range []struct {
		accept  string
		offered Set
		want    Coding
	}{
		{"br, gzip", SetOf(Gzip), Gzip},
		{"br", SetOf(Gzip), Identity},
		{"*", SetOf(Deflate), Deflate},
		{"*", 0, Identity},
		{"br, zstd, gzip, deflate", 0, Identity},
		{"br;q=1, gzip;q=0.1, identity;q=0.2", SetOf(Gzip), Identity},
	} {
		if got := choose(c.offered, []byte(c.accept)); got != c.want {
			t.Errorf("%q: %s, want %s", c.accept, got, c.want)
		}
	}
}

func TestNegotiatingDoesNotAllocate(t *testing.T) {
	value := []byte("gzip, deflate;q=0.5, br;q=0.9, zstd, *;q=0.1")
	if n := testing.AllocsPerRun(100, func() {
		if choose(allCodings, value) != Zstd {
			t.Error("the wrong coding")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzChooseCoding(f *testing.F) {
	f.Add("gzip, deflate;q=0.5, br;q=0.9, zstd, *;q=0.1", uint8(0xff))
	f.Add("*;q=0;x=\"a,b\", gzip;;q=1.000", uint8(1<<Gzip))
	f.Add("identity;q=0, ,x-gzip;q=0.001", uint8(0))
	f.Fuzz(func(t *testing.T, accept string, set uint8) {
		offered := Set(set) & allCodings
		got := choose(offered, []byte(accept))
		if got != Identity && !offered.Has(got) {
			t.Fatalf("%q: %s was not offered", accept, got)
		}
		lower := strings.ToLower(accept)
		named := strings.Contains(lower, got.String()) || strings.Contains(accept, "*")
		if got != Identity && !named {
			t.Fatalf("%q: %s was not asked for", accept, got)
		}
		if again := choose(offered, []byte(strings.ToUpper(lower))); again != got && strings.ToLower(strings.ToUpper(lower)) == lower {
			t.Fatalf("%q: %s, in upper case %s", accept, got, again)
		}
		// an excluded coding stays excluded, whatever the other elements say
		if ruled := choose(offered, []byte(accept), []byte(got.String()+";q=0")); got != Identity && ruled == got {
			t.Fatalf("%q: %s was ruled out", accept, got)
		}
	})
}
