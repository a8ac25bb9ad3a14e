package fasthttp

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"io"
	"runtime"
	"sync"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/valyala/fasthttp/internal/coding"
	"github.com/valyala/fasthttp/internal/servertest"
)

// helpers are the exported functions of a content coding.
type helpers struct {
	coding       coding.Coding
	levels       []int
	append       func(dst, src []byte) []byte
	appendLevel  func(dst, src []byte, level int) []byte
	writeLevel   func(w io.Writer, p []byte, level int) (int, error)
	appendPlain  func(dst, src []byte) ([]byte, error)
	writePlain   func(w io.Writer, p []byte) (int, error)
	requestBody  func(*Request) ([]byte, error)
	requestLimit func(*Request, int) ([]byte, error)
	body         func(*Response) ([]byte, error)
	bodyLimit    func(*Response, int) ([]byte, error)
}

var (
	gzipLevels = []int{
		CompressHuffmanOnly, CompressNoCompression, CompressBestSpeed, 2, 3, 4, 5, CompressDefaultCompression, 7, 8, CompressBestCompression,
	}
	allHelpers = []helpers{
		{
			coding.Deflate, gzipLevels, AppendDeflateBytes, AppendDeflateBytesLevel, WriteDeflateLevel, AppendInflateBytes, WriteInflate,
			(*Request).BodyInflate, (*Request).BodyInflateWithLimit, (*Response).BodyInflate, (*Response).BodyInflateWithLimit,
		},
		{
			coding.Gzip, gzipLevels, AppendGzipBytes, AppendGzipBytesLevel, WriteGzipLevel, AppendGunzipBytes, WriteGunzip,
			(*Request).BodyGunzip, (*Request).BodyGunzipWithLimit, (*Response).BodyGunzip, (*Response).BodyGunzipWithLimit,
		},
		{
			coding.Zstd, []int{CompressZstdBestSpeed, CompressZstdDefault, CompressZstdSpeedBetter, CompressZstdBestCompression},
			AppendZstdBytes, AppendZstdBytesLevel, WriteZstdLevel, AppendUnzstdBytes, WriteUnzstd,
			(*Request).BodyUnzstd, (*Request).BodyUnzstdWithLimit, (*Response).BodyUnzstd, (*Response).BodyUnzstdWithLimit,
		},
		{
			coding.Brotli, []int{CompressBrotliBestSpeed, 1, 2, 3, CompressBrotliDefaultCompression, 5, 6, 7, 8, 9, 10, CompressBrotliBestCompression},
			AppendBrotliBytes, AppendBrotliBytesLevel, WriteBrotliLevel, AppendUnbrotliBytes, WriteUnbrotli,
			(*Request).BodyUnbrotli, (*Request).BodyUnbrotliWithLimit, (*Response).BodyUnbrotli, (*Response).BodyUnbrotliWithLimit,
		},
	}
)

func TestCodingsRoundTripAtEveryLevel(t *testing.T) {
	t.Parallel()
	contents := map[string][]byte{"nothing": nil, "a byte": {'x'}, "text": servertest.SampleText(20_000), "noise": servertest.Noise(5_000)}
	for _, h := range servertest.Some(t, allHelpers) {
		for _, level := range h.levels {
			for name, content := range contents {
				encoded := h.appendLevel([]byte("before"), content, level)
				rest, ok := bytes.CutPrefix(encoded, []byte("before"))
				if !ok {
					t.Fatalf("%s %d, %s: the bytes in front have changed", h.coding, level, name)
				}
				if got, err := h.appendPlain([]byte("before"), rest); err != nil || string(got) != "before"+string(content) {
					t.Errorf("%s %d, %s: %d bytes, %v", h.coding, level, name, len(got), err)
				}
				var w, plain bytes.Buffer
				if n, err := h.writeLevel(&w, content, level); n != len(content) || err != nil {
					t.Errorf("%s %d, %s: writing: %d, %v", h.coding, level, name, n, err)
				}
				if n, err := h.writePlain(&plain, w.Bytes()); n != len(content) || err != nil || !bytes.Equal(plain.Bytes(), content) {
					t.Errorf("%s %d, %s: writing the decoded bytes: %d, %v", h.coding, level, name, n, err)
				}
			}
		}
	}
}

func TestCodingLevelsThatDoNotExistAreTheDefault(t *testing.T) {
	content := servertest.SampleText(50_000)
	for _, h := range allHelpers {
		want := h.append(nil, content)
		levels := []int{-1000, -3, -1, 12, 13, 1000}
		if h.coding == coding.Zstd {
			levels = append(levels, CompressZstdSpeedNotSet, 5, 22)
		}
		for _, level := range levels {
			if got := h.appendLevel(nil, content, level); !bytes.Equal(got, want) {
				t.Errorf("%s %d: not the result of the default level", h.coding, level)
			}
		}
	}
}

func TestCodingsAreThoseOfTheStandardLibrary(t *testing.T) {
	content := servertest.SampleText(20_000)
	r, err := gzip.NewReader(bytes.NewReader(AppendGzipBytes(nil, content)))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, content) {
		t.Errorf("gzip: %d bytes, %v", len(got), err)
	}
	z, err := zlib.NewReader(bytes.NewReader(AppendDeflateBytes(nil, content)))
	if err != nil {
		t.Fatalf("deflate has not the header of zlib, which RFC 9110 section 8.4.1.2 asks for: %v", err)
	}
	if got, err := io.ReadAll(z); err != nil || !bytes.Equal(got, content) {
		t.Errorf("deflate: %d bytes, %v", len(got), err)
	}
}

type closedWriter struct{}

func (closedWriter) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// zeros returns n encoded zeros.
func zeros(c coding.Coding, n int) []byte {
	var b bytes.Buffer
	e := coding.NewEncoder(c, CompressBestSpeed, &b)
	defer e.Release()
	piece := make([]byte, 1<<20)
	for ; n > 0; n -= len(piece) {
		_, _ = e.Write(piece[:min(n, len(piece))])
	}
	_ = e.Close()
	return b.Bytes()
}

// TestDecompressionBombsAreRefused checks known failure 41.
func TestDecompressionBombsAreRefused(t *testing.T) {
	const size = coding.DefaultDecodedSize + 1<<20
	if servertest.RaceDetector {
		t.Skip("so many bytes take minutes under the race detector, and its memory is counted, too")
	}
	// the limit for all goroutines together: one that kept all its decoded content
	// would exceed it
	const allowed = 64 << 20
	for i, h := range allHelpers {
		bomb := zeros(h.coding, size)
		if len(bomb) > 1<<20 {
			t.Fatalf("%s: %d bytes are no bomb", h.coding, len(bomb))
		}
		decoders := map[string]func() ([]byte, error){
			"helper":          func() ([]byte, error) { return h.appendPlain(nil, bomb) },
			"body":            func() ([]byte, error) { return h.body(responseWith("", bomb)) },
			"body with limit": func() ([]byte, error) { return h.bodyLimit(responseWith("", bomb), 20<<20) },
			"request":         func() ([]byte, error) { return h.requestBody(requestWith("", bomb)) },
		}
		// These two find the coding in the same way, so each has half of the codings.
		if i%2 == 0 {
			decoders["body by its header"] = responseWith(h.coding.String(), bomb).BodyUncompressed
		} else {
			decoders["request by its header"] = requestWith(h.coding.String(), bomb).BodyUncompressed
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		var all sync.WaitGroup
		for name, decode := range decoders {
			all.Go(func() {
				if got, err := decode(); err != ErrBodyTooLarge || len(got) > 0 {
					t.Errorf("%s, %s: %d bytes, %v", h.coding, name, len(got), err)
				}
			})
		}
		all.Wait()
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > allowed*uint64(len(decoders)) {
			t.Errorf("%s: took %d MiB", h.coding, used>>20)
		}
	}
}

func responseWith(encoding string, body []byte) *Response {
	resp := &Response{}
	resp.Header.SetContentEncoding(encoding)
	resp.SetBodyRaw(body)
	return resp
}

func requestWith(encoding string, body []byte) *Request {
	req := &Request{}
	if encoding != "" {
		req.Header.SetContentEncoding(encoding)
	}
	req.SetBodyRaw(body)
	return req
}

func TestZstdWindowIsLimited(t *testing.T) {
	var b bytes.Buffer
	w, err := zstd.NewWriter(&b, zstd.WithWindowSize(32<<20), zstd.WithEncoderConcurrency(1), zstd.WithSingleSegment(false))
	if err != nil {
		t.Fatal(err)
	}
	// after a second write the encoder announces a window instead of a size
	_, _ = w.Write([]byte("small "))
	_ = w.Flush()
	_, _ = w.Write([]byte("content"))
	_ = w.Close()
	for name, c := range map[string]struct {
		decode func() ([]byte, error)
		want   error
	}{
		"a body":             {responseWith("", b.Bytes()).BodyUnzstd, ErrBodyTooLarge},
		"a body by header":   {requestWith("zstd", b.Bytes()).BodyUncompressed, ErrBodyTooLarge},
		"a limit of 24 MiB":  {func() ([]byte, error) { return responseWith("", b.Bytes()).BodyUnzstdWithLimit(24 << 20) }, ErrBodyTooLarge},
		"just over 24 MiB":   {func() ([]byte, error) { return responseWith("", b.Bytes()).BodyUnzstdWithLimit(24<<20 + 1) }, nil},
		"no limit":           {func() ([]byte, error) { return responseWith("", b.Bytes()).BodyUnzstdWithLimit(0) }, nil},
		"what is no content": {func() ([]byte, error) { return AppendUnzstdBytes(nil, b.Bytes()) }, nil},
	} {
		got, err := c.decode()
		if err != c.want || err == nil && string(got) != "small content" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func TestCodingDoesNotAllocate(t *testing.T) {
	if servertest.RaceDetector {
		t.Skip("under the race detector a sync.Pool drops some values on purpose")
	}
	content := servertest.SampleText(2_000)
	for _, h := range allHelpers {
		encoded := h.append(nil, content)
		dst := make([]byte, 0, 2*len(content))
		if n := testing.AllocsPerRun(100, func() { h.append(dst, content) }); n > 0 {
			t.Errorf("%s: encoding: %v allocations", h.coding, n)
		}
		// the library allocates tables for each stream
		allowed := map[coding.Coding]float64{coding.Brotli: 5}[h.coding]
		if n := testing.AllocsPerRun(100, func() { _, _ = h.appendPlain(dst, encoded) }); n > allowed {
			t.Errorf("%s: decoding: %v allocations, want %v", h.coding, n, allowed)
		}
	}
}
