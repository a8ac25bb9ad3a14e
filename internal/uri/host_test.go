package uri

import (
	"bytes"
	"strings"
	"testing"

	"github.com/valyala/fasthttp/internal/ascii"
)

func TestPlainHostsHaveNothingToNormalize(t *testing.T) {
	const plain = "abcdefghijklmnopqrstuvwxyz0123456789-."
	for size := range 26 {
		host := []byte(strings.Repeat("shop.example-1", 2)[:size])
		if isPlainHost(host) != (size >= 8) {
			t.Errorf("%q: %t", host, size < 8)
		}
		if size < 8 {
			continue
		}
		for at := range host {
			for c := range 256 {
				changed := bytes.Clone(host)
				changed[at] = byte(c)
				want := strings.IndexByte(plain, byte(c)) >= 0
				if isPlainHost(changed) != want {
					t.Fatalf("%q: %t", changed, !want)
				}
				if !want {
					continue
				}
				normal := bytes.Clone(changed)
				if n, err := normalizeHost(normal); n != size || err != nil || !bytes.Equal(normal, changed) {
					t.Fatalf("%q becomes %q, %v", changed, normal[:n], err)
				}
			}
		}
	}
}

func TestNamesLongerThanAnyInDNSAreNotConverted(t *testing.T) {
	longest := strings.Repeat("é.", maxUnicodeName/len("é.")) + "a"
	for _, tc := range []struct {
		host  string
		valid bool
	}{
		{longest, true},
		{longest + ":8080", true},
		{longest + "b", false},
		{longest + "b:8080", false},
		{strings.Repeat("a", 2*maxUnicodeName), true},
		{strings.Repeat("a", 2*maxUnicodeName) + "é", false},
	} {
		got, err := ASCIIHost(tc.host)
		if valid := err == nil; valid != tc.valid || valid && !ascii.IsASCII([]byte(got)) {
			t.Errorf("%d bytes become %d bytes, %v", len(tc.host), len(got), err)
		}
		if _, isBad := err.(BadHostByte); err != nil && (!isBad || len(err.Error()) > 2*maxQuoted) {
			t.Errorf("%d bytes: the error is a %T of %d bytes", len(tc.host), err, len(err.Error()))
		}
	}
}
