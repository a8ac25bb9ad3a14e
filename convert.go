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
	"github.com/valyala/fasthttp/internal/percent"
)

// AppendUint appends n in decimal to dst and returns the extended slice. It
// panics if n is negative.
func AppendUint(dst []byte, n int) []byte { return ascii.AppendUint(dst, n) }

// ParseUint reads all of buf as a number in decimal: digits only, at least
// one, and a value that an int holds. With any error the number is -1.
func ParseUint(buf []byte) (int, error) { return ascii.Uint(buf) }

// ParseUfloat reads all of buf as a number in decimal, which may have a point
// and an exponent, as 1, 0.5, .5, 1. and 1e-3 have. A plus sign may come first.
// The hexadecimal form, Inf and NaN are no numbers here. With any error the
// result is -1.
func ParseUfloat(buf []byte) (float64, error) { return ascii.Ufloat(buf) }

var errIPv4 = errors.New("fasthttp: malformed IPv4 address")

// AppendIPv4 appends ip in dotted decimal form to dst and returns the extended
// slice. If ip is no IPv4 address, a text that says so is appended.
func AppendIPv4(dst []byte, ip net.IP) []byte {
	ip = ip.To4()
	if ip == nil {
		return append(dst, "non-v4 ip passed to AppendIPv4"...)
	}
	return ascii.AppendIPv4(dst, [net.IPv4len]byte(ip))
}

// ParseIPv4 reads all of ipStr as an IPv4 address in dotted decimal form. The
// result has four bytes and lies in dst if that has a length of four, or none
// and room for four; otherwise it is new. Numbers have no leading zeros, which
// some software takes for octal. With an error dst is returned as it was.
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

// AppendHTTPDate appends date to dst in the form that Date, Last-Modified,
// Expires and the like have, "Sun, 06 Nov 1994 08:49:37 GMT", and returns the
// extended slice. The date is converted to GMT and cut off to the whole
// second. Nothing is allocated if dst has 29 bytes of room.
func AppendHTTPDate(dst []byte, date time.Time) []byte {
	return httpdate.Append(dst, date)
}

// ParseHTTPDate reads the value of a field such as Date or If-Modified-Since.
// It understands the three formats that RFC 9110 section 5.6.7 asks for:
//
//	Sun, 06 Nov 1994 08:49:37 GMT    IMF-fixdate, the one that is sent today
//	Sunday, 06-Nov-94 08:49:37 GMT   RFC 850
//	Sun Nov  6 08:49:37 1994         asctime
//
// A year of two digits is taken for the latest one that lies no more than 50
// years ahead. The day of the week has to be one, but need not fit the date.
// Zones other than GMT are refused, save UTC in the second format.
//
// The location of the time returned is UTC, called GMT if the date says so. If the
// text is no such date there is an error, and the time is the zero Time.
// ParseHTTPDate allocates nothing.
func ParseHTTPDate(date []byte) (time.Time, error) {
	t, err := httpdate.Parse(date)
	if err == nil && bytes.HasSuffix(date, gmtName) {
		t = t.In(gmt)
	}
	return t, err
}

var gmtName = []byte("GMT")

var gmt = time.FixedZone("GMT", 0)

// AppendHTMLEscape appends s to dst, with those characters replaced that mean
// something in HTML, and returns the extended slice. The result may stand in
// text and in quoted attributes.
func AppendHTMLEscape(dst []byte, s string) []byte {
	return AppendHTMLEscapeBytes(dst, bytesconv.Bytes(s))
}

// AppendHTMLEscapeBytes is AppendHTMLEscape for bytes.
func AppendHTMLEscapeBytes(dst, s []byte) []byte {
	for {
		i := bytes.IndexAny(s, `<>&"'`)
		if i < 0 {
			return append(dst, s...)
		}
		dst = append(append(dst, s[:i]...), htmlEscape(s[i])...)
		s = s[i+1:]
	}
}

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
	}
	return "&#39;"
}

// AppendQuotedArg appends src, encoded as a name or value of a query string, to
// dst and returns the extended slice: a space becomes '+', and all other bytes
// but letters, digits and "-._~" become escapes.
func AppendQuotedArg(dst, src []byte) []byte { return percent.AppendArg(dst, src) }

// AppendUnquotedArg appends what src, a name or value of a query string, stands
// for to dst and returns the extended slice. A percent sign that begins no
// escape is kept. dst may be src[:0], which decodes in place.
func AppendUnquotedArg(dst, src []byte) []byte { return percent.AppendDecodedArg(dst, src) }

// AppendNormalizedHeaderKey appends the name of a header field in its usual form
// to dst and returns the extended slice. The first letter and those behind a
// hyphen are in upper case, and all others in lower case: coNTENT-TYPe becomes
// Content-Type.
//
// A name that holds something else than RFC 9110 lets stand in one keeps its
// case; line breaks and NUL in it become spaces.
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
// false. What stands before the first semicolon is passed over.
//
// It also ends, without saying so, at the first parameter that is malformed: one
// without an equals sign, or with an empty or unfinished value. What stands
// behind a value, up to the next semicolon, is passed over.
//
// A value may be quoted, and f gets it without its quotes; backslashes that are
// in front of other characters there are left in place. key and value are pieces
// of b: valid as long as that is, and not to be written to.
func VisitHeaderParams(b []byte, f func(key, value []byte) bool) { http1.VisitParams(b, f) }
