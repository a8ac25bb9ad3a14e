package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"html"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/compat/internal/report"
)

// describe prints a response: one field for the status, one for each field of the header, and
// the content, or its comparable part.
func describe(c *report.Case, ctx *fasthttp.RequestCtx, r request) {
	h := &ctx.Response.Header
	c.Val("status", h.StatusCode())
	kind, boundary, isMultipart := strings.Cut(string(h.ContentType()), "; boundary=")
	c.Bytes("type", []byte(kind))
	c.Bytes("encoding", h.ContentEncoding())
	for _, name := range []string{"Accept-Ranges", "Vary", "Allow"} {
		c.Bytes(strings.ToLower(name), h.Peek(name))
	}
	location := string(h.Peek("Location"))
	if i := strings.Index(location, "/root"); i >= 0 {
		location = "below " + location[i:]
	}
	c.Bytes("location", []byte(location))
	c.Bytes("last-modified", maskDate(h.Peek("Last-Modified")))
	c.Bytes("etag", maskTag(h.Peek("Etag")))
	c.Val("skip", ctx.Response.SkipBody)
	isPage := bytes.Contains(h.ContentType(), []byte("html")) && h.Peek("Last-Modified") != nil && string(h.Peek("Last-Modified")) != plantedText
	if !isPage {
		c.Bytes("content-range", h.Peek("Content-Range"))
	}
	if r.method == fasthttp.MethodHead {
		// the lengths of pages and of encoded content may differ
		if !isPage && len(h.ContentEncoding()) == 0 {
			c.Val("length", h.ContentLength())
		}
		if err := ctx.Response.CloseBodyStream(); err != nil {
			c.Err("close", err)
		}
		return
	}
	body, err := decoded(string(h.ContentEncoding()), ctx.Response.Body())
	c.Err("body-error", err)
	if isMultipart {
		// the boundary is different each time
		body = bytes.ReplaceAll(body, []byte(boundary), []byte("BOUNDARY"))
	}
	content(c, h, r, string(body))
}

// maskTag keeps only the form of an entity tag: the way to compute a tag may differ.
func maskTag(tag []byte) []byte {
	if bytes.HasPrefix(tag, []byte(`W/"`)) {
		return []byte("weak")
	}
	return tag
}

func content(c *report.Case, h *fasthttp.ResponseHeader, r request, body string) {
	switch {
	case string(h.ContentType()) == "application/gzip":
		text, err := decoded("gzip", []byte(body))
		c.Err("gunzip", err)
		c.Val("text", len(text))
	case bytes.Contains(h.ContentType(), []byte("html")) && h.StatusCode() == fasthttp.StatusPartialContent:
		c.Str("~page", body)
	case bytes.Contains(h.ContentType(), []byte("html")) && strings.Contains(body, "<a "):
		c.List("links", linksOf(r.target, body))
		c.Str("~page", body)
	case h.StatusCode() >= 400 && h.StatusCode() != fasthttp.StatusTeapot:
		c.Str("~text", body)
	case len(body) > 300:
		c.Str("body", fmt.Sprintf("%s...%s (%d)", body[:50], body[len(body)-50:], len(body)))
	default:
		c.Str("body", body)
	}
}

var href = regexp.MustCompile(`href="([^"]*)"`)

// linksOf returns the links of a page, in no order. A slash at the end of a link to a
// directory only saves a redirect.
func linksOf(target, page string) [][]byte {
	base, err := url.Parse("http://example.com" + target)
	if err != nil {
		return nil
	}
	var list [][]byte
	if target == original {
		// for such a request the base of relative links is not known
		return nil
	}
	for _, m := range href.FindAllStringSubmatch(page, -1) {
		to, err := base.Parse(html.UnescapeString(m[1]))
		if err != nil {
			list = append(list, []byte("broken "+m[1]))
			continue
		}
		list = append(list, []byte("/"+strings.Trim(to.Path, "/")))
	}
	slices.SortFunc(list, bytes.Compare)
	return list
}

// maskDate keeps the date of the files, and masks later dates.
func maskDate(date []byte) []byte {
	if len(date) > 0 && string(date) != plantedText {
		return []byte("later")
	}
	return date
}

func decoded(coding string, body []byte) ([]byte, error) {
	switch coding {
	case "":
		return body, nil
	case "gzip":
		r, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			return nil, err
		}
		return io.ReadAll(r)
	}
	var resp fasthttp.Response
	resp.Header.SetContentEncoding(coding)
	resp.SetBody(body)
	switch coding {
	case "br":
		return resp.BodyUnbrotli()
	case "zstd":
		return resp.BodyUnzstd()
	}
	return nil, errors.New("unknown content coding " + coding)
}

// original is the path of requests that are answered by a function.
const original = "/original"

// functions requests files through the functions that need no FS.
func functions(root string) {
	fsys := os.DirFS(root)
	slash := filepath.ToSlash(root)
	calls := map[string]func(ctx *fasthttp.RequestCtx, name string){
		"ServeFile":             func(ctx *fasthttp.RequestCtx, name string) { fasthttp.ServeFile(ctx, slash+name) },
		"ServeFileBytes":        func(ctx *fasthttp.RequestCtx, name string) { fasthttp.ServeFileBytes(ctx, []byte(slash+name)) },
		"ServeFileUncompressed": func(ctx *fasthttp.RequestCtx, name string) { fasthttp.ServeFileUncompressed(ctx, slash+name) },
		"ServeFileBytesUncompressed": func(ctx *fasthttp.RequestCtx, name string) {
			fasthttp.ServeFileBytesUncompressed(ctx, []byte(slash+name))
		},
		"ServeFileLiteral":    func(ctx *fasthttp.RequestCtx, name string) { fasthttp.ServeFileLiteral(ctx, slash+name) },
		"ServeFS":             func(ctx *fasthttp.RequestCtx, name string) { fasthttp.ServeFS(ctx, fsys, name) },
		"ServeFSLiteral":      func(ctx *fasthttp.RequestCtx, name string) { fasthttp.ServeFSLiteral(ctx, fsys, name) },
		"ctx.SendFile":        func(ctx *fasthttp.RequestCtx, name string) { ctx.SendFile(slash + name) },
		"ctx.SendFileBytes":   func(ctx *fasthttp.RequestCtx, name string) { ctx.SendFileBytes([]byte(slash + name)) },
		"ctx.SendFileLiteral": func(ctx *fasthttp.RequestCtx, name string) { ctx.SendFileLiteral(slash + name) },
		"Response.SendFile": func(ctx *fasthttp.RequestCtx, name string) {
			if err := ctx.Response.SendFile(root + name); err != nil {
				ctx.Error("failed", fasthttp.StatusTeapot)
			}
		},
	}
	for call, f := range report.Sorted(calls) {
		for _, name := range []string{
			"/hello.txt", "/long.txt", "/empty.txt", "/percent%41.txt", "/percent%2541.txt", "/with space.txt", "/with%20space.txt", "/sub", "/sub/", "/list",
			"/nothing", "/hello.txt?a", "/hello.txt#a", "/../root/hello.txt", "/sub/../hello.txt", "/outside.txt", "/outdir/secret.txt", "/", "",
		} {
			for _, r := range []request{
				get(original), get(original, "Accept-Encoding", "gzip"), get(original, "Range", "bytes=1-2"),
				get(original, "If-Modified-Since", plantedText), with("HEAD", original, nil), with("POST", original, nil),
			} {
				ask(call+"/"+name+"/"+r.name(), func(ctx *fasthttp.RequestCtx) { f(ctx, name) }, r)
			}
		}
	}
	report.Run("FileLastModified", func(c *report.Case) {
		t, err := fasthttp.FileLastModified(filepath.Join(root, "hello.txt"))
		c.Err("error", err)
		c.Val("time", t.UTC())
		_, err = fasthttp.FileLastModified(filepath.Join(root, "nothing"))
		c.Val("missing", errors.Is(err, os.ErrNotExist))
		_, err = fasthttp.FileLastModified(filepath.Join(root, "sub"))
		c.Err("directory", err)
	})
}

// rewriters prints the results of the constructors of PathRewriteFunc.
func rewriters() {
	for _, n := range []int{-1, 0, 1, 2, 3, 7, 100} {
		for name, f := range report.Sorted(map[string]func(int) fasthttp.PathRewriteFunc{
			"prefix": fasthttp.NewPathPrefixStripper, "slashes": fasthttp.NewPathSlashesStripper, "vhost": fasthttp.NewVHostPathRewriter,
		}) {
			for _, target := range []string{"/", "/foo", "/foo/bar", "/foo/bar/", "/a/b/c/d", ""} {
				for _, host := range []string{"", "example.com", "EXAMPLE.com:80", "a/../b", "..", ".", "[::1]:80", `a\b`} {
					if name != "vhost" && host != "" {
						continue
					}
					report.Run(fmt.Sprintf("rewrite/%s/%d/%s/%s", name, n, target, host), func(c *report.Case) {
						var ctx fasthttp.RequestCtx
						ctx.Request.SetRequestURI(target)
						ctx.Request.Header.SetHost(host)
						c.Bytes("path", f(n)(&ctx))
					})
				}
			}
		}
	}
}
