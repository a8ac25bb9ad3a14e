package bench

import (
	"fmt"
	"io"
	"testing"

	"github.com/valyala/fasthttp"
)

// pageText returns a page of a shop, of a typical size.
func pageText() []byte {
	var b []byte
	for i := range 200 {
		b = fmt.Appendf(b, `<li class="item" id="item-%d"><a href="/catalogue/boots/%d?size=%d">Boots %d</a><span>%d.%02d</span></li>`+"\n",
			i, i*7919%10007, 36+i%12, i, 40+i*31%90, i*37%100)
	}
	return b
}

func BenchmarkAppendEncoded(b *testing.B) {
	page := pageText()
	for _, c := range []struct {
		name   string
		append func(dst, src []byte) []byte
	}{
		{"gzip", fasthttp.AppendGzipBytes},
		{"deflate", fasthttp.AppendDeflateBytes},
		{"br", fasthttp.AppendBrotliBytes},
		{"zstd", fasthttp.AppendZstdBytes},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(page)))
			dst := c.append(nil, page)
			loop(b, func() bool {
				dst = c.append(dst[:0], page)
				return len(dst) > 0
			})
			b.ReportMetric(float64(len(dst)), "wire-bytes")
		})
	}
}

func BenchmarkAppendDecoded(b *testing.B) {
	page := pageText()
	for _, c := range []struct {
		name    string
		encoded []byte
		append  func(dst, src []byte) ([]byte, error)
	}{
		{"gzip", fasthttp.AppendGzipBytes(nil, page), fasthttp.AppendGunzipBytes},
		{"deflate", fasthttp.AppendDeflateBytes(nil, page), fasthttp.AppendInflateBytes},
		{"br", fasthttp.AppendBrotliBytes(nil, page), fasthttp.AppendUnbrotliBytes},
		{"zstd", fasthttp.AppendZstdBytes(nil, page), fasthttp.AppendUnzstdBytes},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(page)))
			var dst []byte
			loop(b, func() bool {
				var err error
				dst, err = c.append(dst[:0], c.encoded)
				return err == nil && len(dst) == len(page)
			})
		})
	}
}

func BenchmarkCompressHandler(b *testing.B) {
	benchCompressHandler(b, pageText(), "gzip", "br", "zstd", "identity")
}

// BenchmarkCompressHandlerSmall encodes a response of about a kilobyte.
func BenchmarkCompressHandlerSmall(b *testing.B) {
	benchCompressHandler(b, pageText()[:1024], "gzip", "br", "zstd")
}

func benchCompressHandler(b *testing.B, page []byte, codings ...string) {
	b.Helper()
	h := fasthttp.CompressHandlerBrotliLevel(func(ctx *fasthttp.RequestCtx) {
		ctx.SetContentType("text/html; charset=utf-8")
		ctx.SetBody(page)
	}, fasthttp.CompressBrotliDefaultCompression, fasthttp.CompressDefaultCompression)
	for _, accept := range codings {
		b.Run(accept, func(b *testing.B) { loopHandler(b, h, accept) })
	}
}

// loopHandler measures a handler with a client that accepts a coding.
func loopHandler(b *testing.B, h fasthttp.RequestHandler, accept string) {
	var ctx fasthttp.RequestCtx
	ctx.Request.Header.Set(fasthttp.HeaderAcceptEncoding, accept)
	loop(b, func() bool {
		ctx.Response.Reset()
		h(&ctx)
		return len(ctx.Response.Body()) > 0
	})
}

func BenchmarkWriteGzip(b *testing.B) {
	page := pageText()
	b.SetBytes(int64(len(page)))
	loop(b, func() bool {
		n, err := fasthttp.WriteGzip(io.Discard, page)
		return err == nil && n == len(page)
	})
}
