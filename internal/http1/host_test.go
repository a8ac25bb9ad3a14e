package http1

import (
	"errors"
	"net/netip"
	"net/url"
	"strings"
	"testing"
)

func TestHostsThatAreTaken(t *testing.T) {
	for _, host := range []string{
		"", "a", "example.com", "EXAMPLE.com.", "a_b", "a~b", "-a", "a..b", "a!$&'()*+,;=b",
		"a:", "a:0", "a:80", "example.com:", "example.com:0", "127.0.0.1:8080", "www.example.com:65535", "example.com:000080", "a:65535", "a:080", "a:000000080",
		"1.2.3.4", "1.2.3.4:5", "256.1.1.1", "a%C3%a4",
		"[::]", "[::1]", "[::1]:", "[::1]:80", "[A::B]", "[1:2:3:4:5:6:7:8]", "[1::]", "[1:2:3:4:5:6:7::]",
		"[::ffff:1.2.3.4]", "[1:2:3:4:5:6:1.2.3.4]", "[::1%25eth0]", "[fe80::1%25%31.a-b_c~]:80", "[fe80::1%25%c3%a4]",
	} {
		if !ValidHost([]byte(host)) {
			t.Errorf("%q is refused", host)
		}
	}
}

func TestHostsThatAreRefused(t *testing.T) {
	for _, host := range []string{
		":", ":80", "a:65536", "example.com:65536", "example.com:99999", "example.com:100000", "example.com:8o80", "example.com:80:90",
		"ex@mple.com:80", "example.com%41:80", "example.com/:80", ":12345678", "1234567890:99999", "a:99999999999999999999999", "a:-1", "a:+1", "a:8x", "a:80 ", "a:80:90", "a:b:c", "::1",
		"u@a", "u:p@a", "@a", "a/b", "a?b", "a#b", "a\\b", "a b", " a", "a\tb", "a\r\nb", "a\x00b", "a\x7f",
		"a<b", "a>b", "a\"b", "a^b", "a`b", "a{b", "a|b", "a}b", "ä", "\xff",
		"a%", "a%4", "a%zz", "a%41", "a%2", "%24", "%26", "%2e", "a%20", "a%00", "a%2f", "a%40b", "a%3A80", "%7f",
		"a[b", "a]b", "[", "]", "[]", "[::1", "::1]", "[::1]x", "[::1]:x", "[::1]:65536", "[::1]:80:90", "[::1]80",
		"[1.2.3.4]", "[zz]", "[v1.a:b]", "[:::1]", "[::1::]", "[1:2:3:4:5:6:7:8:9]", "[1:2:3:4:5:6:7]", "[::12345]",
		"[1:2:3:4:5:6:7:8::]", "[1:]", "[:1]", "[1::2:]", "[::1.2.3]", "[::1.2.3.256]", "[::01.2.3.4]", "[::1.2.3.4.5]",
		"[::1.2.3.4:1]", "[1:2:3:4:5:6:7:1.2.3.4]",
		"[::1%eth0]", "[::1%]", "[::1%2]", "[::1%25]", "[::1%25a%20b]", "[::1%25%5d]", "[::1%25a/b]", "[::1%25%]", "[::1%25ä]",
		"[%25eth0]",
	} {
		if ValidHost([]byte(host)) {
			t.Errorf("%q is taken", host)
		}
	}
}

func TestCheckingAHostDoesNotAllocate(t *testing.T) {
	for _, host := range []string{"www.example.com:8080", "[fe80::1%25eth0]:80", "[zz]", "a b"} {
		b := []byte(host)
		if n := testing.AllocsPerRun(100, func() { ValidHost(b) }); n != 0 {
			t.Errorf("%q: %v allocations", host, n)
		}
	}
}

func FuzzValidIPv6(f *testing.F) {
	for _, s := range []string{"::", "1::2", "::1.2.3.4", "1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7::", ":", "1:", "::01.2.3.4", "12345::"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		a, err := netip.ParseAddr(s)
		want := err == nil && a.Is6() && !strings.Contains(s, "%")
		if got := ValidIPv6([]byte(s)); got != want {
			t.Errorf("%q: %v, net/netip says %v (%v)", s, got, want, err)
		}
	})
}

func FuzzValidHost(f *testing.F) {
	for _, s := range []string{"a:80", "[::1%25eth0]:80", "[::1%25%e5]", "a%c3%a4", "u@a", "a b", "[::1]x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if !ValidHost([]byte(s)) {
			return
		}
		u, err := url.Parse("http://" + s + "/")
		if _, escape := errors.AsType[url.EscapeError](err); escape && s[0] == '[' {
			// RFC 6874 allows any byte to be escaped in a zone, net/url none outside of
			// ASCII
			return
		}
		if err != nil {
			t.Fatalf("%q is taken, net/url says %v", s, err)
		}
		if u.User != nil || u.Path != "/" || strings.ContainsAny(u.Host, " \t\r\n\x00/?#@") {
			t.Fatalf("%q: net/url finds %#v", s, u)
		}
	})
}

// The check by words agrees with the check by bytes, for each byte at each position.
func TestHostsAreTheSameInWordsAndBytes(t *testing.T) {
	for _, host := range []string{"example-1.com", "www.example.com", "www.example.com:8", "www.example.com:8080", "www.example.com:65535", "127.0.0.1:80808", "127.0.0.1:80", "example.com:", "1.2.3.4:8080", "a.b.c.de"} {
		for i := range host {
			for c := range 256 {
				b := []byte(host)
				b[i] = byte(c)
				// a name with an exclamation mark is checked byte by byte
				slow := append([]byte("!"), b...)
				if c == '[' && i == 0 || c == ':' && i == 0 {
					continue
				}
				if got, want := ValidHost(b), ValidHost(slow); got != want {
					t.Errorf("%q: %v, but %q: %v", b, got, slow, want)
				}
			}
		}
	}
}

func BenchmarkValidHost(b *testing.B) {
	host := []byte("www.example.com:8080")
	b.ReportAllocs()
	for b.Loop() {
		ValidHost(host)
	}
}
