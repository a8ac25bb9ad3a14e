package ascii

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
)

// The sets of the grammar, spelled out as RFC 5234, RFC 9110 and RFC 3986 do.
const (
	digits     = "0123456789"
	upperAlpha = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	lowerAlpha = "abcdefghijklmnopqrstuvwxyz"
	alphas     = upperAlpha + lowerAlpha
	vchars     = "!\"#$%&'()*+,-./" + digits + ":;<=>?@" + upperAlpha + "[\\]^_`" + lowerAlpha + "{|}~"
)

// obsText is the bytes 0x80 to 0xff.
func obsText() string {
	var b []byte
	for c := 0x80; c <= 0xff; c++ {
		b = append(b, byte(c))
	}
	return string(b)
}

func TestClassesAreThoseOfTheGrammar(t *testing.T) {
	for _, c := range []struct {
		name string
		set  Class
		want string
	}{
		{"DIGIT", Digit, digits},
		{"ALPHA", Alpha, alphas},
		{"HEXDIG in any case", HexDigit, digits + "ABCDEFabcdef"},
		{"tchar", Token, "!#$%&'*+-.^_`|~" + digits + alphas},
		{"field-vchar, SP and HTAB", FieldByte, vchars + " \t" + obsText()},
		{"bytes of a request target", TargetByte, vchars + obsText()},
		{"bytes of uri-host and port", HostByte, alphas + digits + "-._~" + "%" + "!$&'()*+,;=" + "[:]"},
		{"DIGIT or ALPHA", Digit | Alpha, digits + alphas},
	} {
		for i := range 256 {
			b := byte(i)
			want := strings.IndexByte(c.want, b) >= 0
			if got := Is(b, c.set); got != want {
				t.Errorf("%s: %q: %v, want %v", c.name, b, got, want)
			}
			if got := All([]byte{b}, c.set); got != want {
				t.Errorf("%s: All %q: %v, want %v", c.name, b, got, want)
			}
		}
	}
}

func TestAllLooksAtEveryByte(t *testing.T) {
	if !All(nil, Token) {
		t.Error("an empty text has no byte outside of any class")
	}
	text := []byte("abcdefghijklmnopqrstuvwxyz")
	for i := range text {
		b := bytes.Clone(text)
		b[i] = ' '
		if All(b, Token) || IsToken(b) {
			t.Errorf("%q is taken for a token", b)
		}
	}
	if !IsToken(text) || IsToken(nil) {
		t.Error("a token has at least one byte")
	}
}

func TestCaseIsFoldedForLettersOnly(t *testing.T) {
	for i := range 256 {
		c := byte(i)
		lo, up := c, c
		if j := strings.IndexByte(upperAlpha, c); j >= 0 {
			lo = lowerAlpha[j]
		}
		if j := strings.IndexByte(lowerAlpha, c); j >= 0 {
			up = upperAlpha[j]
		}
		if Lower(c) != lo || Upper(c) != up {
			t.Errorf("%q: lower %q, upper %q", c, Lower(c), Upper(c))
		}
		b := []byte{c, 'A', c}
		ToLower(b)
		if b[0] != lo || b[1] != 'a' || b[2] != lo {
			t.Errorf("ToLower of %q: %q", c, b)
		}
		for j := range 256 {
			d := byte(j)
			dlo := d
			if k := strings.IndexByte(upperAlpha, d); k >= 0 {
				dlo = lowerAlpha[k]
			}
			want := lo == dlo
			x, y := []byte{'x', c, 'Y'}, []byte{'X', d, 'y'}
			if EqualFold(x, y) != want || EqualFoldString(x, string(y)) != want {
				t.Errorf("%q and %q: want %v", c, d, want)
			}
		}
	}
}

func TestEqualFoldComparesAllBytes(t *testing.T) {
	text := []byte("Sec-WebSocket-Extensions")
	for size := range len(text) {
		if EqualFold(text, text[:size]) || EqualFold(text[:size], text) || EqualFoldString(text, string(text[:size])) {
			t.Errorf("%q equals %q", text, text[:size])
		}
		other := bytes.Clone(text)
		other[size] ^= 0x1f
		if EqualFold(text, other) || EqualFoldString(text, string(other)) {
			t.Errorf("%q equals %q", text, other)
		}
		if lo := bytes.ToLower(text); !EqualFold(text[size:], lo[size:]) || !EqualFoldString(text[size:], string(lo[size:])) {
			t.Errorf("%q does not equal %q", text[size:], lo[size:])
		}
	}
	if !EqualFold(nil, []byte{}) || !EqualFoldString(nil, "") {
		t.Error("empty texts are equal")
	}
}

func TestTrimTakesSpacesAndTabsOnly(t *testing.T) {
	for in, want := range map[string]string{
		"":               "",
		" ":              "",
		"\t \t":          "",
		"a":              "a",
		" a":             "a",
		"a\t":            "a",
		" \t a \t b \t ": "a \t b",
		"\r\na\v\f":      "\r\na\v\f",
		"\u00a0a\u00a0":  "\u00a0a\u00a0",
		"\x00 \x00":      "\x00 \x00",
		" \x00 \x00 ":    "\x00 \x00",
	} {
		if got := Trim([]byte(in)); string(got) != want {
			t.Errorf("Trim(%q) = %q, want %q", in, got, want)
		}
	}
}

func elements(list string) (all []string) {
	for rest := []byte(list); rest != nil; {
		var e []byte
		e, rest = NextElement(rest)
		all = append(all, string(e))
	}
	return all
}

func TestNextElementCutsListsAtCommas(t *testing.T) {
	for list, want := range map[string][]string{
		"":                       {""},
		",":                      {"", ""},
		"a":                      {"a"},
		" a , b ":                {"a", "b"},
		"a,,b,":                  {"a", "", "b", ""},
		"\t,\ta b\t,c":           {"", "a b", "c"},
		`a;q="x,y", b`:           {`a;q="x,y"`, "b"},
		`"a\",b", c`:             {`"a\",b"`, "c"},
		`"a\\", c`:               {`"a\\"`, "c"},
		`"a, b`:                  {`"a, b`},
		`"a\`:                    {`"a\`},
		`a\,b`:                   {`a\`, "b"},
		`a;x=",";y=",", b;z=","`: {`a;x=",";y=","`, `b;z=","`},
	} {
		if got := elements(list); strings.Join(got, "|") != strings.Join(want, "|") || len(got) != len(want) {
			t.Errorf("%q: %q, want %q", list, got, want)
		}
	}
	if e, rest := NextElement(nil); len(e) != 0 || rest != nil {
		t.Errorf("a nil list: %q, %q", e, rest)
	}
}

// The elements joined with commas are the list again, except for white space. If
// there are no quotes, they equal the result of strings.Split.
func FuzzNextElement(f *testing.F) {
	f.Add(`a, b;q="x,y\"," ,,c`)
	f.Add(`",\`)
	f.Add("\t,")
	squeeze := strings.NewReplacer(" ", "", "\t", "")
	f.Fuzz(func(t *testing.T, list string) {
		got := elements(list)
		if squeeze.Replace(strings.Join(got, ",")) != squeeze.Replace(list) {
			t.Fatalf("%q: %q", list, got)
		}
		if strings.Contains(list, `"`) {
			return
		}
		want := strings.Split(list, ",")
		for i := range want {
			want[i] = strings.Trim(want[i], " \t")
		}
		if strings.Join(got, ",") != strings.Join(want, ",") || len(got) != len(want) {
			t.Fatalf("%q: %q, want %q", list, got, want)
		}
	})
}

func TestComparingDoesNotAllocate(t *testing.T) {
	a, b := []byte(" Transfer-Encoding\t"), []byte("transfer-encoding")
	list := []byte("keep-alive, close")
	allocs := testing.AllocsPerRun(100, func() {
		if !EqualFold(Trim(a), b) || !EqualFoldString(b, "TRANSFER-ENCODING") || !IsToken(b) {
			t.Error("a comparison failed")
		}
		for rest := list; rest != nil; {
			_, rest = NextElement(rest)
		}
	})
	if allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
}

// randomText returns n bytes of which few, if any, are in rare.
func randomText(r *rand.Rand, n int, rare string) []byte {
	b := make([]byte, n)
	for i := range b {
		switch r.IntN(40) {
		case 0:
			b[i] = rare[r.IntN(len(rare))]
		case 1:
			b[i] = byte(r.IntN(256))
		default:
			b[i] = vchars[r.IntN(len(vchars))]
		}
	}
	return b
}
