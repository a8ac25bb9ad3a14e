package fasthttp

import (
	"bytes"
	"io"
	"math/rand/v2"
	"strconv"

	"github.com/valyala/fasthttp/internal/ascii"
)

// maxRanges is how many ranges one request may ask for. More are of no use to
// a client that means well, and each costs a part of its own.
const maxRanges = 10

// span is a part of some content.
type span struct{ offset, length int64 }

func (s span) end() int64 { return s.offset + s.length }

// parseRanges reads the value of a Range field for content of size bytes and
// appends what is to be sent to dst, which is empty: nothing where the field is
// to be ignored, since it has another unit or asks for too much. The order is
// the one asked for; ranges that overlap or touch become one (RFC 9110 section
// 15.3.7.2).
//
// It is an error, to be answered with 416, if no byte of the content lies in
// any of the ranges, and if the value is malformed.
func parseRanges(dst []span, value []byte, size int64) ([]span, error) {
	const unit = "bytes="
	if len(value) < len(unit) || !ascii.EqualFoldString(value[:len(unit)], unit) {
		return dst, nil
	}
	list := value[len(unit):]
	if bytes.Count(list, []byte(",")) >= maxRanges {
		return dst, nil
	}
	for more := true; more; {
		var spec []byte
		spec, list, more = bytes.Cut(list, []byte(","))
		if more {
			list = bytes.TrimLeft(list, " \t")
			spec = bytes.TrimRight(spec, " \t")
		}
		start, end, err := parseRangeSpec(spec, int(size))
		switch err {
		case nil:
			dst = addSpan(dst, span{int64(start), int64(end-start) + 1})
		case errRangeUnsatisfiable:
		default:
			return dst, err
		}
	}
	if len(dst) == 0 {
		return dst, errRangeUnsatisfiable
	}
	return dst, nil
}

// addSpan adds s to spans of which no two touch, and keeps it so.
func addSpan(spans []span, s span) []span {
	at := -1
	kept := spans[:0]
	for _, o := range spans {
		if s.offset > o.end() || o.offset > s.end() {
			kept = append(kept, o)
			continue
		}
		if at < 0 {
			at = len(kept)
			kept = append(kept, o)
		}
		start, end := min(s.offset, o.offset), max(s.end(), o.end())
		s = span{start, end - start}
	}
	if at < 0 {
		return append(kept, s)
	}
	kept[at] = s
	return kept
}

// appendContentRange appends the value of a Content-Range field.
func appendContentRange(dst []byte, s span, size int64) []byte {
	dst = append(dst, "bytes "...)
	dst = strconv.AppendInt(dst, s.offset, 10)
	dst = append(dst, '-')
	dst = strconv.AppendInt(dst, s.end()-1, 10)
	dst = append(dst, '/')
	return strconv.AppendInt(dst, size, 10)
}

// appendUnsatisfied appends the Content-Range of a 416 response.
func appendUnsatisfied(dst []byte, size int64) []byte {
	return strconv.AppendInt(append(dst, "bytes */"...), size, 10)
}

// newBoundary returns what separates the parts of a multipart/byteranges body.
// It is long and random enough not to occur in any content.
func newBoundary() string {
	const digits = 16
	b := make([]byte, 0, 2*digits)
	for range 2 {
		v := strconv.AppendUint(nil, rand.Uint64(), 16)
		b = append(append(b, "0000000000000000"[:digits-len(v)]...), v...)
	}
	return string(b)
}

// byteRanges is a multipart/byteranges body (RFC 9110 section 14.6): pieces of
// text between pieces of content.
type byteRanges struct {
	src   io.ReaderAt
	texts []byte // all text, in order
	cuts  []int  // how much of it there is before each span, and at the end
	spans []span // what of them is left
	size  int64  // of the whole body
	close func() error
}

// newByteRanges returns the body with the spans of src, which has contentSize
// bytes. end is called when it is closed.
func newByteRanges(src io.ReaderAt, spans []span, contentSize int64, contentType []byte, boundary string, end func() error) *byteRanges {
	r := &byteRanges{src: src, spans: append([]span(nil), spans...), close: end}
	for i, s := range spans {
		if i > 0 {
			r.texts = append(r.texts, "\r\n"...)
		}
		from := len(r.texts)
		r.texts = append(append(append(r.texts, "--"...), boundary...), "\r\nContent-Type: "...)
		r.texts = append(append(r.texts, contentType...), "\r\nContent-Range: "...)
		r.texts = append(appendContentRange(r.texts, s, contentSize), "\r\n\r\n"...)
		if i > 0 {
			from -= len("\r\n")
		}
		r.cuts = append(r.cuts, len(r.texts)-from)
		r.size += s.length
	}
	r.texts = append(append(append(r.texts, "\r\n--"...), boundary...), "--\r\n"...)
	r.size += int64(len(r.texts))
	return r
}

// Read implements io.Reader.
func (r *byteRanges) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if len(r.cuts) == 0 {
		// the text at the end
		if len(r.texts) == 0 {
			return 0, io.EOF
		}
		n := copy(p, r.texts)
		r.texts = r.texts[n:]
		return n, nil
	}
	if r.cuts[0] > 0 {
		n := copy(p, r.texts[:r.cuts[0]])
		r.texts = r.texts[n:]
		r.cuts[0] -= n
		return n, nil
	}
	s := &r.spans[0]
	n, err := r.src.ReadAt(p[:min(int64(len(p)), s.length)], s.offset)
	s.offset += int64(n)
	s.length -= int64(n)
	if s.length == 0 {
		r.spans, r.cuts = r.spans[1:], r.cuts[1:]
		return n, nil
	}
	if err == io.EOF {
		// the content is shorter than it was
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// Close implements io.Closer.
func (r *byteRanges) Close() error {
	end := r.close
	r.close = nil
	if end == nil {
		return nil
	}
	return end()
}
