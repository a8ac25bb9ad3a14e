package files

import (
	"io"
	"math/rand/v2"
	"strconv"
)

// NewBoundary returns the boundary of a multipart/byteranges body. It is long and
// random enough not to occur in any content.
func NewBoundary() string {
	const digits = 16
	b := make([]byte, 0, 2*digits)
	for range 2 {
		v := strconv.AppendUint(nil, rand.Uint64(), 16)
		b = append(append(b, "0000000000000000"[:digits-len(v)]...), v...)
	}
	return string(b)
}

// ByteRanges is a multipart/byteranges body (RFC 9110 section 14.6): pieces of
// text between pieces of content.
type ByteRanges struct {
	Size int64 // of the whole body

	src   io.ReaderAt
	texts []byte // all text, concatenated
	cuts  []int  // the length of the text before each Span, and at the end
	spans []Span // the rest of the spans
	close func() error
}

// NewByteRanges returns the body with the spans of src, which has contentSize
// bytes. Close calls end once.
func NewByteRanges(src io.ReaderAt, spans []Span, contentSize int64, contentType []byte, boundary string, end func() error) *ByteRanges {
	r := &ByteRanges{src: src, spans: append([]Span(nil), spans...), close: end}
	for i, s := range spans {
		if i > 0 {
			r.texts = append(r.texts, "\r\n"...)
		}
		from := len(r.texts)
		r.texts = append(append(append(r.texts, "--"...), boundary...), "\r\nContent-Type: "...)
		r.texts = append(append(r.texts, contentType...), "\r\nContent-Range: "...)
		r.texts = append(AppendContentRange(r.texts, s, contentSize), "\r\n\r\n"...)
		if i > 0 {
			from -= len("\r\n")
		}
		r.cuts = append(r.cuts, len(r.texts)-from)
		r.Size += s.Length
	}
	r.texts = append(append(append(r.texts, "\r\n--"...), boundary...), "--\r\n"...)
	r.Size += int64(len(r.texts))
	return r
}

// Read implements io.Reader.
func (r *ByteRanges) Read(p []byte) (int, error) {
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
	n, err := r.src.ReadAt(p[:min(int64(len(p)), s.Length)], s.Offset)
	s.Offset += int64(n)
	s.Length -= int64(n)
	if s.Length == 0 {
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
func (r *ByteRanges) Close() error {
	end := r.close
	r.close = nil
	if end == nil {
		return nil
	}
	return end()
}
