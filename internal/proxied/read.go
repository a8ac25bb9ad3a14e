package proxied

import (
	"io"

	"github.com/valyala/fasthttp/internal/netio"
)

// Read reads a header, and no byte after it.
func Read(r io.Reader) (Header, error) {
	var small [256]byte // large enough for every header without extensions
	b := small[:0]
	for {
		size, err := Size(b)
		if err != nil {
			return Header{}, err
		}
		had := len(b)
		if size <= had {
			return Parse(b)
		}
		if size > cap(b) {
			b = append(make([]byte, 0, size), b...)
		}
		n, err := netio.Some(r, b[had:size])
		if n == 0 {
			if err == io.EOF && had > 0 {
				err = io.ErrUnexpectedEOF
			}
			return Header{}, err
		}
		b = b[:had+n]
	}
}
