package fasthttp

import (
	"bytes"
	"strings"
	"testing"

	"github.com/valyala/fasthttp/internal/servertest"
)

// A download of an unknown type keeps its length and its ranges, which clients use
// to resume it.
func TestCompressHandlerLeavesDownloadsAlone(t *testing.T) {
	text := servertest.SampleText(5_000)
	files := FSHandler(plant(t, map[string]string{"a.bin": long, "b.txt": long, "c": "\xff\xfe\x00" + long}), 0)
	forEachEngine(t, func(t *testing.T, start starter) {
		c := start(&Server{Handler: withBrotli(func(ctx *RequestCtx) {
			if string(ctx.Path()) != "/stream" {
				files(ctx)
				return
			}
			ctx.SetContentType("application/octet-stream")
			ctx.Response.Header.Set(HeaderAcceptRanges, "bytes")
			ctx.SetBodyStream(bytes.NewReader(text), len(text))
		})}).Dial()
		for target, want := range map[string]int{"/stream": len(text), "/a.bin": len(long), "/c": len(long) + 3} {
			c.Send(servertest.Get(target, "Accept-Encoding: gzip, br"))
			resp := c.Next("GET")
			if h := resp.Header; resp.ContentLength != int64(want) || h.Get("Accept-Ranges") != "bytes" || h.Get("Content-Encoding") != "" || h.Get("Vary") != "" {
				t.Errorf("%s: %v", target, resp.Header)
			}
		}
		c.Send(servertest.Get("/b.txt", "Accept-Encoding: gzip, br"))
		if resp := c.Next("GET"); resp.Header.Get("Content-Encoding") != "br" {
			t.Errorf("text: %v", resp.Header)
		}
		// ranges, one and several, whatever the type
		for _, ranges := range []string{"bytes=0-999", "bytes=0-999,2000-2999"} {
			c.Send(servertest.Get("/b.txt", "Accept-Encoding: gzip, br", "Range: "+ranges))
			if resp := c.Next("GET"); resp.StatusCode != 206 || resp.Header.Get("Content-Encoding") != "" || !strings.Contains(resp.Content, long[:1000]) {
				t.Errorf("%s: %d %v", ranges, resp.StatusCode, resp.Header)
			}
		}
	})
}

func TestCompressorHasSettings(t *testing.T) {
	content := servertest.SampleText(5_000)
	for name, c := range map[string]struct {
		c                           Compressor
		contentType, accept, coding string
		size                        int
	}{
		"zero, brotli":     {Compressor{}, "text/plain", "gzip, br, zstd, deflate", "br", 5000},
		"zero, zstd":       {Compressor{}, "text/plain", "gzip, zstd", "zstd", 5000},
		"zero, deflate":    {Compressor{}, "application/json", "deflate", "deflate", 5000},
		"zero, octets":     {Compressor{}, "application/octet-stream", "gzip", "", 5000},
		"zero, least":      {Compressor{}, "text/plain", "gzip", "gzip", minEncodedSize},
		"zero, less":       {Compressor{}, "text/plain", "gzip", "", minEncodedSize - 1},
		"zero, nothing":    {Compressor{}, "text/plain", "", "", 5000},
		"own types":        {Compressor{Types: []string{"application/octet-stream", "image/*"}}, "application/octet-stream", "gzip", "gzip", 5000},
		"own types, image": {Compressor{Types: []string{"application/octet-stream", "image/*"}}, "image/png", "gzip", "gzip", 5000},
		"own types, text":  {Compressor{Types: []string{"application/octet-stream", "image/*"}}, "text/plain", "gzip", "", 5000},
		"more types":       {Compressor{Types: append(DefaultCompressTypes(), "x/y")}, "text/plain", "gzip", "gzip", 5000},
		"all types":        {Compressor{Types: []string{"*/*"}}, "video/mp4", "gzip", "gzip", 5000},
		"own size":         {Compressor{MinSize: 3000}, "text/plain", "gzip", "", 2999},
		"own size, more":   {Compressor{MinSize: 3000}, "text/plain", "gzip", "gzip", 3000},
		"level":            {Compressor{Level: CompressBestCompression, BrotliLevel: CompressBrotliBestCompression}, "text/plain", "br", "br", 5000},
		"Huffman only":     {Compressor{Level: CompressHuffmanOnly}, "text/plain", "gzip", "gzip", 5000},
	} {
		resp := compressed(c.c.Handler, c.accept, func(ctx *RequestCtx) {
			ctx.SetContentType(c.contentType)
			ctx.SetBody(content[:c.size])
		})
		if got := string(resp.Header.ContentEncoding()); got != c.coding {
			t.Errorf("%s: %q, want %q", name, got, c.coding)
		}
		if got, err := resp.BodyUncompressed(); err != nil || !bytes.Equal(got, content[:c.size]) {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
	}
	size := func(c Compressor) int {
		return len(compressed(c.Handler, "br", func(ctx *RequestCtx) { ctx.SetBody(content) }).Body())
	}
	if usual, best, fast := size(Compressor{}), size(Compressor{BrotliLevel: 11}), size(Compressor{BrotliLevel: 1}); best >= usual || usual >= fast {
		t.Errorf("sizes: best %d, usual %d, fast %d", best, usual, fast)
	}
}
