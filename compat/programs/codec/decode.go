package main

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/compat/internal/report"
)

var text = []byte(strings.Repeat("some text that is worth encoding, ", 60))

// coding is a coding with its functions.
type coding struct {
	name        string
	appendLevel func(dst, src []byte, level int) []byte
	writeLevel  func(w io.Writer, p []byte, level int) (int, error)
	appendPlain func(dst, src []byte) ([]byte, error)
	writePlain  func(w io.Writer, p []byte) (int, error)
	body        func(*fasthttp.Response) ([]byte, error)
	bodyLimit   func(*fasthttp.Request, int) ([]byte, error)
	levels      []int
}

var codings = []coding{
	{
		"gzip", fasthttp.AppendGzipBytesLevel, fasthttp.WriteGzipLevel, fasthttp.AppendGunzipBytes, fasthttp.WriteGunzip,
		(*fasthttp.Response).BodyGunzip, (*fasthttp.Request).BodyGunzipWithLimit, []int{-100, -3, -2, -1, 0, 1, 6, 9, 10, 100},
	},
	{
		"deflate", fasthttp.AppendDeflateBytesLevel, fasthttp.WriteDeflateLevel, fasthttp.AppendInflateBytes, fasthttp.WriteInflate,
		(*fasthttp.Response).BodyInflate, (*fasthttp.Request).BodyInflateWithLimit, []int{-100, -3, -2, -1, 0, 1, 6, 9, 10, 100},
	},
	{
		"br", fasthttp.AppendBrotliBytesLevel, fasthttp.WriteBrotliLevel, fasthttp.AppendUnbrotliBytes, fasthttp.WriteUnbrotli,
		(*fasthttp.Response).BodyUnbrotli, (*fasthttp.Request).BodyUnbrotliWithLimit, []int{-1, 0, 4, 11, 12},
	},
	// with v1.77.0 invalid levels of zstd end the process
	{
		"zstd", fasthttp.AppendZstdBytesLevel, fasthttp.WriteZstdLevel, fasthttp.AppendUnzstdBytes, fasthttp.WriteUnzstd,
		(*fasthttp.Response).BodyUnzstd, (*fasthttp.Request).BodyUnzstdWithLimit, []int{1, 2, 3, 4},
	},
}

// std returns text in the codings of the standard library, by name.
func std() map[string][]byte {
	var gz, zl, raw bytes.Buffer
	g := gzip.NewWriter(&gz)
	z := zlib.NewWriter(&zl)
	f, _ := flate.NewWriter(&raw, flate.DefaultCompression)
	for _, w := range []io.WriteCloser{g, z, f} {
		_, _ = w.Write(text)
		_ = w.Close()
	}
	return map[string][]byte{"gzip": gz.Bytes(), "zlib": zl.Bytes(), "raw": raw.Bytes()}
}

func failed(c *report.Case, field string, err error) {
	c.Val(field, err != nil)
	c.Val(field+"-large", errors.Is(err, fasthttp.ErrBodyTooLarge))
	c.Val(field+"-unsupported", errors.Is(err, fasthttp.ErrContentEncodingUnsupported))
}

func runHelpers() {
	for _, k := range codings {
		for _, level := range k.levels {
			report.Run(fmt.Sprintf("level/%s/%d", k.name, level), func(c *report.Case) {
				encoded := k.appendLevel([]byte("x"), text, level)
				c.Val("kept", encoded[0] == 'x')
				plain, err := k.appendPlain([]byte("x"), encoded[1:])
				c.Val("same", string(plain) == "x"+string(text))
				failed(c, "error", err)
				var w, p bytes.Buffer
				n, err := k.writeLevel(&w, text, level)
				c.Val("written", n)
				failed(c, "write-error", err)
				n, err = k.writePlain(&p, w.Bytes())
				c.Val("read", n)
				c.Val("read-same", bytes.Equal(p.Bytes(), text))
				failed(c, "read-error", err)
			})
		}
		good := k.appendLevel(nil, text, k.levels[len(k.levels)/2])
		for id, in := range report.Sorted(map[string][]byte{
			"empty": nil, "one": good[:1], "half": good[:len(good)/2], "short": good[:len(good)-1], "garbage": []byte("some text that is not encoded at all"),
			"whole": good, "nothing": k.appendLevel(nil, nil, 1), "twice": append(bytes.Clone(good), good...), "trailing": append(bytes.Clone(good), "trailing"...),
		}) {
			report.Run("decode/"+k.name+"/"+id, func(c *report.Case) {
				plain, err := k.appendPlain([]byte("x"), in)
				if err == nil {
					c.Val("size", len(plain))
				}
				failed(c, "error", err)
				n, err := k.writePlain(io.Discard, in)
				if err == nil {
					c.Val("written", n)
				}
				failed(c, "write-error", err)
				var resp fasthttp.Response
				resp.SetBody(in)
				plain, err = k.body(&resp)
				c.Val("body", len(plain))
				failed(c, "body-error", err)
			})
		}
		for _, limit := range []int{-1, 0, 1, len(text) - 1, len(text), len(text) + 1, 1 << 30} {
			report.Run(fmt.Sprintf("limit/%s/%d", k.name, limit), func(c *report.Case) {
				var req fasthttp.Request
				req.SetBody(good)
				plain, err := k.bodyLimit(&req, limit)
				c.Val("size", len(plain))
				failed(c, "error", err)
				req.Header.SetContentEncoding(k.name)
				plain, err = req.BodyUncompressedWithLimit(limit)
				c.Val("by-header", len(plain))
				failed(c, "by-header-error", err)
				req.Header.SetContentEncoding("")
				req.SetBody(text)
				plain, err = req.BodyUncompressedWithLimit(limit)
				c.Val("plain", len(plain))
				failed(c, "plain-error", err)
			})
		}
	}
	for id, encoded := range report.Sorted(std()) {
		report.Run("standard/"+id, func(c *report.Case) {
			decode := fasthttp.AppendInflateBytes
			if id == "gzip" {
				decode = fasthttp.AppendGunzipBytes
			}
			plain, err := decode(nil, encoded)
			c.Val("size", len(plain))
			failed(c, "error", err)
		})
	}
	report.Run("standard/zlib-header", func(c *report.Case) {
		_, err := zlib.NewReader(bytes.NewReader(fasthttp.AppendDeflateBytes(nil, text)))
		failed(c, "error", err)
	})
}

func runBodies() {
	bodies := std()
	for _, k := range codings {
		bodies[k.name] = k.appendLevel(nil, text, 1)
	}
	bodies["plain"], bodies["empty"] = text, nil
	bodies["gzip-br"] = fasthttp.AppendBrotliBytes(nil, bodies["gzip"])
	for _, encoding := range []string{"", "gzip", "GZIP", " gzip ", "x-gzip", "deflate", "br", "zstd", "identity", "foo", "gzip, br", "compress", ","} {
		for id, body := range report.Sorted(bodies) {
			report.Run("encoding/"+encoding+"/"+id, func(c *report.Case) {
				var req fasthttp.Request
				req.Header.SetContentEncoding(encoding)
				req.SetBody(body)
				plain, err := req.BodyUncompressed()
				c.Val("request", len(plain))
				failed(c, "request-error", err)
				var resp fasthttp.Response
				resp.Header.SetContentEncoding(encoding)
				resp.SetBody(body)
				plain, err = resp.BodyUncompressed()
				c.Val("response", len(plain))
				failed(c, "response-error", err)
			})
		}
	}
}
