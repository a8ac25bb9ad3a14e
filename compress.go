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
// are a part of something (206), that have less than 200 bytes, and whose type
// is known for content that is compressed already, such as pictures and
// archives; and those of responses with "Cache-Control: no-transform",
// Content-Digest or Content-MD5.
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
	return compressor{codingsOf(codingZstd, codingGzip, codingDeflate), levelsFor(level)}.handler(h)
}

// CompressHandlerBrotliLevel is CompressHandlerLevel with brotli as one more
// coding, which comes before the others where a client ranks them the same.
//
// brotliLevel is one from CompressBrotliBestSpeed to
// CompressBrotliBestCompression, otherLevel is that of CompressHandlerLevel.
func CompressHandlerBrotliLevel(h RequestHandler, brotliLevel, otherLevel int) RequestHandler {
	levels := levelsFor(otherLevel)
	levels[codingBrotli] = brotliLevel
	return compressor{codingsOf(codingBrotli, codingZstd, codingGzip, codingDeflate), levels}.handler(h)
}

// compressor encodes responses.
type compressor struct {
	offered codingSet
	levels  [numCodings]int
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

func (c compressor) handler(h RequestHandler) RequestHandler {
	return func(ctx *RequestCtx) {
		h(ctx)
		// ctx.Response is not what is sent for a handler that is late
		if ctx.timeoutResponse.Load() == nil {
			c.encode(&ctx.Request.Header, &ctx.Response)
		}
	}
}

// encode encodes the response to a request.
func (c compressor) encode(request *RequestHeader, resp *Response) {
	unchanged := resp.StatusCode() == StatusNotModified
	if !unchanged && !resp.isEncodable() {
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
