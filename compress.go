package fasthttp

import (
	"io"

	"github.com/valyala/fasthttp/internal/coding"
	"github.com/valyala/fasthttp/internal/field"
	"github.com/valyala/fasthttp/internal/files"
)

// CompressHandler is CompressHandlerLevel at CompressDefaultCompression.
func CompressHandler(h RequestHandler) RequestHandler {
	return CompressHandlerLevel(h, CompressDefaultCompression)
}

// CompressHandlerLevel returns a handler that calls h and encodes the body of its
// response with zstd, gzip or deflate, whichever the Accept-Encoding fields of the
// request rank highest (RFC 9110 section 12.5.3). Among codings of the same rank it
// takes the first in that order. It does not encode the response to a request
// without Accept-Encoding.
//
// level is the level for gzip and deflate, from CompressNoCompression to
// CompressBestCompression, or CompressHuffmanOnly. For zstd it means a level that
// takes about as much work.
//
// The handler does not encode bodies that have a Content-Encoding, that are parts of a
// representation (206, Content-Range), or that have less than 200 bytes. Nor does it
// encode bodies whose type is not in DefaultCompressTypes, since pictures, archives and
// downloads of unknown type gain nothing, or bodies of responses with "Cache-Control:
// no-transform", or with a hash of the body: Content-Digest, Repr-Digest, Digest or
// Content-MD5. Compressor has settings for types and sizes.
//
// A body stream is encoded while it is sent. If the next read of a stream of unknown
// size would block, the bytes read so far are sent: the client gets the output of a
// StreamWriter that flushes at once. A stream whose size was announced is sent
// whenever the encoder has output.
//
// A response that could differ for another Accept-Encoding gets a Vary field that
// lists it, and so does a part of one. A strong entity tag becomes a weak one if the body
// is encoded, and in a 304 to a client that accepts a coding, unless its If-None-Match has the
// strong tag: the body that the client has is not encoded then.
func CompressHandlerLevel(h RequestHandler, level int) RequestHandler {
	return bodyCompressor{coding.SetOf(coding.Zstd, coding.Gzip, coding.Deflate), coding.LevelsFor(level), coding.DefaultTypes, minEncodedSize}.handler(h)
}

// CompressHandlerBrotliLevel is CompressHandlerLevel with brotli as one more
// coding, which is preferred if a client ranks several codings the same.
//
// brotliLevel is a level from CompressBrotliBestSpeed to
// CompressBrotliBestCompression, otherLevel is the level of CompressHandlerLevel.
func CompressHandlerBrotliLevel(h RequestHandler, brotliLevel, otherLevel int) RequestHandler {
	levels := coding.LevelsFor(otherLevel)
	levels[coding.Brotli] = brotliLevel
	return bodyCompressor{coding.SetOf(coding.Brotli, coding.Zstd, coding.Gzip, coding.Deflate), levels, coding.DefaultTypes, minEncodedSize}.handler(h)
}

// DefaultCompressTypes returns the media types that are compressed if
// Compressor.Types or FS.CompressTypes is not set: text, JSON, XML, YAML, JavaScript,
// WebAssembly, SVG and the like. The slice is a copy, to which the caller may append.
func DefaultCompressTypes() []string { return coding.CompressTypes() }

// Compressor makes handlers that encode responses as CompressHandlerBrotliLevel
// does, with settings of its own. The zero value uses brotli, zstd, gzip and deflate
// at their default levels. It must not be changed while Handler is called. Changes
// do not affect handlers that were made before.
type Compressor struct {
	// Types are the media types of bodies that are encoded: "application/json"
	// for one type, "image/*" for all of a kind, "*/*+json" for all with a suffix,
	// "*/*" for all types. Case and parameters do not matter. The default is
	// DefaultCompressTypes.
	Types []string

	// Level is the level of gzip and deflate, from CompressBestSpeed to
	// CompressBestCompression, or CompressHuffmanOnly. zstd gets a level that takes
	// about as much work. 0 means CompressDefaultCompression.
	Level int

	// BrotliLevel is the level of brotli, from 1 to CompressBrotliBestCompression.
	// 0 means CompressBrotliDefaultCompression.
	BrotliLevel int

	// MinSize is the least size in bytes of bodies that are encoded; 200 by
	// default. Streams of unknown size are encoded in any case.
	MinSize int
}

// Handler returns a handler that calls h and encodes the body of its response.
func (c *Compressor) Handler(h RequestHandler) RequestHandler {
	level, least := c.Level, c.MinSize
	if level == 0 {
		level = CompressDefaultCompression
	}
	if least <= 0 {
		least = minEncodedSize
	}
	levels := coding.LevelsFor(level)
	levels[coding.Brotli] = c.BrotliLevel
	if c.BrotliLevel == 0 {
		levels[coding.Brotli] = CompressBrotliDefaultCompression
	}
	return bodyCompressor{coding.SetOf(coding.Brotli, coding.Zstd, coding.Gzip, coding.Deflate), levels, coding.TypesFor(c.Types), least}.handler(h)
}

// bodyCompressor holds the settings for encoding responses.
type bodyCompressor struct {
	offered coding.Set
	levels  [coding.Count]int
	types   *coding.TypeSet
	minSize int // the least size of a body in bytes
}

func (c bodyCompressor) handler(h RequestHandler) RequestHandler {
	return func(ctx *RequestCtx) {
		h(ctx)
		// after a timeout another response than ctx.Response is sent
		if !ctx.timedOut() {
			pushed, isPushed := ctx.Response.body.Stream.(pushBody)
			c.encode(&ctx.Request.Header, &ctx.Response)
			if isPushed && ctx.Response.body.Stream != io.Reader(pushed) {
				pushed.p.watch(ctx)
			}
		}
	}
}

// encode encodes the response to a request.
func (c bodyCompressor) encode(request *RequestHeader, resp *Response) {
	unchanged := resp.StatusCode() == StatusNotModified
	if !unchanged && !resp.isEncodable(c.types, c.minSize) {
		if resp.isPartOfEncodable(c.types) {
			// RFC 9110 section 15.3.7: as the response with the whole has it
			resp.Header.varyBy(HeaderAcceptEncoding)
		}
		return
	}
	resp.Header.varyBy(HeaderAcceptEncoding)
	var accepted coding.Accepted
	list := &request.head.List
	for i := list.FindID(field.AcceptEncoding, 0); i >= 0; i = list.FindID(field.AcceptEncoding, i+1) {
		accepted.Add(list.Value(i))
	}
	chosen := accepted.Choose(c.offered)
	switch {
	case chosen == coding.Identity:
	case unchanged:
		if !files.HasStrongTag(list, resp.Header.Peek(HeaderETag)) {
			resp.Header.weakenTag()
		}
	default:
		resp.encode(chosen, c.levels[chosen])
	}
}
