package ws

import (
	"testing"
	"unicode/utf8"
)

// checkText passes text to a TextCheck in pieces, cut at the given places.
func checkText(p []byte, cuts ...int) (valid, complete bool) {
	var c TextCheck
	from := 0
	for _, at := range append(cuts, len(p)) {
		if !c.Add(p[from:at]) {
			return false, false
		}
		from = at
	}
	return true, c.Complete()
}

// All texts of up to four bytes at the limits of validity, and with other characters
// around them, cut anywhere.
func TestTextIsChecked(t *testing.T) {
	edges := []byte("\x00\x7f\x80\x8f\x90\x9f\xa0\xbf\xc0\xc1\xc2\xdf\xe0\xe1\xec\xed\xee\xef\xf0\xf1\xf3\xf4\xf5\xff")
	var check func(p []byte, more int)
	check = func(p []byte, more int) {
		valid := modelText(p)
		complete := utf8.Valid(p)
		for cut := range len(p) + 1 {
			gotValid, gotComplete := checkText(p, cut)
			if gotValid != valid || valid && gotComplete != complete {
				t.Fatalf("%x cut at %d: %v and %v, want %v and %v", p, cut, gotValid, gotComplete, valid, complete)
			}
		}
		if more > 0 {
			for _, c := range edges {
				check(append(p[:len(p):len(p)], c), more-1)
			}
		}
	}
	check(nil, 4)
	for _, around := range []string{"", "a", "abcdefghij", "日本語", "é"} {
		for _, c := range []string{"a", "é", "日", "\U0001f600", "\xe6\x97", "\xf0\x9f\x98", "\xc3", "\x80", "\xed\xa0\x80"} {
			p := []byte(around + c + around)
			for i := range len(p) + 1 {
				for j := i; j <= len(p); j++ {
					if valid, complete := checkText(p, i, j); valid != modelText(p) || valid && complete != utf8.Valid(p) {
						t.Errorf("%x cut at %d and %d: %v and %v", p, i, j, valid, complete)
					}
				}
			}
		}
	}
}

func FuzzTextCheck(f *testing.F) {
	f.Add([]byte("κόσμε 日本 \U0001f600"), uint16(3), uint16(2))
	f.Add([]byte("\xed\xa0\x80"), uint16(1), uint16(1))
	f.Add([]byte("a\xf4\x90\x80\x80"), uint16(2), uint16(0))
	f.Fuzz(func(t *testing.T, p []byte, cut, more uint16) {
		i := min(int(cut), len(p))
		j := min(i+int(more), len(p))
		if valid, complete := checkText(p, i, j); valid != modelText(p) || valid && complete != utf8.Valid(p) {
			t.Errorf("%x cut at %d and %d: %v and %v", p, i, j, valid, complete)
		}
	})
}
