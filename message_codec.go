package fasthttp

import (
	"bufio"
	"bytes"

	"github.com/valyala/fasthttp/internal/ascii"
	"github.com/valyala/fasthttp/internal/bytesconv"
	"github.com/valyala/fasthttp/internal/coding"
	"github.com/valyala/fasthttp/internal/field"
)

// The methods that decode a body return a new slice, which is the caller's.
// They leave the body as it is, except that a body stream is read to its end.
//
// Those without a limit of the caller's refuse what decodes to more bytes than
// the body itself was allowed to have. For a request of a server that is
// Server.MaxRequestBodySize, or what Server.HeaderReceived gave for it, or the
// default of 4 MiB; for one that ReadLimitBody has read, its limit; and 256 MiB for
// a body that had none. All of them fail with ErrBodyTooLarge, and take no memory
// for what they refuse beyond 16 MiB and the tables of a decoder.

// BodyGunzip returns what the body decodes to from gzip. It fails with
// ErrBodyTooLarge where that is more bytes than the body itself was allowed to
// have: Server.MaxRequestBodySize, 4 MiB by default, or what Server.HeaderReceived
// gave for the request. For a body that was not read under a limit that is
// 256 MiB. Use BodyGunzipWithLimit for more. The result is a new slice.
func (req *Request) BodyGunzip() ([]byte, error) {
	return req.decoded(coding.Gzip, coding.ContentBound(req.body.limit))
}

// BodyGunzipWithLimit is BodyGunzip that fails with ErrBodyTooLarge where the
// result would be larger than maxBodySize bytes; 0 or less stands for no limit.
func (req *Request) BodyGunzipWithLimit(maxBodySize int) ([]byte, error) {
	return req.decoded(coding.Gzip, coding.ExplicitBound(maxBodySize))
}

// BodyInflate returns what the body decodes to from deflate, with the header of
// zlib or without it. Its limit is that of BodyGunzip.
func (req *Request) BodyInflate() ([]byte, error) {
	return req.decoded(coding.Deflate, coding.ContentBound(req.body.limit))
}

// BodyInflateWithLimit is BodyInflate with the limit of BodyGunzipWithLimit.
func (req *Request) BodyInflateWithLimit(maxBodySize int) ([]byte, error) {
	return req.decoded(coding.Deflate, coding.ExplicitBound(maxBodySize))
}

// BodyUnbrotli returns what the body decodes to from brotli. Its limit is that
// of BodyGunzip.
func (req *Request) BodyUnbrotli() ([]byte, error) {
	return req.decoded(coding.Brotli, coding.ContentBound(req.body.limit))
}

// BodyUnbrotliWithLimit is BodyUnbrotli with the limit of BodyGunzipWithLimit.
func (req *Request) BodyUnbrotliWithLimit(maxBodySize int) ([]byte, error) {
	return req.decoded(coding.Brotli, coding.ExplicitBound(maxBodySize))
}

// BodyUnzstd returns what the body decodes to from zstd. Its limit is that of
// BodyGunzip; a body that asks for a window of more than 8 MiB, which RFC 9659
// forbids, is too large as well.
func (req *Request) BodyUnzstd() ([]byte, error) {
	return req.decoded(coding.Zstd, coding.ContentBound(req.body.limit))
}

// BodyUnzstdWithLimit is BodyUnzstd with the limit of BodyGunzipWithLimit. The
// window may be as large as the limit, rounded up to a multiple of 8 MiB, and
// 512 MiB where there is none.
func (req *Request) BodyUnzstdWithLimit(maxBodySize int) ([]byte, error) {
	return req.decoded(coding.Zstd, coding.ExplicitBound(maxBodySize))
}

// BodyUncompressed returns the body without the codings that the
// Content-Encoding fields name: gzip, deflate, br, zstd, or up to four of them.
// It fails with ErrContentEncodingUnsupported where there are others. The limit
// of each step is that of BodyGunzip. Where there is nothing to decode it
// returns what Body returns.
func (req *Request) BodyUncompressed() ([]byte, error) {
	return req.uncompressed(coding.ContentBound(req.body.limit))
}

// BodyUncompressedWithLimit is BodyUncompressed with the limit of
// BodyUnzstdWithLimit, which holds for a body without codings as well.
func (req *Request) BodyUncompressedWithLimit(maxBodySize int) ([]byte, error) {
	content, err := req.uncompressed(coding.ExplicitBound(maxBodySize))
	return within(maxBodySize, content, err)
}

func (req *Request) decoded(c coding.Coding, bound coding.Bound) ([]byte, error) {
	content, err := req.loaded()
	if err != nil {
		return nil, err
	}
	return coding.Decode(content, c, bound)
}

func (req *Request) uncompressed(bound coding.Bound) ([]byte, error) {
	content, err := req.loaded()
	if err != nil {
		return nil, err
	}
	var applied coding.Applied
	list := &req.Header.list
	for i := list.FindID(field.ContentEncoding, 0); i >= 0; i = list.FindID(field.ContentEncoding, i+1) {
		if err := applied.Add(list.Value(i)); err != nil {
			return nil, err
		}
	}
	return applied.Undo(content, bound)
}

// loaded is Body with its error.
func (req *Request) loaded() ([]byte, error) {
	if err := req.loadForm(); err != nil {
		return nil, err
	}
	if err := req.body.load(); err != nil {
		return nil, err
	}
	return req.bodyBytes(), nil
}

// BodyGunzip returns what the body decodes to from gzip. It fails with
// ErrBodyTooLarge where that is more than the MaxResponseBodySize of the client,
// or more than 256 MiB if that is not set. The result is a new slice.
func (resp *Response) BodyGunzip() ([]byte, error) {
	return resp.decoded(coding.Gzip, coding.ContentBound(resp.body.limit))
}

// BodyGunzipWithLimit is BodyGunzip that fails with ErrBodyTooLarge where the
// result would be larger than maxBodySize bytes; 0 or less stands for no limit.
func (resp *Response) BodyGunzipWithLimit(maxBodySize int) ([]byte, error) {
	return resp.decoded(coding.Gzip, coding.ExplicitBound(maxBodySize))
}

// BodyInflate returns what the body decodes to from deflate, with the header of
// zlib or without it. Its limit is that of BodyGunzip.
func (resp *Response) BodyInflate() ([]byte, error) {
	return resp.decoded(coding.Deflate, coding.ContentBound(resp.body.limit))
}

// BodyInflateWithLimit is BodyInflate with the limit of BodyGunzipWithLimit.
func (resp *Response) BodyInflateWithLimit(maxBodySize int) ([]byte, error) {
	return resp.decoded(coding.Deflate, coding.ExplicitBound(maxBodySize))
}

// BodyUnbrotli returns what the body decodes to from brotli. Its limit is that
// of BodyGunzip.
func (resp *Response) BodyUnbrotli() ([]byte, error) {
	return resp.decoded(coding.Brotli, coding.ContentBound(resp.body.limit))
}

// BodyUnbrotliWithLimit is BodyUnbrotli with the limit of BodyGunzipWithLimit.
func (resp *Response) BodyUnbrotliWithLimit(maxBodySize int) ([]byte, error) {
	return resp.decoded(coding.Brotli, coding.ExplicitBound(maxBodySize))
}

// BodyUnzstd returns what the body decodes to from zstd. Its limit is that of
// BodyGunzip; a body that asks for a window of more than 8 MiB, which RFC 9659
// forbids, is too large as well.
func (resp *Response) BodyUnzstd() ([]byte, error) {
	return resp.decoded(coding.Zstd, coding.ContentBound(resp.body.limit))
}

// BodyUnzstdWithLimit is BodyUnzstd with the limit of BodyGunzipWithLimit. The
// window may be as large as the limit, rounded up to a multiple of 8 MiB, and
// 512 MiB where there is none.
func (resp *Response) BodyUnzstdWithLimit(maxBodySize int) ([]byte, error) {
	return resp.decoded(coding.Zstd, coding.ExplicitBound(maxBodySize))
}

// BodyUncompressed returns the body without the codings that the
// Content-Encoding field names: gzip, deflate, br, zstd, or up to four of them.
// It fails with ErrContentEncodingUnsupported where there are others. The limit
// of each step is that of BodyGunzip. Where there is nothing to decode it
// returns what Body returns.
func (resp *Response) BodyUncompressed() ([]byte, error) {
	return resp.uncompressed(coding.ContentBound(resp.body.limit))
}

// BodyUncompressedWithLimit is BodyUncompressed with the limit of
// BodyUnzstdWithLimit, which holds for a body without codings as well.
func (resp *Response) BodyUncompressedWithLimit(maxBodySize int) ([]byte, error) {
	content, err := resp.uncompressed(coding.ExplicitBound(maxBodySize))
	return within(maxBodySize, content, err)
}

func (resp *Response) decoded(c coding.Coding, bound coding.Bound) ([]byte, error) {
	if err := resp.body.load(); err != nil {
		return nil, err
	}
	return coding.Decode(resp.body.bytes(), c, bound)
}

func (resp *Response) uncompressed(bound coding.Bound) ([]byte, error) {
	if err := resp.body.load(); err != nil {
		return nil, err
	}
	var applied coding.Applied
	if err := applied.Add(resp.Header.ContentEncoding()); err != nil {
		return nil, err
	}
	return applied.Undo(resp.body.bytes(), bound)
}

// WriteGzip is WriteGzipLevel at CompressDefaultCompression.
func (resp *Response) WriteGzip(w *bufio.Writer) error {
	return resp.WriteGzipLevel(w, CompressDefaultCompression)
}

// WriteGzipLevel writes the response to w, without flushing it, and with its
// body encoded with gzip at the level. The response itself changes to that. A
// body that CompressHandler would not encode is written as it is. The errors are
// those of Write.
func (resp *Response) WriteGzipLevel(w *bufio.Writer, level int) error {
	return resp.writeEncoded(w, coding.Gzip, level)
}

// WriteDeflate is WriteDeflateLevel at CompressDefaultCompression.
func (resp *Response) WriteDeflate(w *bufio.Writer) error {
	return resp.WriteDeflateLevel(w, CompressDefaultCompression)
}

// WriteDeflateLevel is WriteGzipLevel for deflate, with the header of zlib.
func (resp *Response) WriteDeflateLevel(w *bufio.Writer, level int) error {
	return resp.writeEncoded(w, coding.Deflate, level)
}

func (resp *Response) writeEncoded(w *bufio.Writer, c coding.Coding, level int) error {
	if resp.isEncodable(coding.DefaultTypes, minEncodedSize) {
		resp.Header.varyBy(HeaderAcceptEncoding)
		resp.encode(c, level)
	}
	return resp.Write(w)
}

// minEncodedSize is the size in bytes from which on bodies are encoded: smaller
// ones fit into one packet either way.
const minEncodedSize = 200

// isEncodable reports whether the response has content that is worth encoding, being
// of one of the types and having at least so many bytes, and may be encoded.
func (resp *Response) isEncodable(types *coding.TypeSet, least int) bool {
	h := &resp.Header
	if bodiless(h.StatusCode()) || h.StatusCode() == StatusPartialContent || len(h.ContentEncoding()) > 0 {
		return false
	}
	size := len(resp.body.bytes())
	switch {
	case resp.body.stream != nil:
		size = resp.body.size
	case size == 0 && resp.SkipBody:
		// only the length is known of what GET would have got
		size = h.contentLength
	}
	if size >= 0 && size < least || !types.Has(h.ContentType()) {
		return false
	}
	for i := range h.list.Entries {
		if coding.ForbiddenBy(h.list.Entries[i].ID, h.list.Name(i), h.list.Value(i)) {
			return false
		}
	}
	return true
}

// encode encodes the body of a response that isEncodable, and makes its header
// say so.
func (resp *Response) encode(c coding.Coding, level int) {
	h := &resp.Header
	switch {
	case resp.body.stream != nil:
		resp.body.encodeStream(c, level)
		h.SetContentLength(-1)
	case len(resp.body.bytes()) == 0:
		// the length that GET would have got is not known
		h.SetContentLength(-1)
	default:
		resp.body.encode(c, level)
	}
	h.SetContentEncoding(c.String())
	h.weakenTag()
	// ranges would be of the encoded content, which is made anew each time
	h.removeID(field.AcceptRanges)
}

// varyBy makes the Vary field say that the response depends on a field of the
// request.
func (h *ResponseHeader) varyBy(request string) {
	first := -1
	for i := h.list.FindID(field.Vary, 0); i >= 0; i = h.list.FindID(field.Vary, i+1) {
		if first < 0 {
			first = i
		}
		for rest := h.list.Value(i); rest != nil; {
			var name []byte
			name, rest = ascii.NextElement(rest)
			if string(name) == "*" || ascii.EqualFoldString(name, request) {
				return
			}
		}
	}
	if first < 0 && request == HeaderAcceptEncoding {
		h.appendLines(varyByCoding)
		return
	}
	if first < 0 || len(h.list.Value(first)) == 0 {
		h.setID(field.Vary, bytesconv.Bytes(request))
		return
	}
	// one line, for those who look at the first one only
	var text [128]byte
	value := append(text[:0], h.list.Value(first)...)
	value = append(append(value, strCommaSpace...), request...)
	h.storeAt(first, value)
}

// varyByCoding is what most responses say of what they depend on.
var varyByCoding = func() *fieldLines {
	var h ResponseHeader
	h.setID(field.Vary, []byte(HeaderAcceptEncoding))
	return linesOf(&h.list)
}()

// weakenTag makes the entity tag one that the encoded content may share with the
// plain one: a strong tag stands for the same bytes (RFC 9110 section 8.8.1).
func (h *ResponseHeader) weakenTag() {
	i := h.list.FindID(field.Etag, 0)
	if i < 0 || !bytes.HasPrefix(h.list.Value(i), []byte{'"'}) {
		return
	}
	var text [128]byte
	h.storeAt(i, append(append(text[:0], "W/"...), h.list.Value(i)...))
}
