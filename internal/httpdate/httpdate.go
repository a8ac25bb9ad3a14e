// Package httpdate formats and parses the dates of HTTP (RFC 9110 section 5.6.7).
// It writes one format, and parses the three that recipients must accept as well as
// the many forms that cookies have.
//
// This file formats dates; parse.go parses HTTP dates, and cookie.go cookie dates.
package httpdate

import "time"

// Len is the length of every date that Append writes for the years 0 to 9999.
const Len = len("Sun, 06 Nov 1994 08:49:37 GMT")

const (
	shortDays   = "SunMonTueWedThuFriSat"
	shortMonths = "JanFebMarAprMayJunJulAugSepOctNovDec"
)

// Append appends t as an IMF-fixdate in GMT to dst, truncated to the second, and
// returns the extended slice. A year that does not fit into four digits is written
// with as many as it needs; recipients do not accept that as a date.
func Append(dst []byte, t time.Time) []byte {
	t = t.UTC()
	year, month, day := t.Date()
	if year < 0 || year > 9999 {
		return t.AppendFormat(dst, "Mon, 02 Jan 2006 15:04:05 GMT")
	}
	hour, minute, second := t.Clock()
	weekday := 3 * int(t.Weekday())
	month = 3 * (month - 1)

	dst = append(dst, shortDays[weekday:weekday+3]...)
	dst = append(dst, ',', ' ')
	dst = appendTwo(dst, day)
	dst = append(dst, ' ')
	dst = append(dst, shortMonths[month:month+3]...)
	dst = append(dst, ' ')
	dst = appendTwo(dst, year/100)
	dst = appendTwo(dst, year%100)
	dst = append(dst, ' ')
	dst = appendTwo(dst, hour)
	dst = append(dst, ':')
	dst = appendTwo(dst, minute)
	dst = append(dst, ':')
	dst = appendTwo(dst, second)
	return append(dst, " GMT"...)
}

// appendTwo appends n, which is between 0 and 99, in two digits.
func appendTwo(dst []byte, n int) []byte {
	return append(dst, byte('0'+n/10), byte('0'+n%10))
}
