package fasthttp

import (
	"io"

	"github.com/valyala/fasthttp/internal/coding"
)

// Levels of compression for gzip and deflate. A level outside of -2 to 9 means
// CompressDefaultCompression.
const (
	CompressNoCompression      = 0
	CompressBestSpeed          = 1
	CompressBestCompression    = 9
	CompressDefaultCompression = 6
	CompressHuffmanOnly        = -2 // no search for repetitions, only short codes for frequent bytes
)

// Levels of compression for brotli. A level outside of 0 to 11 means
// CompressBrotliDefaultCompression, which takes about as long as
// CompressDefaultCompression does with gzip.
const (
	CompressBrotliNoCompression      = 0 // brotli has no such level: this one is the fastest
	CompressBrotliBestSpeed          = 0
	CompressBrotliBestCompression    = 11
	CompressBrotliDefaultCompression = 4
)

// Levels of compression for zstd. CompressZstdSpeedNotSet, and any level missing from
// this list, means CompressZstdDefault.
const (
	CompressZstdSpeedNotSet = iota
	CompressZstdBestSpeed
	CompressZstdDefault
	CompressZstdSpeedBetter
	CompressZstdBestCompression
)

// ErrContentEncodingUnsupported is returned if a body cannot be decoded because its
// Content-Encoding names a coding other than gzip, deflate, br, zstd and identity,
// or more than four codings.
var ErrContentEncodingUnsupported = coding.ErrUnsupported

// AppendGzipBytes appends src to dst, encoded with gzip at CompressDefaultCompression, and
// returns the extended slice.
func AppendGzipBytes(dst, src []byte) []byte {
	return AppendGzipBytesLevel(dst, src, CompressDefaultCompression)
}

// AppendGzipBytesLevel is AppendGzipBytes at a level of the caller's choice, from
// CompressNoCompression to CompressBestCompression, or CompressHuffmanOnly.
func AppendGzipBytesLevel(dst, src []byte, level int) []byte {
	return coding.AppendEncoded(dst, src, coding.Gzip, level)
}

// WriteGzip is WriteGzipLevel at CompressDefaultCompression.
func WriteGzip(w io.Writer, p []byte) (int, error) {
	return WriteGzipLevel(w, p, CompressDefaultCompression)
}

// WriteGzipLevel writes p to w as a whole gzip stream. It returns how many bytes of p
// were taken, which is all of them unless w fails. The level is from
// CompressNoCompression to CompressBestCompression, or CompressHuffmanOnly.
func WriteGzipLevel(w io.Writer, p []byte, level int) (int, error) {
	return coding.WriteEncoded(w, p, coding.Gzip, level)
}

// AppendGunzipBytes decodes the gzip stream src, appends the result to dst and
// returns the extended slice. If src is malformed, the bytes decoded before the
// error are appended. If the result exceeds 256 MiB, nothing is appended and the
// error is ErrBodyTooLarge; WriteGunzip has no such limit.
func AppendGunzipBytes(dst, src []byte) ([]byte, error) {
	return coding.AppendDecoded(dst, src, coding.Gzip, coding.HelperBound())
}

// WriteGunzip decodes the gzip stream p and writes the result to w, piece by piece. It
// returns the number of bytes written, which include the bytes decoded before an error.
func WriteGunzip(w io.Writer, p []byte) (int, error) {
	return coding.WriteDecoded(w, p, coding.Gzip)
}

// AppendDeflateBytes appends src to dst, encoded with deflate at
// CompressDefaultCompression, and returns the extended slice.
func AppendDeflateBytes(dst, src []byte) []byte {
	return AppendDeflateBytesLevel(dst, src, CompressDefaultCompression)
}

// AppendDeflateBytesLevel is AppendDeflateBytes at a level of the caller's choice, from
// CompressNoCompression to CompressBestCompression, or CompressHuffmanOnly.
func AppendDeflateBytesLevel(dst, src []byte, level int) []byte {
	return coding.AppendEncoded(dst, src, coding.Deflate, level)
}

// WriteDeflate is WriteDeflateLevel at CompressDefaultCompression.
func WriteDeflate(w io.Writer, p []byte) (int, error) {
	return WriteDeflateLevel(w, p, CompressDefaultCompression)
}

// WriteDeflateLevel writes p to w as a whole deflate stream. It returns how many bytes
// of p were taken, which is all of them unless w fails. The level is from
// CompressNoCompression to CompressBestCompression, or CompressHuffmanOnly.
func WriteDeflateLevel(w io.Writer, p []byte, level int) (int, error) {
	return coding.WriteEncoded(w, p, coding.Deflate, level)
}

// AppendInflateBytes decodes the deflate stream src, appends the result to dst and
// returns the extended slice. If src is malformed, the bytes decoded before the
// error are appended. If the result exceeds 256 MiB, nothing is appended and the
// error is ErrBodyTooLarge; WriteInflate has no such limit.
//
// The stream may have the zlib header, which RFC 9110 section 8.4.1.2 requires, or
// not.
func AppendInflateBytes(dst, src []byte) ([]byte, error) {
	return coding.AppendDecoded(dst, src, coding.Deflate, coding.HelperBound())
}

// WriteInflate decodes the deflate stream p, with or without the zlib header, and
// writes the result to w, piece by piece. It returns the number of bytes written, which
// include the bytes decoded before an error.
func WriteInflate(w io.Writer, p []byte) (int, error) {
	return coding.WriteDecoded(w, p, coding.Deflate)
}

// AppendBrotliBytes appends src to dst, encoded with brotli at
// CompressBrotliDefaultCompression, and returns the extended slice.
func AppendBrotliBytes(dst, src []byte) []byte {
	return AppendBrotliBytesLevel(dst, src, CompressBrotliDefaultCompression)
}

// AppendBrotliBytesLevel is AppendBrotliBytes at a level of the caller's choice, from
// CompressBrotliBestSpeed to CompressBrotliBestCompression.
func AppendBrotliBytesLevel(dst, src []byte, level int) []byte {
	return coding.AppendEncoded(dst, src, coding.Brotli, level)
}

// WriteBrotli is WriteBrotliLevel at CompressBrotliDefaultCompression.
func WriteBrotli(w io.Writer, p []byte) (int, error) {
	return WriteBrotliLevel(w, p, CompressBrotliDefaultCompression)
}

// WriteBrotliLevel writes p to w as a whole brotli stream. It returns how many bytes of
// p were taken, which is all of them unless w fails. The level is from
// CompressBrotliBestSpeed to CompressBrotliBestCompression.
func WriteBrotliLevel(w io.Writer, p []byte, level int) (int, error) {
	return coding.WriteEncoded(w, p, coding.Brotli, level)
}

// AppendUnbrotliBytes decodes the brotli stream src, appends the result to dst and
// returns the extended slice. If src is malformed, the bytes decoded before the
// error are appended. If the result exceeds 256 MiB, nothing is appended and the
// error is ErrBodyTooLarge; WriteUnbrotli has no such limit.
func AppendUnbrotliBytes(dst, src []byte) ([]byte, error) {
	return coding.AppendDecoded(dst, src, coding.Brotli, coding.HelperBound())
}

// WriteUnbrotli decodes the brotli stream p and writes the result to w, piece by piece.
// It returns the number of bytes written, which include the bytes decoded before an
// error.
func WriteUnbrotli(w io.Writer, p []byte) (int, error) {
	return coding.WriteDecoded(w, p, coding.Brotli)
}

// AppendZstdBytes appends src to dst, encoded with zstd at CompressZstdDefault, and
// returns the extended slice.
func AppendZstdBytes(dst, src []byte) []byte {
	return AppendZstdBytesLevel(dst, src, CompressZstdDefault)
}

// AppendZstdBytesLevel is AppendZstdBytes at a level of the caller's choice, from
// CompressZstdBestSpeed to CompressZstdBestCompression.
func AppendZstdBytesLevel(dst, src []byte, level int) []byte {
	return coding.AppendEncoded(dst, src, coding.Zstd, level)
}

// WriteZstdLevel writes p to w as a whole zstd stream. It returns how many bytes of p
// were taken, which is all of them unless w fails. The level is from
// CompressZstdBestSpeed to CompressZstdBestCompression.
func WriteZstdLevel(w io.Writer, p []byte, level int) (int, error) {
	return coding.WriteEncoded(w, p, coding.Zstd, level)
}

// AppendUnzstdBytes decodes the zstd stream src, appends the result to dst and
// returns the extended slice. If src is malformed, the bytes decoded before the
// error are appended. If the result exceeds 256 MiB, nothing is appended and the
// error is ErrBodyTooLarge; WriteUnzstd has no such limit. A stream that asks for a
// window of more than 128 MiB is refused with ErrBodyTooLarge, too. Unlike the other
// codings, zstd takes an empty src for a stream of no frames: the result is empty.
func AppendUnzstdBytes(dst, src []byte) ([]byte, error) {
	return coding.AppendDecoded(dst, src, coding.Zstd, coding.HelperBound())
}

// WriteUnzstd decodes the zstd stream p and writes the result to w, piece by piece.
// It returns the number of bytes written. A stream that asks for a window of more
// than 128 MiB is refused with ErrBodyTooLarge.
func WriteUnzstd(w io.Writer, p []byte) (int, error) {
	return coding.WriteDecoded(w, p, coding.Zstd)
}
