package proxied

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/valyala/fasthttp/internal/ascii"
)

// elements returns the elements of a list from its end.
func elements(list string) (all []string) {
	for rest := []byte(list); rest != nil; {
		var last []byte
		last, rest = Last(rest)
		all = append(all, string(last))
	}
	return all
}

func TestListsAreReadFromTheirEnd(t *testing.T) {
	for _, c := range []struct {
		list string
		want []string
	}{
		{"", nil}, // a nil list has no elements
		{" ", []string{""}},
		{"a", []string{"a"}},
		{"a, b ,\tc", []string{"c", "b", "a"}},
		{",a,,b,", []string{"", "b", "", "a", ""}},
		{`a, for="b,c";x, d`, []string{"d", `for="b,c";x`, "a"}},
		{`"a\",b", c`, []string{"c", `"a\",b"`}},
		{`"a\\", "b\\\"", c`, []string{"c", `"b\\\""`, `"a\\"`}},
		{`"a", "b"`, []string{`"b"`, `"a"`}},
		{`"", ""`, []string{`""`, `""`}},
		// text further to the left must not absorb the element that a proxy has appended
		{`for="a, for=b`, []string{"for=b", `for="a`}},
		{`for="a, for="b"`, []string{`for="b"`, `for="a`}},
		{`for="a\, for=b`, []string{"for=b", `for="a\`}},
		{`for="a";x=", for="b";y="c"`, []string{`for="b";y="c"`, `for="a";x="`}},
		{`a, ", b`, []string{"b", `a, "`}},
	} {
		if got := elements(c.list); !slices.Equal(got, c.want) && c.list != "" {
			t.Errorf("%s: got %q, want %q", c.list, got, c.want)
		}
	}
}

func TestElementsOfForwarded(t *testing.T) {
	const none = "-" // for a missing parameter
	for _, c := range []struct {
		in                string
		for_, proto, host string
		ok                bool
	}{
		// the examples of RFC 7239 section 4
		{`for="_gazonk"`, "_gazonk", none, none, true},
		{`For="[2001:db8:cafe::17]:4711"`, "[2001:db8:cafe::17]:4711", none, none, true},
		{`for=192.0.2.60;proto=http;by=203.0.113.43`, "192.0.2.60", "http", none, true},
		{`for=192.0.2.43`, "192.0.2.43", none, none, true},
		{"", none, none, none, true},
		{";; ", none, none, none, true},
		{`HOST="a:80";FOR=b;Proto=https`, "b", "https", "a:80", true},
		{`for=a ; proto="b" ;host=c;`, "a", "b", "c", true},
		{`proto=https`, none, "https", none, true},
		{`for="a;host=b";x=";"`, "a;host=b", none, none, true},
		{`for="a\"b"`, `a\"b`, none, none, true},
		{`for=`, "", none, none, true},
		{`for=""`, "", none, none, true},
		{`for=192.0.2.43:47`, "192.0.2.43:47", none, none, true},
		{`for=[::1]`, "[::1]", none, none, true},
		{`extension="x";for=a`, "a", none, none, true},
		{`for=a;for=b`, "", "", "", false},
		{`for="";for=b`, "", "", "", false},
		{`for=;for=b`, "", "", "", false},
		{`proto=a;proto=b`, "", "", "", false},
		{`host=a;Host=a`, "", "", "", false},
		{`for`, "", "", "", false},
		{`192.0.2.1`, "", "", "", false},
		{`=a`, "", "", "", false},
		{`for =a`, "", "", "", false},
		{`for="a`, "", "", "", false},
		{`for="a\"`, "", "", "", false},
		{`for="a"b`, "", "", "", false},
		{`for=a"b"`, "", "", "", false},
		{`for=a;b`, "", "", "", false},
	} {
		e, ok := ParseElement([]byte(c.in))
		if ok != c.ok {
			t.Errorf("%s: %v", c.in, ok)
			continue
		}
		for name, values := range map[string][2]any{"for": {e.For, c.for_}, "proto": {e.Proto, c.proto}, "host": {e.Host, c.host}} {
			got, want := values[0].([]byte), values[1].(string)
			if ok && (string(got) != want && want != none || (got == nil) != (want == none)) || !ok && got != nil {
				t.Errorf("%s: %s is %q, want %q", c.in, name, got, want)
			}
		}
	}
}

func TestNodes(t *testing.T) {
	for in, want := range map[string]string{
		"192.0.2.1":              "192.0.2.1",
		"192.0.2.1:80":           "192.0.2.1",
		"192.0.2.1:_port":        "192.0.2.1",
		"2001:db8::1":            "2001:db8::1",
		"2001:DB8::1":            "2001:db8::1",
		"[2001:db8::1]":          "2001:db8::1",
		"[2001:db8::1]:65535":    "2001:db8::1",
		"[2001:db8::1]:_a.b-c":   "2001:db8::1",
		"::":                     "::",
		"fe80::1%eth0":           "fe80::1",
		"[fe80::1%25eth0]:80":    "fe80::1",
		"::ffff:192.0.2.1":       "192.0.2.1",
		"[::ffff:192.0.2.1]:80":  "192.0.2.1",
		"":                       "",
		"unknown":                "",
		"_hidden":                "",
		"_SEVKISEK":              "",
		"unknown:80":             "",
		"localhost":              "",
		"192.0.2.1:":             "",
		"192.0.2.1:65536":        "",
		"192.0.2.1:http":         "",
		"192.0.2.1:_":            "",
		"192.0.2.1:_a b":         "",
		"192.0.2":                "",
		"192.0.2.01":             "",
		"192.0.2.256":            "",
		" 192.0.2.1":             "",
		"192.0.2.1%eth0":         "",
		"192.0.2.1 x":            "",
		"[192.0.2.1]":            "",
		"[192.0.2.1]:80":         "",
		"[2001:db8::1":           "",
		"2001:db8::1]":           "",
		"[2001:db8::1]80":        "",
		"[2001:db8::1]:":         "",
		"[2001:db8::1]:80:80":    "",
		"[]":                     "",
		"[":                      "",
		":":                      "",
		":80":                    "",
		"fe80::1%":               "",
		"2001:db8::1::2":         "",
		"2001:db8::1, 192.0.2.1": "",
		"\"192.0.2.1\"":          "",
	} {
		addr, ok := ParseNode([]byte(in))
		if ok != (want != "") || ok && addr.String() != want || !ok && addr.IsValid() {
			t.Errorf("%q: got %v, %v, want %q", in, addr, ok, want)
		}
	}
}

func TestAddressesOfForwardedHaveBrackets(t *testing.T) {
	for in, want := range map[string]string{
		"192.0.2.1": "192.0.2.1", "192.0.2.1:80": "192.0.2.1", "[2001:db8::1]": "2001:db8::1", "[2001:db8::1]:80": "2001:db8::1",
		"2001:db8::1": "", "2001:db8::1:80": "", "::1": "", "::": "", "::ffff:192.0.2.1": "", "fe80::1%eth0": "",
		"": "", ":": "", "_hidden": "", "unknown": "",
	} {
		if addr, ok := ParseFor([]byte(in)); ok != (want != "") || ok && addr.String() != want || !ok && addr.IsValid() {
			t.Errorf("%q: got %v, %v, want %q", in, addr, ok, want)
		}
	}
}

func TestReadingDoesNotAllocate(t *testing.T) {
	list := []byte(`for="[2001:db8::1]:80";proto=https;host="a", for=192.0.2.1:80, for="[fe80::1%eth0]"`)
	n := testing.AllocsPerRun(100, func() {
		for rest := list; rest != nil; {
			var last []byte
			last, rest = Last(rest)
			e, _ := ParseElement(last)
			if _, ok := ParseNode(e.For); !ok {
				t.Fatalf("%s is no address", e.For)
			}
		}
	})
	if n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzForwarded(f *testing.F) {
	f.Add(`for="[2001:db8::1]:80";proto=https;host="a\",", for=192.0.2.1:80`, "for=192.0.2.2")
	f.Add(`for="a\`, `for="[::1]";proto="\"`)
	f.Add(`, ,`, `x`)
	f.Fuzz(func(t *testing.T, sent, appended string) {
		all := elements(sent)
		if len(sent) > 0 && strings.Count(sent, ",") < len(all)-1 {
			t.Errorf("%q has elements %q", sent, all)
		}
		for _, one := range all {
			if one != string(ascii.Trim([]byte(one))) || !strings.Contains(sent, one) {
				t.Errorf("%q has an element %q", sent, one)
			}
			if e, ok := ParseElement([]byte(one)); ok {
				ParseNode(e.For)
			}
			if addr, ok := ParseNode([]byte(one)); ok != addr.IsValid() || addr.Zone() != "" || addr.Is4In6() {
				t.Errorf("%q is %v, %v", one, addr, ok)
			}
		}
		// an element is parsed the same alone and after any other text
		e, ok := ParseElement([]byte(appended))
		if !ok || appended == "" {
			return
		}
		last, rest := Last([]byte(sent + ", " + appended))
		if again, ok := ParseElement(last); len(elements(appended)) == 1 &&
			(!ok || !bytes.Equal(again.For, e.For) || !bytes.Equal(again.Proto, e.Proto) || !bytes.Equal(again.Host, e.Host) || string(rest) != sent) {
			t.Errorf("%q, after %q, became %q", appended, sent, last)
		}
	})
}
