package fasthttp

import "github.com/valyala/fasthttp/internal/files"

// ParseByteRange reads the value of a Range field that asks for one range of
// contentLength bytes: "bytes=0-99", "bytes=100-" or, for the last ones,
// "bytes=-100" (RFC 9110 section 14.1.2). It returns the positions of the first
// and the last byte; a range that ends behind the content ends with it.
//
// It is an error if the value asks for several ranges, has another unit, or if
// no byte of the content lies in the range: so it always is where there is no
// content.
func ParseByteRange(byteRange []byte, contentLength int) (startPos, endPos int, err error) {
	return files.ParseByteRange(byteRange, contentLength)
}
