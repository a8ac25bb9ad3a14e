package httpdate

import (
	"time"

	"github.com/valyala/fasthttp/internal/ascii"
)

// FirstCookieYear is the first year that clients understand in the date of a cookie
// (RFC 6265 section 5.1.1).
const FirstCookieYear = 1601

// ParseCookie parses a date by the rules of RFC 6265 section 5.1.1, which clients
// apply to the Expires attribute. These rules accept the parts of a date in almost
// any order and form. The result is in UTC, and not before FirstCookieYear; ok
// reports whether text is a date.
//
// ParseCookie does not keep text, and allocates nothing.
func ParseCookie(text []byte) (t time.Time, ok bool) {
	if t, ok := ParseUsual(text); ok && t.Year() >= FirstCookieYear {
		return t, true
	}
	var d cookieDate
	for pos := 0; pos < len(text); {
		if isCookieDateDelimiter(text[pos]) {
			pos++
			continue
		}
		end := pos
		for end < len(text) && !isCookieDateDelimiter(text[end]) {
			end++
		}
		d.parseWord(text[pos:end])
		pos = end
	}
	return d.time()
}

// isCookieDateDelimiter reports whether c separates the words of a date.
func isCookieDateDelimiter(c byte) bool {
	return c == '\t' || c >= ' ' && c < 0x7f && c != ':' && !ascii.Is(c, ascii.Alpha|ascii.Digit)
}

// cookieDate holds the parts of a date that were found so far.
type cookieDate struct {
	hour, minute, second     int
	day, year                int
	month                    time.Month
	hasTime, hasDay, hasYear bool
}

// parseWord handles the next word. The first word that can be the time of day is taken
// as the time; likewise the day, the month and the year, in this order.
func (d *cookieDate) parseWord(word []byte) {
	if !d.hasTime && d.parseTimeOfDay(word) {
		return
	}
	if n, digits := leadingNumber(word); !d.hasDay && (digits == 1 || digits == 2) {
		d.day, d.hasDay = n, true
		return
	}
	if d.month == 0 {
		if d.month = cookieMonth(word); d.month != 0 {
			return
		}
	}
	if n, digits := leadingNumber(word); !d.hasYear && digits >= 2 && digits <= 4 {
		switch {
		case n < 70:
			n += 2000
		case n < 100:
			n += 1900
		}
		d.year, d.hasYear = n, true
	}
}

// parseTimeOfDay parses hours, minutes and seconds of one or two digits each.
func (d *cookieDate) parseTimeOfDay(word []byte) bool {
	var parts [3]int
	for i := range parts {
		n, digits := leadingNumber(word)
		if digits == 0 || digits > 2 {
			return false
		}
		word = word[digits:]
		if i < 2 {
			if len(word) == 0 || word[0] != ':' {
				return false
			}
			word = word[1:]
		}
		parts[i] = n
	}
	d.hour, d.minute, d.second = parts[0], parts[1], parts[2]
	d.hasTime = true
	return true
}

// time returns the date if it is complete and exists.
func (d *cookieDate) time() (t time.Time, ok bool) {
	if !d.hasTime || !d.hasDay || d.month == 0 || !d.hasYear ||
		d.year < FirstCookieYear || d.hour > 23 || d.minute > 59 || d.second > 59 {
		return time.Time{}, false
	}
	t = time.Date(d.year, d.month, d.day, d.hour, d.minute, d.second, 0, time.UTC)
	if t.Day() != d.day {
		// time.Date moves a day that the month does not have into the next month
		return time.Time{}, false
	}
	return t, true
}

// leadingNumber parses the digits at the start of word. Its value does not matter
// if there are more than four digits: no part of a date has so many.
func leadingNumber(word []byte) (n, digits int) {
	for digits < len(word) && ascii.Is(word[digits], ascii.Digit) {
		if digits < 4 {
			n = n*10 + int(word[digits]-'0')
		}
		digits++
	}
	return n, digits
}

// cookieMonth returns the month that the first three letters of word name, or 0.
func cookieMonth(word []byte) time.Month {
	if len(word) < 3 {
		return 0
	}
	const names = "janfebmaraprmayjunjulaugsepoctnovdec"
	for m := range 12 {
		if ascii.EqualFoldString(word[:3], names[3*m:3*m+3]) {
			return time.Month(m + 1)
		}
	}
	return 0
}
