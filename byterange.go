package fasthttp

import (
	"bytes"
	"errors"
	"math"

	"github.com/valyala/fasthttp/internal/ascii"
)

// What can be wrong with a range. RFC 9110 section 14.2 has the first two
// ignored, and the third answered with status 416.
var (
	errRangeUnit          = errors.New("fasthttp: range is not in bytes")
	errRangeSyntax        = errors.New("fasthttp: malformed byte range")
	errRangeUnsatisfiable = errors.New("fasthttp: byte range lies outside of the content")
)

// ParseByteRange reads the value of a Range field that asks for one range of
// contentLength bytes: "bytes=0-99", "bytes=100-" or, for the last ones,
// "bytes=-100" (RFC 9110 section 14.1.2). It returns the positions of the first
// and the last byte; a range that ends behind the content ends with it.
//
// It is an error if the value asks for several ranges, has another unit, or if
// no byte of the content lies in the range: so it always is where there is no
// content.
func ParseByteRange(byteRange []byte, contentLength int) (startPos, endPos int, err error) {
	const unit = "bytes"
	if len(byteRange) < len(unit) || string(byteRange[:len(unit)]) != unit && !ascii.EqualFoldString(byteRange[:len(unit)], unit) {
		return 0, 0, errRangeUnit
	}
	spec := byteRange[len(unit):]
	if len(spec) == 0 || spec[0] != '=' {
		return 0, 0, errRangeSyntax
	}
	return parseRangeSpec(spec[1:], contentLength)
}

// parseRangeSpec reads one range, without its unit.
func parseRangeSpec(spec []byte, contentLength int) (start, end int, err error) {
	dash := bytes.IndexByte(spec, '-')
	if dash < 0 || len(spec) == 1 {
		return 0, 0, errRangeSyntax
	}
	first, last := spec[:dash], spec[dash+1:]
	start, startOK := rangeNumber(first)
	end, endOK := rangeNumber(last)
	switch {
	case !startOK || !endOK:
		return 0, 0, errRangeSyntax
	case len(first) == 0:
		// end is how many of the last bytes are asked for
		if end == 0 || contentLength <= 0 {
			return 0, 0, errRangeUnsatisfiable
		}
		return max(contentLength-end, 0), contentLength - 1, nil
	case start > end:
		return 0, 0, errRangeSyntax
	case start >= contentLength:
		return 0, 0, errRangeUnsatisfiable
	}
	return start, min(end, contentLength-1), nil
}

// rangeNumber reads digits. A number that is too large is as good as the
// largest one, since no content is as long; so is none at all, which stands for
// the end of the content.
func rangeNumber(digits []byte) (n int, ok bool) {
	if n, ok = ascii.ParseUint(digits); ok {
		return n, true
	}
	return math.MaxInt, ascii.All(digits, ascii.Digit)
}
