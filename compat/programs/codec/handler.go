package main

import (
	"bufio"
	"bytes"
	"fmt"
	"strings"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/compat/internal/report"
)

var accepts = []string{
	"", "gzip", "GZIP", "deflate", "br", "zstd", "identity", "*", "gzip, deflate", "deflate, gzip", "gzip, deflate, br", "gzip, deflate, br, zstd",
	"zstd, gzip", "gzip;q=0", "gzip;q=0.5", "gzip;q=0.5, deflate", "br;q=0.5, gzip", "*;q=0", "gzip;q=0.5, identity", "gzip;q=0, *", "gzipped", "x-gzip", "foo",
}

var types = []string{
	"", "text/plain", "text/html; charset=utf-8", "TEXT/HTML", "text/event-stream", "application/json", "application/octet-stream", "application/zip", "application/pdf",
	"application/wasm", "application/ld+json", "application/gzip", "application/vnd.rar", "image/png", "image/jpeg", "image/svg+xml", "image/x-icon",
	"image/bmp", "image/vnd.microsoft.icon", "font/ttf", "font/otf", "font/woff", "font/woff2", "video/mp4", "audio/wav", "multipart/mixed", "message/http", "garbage",
	"model/gltf+json",
}

func dump(c *report.Case, resp *fasthttp.Response) {
	c.Bytes("encoding", resp.Header.ContentEncoding())
	c.Bytes("vary", resp.Header.Peek("Vary"))
	c.Bytes("etag", resp.Header.Peek("ETag"))
	c.Bytes("ranges", resp.Header.Peek("Accept-Ranges"))
	plain, err := resp.BodyUncompressed()
	c.Val("size", len(plain))
	failed(c, "error", err)
}

func answer(c *report.Case, wrap func(fasthttp.RequestHandler) fasthttp.RequestHandler, accept string, h fasthttp.RequestHandler) {
	var ctx fasthttp.RequestCtx
	if accept != "" {
		ctx.Request.Header.Set("Accept-Encoding", accept)
	}
	wrap(h)(&ctx)
	dump(c, &ctx.Response)
}

func runHandlers() {
	brotli := func(h fasthttp.RequestHandler) fasthttp.RequestHandler {
		return fasthttp.CompressHandlerBrotliLevel(h, fasthttp.CompressBrotliDefaultCompression, fasthttp.CompressBestSpeed)
	}
	write := func(ctx *fasthttp.RequestCtx) { ctx.SetBody(text) }
	for _, accept := range accepts {
		report.Run("accept/default/"+accept, func(c *report.Case) { answer(c, fasthttp.CompressHandler, accept, write) })
		report.Run("accept/brotli/"+accept, func(c *report.Case) { answer(c, brotli, accept, write) })
	}
	for _, level := range []int{-100, -2, -1, 0, 1, 6, 9, 10} {
		wrap := func(h fasthttp.RequestHandler) fasthttp.RequestHandler {
			return fasthttp.CompressHandlerLevel(h, level)
		}
		for _, accept := range []string{"gzip", "deflate", "zstd"} {
			if accept == "zstd" && level < 1 {
				// with v1.77.0 this ends the process
				continue
			}
			report.Run(fmt.Sprintf("level-handler/%d/%s", level, accept), func(c *report.Case) { answer(c, wrap, accept, write) })
		}
	}
	for _, contentType := range types {
		for _, stream := range []bool{false, true} {
			report.Run(fmt.Sprintf("type/%s/%v", contentType, stream), func(c *report.Case) {
				answer(c, fasthttp.CompressHandler, "gzip", func(ctx *fasthttp.RequestCtx) {
					ctx.SetContentType(contentType)
					if stream {
						ctx.SetBodyStream(bytes.NewReader(text), -1)
					} else {
						ctx.SetBody(text)
					}
				})
			})
		}
	}
	for _, size := range []int{0, 1, 199, 200, 201, 5000} {
		report.Run(fmt.Sprintf("size/%d", size), func(c *report.Case) {
			answer(c, fasthttp.CompressHandler, "gzip", func(ctx *fasthttp.RequestCtx) { ctx.SetBodyString(strings.Repeat("a", size)) })
		})
	}
	for _, code := range []int{200, 201, 204, 206, 301, 304, 404, 500} {
		report.Run(fmt.Sprintf("status/%d", code), func(c *report.Case) {
			answer(c, fasthttp.CompressHandler, "gzip", func(ctx *fasthttp.RequestCtx) {
				ctx.SetStatusCode(code)
				ctx.SetBody(text)
			})
		})
	}
	for _, field := range []string{
		"Content-Encoding: br", "Content-Encoding: identity", `ETag: "a"`, `ETag: W/"a"`, "Vary: Origin", "Vary: *", "Vary: accept-encoding", "Cache-Control: no-transform",
		"Accept-Ranges: bytes", "Content-Range: bytes 0-1/2",
	} {
		report.Run("field/"+field, func(c *report.Case) {
			name, value, _ := strings.Cut(field, ": ")
			var ctx fasthttp.RequestCtx
			ctx.Request.Header.Set("Accept-Encoding", "gzip")
			fasthttp.CompressHandler(func(ctx *fasthttp.RequestCtx) {
				ctx.Response.Header.Set(name, value)
				ctx.SetBody(text)
			})(&ctx)
			c.Bytes("encoding", ctx.Response.Header.ContentEncoding())
			c.Bytes("vary", ctx.Response.Header.Peek("Vary"))
			c.Bytes("etag", ctx.Response.Header.Peek("ETag"))
			c.Bytes("ranges", ctx.Response.Header.Peek("Accept-Ranges"))
		})
	}
}

func runWriters() {
	for name, f := range report.Sorted(map[string]func(*fasthttp.Response, *bufio.Writer) error{
		"gzip":    (*fasthttp.Response).WriteGzip,
		"deflate": (*fasthttp.Response).WriteDeflate,
	}) {
		for _, size := range []int{0, 10, 5000} {
			for _, contentType := range []string{"text/plain", "image/png"} {
				for _, stream := range []bool{false, true} {
					report.Run(fmt.Sprintf("write/%s/%d/%s/%v", name, size, contentType, stream), func(c *report.Case) {
						var resp, got fasthttp.Response
						resp.Header.SetContentType(contentType)
						body := bytes.Repeat([]byte("a"), size)
						if stream {
							resp.SetBodyStream(bytes.NewReader(body), size)
						} else {
							resp.SetBody(body)
						}
						var b bytes.Buffer
						w := bufio.NewWriter(&b)
						failed(c, "write-error", f(&resp, w))
						_ = w.Flush()
						failed(c, "read-error", got.Read(bufio.NewReader(&b)))
						dump(c, &got)
					})
				}
			}
		}
	}
}
