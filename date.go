package fasthttp

import (
	"bytes"
	"time"

	"github.com/valyala/fasthttp/internal/httpdate"
)

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
