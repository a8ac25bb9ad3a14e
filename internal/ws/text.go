package ws

import "unicode/utf8"

// TextCheck checks that text is UTF-8. The text may arrive in pieces. The zero value is at
// the beginning of a text.
type TextCheck struct {
	missing   uint8 // bytes that the last character of the last piece lacks
	low, high uint8 // the range of the first missing byte
}

// Add reports whether the pieces passed so far, including p, can be the beginning of a
// text in UTF-8. After Add returns false, the result of further calls is undefined.
func (t *TextCheck) Add(p []byte) bool {
	for t.missing > 0 {
		if len(p) == 0 {
			return true
		}
		if !t.step(p[0]) {
			return false
		}
		p = p[1:]
	}
	whole := wholeCharacters(p)
	if !utf8.Valid(p[:whole]) {
		return false
	}
	for _, c := range p[whole:] {
		if !t.step(c) {
			return false
		}
	}
	return true
}

// Complete reports whether the text may end here: its last character is complete.
func (t *TextCheck) Complete() bool { return t.missing == 0 }

// wholeCharacters returns the length of p without its last character if that is
// incomplete.
func wholeCharacters(p []byte) int {
	for i := len(p) - 1; i >= 0 && i >= len(p)-3; i-- {
		switch c := p[i]; {
		case c < 0x80:
			return len(p)
		case c < 0xc0:
			continue
		case c >= 0xf0 || c >= 0xe0 && i >= len(p)-2 || i == len(p)-1:
			return i
		default:
			return len(p)
		}
	}
	return len(p)
}

// step checks one byte, with the ranges of RFC 3629 section 4.
func (t *TextCheck) step(c byte) bool {
	if t.missing > 0 {
		if c < t.low || c > t.high {
			return false
		}
		t.missing--
		t.low, t.high = 0x80, 0xbf
		return true
	}
	t.low, t.high = 0x80, 0xbf
	switch {
	case c < 0x80:
	case c < 0xc2:
		return false
	case c < 0xe0:
		t.missing = 1
	case c < 0xf0:
		t.missing = 2
		switch c {
		case 0xe0:
			t.low = 0xa0 // not overlong
		case 0xed:
			t.high = 0x9f // no surrogate
		}
	case c < 0xf5:
		t.missing = 3
		switch c {
		case 0xf0:
			t.low = 0x90 // not overlong
		case 0xf4:
			t.high = 0x8f // at most U+10FFFF
		}
	default:
		return false
	}
	return true
}
