package fasthttp

import (
	"io"

	"github.com/valyala/fasthttp/internal/ascii"
)

// decodeForm returns a reader of what in holds without the content coding, or in
// itself where it has none. release must be called when it was read.
//
// A form with more than one coding is not understood: each of them can make it a
// thousand times larger, and no client sends one.
func decodeForm(in io.Reader, encoding []byte, limit int64) (decoded io.Reader, release func(), err error) {
	encoding = ascii.Trim(encoding)
	if len(encoding) == 0 {
		return in, func() {}, nil
	}
	coding, ok := codingNamed(encoding)
	switch {
	case !ok:
		return nil, nil, ErrContentEncodingUnsupported
	case coding == codingIdentity:
		return in, func() {}, nil
	}
	d := newDecoder(coding, in, contentBound(int(limit)))
	return d, d.release, nil
}
