package fasthttp

import (
	"bufio"
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/valyala/fasthttp/internal/servertest"
)

// compressed calls a handler that wrap makes compress, and returns the response.
func compressed(wrap func(RequestHandler) RequestHandler, accept string, h RequestHandler) *Response {
	var ctx RequestCtx
	if accept != "" {
		ctx.Request.Header.Set(HeaderAcceptEncoding, accept)
	}
	wrap(h)(&ctx)
	return &ctx.Response
}

func withBrotli(h RequestHandler) RequestHandler {
	return CompressHandlerBrotliLevel(h, CompressBrotliDefaultCompression, CompressDefaultCompression)
}

func TestCompressHandlersNegotiate(t *testing.T) {
	content := servertest.SampleText(5_000)
	atLevel := func(level int) func(RequestHandler) RequestHandler {
		return func(h RequestHandler) RequestHandler { return CompressHandlerLevel(h, level) }
	}
	for _, c := range []struct {
		name   string
		wrap   func(RequestHandler) RequestHandler
		accept string
		want   string
	}{
		{"default", CompressHandler, "", ""},
		{"default", CompressHandler, "gzip", "gzip"},
		{"default", CompressHandler, "deflate", "deflate"},
		{"default", CompressHandler, "zstd", "zstd"},
		{"default", CompressHandler, "br", ""},
		{"default", CompressHandler, "gzip, deflate, br, zstd", "zstd"},
		{"default", CompressHandler, "gzip, deflate, br, zstd;q=0.9", "gzip"},
		{"default", CompressHandler, "gzip;q=0", ""},
		{"default", CompressHandler, "identity, gzip;q=0.5", ""},
		{"brotli", withBrotli, "", ""},
		{"brotli", withBrotli, "br", "br"},
		{"brotli", withBrotli, "gzip, deflate, br, zstd", "br"},
		{"brotli", withBrotli, "gzip;q=1, br;q=0.5", "gzip"},
		{"brotli", withBrotli, "*", "br"},
		{"level 9", atLevel(CompressBestCompression), "gzip", "gzip"},
		{"level 9", atLevel(CompressBestCompression), "zstd", "zstd"},
		{"Huffman only", atLevel(CompressHuffmanOnly), "gzip", "gzip"},
		{"Huffman only", atLevel(CompressHuffmanOnly), "zstd", "zstd"},
		{"no such level", atLevel(77), "deflate", "deflate"},
		{"level 0", atLevel(CompressNoCompression), "gzip", "gzip"},
	} {
		resp := compressed(c.wrap, c.accept, func(ctx *RequestCtx) { ctx.SetBody(content) })
		if got := string(resp.Header.ContentEncoding()); got != c.want {
			t.Errorf("%s, %q: got %q, want %q", c.name, c.accept, got, c.want)
		}
		if got, err := resp.BodyUncompressed(); err != nil || !bytes.Equal(got, content) {
			t.Errorf("%s, %q: %d bytes, %v", c.name, c.accept, len(got), err)
		}
		if got := string(resp.Header.Peek(HeaderVary)); got != HeaderAcceptEncoding {
			t.Errorf("%s, %q: Vary is %q", c.name, c.accept, got)
		}
		if c.want != "" && c.name != "level 0" && len(resp.Body()) >= len(content) {
			t.Errorf("%s, %q: %d bytes became %d", c.name, c.accept, len(content), len(resp.Body()))
		}
	}
}

func TestAcceptEncodingMayHaveSeveralLines(t *testing.T) {
	var ctx RequestCtx
	ctx.Request.Header.Add(HeaderAcceptEncoding, "gzip;q=0.5")
	ctx.Request.Header.Add(HeaderAcceptEncoding, "deflate")
	CompressHandler(func(ctx *RequestCtx) { ctx.SetBody(servertest.SampleText(1000)) })(&ctx)
	if got := string(ctx.Response.Header.ContentEncoding()); got != "deflate" {
		t.Errorf("got %q", got)
	}
}

// Tests of other projects expect a coding for any content of some size, even if the
// encoded content is not smaller.
func TestCompressHandlerEncodesWhatGetsNoSmaller(t *testing.T) {
	content := servertest.Noise(1_000)
	for given, want := range map[string]string{"": HeaderAcceptEncoding, "*": "*", "Origin": "Origin, Accept-Encoding"} {
		resp := compressed(withBrotli, "gzip", func(ctx *RequestCtx) {
			if given != "" {
				ctx.Response.Header.Set(HeaderVary, given)
			}
			ctx.SetBody(content)
		})
		if got := string(resp.Header.ContentEncoding()); got != "gzip" {
			t.Errorf("Content-Encoding is %q", got)
		}
		if got := string(resp.Header.Peek(HeaderVary)); got != want {
			t.Errorf("Vary is %q, want %q", got, want)
		}
		if got, err := resp.BodyGunzip(); err != nil || !bytes.Equal(got, content) {
			t.Errorf("%d bytes, %v", len(got), err)
		}
	}
}

func TestCompressHandlerLeavesAloneWhatItShould(t *testing.T) {
	text := servertest.SampleText(1_000)
	for name, c := range map[string]struct {
		h    RequestHandler
		vary string
	}{
		"tiny":            {func(ctx *RequestCtx) { ctx.SetBody(text[:minEncodedSize-1]) }, ""},
		"empty":           {func(ctx *RequestCtx) {}, ""},
		"tiny stream":     {func(ctx *RequestCtx) { ctx.SetBodyStream(bytes.NewReader(text[:10]), 10) }, ""},
		"picture":         {func(ctx *RequestCtx) { ctx.SetContentType("image/png"); ctx.SetBody(text) }, ""},
		"picture stream":  {func(ctx *RequestCtx) { ctx.SetContentType("image/png"); ctx.SetBodyStream(bytes.NewReader(text), -1) }, ""},
		"encoded already": {func(ctx *RequestCtx) { ctx.Response.Header.SetContentEncoding("br"); ctx.SetBody(text) }, ""},
		"a part":          {func(ctx *RequestCtx) { ctx.SetStatusCode(StatusPartialContent); ctx.SetBody(text) }, HeaderAcceptEncoding},
		"several parts": {func(ctx *RequestCtx) {
			ctx.SetStatusCode(StatusPartialContent)
			ctx.SetContentType("multipart/byteranges; boundary=b")
			ctx.SetBody(text)
		}, HeaderAcceptEncoding},
		"a part of a picture": {func(ctx *RequestCtx) {
			ctx.SetStatusCode(StatusPartialContent)
			ctx.SetContentType("image/png")
			ctx.SetBody(text)
		}, ""},
		"an encoded part": {func(ctx *RequestCtx) {
			ctx.SetStatusCode(StatusPartialContent)
			ctx.Response.Header.SetContentEncoding("br")
			ctx.SetBody(text)
		}, ""},
		"a range": {func(ctx *RequestCtx) { ctx.Response.Header.SetContentRange(0, 999, 2000); ctx.SetBody(text) }, ""},
		"no-transform": {func(ctx *RequestCtx) {
			ctx.Response.Header.Set(HeaderCacheControl, "max-age=60, No-Transform")
			ctx.SetBody(text)
		}, ""},
		"digest": {func(ctx *RequestCtx) { ctx.Response.Header.Set("Content-Digest", "sha-256=:AA==:"); ctx.SetBody(text) }, ""},
		"representation digest": {func(ctx *RequestCtx) {
			ctx.Response.Header.Set("Repr-Digest", "sha-256=:AA==:")
			ctx.SetBody(text)
		}, ""},
		"former digest": {func(ctx *RequestCtx) { ctx.Response.Header.Set("Digest", "sha-256=AA=="); ctx.SetBody(text) }, ""},
		"no content":    {func(ctx *RequestCtx) { ctx.SetStatusCode(StatusNoContent); ctx.SetBody(text) }, ""},
	} {
		var plain RequestCtx
		c.h(&plain)
		resp := compressed(withBrotli, "br, gzip", func(ctx *RequestCtx) {
			c.h(ctx)
			ctx.Response.Header.Set(HeaderETag, `"tag"`)
		})
		if got, want := string(resp.Header.ContentEncoding()), string(plain.Response.Header.ContentEncoding()); got != want {
			t.Errorf("%s: Content-Encoding is %q", name, got)
		}
		if got := string(resp.Header.Peek(HeaderVary)); got != c.vary {
			t.Errorf("%s: Vary is %q, want %q", name, got, c.vary)
		}
		if got := string(resp.Header.Peek(HeaderETag)); got != `"tag"` {
			t.Errorf("%s: ETag is %q", name, got)
		}
		if got, want := resp.Body(), plain.Response.Body(); !bytes.Equal(got, want) {
			t.Errorf("%s: the body has changed", name)
		}
	}
}

func TestVaryAndTagsSayThatContentIsEncoded(t *testing.T) {
	for _, c := range []struct {
		vary, wantVary string
		tag, wantTag   string
		accept         string
	}{
		{"", "Accept-Encoding", `"a"`, `W/"a"`, "gzip"},
		{"", "Accept-Encoding", `"a"`, `"a"`, ""},
		{"", "Accept-Encoding", `W/"a"`, `W/"a"`, "gzip"},
		{"Origin", "Origin, Accept-Encoding", "", "", "gzip"},
		{"Origin", "Origin, Accept-Encoding", "", "", ""},
		{"accept-encoding", "accept-encoding", "", "", "gzip"},
		{"Origin, Accept-Encoding", "Origin, Accept-Encoding", "", "", "gzip"},
		{"Accept-Encoding-X", "Accept-Encoding-X, Accept-Encoding", "", "", "gzip"},
		{"*", "*", "", "", "gzip"},
		{strings.Repeat("X", 200), strings.Repeat("X", 200) + ", Accept-Encoding", `"` + strings.Repeat("t", 200) + `"`, `W/"` + strings.Repeat("t", 200) + `"`, "gzip"},
	} {
		for _, status := range []int{StatusOK, StatusNotFound, StatusNotModified} {
			resp := compressed(CompressHandler, c.accept, func(ctx *RequestCtx) {
				ctx.SetStatusCode(status)
				ctx.Response.Header.Set(HeaderAcceptRanges, "bytes")
				if c.vary != "" {
					ctx.Response.Header.Set(HeaderVary, c.vary)
				}
				if c.tag != "" {
					ctx.Response.Header.Set(HeaderETag, c.tag)
				}
				if status != StatusNotModified {
					ctx.SetBody(servertest.SampleText(1_000))
				}
			})
			if got := string(resp.Header.Peek(HeaderVary)); got != c.wantVary || len(resp.Header.PeekAll(HeaderVary)) != 1 {
				t.Errorf("%d, Vary %.30q: got %.60q", status, c.vary, got)
			}
			if got := string(resp.Header.Peek(HeaderETag)); got != c.wantTag {
				t.Errorf("%d, ETag %.30q with %q: got %.60q", status, c.tag, c.accept, got)
			}
			encoded := len(resp.Header.ContentEncoding()) > 0
			if want := c.accept != "" && status != StatusNotModified; encoded != want {
				t.Errorf("%d with %q: encoded: %v", status, c.accept, encoded)
			}
			if ranges := resp.Header.Peek(HeaderAcceptRanges) != nil; ranges == encoded {
				t.Errorf("%d with %q: accepts ranges: %v", status, c.accept, ranges)
			}
		}
	}
}

// Only a client that has got the content without a coding knows its strong tag. The tag stays
// strong, so that it can ask for the rest of the content with If-Range.
func TestStrongTagOfUnchangedContentStays(t *testing.T) {
	for _, c := range []struct {
		lines []string
		want  string
	}{
		{nil, `W/"a"`},
		{[]string{`"a"`}, `"a"`},
		{[]string{`W/"a"`}, `W/"a"`},
		{[]string{`"b", "a"`}, `"a"`},
		{[]string{`"b"`, `W/"c","a"`}, `"a"`},
		{[]string{`"a", W/"a"`}, `W/"a"`},
		{[]string{`"a"`, `W/"a"`}, `W/"a"`},
		{[]string{`"b"`}, `W/"a"`},
		{[]string{`"x,"a"`}, `W/"a"`},
		{[]string{"*"}, `W/"a"`},
		{[]string{`a`}, `W/"a"`},
	} {
		var ctx RequestCtx
		ctx.Init(&Request{}, nil, nil)
		ctx.Request.Header.Set(HeaderAcceptEncoding, "gzip")
		for _, line := range c.lines {
			ctx.Request.Header.Add(HeaderIfNoneMatch, line)
		}
		CompressHandler(func(ctx *RequestCtx) {
			ctx.NotModified()
			ctx.Response.Header.Set(HeaderETag, `"a"`)
		})(&ctx)
		if got := string(ctx.Response.Header.Peek(HeaderETag)); got != c.want {
			t.Errorf("%q: got %s, want %s", c.lines, got, c.want)
		}
	}
}

func TestVaryOnAnotherLineIsSeen(t *testing.T) {
	resp := compressed(CompressHandler, "gzip", func(ctx *RequestCtx) {
		ctx.Response.Header.Add(HeaderVary, "Origin")
		ctx.Response.Header.Add(HeaderVary, "Cookie, ACCEPT-encoding")
		ctx.SetBody(servertest.SampleText(1_000))
	})
	if got := resp.Header.PeekAll(HeaderVary); len(got) != 2 || string(got[0]) != "Origin" {
		t.Errorf("Vary is %q", got)
	}
}

func TestCompressHandlerEncodesRawBodies(t *testing.T) {
	raw := servertest.SampleText(5_000)
	want := bytes.Clone(raw)
	resp := compressed(CompressHandler, "gzip", func(ctx *RequestCtx) {
		ctx.SetBodyString("overwritten")
		ctx.Response.SetBodyRaw(raw)
	})
	if got, err := resp.BodyGunzip(); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if !bytes.Equal(raw, want) {
		t.Error("the raw body was written to")
	}
}

func TestCompressHandlerToHead(t *testing.T) {
	content := servertest.SampleText(5_000)
	get := compressed(CompressHandler, "gzip", func(ctx *RequestCtx) { ctx.SetBody(content) })
	head := compressed(CompressHandler, "gzip", func(ctx *RequestCtx) { ctx.SetBody(content); ctx.Response.SkipBody = true })
	if got, want := head.Header.String(), get.Header.String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	// if only the length of the content is known, the length of the encoded content
	// is unknown
	head = compressed(CompressHandler, "gzip", func(ctx *RequestCtx) {
		ctx.Response.SkipBody = true
		ctx.Response.Header.SetContentLength(len(content))
	})
	if string(head.Header.ContentEncoding()) != "gzip" || head.Header.ContentLength() != -1 {
		t.Errorf("a known length: %q", head.Header.String())
	}
}

func TestCompressHandlerLeavesLateResponsesAlone(t *testing.T) {
	resp := compressed(CompressHandler, "gzip", func(ctx *RequestCtx) {
		ctx.SetBody(servertest.SampleText(5_000))
		ctx.TimeoutError("late")
	})
	if len(resp.Header.ContentEncoding()) > 0 {
		t.Error("the response was touched")
	}
}

func TestWriteGzipAndDeflate(t *testing.T) {
	content := servertest.SampleText(5_000)
	for name, write := range map[string]func(*Response, *bufio.Writer) error{
		"gzip":    (*Response).WriteGzip,
		"deflate": (*Response).WriteDeflate,
	} {
		for _, stream := range []bool{false, true} {
			var resp Response
			if stream {
				resp.SetBodyStream(bytes.NewReader(content), len(content))
			} else {
				resp.SetBody(content)
			}
			var b bytes.Buffer
			w := bufio.NewWriter(&b)
			if err := write(&resp, w); err != nil {
				t.Fatal(err)
			}
			_ = w.Flush()
			var got Response
			if err := got.Read(bufio.NewReader(&b)); err != nil {
				t.Fatal(err)
			}
			plain, err := got.BodyUncompressed()
			if err != nil || !bytes.Equal(plain, content) || string(got.Header.ContentEncoding()) != name {
				t.Errorf("%s, stream %v: %d bytes, %v, %q", name, stream, len(plain), err, got.Header.ContentEncoding())
			}
			if vary := string(got.Header.Peek(HeaderVary)); vary != HeaderAcceptEncoding {
				t.Errorf("%s: Vary is %q", name, vary)
			}
		}
	}
	var tiny Response
	tiny.SetBodyString("tiny")
	var b bytes.Buffer
	w := bufio.NewWriter(&b)
	if err := tiny.WriteGzipLevel(w, CompressBestCompression); err != nil {
		t.Fatal(err)
	}
	_ = w.Flush()
	if s := b.String(); strings.Contains(s, "gzip") || !strings.HasSuffix(s, "\r\n\r\ntiny") {
		t.Errorf("a tiny body: %q", s)
	}
	if err := responseWith("", content).WriteDeflateLevel(bufio.NewWriterSize(closedWriter{}, 16), 1); err != io.ErrClosedPipe {
		t.Errorf("a broken writer: %v", err)
	}
}

func TestCompressHandlerDoesNotAllocate(t *testing.T) {
	if servertest.RaceDetector {
		t.Skip("under the race detector a sync.Pool drops some values on purpose")
	}
	content := servertest.SampleText(3_000)
	h := withBrotli(func(ctx *RequestCtx) {
		ctx.SetBody(content)
		ctx.Response.Header.Set(HeaderETag, `"tag"`)
	})
	for _, accept := range []string{"br", "zstd", "gzip", "deflate", "identity"} {
		var ctx RequestCtx
		ctx.Request.Header.Set(HeaderAcceptEncoding, accept)
		if n := testing.AllocsPerRun(100, func() {
			ctx.Response.Reset()
			h(&ctx)
		}); n != 0 {
			t.Errorf("%s: %v allocations", accept, n)
		}
	}
}
