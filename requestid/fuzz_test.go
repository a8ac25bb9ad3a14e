package requestid

import (
	"bytes"
	"regexp"
	"testing"
)

// FuzzAccept compares the check of ids with a pattern.
func FuzzAccept(f *testing.F) {
	for _, id := range []string{"", "12345678", "a-b_c.d~e:f+g/h=i@j", "1234\n5678", "12345678\x00"} {
		f.Add([]byte(id))
	}
	pattern := regexp.MustCompile(`\A[A-Za-z0-9_.~:+/=@-]{8,128}\z`)
	f.Fuzz(func(t *testing.T, id []byte) {
		v := new(value)
		if got, want := v.accept(id), pattern.Match(id); got != want || got && !bytes.Equal(v.id(), id) {
			t.Errorf("%q: %v with %q, want %v", id, got, v.id(), want)
		}
	})
}
