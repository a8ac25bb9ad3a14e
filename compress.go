package fasthttp

import "github.com/valyala/fasthttp/internal/field"

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
	return bodyCompressor{codingsOf(codingZstd, codingGzip, codingDeflate), levelsFor(level), defaultTypes, minEncodedSize}.handler(h)
}

// CompressHandlerBrotliLevel is CompressHandlerLevel with brotli as one more
// coding, which comes before the others where a client ranks them the same.
//
// brotliLevel is one from CompressBrotliBestSpeed to
// CompressBrotliBestCompression, otherLevel is that of CompressHandlerLevel.
func CompressHandlerBrotliLevel(h RequestHandler, brotliLevel, otherLevel int) RequestHandler {
	levels := levelsFor(otherLevel)
	levels[codingBrotli] = brotliLevel
	return bodyCompressor{codingsOf(codingBrotli, codingZstd, codingGzip, codingDeflate), levels, defaultTypes, minEncodedSize}.handler(h)
}

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
	levels := levelsFor(level)
	levels[codingBrotli] = c.BrotliLevel
	if c.BrotliLevel == 0 {
		levels[codingBrotli] = CompressBrotliDefaultCompression
	}
	return bodyCompressor{codingsOf(codingBrotli, codingZstd, codingGzip, codingDeflate), levels, typesFor(c.Types), least}.handler(h)
}

// bodyCompressor is how responses are encoded.
type bodyCompressor struct {
	offered codingSet
	levels  [numCodings]int
	types   *typeSet
	least   int // size of a body
}

// levelsFor returns the levels of the codings that a level of gzip stands for.
func levelsFor(level int) (levels [numCodings]int) {
	level = knownLevel(codingGzip, level)
	levels[codingGzip], levels[codingDeflate] = level, level
	switch {
	case level < 3:
		levels[codingZstd] = CompressZstdBestSpeed
	case level < 7:
		levels[codingZstd] = CompressZstdDefault
	case level < 9:
		levels[codingZstd] = CompressZstdSpeedBetter
	default:
		levels[codingZstd] = CompressZstdBestCompression
	}
	return levels
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
	var accepted acceptedCodings
	list := &request.list
	for i := list.FindID(field.AcceptEncoding, 0); i >= 0; i = list.FindID(field.AcceptEncoding, i+1) {
		accepted.add(list.Value(i))
	}
	coding := accepted.choose(c.offered)
	switch {
	case coding == codingIdentity:
	case unchanged:
		resp.Header.weakenTag()
	default:
		resp.encode(coding, c.levels[coding])
	}
}
