package fasthttp

import (
	"bytes"
	"errors"
	"net"
	"time"

	"github.com/valyala/fasthttp/internal/ascii"
	"github.com/valyala/fasthttp/internal/bytesconv"
	"github.com/valyala/fasthttp/internal/field"
	"github.com/valyala/fasthttp/internal/http1"
	"github.com/valyala/fasthttp/internal/httpdate"
	"github.com/valyala/fasthttp/internal/urlencoded"
)

// AppendUint appends n in decimal to dst and returns the extended slice. It
// panics if n is negative.
func AppendUint(dst []byte, n int) []byte { return ascii.AppendUint(dst, n) }

// ParseUint parses all of buf as a number in decimal: one or more digits, and a
// value that fits into an int. With any error the number is -1.
func ParseUint(buf []byte) (int, error) { return ascii.Uint(buf) }

// ParseUfloat parses all of buf as a number in decimal, which may have a plus sign,
// a point and an exponent: 1, 0.5, .5, 1. and 1e-3 are such numbers. The
// hexadecimal form, Inf and NaN are errors. With any error the number is -1.
func ParseUfloat(buf []byte) (float64, error) { return ascii.Ufloat(buf) }

var errIPv4 = errors.New("fasthttp: malformed IPv4 address")

// AppendIPv4 appends ip in dotted decimal form to dst and returns the extended slice.
// If ip is not an IPv4 address, it appends "non-v4 ip passed to AppendIPv4".
func AppendIPv4(dst []byte, ip net.IP) []byte {
	ip = ip.To4()
	if ip == nil {
		return append(dst, "non-v4 ip passed to AppendIPv4"...)
	}
	return ascii.AppendIPv4(dst, [net.IPv4len]byte(ip))
}

// ParseIPv4 parses all of ipStr as an IPv4 address in dotted decimal form. The
// result has four bytes. It uses the memory of dst if dst has a length of four, or is
// empty with a capacity of four or more; otherwise it is allocated. A number with a
// leading zero, which some software takes for octal, is an error. With any error
// ParseIPv4 returns dst unchanged.
func ParseIPv4(dst net.IP, ipStr []byte) (net.IP, error) {
	parts, ok := ascii.ParseIPv4(ipStr)
	if !ok {
		return dst, errIPv4
	}
	if len(dst) == 0 && cap(dst) >= len(parts) {
		dst = dst[:len(parts)]
	}
	if len(dst) != len(parts) {
		dst = make(net.IP, len(parts))
	}
	copy(dst, parts[:])
	return dst, nil
}

// AppendHTTPDate appends date to dst in the form of the fields Date, Last-Modified
// and Expires, "Sun, 06 Nov 1994 08:49:37 GMT", and returns the extended slice. The
// date is converted to GMT and truncated to the second. AppendHTTPDate allocates
// nothing if dst has 29 bytes of room.
func AppendHTTPDate(dst []byte, date time.Time) []byte {
	return httpdate.Append(dst, date)
}

// ParseHTTPDate parses the value of a field such as Date or If-Modified-Since, in
// one of the three formats of RFC 9110 section 5.6.7:
//
//	Sun, 06 Nov 1994 08:49:37 GMT    IMF-fixdate, the format sent today
//	Sunday, 06-Nov-94 08:49:37 GMT   RFC 850
//	Sun Nov  6 08:49:37 1994         asctime
//
// A year of two digits means the latest such year at most 50 years ahead. The day of
// the week must be the name of a day, but need not fit the date. Zones other than GMT
// are errors, except for UTC in the second format.
//
// The location of the time returned has the offset of UTC, and the name GMT if the
// date ends in it. With any error the time is the zero Time. ParseHTTPDate allocates
// nothing.
func ParseHTTPDate(date []byte) (time.Time, error) {
	t, err := httpdate.Parse(date)
	if err == nil && bytes.HasSuffix(date, gmtName) {
		t = t.In(gmt)
	}
	return t, err
}

var gmtName = []byte("GMT")

var gmt = time.FixedZone("GMT", 0)

// AppendHTMLEscape appends s to dst, with the characters <, >, &, " and ' escaped
// for HTML, and returns the extended slice. The result is safe in text and in quoted
// attributes.
func AppendHTMLEscape(dst []byte, s string) []byte {
	return AppendHTMLEscapeBytes(dst, bytesconv.Bytes(s))
}

// AppendHTMLEscapeBytes is AppendHTMLEscape for bytes.
func AppendHTMLEscapeBytes(dst, s []byte) []byte {
	from := 0
	for i, c := range s {
		// letters are greater than all of them
		if c > '>' {
			continue
		}
		if escape := htmlEscape(c); escape != "" {
			dst = append(append(dst, s[from:i]...), escape...)
			from = i + 1
		}
	}
	return append(dst, s[from:]...)
}

// htmlEscape returns the escape of c, or an empty string.
func htmlEscape(c byte) string {
	switch c {
	case '<':
		return "&lt;"
	case '>':
		return "&gt;"
	case '&':
		return "&amp;"
	case '"':
		return "&#34;"
	case '\'':
		return "&#39;"
	}
	return ""
}

// AppendQuotedArg appends src to dst, encoded as a name or value of a query string,
// and returns the extended slice. A space becomes '+', and all other bytes except
// letters, digits and "-._~" become escapes.
func AppendQuotedArg(dst, src []byte) []byte { return urlencoded.AppendArg(dst, src) }

// AppendUnquotedArg decodes src, a name or value of a query string, appends the
// result to dst and returns the extended slice. It keeps a percent sign that begins
// no escape. If dst is src[:0], it decodes in place.
func AppendUnquotedArg(dst, src []byte) []byte { return urlencoded.AppendDecodedArg(dst, src) }

// AppendNormalizedHeaderKey appends the name of a header field to dst in its
// canonical form, and returns the extended slice. The first letter and each letter
// after a hyphen are in upper case, all others in lower case: coNTENT-TYPe becomes
// Content-Type.
//
// A name that is not a token (RFC 9110 section 5.6.2) keeps its case; CR, LF and NUL in
// it become spaces.
func AppendNormalizedHeaderKey(dst []byte, key string) []byte {
	return AppendNormalizedHeaderKeyBytes(dst, bytesconv.Bytes(key))
}

// AppendNormalizedHeaderKeyBytes is AppendNormalizedHeaderKey for bytes.
func AppendNormalizedHeaderKeyBytes(dst, key []byte) []byte {
	start := len(dst)
	dst = append(dst, key...)
	if ascii.IsToken(key) {
		field.Normalize(dst[start:])
	} else {
		http1.Clean(dst[start:])
	}
	return dst
}

// VisitHeaderParams calls f for each parameter of a field value such as
// "text/html; charset=utf-8; q=1" (RFC 9110 section 5.6.6), until f returns
// false. It skips the text before the first semicolon.
//
// It also stops, without an error, at the first malformed parameter: one without an
// equals sign, or with an empty or unfinished value. It skips the text between a
// value and the next semicolon.
//
// If a value is quoted, f gets it without its quotes, but with the backslashes that
// escape other characters. key and value point into b: they are valid as long as b
// is, and must not be modified.
func VisitHeaderParams(b []byte, f func(key, value []byte) bool) { http1.VisitParams(b, f) }
