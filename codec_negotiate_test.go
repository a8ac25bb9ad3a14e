package fasthttp

import (
	"strings"
	"testing"
)

var allCodings = codingsOf(codingBrotli, codingZstd, codingGzip, codingDeflate)

// TestCodingIsNegotiated is about known failure 52. Lines of a request with more
// than one Accept-Encoding field are separated by "|".
func TestCodingIsNegotiated(t *testing.T) {
	for accept, want := range map[string]contentCoding{
		"":                                   codingIdentity,
		"gzip":                               codingGzip,
		"GZip":                               codingGzip,
		"x-gzip":                             codingGzip,
		"gzip, deflate":                      codingGzip,
		"deflate, gzip":                      codingGzip,
		"gzip, deflate, br, zstd":            codingBrotli,
		"gzip, deflate, zstd":                codingZstd,
		"gzip|br":                            codingBrotli,
		"compress, sdch":                     codingIdentity,
		"gzipped, brotli, gz":                codingIdentity,
		"identity":                           codingIdentity,
		"*":                                  codingBrotli,
		"*;q=0":                              codingIdentity,
		"*;q=0, gzip":                        codingGzip,
		"br;q=0, *":                          codingZstd,
		"br;q=0, zstd;q=0, *":                codingGzip,
		"gzip;q=0":                           codingIdentity,
		"gzip;q=0.0":                         codingIdentity,
		"gzip;q=0.000":                       codingIdentity,
		"gzip;q=0.001":                       codingGzip,
		"gzip;q=1.000":                       codingGzip,
		"gzip;q=1., br;q=0.":                 codingGzip,
		"gzip;q=0.8, br;q=0.7":               codingGzip,
		"gzip;q=0.8, br;q=0.801":             codingBrotli,
		"deflate;q=0.9, gzip;q=0.8, br;q=.9": codingDeflate,
		"br;q=0.5, *;q=0.6":                  codingZstd,
		"gzip;q=0.5, identity":               codingIdentity,
		"gzip;q=0.5, identity;q=0.5":         codingGzip,
		"gzip;q=0.5, identity;q=0":           codingGzip,
		"identity;q=0":                       codingIdentity,
		"identity, *;q=0.5":                  codingIdentity,
		"gzip;q=0, gzip":                     codingIdentity,
		"gzip, gzip;q=0":                     codingIdentity,
		"gzip|gzip;q=0":                      codingIdentity,
		" gzip ; q=0.5 , br ; Q=0.4 ":        codingGzip,
		"gzip\t;\tq=0.5":                     codingGzip,
		"gzip;level=9;q=0, deflate":          codingDeflate,
		"gzip;q=0;level=9":                   codingIdentity,
		",, gzip,,":                          codingGzip,
		// what is malformed asks for nothing
		"gzip;q=2":         codingIdentity,
		"gzip;q=1.001":     codingIdentity,
		"gzip;q=-1":        codingIdentity,
		"gzip;q=0.5555":    codingIdentity,
		"gzip;q=":          codingIdentity,
		"gzip;q=a":         codingIdentity,
		"gzip;q=0,5":       codingIdentity,
		"gzip;q=10":        codingIdentity,
		"gzip;q=0.5x":      codingIdentity,
		"gzip;q=x, br":     codingBrotli,
		"gzip br":          codingIdentity,
		"gzip;q=0.5;q=bad": codingIdentity,
		";q=1":             codingIdentity,
		"**":               codingIdentity,
	} {
		var values [][]byte
		for line := range strings.SplitSeq(accept, "|") {
			values = append(values, []byte(line))
		}
		if got := chooseCoding(allCodings, values...); got != want {
			t.Errorf("%q: %s, want %s", accept, got, want)
		}
	}
	if got := chooseCoding(allCodings); got != codingIdentity {
		t.Errorf("no field: %s", got)
	}
}

func TestOnlyOfferedCodingsAreChosen(t *testing.T) {
	for _, c := range []struct {
		accept  string
		offered codingSet
		want    contentCoding
	}{
		{"br, gzip", codingsOf(codingGzip), codingGzip},
		{"br", codingsOf(codingGzip), codingIdentity},
		{"*", codingsOf(codingDeflate), codingDeflate},
		{"*", 0, codingIdentity},
		{"br, zstd, gzip, deflate", 0, codingIdentity},
		{"br;q=1, gzip;q=0.1, identity;q=0.2", codingsOf(codingGzip), codingIdentity},
	} {
		if got := chooseCoding(c.offered, []byte(c.accept)); got != c.want {
			t.Errorf("%q: %s, want %s", c.accept, got, c.want)
		}
	}
}

func TestNegotiatingDoesNotAllocate(t *testing.T) {
	value := []byte("gzip, deflate;q=0.5, br;q=0.9, zstd, *;q=0.1")
	if n := testing.AllocsPerRun(100, func() {
		if chooseCoding(allCodings, value) != codingZstd {
			t.Error("the wrong coding")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzChooseCoding(f *testing.F) {
	f.Add("gzip, deflate;q=0.5, br;q=0.9, zstd, *;q=0.1", uint8(0xff))
	f.Add("*;q=0;x=\"a,b\", gzip;;q=1.000", uint8(1<<codingGzip))
	f.Add("identity;q=0, ,x-gzip;q=0.001", uint8(0))
	f.Fuzz(func(t *testing.T, accept string, set uint8) {
		offered := codingSet(set) & allCodings
		got := chooseCoding(offered, []byte(accept))
		if got != codingIdentity && !offered.has(got) {
			t.Fatalf("%q: %s was not offered", accept, got)
		}
		lower := strings.ToLower(accept)
		named := strings.Contains(lower, got.String()) || strings.Contains(accept, "*")
		if got != codingIdentity && !named {
			t.Fatalf("%q: %s was not asked for", accept, got)
		}
		if again := chooseCoding(offered, []byte(strings.ToUpper(lower))); again != got && strings.ToLower(strings.ToUpper(lower)) == lower {
			t.Fatalf("%q: %s, in upper case %s", accept, got, again)
		}
		// what is ruled out stays out, whatever else is said
		if ruled := chooseCoding(offered, []byte(accept), []byte(got.String()+";q=0")); got != codingIdentity && ruled == got {
			t.Fatalf("%q: %s was ruled out", accept, got)
		}
	})
}
