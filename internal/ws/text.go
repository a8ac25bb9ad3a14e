package ws

import "unicode/utf8"

// TextCheck checks that text which arrives in pieces is UTF-8. The zero value is at the
// beginning of a text.
type TextCheck struct {
	missing   uint8 // how many bytes the character at the end of the last piece lacks
	low, high uint8 // the range of the first of them
}

// Add reports whether what was passed to it until now, p included, can be the beginning of
// a text in UTF-8. After a false, the result of further calls is undefined.
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

// Complete reports whether the text may end here: no character lacks a part.
func (t *TextCheck) Complete() bool { return t.missing == 0 }

// wholeCharacters returns the length of p without the character at its end, if a part of
// that is missing.
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

// step takes one byte: the ranges are those of RFC 3629 section 4.
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
