package fasthttp

import (
	"github.com/valyala/fasthttp/internal/coding"
	"github.com/valyala/fasthttp/internal/field"
)

// CompressHandler is CompressHandlerLevel at CompressDefaultCompression.
func CompressHandler(h RequestHandler) RequestHandler {
	return CompressHandlerLevel(h, CompressDefaultCompression)
}

// CompressHandlerLevel returns a handler that calls h and encodes the body of
// its response with zstd, gzip or deflate, whichever the Accept-Encoding fields
// of the request rank highest (RFC 9110 section 12.5.3). Of codings with the same
// rank the first in that order is taken; a request without Accept-Encoding gets
// a body without coding.
//
// level is one for gzip and deflate, from CompressNoCompression to
// CompressBestCompression, or CompressHuffmanOnly; zstd works about as hard.
//
// These bodies are left as they are: those that have a Content-Encoding, that
// are a part of something (206, Content-Range), that have less than 200 bytes, and
// whose type is none of DefaultCompressTypes, since pictures, archives and
// downloads of no known type gain nothing; and those of responses with
// "Cache-Control: no-transform", Content-Digest or Content-MD5. Compressor has
// settings for types and sizes.
//
// A body stream is encoded while it is sent. What it has given is sent when the
// next read would have to wait, so a StreamWriter that flushes is seen by the
// client at once; a stream whose size was announced is sent as it suits the
// encoder.
//
// A response that another Accept-Encoding might have changed has a Vary field
// that says so. A strong entity tag becomes a weak one where the body is encoded,
// and in a 304 to a client that would have got an encoded body.
func CompressHandlerLevel(h RequestHandler, level int) RequestHandler {
	return bodyCompressor{coding.SetOf(coding.Zstd, coding.Gzip, coding.Deflate), coding.LevelsFor(level), coding.DefaultTypes, minEncodedSize}.handler(h)
}

// CompressHandlerBrotliLevel is CompressHandlerLevel with brotli as one more
// coding, which comes before the others where a client ranks them the same.
//
// brotliLevel is one from CompressBrotliBestSpeed to
// CompressBrotliBestCompression, otherLevel is that of CompressHandlerLevel.
func CompressHandlerBrotliLevel(h RequestHandler, brotliLevel, otherLevel int) RequestHandler {
	levels := coding.LevelsFor(otherLevel)
	levels[coding.Brotli] = brotliLevel
	return bodyCompressor{coding.SetOf(coding.Brotli, coding.Zstd, coding.Gzip, coding.Deflate), levels, coding.DefaultTypes, minEncodedSize}.handler(h)
}

// DefaultCompressTypes returns the media types that are compressed where
// Compressor.Types and FS.CompressTypes say nothing else: text, JSON, XML, YAML,
// JavaScript, WebAssembly, SVG and the like. The slice is the caller's, to add to.
func DefaultCompressTypes() []string { return coding.CompressTypes() }

// Compressor makes handlers that encode the responses of others as those of
// CompressHandlerBrotliLevel do, with settings of its own. The zero value uses
// brotli, zstd, gzip and deflate at their default levels. It must not be changed
// while Handler is called; handlers that were made do not see changes.
type Compressor struct {
	// Types are the media types of bodies that are encoded: "application/json"
	// for one type, "image/*" for all of a kind, "*/*+json" for all with a suffix,
	// "*/*" for all types. Case and parameters do not matter. Those of
	// DefaultCompressTypes by default.
	Types []string

	// Level is that of gzip and deflate, from CompressBestSpeed to
	// CompressBestCompression, or CompressHuffmanOnly; zstd works about as hard.
	// 0 stands for CompressDefaultCompression.
	Level int

	// BrotliLevel is one from 1 to CompressBrotliBestCompression. 0 stands for
	// CompressBrotliDefaultCompression.
	BrotliLevel int

	// MinSize is the size in bytes from which on bodies are encoded; 200 by
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

// bodyCompressor is how responses are encoded.
type bodyCompressor struct {
	offered coding.Set
	levels  [coding.Count]int
	types   *coding.TypeSet
	least   int // size of a body
}

func (c bodyCompressor) handler(h RequestHandler) RequestHandler {
	return func(ctx *RequestCtx) {
		h(ctx)
		// ctx.Response is not what is sent for a handler that is late
		if ctx.timeoutResponse.Load() == nil {
			c.encode(&ctx.Request.Header, &ctx.Response)
		}
	}
}

// encode encodes the response to a request.
func (c bodyCompressor) encode(request *RequestHeader, resp *Response) {
	unchanged := resp.StatusCode() == StatusNotModified
	if !unchanged && !resp.isEncodable(c.types, c.least) {
		return
	}
	resp.Header.varyBy(HeaderAcceptEncoding)
	var accepted coding.Accepted
	list := &request.list
	for i := list.FindID(field.AcceptEncoding, 0); i >= 0; i = list.FindID(field.AcceptEncoding, i+1) {
		accepted.Add(list.Value(i))
	}
	chosen := accepted.Choose(c.offered)
	switch {
	case chosen == coding.Identity:
	case unchanged:
		resp.Header.weakenTag()
	default:
		resp.encode(chosen, c.levels[chosen])
	}
}
