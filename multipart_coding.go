package fasthttp

import (
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/valyala/fasthttp/internal/ascii"
)

// maxDecodedForm limits what a form with a content coding may grow to, in
// bytes, where the caller gave no limit: a few bytes can become anything.
const maxDecodedForm = 256 << 20

// decodeForm returns a reader of what in holds without the content coding, or
// in itself where it has none. release must be called when it was read.
func decodeForm(in io.Reader, coding []byte) (decoded io.Reader, release func(), err error) {
	if len(coding) == 0 || ascii.EqualFoldString(coding, "identity") {
		return in, func() {}, nil
	}
	if !ascii.EqualFoldString(coding, "gzip") {
		return nil, nil, fmt.Errorf("unsupported content-encoding: %q", coding)
	}
	r, err := gzip.NewReader(in)
	if err != nil {
		return nil, nil, err
	}
	return r, func() { _ = r.Close() }, nil
}
