package fasthttp

import (
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
