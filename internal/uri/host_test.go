package uri

import (
	"bytes"
	"strings"
	"testing"
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
