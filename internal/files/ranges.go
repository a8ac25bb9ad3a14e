package files

import (
	"bytes"
	"errors"
	"math"
	"strconv"

	"github.com/valyala/fasthttp/internal/ascii"
)

// The errors of a range. RFC 9110 section 14.2 requires the first two to be ignored, and the
// third to be answered with status 416.
var (
	errRangeUnit          = errors.New("fasthttp: range is not in bytes")
	errRangeSyntax        = errors.New("fasthttp: malformed byte range")
	errRangeUnsatisfiable = errors.New("fasthttp: byte range lies outside of the content")
)

// MaxRanges is the largest number of ranges in one request. A well-behaved client needs no
// more, and each range needs a part of the response.
const MaxRanges = 10

// Span is a part of some content: Length bytes from Offset on.
type Span struct{ Offset, Length int64 }

// End returns the offset of the first byte after the span.
func (s Span) End() int64 { return s.Offset + s.Length }

// ParseRanges parses the value of a Range field for content of size bytes, and appends the
// spans to send to dst, which is empty. It appends nothing if the field must be ignored,
// because it has another unit, or requests too much or nothing. The order is the requested
// one; ranges that overlap or touch are merged (RFC 9110 section 15.3.7.2).
//
// It is an error, to be answered with 416, if no byte of the content is in any of the ranges,
// and if the value is malformed.
func ParseRanges(dst []Span, value []byte, size int64) ([]Span, error) {
	const unit = "bytes="
	if len(value) < len(unit) || !ascii.EqualFoldString(value[:len(unit)], unit) {
		return dst, nil
	}
	list, asked := value[len(unit):], false
	if bytes.Count(list, []byte(",")) >= MaxRanges {
		return dst, nil
	}
	for more := true; more; {
		var spec []byte
		spec, list, more = bytes.Cut(list, []byte(","))
		if more {
			list = bytes.TrimLeft(list, " \t")
			spec = bytes.TrimRight(spec, " \t")
		}
		if len(spec) == 0 {
			// a list may have empty elements (RFC 9110 section 5.6.1.2)
			continue
		}
		asked = true
		start, end, err := parseRangeSpec(spec, size)
		switch err {
		case nil:
			dst = addSpan(dst, Span{start, end - start + 1})
		case errRangeUnsatisfiable:
		default:
			return dst, err
		}
	}
	if len(dst) == 0 && asked {
		return dst, errRangeUnsatisfiable
	}
	return dst, nil
}

// addSpan adds s to spans, no two of which touch, and preserves that.
func addSpan(spans []Span, s Span) []Span {
	at := -1
	kept := spans[:0]
	for _, o := range spans {
		if s.Offset > o.End() || o.Offset > s.End() {
			kept = append(kept, o)
			continue
		}
		if at < 0 {
			at = len(kept)
			kept = append(kept, o)
		}
		start, end := min(s.Offset, o.Offset), max(s.End(), o.End())
		s = Span{start, end - start}
	}
	if at < 0 {
		return append(kept, s)
	}
	kept[at] = s
	return kept
}

// AppendContentRange appends the value of a Content-Range field.
func AppendContentRange(dst []byte, s Span, size int64) []byte {
	dst = append(dst, "bytes "...)
	dst = strconv.AppendInt(dst, s.Offset, 10)
	dst = append(dst, '-')
	dst = strconv.AppendInt(dst, s.End()-1, 10)
	dst = append(dst, '/')
	return strconv.AppendInt(dst, size, 10)
}

// AppendUnsatisfied appends the Content-Range of a 416 response.
func AppendUnsatisfied(dst []byte, size int64) []byte {
	return strconv.AppendInt(append(dst, "bytes */"...), size, 10)
}

// ParseByteRange parses the value of a Range field with one range of size bytes, and returns
// the positions of its first and its last byte.
func ParseByteRange(value []byte, size int) (start, end int, err error) {
	const unit = "bytes"
	if len(value) < len(unit) || string(value[:len(unit)]) != unit && !ascii.EqualFoldString(value[:len(unit)], unit) {
		return 0, 0, errRangeUnit
	}
	spec := value[len(unit):]
	if len(spec) == 0 || spec[0] != '=' {
		return 0, 0, errRangeSyntax
	}
	first, last, err := parseRangeSpec(spec[1:], int64(size))
	return int(first), int(last), err
}

// parseRangeSpec parses one range, without its unit.
func parseRangeSpec(spec []byte, size int64) (start, end int64, err error) {
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
		// end is the number of requested last bytes
		if end == 0 || size <= 0 {
			return 0, 0, errRangeUnsatisfiable
		}
		return max(size-end, 0), size - 1, nil
	case start > end:
		return 0, 0, errRangeSyntax
	case start >= size:
		return 0, 0, errRangeUnsatisfiable
	}
	return start, min(end, size-1), nil
}

// rangeNumber parses digits. Too large a number counts as the largest one, since no
// content is as long. So does a missing number, which means the end of the content.
func rangeNumber(digits []byte) (n int64, ok bool) {
	if len(digits) == 0 {
		return math.MaxInt64, true
	}
	var u uint64
	for _, c := range digits {
		switch d := c - '0'; {
		case d > 9:
			return 0, false
		case u > math.MaxInt64/10:
			u = math.MaxInt64
		default:
			u = min(u*10+uint64(d), math.MaxInt64)
		}
	}
	return int64(u), true
}
