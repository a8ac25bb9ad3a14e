package fasthttp

import "io"

// AppendGzipBytes appends src to dst, encoded with gzip at CompressDefaultCompression, and
// returns the extended slice.
func AppendGzipBytes(dst, src []byte) []byte {
	return AppendGzipBytesLevel(dst, src, CompressDefaultCompression)
}

// AppendGzipBytesLevel is AppendGzipBytes at a level of the caller's choice:
// one of those from CompressNoCompression to CompressBestCompression, or
// CompressHuffmanOnly.
func AppendGzipBytesLevel(dst, src []byte, level int) []byte {
	return appendEncoded(dst, src, codingGzip, level)
}

// WriteGzip is WriteGzipLevel at CompressDefaultCompression.
func WriteGzip(w io.Writer, p []byte) (int, error) {
	return WriteGzipLevel(w, p, CompressDefaultCompression)
}

// WriteGzipLevel writes p to w as a whole gzip stream. It returns how many
// bytes of p were taken, which is all of them unless w fails. The level is
// one of those from CompressNoCompression to CompressBestCompression, or
// CompressHuffmanOnly.
func WriteGzipLevel(w io.Writer, p []byte, level int) (int, error) {
	return writeEncoded(w, p, codingGzip, level)
}

// AppendGunzipBytes appends to dst what the gzip stream src decodes to, and
// returns the extended slice. Where src is malformed, what could be decoded is
// appended nonetheless. More than 256 MiB are refused with ErrBodyTooLarge,
// and nothing is appended then: WriteGunzip has no such limit.
func AppendGunzipBytes(dst, src []byte) ([]byte, error) {
	return appendDecoded(dst, src, codingGzip, helperBound)
}

// WriteGunzip writes to w what the gzip stream p decodes to, piece by piece, and
// returns how many bytes that were. What was decoded before an error is written.
func WriteGunzip(w io.Writer, p []byte) (int, error) {
	return writeDecoded(w, p, codingGzip)
}

// AppendDeflateBytes appends src to dst, encoded with deflate at CompressDefaultCompression, and
// returns the extended slice.
func AppendDeflateBytes(dst, src []byte) []byte {
	return AppendDeflateBytesLevel(dst, src, CompressDefaultCompression)
}

// AppendDeflateBytesLevel is AppendDeflateBytes at a level of the caller's choice:
// one of those from CompressNoCompression to CompressBestCompression, or
// CompressHuffmanOnly.
func AppendDeflateBytesLevel(dst, src []byte, level int) []byte {
	return appendEncoded(dst, src, codingDeflate, level)
}

// WriteDeflate is WriteDeflateLevel at CompressDefaultCompression.
func WriteDeflate(w io.Writer, p []byte) (int, error) {
	return WriteDeflateLevel(w, p, CompressDefaultCompression)
}

// WriteDeflateLevel writes p to w as a whole deflate stream. It returns how many
// bytes of p were taken, which is all of them unless w fails. The level is
// one of those from CompressNoCompression to CompressBestCompression, or
// CompressHuffmanOnly.
func WriteDeflateLevel(w io.Writer, p []byte, level int) (int, error) {
	return writeEncoded(w, p, codingDeflate, level)
}

// AppendInflateBytes appends to dst what the deflate stream src decodes to, and
// returns the extended slice. Where src is malformed, what could be decoded is
// appended nonetheless. More than 256 MiB are refused with ErrBodyTooLarge,
// and nothing is appended then: WriteInflate has no such limit.
//
// The stream may have the header of zlib, as RFC 9110 wants it, or not.
func AppendInflateBytes(dst, src []byte) ([]byte, error) {
	return appendDecoded(dst, src, codingDeflate, helperBound)
}

// WriteInflate writes to w what the deflate stream p decodes to, piece by piece, and
// returns how many bytes that were. The stream may have the header of zlib or not.
// What was decoded before an error is written.
func WriteInflate(w io.Writer, p []byte) (int, error) {
	return writeDecoded(w, p, codingDeflate)
}

// AppendBrotliBytes appends src to dst, encoded with brotli at CompressBrotliDefaultCompression, and
// returns the extended slice.
func AppendBrotliBytes(dst, src []byte) []byte {
	return AppendBrotliBytesLevel(dst, src, CompressBrotliDefaultCompression)
}

// AppendBrotliBytesLevel is AppendBrotliBytes at a level of the caller's choice:
// one of those from CompressBrotliBestSpeed to CompressBrotliBestCompression.
func AppendBrotliBytesLevel(dst, src []byte, level int) []byte {
	return appendEncoded(dst, src, codingBrotli, level)
}

// WriteBrotli is WriteBrotliLevel at CompressBrotliDefaultCompression.
func WriteBrotli(w io.Writer, p []byte) (int, error) {
	return WriteBrotliLevel(w, p, CompressBrotliDefaultCompression)
}

// WriteBrotliLevel writes p to w as a whole brotli stream. It returns how many
// bytes of p were taken, which is all of them unless w fails. The level is
// one of those from CompressBrotliBestSpeed to CompressBrotliBestCompression.
func WriteBrotliLevel(w io.Writer, p []byte, level int) (int, error) {
	return writeEncoded(w, p, codingBrotli, level)
}

// AppendUnbrotliBytes appends to dst what the brotli stream src decodes to, and
// returns the extended slice. Where src is malformed, what could be decoded is
// appended nonetheless. More than 256 MiB are refused with ErrBodyTooLarge,
// and nothing is appended then: WriteUnbrotli has no such limit.
func AppendUnbrotliBytes(dst, src []byte) ([]byte, error) {
	return appendDecoded(dst, src, codingBrotli, helperBound)
}

// WriteUnbrotli writes to w what the brotli stream p decodes to, piece by piece, and
// returns how many bytes that were. What was decoded before an error is written.
func WriteUnbrotli(w io.Writer, p []byte) (int, error) {
	return writeDecoded(w, p, codingBrotli)
}

// AppendZstdBytes appends src to dst, encoded with zstd at CompressZstdDefault, and
// returns the extended slice.
func AppendZstdBytes(dst, src []byte) []byte {
	return AppendZstdBytesLevel(dst, src, CompressZstdDefault)
}

// AppendZstdBytesLevel is AppendZstdBytes at a level of the caller's choice:
// one of those from CompressZstdBestSpeed to CompressZstdBestCompression.
func AppendZstdBytesLevel(dst, src []byte, level int) []byte {
	return appendEncoded(dst, src, codingZstd, level)
}

// WriteZstdLevel writes p to w as a whole zstd stream. It returns how many
// bytes of p were taken, which is all of them unless w fails. The level is
// one of those from CompressZstdBestSpeed to CompressZstdBestCompression.
func WriteZstdLevel(w io.Writer, p []byte, level int) (int, error) {
	return writeEncoded(w, p, codingZstd, level)
}

// AppendUnzstdBytes appends to dst what the zstd stream src decodes to, and
// returns the extended slice. Where src is malformed, what could be decoded is
// appended nonetheless. More than 256 MiB are refused with ErrBodyTooLarge,
// and nothing is appended then: WriteUnzstd has no such limit.
//
// A stream that asks for a window of more than 128 MiB is refused in the same
// way.
func AppendUnzstdBytes(dst, src []byte) ([]byte, error) {
	return appendDecoded(dst, src, codingZstd, helperBound)
}

// WriteUnzstd writes to w what the zstd stream p decodes to, piece by piece, and
// returns how many bytes that were. A stream that asks for a window of more than
// 128 MiB is refused with ErrBodyTooLarge.
func WriteUnzstd(w io.Writer, p []byte) (int, error) {
	return writeDecoded(w, p, codingZstd)
}
